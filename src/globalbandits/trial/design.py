"""`Design`: a dose-finding design, simulated, tabulated and followed along its pathways."""

import copy
import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_floats, as_fraction, as_integer, as_positive, require
from globalbandits.environments import BernoulliNoise, Environment
from globalbandits.errors import ModelError, PolicyError
from globalbandits.evidence.stop_rules import (
    AT_ANY,
    AT_RECOMMENDED,
    DECISIONS,
    ONE_CONTENDER,
    PRECISE,
    TOO_HIGH,
    Stop,
    reasons_to_stop,
)
from globalbandits.model import AnyModel, RewardModel
from globalbandits.model.catalogue.dose import order_remarks
from globalbandits.model.objectives import Benefit
from globalbandits.plots.pathway_tree import pathway_tree
from globalbandits.policies import Learner, Policy, StopWhen
from globalbandits.policies.base import Rules
from globalbandits.policies.structured.cohort_design import (
    NO_DOSE,
    CohortDesign,
    EscalationRule,
    ThreePlusThree,
)
from globalbandits.policies.wrappers.limited import Limited
from globalbandits.simulation.simulate import require_all_runs, simulate
from globalbandits.statistics import Statistics, count
from globalbandits.trial.bound import benchmark, tolerances
from globalbandits.trial.cohort_rule import CohortRule
from globalbandits.trial.tite import TITE, as_patients

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_PERCENTILES = (10, 50, 90)
_MAX_ENTRIES = 4_000_000  # numbers in memory at once: trials times cells

# Why a trial ended. The rule itself stops, because of its own limits: 3+3 is finished, the lowest
# dose is eliminated, or no dose is admissible.
RULE_STOPPED = 100
ENDS = {
    0: "all patients",
    RULE_STOPPED: "rule",
    TOO_HIGH: "too toxic",
    ONE_CONTENDER: "one dose left",
    DECISIONS: "number of patients",
    AT_RECOMMENDED: "patients at the next dose",
    AT_ANY: "patients at one dose",
    PRECISE: "precise",
}

Path = tuple[tuple[int, int], ...]  # the dose and the number of DLTs of every cohort
Parts = tuple[Rules, Any, Statistics, Any]  # rules, setup, statistics and state of a policy


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcomes:
    """What simulated trials of a design did in one scenario. Arrays have one entry per dose."""

    selected: FloatArray  # share of trials that recommend the dose
    none: float  # share that recommend no dose
    treated: FloatArray  # mean number of patients
    events: FloatArray  # mean number of DLTs
    patients: IntArray  # (run,) patients of each trial
    above_target: IntArray  # (run,) patients on doses whose rate is above the target
    reasons: dict[str, float]  # why trials ended, and the share of trials


