"""A posterior over the parameter on a grid, for likelihoods with one statistic per reward.

The log-likelihood of a reward x of arm k at theta is ``constant_k(theta) + slope_k(theta) *
s(x)``, so all rewards of an arm enter through their number and the sum of s(x):

- ``beta``: rewards are Beta(1, b) with b = (1 - m) / m, whose mean is m. The density ``b * (1 -
  x)**(b - 1)`` gives s(x) = log(1 - x), constant log b, slope b - 1. The sum of s(x) is kept in
  the state: counts and sums of rewards do not give it, so there is no `rebuild`.
- ``bernoulli``: ``x log m + (1 - x) log(1 - m)``, exact for rewards 0 and 1 and a
  quasi-likelihood for all others in [0, 1]: s(x) = x, constant log(1 - m), slope log(m / (1 - m)).

Only cells within 30 nats of the most likely one are kept up to date. They form a window that
narrows as rewards arrive. A cell that enters the window again is recomputed from the statistics.
Whenever the number of rewards is a power of two, all cells are recomputed, so that no distant peak
is lost.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_floats, as_integer, as_positive, require
from globalbandits.errors import PolicyError
from globalbandits.model import RewardModel
from globalbandits.model.analysis.curves import evaluate_many
from globalbandits.model.tables import Tables
from globalbandits.statistics import Statistics, no_statistics

LIKELIHOODS = ("beta", "bernoulli")
MAX_CELLS = 10**6
MAX_TABLE_ENTRIES = 2 * 10**7  # arms times cells; a policy has three or four such tables

# Cells whose log-likelihood is further below the largest are left out.
WINDOW_NATS = 30.0
# Smallest value of 1 - x whose logarithm is taken, for rewards x near 1.
MIN_REST = 1e-12
# Smallest distance of a mean from 0 and 1, where a likelihood is infinite.
_MIN_MEAN = 1e-9


class Setup(NamedTuple):
    """The model's tables, and its curves and likelihoods on the grid."""

    tables: Tables
    thetas: FloatArray  # (n_cells,) middles of the cells
    constants: FloatArray  # (n_arms, n_cells) of the log-likelihood
    slopes: FloatArray  # (n_arms, n_cells)
    worths: FloatArray  # (n_arms, n_cells) what a decision is worth
    # (n_cells,) up to a constant; 0 where the prior is uniform. With the outcomes that are awaited.
    log_prior: FloatArray
    logarithmic: bool  # whether s(x) is log(1 - x), else x
    first_prior: FloatArray  # (n_cells,) the prior without the outcomes that are awaited


class State(NamedTuple):
    """The posterior in a window of cells. Outside the window logs and weights are 0."""

    rests: FloatArray  # (n_arms,) sum of log(1 - x) where that is s(x), else 0
    window: IntArray  # (2,) first and last cell
    logs: FloatArray  # (n_cells,) log-likelihood, and the logarithm of the prior
    weights: FloatArray  # (n_cells,) posterior, not normalised
    mass: FloatArray  # (1,) sum of the weights


def as_cells(cells: object) -> int:
    """Check the number of cells, from 2 to 10**6."""
    number = as_integer("cells", cells, 2, PolicyError)
    require(number <= MAX_CELLS, "cells", f"be at most {MAX_CELLS}", cells, PolicyError)
    return number


def as_likelihood(likelihood: object) -> str:
    """Check the name of a likelihood."""
    known = isinstance(likelihood, str) and likelihood in LIKELIHOODS
    rule = f"be one of {', '.join(LIKELIHOODS)}"
    require(known, "likelihood", rule, likelihood, PolicyError)
    return str(likelihood)


