"""Sliding-window UCB (Garivier and Moulines 2011): UCB on the last rewards only."""

import dataclasses
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_integer, as_positive
from globalbandits.errors import PolicyError
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.choice import choose_upper_bound
from globalbandits.policies.indices import estimate
from globalbandits.policies.ucb1 import first_unplayed, renew

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


class Setup(NamedTuple):
    """The model's tables, the window and the exploration constant."""

    tables: Tables
    window: int
    xi: float


class State(NamedTuple):
    """UCB1's statistics of the window, and the window itself as a ring."""

    counts: IntArray  # (n_arms,) plays in the window
    sums: FloatArray  # (n_arms,) their rewards
    means: FloatArray  # (n_arms,) mean reward, 0 where the window has none
    widths: FloatArray  # (n_arms,) 1 / sqrt(counts), 0 where the window has none
    played: IntArray  # (1,) number of arms in the window
    arms: IntArray  # (window,) the last plays, observation n at place n % window
    rewards: FloatArray  # (window,) their rewards
    total: IntArray  # (1,) number of all observations


def init(setup: Setup) -> State:
    """No observation yet."""
    n = setup.tables.n_arms
    return State(
        counts=np.zeros(n, np.int64),
        sums=np.zeros(n),
        means=np.zeros(n),
        widths=np.zeros(n),
        played=np.zeros(1, np.int64),
        arms=np.zeros(setup.window, np.int64),
        rewards=np.zeros(setup.window),
        total=np.zeros(1, np.int64),
    )


def select(setup: Setup, state: State, rng: np.random.Generator) -> int:
    """An arm the window has lost, the lowest first; else the largest upper bound."""
    if state.played[0] < setup.tables.n_arms:
        return first_unplayed(state.counts)
    span = min(state.total[0] + 1, setup.window)
    bonus = math.sqrt(setup.xi * math.log(span))
    return choose_upper_bound(state.means, state.widths, bonus, rng)


def update(setup: Setup, state: State, arm: int, reward: float) -> None:
    """The new reward takes the place of the oldest one."""
    place = state.total[0] % setup.window
    if state.total[0] >= setup.window:
        old = state.arms[place]
        state.counts[old] -= 1
        state.sums[old] -= state.rewards[place]
        if state.counts[old] == 0:
            state.sums[old] = 0.0
        renew(state, old)
    state.arms[place] = arm
    state.rewards[place] = reward
    state.counts[arm] += 1
    state.sums[arm] += reward
    state.total[0] += 1
    if place == setup.window - 1:
        resum(setup, state)
    renew(state, arm)


def resum(setup: Setup, state: State) -> None:
    """Add the window up afresh, once a turn, so that rounding does not pile up."""
    for arm in range(setup.tables.n_arms):
        state.sums[arm] = 0.0
    for place in range(setup.window):
        state.sums[state.arms[place]] += state.rewards[place]


@register("sliding_window_ucb")
@dataclasses.dataclass(frozen=True, kw_only=True)
class SlidingWindowUCB(Policy):
    """UCB that forgets all but the last ``window`` rewards, for means that change.

    The index at time t is ``mean_k + sqrt(xi * log(min(t, window)) / N_k)``, mean and number of
    plays N_k taken in the window (Garivier and Moulines 2011, SW-UCB, with the bound B of the
    rewards equal to 1). An arm the window has lost is played again at once. Their theorem asks
    for xi > 1/2; xi = 0.6 is from memory of their simulations and could not be checked. With
    n changes over a horizon T they suggest ``window = 2 * sqrt(T * log(T) / n)``. The model is
    not used. Observations cannot be taken back or merged: the window needs their order.

    Args:
        window: how many of the last rewards count; at least 1.
        xi: factor of the logarithm; positive.

    >>> SlidingWindowUCB(window=200).label
    'SlidingWindowUCB(window=200)'
    """

    window: int = 1000
    xi: float = 0.6

    rules = Rules(init, select, update, estimate)

    def __post_init__(self) -> None:
        """Check the window and xi."""
        object.__setattr__(self, "window", as_integer("window", self.window, 1, PolicyError))
        object.__setattr__(self, "xi", as_positive("xi", self.xi, PolicyError))

    def setup(self, model: "RewardModel") -> Setup:
        """The model's tables and the constants."""
        return Setup(model.tables, self.window, self.xi)

    def reason(self, setup: Setup, state: State) -> str:
        """An arm that must be played, or the largest index."""
        if state.played[0] < setup.tables.n_arms:
            return f"not among the last {setup.window} plays: the lowest such arm first"
        return f"largest upper confidence bound on the last {setup.window} rewards"
