"""The confidence set of structured policies: an interval of the parameter, without a grid.

An arm's mean is strictly monotone, so ``{theta: |mu_k(theta) - mean_k| <= r_k}`` is an interval
whose ends are two look-ups in the arm's inverse, and the confidence set is the intersection
of all arms' intervals.

Radii grow with log t, so the interval of an arm that is not played only widens. Its ends as
they were when last looked up therefore bound the present ones, and only the arms that seem to
bind the intersection have to be looked up again: O(K) comparisons and a few look-ups per round.
The set is the same, to the last bit, as if all arms had been looked up.
"""

import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.tables import Tables, evaluate
from globalbandits.policies import base
from globalbandits.policies.parts.indices import init_widths, rebuild_widths, renew
from globalbandits.statistics import Statistics


class Setup(NamedTuple):
    """The model's tables, the radius, and in which cells of the envelope each arm is best."""

    tables: Tables
    factor: float  # the radius of arm k is sqrt(factor * log t / N_k)
    variance: float  # of a reward, on the unit scale
    starts: IntArray  # (n_arms + 1,) where an arm's cells start in `cells`
    cells: IntArray  # cells of all arms, one arm after the other, each from left to right


class State(NamedTuple):
    """Means and widths, and the confidence set."""

    means: FloatArray  # (n_arms,) as in `indices.Widths`
    widths: FloatArray  # (n_arms,)
    played: IntArray  # (1,)
    lows: FloatArray  # (n_arms,) left end of each arm's interval when last looked up
    highs: FloatArray  # (n_arms,) right end
    seen: IntArray  # (n_arms,) the number of rewards at that time
    interval: FloatArray  # (2,) the confidence set [low, high]; empty where low > high


def build(tables: Tables, factor: float, variance: float) -> Setup:
    """The setup, with the envelope's cells sorted by arm."""
    envelope = tables.envelope
    cell_of_entry = np.repeat(np.arange(envelope.starts.shape[0] - 1), np.diff(envelope.starts))
    order = np.argsort(envelope.arms, kind="stable")
    counts = np.bincount(envelope.arms, minlength=tables.n_arms)
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return Setup(tables, factor, variance, starts, cell_of_entry[order].astype(np.int64))


def init(setup: base.Setup) -> State:
    """No reward yet; the confidence set is the domain."""
    n = setup.tables.n_arms
    return State(
        *init_widths(setup),
        lows=np.full(n, setup.tables.low),
        highs=np.full(n, setup.tables.high),
        seen=np.zeros(n, np.int64),
        interval=np.array([setup.tables.low, setup.tables.high]),
    )


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Bring one arm in line with its counts and sums, and intersect anew."""
    renew(stats, state, arm)
    unsettle(state, arm)
    intersect(setup, stats, state)


def rebuild(setup: Setup, stats: Statistics, state: State) -> None:
    """Means, widths and the confidence set from counts and sums."""
    rebuild_widths(setup, stats, state)
    for arm in range(setup.tables.n_arms):
        unsettle(state, arm)
    intersect(setup, stats, state)


def unsettle(state: State, arm: int) -> None:
    """Nothing is known of the arm's interval: it will be looked up before it is used."""
    state.lows[arm] = math.inf
    state.highs[arm] = -math.inf
    state.seen[arm] = -1


def intersect(setup: Setup, stats: Statistics, state: State) -> None:
    """The parameters that no arm's mean reward contradicts at the next round."""
    lowest, highest = 0, 0
    binding = 0
    while binding >= 0:
        for arm in range(setup.tables.n_arms):
            if state.lows[arm] > state.lows[lowest]:
                lowest = arm
            if state.highs[arm] < state.highs[highest]:
                highest = arm
        binding = -1
        if state.seen[lowest] < stats.total[0]:
            binding = lowest
        elif state.seen[highest] < stats.total[0]:
            binding = highest
        if binding >= 0:
            look_up(setup, stats, state, binding)
    state.interval[0] = state.lows[lowest]
    state.interval[1] = state.highs[highest]


def look_up(setup: Setup, stats: Statistics, state: State, arm: int) -> None:
    """The interval of one arm at the next round t; low > high where no parameter fits."""
    inverse = setup.tables.inverse
    low, high = setup.tables.low, setup.tables.high
    if stats.counts[arm] > 0:
        radius = math.sqrt(setup.factor * math.log(stats.total[0] + 1)) * state.widths[arm]
        low, high = math.inf, -math.inf
        value = state.means[arm] - radius
        if value <= inverse.high[arm] and value + 2.0 * radius >= inverse.low[arm]:
            for _ in range(2):
                theta = evaluate(inverse, arm, value)
                low, high = min(low, theta), max(high, theta)
                value = state.means[arm] + radius
    state.lows[arm] = low
    state.highs[arm] = high
    state.seen[arm] = stats.total[0]


def is_empty(state: State) -> bool:
    """Whether the arms contradict each other."""
    return bool(state.interval[0] > state.interval[1])


def estimate(setup: Setup, stats: Statistics, state: State) -> float:
    """The middle of the confidence set; nan without a reward, or when the set is empty."""
    if stats.total[0] == 0 or is_empty(state):
        return math.nan
    return float(0.5 * (state.interval[0] + state.interval[1]))


def explain(state: State) -> str:
    """The confidence set, in words."""
    if is_empty(state):
        return "the confidence set is empty: the rewards contradict the model"
    return f"theta in [{state.interval[0]:.6g}, {state.interval[1]:.6g}]"
