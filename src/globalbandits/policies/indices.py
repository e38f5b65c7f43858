"""What index policies share: statistics per arm, and an index per arm for the next round.

The indices of all arms are brought up to date when a reward comes in, since they depend on
the number of rewards only; a decision then reads the largest one.
"""

import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.tables import Tables
from globalbandits.policies import base
from globalbandits.policies.choice import choose_largest
from globalbandits.policies.ucb1 import first_unplayed, renew


class Setup(NamedTuple):
    """The model's tables, for the policies that have no constants of their own."""

    tables: Tables


class State(NamedTuple):
    """UCB1's statistics, and the indices of the next round."""

    counts: IntArray  # (n_arms,) N_k
    sums: FloatArray  # (n_arms,) sum of rewards
    total: IntArray  # (1,) number of observations
    means: FloatArray  # (n_arms,) mean reward, 0 where N_k = 0
    widths: FloatArray  # (n_arms,) 1 / sqrt(N_k), 0 where N_k = 0
    played: IntArray  # (1,) number of arms with N_k > 0
    indices: FloatArray  # (n_arms,) meaningful once every arm has been played
    memo: FloatArray  # (n_arms,) a function of N_k and the mean that the policy's index needs


def init(setup: base.Setup) -> State:
    """No observation yet."""
    n = setup.tables.n_arms
    return State(
        counts=np.zeros(n, np.int64),
        sums=np.zeros(n),
        total=np.zeros(1, np.int64),
        means=np.zeros(n),
        widths=np.zeros(n),
        played=np.zeros(1, np.int64),
        indices=np.zeros(n),
        memo=np.zeros(n),
    )


def select(setup: base.Setup, state: State, rng: np.random.Generator) -> int:
    """Every arm once, the lowest first; then the largest index."""
    if state.played[0] < setup.tables.n_arms:
        return first_unplayed(state.counts)
    return choose_largest(state.indices, rng)


def record(state: base.State, arm: int, reward: float, by: int) -> None:
    """Add ``by`` observations of one arm whose rewards sum to ``reward``."""
    state.counts[arm] += by
    state.sums[arm] += reward
    state.total[0] += by
    if state.counts[arm] == 0:
        state.sums[arm] = 0.0
    renew(state, arm)


def recount(state: base.State) -> None:
    """Rebuild what follows from counts and sums, up to the policy's own fields."""
    state.total[0] = 0
    for arm in range(state.counts.shape[0]):
        state.total[0] += state.counts[arm]
        renew(state, arm)


def estimate(setup: base.Setup, state: base.State) -> float:
    """An index policy has no parameter."""
    return math.nan


def explain(setup: base.Setup, state: base.State) -> str:
    """Why an index policy takes the arm it takes."""
    if state.played[0] < setup.tables.n_arms:
        return "not played yet: every arm once, the lowest first"
    return f"largest index: {float(np.max(state.indices)):.6g} on the unit reward scale"
