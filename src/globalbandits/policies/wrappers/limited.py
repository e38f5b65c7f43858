"""`Limited`: another policy's choice, moved to the nearest arm that limits allow.

Limits count decisions, not only rewards. A cohort is a sequence of decisions for one arm. It is
complete once it has enough decisions and enough of their rewards are observed. Until then the next
decision goes no higher. So a late reward of an earlier decision never moves the limits.
"""

import copy
import dataclasses
import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_float, as_fraction, as_integer, require
from globalbandits.errors import PolicyError
from globalbandits.model import AnyModel
from globalbandits.model.tables import evaluate
from globalbandits.policies.base import Policy, Rules, register, require_no_contexts
from globalbandits.policies.paper.wagp import WAGP
from globalbandits.policies.shared.elimination import MIN_REWARDS_TO_ELIMINATE, probability_above
from globalbandits.policies.shared.worth import worth_of
from globalbandits.policies.wrappers.inner_policy import (
    WrapperPolicy,
    as_policy,
    moved_twice,
    passed_on,
    resume_inside,
)
from globalbandits.statistics import Statistics


class Setup(NamedTuple):
    """The model's tables, the inner policy's setup, and the limits."""

    tables: Any  # of a model with one unknown number or several
    inner: Any
    largest_step_up: int
    largest_step_down: int
    no_skipping: bool
    start: int
    low: int
    high: int
    cohort: int
    wait_for: int  # rewards of a cohort before a step up
    least_weight: float  # of an outcome that is awaited, before a step up from its arm
    whole_cohorts: bool
    coherent: bool  # no step up after a cohort whose mean reward reaches the target
    target: float  # inf for none
    max_open: int  # the largest number of decisions of an arm without a reward
    elimination: float  # probability above the target at which an arm is eliminated; 2 for never
    recommend_untried: bool


class State(NamedTuple):
    """The inner policy's state, and the present cohort.

    A reward names an arm and not a decision. It belongs to the oldest decision of the arm that
    has no reward yet.
    """

    inner: Any
    arm: IntArray  # (1,) the arm of the present cohort; the start before any decision
    decided: IntArray  # (1,) decisions of the present cohort
    observed: IntArray  # (1,) of which have a reward
    reported: FloatArray  # (1,) sum of all rewards since the cohort began, also of other arms
    waiting: IntArray  # (n_arms,) decisions of earlier cohorts without a reward
    weights: FloatArray  # (n_arms,) largest weights of the outcomes that are awaited


