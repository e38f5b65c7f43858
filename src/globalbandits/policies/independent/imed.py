"""IMED, Indexed Minimum Empirical Divergence (Honda and Takemura 2015)."""

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np

from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.divergence import (
    cross_entropy,
    log_or_minus_infinity,
    negative_entropy,
)
from globalbandits.policies.indices import (
    Setup,
    State,
    estimate,
    explain,
    init,
    record,
    recount,
    select,
)

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


def update(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Count one reward."""
    record(state, arm, reward, 1)
    remember(state, arm)
    score(setup, state)


def forget(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Take one observation back."""
    record(state, arm, -reward, -1)
    remember(state, arm)
    score(setup, state)


def refresh(setup: Setup, state: State) -> None:
    """Rebuild what follows from counts and sums."""
    recount(state)
    for arm in range(setup.tables.n_arms):
        remember(state, arm)
    score(setup, state)


def remember(state: State, arm: int) -> None:
    """Keep ``N * (negative entropy of the mean) + log N``, which only this arm's plays change."""
    count = state.counts[arm]
    if count > 0:
        mean = min(max(state.means[arm], 0.0), 1.0)
        state.memo[arm] = count * negative_entropy(mean) + math.log(count)


def score(setup: Setup, state: State) -> None:
    """The indices of the next round, with the sign changed so that the largest is played."""
    best = 0
    for arm in range(1, setup.tables.n_arms):
        if state.means[arm] > state.means[best]:
            best = arm
    top = min(max(state.means[best], 0.0), 1.0)
    log_top, log_rest = log_or_minus_infinity(top), log_or_minus_infinity(1.0 - top)
    for arm in range(setup.tables.n_arms):
        count = state.counts[arm]
        if count == 0:
            continue
        if state.means[arm] >= state.means[best]:
            state.indices[arm] = -math.log(count)
        else:
            mean = max(state.means[arm], 0.0)
            state.indices[arm] = -state.memo[arm] - count * cross_entropy(mean, log_top, log_rest)


@register("imed")
@dataclasses.dataclass(frozen=True, kw_only=True)
class IMED(Policy):
    """Play the arm whose being best would surprise least, counting how often it was played.

    The rule is ``argmin N_k * kl(mean_k, largest mean) + log(N_k)`` (Honda and Takemura 2015).
    The paper minimises over all distributions on (-inf, 1]; we take the Bernoulli divergence
    kl, which is the exact one for rewards 0 and 1 and a lower bound for others in [0, 1]. The
    model is not used.

    >>> IMED().to_dict()
    {'policy': 'imed'}
    """

    rules = Rules(init, select, update, estimate, forget, ("counts", "sums"), refresh)

    def setup(self, model: "RewardModel") -> Setup:
        """The model's tables."""
        return Setup(model.tables)

    def reason(self, setup: Setup, state: State) -> str:
        """The first round of plays, or the smallest index."""
        if state.played[0] < setup.tables.n_arms:
            return explain(setup, state)
        smallest = -float(np.max(state.indices))
        return f"smallest N * kl(mean, largest mean) + log N: {smallest:.6g}"
