"""The posterior of two or three unknown numbers on a ridge grid, from Bernoulli rewards.

The likelihood ``prod_k m_k**S_k (1 - m_k)**(N_k - S_k)`` is exact for rewards 0 and 1, and a
quasi-likelihood for others in [0, 1]. The points are laid again whenever the number of rewards has
grown by 10 %; their weights follow every reward. Both are functions of counts and sums: the points
of those at the last fit, the weights of the present ones.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import require
from globalbandits.errors import PolicyError
from globalbandits.model import VectorModel
from globalbandits.model.vector.prior import NormalPrior
from globalbandits.model.vector_tables import VectorTables
from globalbandits.policies.shared.divergence import negative_entropy
from globalbandits.policies.shared.open_outcomes import (
    OpenOutcomes,
    add_zeros,
    no_open_outcomes,
    zeros_at,
)
from globalbandits.policies.shared.refits import may_be_last_fit, next_fit
from globalbandits.policies.shared.ridge_grid import (
    N_SHEETS,
    NEVER,
    Box,
    Density,
    Grid,
    UnitPrior,
    build_box,
    find_window,
    lay_grid,
    lay_sheet,
    log_prior,
    no_density,
    no_grid,
    slopes_at,
)
from globalbandits.policies.shared.worth import worth_of
from globalbandits.statistics import (
    Statistics,
    assign,
    no_statistics,
    no_weighted_statistics,
)

N_SLICES, N_INNER = 31, 9
N_SLICES_OF_SHEET, N_INNER_OF_SHEET = 17, 7  # with three unknown numbers
N_ACROSS, N_ALONG = 4, 2  # pieces of the part of the square that a point represents
# Passes in which the points and the zeros of open outcomes follow from each other.
N_GUESSES_WITH_OPEN = 2
# The number of rewards grows by this factor from one fit to the next.
FIT_GROWTH = 1.1


class Setup(NamedTuple):
    """The model's tables, and its curves on the unit square."""

    tables: VectorTables
    box: Box
    open: OpenOutcomes


class Posterior(NamedTuple):
    """The posterior on the points of a grid. Arrays over points have unused entries at the end."""

    grid: Grid
    density: Density
    odds: FloatArray  # (n_arms, max_points) log(m / (1 - m))
    rests: FloatArray  # (n_arms, max_points) log(1 - m)
    worths: FloatArray  # (max_points, n_arms) what a decision is worth
    tops: IntArray  # (max_points,) the arm that is worth most at the point
    # (max_points, N_ACROSS * N_ALONG) the arm that is worth most in each piece of the part of the
    # square that the point represents. Regions of arms are often smaller than such a part.
    best: IntArray
    starts: FloatArray  # (max_points,) logarithms of the weights without rewards
    logs: FloatArray  # (max_points,)
    weights: FloatArray  # (max_points,) not normalised
    mass: FloatArray  # (1,) sum of the weights
    known: Statistics  # the rewards of the last fit and the open outcomes, which are parts of a 0
    arm_means: FloatArray  # (n_arms,) scratch array: posterior means, if outcomes are open


class State(NamedTuple):
    """The posterior and the statistics of its last fit, for policies that keep nothing else.

    The functions of this file take any state with these fields.
    """

    fitted: Statistics
    due: FloatArray  # (1,) the number of rewards at which the next fit is due
    posterior: Posterior


def require_few_numbers(model: VectorModel, policy: str) -> None:
    """Raise a PolicyError for a model of three unknown numbers."""
    rule = (
        f"have one or two unknown numbers for {policy}; "
        "give the others their known values with model.fixed(...), or take IDS, or "
        "IndependentGittins, which uses no curves"
    )
    few = model.n_parameters < 3
    require(few, "model", rule, ", ".join(model.parameters), PolicyError)


def build(model: VectorModel, prior: Sequence[Any] | None = None) -> Setup:
    """Return the curves of a model.

    Args:
        model: the model.
        prior: mean and standard deviation of each number, in its units; by default the model's
            prior.
    """
    in_sheets = model.n_parameters == 3
    box = build_box(
        model.tables,
        n_slices=N_SLICES_OF_SHEET if in_sheets else N_SLICES,
        n_inner=N_INNER_OF_SHEET if in_sheets else N_INNER,
        prior=unit_prior(model, prior),
    )
    return Setup(model.tables, box, no_open_outcomes(model.n_arms))


