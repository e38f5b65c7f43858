"""The smallest and the largest secants of many curves at once, and where they are found.

A secant is an average of the secants within it, so cells of a grid suffice, and the search
closes in on the best cell by repeated subdivision. Rounding counts in favour of the curve: as
``difference + noise`` where the smallest secant is sought (``sign`` 1), as ``difference -
noise`` where the largest is (``sign`` -1).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits.model.orders import LEVELS, Approach

Evaluate = Callable[[IntArray, FloatArray], FloatArray]  # (arms, thetas) -> means, elementwise

FINEST = 22  # grids get finer towards special points, down to 2**-22 of the domain
_PARTS = 16  # cells a bracket is cut into
_ROUNDS = 16
_GOLDEN = 0.6180339887498949  # its multiples, modulo 1, fill the unit interval evenly
_EPS = float(np.finfo(np.float64).eps)
_TINY = float(np.finfo(np.float64).tiny)


class Family(NamedTuple):
    """Some curves on one domain, their values on a graded grid, and their rounding error."""

    evaluate: Evaluate
    arms: IntArray  # (n,)
    low: float
    high: float
    grid: FloatArray  # (m,) finer and finer towards both ends
    values: FloatArray  # (n, m)
    noise: FloatArray  # (n,) rounding error of a difference of two values, wherever they are

    def at(self, rows: IntArray, thetas: FloatArray) -> FloatArray:
        """Values of the curves ``rows`` (n,) at ``thetas`` (n, m)."""
        if len(rows) == 0:  # the user's function need not know about empty arrays
            return thetas
        return self.evaluate(np.broadcast_to(self.arms[rows][:, None], thetas.shape), thetas)

    def error(self, rows: IntArray, change: FloatArray, width: FloatArray) -> FloatArray:
        """Rounding error of the change (n, m) over the width: that of the values and of theta."""
        blur = 2.0 * _EPS * max(abs(self.low), abs(self.high), self.high - self.low)
        return self.noise[rows][:, None] + change * (blur / width)

    def approach(self, spots: "Spots", side: int) -> Approach:
        """Differences towards the spots from the left (-1), the right (1) or both sides (0)."""
        left, right = spots.center - self.low, self.high - spots.center
        reach = np.minimum(left, right) if side == 0 else (left if side < 0 else right)
        steps = reach[:, None] * 0.5 ** np.arange(LEVELS)
        below = np.maximum(spots.center[:, None] - (steps if side <= 0 else 0.0), self.low)
        above = np.minimum(spots.center[:, None] + (steps if side >= 0 else 0.0), self.high)
        below, above = np.broadcast_arrays(below, above)
        distance = above - below
        difference = np.abs(self.at(spots.rows, above) - self.at(spots.rows, below))
        useless = (distance <= 8.0 * spots.resolution[:, None]) | (difference == 0.0)
        distance, difference = np.where(useless, 1.0, (distance, difference))
        error = np.where(useless, np.inf, self.error(spots.rows, difference, distance))
        return Approach(spots.rows, distance, difference, error)


class Spots(NamedTuple):
    """Points where a curve may be flat or infinitely steep."""

    rows: IntArray  # (n,) which curve
    center: FloatArray  # (n,)
    resolution: FloatArray  # (n,) how far off the center may be


class Extremes(NamedTuple):
    """Extreme ratios, and the pairs of points that show them."""

    rows: IntArray  # (n,) which curve
    ratio: FloatArray  # (n,)
    left: FloatArray  # (n,)
    right: FloatArray  # (n,)

    def join(self, other: "Extremes") -> "Extremes":
        """Both together."""
        return Extremes(
            np.concatenate((self.rows, other.rows)),
            np.concatenate((self.ratio, other.ratio)),
            np.concatenate((self.left, other.left)),
            np.concatenate((self.right, other.right)),
        )

    def take(self, places: IntArray | BoolArray) -> "Extremes":
        """Those at the places."""
        return Extremes(
            self.rows[places], self.ratio[places], self.left[places], self.right[places]
        )

    def best(self, sign: int) -> "Extremes":
        """The best ratio of each curve that has any, curves in order."""
        order = np.lexsort((sign * self.ratio, self.rows))
        _, first = np.unique(self.rows[order], return_index=True)
        return self.take(order[first])


def tabulate(
    evaluate: Evaluate, arms: IntArray, domain: tuple[float, float], n_cells: int
) -> Family:
    """The arms' curves on a grid of ``n_cells`` equal cells, the outermost graded further."""
    low, high = domain
    fine = 0.5 ** np.arange(2, FINEST + 1)
    fractions = np.unique(np.concatenate((np.arange(n_cells + 1) / n_cells, fine, 1.0 - fine)))
    grid = np.unique(np.clip(low + (high - low) * fractions, low, high))
    values = evaluate(*np.broadcast_arrays(arms[:, None], grid[None, :]))
    noise = 4.0 * _EPS * np.abs(values).max(axis=1) + _roughness(evaluate, arms, domain)
    return Family(evaluate, arms, low, high, grid, values, noise)


