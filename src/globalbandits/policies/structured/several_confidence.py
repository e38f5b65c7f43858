"""The confidence set of structured policies with two unknown numbers: points of a ridge grid.

A vector is plausible if the mean of every arm at it lies within the arm's radius of its average
reward. With two numbers this set is usually a thin, curved strip. The points of a ridge grid follow
it: they are laid for a density that falls by `BOUND_NATS` where an arm's radius ends. They are laid
again whenever the number of rewards has grown by 10 %. After every reward the plausible ones
among them are found. A point represents a part of the square, so a set that is smaller than the
parts may look empty; such a set is nearly a contradiction.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model import VectorModel
from globalbandits.model.vector_tables import MEAN_MARGIN, VectorTables
from globalbandits.policies.base import Rules, SelectAmong
from globalbandits.policies.shared.divergence import negative_entropy
from globalbandits.policies.shared.index import Widths, init_widths, rebuild_widths
from globalbandits.policies.shared.noise_variance import set_student_widths
from globalbandits.policies.shared.refits import may_be_last_fit, next_fit
from globalbandits.policies.shared.ridge_grid import Box, build_box, slopes_at
from globalbandits.policies.shared.ridge_posterior import (
    FIT_GROWTH,
    N_INNER,
    N_SLICES,
    Posterior,
    lay_points,
    no_posterior,
    no_single_estimate,
    require_few_numbers,
)
from globalbandits.policies.shared.ridge_posterior import numbers as average_numbers
from globalbandits.policies.shared.worth import worth_within
from globalbandits.statistics import Statistics, assign, no_statistics

# What the density loses where an arm's radius ends. A slice of the grid covers 8 nats, so it covers
# the set unless more than four arms bind in the same place.
BOUND_NATS = 2.0


class Setup(NamedTuple):
    """The model's curves on the unit square, and the radius as in `confidence.Setup`."""

    tables: VectorTables
    box: Box
    factor: float  # the radius of arm k is sqrt(factor * log t) * its width
    variance: float  # of a reward, on the unit scale; 1 if it is learned
    learned: bool  # whether widths are Student's and include the variance


class State(NamedTuple):
    """Means and widths, the points of the grid, and the indices of the next round."""

    fitted: Statistics  # those for which the points were laid
    due: FloatArray  # (1,) the number of rewards at which the points are laid again
    allowed: Widths
    posterior: Posterior  # uniform on the plausible points; no mass if there are none
    highs: FloatArray  # (max_points, n_arms) the most a decision is worth near a point
    indices: FloatArray  # (n_arms,) set by the policy; -inf where an arm does not compete


def build(model: VectorModel, policy: str, alpha: float, variance: float | str) -> Setup:
    """Return the setup; the arguments are those of `confidence.build`."""
    require_few_numbers(model, policy)
    learned = isinstance(variance, str)
    known = 1.0 if isinstance(variance, str) else variance
    return Setup(
        tables=model.tables,
        box=build_box(model.tables, n_slices=N_SLICES, n_inner=N_INNER),
        factor=alpha * known,
        variance=known,
        learned=learned,
    )


def several_numbers(
    score: Callable[[Any, Statistics, Any], None],
    select: Callable[..., int],
    select_among: SelectAmong,
) -> Rules:
    """Return the rules of a policy; ``score(setup, stats, state)`` sets the indices."""

    def init(setup: Setup) -> State:
        n = setup.tables.n_arms
        posterior = no_posterior(setup)
        state = State(
            fitted=no_statistics(n),
            due=np.zeros(1),
            allowed=init_widths(setup),
            posterior=posterior,
            highs=np.zeros(posterior.worths.shape),
            indices=np.zeros(n),
        )
        rebuild(setup, no_statistics(n), state)
        return state

    def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
        if stats.total[0] >= state.due[0]:
            assign(state.fitted, stats)
            follow_set(setup, state)
        find_plausible(setup, stats, state)
        score(setup, stats, state)

    def rebuild(setup: Setup, stats: Statistics, state: State) -> None:
        assign(state.fitted, stats)
        follow_set(setup, state)
        find_plausible(setup, stats, state)
        score(setup, stats, state)

    def resume(setup: Setup, stats: Statistics, state: State) -> bool:
        if not may_be_last_fit(state.fitted, stats, FIT_GROWTH):
            return False
        follow_set(setup, state)
        find_plausible(setup, stats, state)
        score(setup, stats, state)
        return True

    return Rules(
        init,
        select,
        update,
        no_single_estimate,
        rebuild,
        ("fitted",),
        resume,
        numbers,
        select_among=select_among,
    )


def root_of(setup: Any, stats: Statistics) -> float:
    """Return the factor of a width that gives the radius in the next round."""
    return math.sqrt(setup.factor * math.log(stats.total[0] + 1))


def set_widths(setup: Setup, stats: Statistics, allowed: Widths) -> None:
    """Compute means and widths of all arms."""
    rebuild_widths(setup, stats, allowed)
    if setup.learned:
        set_student_widths(stats, setup.factor, allowed.widths)