@cache
def limit(inner: Rules) -> Rules:
    """Apply limits to the rules of a policy."""
    inner_select, inner_update, inner_estimate = inner.select, inner.update, inner.estimate
    inner_recommend = inner.recommend
    inner_among = inner.select_among

    def init(setup: Setup) -> State:
        """No decision yet."""
        return State(
            inner=inner.init(setup.inner),
            arm=np.full(1, setup.start, np.int64),
            decided=np.zeros(1, np.int64),
            observed=np.zeros(1, np.int64),
            reported=np.zeros(1),
            waiting=np.zeros(setup.tables.n_arms, np.int64),
            weights=np.zeros(setup.tables.n_arms),
        )

    def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
        """Return the inner policy's arm, or the nearest arm within the limits; -1 for none."""
        wanted = int(inner_select(setup.inner, stats, state.inner, rng))
        if not 0 <= wanted < setup.tables.n_arms:
            # The engine reports an error, because this is not an arm.
            return wanted
        arm = min(max(wanted, lowest(setup, state)), highest(setup, stats, state))
        arm = min(arm, first_eliminated(setup, stats) - 1)
        while arm >= setup.low and n_open(state, arm) >= setup.max_open:
            arm -= 1
        return arm if arm >= setup.low else -1

    def select_among(
        setup: Setup,
        stats: Statistics,
        state: State,
        offered: IntArray,
        rng: np.random.Generator,
    ) -> int:
        """Return the inner policy's offered arm, or the nearest offered arm within the limits.

        Of two arms at the same distance the lower one is taken. The result is -1 if no offered
        arm is within the limits.
        """
        wanted = int(inner_among(setup.inner, stats, state.inner, offered, rng))  # type: ignore[misc]
        last = first_eliminated(setup, stats) - 1
        if wanted < 0 or last < setup.low:
            return -1
        low, high = lowest(setup, state), min(highest(setup, stats, state), last)
        low = min(low, high)
        best = -1
        for i in range(offered.shape[0]):
            arm = int(offered[i])
            nearer = best < 0 or abs(arm - wanted) < abs(best - wanted)
            if nearer and low <= arm <= high and n_open(state, arm) < setup.max_open:
                best = arm
        if best < 0:
            # As in `select`, an arm below the limits is played if those within them are full.
            for i in range(offered.shape[0]):
                arm = int(offered[i])
                if setup.low <= arm < low and n_open(state, arm) < setup.max_open:
                    best = arm
        return best

    def decide(setup: Setup, stats: Statistics, state: State, arm: int) -> None:
        """Count a decision."""
        add_decision(setup, state, arm)

    def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
        """Update the inner policy, and count the reward for the oldest open decision."""
        inner_update(setup.inner, stats, state.inner, arm, reward)
        if state.waiting[arm] > 0:
            state.waiting[arm] -= 1
        else:
            if n_open(state, arm) == 0 and (arm == state.arm[0] or n_open_of_all(state) == 0):
                # The decision was not counted before: it was made elsewhere.
                add_decision(setup, state, arm)
            if n_open(state, arm) > 0:
                state.observed[0] += 1
        state.reported[0] += reward

    def recommend(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
        """Return the arm that is worth most at the estimate, without cohorts and steps."""
        top = min(setup.high, first_eliminated(setup, stats) - 1)
        theta = inner_estimate(setup.inner, stats, state.inner)
        best, largest = min(setup.start, top), -np.inf
        for arm in range(setup.low, top + 1):
            n_rewards = stats.counts[arm]
            if n_rewards == 0 and (math.isnan(theta) or not setup.recommend_untried):
                continue
            if math.isnan(theta):
                worth = worth_of(setup.tables, arm, stats.sums[arm] / n_rewards)
            else:
                worth = evaluate(setup.tables.worth, arm, theta)
            if worth > largest:
                best, largest = arm, worth
        return best if best >= setup.low else -1

    def recommend_inner(
        setup: Setup, stats: Statistics, state: State, rng: np.random.Generator
    ) -> int:
        """Return the arm that the inner policy recommends, or the next lower one with a reward."""
        assert inner_recommend is not None
        arm = int(inner_recommend(setup.inner, stats, state.inner, rng))
        arm = min(arm, setup.high, first_eliminated(setup, stats) - 1)
        while arm > setup.low and stats.counts[arm] == 0 and not setup.recommend_untried:
            arm -= 1
        return arm if arm >= setup.low else -1

    def resume(setup: Setup, stats: Statistics, state: State) -> bool:
        """Check and complete a saved state."""
        return is_possible(setup, stats, state) and resume_inside(
            inner, setup.inner, stats, state.inner
        )

    passed = passed_on(inner)
    inner_pend = passed["pend"]

    def pend(
        setup: Setup, stats: Statistics, state: State, arms: IntArray, weights: FloatArray
    ) -> None:
        """Replace the outcomes that the inner policy awaits, and note their weights."""
        inner_pend(setup, stats, state, arms, weights)
        state.weights[:] = 0.0
        np.maximum.at(state.weights, arms, weights)

    return Rules(
        init,
        select,
        update,
        resume=resume,
        decide=decide,
        recommend=recommend if inner_recommend is None else recommend_inner,
        select_among=None if inner_among is None else select_among,
        **(passed if inner_pend is None else passed | {"pend": pend}),
    )


def add_decision(setup: Setup, state: State, arm: int) -> None:
    """Add a decision to the present cohort, or begin a new one."""
    if state.decided[0] > 0 and arm == state.arm[0] and not is_complete(setup, state):
        # Patients who arrive while rewards are awaited join the cohort.
        state.decided[0] += 1
        return
    state.waiting[state.arm[0]] += state.decided[0] - state.observed[0]
    state.arm[0] = arm
    state.decided[0] = 1
    state.observed[0] = 0
    state.reported[0] = 0.0


def is_complete(setup: Setup, state: State) -> bool:
    """Whether the cohort has enough decisions, and enough of them have a reward."""
    return bool(state.decided[0] >= setup.cohort and state.observed[0] >= setup.wait_for)


def n_open(state: State, arm: int) -> int:
    """Return the number of decisions of an arm without a reward."""
    number = state.waiting[arm]
    if arm == state.arm[0]:
        number += state.decided[0] - state.observed[0]
    return int(number)


def n_open_of_all(state: State) -> int:
    """Return the number of decisions without a reward."""
    number = state.decided[0] - state.observed[0]
    for arm in range(state.waiting.shape[0]):
        number += state.waiting[arm]
    return int(number)


def anchor(setup: Setup, state: State) -> int:
    """Return the arm that steps are counted from."""
    return int(min(max(state.arm[0], setup.low), setup.high))


def lowest(setup: Setup, state: State) -> int:
    """Return the lowest arm that may be played now."""
    here = anchor(setup, state)
    if state.decided[0] == 0:
        return here
    if setup.whole_cohorts and state.decided[0] < setup.cohort and state.reported[0] <= 0.0:
        return here
    return max(here - setup.largest_step_down, setup.low)


def highest(setup: Setup, stats: Statistics, state: State) -> int:
    """Return the highest arm that may be played now."""
    here = anchor(setup, state)
    if not is_complete(setup, state) or is_incoherent(setup, state):
        return here
    if is_too_early(setup, stats, state):
        return here
    top = min(here + setup.largest_step_up, setup.high)
    if setup.no_skipping:
        # An arm without a reward may be entered, but not passed.
        arm = min(here + 1, top)
        while arm < top and stats.counts[arm] > 0:
            arm += 1
        top = arm
    return top


def first_eliminated(setup: Setup, stats: Statistics) -> int:
    """Return the lowest eliminated arm; the number of arms if none is eliminated.

    An arm is eliminated if it has at least three rewards, and its mean is above the target with a
    posterior probability above ``elimination``, under a uniform prior.
    """
    if setup.elimination > 1.0:
        return int(setup.tables.n_arms)
    for arm in range(setup.tables.n_arms):
        if stats.counts[arm] >= MIN_REWARDS_TO_ELIMINATE:
            above = probability_above(stats.counts[arm], stats.sums[arm], setup.target)
            if above > setup.elimination:
                return arm
    return int(setup.tables.n_arms)


def is_incoherent(setup: Setup, state: State) -> bool:
    """Whether a step up would follow a cohort whose mean reward reaches the target.

    The sum has every reward since the cohort began: a late reward of an earlier cohort counts too.
    """
    reported = state.reported[0]
    return setup.coherent and bool(reported > 0.0 and reported >= setup.target * state.observed[0])


def is_too_early(setup: Setup, stats: Statistics, state: State) -> bool:
    """Whether no decision for the present arm has a reward or enough weight for a step up."""
    here = anchor(setup, state)
    return bool(stats.counts[here] == 0 and state.weights[here] < setup.least_weight)


def is_possible(setup: Setup, stats: Statistics, state: State) -> bool:
    """Whether a learner with these statistics can have these numbers."""
    arm, decided, observed = int(state.arm[0]), int(state.decided[0]), int(state.observed[0])
    if not 0 <= arm < setup.tables.n_arms or np.any(state.waiting < 0):
        return False
    if not np.all((state.weights >= 0.0) & (state.weights <= 1.0)):
        return False
    total = int(stats.total[0])
    if not 0.0 <= state.reported[0] <= total + 1e-9 * (1.0 + total):
        return False
    if decided == 0:
        return total == 0 and observed == 0 and arm == setup.start and not np.any(state.waiting)
    return 0 <= observed <= min(decided, int(stats.counts[arm]))


_WAGP = WAGP()
# Larger than any number of decisions.
_NO_MAXIMUM = 2**62


@register("limited")
@dataclasses.dataclass(frozen=True, kw_only=True)
class Limited(WrapperPolicy):
    """Play the choice of another policy, moved to the nearest arm that limits allow.

    The first decision is for ``start``. A learner counts each `select` as a decision. Consecutive
    decisions for one arm form a cohort, which is complete once ``wait_for`` of them have a reward.
    Until then no decision goes higher, and further decisions for the arm join the cohort. A lower
    arm may be played at any time. Steps are counted from the arm of the present cohort.

    A reward that `update` learns without a decision counts as decision and reward, unless other
    decisions are open. A learner can forget rewards, but cannot be merged.

    Args:
        inner: the policy whose choice is limited; may be given by position. It must not have
            limits itself.
        largest_step_up: the largest step up; None for any.
        largest_step_down: the largest step down; None, the default, for any.
        largest_step: the largest step in both directions, None for any; 0, the default, leaves it
            to the two parameters above.
        no_skipping: whether an arm without a reward must be played before higher arms.
        start: the first arm; ``low`` by default.
        low: the lowest arm that may be played, an index.
        high: the highest arm that may be played; the last arm by default.
        cohort: the number of decisions of an arm before a higher arm is chosen.
        wait_for: how many of them must have a reward by then; all by default. 0 for a design that
            weighs outcomes that are awaited, such as the TITE-CRM.
        least_weight: no step up from an arm until one of its decisions has a reward, or awaits an
            outcome with at least this weight; see `Learner.set_pending`.
        whole_cohorts: whether a cohort is completed even if the inner policy chooses a lower arm,
            as in a trial that treats all patients of a cohort at once. It is not completed after a
            reward above 0 since it began: a DLT can always lower the dose.
        coherent: for a model with a target: no step up straight after a cohort whose mean reward
            is at or above the target (Cheung 2005).
        max_open: the largest number of decisions of an arm without a reward. A further decision
            is for a lower arm. If there is none, `select` raises an error: wait for a reward.
        elimination: for a model with a target: an arm, and all higher ones, are no longer played
            once it has three rewards and its mean is above the target with a larger posterior
            probability, under a uniform prior and without the model (Liu and Yuan 2015); 0.95 is
            usual. If the lowest arm is eliminated, `select` raises an error: stop the trial.
        recommend_untried: whether an arm without a reward may be recommended.

    >>> from globalbandits.policies import WAGP
    >>> Limited(WAGP(), cohort=3).label
    'Limited(WAGP, cohort=3)'
    """

    inner: Policy = dataclasses.field(default=_WAGP, kw_only=False)
    largest_step_up: int | None = 1
    largest_step_down: int | None = None
    largest_step: int | None = 0
    no_skipping: bool = True
    start: int | None = None
    low: int = 0
    high: int | None = None
    cohort: int = 1
    wait_for: int | None = None
    least_weight: float = 0.0
    whole_cohorts: bool = False
    coherent: bool = True
    max_open: int | None = None
    elimination: float | None = None
    recommend_untried: bool = False

    wrap = staticmethod(limit)

    def __post_init__(self) -> None:
        """Check the parameters that do not depend on the model."""
        object.__setattr__(self, "inner", as_policy("inner", self.inner))
        for name in ("no_skipping", "whole_cohorts", "coherent", "recommend_untried"):
            value = getattr(self, name)
            require(isinstance(value, bool), name, "be True or False", value, PolicyError)
        least = {"largest_step_up": 1, "largest_step_down": 1, "largest_step": 0, "max_open": 1}
        least |= {"cohort": 1, "wait_for": 0, "low": 0, "high": 0, "start": 0}
        for name, minimum in least.items():
            value = getattr(self, name)
            if value is not None or name in ("cohort", "low"):
                object.__setattr__(self, name, as_integer(name, value, minimum, PolicyError))
        rule = f"be at most cohort = {self.cohort}"
        few = self.wait_for is None or self.wait_for <= self.cohort
        require(few, "wait_for", rule, self.wait_for, PolicyError)
        least_weight = as_float("least_weight", self.least_weight, PolicyError)
        rule = "lie in [0, 1]"
        require(0.0 <= least_weight <= 1.0, "least_weight", rule, least_weight, PolicyError)
        object.__setattr__(self, "least_weight", least_weight)
        if self.elimination is not None:
            checked = as_fraction("elimination", self.elimination, PolicyError)
            object.__setattr__(self, "elimination", checked)
        if self.largest_step != 0:
            # The two parameters hold it from now on.
            object.__setattr__(self, "largest_step_up", self.largest_step)
            object.__setattr__(self, "largest_step_down", self.largest_step)
            object.__setattr__(self, "largest_step", 0)
        if self.high is not None:
            rule = f"be at least low = {self.low}, so that an arm is left"
            require(self.high >= self.low, "high", rule, self.high, PolicyError)
        if self.start is not None:
            above = self.high is not None and self.start > self.high
            rule = "lie between low and high"
            require(self.low <= self.start and not above, "start", rule, self.start, PolicyError)

    @property
    def ignores_value(self) -> bool:  # type: ignore[override]
        """True also with bounds on the arms, which may exclude the arm that is worth most."""
        return self.inner.ignores_value or self.low > 0 or self.high is not None

    def setup(self, model: AnyModel) -> Setup:
        """Return the inner policy's setup, and the limits as indices of the model's arms."""
        require_no_contexts(model, "Limited")
        last = model.n_arms - 1
        for name in ("low", "high", "start"):
            arm = getattr(self, name)
            rule = f"be at most {last}, the last arm"
            require(arm is None or arm <= last, name, rule, arm, PolicyError)
        low, high = model.reward_range
        target = getattr(model, "target", None)
        rule = "be given for a model with a target"
        needs_none = self.elimination is None or target is not None
        require(needs_none, "elimination", rule, self.elimination, PolicyError)
        up, down = self.largest_step_up, self.largest_step_down
        return Setup(
            tables=model.tables,
            inner=self.inner.setup(model),
            largest_step_up=last if up is None else min(up, last),
            largest_step_down=last if down is None else min(down, last),
            no_skipping=self.no_skipping,
            start=self.low if self.start is None else self.start,
            low=self.low,
            high=last if self.high is None else self.high,
            cohort=self.cohort,
            wait_for=self.cohort if self.wait_for is None else self.wait_for,
            least_weight=self.least_weight,
            whole_cohorts=self.whole_cohorts,
            coherent=self.coherent and target is not None,
            target=math.inf if target is None else (target - low) / (high - low),
            max_open=_NO_MAXIMUM if self.max_open is None else self.max_open,
            elimination=2.0 if self.elimination is None else self.elimination,
            recommend_untried=self.recommend_untried,
        )

    def admissible(self, setup: Setup, stats: Statistics, state: State) -> list[int]:
        """Return the arms within the limits."""
        low, high = lowest(setup, state), highest(setup, stats, state)
        last = first_eliminated(setup, stats) - 1
        if last < setup.low:
            return []
        low, high = min(low, last), min(high, last)
        free = [arm for arm in range(low, high + 1) if n_open(state, arm) < setup.max_open]
        if free:
            return free
        below = [arm for arm in range(setup.low, low) if n_open(state, arm) < setup.max_open]
        return below[-1:]

    def limit(
        self, setup: Setup, stats: Statistics, state: State, rng: np.random.Generator
    ) -> str | None:
        """Say which limit moved the inner policy's choice, after any limits of its own."""
        inside = self.inner.limit(setup.inner, stats, state.inner, copy.deepcopy(rng))
        wanted = int(self.inner.rules_of(setup.inner).select(setup.inner, stats, state.inner, rng))
        if wanted < 0:
            return inside
        low, high = lowest(setup, state), highest(setup, stats, state)
        arm = min(max(wanted, low), high)
        last = first_eliminated(setup, stats) - 1
        if arm > last:
            text = f"moved from arm {wanted} by a limit: arm {last + 1} is eliminated"
            return moved_twice(inside, text)
        if n_open(state, arm) >= setup.max_open:
            why = f"arm {arm} has {n_open(state, arm)} decisions without a reward"
            return moved_twice(inside, f"moved from arm {wanted} by a limit: {why}")
        if low <= wanted <= high:
            return inside
        return moved_twice(
            inside, f"moved from arm {wanted} by a limit: {self._why(setup, stats, state, wanted)}"
        )

    def _why(self, setup: Setup, stats: Statistics, state: State, wanted: int) -> str:
        """Name the limit that excludes an arm."""
        here, observed = anchor(setup, state), int(state.observed[0])
        low, high = lowest(setup, state), highest(setup, stats, state)
        if state.decided[0] == 0:
            return f"the first decision is for arm {here}"
        if wanted < low:
            if low == setup.low:
                return f"arm {low} is the lowest"
            if low == here:
                return f"the cohort on arm {here} is treated as a whole"
            return f"at most {setup.largest_step_down} step(s) down from arm {here}"
        if not is_complete(setup, state):
            return f"the cohort on arm {here} has {observed} of {setup.wait_for} rewards"
        if is_incoherent(setup, state):
            return (
                f"{state.reported[0]:g} on {observed} rewards of the cohort on arm {here} reach "
                f"the target of {setup.target:g}"
            )
        if is_too_early(setup, stats, state):
            return f"no decision for arm {here} has been observed for long enough"
        if high == setup.high:
            return f"arm {high} is the highest"
        if high < here + setup.largest_step_up:
            return f"arm {high} has no reward yet and is not skipped"
        return f"at most {setup.largest_step_up} step(s) up from arm {here}"

    def no_arm(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Name the limit that excludes all arms."""
        if first_eliminated(setup, stats) <= setup.low:
            return f"arm {setup.low}, the lowest, is eliminated; stop"
        if not self.admissible(setup, stats, state):
            return "all arms within the limits have max_open open decisions; wait for a reward"
        return super().no_arm(setup, stats, state)

    def details(self, setup: Setup, stats: Statistics, state: State) -> dict[str, Any]:
        """Return the arms that may be played now, the cohort, and the inner policy's details."""
        arms = {
            "lowest": lowest(setup, state),
            "highest": highest(setup, stats, state),
            "cohort": [int(state.observed[0]), int(state.decided[0])],
            "open": n_open_of_all(state),
        }
        return arms | self.inner.details(setup.inner, stats, state.inner)