def unit_prior(model: VectorModel, pairs: Sequence[Any] | None = None) -> UnitPrior:
    """Return the prior of a `Box`: that of the model, or independent normal densities.

    Args:
        model: the model.
        pairs: mean and standard deviation of each number, instead of the model's prior.
    """
    found, offsets, depth = np.zeros(5), np.full(2, -1.0), np.array([0.0, 0.0, -1.0])
    prior = model.prior
    names = model.parameters
    if pairs is not None:
        rule = f"have a pair (mean, standard deviation) for each of {', '.join(names)}"
        valid = len(pairs) == len(names) and all(np.shape(pair) == (2,) for pair in pairs)
        require(valid, "prior", rule, pairs, PolicyError)
        columns = list(zip(*pairs, strict=True))
        prior = NormalPrior(
            mean=dict(zip(names, columns[0], strict=True)),
            sd=dict(zip(names, columns[1], strict=True)),
        )
    if prior is None:
        return UnitPrior(found, offsets, depth)
    means, starts, deviations = np.zeros(3), np.full(3, -1.0), np.ones(3)
    for axis, name in enumerate(names):
        low, high = model.domain[name]
        length = high - low
        if name in prior.log:
            starts[axis] = low / length
            means[axis] = prior.mean[name] - math.log(length)
            deviations[axis] = prior.sd[name]
        else:
            means[axis] = (prior.mean[name] - low) / length
            deviations[axis] = prior.sd[name] / length
    found[:2], offsets[:] = means[:2], starts[:2]
    if len(names) > 2:
        depth[:] = means[2], 1.0 / deviations[2] ** 2, starts[2]
    rest = 1.0 - prior.correlation**2
    found[2] = 1.0 / (rest * deviations[0] ** 2)
    if len(names) > 1:
        found[3] = -prior.correlation / (rest * deviations[0] * deviations[1])
        found[4] = 1.0 / (rest * deviations[1] ** 2)
    return UnitPrior(found, offsets, depth)


def no_posterior(setup: Any) -> Posterior:
    """An empty posterior."""
    grid = no_grid(setup.box)
    most, n_arms = grid.means.shape
    return Posterior(
        grid=grid,
        density=no_density(n_arms),
        odds=np.zeros((n_arms, most)),
        rests=np.zeros((n_arms, most)),
        worths=np.zeros((most, n_arms)),
        tops=np.zeros(most, np.int64),
        best=np.zeros((most, N_ACROSS * N_ALONG), np.int64),
        starts=np.zeros(most),
        logs=np.zeros(most),
        weights=np.zeros(most),
        mass=np.zeros(1),
        known=no_weighted_statistics(n_arms),
        arm_means=np.zeros(n_arms),
    )


