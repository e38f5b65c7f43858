"""`CohortDesign`: the 3+3 design, BOIN and the keyboard, which compare a dose with the target.

A rule decides from the patients and the DLTs of every dose, for many trials at once. `CohortDesign`
is the policy that follows a rule in one trial, cohort after cohort.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from globalbandits._registry import Specification
from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits._validation import as_fraction, as_integer, as_positive, require
from globalbandits.errors import PolicyError
from globalbandits.model import AnyModel
from globalbandits.policies.base import Policy, Rules, register, require_no_contexts
from globalbandits.policies.shared.elimination import eliminated, last_left, probabilities_above
from globalbandits.statistics import Statistics

# In place of a dose: the trial stops, or no dose is recommended.
NO_DOSE = -1


class EscalationRule(Specification):
    """A rule of escalation. Arrays have shape (trial, dose); ``dose`` has shape (trial,)."""

    family: ClassVar[str] = "escalation"

    def next_dose(
        self, treated: IntArray, events: IntArray, dose: IntArray, recent: IntArray, target: float
    ) -> IntArray:
        """Return the dose of the next cohort, or `NO_DOSE`; ``recent``: DLTs of the last one."""
        raise NotImplementedError

    def recommend(self, treated: IntArray, events: IntArray, target: float) -> IntArray:
        """Return the recommended dose, or `NO_DOSE`."""
        raise NotImplementedError


@register("3+3")
@dataclasses.dataclass(frozen=True)
class ThreePlusThree(EscalationRule):
    """The 3+3 design (Storer 1989): cohorts of three, at most six patients per dose.

    After 0 DLTs in 3 or at most 1 in 6 patients the dose is raised, after 1 in 3 three more
    patients get it, otherwise it is lowered. The recommended dose is the highest one with at most 1
    DLT in 6 patients. The design has no target.
    """

    def next_dose(
        self, treated: IntArray, events: IntArray, dose: IntArray, recent: IntArray, target: float
    ) -> IntArray:
        """Return the dose of the next cohort, or `NO_DOSE`."""
        n, y = _at(treated, dose), _at(events, dose)
        top = treated.shape[1] - 1
        safe = ((n == 3) & (y == 0)) | ((n == 6) & (y <= 1))
        # The next dose was left because of its DLTs, or there is none: six patients, then stop.
        last = (dose == top) | (_at(treated, np.minimum(dose + 1, top)) > 0)
        below = np.maximum(dose - 1, 0)
        lowered = np.where((dose == 0) | (_at(treated, below) >= 6), NO_DOSE, below)
        raised = np.where(last, np.where(n == 3, dose, NO_DOSE), dose + 1)
        return np.where(safe, raised, np.where((n < 6) & (y <= 1), dose, lowered))

    def recommend(self, treated: IntArray, events: IntArray, target: float) -> IntArray:
        """Return the highest dose with at most 1 DLT in 6 patients, or `NO_DOSE`."""
        passed = (treated == 6) & (events <= 1)
        top = treated.shape[1] - 1
        return np.where(passed.any(axis=1), top - passed[:, ::-1].argmax(axis=1), NO_DOSE)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _IntervalDesign(EscalationRule):
    """A design that compares the present dose with the target, and eliminates toxic doses.

    A dose and all above it are eliminated once it has at least three patients and the posterior
    probability of a rate above the target exceeds ``elimination``, under a uniform prior. If the
    lowest dose is eliminated, the trial stops. The recommended dose is nearest to the target
    after isotonic regression.
    """

    elimination: float = 0.95

    def __post_init__(self) -> None:
        checked = as_fraction("elimination", self.elimination, PolicyError)
        object.__setattr__(self, "elimination", checked)

    def steps(self, n: IntArray, y: IntArray, target: float) -> IntArray:
        """Return 1, 0 or -1 for a dose with ``y`` DLTs in ``n`` patients."""
        raise NotImplementedError

    def next_dose(
        self, treated: IntArray, events: IntArray, dose: IntArray, recent: IntArray, target: float
    ) -> IntArray:
        """Return the dose of the next cohort, or `NO_DOSE`."""
        highest = last_left(self.eliminated(treated, events, target))
        wanted = dose + self.steps(_at(treated, dose), _at(events, dose), target)
        return np.where(highest < 0, NO_DOSE, np.clip(wanted, 0, highest))

    def eliminated(self, treated: IntArray, events: IntArray, target: float) -> BoolArray:
        """Return which doses are eliminated, shape (trial, dose)."""
        return eliminated(treated, events, target, self.elimination)

    def recommend(self, treated: IntArray, events: IntArray, target: float) -> IntArray:
        """Return the dose nearest to the target after isotonic regression, or `NO_DOSE`."""
        usable = (treated > 0) & ~self.eliminated(treated, events, target)
        rates = isotonic_rates(treated, events)
        # Of equally distant doses take the lower one above the target, the higher one below it.
        slope = 1e-10 * np.arange(treated.shape[1])
        distance = np.where(usable, np.abs(rates + slope - target), np.inf)
        return np.where(usable.any(axis=1), distance.argmin(axis=1), NO_DOSE)


@register("boin")
@dataclasses.dataclass(frozen=True, kw_only=True)
class BOIN(_IntervalDesign):
    """The Bayesian optimal interval design (Liu and Yuan 2015).

    Args:
        low: a rate that is too low, as a share of the target.
        high: a rate that is too high, as a share of the target.
        elimination: the posterior probability at which a dose is eliminated.

    >>> [round(edge, 3) for edge in BOIN().boundaries(0.25)]
    [0.197, 0.298]
    """

    low: float = 0.6
    high: float = 1.4

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low", "high"):
            object.__setattr__(self, name, as_positive(name, getattr(self, name), PolicyError))
        if not self.low < 1.0 < self.high:
            raise PolicyError(f"low and high must lie around 1, got {self.low} and {self.high}")

    def boundaries(self, target: float) -> tuple[float, float]:
        """Return the rates at or below which the dose is raised, and at or above which lowered."""
        low, high = self.low * target, min(self.high * target, 1.0 - 1e-12)
        # Equation 4 of Liu and Yuan (2015).
        up = math.log((1 - low) / (1 - target)) / (_log_odds(target) - _log_odds(low))
        down = math.log((1 - target) / (1 - high)) / (_log_odds(high) - _log_odds(target))
        return up, down

    def steps(self, n: IntArray, y: IntArray, target: float) -> IntArray:
        """Return 1, 0 or -1 for a dose with ``y`` DLTs in ``n`` patients."""
        up, down = self.boundaries(target)
        rate = y / np.maximum(n, 1)
        return (rate <= up).astype(np.int64) - (rate >= down)


@register("keyboard")
@dataclasses.dataclass(frozen=True, kw_only=True)
class Keyboard(_IntervalDesign):
    """The keyboard design (Yan, Mandrekar and Yuan 2017); its decisions are those of mTPI-2.

    The unit interval is divided into keys as wide as the target's. The dose is raised if the key
    with the largest posterior probability is below the target's, and lowered if it is above.

    Args:
        half_width: half the width of the keys.
        elimination: the posterior probability at which a dose is eliminated.
    """

    half_width: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        checked = as_fraction("half_width", self.half_width, PolicyError)
        object.__setattr__(self, "half_width", checked)

    def keys(self, target: float) -> FloatArray:
        """Return the lower ends of the keys, shape (n_keys,). Shorter ends are left out."""
        width = 2.0 * self.half_width
        first = target - self.half_width
        n_below = math.floor(first / width + 1e-9)
        n_above = math.floor((1.0 - first - width) / width + 1e-9)
        return np.asarray(first + width * np.arange(-n_below, n_above + 1), np.float64)

    def steps(self, n: IntArray, y: IntArray, target: float) -> IntArray:
        """Return 1, 0 or -1 for a dose with ``y`` DLTs in ``n`` patients."""
        lower = np.clip(self.keys(target), 0.0, 1.0)
        upper = np.clip(lower + 2.0 * self.half_width, 0.0, 1.0)
        n, y = n[..., np.newaxis], y[..., np.newaxis]
        masses = probabilities_above(n, y, lower) - probabilities_above(n, y, upper)
        strongest = masses.argmax(axis=-1)
        aim = int(np.abs(lower + self.half_width - target).argmin())
        return np.asarray(np.sign(aim - strongest), np.int64)


def _log_odds(rate: float) -> float:
    return math.log(rate / (1.0 - rate))


def isotonic_rates(treated: IntArray, events: IntArray) -> FloatArray:
    """Return increasing rates of the doses with patients, shape (trial, dose).

    The weighted isotonic regression of ``(y + 0.05) / (n + 0.1)``, by its min-max formula; weights
    are inverse variances of the beta distribution (Liu and Yuan 2015).
    """
    alive = treated > 0
    n, y = treated + 0.1, events + 0.05
    weights = np.where(alive, n**2 * (n + 1.0) / (y * (n - y)), 0.0)
    sums, totals = (np.cumsum(part, axis=1) for part in (weights * y / n, weights))
    pad = ((0, 0), (1, 0))
    sums, totals = np.pad(sums, pad), np.pad(totals, pad)
    n_doses = treated.shape[1]
    rates = np.full(treated.shape, -np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        for k in range(n_doses):
            for i in range(k + 1):
                least = np.full(len(treated), np.inf)
                for j in range(k, n_doses):
                    mean = (sums[:, j + 1] - sums[:, i]) / (totals[:, j + 1] - totals[:, i])
                    least = np.fmin(least, mean)
                rates[:, k] = np.maximum(rates[:, k], least)
    return rates


def _at(table: IntArray, dose: IntArray) -> IntArray:
    return np.asarray(table[np.arange(len(dose)), dose])


# The policy.


class Setup(NamedTuple):
    """The rule, and the numbers it needs."""

    tables: Any
    rule: EscalationRule
    target: float
    cohort: int
    start: int


class State(NamedTuple):
    """The decisions so far."""

    dose: IntArray  # (1,) of the present cohort; the start before any decision
    size: IntArray  # (1,) decisions of the present cohort
    decided: IntArray  # (n_arms,) decisions of every dose
    before: FloatArray  # (1,) DLTs at all doses when the present cohort began


def init(setup: Setup) -> State:
    """No decision yet."""
    n_arms = setup.tables.n_arms
    return State(
        dose=np.full(1, setup.start),
        size=np.zeros(1, np.int64),
        decided=np.zeros(n_arms, np.int64),
        before=np.zeros(1),
    )


def decide(setup: Setup, stats: Statistics, state: State, arm: int) -> None:
    """Add a decision to the present cohort, or begin a new one."""
    state.decided[arm] += 1
    if 0 < state.size[0] < setup.cohort and arm == state.dose[0]:
        state.size[0] += 1
        return
    state.dose[0] = arm
    state.size[0] = 1
    state.before[0] = stats.sums.sum()


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Count the decision of a reward, if it was made elsewhere."""
    if stats.counts[arm] > state.decided[arm]:
        decide(setup, stats, state, arm)
        if state.size[0] == 1:
            state.before[0] -= reward