def as_prior(
    prior: object, variance: object = None
) -> tuple[float, float] | tuple[tuple[float, float], ...] | None:
    """Check a normal prior: mean and standard deviation, or the variance around 0; or None.

    For several numbers the prior is one such pair per number.

    >>> as_prior(None, variance=4.0), as_prior((1.0, 2.0)), as_prior(None)
    ((0.0, 2.0), (1.0, 2.0), None)
    """
    rule = "be None where prior is given"
    require(prior is None or variance is None, "prior_variance", rule, variance, PolicyError)
    if variance is not None:
        return 0.0, math.sqrt(as_positive("prior_variance", variance, PolicyError))
    if prior is None:
        return None
    if isinstance(prior, Sequence) and len(prior) > 0 and isinstance(prior[0], Sequence):
        return tuple(as_pair(pair) for pair in prior)
    return as_pair(prior)


def as_pair(prior: object) -> tuple[float, float]:
    """Check mean and standard deviation of a normal prior."""
    numbers = as_floats("prior", prior, PolicyError)
    rule = "be None or (mean, standard deviation) of theta"
    require(len(numbers) == 2 and numbers[1] > 0.0, "prior", rule, prior, PolicyError)
    return numbers[0], numbers[1]


def build(
    model: RewardModel,
    likelihood: str,
    n_cells: int,
    prior: Any = None,
) -> Setup:
    """Return curves and likelihoods of a model in the middles of equal cells.

    Args:
        model: the model.
        likelihood: name of the likelihood of the rewards.
        n_cells: number of cells.
        prior: mean and standard deviation of a normal prior, cut off at the ends of the
            domain; uniform by default.
    """
    tables = model.tables
    rule = "be (mean, standard deviation) for a model with one unknown number"
    require(prior is None or np.shape(prior) == (2,), "prior", rule, prior, PolicyError)
    most = MAX_TABLE_ENTRIES // tables.n_arms
    rule = f"be at most {most} for {tables.n_arms} arms"
    require(n_cells <= most, "cells", rule, n_cells, PolicyError)
    low, high = model.domain
    thetas = low + (high - low) * (np.arange(n_cells) + 0.5) / n_cells
    worths = np.stack([evaluate_many(tables.worth, k, thetas) for k in range(tables.n_arms)])
    m = np.clip(unit_means(model, thetas), _MIN_MEAN, 1.0 - _MIN_MEAN)
    odds = (1.0 - m) / m
    logarithmic = likelihood == "beta"
    log_prior = np.zeros(n_cells) if prior is None else _log_normal(thetas, *prior)
    return Setup(
        tables=tables,
        thetas=thetas,
        constants=np.log(odds) if logarithmic else np.log1p(-m),
        slopes=odds - 1.0 if logarithmic else -np.log(odds),
        worths=worths,
        log_prior=log_prior,
        logarithmic=logarithmic,
        first_prior=log_prior.copy(),
    )


def _log_normal(thetas: FloatArray, mean: float, deviation: float) -> FloatArray:
    """Return the logarithm of a normal density, shifted so that its largest value is 0."""
    with np.errstate(over="ignore"):
        logs = -0.5 * ((thetas - mean) / deviation) ** 2
    finite = bool(np.isfinite(logs).all())
    rule = "have a density on the domain that is a number"
    require(finite, "prior", rule, (mean, deviation), PolicyError)
    return np.asarray(logs - logs.max())


def unit_means(model: RewardModel, thetas: FloatArray) -> FloatArray:
    """Return the arms' mean rewards on the unit scale: shape (n_arms, n_thetas)."""
    low, high = model.reward_range
    return np.ascontiguousarray((model.means(thetas).T - low) / (high - low))


