"""The lower bound of Graves and Lai (1997) on the regret of every consistent policy.

With k* best at theta, gaps D_k and the divergence kl of Bernoulli rewards (Combes, Magureanu and
Proutiere 2017),

    c(theta) = min sum_k c_k D_k  subject to  sum_k c_k kl(mu_k(theta), mu_k(theta')) >= 1
               for all theta' with mu_k*(theta') = mu_k*(theta) and another best arm.

Regret grows at least as c(theta) log T. The level set of mu_k* is found along lines parallel to the
axes. The binding constraints often lie where arm k* stops being best, so these edges of the level
set are searched too.
"""

import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import BoolArray, FloatArray
from globalbandits.model.vector.tabulation import UnitModel

# Lines parallel to each axis, by the number of parameters, and cells along a line.
_LINES = {1: 1, 2: 128, 3: 12}
_EDGE_LINES = {1: 1, 2: 32, 3: 8}
_N_CELLS = 64

# Halvings of a cell with a root, and of the distance between two lines with an edge.
_ROOT_HALVINGS = 40
_EDGE_HALVINGS = 22

# Arms tie if their worths differ by less.
_TIE_TOLERANCE = 1e-12

# Means are kept this far from 0 and 1 in divergences.
_MEAN_MARGIN = 1e-9


class LowerBound(NamedTuple):
    """The constant c of the bound c log T, and what attains it."""

    constant: float  # in units of worth per e-fold of time
    rates: FloatArray  # (n_arms,) plays per e-fold of time; 0 for the best arm
    gap: float  # the smallest gap of an arm that is not best
    # From this time on, c log T is below gap * T, the regret of always playing the second-best
    # arm. Before it the bound means little.
    horizon: float


def lower_bound(model: UnitModel, point: FloatArray) -> LowerBound:
    """Return the bound at a point of the unit box; 0 means that bounded regret is possible."""
    from scipy.optimize import linprog

    mean = np.clip(model.means(point[None]), _MEAN_MARGIN, 1.0 - _MEAN_MARGIN)
    worth = model.worth(mean)[0]
    mean = mean[0]
    best = int(worth.argmax())
    gaps = worth.max() - worth
    positive = gaps[gaps > _TIE_TOLERANCE]
    gap = float(positive.min()) if positive.size else math.inf
    nothing = LowerBound(0.0, np.zeros(model.n_arms), gap, 1.0)
    level = _LevelSet(model, best, float(mean[best]))
    points = np.concatenate([level.points(), level.edges()])
    points = points[level.is_left(points)] if len(points) else points
    if len(points) == 0:
        return nothing
    other = np.clip(model.means(points), _MEAN_MARGIN, 1.0 - _MEAN_MARGIN)
    divergence = mean * np.log(mean / other) + (1 - mean) * np.log((1 - mean) / (1 - other))
    # The best arm tells these parameters apart from the truth only by rounding errors.
    divergence[:, best] = 0.0
    size = divergence.max(axis=1)
    rows = divergence[size > _TIE_TOLERANCE] / size[size > _TIE_TOLERANCE, None]
    if len(rows) == 0:
        return nothing._replace(constant=math.inf)
    cost = np.maximum(gaps, _TIE_TOLERANCE)
    found = linprog(cost, A_ub=-rows, b_ub=-1.0 / size[size > _TIE_TOLERANCE], method="highs")
    constant = float(found.x @ gaps)
    return LowerBound(constant, np.asarray(found.x), gap, _horizon(constant, gap))


def _horizon(constant: float, gap: float) -> float:
    """Return the last time at which constant * log T equals gap * T; 1 if it is always below."""
    if not math.isfinite(gap) or constant <= math.e * gap:
        return 1.0
    ratio = constant / gap
    time = 2.0 * ratio * math.log(2.0 * ratio)
    for _ in range(60):
        time = ratio * math.log(time)
    return time