def _roughness(evaluate: Evaluate, arms: IntArray, domain: tuple[float, float]) -> FloatArray:
    """Rounding error of the curves, as three points a few floats apart show it."""
    low, high = domain
    step = 64.0 * np.spacing(max(abs(low), abs(high)))
    fractions = np.arange(1, 33) * _GOLDEN % 1.0
    middles = low + step + (high - low - 2.0 * step) * fractions
    points = middles[:, None] + step * np.array([-1.0, 0.0, 1.0])
    values = evaluate(*np.broadcast_arrays(arms[:, None, None], points[None, :, :]))
    bends = np.abs(values[..., 0] - 2.0 * values[..., 1] + values[..., 2])
    return np.asarray(2.0 * bends.max(axis=1))


def extreme_secants(family: Family, sign: int) -> tuple[Extremes, Spots]:
    """Extreme secants of all curves, at least one a curve, and the inner spots they point to."""
    rows, grid, width = np.arange(len(family.arms)), family.grid, np.diff(family.grid)
    change = np.abs(np.diff(family.values, axis=1))
    secants = (change + sign * family.error(rows, change, width)) / width
    cells = np.argmin(sign * secants, axis=1)
    coarse = Extremes(rows, secants[rows, cells], grid[cells], grid[cells + 1])
    more_rows, more_cells = _outstanding(secants, sign)
    both = np.concatenate((rows * len(grid) + cells, more_rows * len(grid) + more_cells))
    rows, cells = np.divmod(np.unique(both), len(grid))
    # The ends of the domain are spots of their own, and a straight line has none: a search
    # there would only meet rounding.
    margin = (family.high - family.low) * 2.0**-16
    inner = (grid[cells + 1] > family.low + margin) & (grid[cells] < family.high - margin)
    curved = secants.max(axis=1) > (1.0 + 1e-6) * secants.min(axis=1)
    searched = inner & curved[rows]
    rows, cells = rows[searched], cells[searched]
    left, right = grid[np.maximum(cells - 1, 0)], grid[np.minimum(cells + 2, len(grid) - 1)]
    fine, spots = _close_in(family, rows, left, right, sign)
    return coarse.join(fine), spots


def _outstanding(secants: FloatArray, sign: int) -> tuple[IntArray, IntArray]:
    """Rows and cells whose secant is clearly beyond all of its neighbours'."""
    score = secants if sign > 0 else 1.0 / np.maximum(secants, _TINY)
    inner = score[:, 2:-2]
    near = np.minimum(score[:, 1:-3], score[:, 3:-1])
    far = np.minimum(score[:, :-4], score[:, 4:])
    rows, cells = np.nonzero((inner <= near) & (inner < 0.8 * far))
    return rows, cells + 2