def init(setup: Setup) -> State:
    """No reward yet: the prior."""
    n, n_cells = setup.constants.shape
    state = State(
        rests=np.zeros(n),
        window=np.array([0, n_cells - 1]),
        logs=setup.log_prior.copy(),
        weights=np.zeros(n_cells),
        mass=np.zeros(1),
    )
    move_window(setup, no_statistics(n), state)
    return state


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Update the weights of the cells with one reward."""
    statistic = reward
    if setup.logarithmic:
        statistic = math.log(max(MIN_REST, 1.0 - reward))
        state.rests[arm] += statistic
    total = stats.total[0]
    if total & (total - 1) == 0:
        recompute(setup, stats, state)
    else:
        first, end = state.window[0], state.window[1] + 1
        logs = state.logs[first:end]
        constants, slopes = setup.constants[arm, first:end], setup.slopes[arm, first:end]
        for i in range(end - first):
            logs[i] += constants[i] + statistic * slopes[i]
    move_window(setup, stats, state)


def rebuild(setup: Setup, stats: Statistics, state: State) -> None:
    """Compute the posterior from counts and sums, for s(x) = x."""
    state.rests[:] = 0.0
    recompute(setup, stats, state)
    move_window(setup, stats, state)


def await_outcomes(setup: Setup, arms: IntArray, weights: FloatArray) -> None:
    """Replace the outcomes that are awaited, for Bernoulli rewards.

    An outcome of arm k that would have been reported with probability w by now has the likelihood
    ``1 - w m_k(theta)``, as in the TITE-CRM (Cheung and Chappell 2000). It is evidence of the
    present moment only, so it is kept with the prior and not with the rewards.
    """
    logs = setup.first_prior.copy()
    pairs, numbers = np.unique(np.stack([arms, weights]), axis=1, return_counts=True)
    for arm, weight, number in zip(*pairs, numbers, strict=True):
        means = -np.expm1(setup.constants[int(arm)])
        logs += number * np.log1p(-weight * means)
    setup.log_prior[:] = logs


def sum_of_statistics(setup: Setup, stats: Statistics, state: State, arm: int) -> float:
    """Return the sum of s(x) over the rewards of an arm."""
    return float(state.rests[arm] if setup.logarithmic else stats.sums[arm])


def recompute(setup: Setup, stats: Statistics, state: State) -> None:
    """Compute the log-likelihood of all cells, including the prior, from the statistics."""
    n, n_cells = setup.constants.shape
    for cell in range(n_cells):
        state.logs[cell] = setup.log_prior[cell]
    for arm in range(n):
        count, statistic = stats.counts[arm], sum_of_statistics(setup, stats, state, arm)
        if count > 0:
            for cell in range(n_cells):
                state.logs[cell] += (
                    count * setup.constants[arm, cell] + statistic * setup.slopes[arm, cell]
                )
    state.window[0] = 0
    state.window[1] = n_cells - 1


def log_likelihood(setup: Setup, stats: Statistics, state: State, cell: int) -> float:
    """Return the log-likelihood of one cell, including the prior, from the statistics."""
    value = setup.log_prior[cell]
    for arm in range(setup.constants.shape[0]):
        if stats.counts[arm] > 0:
            value += stats.counts[arm] * setup.constants[arm, cell]
            value += sum_of_statistics(setup, stats, state, arm) * setup.slopes[arm, cell]
    return float(value)


def move_window(setup: Setup, stats: Statistics, state: State) -> None:
    """Move the window to the cells that matter, and compute their weights."""
    logs = state.logs
    first, last = state.window[0], state.window[1]
    top = largest_log(state)
    while first > 0 and logs[first] > top - WINDOW_NATS:
        first -= 1
        logs[first] = log_likelihood(setup, stats, state, first)
        top = max(top, logs[first])
    while last < logs.shape[0] - 1 and logs[last] > top - WINDOW_NATS:
        last += 1
        logs[last] = log_likelihood(setup, stats, state, last)
        top = max(top, logs[last])
    while logs[first] < top - WINDOW_NATS:
        logs[first] = 0.0
        state.weights[first] = 0.0
        first += 1
    while logs[last] < top - WINDOW_NATS:
        logs[last] = 0.0
        state.weights[last] = 0.0
        last -= 1
    state.window[0] = first
    state.window[1] = last
    exponentiate(state, top)


def largest_log(state: State) -> float:
    """Return the largest log-likelihood in the window."""
    top = state.logs[state.window[0]]
    for cell in range(state.window[0] + 1, state.window[1] + 1):
        top = max(top, state.logs[cell])
    return float(top)


def exponentiate(state: State, top: float) -> None:
    """Compute weights and their sum from the log-likelihood in the window."""
    mass = 0.0
    for cell in range(state.window[0], state.window[1] + 1):
        state.weights[cell] = math.exp(state.logs[cell] - top)
        mass += state.weights[cell]
    state.mass[0] = mass


def average_worths(setup: Setup, state: State, values: FloatArray) -> None:
    """Compute the posterior means of the arms' worths."""
    for arm in range(setup.constants.shape[0]):
        whole = weighted_sum(state.weights, setup.worths, arm, state.window[0], state.window[1])
        values[arm] = whole / state.mass[0]


