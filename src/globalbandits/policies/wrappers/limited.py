"""`Limited`: another policy's choice, moved to the nearest arm that limits allow.

Limits are relative to the arm of the last reward, not of the last decision. `select` changes no
state. So any number of decisions may be open, and a log of rewards suffices to repeat every
decision.
"""

import copy
import dataclasses
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_integer, require
from globalbandits.errors import PolicyError
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.paper.wagp import WAGP
from globalbandits.policies.wrappers.inner_policy import (
    WrapperPolicy,
    as_policy,
    moved_twice,
    resume_inside,
)
from globalbandits.statistics import Statistics

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


class Setup(NamedTuple):
    """The model's tables, the inner policy's setup, and the limits."""

    tables: Tables
    inner: Any
    largest_step: int
    no_skipping: bool
    start: int
    low: int
    high: int
    cohort: int


class State(NamedTuple):
    """The inner policy's state, and the arm of the last reward."""

    inner: Any
    last: IntArray  # (1,) the arm of the last reward; the start before any reward
    streak: IntArray  # (1,) the number of rewards of this arm in a row


@cache
def limit(inner: Rules) -> Rules:
    """Apply limits to the rules of a policy."""
    inner_select, inner_update, inner_estimate = inner.select, inner.update, inner.estimate

    def init(setup: Setup) -> State:
        """No reward yet."""
        return State(
            inner=inner.init(setup.inner),
            last=np.full(1, setup.start, np.int64),
            streak=np.zeros(1, np.int64),
        )

    def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
        """Return the inner policy's arm, or the nearest arm within the limits."""
        wanted = int(inner_select(setup.inner, stats, state.inner, rng))
        if not 0 <= wanted < setup.tables.n_arms:
            # The engine reports an error, because this is not an arm.
            return wanted
        return min(max(wanted, lowest(setup, state)), highest(setup, stats, state))

    def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
        """Update the inner policy, and move the limits to the arm."""
        inner_update(setup.inner, stats, state.inner, arm, reward)
        if arm != state.last[0]:
            state.last[0] = arm
            state.streak[0] = 0
        state.streak[0] += 1

    def estimate(setup: Setup, stats: Statistics, state: State) -> float:
        """The inner policy's estimate."""
        return inner_estimate(setup.inner, stats, state.inner)

    def resume(setup: Setup, stats: Statistics, state: State) -> bool:
        """Check and complete a saved state."""
        last, streak, total = int(state.last[0]), int(state.streak[0]), int(stats.total[0])
        if total == 0:
            fits = last == setup.start and streak == 0
        else:
            fits = 0 <= last < setup.tables.n_arms and 0 < streak <= int(stats.counts[last])
        return fits and resume_inside(inner, setup.inner, stats, state.inner)

    def numbers(setup: Setup, stats: Statistics, state: State) -> tuple[FloatArray, FloatArray]:
        """The inner policy's estimates of several numbers."""
        assert inner.numbers is not None
        return inner.numbers(setup.inner, stats, state.inner)

    several = None if inner.numbers is None else numbers
    return Rules(init, select, update, estimate, resume=resume, numbers=several)


def anchor(setup: Setup, state: State) -> int:
    """Return the arm that steps are counted from."""
    return int(min(max(state.last[0], setup.low), setup.high))


def is_bound(setup: Setup, state: State) -> bool:
    """Whether only one arm may be played: at the first decision, and in an incomplete cohort."""
    streak = state.streak[0]
    return bool(streak == 0 or streak % setup.cohort != 0)


def lowest(setup: Setup, state: State) -> int:
    """Return the lowest arm that may be played now."""
    here = anchor(setup, state)
    if is_bound(setup, state):
        return here
    return max(here - setup.largest_step, setup.low)


def highest(setup: Setup, stats: Statistics, state: State) -> int:
    """Return the highest arm that may be played now."""
    here = anchor(setup, state)
    if is_bound(setup, state):
        return here
    top = min(here + setup.largest_step, setup.high)
    if setup.no_skipping:
        # An arm without a reward may be entered, but not passed.
        arm = min(here + 1, top)
        while arm < top and stats.counts[arm] > 0:
            arm += 1
        top = arm
    return top


_WAGP = WAGP()


