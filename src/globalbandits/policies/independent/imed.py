"""IMED, Indexed Minimum Empirical Divergence (Honda and Takemura 2015)."""

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np

from globalbandits.policies.base import Policy, register
from globalbandits.policies.parts.divergence import (
    cross_entropy,
    log_or_minus_infinity,
    negative_entropy,
)
from globalbandits.policies.parts.indices import NOT_PLAYED, Setup, State, index_rules
from globalbandits.policies.parts.valuing import nearest_above, nearest_below, worth_of
from globalbandits.statistics import Statistics

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


def remember(stats: Statistics, state: State, arm: int) -> None:
    """Keep ``N * (negative entropy of the mean) + log N``, which only this arm's plays change."""
    count = stats.counts[arm]
    state.means[arm] = min(max(state.means[arm], 0.0), 1.0)
    state.memo[arm] = count * negative_entropy(state.means[arm]) + math.log(count)


def score(setup: Setup, stats: Statistics, state: State) -> None:
    """The indices of the next round, with the sign changed so that the largest is played."""
    if setup.tables.valued:
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
    # Apart from the others, or a compiler takes the logarithm of every arm's count.
    arm = best
    while arm < setup.tables.n_arms:
        state.indices[arm] = -math.log(stats.counts[arm])
        arm += 1
        while arm < setup.tables.n_arms and not state.means[arm] >= top:
            arm += 1


def score_worth(setup: Setup, stats: Statistics, state: State) -> None:
    """The indices of the next round where the model has a value.

    An arm could be best at the nearest mean that is worth as much as the best one, on either
    side of its own; -inf if there is no such mean.
    """
    tables = setup.tables
    top = -math.inf
    for arm in range(tables.n_arms):
        top = max(top, worth_of(tables, arm, state.means[arm]))
    for arm in range(tables.n_arms):
        count, mean = stats.counts[arm], state.means[arm]
        if worth_of(tables, arm, mean) >= top:
            state.indices[arm] = -math.log(count)
            continue
        cross = math.inf
        for q in (nearest_below(tables, arm, mean, top), nearest_above(tables, arm, mean, top)):
            if q >= 0.0:
                log_q, log_rest = log_or_minus_infinity(q), log_or_minus_infinity(1.0 - q)
                cross = min(cross, cross_entropy(mean, log_q, log_rest))
        state.indices[arm] = -state.memo[arm] - count * cross


@register("imed")
@dataclasses.dataclass(frozen=True, kw_only=True)
class IMED(Policy):
    """Play the arm whose being best would surprise least, counting how often it was played.

    The rule is ``argmin N_k * kl(mean_k, largest mean) + log(N_k)`` (Honda and Takemura 2015).
    The paper minimises over all distributions on (-inf, 1]; we take the Bernoulli divergence
    kl, which is the exact one for rewards 0 and 1 and a lower bound for others in [0, 1]. The
    model is not used. Value: any. ``kl(mean_k, q)`` then is to the nearest mean q that would be
    worth as much as the best arm's mean is, above or below; an arm without one is not played.

    >>> IMED().to_dict()
    {'policy': 'imed'}
    """

    rules = index_rules(remember, score)

    def setup(self, model: "RewardModel") -> Setup:
        """The model's tables."""
        return Setup(model.tables)

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """The first round of plays, or the smallest index."""
        if state.played[0] < setup.tables.n_arms:
            return NOT_PLAYED
        smallest = -float(np.max(state.indices))
        return f"smallest N * kl(mean, largest mean) + log N: {smallest:.6g}"