def init(setup: Setup) -> State:
    """No reward yet: the prior."""
    n_arms = setup.tables.n_arms
    state = State(no_statistics(n_arms), np.zeros(1), no_posterior(setup))
    rebuild(setup, no_statistics(n_arms), state)
    return state


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Lay the points again if that is due, and weigh them."""
    if stats.total[0] >= state.due[0]:
        assign(state.fitted, stats)
        fit(setup, state)
    weigh(setup, stats, state.posterior)


def rebuild(setup: Setup, stats: Statistics, state: State) -> None:
    """Lay the points for these counts and sums, and weigh them."""
    assign(state.fitted, stats)
    fit(setup, state)
    weigh(setup, stats, state.posterior)


def resume(setup: Setup, stats: Statistics, state: State) -> bool:
    """Lay the points of the last fit again, and weigh them; False if there was no such fit."""
    if not may_be_last_fit(state.fitted, stats, FIT_GROWTH):
        return False
    fit(setup, state)
    weigh(setup, stats, state.posterior)
    return True


def fit(setup: Setup, state: State) -> None:
    """Lay the points for the statistics of the last fit."""
    fitted, posterior = state.fitted, state.posterior
    state.due[0] = next_fit(fitted.total[0], FIT_GROWTH)
    outcomes, known, means = setup.open, posterior.known, posterior.arm_means
    assign(known, fitted)
    if outcomes.weight[0] > 0.0:
        # How many zeros an open outcome counts as depends on the mean, which depends on the zeros.
        means[:] = 0.0
        for _ in range(N_GUESSES_WITH_OPEN):
            add_zeros(outcomes, means, known)
            set_density(known, posterior.density)
            lay_points(setup, posterior)
            weigh(setup, fitted, posterior)
            average(posterior, posterior.grid.means, means)
            assign(known, fitted)
        add_zeros(outcomes, means, known)
    set_density(known, posterior.density)
    lay_points(setup, posterior)


def set_density(known: Statistics, density: Density) -> None:
    """Set the density from which the points are laid to the likelihood of statistics."""
    for arm in range(known.counts.shape[0]):
        count = float(known.counts[arm])
        density.weights[arm] = count
        density.own[arm] = 0.0
        density.entropies[arm] = 0.0
        density.odds[arm] = NEVER
        if count > 0.0:
            density.own[arm] = known.sums[arm] / count
            density.entropies[arm] = negative_entropy(density.own[arm])


def lay_points(setup: Any, posterior: Posterior) -> None:
    """Lay the points of the posterior's density, and find the worths of the arms there."""
    grid = posterior.grid
    box, density = setup.box, posterior.density
    if box.solid.shape[0] == 0:
        lay_grid(box, density, grid)
        value_points(setup, posterior, 0)
        return
    low, high = find_window(box, density, grid)
    height = (high - low) / N_SHEETS
    grid.n_points[0] = 0
    for sheet in range(N_SHEETS):
        first = grid.n_points[0]
        lay_sheet(box, density, grid, low + (sheet + 0.5) * height, height)
        value_points(setup, posterior, first)


def value_points(setup: Any, posterior: Posterior, first: int) -> None:
    """Find the worths of the arms at the points from the first one on, and the best arms."""
    grid, n_arms = posterior.grid, setup.tables.n_arms
    for point in range(first, grid.n_points[0]):
        x, y = grid.points[point, 0], grid.points[point, 1]
        posterior.starts[point] = grid.log_areas[point] + log_prior(setup.box, x, y)
        best = 0
        for arm in range(n_arms):
            mean = grid.means[point, arm]
            rest = math.log(1.0 - mean)
            posterior.rests[arm, point] = rest
            posterior.odds[arm, point] = math.log(mean) - rest
            posterior.worths[point, arm] = worth_of(setup.tables, arm, mean)
            if posterior.worths[point, arm] > posterior.worths[point, best]:
                best = arm
        posterior.tops[point] = best
    for point in range(first, grid.n_points[0]):
        set_best(setup, posterior, first, point)


def is_inside(posterior: Posterior, n_inner: int, first: int, point: int) -> bool:
    """Whether the best arm is the same at a point and at the points around it."""
    tops, last = posterior.tops, posterior.grid.n_points[0] - 1
    top = tops[point]
    return bool(
        tops[max(point - 1, first)] == top
        and tops[min(point + 1, last)] == top
        and tops[max(point - n_inner, first)] == top
        and tops[min(point + n_inner, last)] == top
    )