@register("limited")
@dataclasses.dataclass(frozen=True, kw_only=True)
class Limited(WrapperPolicy):
    """Play the choice of another policy, moved to the nearest arm that limits allow.

    The first decision is for ``start``. Steps and cohorts are counted from the arm of the last
    reward, not of the last decision. So no decision goes further than the observations permit,
    even when rewards are late and several decisions are open. With one decision at a time both
    counts agree. The order of rewards matters: a learner can neither forget nor be merged.

    Args:
        inner: the policy whose choice is limited; may be given by position.
        largest_step: the largest distance from the last arm, up or down; None for any.
        no_skipping: whether an arm without a reward must be played before higher arms.
        start: the first arm; ``low`` by default.
        low: the lowest arm that may be played, an index.
        high: the highest arm that may be played; the last arm by default.
        cohort: the number of rewards of an arm that are observed before another arm is chosen.

    >>> from globalbandits.policies import WAGP
    >>> Limited(WAGP(), cohort=3).label
    'Limited(WAGP, cohort=3)'
    """

    inner: Policy = dataclasses.field(default=_WAGP, kw_only=False)
    largest_step: int | None = 1
    no_skipping: bool = True
    start: int | None = None
    low: int = 0
    high: int | None = None
    cohort: int = 1

    def __post_init__(self) -> None:
        """Check the parameters that do not depend on the model."""
        object.__setattr__(self, "inner", as_policy("inner", self.inner))
        is_flag = isinstance(self.no_skipping, bool)
        require(is_flag, "no_skipping", "be True or False", self.no_skipping, PolicyError)
        least = {"largest_step": 1, "cohort": 1, "low": 0, "high": 0, "start": 0}
        for name, minimum in least.items():
            value = getattr(self, name)
            if value is not None or name in ("cohort", "low"):
                object.__setattr__(self, name, as_integer(name, value, minimum, PolicyError))
        if self.high is not None:
            rule = f"be at least low = {self.low}, so that an arm is left"
            require(self.high >= self.low, "high", rule, self.high, PolicyError)
        if self.start is not None:
            above = self.high is not None and self.start > self.high
            rule = "lie between low and high"
            require(self.low <= self.start and not above, "start", rule, self.start, PolicyError)

    @property
    def rules(self) -> Rules:  # type: ignore[override]
        """The inner policy's rules with limits."""
        return limit(self.inner.rules)

    def rules_of(self, setup: Any) -> Rules:
        """The rules of the inner policy for this setup, limited."""
        return limit(self.inner.rules_of(setup.inner))

    @property
    def ignores_value(self) -> bool:  # type: ignore[override]
        """True also with bounds on the arms, which may exclude the arm that is worth most."""
        return self.inner.ignores_value or self.low > 0 or self.high is not None

    def setup(self, model: "RewardModel") -> Setup:
        """Return the inner policy's setup, and the limits as indices of the model's arms."""
        last = model.n_arms - 1
        for name in ("low", "high", "start"):
            arm = getattr(self, name)
            rule = f"be at most {last}, the last arm"
            require(arm is None or arm <= last, name, rule, arm, PolicyError)
        return Setup(
            tables=model.tables,
            inner=self.inner.setup(model),
            largest_step=last if self.largest_step is None else min(self.largest_step, last),
            no_skipping=self.no_skipping,
            start=self.low if self.start is None else self.start,
            low=self.low,
            high=last if self.high is None else self.high,
            cohort=self.cohort,
        )

    def limit(
        self, setup: Setup, stats: Statistics, state: State, rng: np.random.Generator
    ) -> str | None:
        """Say which limit moved the inner policy's choice, after any limits of its own."""
        inside = self.inner.limit(setup.inner, stats, state.inner, copy.deepcopy(rng))
        wanted = int(self.inner.rules_of(setup.inner).select(setup.inner, stats, state.inner, rng))
        low, high = lowest(setup, state), highest(setup, stats, state)
        if low <= wanted <= high:
            return inside
        streak, here = int(state.streak[0]), anchor(setup, state)
        if streak == 0:
            why = f"the first decision is for arm {here}"
        elif is_bound(setup, state):
            why = f"the cohort on arm {here} has {streak % setup.cohort} of {setup.cohort} rewards"
        elif wanted < low:
            why = f"arm {low} is the lowest" if low == setup.low else _too_far(setup, here)
        elif high == setup.high:
            why = f"arm {high} is the highest"
        elif high < here + setup.largest_step:
            why = f"arm {high} has no reward yet and is not skipped"
        else:
            why = _too_far(setup, here)
        return moved_twice(inside, f"moved from arm {wanted} by a limit: {why}")

    def details(self, setup: Setup, stats: Statistics, state: State) -> dict[str, Any]:
        """Return the arms that may be played now, and the inner policy's details."""
        arms = {"lowest": lowest(setup, state), "highest": highest(setup, stats, state)}
        return arms | self.inner.details(setup.inner, stats, state.inner)


def _too_far(setup: Setup, here: int) -> str:
    return f"at most {setup.largest_step} step(s) from arm {here}"