def _close_in(
    family: Family, rows: IntArray, left: FloatArray, right: FloatArray, sign: int
) -> tuple[Extremes, Spots]:
    """Cut the brackets into cells, keep the best cell and its neighbours, and again."""
    best = Extremes(rows, np.full(len(rows), sign * np.inf), left.copy(), right.copy())
    center, resolution = (left + right) / 2, right - left
    left, right = left.copy(), right.copy()
    active = np.arange(len(rows))
    for _ in range(_ROUNDS):
        noise = family.noise[rows[active]]
        points = np.linspace(left[active], right[active], _PARTS + 1, axis=1)
        width = np.maximum(np.diff(points, axis=1), _TINY)
        change = np.abs(np.diff(family.at(rows[active], points), axis=1))
        secants = (change + sign * family.error(rows[active], change, width)) / width
        every, cell = np.arange(len(active)), np.argmin(sign * secants, axis=1)
        better = sign * secants[every, cell] < sign * best.ratio[active]
        found = active[better]
        best.ratio[found] = secants[every, cell][better]
        best.left[found] = points[every, cell][better]
        best.right[found] = points[every, cell + 1][better]
        center[active] = (points[every, cell] + points[every, cell + 1]) / 2
        resolution[active] = width[every, cell]
        left[active] = points[every, np.maximum(cell - 1, 0)]
        right[active] = points[every, np.minimum(cell + 2, _PARTS)]
        scale = np.maximum(np.abs(left[active]), np.abs(right[active]))
        go_on = (change[every, cell] > 1e4 * noise) & (width[every, cell] > 64.0 * _EPS * scale)
        active = active[go_on]
        if len(active) == 0:
            break
    spots = Spots(rows, center, resolution)
    if sign > 0:
        spots = _centre(family, spots)
    distance = np.minimum(spots.center - family.low, family.high - spots.center)
    apart = distance > 8.0 * spots.resolution
    return best, Spots(spots.rows[apart], spots.center[apart], spots.resolution[apart])


def _centre(family: Family, spots: Spots) -> Spots:
    """Move flat spots to where a window slid over the curve sees the least change.

    Where the curve is flat, the change over one small cell is lost in rounding. The window is
    as wide as it takes to see a change.
    """
    rows, center, resolution = spots
    every = np.arange(len(rows))
    reach = np.minimum(center - family.low, family.high - center)
    halves = np.minimum(resolution[:, None] * 2.0 ** np.arange(40), reach[:, None] / 3.0)
    change = _change_around(family, rows, center[:, None], halves)
    seen = change > 1e6 * family.noise[rows][:, None]
    half = halves[every, np.where(seen.any(axis=1), np.argmax(seen, axis=1), -1)]
    offsets = np.linspace(-1.5, 1.5, 31)
    middles = center[:, None] + half[:, None] * offsets
    change = _change_around(family, rows, middles, half[:, None])
    place = np.clip(np.argmin(change, axis=1), 1, len(offsets) - 2)
    before, here, after = (change[every, place + k] for k in (-1, 0, 1))
    bend = np.maximum(before - 2.0 * here + after, _TINY)
    shift = np.clip((before - after) / (2.0 * bend), -1.0, 1.0) * (offsets[1] - offsets[0])
    center = middles[every, place] + shift * half
    # Where the two sides differ, the window's middle need not be the spot.
    sides = family.at(rows, center[:, None] + half[:, None] * np.array([-1.0, 0.0, 1.0]))
    left, right = np.abs(np.diff(sides, axis=1)).T
    alike = np.minimum(left, right) > 0.8 * np.maximum(left, right)
    return Spots(rows, center, half * np.where(alike, 0.02, 1.0))


def _change_around(
    family: Family, rows: IntArray, middles: FloatArray, halves: FloatArray
) -> FloatArray:
    """How much the curves change from ``middles - halves`` to ``middles + halves``."""
    above = np.minimum(middles + halves, family.high)
    below = np.maximum(middles - halves, family.low)
    return np.abs(family.at(rows, above) - family.at(rows, below))
