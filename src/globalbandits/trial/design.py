"""`Design`: a dose-finding design, simulated, tabulated and followed along its pathways."""

import copy
import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_fraction, as_integer, require
from globalbandits.environments import BernoulliNoise, Environment
from globalbandits.errors import PolicyError
from globalbandits.evidence.stop_rules import TOO_HIGH, reason_to_stop
from globalbandits.model import RewardModel, dose
from globalbandits.policies import Learner, Policy, StopWhen
from globalbandits.policies.base import Rules
from globalbandits.policies.structured.grid_plug_in import GridPlugIn
from globalbandits.policies.wrappers.limited import Limited
from globalbandits.simulation.simulate import simulate
from globalbandits.statistics import Statistics, count
from globalbandits.trial.comparators import NO_DOSE, Rule, ThreePlusThree, benchmark

if TYPE_CHECKING:
    import pandas as pd

# The normal prior of the CRM is on the whole line. This domain holds all but 1e-6 of its mass.
WHOLE_LINE = (-6.0, 6.0)
# dfcrm's default.
PRIOR_VARIANCE = 1.34

_PERCENTILES = (10, 50, 90)

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
    stopped: float  # share that stopped because of toxicity


@dataclasses.dataclass(frozen=True, kw_only=True)
class Design:
    """A design of a dose-finding trial.

    Args:
        doses: labels of the doses, such as "10 mg", from the lowest to the highest.
        target: the target rate of DLTs.
        rule: a policy for ``model``, such as ``Limited(GridPlugIn(...))``, or a comparator:
            ``ThreePlusThree()``, ``BOIN()``, ``Keyboard()``.
        model: the dose model of a policy, with one arm per label.
        patients: the largest number of patients.
        cohort: the number of patients that are treated at once.
        start: the index of the first dose.
        stop: a rule that ends the trial early; for policies only.

    >>> from globalbandits.trial import BOIN
    >>> design = Design(doses=["1 mg", "2 mg", "4 mg"], target=0.25, rule=BOIN(), patients=30)
    >>> design.pathways(cohorts=1)["next"].tolist()
    ['2 mg', '1 mg', '1 mg', 'stop']
    """

    doses: tuple[str, ...]
    target: float
    rule: Policy | Rule
    model: RewardModel | None = None
    patients: int = 36
    cohort: int = 3
    start: int = 0
    stop: StopWhen | None = None

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
        if isinstance(self.rule, Policy):
            has_model = self.model is not None and self.model.n_arms == len(labels)
            rule = f"have {len(labels)} arms, one per label, for a policy"
            require(has_model, "model", rule, self.model, PolicyError)
            assert self.model is not None
            self.rule.setup(self.model)
            if self.stop is not None:
                self.stop.setup(self.model)
        else:
            only = self.model is None and self.stop is None
            require(only, "model and stop", "be given for a policy only", self.rule, PolicyError)
        if isinstance(self.rule, ThreePlusThree):
            require(self.cohort == 3, "cohort", "be 3 for 3+3", self.cohort, PolicyError)

    @property
    def n_doses(self) -> int:
        """Number of doses."""
        return len(self.doses)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about inputs that are allowed but may be mistakes."""
        return () if self.model is None else self.model.remarks

    def with_patients(self, patients: int) -> "Design":
        """Return the design with another number of patients."""
        return dataclasses.replace(self, patients=patients)

    def learner(self, seed: int = 0) -> Learner:
        """Return a learner that conducts the trial: `select` for each patient, then `update`."""
        require(self.model is not None, "rule", "be a policy", self.rule, PolicyError)
        assert isinstance(self.rule, Policy)
        assert self.model is not None
        return Learner(self.rule, self.model, seed=seed)

    # Simulation.

    def simulate(self, truth: Sequence[float], *, runs: int = 2_000, seed: int = 0) -> Outcomes:
        """Simulate trials with these true rates of the doses."""
        rates = self._as_rates(truth)
        runs = as_integer("runs", runs, 1, PolicyError)
        if isinstance(self.rule, Policy):
            return self._simulate_policy(self.rule, rates, runs, seed)
        return self._simulate_rule(self.rule, rates, runs, seed)

    def _as_rates(self, truth: Sequence[float]) -> FloatArray:
        rates = np.asarray(truth, np.float64)
        good = rates.shape == (self.n_doses,) and bool(np.all((rates >= 0) & (rates <= 1)))
        require(good, "truth", f"be {self.n_doses} rates, one per dose", truth, PolicyError)
        return rates

    def _simulate_policy(self, policy: Policy, rates: FloatArray, runs: int, seed: int) -> Outcomes:
        assert self.model is not None
        world = Environment(self.model, truth=rates, noise=BernoulliNoise())
        result = simulate(
            world,
            {"design": policy},
            self.patients,
            runs=runs,
            seed=seed,
            checkpoints=[self.patients],
            stop=self.stop,
        )
        data = result.dataset
        choice, treated = data["choice"].values[0], data["pulls"].values[0]
        stopped = 0.0
        if self.stop is not None:
            stopped = float((data["stop_reason"].values[0] == TOO_HIGH).mean())
        return self._outcomes(choice, treated, rates, stopped)

    def _simulate_rule(self, rule: Rule, rates: FloatArray, runs: int, seed: int) -> Outcomes:
        rng = np.random.default_rng(seed)
        treated, events = np.zeros((2, runs, self.n_doses), np.int64)
        current = np.full(runs, self.start)
        going = np.arange(runs)
        for _ in range(math.ceil(self.patients / self.cohort)):
            here = current[going]
            treated[going, here] += self.cohort
            events[going, here] += rng.binomial(self.cohort, rates[here])
            current[going] = rule.next_dose(treated[going], events[going], here, self.target)
            going = going[current[going] != NO_DOSE]
        chosen = rule.recommend(treated, events, self.target)
        stopped = float((chosen == NO_DOSE).mean())
        return self._outcomes(chosen, treated, rates, stopped)

    def _outcomes(
        self, chosen: IntArray, treated: IntArray, rates: FloatArray, stopped: float
    ) -> Outcomes:
        mean = treated.mean(axis=0)
        return Outcomes(
            selected=np.array([(chosen == dose).mean() for dose in range(self.n_doses)]),
            none=float((chosen < 0).mean()),
            treated=mean,
            # The expectation given the patients: it has no further sampling error.
            events=mean * rates,
            patients=treated.sum(axis=1),
            stopped=stopped,
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
        mean number of patients (``treated``) and of DLTs (``events``), and the benchmark's
        selection share. `summary` has one row per scenario and design.
        """
        import pandas as pd

        frames = {}
        for name, truth in scenarios.items():
            bound = benchmark(truth, self.target, self.patients, runs=runs, seed=seed)
            for label, design in self._with(comparators).items():
                found = design.simulate(truth, runs=runs, seed=seed)
                frames[name, label] = pd.DataFrame(
                    {
                        "rate": self._as_rates(truth),
                        "selected": found.selected,
                        "treated": found.treated,
                        "events": found.events,
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
        recommendations of no dose, and the mean and percentiles of the number of patients.
        """
        import pandas as pd

        rows = {}
        for name, truth in scenarios.items():
            rates = self._as_rates(truth)
            for label, design in self._with(comparators).items():
                found = design.simulate(truth, runs=runs, seed=seed)
                best = int(np.abs(rates - self.target).argmin())
                limit = None if self.stop is None else self.stop.above
                toxic = bool(rates[0] > (self.target if limit is None else limit))
                first = 0 if toxic else best + 1
                row = {
                    "correct": found.none if toxic else float(found.selected[best]),
                    "above": float(found.selected[first:].sum()),
                    "overdosed": float(found.treated[first:].sum() / found.treated.sum()),
                    "events": float(found.events.sum()),
                    "none": found.none,
                    "patients": float(found.patients.mean()),
                }
                for share in _PERCENTILES:
                    row[f"patients_{share}"] = float(np.percentile(found.patients, share))
                rows[name, label] = row
        table = pd.DataFrame(list(rows.values()))
        names = ["scenario", "design"]
        table.index = _in_given_order(pd.MultiIndex.from_tuples(rows, names=names), names)
        return table

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
        if not history:
            return self.start
        for place, (given, events) in enumerate(history):
            as_integer(f"cohorts[{place}] dose", given, 0, PolicyError, maximum=self.n_doses - 1)
            as_integer(f"cohorts[{place}] DLTs", events, 0, PolicyError, maximum=self.cohort)
        if isinstance(self.rule, Policy):
            parts = self.learner().parts
            for given, events in history:
                self._treat(parts, given, events)
            return self._next_of(parts)
        treated, events_of = np.zeros((2, 1, self.n_doses), np.int64)
        for given, events in history:
            treated[0, given] += self.cohort
            events_of[0, given] += events
        last = np.array([history[-1][0]])
        return int(self.rule.next_dose(treated, events_of, last, self.target)[0])

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
        assert self.model is not None
        if self.stop is not None and reason_to_stop(self.stop.setup(self.model), stats) > 0:
            return NO_DOSE
        return int(rules.select(setup, stats, state, np.random.default_rng(0)))

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
        columns = {"dose": self.doses[given], "events": counts, "next": after}
        return pd.DataFrame(columns).set_index("events")

    def pathways(self, cohorts: int = 3) -> "pd.DataFrame":
        """Return all dose-transition pathways of the first cohorts (Yap et al. 2017).

        One row per pathway: the dose and the DLTs of every cohort, and the next dose. After a stop
        the other columns are empty.
        """
        import pandas as pd

        cohorts = as_integer("cohorts", cohorts, 1, PolicyError, maximum=6)
        rows = []
        parts = self.learner().parts if isinstance(self.rule, Policy) else None
        for path, following in self._paths((), self.start, cohorts, parts):
            row: dict[str, Any] = {}
            for number, step in itertools.zip_longest(range(1, cohorts + 1), path):
                row[f"dose_{number}"] = "" if step is None else self.doses[step[0]]
                row[f"events_{number}"] = None if step is None else step[1]
            rows.append(row | {"next": self._label(following)})
        table = pd.DataFrame(rows)
        numbers = {f"events_{number}": "Int64" for number in range(1, cohorts + 1)}
        return table.astype(numbers)

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


def _in_given_order(index: "pd.Index[Any]", names: list[str]) -> "pd.MultiIndex":
    """Return an index whose levels are ordered as given, so that pandas need not search rows."""
    import pandas as pd

    columns = [index.get_level_values(name).tolist() for name in names]
    levels = [pd.Categorical(each, list(dict.fromkeys(each)), ordered=True) for each in columns]
    return pd.MultiIndex.from_arrays(levels, names=names)


def crm(
    guesses: Sequence[float],
    target: float,
    *,
    doses: Sequence[str] | None = None,
    patients: int = 36,
    cohort: int = 3,
    start: int = 0,
    intercept: float | None = None,
    prior_variance: float = PRIOR_VARIANCE,
    stop: StopWhen | None = None,
    cells: int = 300,
) -> Design:
    """Return a continual reassessment with the restrictions of dfcrm.

    No step up of more than one dose, and none straight after a cohort whose rate of DLTs is at or
    above the target.

    Args:
        guesses: the skeleton.
        target: the target rate of DLTs.
        doses: labels; "dose 1", "dose 2", ... by default.
        patients: the number of patients.
        cohort: the number of patients that are treated at once.
        start: the index of the first dose.
        intercept: of the logistic model; None for the empiric model.
        prior_variance: of the normal prior of theta around 0.
        stop: a rule that ends the trial early.
        cells: cells of the grid of theta.

    >>> design = crm([0.05, 0.12, 0.25, 0.4], 0.25)
    >>> design.decision_table().to_string().splitlines()[2]
    '0       dose 1  dose 2'
    """
    options: dict[str, Any] = {"target": target, "domain": WHOLE_LINE}
    if intercept is None:
        model = dose.power(guesses, **options)
    else:
        model = dose.skeleton_logistic(guesses, intercept, **options)
    inner = GridPlugIn(cells=cells, prior_variance=prior_variance)
    labels = doses or [f"dose {number}" for number in range(1, model.n_arms + 1)]
    return Design(
        doses=tuple(labels),
        target=target,
        rule=Limited(inner, cohort=cohort, start=start, whole_cohorts=True),
        model=model,
        patients=patients,
        cohort=cohort,
        start=start,
        stop=stop,
    )
