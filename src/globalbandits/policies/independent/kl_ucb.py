"""`KLUCB` (Garivier and Cappe 2011): upper confidence bounds by the Bernoulli divergence."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import IntArray
from globalbandits._validation import as_float, require
from globalbandits.errors import PolicyError
from globalbandits.model import RewardModel
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, register
from globalbandits.policies.shared.divergence import cross_entropy, kl_upper_bound, negative_entropy
from globalbandits.policies.shared.index import NOT_PLAYED, State, index_rules
from globalbandits.policies.shared.worth import choose_largest, unit_scale, worth_within
from globalbandits.statistics import Statistics


class Setup(NamedTuple):
    """The model's tables and the factor of log log t."""

    tables: Tables
    c: float


def remember(stats: Statistics, state: State, arm: int) -> None:
    """Store the negative entropy of the arm's mean."""
    state.means[arm] = min(max(state.means[arm], 0.0), 1.0)
    state.memo[arm] = negative_entropy(state.means[arm])


def score(setup: Setup, stats: Statistics, state: State) -> None:
    """Compute the largest indices of the next round, as -log(1 - q); -inf for lower ones.

    For a model with a value, compute the most each arm can be worth.

    An index exceeds the largest one so far, b, if ``N kl(mean, b) <= budget``. With stored
    entropies this test costs two products. So Newton's method runs only for the arm with the best
    mean and for the few arms that exceed it.
    """
    log_t = math.log(stats.total[0] + 1)
    budget = log_t + setup.c * math.log(max(1.0, log_t))
    if setup.tables.valued:
        for arm in range(setup.tables.n_arms):
            high = 1.0 - math.exp(-upper(stats, state, arm, budget))
            low = math.exp(-lower(stats, state, arm, budget))
            state.indices[arm] = worth_within(setup.tables, arm, low, high)
        return
    first = 0
    for arm in range(1, setup.tables.n_arms):
        if state.means[arm] > state.means[first]:
            first = arm
    state.indices[first] = upper(stats, state, first, budget)
    largest = state.indices[first]
    log_largest = math.log(1.0 - math.exp(-largest))
    for arm in range(setup.tables.n_arms):
        if arm == first:
            continue
        divergence = state.memo[arm] + cross_entropy(state.means[arm], log_largest, -largest)
        # The slack keeps arms that tie with the first one despite rounding.
        if stats.counts[arm] * divergence > budget * (1.0 + 1e-9):
            state.indices[arm] = -math.inf
        else:
            state.indices[arm] = upper(stats, state, arm, budget)
            if state.indices[arm] > largest:
                largest = state.indices[arm]
                log_largest = math.log(1.0 - math.exp(-largest))


def choose(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return the offered arm with the largest index."""
    log_t = math.log(stats.total[0] + 1)
    budget = log_t + setup.c * math.log(max(1.0, log_t))
    indices = np.empty(offered.shape[0])
    for i in range(offered.shape[0]):
        arm = offered[i]
        indices[i] = upper(stats, state, arm, budget)
        if setup.tables.valued:
            high, low = 1.0 - math.exp(-indices[i]), math.exp(-lower(stats, state, arm, budget))
            indices[i] = worth_within(setup.tables, arm, low, high)
    return int(offered[choose_largest(indices, rng)])


def upper(stats: Statistics, state: State, arm: int, budget: float) -> float:
    """Return -log(1 - q) of the largest q with N kl(mean, q) <= budget."""
    return kl_upper_bound(state.means[arm], state.memo[arm], budget / stats.counts[arm])


def lower(stats: Statistics, state: State, arm: int, budget: float) -> float:
    """Return -log(q) of the smallest q with N kl(mean, q) <= budget, by exchanging q and 1 - q."""
    return kl_upper_bound(1.0 - state.means[arm], state.memo[arm], budget / stats.counts[arm])


@register("kl_ucb")
@dataclasses.dataclass(frozen=True, kw_only=True)
class KLUCB(Policy):
    """Play the arm with the largest upper confidence bound by the Bernoulli divergence.

    The index at time t is ``max{q: N_k * kl(mean_k, q) <= log(t) + c * log(log(t))}`` with the
    Bernoulli divergence kl, which is valid for all rewards in [0, 1] (Garivier and Cappe 2011,
    Algorithm 1). The proof has c = 3; in practice c = 0, the default, is usual. For t < e,
    log(log(t)) is replaced by 0. The model's curves are not used. Value: any. The index is the
    largest worth of a q with ``N_k * kl(mean_k, q)`` within the budget, below the mean or above it.

    Args:
        c: the factor of log(log(t)); not negative.

    >>> KLUCB(c=3).label
    'KLUCB(c=3.0)'
    """

    c: float = 0.0

    rules = index_rules(remember, score, choose)

    def __post_init__(self) -> None:
        """Check c."""
        c = as_float("c", self.c, PolicyError)
        require(c >= 0.0, "c", "not be negative", self.c, PolicyError)
        object.__setattr__(self, "c", c)

    def setup(self, model: RewardModel) -> Setup:
        """Return the model's tables and c."""
        return Setup(model.tables, self.c)

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Say that this is a first play, or give the largest index."""
        if state.played[0] < setup.tables.n_arms:
            return NOT_PLAYED
        largest = float(np.max(state.indices))
        if not setup.tables.valued:
            largest = 1.0 - math.exp(-largest)
        return f"largest upper confidence bound: {largest:.6g} on {unit_scale(setup.tables)}"