def wish(setup: Setup, stats: Statistics, state: State) -> int:
    """Return the dose that the rule chooses with the outcomes that are known, or `NO_DOSE`."""
    treated, events = _one_trial(stats)
    present = int(state.dose[0])
    if has_new_dlt(stats, state):
        # An outcome of a lower dose may have been corrected, so that the rule no longer leaves it.
        for dose in np.flatnonzero(stats.counts[:present]).tolist():
            up_to = np.arange(len(stats.counts)) <= dose
            found = _next_dose(setup, treated * up_to, events * up_to, dose)
            if found <= dose:
                return found
    return _next_dose(setup, treated, events, present)


def _next_dose(setup: Setup, treated: IntArray, events: IntArray, dose: int) -> int:
    recent = np.zeros(1, np.int64)
    found = setup.rule.next_dose(treated, events, np.array([dose]), recent, setup.target)
    return int(found[0])


def has_new_dlt(stats: Statistics, state: State) -> bool:
    """Whether a DLT was reported, at any dose, since the present cohort began."""
    return bool(stats.sums.sum() > state.before[0] + 1e-9)


def _one_trial(stats: Statistics) -> tuple[IntArray, IntArray]:
    """Return patients and DLTs, shape (1, dose). A part of a DLT counts as a whole one."""
    events = np.ceil(stats.sums - 1e-9).astype(np.int64)
    return stats.counts[np.newaxis], events[np.newaxis]


