"""Certified branch-and-bound searches over theta: the infimum of an e-process and its level sets.

A search divides the domain into cells, computes a lower bound of the process on each, drops the
cells that cannot matter and divides the others again. A plain grid would overstate the infimum
and cause false alarms. The results here hold for every theta.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.evidence.e_processes import Process, UnitMeans
from globalbandits.model import RewardModel

_N_PARTS = 4  # parts of a divided cell
_MIN_CELL_WIDTH = 2.0**-36  # as a share of the domain
_MAX_OPEN_CELLS = 4096  # open cells; beyond this a search stops early with a valid, coarser result
_HULL_TOLERANCE = 1.0 / 256.0  # outward rounding of a hull's ends, as a share of its width


class Infima(NamedTuple):
    """Infima of a process over several sets of theta, each field of shape (n_sets,)."""

    certified: FloatArray  # lower bounds of the infima that are above `least`
    values: FloatArray  # the smallest values found
    thetas: FloatArray  # where they were found


class Infimum(NamedTuple):
    """Infimum of a process over the domain."""

    certified: float  # a lower bound if the infimum is above `least`
    value: float  # the smallest value found
    theta: float  # where it was found


class Hull(NamedTuple):
    """An interval that contains every theta with a value below a threshold."""

    low: float
    high: float
    slack: float  # largest distance of an end from the set


def find_infima(
    process: Process,
    lows: FloatArray,
    highs: FloatArray,
    owners: IntArray,
    *,
    tolerance: float = 0.01,
    least: float = -math.inf,
    enough: float = math.inf,
) -> Infima:
    """Infima of a process over sets of theta, each given as a union of cells.

    Args:
        process: a log e-process.
        lows: left ends of the initial cells.
        highs: right ends of the initial cells.
        owners: index (0, 1, ...) of the set that a cell belongs to.
        tolerance: largest distance from a lower bound to the value found. For values above 10
            it is relative: a tenth of ``tolerance`` times the value.
        least: the search of a set ends with the first value at or below this.
        enough: a lower bound at or above this is not improved.
    """
    n_sets = int(owners.max()) + 1
    certified, best = np.full(n_sets, math.inf), np.full(n_sets, math.inf)
    thetas = np.full(n_sets, math.nan)
    smallest = _MIN_CELL_WIDTH * float(highs.max() - lows.min())
    points, at = np.unique([lows, highs], return_inverse=True)
    ends = process.at(points)[at.reshape(2, -1)]
    _improve(best, thetas, owners, lows, ends[0])
    _improve(best, thetas, owners, highs, ends[1])
    while True:
        settled = (best <= least)[owners]
        np.minimum.at(certified, owners[settled], best[owners[settled]])
        lows, highs, owners = lows[~settled], highs[~settled], owners[~settled]
        if lows.size == 0:
            return Infima(certified, best, thetas)
        values, bounds = process.survey(lows, highs, least)
        _improve(best, thetas, owners, 0.5 * (lows + highs), values)
        wanted = np.minimum(best - tolerance * np.maximum(1.0, 0.1 * best), enough)
        matter = bounds < wanted[owners]
        finest = float((highs - lows)[matter].min(initial=math.inf))
        if finest <= smallest or np.count_nonzero(matter) > _MAX_OPEN_CELLS:
            matter[:] = False
        np.minimum.at(certified, owners[~matter], bounds[~matter])
        lows, highs = _cut(lows[matter], highs[matter])
        owners = np.tile(owners[matter], _N_PARTS)


def find_infimum(
    process: Process,
    edges: FloatArray,
    *,
    tolerance: float = 0.01,
    least: float = -math.inf,
    enough: float = math.inf,
) -> Infimum:
    """Infimum of a process over adjacent cells; see `find_infima`."""
    found = find_infima(
        process,
        edges[:-1],
        edges[1:],
        np.zeros(edges.size - 1, np.int64),
        tolerance=tolerance,
        least=least,
        enough=enough,
    )
    return Infimum(*(float(part[0]) for part in found))


def find_hull(
    process: Process,
    threshold: float,
    edges: FloatArray,
    first_survey: tuple[FloatArray, FloatArray] | None = None,
) -> Hull | None:
    """The hull of {theta: value < threshold}, rounded outward; None if the set is empty.

    Args:
        process: a log e-process.
        threshold: upper bound of the values in the set.
        edges: edges of the initial cells, which cover the domain.
        first_survey: the survey of these cells if it was already computed, with a floor of at
            most ``threshold``.
    """
    ends = edges[[0, -1]]
    inside = ends[process.at(ends) < threshold]
    first, last = inside.min(initial=math.inf), inside.max(initial=-math.inf)
    smallest = _MIN_CELL_WIDTH * float(ends[1] - ends[0])
    lows = highs = np.empty(0)
    new_lows, new_highs = edges[:-1], edges[1:]
    values, bounds = first_survey or process.survey(new_lows, new_highs, threshold)
    while True:
        inside = 0.5 * (new_lows + new_highs)[values < threshold]
        first, last = inside.min(initial=first), inside.max(initial=last)
        alive = bounds < threshold
        lows = np.concatenate([lows, new_lows[alive]])
        highs = np.concatenate([highs, new_highs[alive]])
        # Cells between two points that are known to be inside cannot change the hull.
        matter = (lows < first) | (highs > last)
        lows, highs = lows[matter], highs[matter]
        low, high = lows.min(initial=first), highs.max(initial=last)
        if low > high:
            return None
        finest = max(_HULL_TOLERANCE * (high - low), smallest)
        cut = (lows < first) & (first - low > finest) | (highs > last) & (high - last > finest)
        cut &= highs - lows > smallest
        if not cut.any() or lows.size > _MAX_OPEN_CELLS:
            slack = max(first - low, high - last)
            return Hull(float(low), float(high), float(min(slack, high - low)))
        new_lows, new_highs = _cut(lows[cut], highs[cut])
        lows, highs = lows[~cut], highs[~cut]
        values, bounds = process.survey(new_lows, new_highs, threshold)


def _improve(
    best: FloatArray, thetas: FloatArray, owners: IntArray, points: FloatArray, values: FloatArray
) -> None:
    """Update the smallest value of each set and its theta."""
    for index in np.flatnonzero(values < best[owners]):
        if values[index] < best[owners[index]]:
            best[owners[index]], thetas[owners[index]] = values[index], points[index]


def _cut(lows: FloatArray, highs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Divide cells into equal parts with identical shared edges; all first parts come first."""
    edges = np.linspace(lows, highs, _N_PARTS + 1)
    return edges[:-1].ravel(), edges[1:].ravel()


