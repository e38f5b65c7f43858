"""A posterior over the parameter on a grid, for likelihoods with one statistic per reward.

The log-likelihood of a reward x of arm k at theta is ``constant_k(theta) + slope_k(theta) *
s(x)``, so all rewards of an arm enter through their number and the sum of s(x):

- ``beta``: rewards are Beta(1, b) with b = (1 - m) / m, whose mean is m. The density ``b * (1 -
  x)**(b - 1)`` gives s(x) = log(1 - x), constant log b, slope b - 1.
- ``bernoulli``: ``x log m + (1 - x) log(1 - m)``, exact for rewards 0 and 1 and a
  quasi-likelihood for all others in [0, 1]: s(x) = x, constant log(1 - m), slope log(m / (1 - m)).

Only the cells within 30 nats of the most likely one are kept current, a window that narrows as
rewards come in. A cell that the window reaches again is computed afresh from the statistics,
and all cells are whenever the number of rewards is a power of two, so that no far peak is lost.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import require
from globalbandits.errors import PolicyError
from globalbandits.model.curves import evaluate_many
from globalbandits.model.tables import Tables
from globalbandits.policies import base

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

LIKELIHOODS = ("beta", "bernoulli")

_DEPTH = 30.0
_CLIP = 1e-9  # means are kept this far from 0 and 1, where a likelihood is infinite
_LEAST_REST = 1e-12  # a reward of 1 counts as 1 minus this much, for its logarithm


class Setup(NamedTuple):
    """The model's tables, and its curves and likelihoods on the grid."""

    tables: Tables
    thetas: FloatArray  # (n_cells,) middles of the cells
    constants: FloatArray  # (n_arms, n_cells) of the log-likelihood
    slopes: FloatArray  # (n_arms, n_cells)
    worths: FloatArray  # (n_arms, n_cells) what a decision is worth
    logarithmic: bool  # whether s(x) is log(1 - x), else x


class State(NamedTuple):
    """Statistics per arm, and the posterior that follows from them."""

    counts: IntArray  # (n_arms,) N_k
    sums: FloatArray  # (n_arms,) sum of rewards
    statistics: FloatArray  # (n_arms,) sum of s(x)
    total: IntArray  # (1,) number of observations
    window: IntArray  # (2,) first and last cell kept current
    logs: FloatArray  # (n_cells,) log-likelihood, current in the window
    weights: FloatArray  # (n_cells,) posterior, not normalised, current in the window
    mass: FloatArray  # (1,) sum of the weights
    values: FloatArray  # (n_arms,) posterior means of the arms' worths


def build(model: "RewardModel", likelihood: str, n_cells: int) -> Setup:
    """Curves and likelihoods of a model in the middles of equal cells."""
    tables = model.tables
    low, high = model.domain
    thetas = low + (high - low) * (np.arange(n_cells) + 0.5) / n_cells
    least, most = model.reward_range
    means = (model.means(thetas).T - least) / (most - least)
    worths = np.stack([evaluate_many(tables.worth, k, thetas) for k in range(tables.n_arms)])
    m = np.clip(means, _CLIP, 1.0 - _CLIP)
    odds = (1.0 - m) / m
    logarithmic = likelihood == "beta"
    return Setup(
        tables=tables,
        thetas=thetas,
        constants=np.ascontiguousarray(np.log(odds) if logarithmic else np.log1p(-m)),
        slopes=np.ascontiguousarray(odds - 1.0 if logarithmic else -np.log(odds)),
        worths=worths,
        logarithmic=logarithmic,
    )


def check_likelihood(likelihood: object) -> None:
    """Refuse an unknown likelihood."""
    known = ", ".join(LIKELIHOODS)
    require(likelihood in LIKELIHOODS, "likelihood", f"be one of {known}", likelihood, PolicyError)


def init(setup: base.Setup) -> State:
    """No observation yet: all cells weigh the same."""
    n, n_cells = setup.constants.shape
    state = State(
        counts=np.zeros(n, np.int64),
        sums=np.zeros(n),
        statistics=np.zeros(n),
        total=np.zeros(1, np.int64),
        window=np.array([0, n_cells - 1]),
        logs=np.zeros(n_cells),
        weights=np.ones(n_cells),
        mass=np.full(1, float(n_cells)),
        values=np.zeros(n),
    )
    average(setup, state)
    return state


