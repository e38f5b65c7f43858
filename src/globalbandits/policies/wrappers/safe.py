"""`Safe`: another policy's choice, overruled when arms' own rewards clearly contradict it.

Every arm has a floor and a ceiling. The inner policy's choice is played, unless its ceiling is
below the largest floor. Then the arm with that floor is played. This is the clamping of
`shared/gittins.py`, with index infinity for the choice and minus infinity for all other arms.
"""

import copy
import dataclasses
import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_positive, require
from globalbandits.errors import PolicyError
from globalbandits.model import RewardModel
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, Rules, register, require_one_number
from globalbandits.policies.paper.wagp import WAGP
from globalbandits.policies.shared.gittins import (
    CEILING_LOOKAHEAD,
    LARGEST_VARIANCE,
    cautious_variance,
    is_forced,
    largest_of,
    own_bonus,
)
from globalbandits.policies.shared.noise_variance import (
    DIFFERENT_ARMS,
    Noise,
    guess_mean,
    learn_noise,
    no_noise,
    update_variance,
)
from globalbandits.policies.shared.refits import is_old, may_be_renewals, next_fit
from globalbandits.policies.shared.worth import unit_scale, worth_within
from globalbandits.policies.wrappers.inner_policy import (
    WrapperPolicy,
    as_policy,
    moved_twice,
    resume_inside,
)
from globalbandits.statistics import Statistics, assign, assign_arm, no_statistics

# The number of rewards grows by this factor from one update of all bounds to the next.
RENEWAL_GROWTH = 1.07
FIRST_GUESS = 0.5  # of a mean on the unit scale


class Setup(NamedTuple):
    """The model's tables, the inner policy's setup, and the constants of the bounds."""

    tables: Tables
    inner: Any
    caution: float  # eps, of an arm
    variance: float  # upper bound for every arm's rewards; 0 if it is learned


class State(NamedTuple):
    """The inner policy's state, the bounds, and the rewards they were computed from."""

    inner: Any
    fitted: Statistics  # the rewards at the last update of all bounds
    renewed: Statistics  # each arm's rewards at the last update of its bounds
    due: FloatArray  # (1,) the number of rewards at the next update of all bounds
    noise: Noise
    floors: FloatArray  # (n_arms,)
    ceilings: FloatArray  # (n_arms,)
    highest: IntArray  # (1,) the arm of the largest floor