# The Bernoulli likelihood with the model's means.
#
# It chooses the initial cells of a search, dates a change of theta, and helps to distinguish a
# change from a wrong model. Rewards need not be Bernoulli: the likelihood is a heuristic, and no
# statement's validity depends on it.

_N_THETAS = 65
_N_ZOOMS = 4
# Edges of the initial cells, as multiples of the likely width of the interval.
_STEPS = np.array([0.25, 0.5, 0.75, 1.0, 1.3, 1.7, 2.2, 3.0, 4.5, 7.0, 12.0, 25.0, 60.0, 200.0])


def bernoulli_likelihood(log: Callable[[Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """The Bernoulli log likelihood with ``math.log`` for numbers or ``np.log`` for arrays.

    NumPy's logarithm of an array may differ in the last bit from that of the C library, and
    compiled and interpreted loops must give identical results.
    """

    def likelihood(failures: Any, successes: Any, mean: Any) -> Any:
        return successes * log(mean) + failures * log(1.0 - mean)

    return likelihood


log_bernoulli = bernoulli_likelihood(math.log)  # Numba compiles this
log_bernoulli_array = bernoulli_likelihood(np.log)


def failures_and_successes(counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Numbers of failures and successes in soft counts: shape (..., n_bins + 1) -> (...) each.

    >>> [part.tolist() for part in failures_and_successes(np.array([[1.0, 4.0, 2.0]]))]
    [[3.0], [4.0]]
    """
    knots = np.linspace(0.0, 1.0, counts.shape[-1])
    return counts @ (1.0 - knots), counts @ knots


def bernoulli_fit(means: FloatArray, counts: FloatArray) -> FloatArray:
    """Log likelihood of soft counts at several thetas, shape (n_thetas,).

    Args:
        means: shape (n_thetas, n_arms), on the unit scale.
        counts: shape (n_arms, n_bins + 1).
    """
    return np.asarray(log_bernoulli_array(*failures_and_successes(counts), means).sum(axis=1))


def likely_edges(model: RewardModel, counts: FloatArray) -> FloatArray:
    """Edges of cells that cover the domain and are fine near the most likely theta.

    >>> from globalbandits.model import RewardModel
    >>> model = RewardModel(lambda theta, p: p * theta, [0.5, 1.0])
    >>> widths = np.diff(likely_edges(model, np.array([[75.0, 25.0], [50.0, 50.0]])))
    >>> bool(widths.max() > 10 * widths.min())
    True
    """
    low, high = model.domain
    arms = np.flatnonzero(counts.any(axis=1))
    if arms.size == 0:
        return np.linspace(low, high, 9)
    unit_means = UnitMeans(model, arms)
    left, right = low, high
    for _ in range(_N_ZOOMS):
        thetas = np.linspace(left, right, _N_THETAS)
        means = unit_means(thetas)
        fit = bernoulli_fit(means, counts[arms])
        best = int(fit.argmax())
        if fit.max() - fit.min() < 20.0:
            break
        left, right = thetas[max(best - 2, 0)], thetas[min(best + 2, _N_THETAS - 1)]
    slopes = np.gradient(means, thetas, axis=0)[best]
    spread = means[best] * (1.0 - means[best])
    information = float((counts[arms].sum(axis=1) * slopes**2 / spread).sum())
    scale = min(2.5 / np.sqrt(max(information, 1e-300)), 0.25 * (high - low))
    ladder = np.concatenate([-scale * _STEPS[::-1], scale * _STEPS])
    inner = thetas[best] + ladder
    gap = 0.1 * scale
    inner = inner[(inner > low + gap) & (inner < high - gap)]
    return np.concatenate([[low], inner, [high]])