def follow_set(setup: Setup, state: State) -> None:
    """Lay the points for the statistics of the last fit."""
    fitted, density = state.fitted, state.posterior.density
    state.due[0] = next_fit(fitted.total[0], FIT_GROWTH)
    set_widths(setup, fitted, state.allowed)
    root = root_of(setup, fitted)
    for arm in range(fitted.counts.shape[0]):
        density.weights[arm] = 0.0
        if fitted.counts[arm] > 0:
            mean = state.allowed.means[arm]
            density.own[arm] = mean
            density.entropies[arm] = negative_entropy(mean)
            loss = largest_divergence(mean, root * state.allowed.widths[arm])
            if loss > 0.0:
                density.weights[arm] = BOUND_NATS / loss
    lay_points(setup, state.posterior)
    for point in range(state.posterior.grid.n_points[0]):
        set_highs(setup, state, point)


def set_highs(setup: Setup, state: State, point: int) -> None:
    """Find the most that each arm is worth near a point.

    The means are linear in the part of the square that the point represents. They are taken
    half-way to its corners: at the edge of the set, parts of plausible points are half inside.
    """
    grid = state.posterior.grid
    x, y, sides = grid.points[point, 0], grid.points[point, 1], grid.sides[point]
    slopes_at(setup.box.nodes, x, y, grid.basis, grid.rows)
    means, in_x, in_y = grid.rows[0], grid.rows[1], grid.rows[2]
    for arm in range(means.shape[0]):
        low, high = 0.0, 0.0
        for corner in range(4):
            across, along = 0.25 - 0.5 * (corner % 2), 0.25 - 0.5 * (corner // 2)
            to_x = min(max(x + across * sides[0] + along * sides[2], 0.0), 1.0) - x
            to_y = min(max(y + across * sides[1] + along * sides[3], 0.0), 1.0) - y
            change = to_x * in_x[arm] + to_y * in_y[arm]
            low, high = min(low, change), max(high, change)
        low, high = max(means[arm] + low, 0.0), min(means[arm] + high, 1.0)
        state.highs[point, arm] = worth_within(setup.tables, arm, low, high)


def largest_divergence(mean: float, radius: float) -> float:
    """Return the larger divergence of Bernoulli rewards at the two ends of an interval of means.

    It is 0 if the interval contains all means.
    """
    low, high = mean - radius, mean + radius
    if low <= MEAN_MARGIN and high >= 1.0 - MEAN_MARGIN:
        return 0.0
    largest = 0.0
    entropy = negative_entropy(mean)
    for end in (max(low, MEAN_MARGIN), min(high, 1.0 - MEAN_MARGIN)):
        gap = entropy - mean * math.log(end) - (1.0 - mean) * math.log(1.0 - end)
        largest = max(largest, gap)
    return largest


def find_plausible(setup: Setup, stats: Statistics, state: State) -> None:
    """Give every plausible point the weight of its part of the square, and the others none."""
    allowed, posterior = state.allowed, state.posterior
    set_widths(setup, stats, allowed)
    root = root_of(setup, stats)
    curves, log_areas = posterior.grid.means, posterior.grid.log_areas
    n_arms = stats.counts.shape[0]
    mass = 0.0
    for point in range(posterior.grid.n_points[0]):
        plausible = True
        for arm in range(n_arms):
            if stats.counts[arm] > 0:
                gap = abs(curves[point, arm] - allowed.means[arm])
                if gap > root * allowed.widths[arm]:
                    plausible = False
                    break
        posterior.weights[point] = math.exp(log_areas[point]) if plausible else 0.0
        mass += posterior.weights[point]
    posterior.mass[0] = mass


def is_empty(state: State) -> bool:
    """Whether no point is plausible: the arms contradict each other."""
    return not state.posterior.mass[0] > 0.0


def mark_competitive(setup: Setup, state: State, competes: IntArray) -> None:
    """Set 1 for the arms that are worth most in their context at some plausible point."""
    posterior = state.posterior
    n_contexts = setup.tables.n_contexts
    n_in_context = setup.tables.n_arms // n_contexts
    for arm in range(competes.shape[0]):
        competes[arm] = 0
    for point in range(posterior.grid.n_points[0]):
        if not posterior.weights[point] > 0.0:
            continue
        # Regions of arms may be smaller than the part of the square that a point represents.
        for piece in range(posterior.best.shape[1]):
            competes[posterior.best[point, piece]] = 1
        if n_contexts > 1:
            worths = posterior.worths[point]
            for context in range(n_contexts):
                best = context * n_in_context
                for arm in range(best + 1, (context + 1) * n_in_context):
                    best = arm if worths[arm] > worths[best] else best
                competes[best] = 1


def numbers(
    setup: Setup, stats: Statistics, state: State, means: FloatArray, deviations: FloatArray
) -> None:
    """Write mean and standard deviation of each number over the set; nan if it is empty."""
    if is_empty(state):
        for axis in range(means.shape[0]):
            means[axis] = math.nan
            deviations[axis] = math.nan
    else:
        average_numbers(setup, stats, state, means, deviations)


def explain(setup: Setup, state: State) -> str:
    """Describe the confidence set by the intervals of its points."""
    if is_empty(state):
        return "the confidence set is empty: the rewards contradict the model"
    n = int(state.posterior.grid.n_points[0])
    points = state.posterior.grid.points[:n][state.posterior.weights[:n] > 0.0]
    share = min(1.0, float(state.posterior.mass[0]))
    low, length = setup.tables.low, setup.tables.high - setup.tables.low
    hull = [
        f"[{low[axis] + length[axis] * points[:, axis].min():.6g}, "
        f"{low[axis] + length[axis] * points[:, axis].max():.6g}]"
        for axis in range(setup.tables.n_parameters)
    ]
    return f"the numbers in {' x '.join(hull)}, {100.0 * share:.3g}% of the box"
