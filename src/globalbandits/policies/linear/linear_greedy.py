"""`LinearGreedy` (Mersereau, Rusmevichientong and Tsitsiklis 2009): greedy play on lines."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model import RewardModel
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, Rules, register, require_one_number
from globalbandits.policies.shared.worth import (
    choose_any,
    choose_largest,
    choose_upper_bound,
    worth_of,
)
from globalbandits.statistics import Statistics

_GRID_POINTS = 257
_TOLERANCE = 1e-9  # relative rounding error of sums of many rewards


class Setup(NamedTuple):
    """The model's tables, and a line for each arm."""

    tables: Tables
    intercepts: FloatArray  # (n_arms,) eta_k, on the unit reward scale
    slopes: FloatArray  # (n_arms,) u_k


class State(NamedTuple):
    """The two sums of a regression with one coefficient."""

    moment: FloatArray  # (1,) sum of u (X - eta)
    precision: FloatArray  # (1,) sum of u**2


def init(setup: Setup) -> State:
    """No reward yet."""
    return State(np.zeros(1), np.zeros(1))


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Return the best arm by its line at the estimate; a random arm before the first reward."""
    if stats.total[0] == 0:
        return int(rng.random() * setup.tables.n_arms)
    theta = estimate(setup, stats, state)
    if not setup.tables.valued:
        return choose_upper_bound(setup.intercepts, setup.slopes, theta, rng)
    worths = np.empty(setup.tables.n_arms)
    for arm in range(setup.tables.n_arms):
        mean = setup.intercepts[arm] + theta * setup.slopes[arm]
        worths[arm] = worth_of(setup.tables, arm, mean)
    return choose_largest(worths, rng)


def select_among(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return the best offered arm by its line at the estimate; a random one before any reward."""
    if stats.total[0] == 0:
        return choose_any(offered, rng)
    theta = estimate(setup, stats, state)
    worths = np.empty(offered.shape[0])
    for i in range(offered.shape[0]):
        mean = setup.intercepts[offered[i]] + theta * setup.slopes[offered[i]]
        worths[i] = worth_of(setup.tables, offered[i], mean)
    return int(offered[choose_largest(worths, rng)])


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Add one reward to the two sums."""
    slope = setup.slopes[arm]
    state.moment[0] += slope * (reward - setup.intercepts[arm])
    state.precision[0] += slope * slope


def rebuild(setup: Setup, stats: Statistics, state: State) -> None:
    """Compute the two sums from counts and sums."""
    state.moment[0] = 0.0
    state.precision[0] = 0.0
    for arm in range(setup.tables.n_arms):
        slope, count = setup.slopes[arm], stats.counts[arm]
        state.moment[0] += slope * (stats.sums[arm] - count * setup.intercepts[arm])
        state.precision[0] += count * slope * slope


def resume(setup: Setup, stats: Statistics, state: State) -> bool:
    """Whether saved sums agree with the statistics, up to rounding."""
    fresh = init(setup)
    rebuild(setup, stats, fresh)
    terms = stats.sums + stats.counts * (np.abs(setup.intercepts) + np.abs(setup.slopes))
    slack = _TOLERANCE * float(np.abs(setup.slopes) @ terms)
    moves = abs(state.moment[0] - fresh.moment[0]), abs(state.precision[0] - fresh.precision[0])
    return bool(moves[0] <= slack and moves[1] <= slack)


def estimate(setup: Setup, stats: Statistics, state: State) -> float:
    """Return the least-squares parameter inside the domain; nan before any reward."""
    if stats.total[0] == 0:
        return math.nan
    if state.precision[0] <= 0.0:
        return 0.5 * (setup.tables.low + setup.tables.high)
    theta = state.moment[0] / state.precision[0]
    return float(min(max(theta, setup.tables.low), setup.tables.high))


@register("linear_greedy")
@dataclasses.dataclass(frozen=True, kw_only=True)
class LinearGreedy(Policy):
    """Approximate every mean by a line ``eta_k + u_k * theta``; play the best line at the estimate.

    The estimate is ``sum u (X - eta) / sum u**2`` over all rewards X (Mersereau,
    Rusmevichientong and Tsitsiklis 2009; not compared with the paper's text). There is no prior
    on theta, so the first arm is random. A mean that is not a line is replaced by its
    least-squares line over the domain. Then the policy can prefer a wrong arm, and its regret
    grows linearly. Value: any; lines describe the observed rewards and are ranked by worth.

    >>> LinearGreedy().to_dict()
    {'policy': 'linear_greedy'}
    """

    rules = Rules(
        init,
        select,
        update,
        estimate,
        rebuild,
        State._fields,
        resume,
        select_among=select_among,
    )

    def setup(self, model: RewardModel) -> Setup:
        """Return the least-squares lines of the model's means."""
        require_one_number(model, "LinearGreedy")
        grid = np.linspace(*model.domain, _GRID_POINTS)
        low, high = model.reward_range
        means = (model.means(grid) - low) / (high - low)
        centre = grid.mean()
        slopes = (grid - centre) @ means / np.sum((grid - centre) ** 2)
        intercepts = means.mean(axis=0) - slopes * centre
        return Setup(model.tables, intercepts, slopes)

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Give the estimate, or say that there is none."""
        if stats.total[0] == 0:
            return "no reward yet: any arm, at random"
        return f"greedy: the best line at the estimate {estimate(setup, stats, state):.6g}"