@dataclasses.dataclass(frozen=True, kw_only=True)
class Design:
    """A design of a dose-finding trial.

    Args:
        doses: labels of the doses, such as "10 mg", from the lowest to the highest.
        target: the target rate of DLTs.
        rule: a policy for ``model``, such as ``Limited(DoseEscalation(...))``; a `TITE` rule for
            ``model``; or a comparator: ``ThreePlusThree()``, ``BOIN()``, ``Keyboard()``.
        model: the dose model of a policy, with one arm per label and the design's target. A
            comparator needs none.
        patients: the largest number of patients.
        cohort: the number of patients that are treated at once.
        start: the index of the first dose.
        stop: a rule that ends the trial early. A comparator takes only rules that use no model:
            ``at_recommended``, ``at_any`` and ``decisions``.

    >>> from globalbandits.trial import BOIN
    >>> design = Design(doses=["1 mg", "2 mg", "4 mg"], target=0.25, rule=BOIN(), patients=30)
    >>> design.pathways(cohorts=1)["next"].tolist()
    ['2 mg', '1 mg', '1 mg', 'stop']
    """

    doses: tuple[str, ...]
    target: float
    rule: Policy | EscalationRule | TITE
    model: AnyModel | None = None
    patients: int = 36
    cohort: int = 3
    start: int = 0
    stop: StopWhen | None = None
    # The policy that conducts a trial, and the model that it and the stopping rule are given.
    policy: Policy = dataclasses.field(init=False, repr=False, compare=False)
    _model: AnyModel = dataclasses.field(init=False, repr=False, compare=False)
    # The rule for many trials at once; None for a policy that needs the simulator.
    _cohorts: EscalationRule | CohortRule | None = dataclasses.field(
        init=False, repr=False, compare=False, default=None
    )
    _stop: Stop | None = dataclasses.field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        labels = tuple(str(label) for label in self.doses)
        unique = len(labels) > 0 and len(set(labels)) == len(labels)
        require(unique, "doses", "be different labels", self.doses, PolicyError)
        checked: dict[str, Any] = {
            "doses": labels,
            "target": as_fraction("target", self.target, PolicyError),
            "patients": as_integer("patients", self.patients, 1, PolicyError),
            "cohort": as_integer("cohort", self.cohort, 1, PolicyError),
            "start": as_integer("start", self.start, 0, PolicyError, maximum=len(labels) - 1),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        known = isinstance(self.rule, Policy | TITE | EscalationRule)
        require(known, "rule", "be a policy, TITE or a comparator", self.rule, PolicyError)
        self._check_model()
        rule = self.rule
        if isinstance(rule, TITE):
            object.__setattr__(self, "cohort", 1)
            rule = rule.policy(self.start)
        elif isinstance(rule, EscalationRule):
            rule = CohortDesign(rule=rule, cohort=self.cohort, start=self.start)
        self._check_cohorts(rule)
        cohorts: EscalationRule | CohortRule | None = None
        if isinstance(rule, CohortDesign):
            cohorts = rule.rule
        elif isinstance(rule, Limited) and CohortRule.applies(rule):
            cohorts = CohortRule(rule, self._model)
        else:
            rule.setup(self._model)
        stop = None if self.stop is None else self.stop.setup(self._model)
        for name, value in (("policy", rule), ("_cohorts", cohorts), ("_stop", stop)):
            object.__setattr__(self, name, value)

    def _check_model(self) -> None:
        """Check the model, or build one for a rule that uses none."""
        n_doses, model = len(self.doses), self.model
        if isinstance(self.rule, EscalationRule):
            stop = self.stop
            plain = stop is None or not (stop.one_contender or stop.above or stop.precision)
            rule = "have no above, one_contender and precision for a comparator"
            require(plain, "stop", rule, stop, PolicyError)
            if model is None:
                # A learner needs curves. The rule does not read them.
                rates = [f"{(number + 0.5) / n_doses!r}**exp(theta)" for number in range(n_doses)]
                model = labelled_model(rates, self.doses, (-3.0, 3.0), self.target)
        has_model = model is not None and model.n_arms == n_doses
        rule = f"have {n_doses} arms, one per label, for a policy"
        require(has_model, "model", rule, model, PolicyError)
        target = getattr(model, "target", None)
        rule = f"have the design's target, {self.target:g}"
        require(target in (None, self.target), "model", rule, target, PolicyError)
        object.__setattr__(self, "_model", model)

    def _check_cohorts(self, policy: Policy) -> None:
        """Raise a PolicyError if the design and its policy differ in cohorts or the first dose."""
        if not isinstance(policy, Limited | CohortDesign):
            return
        first = policy.start
        if isinstance(policy, Limited):
            first = policy.low if first is None else first
        for name, value in (("cohort", policy.cohort), ("start", first)):
            rule = f"be {value}, as in the policy"
            require(getattr(self, name) == value, name, rule, getattr(self, name), PolicyError)

    @property
    def n_doses(self) -> int:
        """Number of doses."""
        return len(self.doses)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about inputs that are allowed but may be mistakes."""
        model = self.model
        if model is None:
            return ()
        # Other remarks of a model are about learning its numbers, which a trial does not aim at.
        middle = 0.5 * sum(model.domain) if isinstance(model, RewardModel) else None
        doses = model.arms if middle is None else model.means(middle)
        return order_remarks(doses)

    def with_patients(self, patients: int) -> "Design":
        """Return the design with another number of patients."""
        return dataclasses.replace(self, patients=patients)

    def learner(self, seed: int = 0) -> Learner:
        """Return a learner that conducts the trial: `select` for each patient, then `update`."""
        return Learner(self.policy, self._model, seed=seed)

    def settings(self, *, unit_seconds: float = 86_400.0) -> dict[str, Any]:
        """Return the settings of a bandit of the service that conducts the trial.

        The trial is closed once it has all patients, or a stopping rule applies. A `TITE` design
        has linear weights there, and a patient without a DLT is counted at the end of the window.

        Args:
            unit_seconds: the unit of time of a `TITE` design in seconds; a day by default.
        """
        most = self.patients
        stop = StopWhen(decisions=most) if self.stop is None else self.stop
        if stop.decisions is None or stop.decisions > most:
            stop = dataclasses.replace(stop, decisions=most)
        found: dict[str, Any] = {
            "model": self._model.to_dict(),
            "policy": self.policy.to_dict(),
            "stop": {name: value for name, value in stop.to_dict().items() if value is not None},
        }
        if isinstance(self.rule, TITE):
            rule = "be linear in the service"
            linear = self.rule.weights == "linear"
            require(linear, "weights", rule, self.rule.weights, PolicyError)
            window = self.rule.window * as_positive("unit_seconds", unit_seconds, PolicyError)
            law = {"kind": "uniform", "window": window}
            found |= {"delay": law, "deadline_seconds": window, "default_reward": 0.0}
        return found

    # Simulation.

    def simulate(self, truth: Sequence[float], *, runs: int = 2_000, seed: int = 0) -> Outcomes:
        """Simulate trials with these true rates of the doses."""
        rates = self.as_rates(truth)
        runs = as_integer("runs", runs, 1, PolicyError)
        if isinstance(self.rule, TITE):
            return self._simulate_tite(self.rule, rates, runs, seed)
        if self._cohorts is not None:
            return self._simulate_cohorts(self._cohorts, rates, runs, seed)
        return self._simulate_policy(rates, runs, seed)

    def as_rates(self, truth: Sequence[float]) -> FloatArray:
        """Check the true rates of the doses."""
        rates = np.asarray(as_floats("truth", truth, PolicyError))
        good = rates.shape == (self.n_doses,) and bool(np.all((rates >= 0) & (rates <= 1)))
        require(good, "truth", f"be {self.n_doses} rates, one per dose", truth, PolicyError)
        return rates

    def _simulate_policy(self, rates: FloatArray, runs: int, seed: int) -> Outcomes:
        world = Environment(self._model, truth=rates, noise=BernoulliNoise())
        result = simulate(
            world,
            {"design": self.policy},
            self.patients,
            runs=runs,
            seed=seed,
            checkpoints=[self.patients],
            stop=self.stop,
            batch=self.cohort,
        )
        data = require_all_runs(result, runs).dataset
        choice, treated = data["choice"].values[0], data["pulls"].values[0]
        codes = np.zeros(runs, np.int64)
        if self.stop is not None:
            codes = data["stop_reason"].values[0]
        return self._outcomes(choice, treated, rates, codes)

    def _simulate_cohorts(
        self, rule: EscalationRule | CohortRule, rates: FloatArray, runs: int, seed: int
    ) -> Outcomes:
        drawn = tolerances(runs, self.patients, seed)
        treated, events = np.zeros((2, runs, self.n_doses), np.int64)
        current, codes = np.full(runs, self.start), np.zeros(runs, np.int64)
        going = np.arange(runs)
        for first in self._cohort_starts():
            here = current[going]
            toxic = drawn[going, first : first + self.cohort] < rates[here][:, np.newaxis]
            recent = toxic.sum(axis=1)
            treated[going, here] += toxic.shape[1]
            events[going, here] += recent
            parts = treated[going], events[going]
            following = rule.next_dose(*parts, here, recent, self.target)
            codes[going] = self._reasons(*parts, following)
            current[going] = following
            going = going[codes[going] == 0]
        chosen = rule.recommend(treated, events, self.target)
        chosen = np.where(codes == TOO_HIGH, NO_DOSE, chosen)
        return self._outcomes(chosen, treated, rates, codes)

    def _cohort_starts(self) -> range:
        """Return the numbers of the first patients of the cohorts."""
        if isinstance(self.rule, ThreePlusThree):
            return range(0, self.patients - 2, 3)
        return range(0, self.patients, self.cohort)

    def _reasons(self, treated: Any, events: Any, following: IntArray) -> IntArray:
        """Return why trials end before the next cohort, or 0. Equal trials are computed once."""
        codes = np.where(following == NO_DOSE, RULE_STOPPED, 0)
        stop = self._stop
        if stop is not None:
            rows = np.concatenate([treated, events, following[:, np.newaxis]], axis=1)
            unique, places = np.unique(rows, axis=0, return_inverse=True)
            n, counts = self.n_doses, unique.astype(np.float64)
            size = max(1, _MAX_ENTRIES // len(stop.log_prior))
            found = np.concatenate(
                [
                    reasons_to_stop(stop, part[:, :n], part[:, n:-1], part[:, -1].astype(np.int64))
                    for part in np.split(counts, range(size, len(counts), size))
                ]
            )[places.reshape(-1)]
            codes = np.where(found > 0, found, codes)
        return codes

    def _simulate_tite(self, rule: TITE, rates: FloatArray, runs: int, seed: int) -> Outcomes:
        most = None if self.stop is None else self.stop.decisions
        played = rule.simulate(
            self._model,
            rates,
            self.patients if most is None else min(self.patients, most),
            self.start,
            runs,
            seed,
            self._reasons,
            (RULE_STOPPED, TOO_HIGH),
        )
        return self._outcomes(played.chosen, played.treated, rates, played.codes)

    def _outcomes(
        self, chosen: IntArray, treated: IntArray, rates: FloatArray, codes: IntArray
    ) -> Outcomes:
        mean = treated.mean(axis=0)
        return Outcomes(
            selected=np.array([(chosen == dose).mean() for dose in range(self.n_doses)]),
            none=float((chosen < 0).mean()),
            treated=mean,
            # The expectation given the patients: it has no further sampling error.
            events=mean * rates,
            patients=treated.sum(axis=1),
            above_target=treated[:, rates > self.target].sum(axis=1),
            reasons={
                name: share
                for code, name in ENDS.items()
                if (share := float((codes == code).mean()))
            },
        )

    def characteristics(
        self,
        scenarios: Mapping[str, Sequence[float]],
        *,
        runs: int = 2_000,
        seed: int = 0,
        comparators: "Mapping[str, Design] | None" = None,
    ) -> "pd.DataFrame":
        """Return operating characteristics: for each scenario and design, one row per dose.

        Columns are the true rate, the share of trials that recommend the dose (``selected``), the
        mean number of patients (``treated``), of those on doses above the best one
        (``overdosed``) and of ``DLTs``, and the benchmark's selection share. `summary` has
        one row per scenario and design.
        """
        import pandas as pd

        frames = {}
        for name, truth in scenarios.items():
            bound = benchmark(truth, self.target, self.patients, runs=runs, seed=seed)
            places, (_, first) = np.arange(self.n_doses), self.best_dose(self.as_rates(truth))
            for label, design in self._with(comparators).items():
                found = design.simulate(truth, runs=runs, seed=seed)
                frames[name, label] = pd.DataFrame(
                    {
                        "rate": self.as_rates(truth),
                        "selected": found.selected,
                        "treated": found.treated,
                        "overdosed": np.where(places >= first, found.treated, 0.0),
                        "DLTs": found.events,
                        "benchmark": bound,
                    },
                    index=pd.Index(self.doses, name="dose"),
                )
        table = pd.concat(frames, names=["scenario", "design"])
        table.index = _in_given_order(table.index, ["scenario", "design", "dose"])
        return table

    def summary(
        self,
        scenarios: Mapping[str, Sequence[float]],
        *,
        runs: int = 2_000,
        seed: int = 0,
        comparators: "Mapping[str, Design] | None" = None,
    ) -> "pd.DataFrame":
        """Return one row per scenario and design.

        ``correct``: recommends the dose nearest to the target, or no dose if the lowest rate is
        above the limit of the stopping rule (the target without one). ``above``: recommends a dose
        above that one. ``overdosed``: the share of patients treated above it. Then DLTs,
        recommendations of no dose, the mean and percentiles of the number of patients, and the
        shares of trials that ended for each reason.
        """
        import pandas as pd

        rows = {}
        for name, truth in scenarios.items():
            rates = self.as_rates(truth)
            for label, design in self._with(comparators).items():
                found = design.simulate(truth, runs=runs, seed=seed)
                best, first = self.best_dose(rates)
                row = {
                    "correct": found.none if first == 0 else float(found.selected[best]),
                    "above": float(found.selected[first:].sum()),
                    "overdosed": float(found.treated[first:].sum() / found.treated.sum()),
                    "DLTs": float(found.events.sum()),
                    "none": found.none,
                    "patients": float(found.patients.mean()),
                }
                for share in _PERCENTILES:
                    row[f"patients_{share}"] = float(np.percentile(found.patients, share))
                row |= {f"ended: {reason}": share for reason, share in found.reasons.items()}
                rows[name, label] = row
        table = pd.DataFrame(list(rows.values())).fillna(0.0)
        names = ["scenario", "design"]
        table.index = _in_given_order(pd.MultiIndex.from_tuples(rows, names=names), names)
        return table

    def best_dose(self, rates: FloatArray) -> tuple[int, int]:
        """Return the best dose, and the first dose above it; 0 if all doses are too toxic."""
        best = int(np.abs(rates - self.target).argmin())
        limit = None if self.stop is None else self.stop.above
        toxic = bool(rates[0] > (self.target if limit is None else limit))
        return best, 0 if toxic else best + 1

    def _with(self, comparators: "Mapping[str, Design] | None") -> "dict[str, Design]":
        designs = {"design": self} | dict(comparators or {})
        for name, design in designs.items():
            rule = "have the same doses as the design"
            require(design.doses == self.doses, name, rule, design.doses, PolicyError)
        return designs

    # Decisions.

    def next_dose(self, cohorts: Iterable[tuple[int, int]]) -> int:
        """Return the dose after cohorts of (dose, DLTs); `NO_DOSE` (-1) if the trial stops."""
        history = list(cohorts)
        rule = "be a rule of cohorts; next_patient has the decisions of TITE"
        require(not isinstance(self.rule, TITE), "rule", rule, self.rule, PolicyError)
        if not history:
            return self.start
        for place, (given, events) in enumerate(history):
            as_integer(f"cohorts[{place}] dose", given, 0, PolicyError, maximum=self.n_doses - 1)
            as_integer(f"cohorts[{place}] DLTs", events, 0, PolicyError, maximum=self.cohort)
        if self._cohorts is None:
            parts = self.learner().parts
            for given, events in history:
                self._treat(parts, given, events)
            return self._next_of(parts)
        treated, events_of = np.zeros((2, 1, self.n_doses), np.int64)
        for given, events in history:
            treated[0, given] += self.cohort
            events_of[0, given] += events
        last, recent = (np.array([number]) for number in history[-1])
        following = self._cohorts.next_dose(treated, events_of, last, recent, self.target)
        return (
            int(following[0]) if self._reasons(treated, events_of, following)[0] == 0 else NO_DOSE
        )

    def next_patient(self, patients: Iterable[Sequence[Any]], *, recent: bool = False) -> int:
        """Return the dose of the next patient of a `TITE` design; `NO_DOSE` if the trial stops.

        Args:
            patients: the patients so far as (dose, follow-up, DLT), in the order of their arrival.
                The follow-up ends now, at the DLT, or with the window.
            recent: whether a DLT was reported since the last of them arrived. Then the dose is not
                raised.
        """
        rule, found = self.rule, as_patients(patients, self.n_doses)
        require(isinstance(rule, TITE), "rule", "be TITE", rule, PolicyError)
        assert isinstance(rule, TITE)
        # A DLT of the last patient was reported after this patient's arrival.
        if not found:
            return self.start
        following = rule.next_dose(rule.setup(self.model), found, recent or found[-1].dlt)
        codes = self._reasons(*rule.known(found, self.n_doses), np.array([following]))
        return following if codes[0] == 0 else NO_DOSE

    def _treat(self, parts: Parts, given: int, events: int) -> None:
        """Treat a cohort with a policy, and report its outcomes."""
        rules, setup, stats, state = parts
        if rules.decide is not None:
            for _ in range(self.cohort):
                rules.decide(setup, stats, state, given)
        for number in range(self.cohort):
            outcome = float(number < events)
            count(stats, given, outcome)
            rules.update(setup, stats, state, given, outcome)

    def _next_of(self, parts: Parts) -> int:
        """Return the next dose of a policy; `NO_DOSE` if the trial stops."""
        rules, setup, stats, state = parts
        following = int(rules.select(setup, stats, state, np.random.default_rng(0)))
        counts, sums = stats.counts[np.newaxis], stats.sums[np.newaxis]
        codes = self._reasons(counts, sums, np.array([following]))
        return following if codes[0] == 0 else NO_DOSE

    def decision_table(self, cohorts: Iterable[tuple[int, int]] = ()) -> "pd.DataFrame":
        """Return the decision for every number of DLTs in the next cohort.

        Args:
            cohorts: the cohorts so far, as (dose, DLTs).
        """
        import pandas as pd

        history = list(cohorts)
        given = self.next_dose(history)
        rule = "leave a cohort to treat; the trial has stopped"
        require(given != NO_DOSE, "cohorts", rule, history, PolicyError)
        counts = range(self.cohort + 1)
        after = [self._label(self.next_dose([*history, (given, events)])) for events in counts]
        columns = {"dose": self.doses[given], "DLTs": counts, "next": after}
        return pd.DataFrame(columns).set_index("DLTs")

    def pathways(self, cohorts: int = 3) -> "pd.DataFrame":
        """Return all dose-transition pathways of the first cohorts (Yap et al. 2017).

        One row per pathway: the dose and the DLTs of every cohort, and the next dose. After a stop
        the other columns are empty.
        """
        import pandas as pd

        rows = []
        for path, following in self._all_paths(cohorts):
            row: dict[str, Any] = {}
            for number, step in itertools.zip_longest(range(1, cohorts + 1), path):
                row[f"dose_{number}"] = "" if step is None else self.doses[step[0]]
                row[f"DLTs_{number}"] = None if step is None else step[1]
            rows.append(row | {"next": self._label(following)})
        table = pd.DataFrame(rows)
        numbers = {f"DLTs_{number}": "Int64" for number in range(1, cohorts + 1)}
        return table.astype(numbers)

    def plot_pathways(self, cohorts: int = 3, *, title: str = "") -> "Figure":
        """Draw all dose-transition pathways of the first cohorts as a tree."""
        return pathway_tree(self._all_paths(cohorts), self.doses, title)

    def _all_paths(self, cohorts: int) -> list[tuple[Path, int]]:
        """Return all pathways of the first cohorts, and the dose after each."""
        cohorts = as_integer("cohorts", cohorts, 1, PolicyError, maximum=6)
        rule = "be a rule of cohorts"
        require(not isinstance(self.rule, TITE), "rule", rule, self.rule, PolicyError)
        parts = self.learner().parts if self._cohorts is None else None
        return list(self._paths((), self.start, cohorts, parts))

    def _paths(
        self, path: Path, given: int, n_left: int, parts: Parts | None
    ) -> Iterator[tuple[Path, int]]:
        """Return all pathways from a path on, and the dose after each.

        A policy continues from its state after the path, so that no cohort is learned twice.
        """
        if n_left == 0 or given == NO_DOSE:
            yield path, given
            return
        for events in range(self.cohort + 1):
            longer = (*path, (given, events))
            if parts is None:
                yield from self._paths(longer, self.next_dose(longer), n_left - 1, None)
            else:
                rules, setup, stats, state = parts
                after = (rules, setup, *copy.deepcopy((stats, state)))
                self._treat(after, given, events)
                yield from self._paths(longer, self._next_of(after), n_left - 1, after)

    def _label(self, index: int) -> str:
        return "stop" if index == NO_DOSE else self.doses[index]


def labelled_model(
    rates: Sequence[str], doses: Sequence[str], domain: tuple[float, float], target: float
) -> RewardModel:
    """Return a model whose arms are the labels of the doses.

    Args:
        rates: a formula of ``theta`` per dose.
        doses: labels.
        domain: the interval of theta. Curves may be flat at its ends.
        target: the target rate.
    """
    return RewardModel.from_functions(
        rates,
        doses,
        domain,
        value=Benefit(as_fraction("target", target, ModelError)),
        monotone=False,
    )


def _in_given_order(index: "pd.Index[Any]", names: list[str]) -> "pd.MultiIndex":
    """Return an index whose levels are ordered as given, so that pandas need not search rows."""
    import pandas as pd

    columns = [index.get_level_values(name).tolist() for name in names]
    levels = [pd.Categorical(each, list(dict.fromkeys(each)), ordered=True) for each in columns]
    return pd.MultiIndex.from_arrays(levels, names=names)