class _LevelSet:
    """The points of the unit box at which the mean of one arm has a given value."""

    def __init__(self, model: UnitModel, arm: int, value: float) -> None:
        self._model, self._arm, self._value = model, arm, value
        self._d = model.n_parameters

    def _difference(self, points: FloatArray) -> FloatArray:
        return np.asarray(self._model.means(points)[:, self._arm] - self._value)

    def is_left(self, points: FloatArray) -> BoolArray:
        """Whether another arm is better than this one."""
        worth = self._model.worth(self._model.means(points))
        return np.asarray(worth.max(axis=1) > worth[:, self._arm] + _TIE_TOLERANCE)

    def points(self) -> FloatArray:
        """Return all roots along the lines parallel to each axis."""
        found = [np.empty((0, self._d))]
        for axis in range(self._d):
            lines = _line_grid(_LINES[self._d], self._d - 1)
            points, difference = self._along(lines, axis)
            row, cell = np.nonzero(difference[:, :-1] * difference[:, 1:] <= 0.0)
            found.append(self._refine(points[row, cell], axis, difference[row, cell]))
        return np.concatenate(found)

    def edges(self) -> FloatArray:
        """Return points of the level set at which this arm has just stopped being best."""
        found = [np.empty((0, self._d))]
        n = _EDGE_LINES[self._d]
        for axis in range(self._d):
            lines = _line_grid(n, self._d - 1)
            points = self._nearest_roots(lines, axis, np.full(len(lines), 0.5))
            exists = np.asarray(~np.isnan(points).any(axis=1))
            left = self.is_left(np.nan_to_num(points, nan=0.5))
            index = np.arange(len(lines)).reshape((n,) * (self._d - 1))
            for direction in range(self._d - 1):
                first = np.take(index, range(n - 1), axis=direction).ravel()
                second = np.take(index, range(1, n), axis=direction).ravel()
                changes = (left[first] != left[second]) & exists[first] & exists[second]
                first, second = first[changes], second[changes]
                if first.size:
                    outside = np.where(left[first], first, second)
                    inside = np.where(left[first], second, first)
                    found.append(self._bisect(lines[inside], lines[outside], points[outside], axis))
        return np.concatenate(found)

    def _bisect(
        self, inside: FloatArray, outside: FloatArray, points: FloatArray, axis: int
    ) -> FloatArray:
        """Return the points nearest to ``inside`` at which another arm is better."""
        for _ in range(_EDGE_HALVINGS):
            middle = 0.5 * (inside + outside)
            roots = self._nearest_roots(middle, axis, points[:, axis])
            exists = ~np.isnan(roots).any(axis=1)
            left = self.is_left(np.nan_to_num(roots, nan=0.5))
            good = np.asarray(exists & left)[:, None]
            outside, inside = np.where(good, middle, outside), np.where(good, inside, middle)
            points = np.where(good, roots, points)
        return points

    def _along(self, lines: FloatArray, axis: int) -> tuple[FloatArray, FloatArray]:
        """Return the grid points of lines and the differences from the value there."""
        grid = np.linspace(0.0, 1.0, _N_CELLS + 1)
        points = np.zeros((len(lines), _N_CELLS + 1, self._d))
        points[..., [i for i in range(self._d) if i != axis]] = lines[:, None]
        points[..., axis] = grid
        difference = self._difference(points.reshape(-1, self._d))
        return points, difference.reshape(len(lines), _N_CELLS + 1)

    def _nearest_roots(self, lines: FloatArray, axis: int, near: FloatArray) -> FloatArray:
        """Return the root on each line that is nearest to ``near``; nan where there is none."""
        points, difference = self._along(lines, axis)
        crosses = difference[:, :-1] * difference[:, 1:] <= 0.0
        middles = (np.arange(_N_CELLS) + 0.5) / _N_CELLS
        distance = np.where(crosses, np.abs(middles - near[:, None]), np.inf)
        every, cell = np.arange(len(lines)), distance.argmin(axis=1)
        found = self._refine(points[every, cell], axis, difference[every, cell])
        found[~crosses.any(axis=1)] = np.nan
        return found

    def _refine(self, points: FloatArray, axis: int, at_low: FloatArray) -> FloatArray:
        """Return the roots in the cells that start at ``points``, by bisection."""
        points = points.copy()
        low, high = points[:, axis].copy(), points[:, axis] + 1.0 / _N_CELLS
        for _ in range(_ROOT_HALVINGS):
            middle = 0.5 * (low + high)
            points[:, axis] = middle
            here = self._difference(points)
            before = at_low * here <= 0.0
            high = np.where(before, middle, high)
            low, at_low = np.where(before, low, middle), np.where(before, at_low, here)
        return points


def _line_grid(n: int, d: int) -> FloatArray:
    """Return the middles of n equal cells in d dimensions; one empty row if d is 0."""
    if d == 0:
        return np.empty((1, 0))
    axes = np.meshgrid(*[(np.arange(n) + 0.5) / n] * d, indexing="ij")
    return np.stack(axes, axis=-1).reshape(-1, d)
