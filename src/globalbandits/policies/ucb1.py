"""UCB1 (Auer, Cesa-Bianchi and Fischer 2002): every arm learns for itself, with optimism."""

import dataclasses
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.tables import Tables
from globalbandits.policies import base
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.choice import choose_upper_bound

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


class Setup(NamedTuple):
    """The model's tables; UCB1 reads only the number of arms."""

    tables: Tables


class State(NamedTuple):
    """Statistics per arm, and the two numbers of each arm's index that one reward changes."""

    counts: IntArray  # (n_arms,) N_k
    sums: FloatArray  # (n_arms,) sum of rewards
    total: IntArray  # (1,) number of observations
    means: FloatArray  # (n_arms,) X-hat_k, 0 where N_k = 0
    widths: FloatArray  # (n_arms,) 1 / sqrt(N_k), 0 where N_k = 0
    played: IntArray  # (1,) number of arms with N_k > 0


def init(setup: Setup) -> State:
    """No observation yet."""
    n = setup.tables.n_arms
    return State(
        counts=np.zeros(n, np.int64),
        sums=np.zeros(n),
        total=np.zeros(1, np.int64),
        means=np.zeros(n),
        widths=np.zeros(n),
        played=np.zeros(1, np.int64),
    )


def select(setup: Setup, state: State, rng: np.random.Generator) -> int:
    """Every arm once, the lowest first; then the largest upper confidence bound."""
    if state.played[0] < setup.tables.n_arms:
        return first_unplayed(state.counts)
    return choose_upper_bound(state.means, state.widths, bonus(state), rng)


def update(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Count one reward."""
    change(state, arm, reward, 1)


def forget(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Take one observation back."""
    change(state, arm, -reward, -1)


def change(state: State, arm: int, reward: float, by: int) -> None:
    """Add ``by`` observations whose rewards sum to ``reward``."""
    state.counts[arm] += by
    state.sums[arm] += reward
    state.total[0] += by
    if state.counts[arm] == 0:
        state.sums[arm] = 0.0
    renew(state, arm)


def renew(state: base.State, arm: int) -> None:
    """Bring the index of one arm in line with its counts and sums.

    The state may be that of any policy that keeps UCB1's fields among its own.
    """
    count = state.counts[arm]
    was_played = state.widths[arm] > 0.0
    if count > 0:
        state.means[arm] = state.sums[arm] / count
        state.widths[arm] = 1.0 / math.sqrt(count)
        if not was_played:
            state.played[0] += 1
    else:
        state.means[arm] = 0.0
        state.widths[arm] = 0.0
        if was_played:
            state.played[0] -= 1


def refresh(setup: Setup, state: State) -> None:
    """Rebuild what follows from counts and sums."""
    state.total[0] = 0
    for arm in range(setup.tables.n_arms):
        state.total[0] += state.counts[arm]
        renew(state, arm)


def estimate(setup: Setup, state: State) -> float:
    """UCB1 has no parameter."""
    return math.nan


def first_unplayed(counts: IntArray) -> int:
    """The lowest arm without an observation; there must be one."""
    arm = 0
    while counts[arm] > 0:
        arm += 1
    return arm


def bonus(state: base.State) -> float:
    """What a width is multiplied by: sqrt(2 log(t - 1)), with t - 1 observations at time t."""
    return math.sqrt(2.0 * math.log(state.total[0]))


@register("ucb1")
@dataclasses.dataclass(frozen=True, kw_only=True)
class UCB1(Policy):
    """Play the arm with the largest upper confidence bound; the model is not used.

    The index at time t is ``mean_k + sqrt(2 * log(t - 1) / N_k)``; every arm is played once
    first, and ties are broken at random.

    >>> UCB1().to_dict()
    {'policy': 'ucb1'}
    """

    rules = Rules(init, select, update, estimate, forget, ("counts", "sums"), refresh)

    def setup(self, model: "RewardModel") -> Setup:
        """The model's tables."""
        return Setup(model.tables)

    def reason(self, setup: Setup, state: State) -> str:
        """The first round of plays, or the largest index."""
        if state.played[0] < setup.tables.n_arms:
            return "not played yet: every arm once, the lowest first"
        largest = float(np.max(state.means + bonus(state) * state.widths))
        return f"largest upper confidence bound: {largest:.6g} on the unit reward scale"