@cache
def secure(inner: Rules) -> Rules:
    """Add floors and ceilings to the rules of a policy."""
    inner_select, inner_update, inner_estimate = inner.select, inner.update, inner.estimate
    inner_rebuild, inner_among = inner.rebuild, inner.select_among

    def init(setup: Setup) -> State:
        """No reward yet."""
        n = setup.tables.n_arms
        state = State(
            inner=inner.init(setup.inner),
            fitted=no_statistics(n),
            renewed=no_statistics(n),
            due=np.zeros(1),
            noise=no_noise(n),
            floors=np.zeros(n),
            ceilings=np.zeros(n),
            highest=np.zeros(1, np.int64),
        )
        update_all_bounds(setup, no_statistics(n), state)
        return state

    def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
        """Return the inner policy's arm, unless another arm's floor is above its ceiling."""
        wanted = int(inner_select(setup.inner, stats, state.inner, rng))
        if not 0 <= wanted < setup.tables.n_arms:
            # The engine reports an error, because this is not an arm.
            return wanted
        highest = int(state.highest[0])
        return highest if state.ceilings[wanted] < state.floors[highest] else wanted

    def select_among(
        setup: Setup,
        stats: Statistics,
        state: State,
        offered: IntArray,
        rng: np.random.Generator,
    ) -> int:
        """Return the inner policy's offered arm, or the one with the largest offered floor."""
        wanted = int(inner_among(setup.inner, stats, state.inner, offered, rng))  # type: ignore[misc]
        highest = int(offered[0])
        for i in range(1, offered.shape[0]):
            if state.floors[offered[i]] > state.floors[highest]:
                highest = int(offered[i])
        return highest if state.ceilings[wanted] < state.floors[highest] else wanted

    def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
        """Update the inner policy, and the bounds that are out of date."""
        inner_update(setup.inner, stats, state.inner, arm, reward)
        if stats.total[0] >= state.due[0]:
            update_all_bounds(setup, stats, state)
        elif is_old(state.renewed.counts[arm], stats.counts[arm]):
            assign_arm(state.renewed, stats, arm)
            update_bounds(setup, state, arm)
            state.highest[0] = largest_of(state.floors)

    def estimate(setup: Setup, stats: Statistics, state: State) -> float:
        """The inner policy's estimate."""
        return inner_estimate(setup.inner, stats, state.inner)

    def rebuild(setup: Setup, stats: Statistics, state: State) -> None:
        """Rebuild the inner policy's state and all bounds."""
        inner_rebuild(setup.inner, stats, state.inner)  # type: ignore[misc]
        update_all_bounds(setup, stats, state)

    def resume(setup: Setup, stats: Statistics, state: State) -> bool:
        """Check and complete a saved state."""
        if not may_be_renewals(state.fitted, state.renewed, stats, RENEWAL_GROWTH):
            return False
        learn_noise_level(setup, state)
        for arm in range(setup.tables.n_arms):
            update_bounds(setup, state, arm)
        state.highest[0] = largest_of(state.floors)
        return resume_inside(inner, setup.inner, stats, state.inner)

    among = None if inner_among is None else select_among
    if inner_rebuild is None:
        return Rules(init, select, update, estimate, resume=resume, select_among=among)
    kept = ("inner", "fitted", "renewed")
    return Rules(
        init, select, update, estimate, rebuild, kept=kept, resume=resume, select_among=among
    )


def update_all_bounds(setup: Setup, stats: Statistics, state: State) -> None:
    """Compute the bounds of all arms."""
    assign(state.fitted, stats)
    assign(state.renewed, stats)
    learn_noise_level(setup, state)
    for arm in range(stats.counts.shape[0]):
        update_bounds(setup, state, arm)
    state.highest[0] = largest_of(state.floors)


def learn_noise_level(setup: Setup, state: State) -> None:
    """Estimate the variances, unless one is given, and schedule the next update of all bounds."""
    fitted = state.fitted
    state.due[0] = next_fit(fitted.total[0], RENEWAL_GROWTH)
    if setup.variance > 0.0:
        return
    for arm in range(fitted.counts.shape[0]):
        state.noise.guesses[arm] = guess_mean(fitted, arm, FIRST_GUESS)
    learn_noise(fitted, state.noise, DIFFERENT_ARMS)


def update_bounds(setup: Setup, state: State, arm: int) -> None:
    """Compute floor and ceiling of one arm from its own rewards.

    An arm without a reward has no ceiling. Its floor is infinite once it must be played.
    """
    stats = state.renewed
    rounds = float(state.fitted.total[0]) + 1.0
    count = stats.counts[arm]
    if count == 0:
        state.floors[arm] = math.inf if is_forced(rounds, setup.caution) else -math.inf
        state.ceilings[arm] = math.inf
        return
    own = stats.sums[arm] / count
    variance = setup.variance
    wide = setup.variance
    if variance == 0.0:
        update_variance(stats, state.noise, DIFFERENT_ARMS, arm)
        variance = state.noise.variances[arm]
        wide = cautious_variance(stats, arm, variance)
    least = own_bonus(variance, count, setup.caution * rounds)
    most = max(least, own_bonus(wide, count, CEILING_LOOKAHEAD * rounds))
    state.floors[arm] = worth_within(setup.tables, arm, own - least, own + least)
    state.ceilings[arm] = worth_within(setup.tables, arm, own - most, own + most)


_WAGP = WAGP()