def is_complete(setup: Setup, stats: Statistics, state: State) -> bool:
    """Whether the present cohort is full and all outcomes of its dose are known."""
    dose = state.dose[0]
    return bool(state.size[0] >= setup.cohort and state.decided[dose] <= stats.counts[dose])


def is_lowered(setup: Setup, stats: Statistics, state: State) -> bool:
    """Whether a DLT since the cohort began, with all known outcomes, asks for a lower dose."""
    return has_new_dlt(stats, state) and wish(setup, stats, state) < state.dose[0]


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Return the dose of the next patient, or `NO_DOSE`.

    A cohort that is not full is filled, and a full one waits for its outcomes. A lower dose is
    given as soon as the known outcomes ask for it.
    """
    dose, n_decided = int(state.dose[0]), int(state.size[0])
    if n_decided == 0:
        return dose
    if is_complete(setup, stats, state) or is_lowered(setup, stats, state):
        wanted = wish(setup, stats, state)
        # A higher dose whose earlier patients have no outcome yet is not given.
        waits = wanted > dose and state.decided[wanted] > stats.counts[wanted]
        return dose if waits else wanted
    return dose if n_decided < setup.cohort else NO_DOSE


def select_among(
    setup: Setup, stats: Statistics, state: State, offered: IntArray, rng: np.random.Generator
) -> int:
    """Return the highest offered dose that is not above the rule's; `NO_DOSE` for none."""
    chosen = select(setup, stats, state, rng)
    below = offered[offered <= chosen]
    return int(below[-1]) if below.size else NO_DOSE


