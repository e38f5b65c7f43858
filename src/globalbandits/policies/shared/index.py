"""Common rules of index policies: a mean, a width and an index per arm.

Indices depend only on the rewards. So `update` computes them, and `select` reads the largest.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.tables import Tables
from globalbandits.policies import base
from globalbandits.policies.shared.worth import choose_largest, choose_offered, unit_scale
from globalbandits.statistics import Statistics


class Setup(NamedTuple):
    """The model's tables, for policies without constants of their own."""

    tables: Tables


class Widths(NamedTuple):
    """A mean and a width per arm."""

    means: FloatArray  # (n_arms,) mean reward, 0 where N_k = 0
    widths: FloatArray  # (n_arms,) 1 / sqrt(N_k), 0 where N_k = 0
    played: IntArray  # (1,) number of arms with N_k > 0


class State(NamedTuple):
    """Means and widths, and the indices of the next round."""

    means: FloatArray  # (n_arms,) as in `Widths`
    widths: FloatArray  # (n_arms,)
    played: IntArray  # (1,)
    indices: FloatArray  # (n_arms,) 0 until every arm has been played
    memo: FloatArray  # (n_arms,) a number per arm, set by the policy's `remember`


def index_rules(
    remember: Callable[[Statistics, Any, int], None],
    score: Callable[[Any, Statistics, Any], None],
    choose: base.SelectAmong,
) -> base.Rules:
    """Return the rules of a policy that plays every arm once, then the largest index.

    All functions are compiled.

    Args:
        remember: ``remember(stats, state, arm)`` sets the memo of an arm with rewards, after its
            mean and width are set. It may also change the mean.
        score: ``score(setup, stats, state)`` sets the indices of all arms. It is called only if
            every arm has a reward.
        choose: ``choose(setup, stats, state, offered, rng)`` returns the offered arm with the
            largest index. It is called only if every offered arm has a reward.
    """

    def update(setup: base.Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
        update_arm(stats, state, arm)
        remember(stats, state, arm)
        if state.played[0] == setup.tables.n_arms:
            score(setup, stats, state)

    def rebuild(setup: base.Setup, stats: Statistics, state: State) -> None:
        rebuild_widths(setup, stats, state)
        for arm in range(setup.tables.n_arms):
            state.indices[arm] = 0.0
            state.memo[arm] = 0.0
            if stats.counts[arm] > 0:
                remember(stats, state, arm)
        if state.played[0] == setup.tables.n_arms:
            score(setup, stats, state)

    def select_among(
        setup: base.Setup,
        stats: Statistics,
        state: State,
        offered: IntArray,
        rng: np.random.Generator,
    ) -> int:
        arm = first_unplayed_offered(stats, offered)
        return arm if arm >= 0 else choose(setup, stats, state, offered, rng)

    return base.Rules(init, select, update, no_estimate, rebuild, select_among=select_among)


def round_index_rules(
    remember: Callable[[Statistics, Any, int], None],
    factor_of: Callable[[Statistics], float],
    index_of: Callable[[Any, Any, int, float], float],
) -> base.Rules:
    """Return `index_rules` of a policy whose indices share one factor in each round.

    Args:
        remember: as in `index_rules`.
        factor_of: ``factor_of(stats)`` returns the factor of the next round.
        index_of: ``index_of(setup, state, arm, factor)`` returns the index of an arm with rewards.
    """

    def score(setup: base.Setup, stats: Statistics, state: State) -> None:
        factor = factor_of(stats)
        for arm in range(setup.tables.n_arms):
            state.indices[arm] = index_of(setup, state, arm, factor)

    def choose(
        setup: base.Setup,
        stats: Statistics,
        state: State,
        offered: IntArray,
        rng: np.random.Generator,
    ) -> int:
        factor = factor_of(stats)
        indices = np.empty(offered.shape[0])
        for i in range(offered.shape[0]):
            indices[i] = index_of(setup, state, offered[i], factor)
        return int(offered[choose_largest(indices, rng)])

    return index_rules(remember, score, choose)


def init_widths(setup: base.Setup) -> Widths:
    """No reward yet."""
    n = setup.tables.n_arms
    return Widths(np.zeros(n), np.zeros(n), np.zeros(1, np.int64))


def init(setup: base.Setup) -> State:
    """No reward yet."""
    n = setup.tables.n_arms
    return State(*init_widths(setup), indices=np.zeros(n), memo=np.zeros(n))


def update_widths(
    setup: base.Setup, stats: Statistics, state: base.State, arm: int, reward: float
) -> None:
    """Update the mean and width of the played arm."""
    update_arm(stats, state, arm)


def rebuild_widths(setup: base.Setup, stats: Statistics, state: base.State) -> None:
    """Compute the means and widths of all arms."""
    state.played[0] = 0
    for arm in range(setup.tables.n_arms):
        state.widths[arm] = 0.0
        update_arm(stats, state, arm)


def update_arm(stats: Statistics, state: base.State, arm: int) -> None:
    """Update mean and width of one arm; the state has at least the fields of `Widths`."""
    count = stats.counts[arm]
    was_played = state.widths[arm] > 0.0
    if count > 0:
        state.means[arm] = stats.sums[arm] / count
        state.widths[arm] = 1.0 / math.sqrt(count)
        if not was_played:
            state.played[0] += 1
    else:
        state.means[arm] = 0.0
        state.widths[arm] = 0.0
        if was_played:
            state.played[0] -= 1


def select(
    setup: base.Setup, stats: Statistics, state: base.State, rng: np.random.Generator
) -> int:
    """Return the lowest arm without a reward, then the arm with the largest index."""
    if state.played[0] < setup.tables.n_arms:
        return first_unplayed(stats)
    return choose_largest(state.indices, rng)


def select_largest(
    setup: base.Setup, stats: Statistics, state: base.State, rng: np.random.Generator
) -> int:
    """Return the arm with the largest index, ties at random. No arm has to be played first."""
    return choose_largest(state.indices, rng)


def select_largest_among(
    setup: base.Setup,
    stats: Statistics,
    state: base.State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return the offered arm with the largest index, ties at random."""
    return choose_offered(state.indices, offered, rng)


def first_unplayed(stats: Statistics) -> int:
    """Return the lowest arm without a reward. There must be one."""
    arm = 0
    while stats.counts[arm] > 0:
        arm += 1
    return arm


def first_unplayed_offered(stats: Statistics, offered: IntArray) -> int:
    """Return the lowest offered arm without a reward; -1 if all have one."""
    for i in range(offered.shape[0]):
        if stats.counts[offered[i]] == 0:
            return int(offered[i])
    return -1


def ucb1_bonus(stats: Statistics) -> float:
    """Return UCB1's factor of a width: sqrt(2 log(t - 1)), with t - 1 rewards before time t."""
    return math.sqrt(2.0 * math.log(stats.total[0]))


def no_estimate(setup: base.Setup, stats: Statistics, state: base.State) -> float:
    """Return nan, for policies that estimate no parameter."""
    return math.nan


def explain(setup: base.Setup, state: base.State) -> str:
    """Return the reason of an index policy."""
    if state.played[0] < setup.tables.n_arms:
        return NOT_PLAYED
    largest = float(np.max(state.indices))
    return f"largest index: {largest:.6g} on {unit_scale(setup.tables)}"


NOT_PLAYED = "not played yet: every arm once, the lowest first"
