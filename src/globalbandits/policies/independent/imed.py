"""`IMED`: Indexed Minimum Empirical Divergence (Honda and Takemura 2015)."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import IntArray
from globalbandits.model import RewardModel
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, register
from globalbandits.policies.shared.divergence import (
    cross_entropy,
    log_or_minus_infinity,
    negative_entropy,
)
from globalbandits.policies.shared.index import NOT_PLAYED, State, index_rules
from globalbandits.policies.shared.noise_variance import (
    COIN,
    LEARNED,
    as_coin_or_learned,
    learn_variances,
    surprise,
)
from globalbandits.policies.shared.worth import (
    choose_largest,
    nearest_above,
    nearest_below,
    worth_of,
)
from globalbandits.statistics import Statistics


class Setup(NamedTuple):
    """The model's tables, and whether the variance is learned."""

    tables: Tables
    learned: bool


def remember(stats: Statistics, state: State, arm: int) -> None:
    """Store ``N * (negative entropy of the mean) + log N``, which only this arm's plays change."""
    count = stats.counts[arm]
    state.means[arm] = min(max(state.means[arm], 0.0), 1.0)
    state.memo[arm] = count * negative_entropy(state.means[arm]) + math.log(count)


def score(setup: Setup, stats: Statistics, state: State) -> None:
    """Compute minus the indices of the next round, so that the largest is played."""
    if setup.learned or setup.tables.valued:
        score_worth(setup, stats, state)
        return
    best = 0
    for arm in range(1, setup.tables.n_arms):
        if state.means[arm] > state.means[best]:
            best = arm
    top = state.means[best]
    log_top, log_rest = log_or_minus_infinity(top), log_or_minus_infinity(1.0 - top)
    for arm in range(setup.tables.n_arms):
        cross = cross_entropy(state.means[arm], log_top, log_rest)
        state.indices[arm] = -state.memo[arm] - stats.counts[arm] * cross
    # In a separate loop, because in the first one compiled code would compute the logarithm of
    # every arm's count.
    arm = best
    while arm < setup.tables.n_arms:
        state.indices[arm] = -math.log(stats.counts[arm])
        arm += 1
        while arm < setup.tables.n_arms and not state.means[arm] >= top:
            arm += 1


def score_worth(setup: Setup, stats: Statistics, state: State) -> None:
    """Compute minus the indices of the next round, with a value or with learned variances."""
    variances = learn_variances(stats) if setup.learned else stats.sums
    top = -math.inf
    for arm in range(setup.tables.n_arms):
        top = max(top, worth_of(setup.tables, arm, state.means[arm]))
    for arm in range(setup.tables.n_arms):
        state.indices[arm] = index_of(setup, stats, state, arm, variances[arm], top)


def choose(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return the offered arm with the least index; the best arm is that of the offered ones."""
    variances = learn_variances(stats) if setup.learned else stats.sums
    top = -math.inf
    for i in range(offered.shape[0]):
        top = max(top, worth_of(setup.tables, offered[i], state.means[offered[i]]))
    indices = np.empty(offered.shape[0])
    for i in range(offered.shape[0]):
        arm = int(offered[i])
        indices[i] = index_of(setup, stats, state, arm, variances[arm], top)
    return int(offered[choose_largest(indices, rng)])


def index_of(
    setup: Setup, stats: Statistics, state: State, arm: int, variance: float, top: float
) -> float:
    """Return minus the index of an arm, where the best arm is worth ``top``.

    The divergence is to the nearest mean, above or below, that is worth as much as the best arm.
    An arm without such a mean has -inf. ``variance`` is used only if variances are learned.
    """
    tables, count, mean = setup.tables, stats.counts[arm], state.means[arm]
    if worth_of(tables, arm, mean) >= top:
        return -math.log(count)
    below, above = -1.0, top
    if tables.valued:
        below = nearest_below(tables, arm, mean, top)
        above = nearest_above(tables, arm, mean, top)
    if setup.learned:
        gap = mean - below if below >= 0.0 else math.inf
        gap = min(gap, above - mean) if above >= 0.0 else gap
        return float(-surprise(stats, variance, arm, gap) - math.log(count))
    cross = math.inf
    for q in (below, above):
        if q >= 0.0:
            log_q, log_rest = log_or_minus_infinity(q), log_or_minus_infinity(1.0 - q)
            cross = min(cross, cross_entropy(mean, log_q, log_rest))
    return float(-state.memo[arm] - count * cross)


@register("imed")
@dataclasses.dataclass(frozen=True, kw_only=True)
class IMED(Policy):
    """Play the arm with the least sum of evidence against being best and log of its plays.

    The rule is ``argmin N_k * kl(mean_k, largest mean) + log(N_k)`` (Honda and Takemura 2015).
    The paper minimises over all distributions on (-inf, 1]. Here kl is the Bernoulli divergence,
    which is exact for Bernoulli rewards and a lower bound for others in [0, 1]. The model's
    curves are not used.

    Rewards with less variance than Bernoulli rewards can be learned faster. With
    ``variance="learned"`` the first term is ``n / 2 * log(1 + N_k * gap^2 / (n * v_k))`` with
    ``n = 4 + N_k``. This is the divergence of Normal arms of unknown variance, ``N_k / 2 * log(1 +
    gap^2 / v_k)``, with a prior of the variance that is estimated from all arms and has the weight
    of five rewards.

    Value: any. ``kl(mean_k, q)`` is to the nearest mean q, above or below, that would be worth as
    much as the best arm's mean; an arm without such a mean is not played.

    Args:
        variance: "coin" for the Bernoulli divergence, "learned" for the Normal one.

    >>> IMED(variance="learned").label
    "IMED(variance='learned')"
    """

    variance: str = COIN

    rules = index_rules(remember, score, choose)

    def __post_init__(self) -> None:
        """Check the variance."""
        object.__setattr__(self, "variance", as_coin_or_learned(self.variance))

    def setup(self, model: RewardModel) -> Setup:
        """Return the model's tables."""
        return Setup(model.tables, self.variance == LEARNED)

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Say that this is a first play, or give the smallest index."""
        if state.played[0] < setup.tables.n_arms:
            return NOT_PLAYED
        smallest = -float(np.max(state.indices))
        name = "Normal divergence" if setup.learned else "N * kl(mean, largest mean)"
        return f"smallest {name} + log N: {smallest:.6g}"