def weighted_sum(weights: FloatArray, curves: FloatArray, arm: int, first: int, last: int) -> float:
    """Return the sum of weight times curve over the cells first to last.

    Four independent sums let the processor overlap additions.
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


def draw_theta(setup: Setup, state: State, rng: np.random.Generator) -> float:
    """Draw a cell from the posterior, and return its middle."""
    left = rng.random() * state.mass[0]
    cell = state.window[0]
    while cell < state.window[1] and left >= state.weights[cell]:
        left -= state.weights[cell]
        cell += 1
    return float(setup.thetas[cell])


def posterior_mean(setup: Setup, state: State) -> float:
    """Return the posterior mean of the parameter; before any reward that of the prior."""
    theta = 0.0
    for cell in range(state.window[0], state.window[1] + 1):
        theta += state.weights[cell] * setup.thetas[cell]
    return float(theta / state.mass[0])


def estimate(setup: Setup, stats: Statistics, state: State) -> float:
    """Return the posterior mean of the parameter; nan before any reward."""
    return math.nan if stats.total[0] == 0 else posterior_mean(setup, state)


# Rounding error of a sum of many terms, relative to the sum of their absolute values.
_RELATIVE_ROUNDING = 1e-6


def resume(setup: Setup, stats: Statistics, state: State) -> bool:
    """Compute the weights; return False if the statistics exclude the other fields."""
    first, last = state.window.tolist()
    if not 0 <= first <= last < state.logs.shape[0] or not _are_possible_rests(setup, stats, state):
        return False
    for values in (state.logs, state.weights):
        values[:first] = 0.0
        values[last + 1 :] = 0.0
    exponentiate(state, largest_log(state))
    sums = state.rests if setup.logarithmic else stats.sums
    fresh = setup.log_prior + stats.counts @ setup.constants + sums @ setup.slopes
    terms = (
        np.abs(setup.log_prior)
        + stats.counts @ np.abs(setup.constants)
        + np.abs(sums) @ np.abs(setup.slopes)
    )
    return _is_window(fresh, _RELATIVE_ROUNDING * (1.0 + terms), state)


def _is_window(fresh: FloatArray, slack: FloatArray, state: State) -> bool:
    """Whether the window has the cells near the largest log-likelihood, with their values."""
    first, last = state.window.tolist()
    within = slice(first, last + 1)
    edge = float(fresh[within].max()) - WINDOW_NATS
    ends = [cell for cell in (first - 1, last + 1) if 0 <= cell < len(fresh)]
    return (
        bool(np.all(np.abs(state.logs - fresh)[within] <= slack[within]))
        and all(fresh[cell] >= edge - slack[cell] for cell in (first, last))
        and all(fresh[cell] <= edge + slack[cell] for cell in ends)
    )


def _are_possible_rests(setup: Setup, stats: Statistics, state: State) -> bool:
    """Whether sums of log(1 - x) are possible. Jensen's inequality: at most N log(1 - mean)."""
    if not setup.logarithmic:
        return not np.any(state.rests)
    left = 1.0 - stats.sums / np.maximum(stats.counts, 1)
    most = stats.counts * np.log(np.clip(left, MIN_REST, 1.0))
    least = stats.counts * math.log(MIN_REST)
    slack = _RELATIVE_ROUNDING * np.abs(least)
    return bool(np.all((state.rests <= most + slack) & (state.rests >= least - slack)))