def set_best(setup: Any, posterior: Posterior, first: int, point: int) -> None:
    """Find the arm that is worth most in each piece of a point's part.

    The means are linear in the part. They are evaluated in the middle of each piece.
    """
    grid = posterior.grid
    if is_inside(posterior, setup.box.n_inner, first, point):
        for piece in range(posterior.best.shape[1]):
            posterior.best[point, piece] = posterior.tops[point]
        return
    slopes_at(setup.box.nodes, grid.points[point, 0], grid.points[point, 1], grid.basis, grid.rows)
    means, in_x, in_y = grid.rows[0], grid.rows[1], grid.rows[2]
    sides = grid.sides[point]
    for piece in range(posterior.best.shape[1]):
        across = (piece % N_ACROSS + 0.5) / N_ACROSS - 0.5
        along = (piece // N_ACROSS + 0.5) / N_ALONG - 0.5
        x = across * sides[0] + along * sides[2]
        y = across * sides[1] + along * sides[3]
        best = 0
        largest = -math.inf
        for arm in range(means.shape[0]):
            mean = means[arm] + x * in_x[arm] + y * in_y[arm]
            worth = worth_of(setup.tables, arm, min(max(mean, 0.0), 1.0))
            if worth > largest:
                best, largest = arm, worth
        posterior.best[point, piece] = best


def weigh(setup: Setup, stats: Statistics, posterior: Posterior) -> None:
    """Compute the weights of the points from counts and sums."""
    grid, logs, weights = posterior.grid, posterior.logs, posterior.weights
    n_points = grid.n_points[0]
    for point in range(n_points):
        logs[point] = posterior.starts[point]
    for arm in range(stats.counts.shape[0]):
        count, total = float(stats.counts[arm]), stats.sums[arm]
        odds, rests = posterior.odds[arm], posterior.rests[arm]
        if count > 0.0:
            for point in range(n_points):
                logs[point] += total * odds[point] + count * rests[point]
        if setup.open.weight[0] > 0.0:
            zeros = setup.open.same_likelihood
            for point in range(n_points):
                logs[point] += zeros_at(zeros, arm, grid.means[point, arm]) * rests[point]
    top = -math.inf
    for point in range(n_points):
        top = max(top, logs[point])
    mass = 0.0
    for point in range(n_points):
        weights[point] = math.exp(logs[point] - top)
        mass += weights[point]
    posterior.mass[0] = mass


def average_worths(posterior: Posterior, values: FloatArray) -> None:
    """Compute the posterior means of the arms' worths."""
    average(posterior, posterior.worths, values)


def average(posterior: Posterior, columns: FloatArray, values: FloatArray) -> None:
    """Compute the posterior means of numbers that each arm has at each point."""
    weights = posterior.weights
    n_arms = values.shape[0]
    for arm in range(n_arms):
        values[arm] = 0.0
    for point in range(posterior.grid.n_points[0]):
        for arm in range(n_arms):
            values[arm] += weights[point] * columns[point, arm]
    for arm in range(n_arms):
        values[arm] /= posterior.mass[0]


def draw_best(posterior: Posterior, rng: np.random.Generator) -> int:
    """Draw a piece of a point's part from the posterior, and return its best arm."""
    point, left = draw_point(posterior, rng)
    n = posterior.best.shape[1]
    piece = 0
    while piece < n - 1 and n * left >= (piece + 1) * posterior.weights[point]:
        piece += 1
    return int(posterior.best[point, piece])


def draw_point(posterior: Posterior, rng: np.random.Generator) -> tuple[int, float]:
    """Draw a point of the grid, and a uniform number below its weight."""
    left = rng.random() * posterior.mass[0]
    point = 0
    last = posterior.grid.n_points[0] - 1
    while point < last and left >= posterior.weights[point]:
        left -= posterior.weights[point]
        point += 1
    return point, left


def no_single_estimate(setup: Setup, stats: Statistics, state: State) -> float:
    """Return nan: the estimate has several numbers, see `numbers`."""
    return math.nan


def numbers(
    setup: Any, stats: Statistics, state: Any, means: FloatArray, deviations: FloatArray
) -> None:
    """Write posterior means and standard deviations of the unknown numbers."""
    posterior, tables = state.posterior, setup.tables
    points, weights, mass = posterior.grid.points, posterior.weights, posterior.mass[0]
    for axis in range(means.shape[0]):
        mean = 0.0
        for point in range(posterior.grid.n_points[0]):
            mean += weights[point] * points[point, axis]
        mean /= mass
        square = 0.0
        for point in range(posterior.grid.n_points[0]):
            square += weights[point] * (points[point, axis] - mean) ** 2
        length = tables.high[axis] - tables.low[axis]
        means[axis] = tables.low[axis] + length * mean
        deviations[axis] = length * math.sqrt(square / mass)


def probabilities_of_best(posterior: Posterior) -> FloatArray:
    """Return the posterior probability of each arm that it is worth most. Not compiled."""
    n, n_arms = int(posterior.grid.n_points[0]), posterior.worths.shape[1]
    best = posterior.best[:n]
    weights = np.repeat(posterior.weights[:n], best.shape[1])
    shares = np.bincount(best.ravel(), weights, minlength=n_arms)
    return np.asarray(shares / weights.sum())