def absorb(setup: base.Setup, state: base.State, arm: int, reward: float, by: int) -> None:
    """Count one reward (``by`` = 1), or take it back (-1), and weigh the cells anew."""
    statistic = by * reward
    if setup.logarithmic:
        statistic = by * math.log(max(1.0 - reward, _LEAST_REST))
    state.counts[arm] += by
    state.sums[arm] += by * reward
    state.statistics[arm] += statistic
    state.total[0] += by
    total = state.total[0]
    if total & (total - 1) == 0:
        recompute(setup, state)
    else:
        for cell in range(state.window[0], state.window[1] + 1):
            state.logs[cell] += (
                by * setup.constants[arm, cell] + statistic * setup.slopes[arm, cell]
            )
    weigh(setup, state)


def recompute(setup: base.Setup, state: base.State) -> None:
    """The log-likelihood of all cells from the statistics."""
    n, n_cells = setup.constants.shape
    for cell in range(n_cells):
        state.logs[cell] = 0.0
    for arm in range(n):
        count, statistic = state.counts[arm], state.statistics[arm]
        if count > 0:
            for cell in range(n_cells):
                state.logs[cell] += (
                    count * setup.constants[arm, cell] + statistic * setup.slopes[arm, cell]
                )
    state.window[0] = 0
    state.window[1] = n_cells - 1


def log_likelihood(setup: base.Setup, state: base.State, cell: int) -> float:
    """The log-likelihood of one cell from the statistics."""
    value = 0.0
    for arm in range(setup.constants.shape[0]):
        if state.counts[arm] > 0:
            value += state.counts[arm] * setup.constants[arm, cell]
            value += state.statistics[arm] * setup.slopes[arm, cell]
    return value


def weigh(setup: base.Setup, state: base.State) -> None:
    """Move the window to where the likelihood is, and exponentiate it."""
    first, last = state.window[0], state.window[1]
    top = state.logs[first]
    for cell in range(first + 1, last + 1):
        top = max(top, state.logs[cell])
    while first > 0 and state.logs[first] > top - _DEPTH:
        first -= 1
        state.logs[first] = log_likelihood(setup, state, first)
        top = max(top, state.logs[first])
    while last < state.logs.shape[0] - 1 and state.logs[last] > top - _DEPTH:
        last += 1
        state.logs[last] = log_likelihood(setup, state, last)
        top = max(top, state.logs[last])
    while state.logs[first] < top - _DEPTH:
        first += 1
    while state.logs[last] < top - _DEPTH:
        last -= 1
    mass = 0.0
    for cell in range(first, last + 1):
        state.weights[cell] = math.exp(state.logs[cell] - top)
        mass += state.weights[cell]
    state.window[0] = first
    state.window[1] = last
    state.mass[0] = mass


def average(setup: base.Setup, state: base.State) -> None:
    """Posterior means of the arms' worths."""
    for arm in range(setup.constants.shape[0]):
        whole = weighted_sum(state.weights, setup.worths, arm, state.window[0], state.window[1])
        state.values[arm] = whole / state.mass[0]


def weighted_sum(weights: FloatArray, curves: FloatArray, arm: int, first: int, last: int) -> float:
    """The sum of weight times curve over the cells first to last.

    Four sums side by side: a processor adds the next product before the last sum is done.
    """
    weight, curve = weights[first : last + 1], curves[arm, first : last + 1]
    n_fours = (last + 1 - first) // 4
    one = two = three = four = 0.0
    for block in range(n_fours):
        i = 4 * block
        one += weight[i] * curve[i]
        two += weight[i + 1] * curve[i + 1]
        three += weight[i + 2] * curve[i + 2]
        four += weight[i + 3] * curve[i + 3]
    for i in range(4 * n_fours, last + 1 - first):
        one += weight[i] * curve[i]
    return (one + two) + (three + four)


def draw_theta(setup: base.Setup, state: base.State, rng: np.random.Generator) -> float:
    """The middle of a cell drawn from the posterior."""
    left = rng.random() * state.mass[0]
    cell = state.window[0]
    while cell < state.window[1] and left >= state.weights[cell]:
        left -= state.weights[cell]
        cell += 1
    return float(setup.thetas[cell])


def refresh(setup: base.Setup, state: base.State) -> None:
    """Rebuild what follows from counts, sums and statistics."""
    state.total[0] = 0
    for arm in range(setup.constants.shape[0]):
        state.total[0] += state.counts[arm]
    recompute(setup, state)
    weigh(setup, state)
    average(setup, state)


def estimate(setup: base.Setup, state: base.State) -> float:
    """The posterior mean of the parameter; nan before any reward."""
    if state.total[0] == 0:
        return math.nan
    theta = 0.0
    for cell in range(state.window[0], state.window[1] + 1):
        theta += state.weights[cell] * setup.thetas[cell]
    return float(theta / state.mass[0])