@register("safe")
@dataclasses.dataclass(frozen=True, kw_only=True)
class Safe(WrapperPolicy):
    """Play another policy's choice, unless the arms' own rewards clearly contradict it.

    An arm with N rewards of mean m has the floor ``m + sqrt(v/N) psi(eps t / N)`` and the
    ceiling ``m + sqrt(v/N) psi(10 t / N)``. If the ceiling of the chosen arm is below the largest
    floor, the arm with that floor is played instead. From round 1/eps on an arm without rewards
    has an infinite floor. Bounds are recomputed when t has grown by 7 % or N by 1 %.

    If ``variance`` bounds the variance of every arm's rewards, regret is sub-linear for all means
    and all inner policies (docs/elastic.md). Means must not change over time: the bounds use all
    rewards of an arm, also old ones. A learner can forget and be merged if the inner policy can.

    Value: exact for values that rise linearly with the mean. For others a bound is the largest
    worth of the means within the bonus of m; the proof does not cover this.

    Args:
        inner: the policy to be made safe; may be given by position.
        caution: eps times the number of arms, positive. Larger values find wrong curves sooner
            and cost more if the curves are right.
        variance: v above, on the unit reward scale: rewards of every arm are sub-Gaussian with
            this variance. 1/4 is valid for all rewards. Use a smaller value only if you know it.
            None estimates it, which costs less and is not covered by the proof.

    >>> from globalbandits.policies import WAGP
    >>> Safe(WAGP()).label, Safe(WAGP(), variance=None).label
    ('Safe(WAGP)', 'Safe(WAGP, variance=None)')
    """

    inner: Policy = dataclasses.field(default=_WAGP, kw_only=False)
    caution: float = 0.001
    variance: float | None = LARGEST_VARIANCE

    wrap = staticmethod(secure)

    def __post_init__(self) -> None:
        """Check every parameter."""
        object.__setattr__(self, "inner", as_policy("inner", self.inner))
        object.__setattr__(self, "caution", as_positive("caution", self.caution, PolicyError))
        if self.variance is not None:
            variance = as_positive("variance", self.variance, PolicyError)
            rule = "be at most 1/4, the largest variance of rewards in [0, 1]"
            require(variance <= LARGEST_VARIANCE, "variance", rule, self.variance, PolicyError)
            object.__setattr__(self, "variance", variance)

    def setup(self, model: RewardModel) -> Setup:
        """Return the inner policy's setup and the constants."""
        require_one_number(model, "Safe")
        return Setup(
            tables=model.tables,
            inner=self.inner.setup(model),
            caution=self.caution / model.n_arms,
            variance=self.variance or 0.0,
        )

    def limit(
        self, setup: Setup, stats: Statistics, state: State, rng: np.random.Generator
    ) -> str | None:
        """Say which bound moved the inner policy's choice, after any limits of its own."""
        inside = self.inner.limit(setup.inner, stats, state.inner, copy.deepcopy(rng))
        wanted = int(self.inner.rules.select(setup.inner, stats, state.inner, rng))
        highest = int(state.highest[0])
        ceiling, floor = float(state.ceilings[wanted]), float(state.floors[highest])
        if ceiling >= floor:
            return inside
        moved = f"moved from arm {wanted}: arm {highest} has no reward yet and must have one"
        if stats.counts[highest] > 0:
            moved = (
                f"moved from arm {wanted}, whose own rewards allow {ceiling:.6g} at most, "
                f"to arm {highest}, whose rewards allow {floor:.6g} at least, "
                f"on {unit_scale(setup.tables)}"
            )
        return moved_twice(inside, moved)

    def details(self, setup: Setup, stats: Statistics, state: State) -> dict[str, Any]:
        """Return every arm's bounds, None for infinite ones, and the inner policy's details."""
        bounds = {
            name: [value if np.isfinite(value) else None for value in values.tolist()]
            for name, values in (("floors", state.floors), ("ceilings", state.ceilings))
        }
        return bounds | self.inner.details(setup.inner, stats, state.inner)