def recommend(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Return the dose to recommend, or `NO_DOSE`."""
    return int(setup.rule.recommend(*_one_trial(stats), setup.target)[0])


def estimate(setup: Setup, stats: Statistics, state: State) -> float:
    """No estimate: the rules use no model."""
    return math.nan


def resume(setup: Setup, stats: Statistics, state: State) -> bool:
    """Whether a learner with these statistics can have this state."""
    dose, size = int(state.dose[0]), int(state.size[0])
    inside = 0 <= dose < setup.tables.n_arms and 0 <= size <= setup.cohort
    return inside and bool(np.all(state.decided >= stats.counts)) and size <= state.decided[dose]


@register("cohort_design")
@dataclasses.dataclass(frozen=True, kw_only=True)
class CohortDesign(Policy):
    """Follow the 3+3 design, BOIN or the keyboard in one trial. The curves are not used.

    The first patient gets ``start``. A cohort gets one dose. Once it is full, the next patient
    waits for its outcomes: `select` raises an error until they are known. A lower dose is given as
    soon as the known outcomes ask for it, and a higher one only if all its outcomes are known. If
    the rule ends the trial, `select` raises an error too. For models with a target.

    Args:
        rule: ``BOIN()``, ``Keyboard()`` or ``ThreePlusThree()`` of `gb.trial`, or its dict.
        cohort: the number of patients of a cohort; 3 for 3+3.
        start: the first dose, an index.

    >>> CohortDesign(rule={"kind": "boin"}).label
    'CohortDesign(rule=BOIN(elimination=0.95, low=0.6, high=1.4))'
    """

    rule: EscalationRule
    cohort: int = 3
    start: int = 0

    compiled = False
    ignores_value = True
    rules = Rules(
        init,
        select,
        update,
        estimate,
        resume=resume,
        decide=decide,
        recommend=recommend,
        select_among=select_among,
    )

    def __post_init__(self) -> None:
        """Check the parameters that do not depend on the model."""
        if isinstance(self.rule, Mapping):
            object.__setattr__(self, "rule", EscalationRule.from_dict(self.rule))
        valid = isinstance(self.rule, EscalationRule)
        wanted = "be BOIN(), Keyboard() or ThreePlusThree()"
        require(valid, "rule", wanted, self.rule, PolicyError)
        for name, least in (("cohort", 1), ("start", 0)):
            checked = as_integer(name, getattr(self, name), least, PolicyError)
            object.__setattr__(self, name, checked)
        three = not isinstance(self.rule, ThreePlusThree) or self.cohort == 3
        require(three, "cohort", "be 3 for 3+3", self.cohort, PolicyError)

    def setup(self, model: AnyModel) -> Setup:
        """The rule, and the model's target."""
        require_no_contexts(model, "CohortDesign")
        target = getattr(model, "target", None)
        require(target is not None, "model", "have a target for CohortDesign", model, PolicyError)
        rule = f"be at most {model.n_arms - 1}, the last arm"
        require(self.start < model.n_arms, "start", rule, self.start, PolicyError)
        low, high = model.reward_range
        aim = (float(target) - low) / (high - low)  # type: ignore[arg-type]
        return Setup(model.tables, self.rule, aim, self.cohort, self.start)

    def admissible(self, setup: Setup, stats: Statistics, state: State) -> list[int]:
        """Return the doses up to the rule's."""
        return list(range(select(setup, stats, state, np.random.default_rng(0)) + 1))

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """The known outcomes of the present dose."""
        dose, size = int(state.dose[0]), int(state.size[0])
        if size == 0:
            return f"the first decision is for arm {dose}"
        n, y = int(stats.counts[dose]), float(stats.sums[dose])
        known = f"{y:g} on {n} rewards of arm {dose}"
        if size < setup.cohort and not is_lowered(setup, stats, state):
            return f"{known}; decision {size + 1} of {setup.cohort} of its cohort"
        return f"{known}, by {type(self.rule).__name__}"

    def no_arm(self, setup: Setup, stats: Statistics, state: State) -> str:
        """The cohort waits, or the rule ends the trial."""
        dose = int(state.dose[0])
        if not is_complete(setup, stats, state) and not is_lowered(setup, stats, state):
            n_open = int(state.decided[dose] - stats.counts[dose])
            return f"the cohort on arm {dose} waits for {n_open} rewards; wait for them"
        return f"{type(self.rule).__name__} ends the trial; stop"

    def details(self, setup: Setup, stats: Statistics, state: State) -> dict[str, Any]:
        """The decisions of the present cohort, and all open decisions."""
        n_open = int((state.decided - stats.counts).clip(0).sum())
        return {"cohort": [int(state.size[0]), setup.cohort], "open": n_open}
