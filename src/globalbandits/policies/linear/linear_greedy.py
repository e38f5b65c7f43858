"""The greedy policy for lines (Mersereau, Rusmevichientong and Tsitsiklis 2009)."""

import dataclasses
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.choice import choose_upper_bound

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

_N_GRID = 257


class Setup(NamedTuple):
    """The model's tables, and a line for each arm."""

    tables: Tables
    intercepts: FloatArray  # (n_arms,) eta_k, on the unit reward scale
    slopes: FloatArray  # (n_arms,) u_k


class State(NamedTuple):
    """Statistics per arm, and the two sums of the regression through one number."""

    counts: IntArray  # (n_arms,) N_k
    sums: FloatArray  # (n_arms,) sum of rewards
    total: IntArray  # (1,) number of observations
    moment: FloatArray  # (1,) sum of u (X - eta)
    precision: FloatArray  # (1,) sum of u**2


def init(setup: Setup) -> State:
    """No observation yet."""
    n = setup.tables.n_arms
    return State(
        np.zeros(n, np.int64), np.zeros(n), np.zeros(1, np.int64), np.zeros(1), np.zeros(1)
    )


def select(setup: Setup, state: State, rng: np.random.Generator) -> int:
    """The best line at the estimate; any arm at random before the first reward."""
    if state.total[0] == 0:
        return int(rng.random() * setup.tables.n_arms)
    return choose_upper_bound(setup.intercepts, setup.slopes, estimate(setup, state), rng)


def update(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Count one reward."""
    change(setup, state, arm, reward, 1)


def forget(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Take one observation back."""
    change(setup, state, arm, -reward, -1)


def change(setup: Setup, state: State, arm: int, reward: float, by: int) -> None:
    """Add ``by`` observations whose rewards sum to ``reward``."""
    slope = setup.slopes[arm]
    state.counts[arm] += by
    state.sums[arm] += reward
    state.total[0] += by
    state.moment[0] += slope * (reward - by * setup.intercepts[arm])
    state.precision[0] += by * slope * slope


def refresh(setup: Setup, state: State) -> None:
    """Rebuild what follows from counts and sums."""
    state.total[0] = 0
    state.moment[0] = 0.0
    state.precision[0] = 0.0
    for arm in range(setup.tables.n_arms):
        slope, count = setup.slopes[arm], state.counts[arm]
        state.total[0] += count
        state.moment[0] += slope * (state.sums[arm] - count * setup.intercepts[arm])
        state.precision[0] += count * slope * slope


def estimate(setup: Setup, state: State) -> float:
    """The least-squares parameter, kept inside the domain; nan before any reward."""
    if state.total[0] == 0:
        return math.nan
    if state.precision[0] <= 0.0:
        return 0.5 * (setup.tables.low + setup.tables.high)
    theta = state.moment[0] / state.precision[0]
    return float(min(max(theta, setup.tables.low), setup.tables.high))


@register("linear_greedy")
@dataclasses.dataclass(frozen=True, kw_only=True)
class LinearGreedy(Policy):
    """Take every mean for a line ``eta_k + u_k * theta``, and play the best line at the estimate.

    The estimate is ``sum u (X - eta) / sum u**2`` over all rewards X (Mersereau,
    Rusmevichientong and Tsitsiklis 2009, from memory of the paper; its prior on theta is left
    out, so the first arm is any). A mean that is not a line is replaced by its least-squares
    line over the domain: then the policy is wrong where the curves bend, and its regret grows
    linearly.

    >>> LinearGreedy().to_dict()
    {'policy': 'linear_greedy'}
    """

    rules = Rules(init, select, update, estimate, forget, ("counts", "sums"), refresh)

    def setup(self, model: "RewardModel") -> Setup:
        """The lines nearest to the model's means."""
        grid = np.linspace(*model.domain, _N_GRID)
        low, high = model.reward_range
        means = (model.means(grid) - low) / (high - low)
        centre = grid.mean()
        slopes = (grid - centre) @ means / np.sum((grid - centre) ** 2)
        intercepts = means.mean(axis=0) - slopes * centre
        return Setup(model.tables, intercepts, slopes)

    def reason(self, setup: Setup, state: State) -> str:
        """Greedy, or random at the start."""
        if state.total[0] == 0:
            return "no reward yet: any arm, at random"
        return f"greedy: the best line at the estimate {estimate(setup, state):.6g}"
