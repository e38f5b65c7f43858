"""Sliding-window UCB (Garivier and Moulines 2011): UCB on the last rewards only."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_integer, as_positive
from globalbandits.errors import PolicyError
from globalbandits.model import RewardModel
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.shared.index import (
    Widths,
    first_unplayed,
    first_unplayed_offered,
    init_widths,
    no_estimate,
    rebuild_widths,
    update_arm,
)
from globalbandits.policies.shared.worth import choose_bound_offered, choose_by_worth
from globalbandits.statistics import Statistics, are_part, count, no_statistics, uncount


class Setup(NamedTuple):
    """The model's tables, the window and the exploration constant."""

    tables: Tables
    window: int
    xi: float


class State(NamedTuple):
    """The window as a ring, its statistics, and what UCB1 derives from them."""

    arms: IntArray  # (window,) the last plays, reward n = 0, 1, ... at place n % window
    rewards: FloatArray  # (window,) their rewards
    recent: Statistics  # of the rewards in the window
    bounds: Widths


def init(setup: Setup) -> State:
    """No reward yet."""
    return State(
        arms=np.zeros(setup.window, np.int64),
        rewards=np.zeros(setup.window),
        recent=no_statistics(setup.tables.n_arms),
        bounds=init_widths(setup),
    )


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """An arm without a reward in the window, the lowest first; else the largest upper bound."""
    if state.bounds.played[0] < setup.tables.n_arms:
        return first_unplayed(state.recent)
    span = min(stats.total[0] + 1, setup.window)
    bonus = math.sqrt(setup.xi * math.log(span))
    return choose_by_worth(setup.tables, state.bounds.means, 0.0, state.bounds.widths, bonus, rng)


def select_among(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """`select` among the offered arms."""
    arm = first_unplayed_offered(state.recent, offered)
    if arm >= 0:
        return arm
    bonus = math.sqrt(setup.xi * math.log(min(stats.total[0] + 1, setup.window)))
    means, widths = state.bounds.means, state.bounds.widths
    return choose_bound_offered(setup.tables, means, 0.0, widths, bonus, offered, rng)


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """The new reward takes the place of the oldest one."""
    place = (stats.total[0] - 1) % setup.window
    if stats.total[0] > setup.window:
        oldest = state.arms[place]
        uncount(state.recent, oldest, state.rewards[place])
        update_arm(state.recent, state.bounds, oldest)
    state.arms[place] = arm
    state.rewards[place] = reward
    count(state.recent, arm, reward)
    if place == setup.window - 1:
        resum(setup, state)
    update_arm(state.recent, state.bounds, arm)


def resum(setup: Setup, state: State) -> None:
    """Sum the full window again, once per turn, so that rounding errors do not accumulate."""
    sums, squares = state.recent.sums, state.recent.squares
    for arm in range(setup.tables.n_arms):
        sums[arm] = 0.0
        squares[arm] = 0.0
    for place in range(setup.window):
        reward = state.rewards[place]
        sums[state.arms[place]] += reward
        squares[state.arms[place]] += reward * reward


def resume(setup: Setup, stats: Statistics, state: State) -> bool:
    """Whether the ring holds rewards of arms that exist, and the statistics are those of it."""
    n_arms, recent = setup.tables.n_arms, state.recent
    if np.any((state.arms < 0) | (state.arms >= n_arms)) or not are_part(recent, stats):
        return False
    n_filled = min(int(stats.total[0]), setup.window)
    arms, rewards = state.arms[:n_filled], state.rewards[:n_filled]
    if not np.all((rewards >= 0.0) & (rewards <= 1.0)):
        return False
    rebuild_widths(setup, recent, state.bounds)
    return (
        np.array_equal(np.bincount(arms, minlength=n_arms), recent.counts)
        and np.allclose(np.bincount(arms, rewards, n_arms), recent.sums)
        and np.allclose(np.bincount(arms, rewards * rewards, n_arms), recent.squares)
    )


@register("sliding_window_ucb")
@dataclasses.dataclass(frozen=True, kw_only=True)
class SlidingWindowUCB(Policy):
    """UCB that forgets all but the last ``window`` rewards, for means that change.

    The index at time t is ``mean_k + sqrt(xi * log(min(t, window)) / N_k)``, mean and number of
    plays N_k taken in the window (Garivier and Moulines 2011, SW-UCB, with the bound B of the
    rewards equal to 1). An arm without a reward in the window is played at once. Their theorem asks
    for xi > 1/2; xi = 0.6 is from memory of their simulations and could not be checked. With
    n changes over a horizon T they suggest ``window = 2 * sqrt(T * log(T) / n)``. Where
    means do not change it keeps exploring, and its regret is linear. The model's curves are not
    used. A learner can neither forget nor be merged: the window depends on the order of rewards.
    Value: any, as for `UCB1` with this bonus.

    Args:
        window: how many of the last rewards count; at least 1.
        xi: factor of the logarithm; positive.

    >>> SlidingWindowUCB(window=200).label
    'SlidingWindowUCB(window=200)'
    """

    window: int = 1000
    xi: float = 0.6

    rules = Rules(init, select, update, no_estimate, resume=resume, select_among=select_among)

    def __post_init__(self) -> None:
        """Check the window and xi."""
        object.__setattr__(self, "window", as_integer("window", self.window, 1, PolicyError))
        object.__setattr__(self, "xi", as_positive("xi", self.xi, PolicyError))

    def setup(self, model: RewardModel) -> Setup:
        """The model's tables and the constants."""
        return Setup(model.tables, self.window, self.xi)

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """An arm that must be played, or the largest index."""
        if state.bounds.played[0] < setup.tables.n_arms:
            return f"not among the last {setup.window} plays: the lowest such arm first"
        return f"largest upper confidence bound on the last {setup.window} rewards"

    def observed(self, stats: Statistics, state: State) -> Statistics:
        """The rewards in the window."""
        return state.recent
