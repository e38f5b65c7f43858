"""Checks of the means: finite, within the reward range, and strictly monotone.

`check_means` checks monotonicity on a grid. `Recorder` checks every evaluation of the analysis.
"""

import numpy as np

from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits.errors import ModelError
from globalbandits.model.analysis.curves import Evaluate
from globalbandits.model.analysis.refinement import bisect

# Cells of the grid for each arm, and points for all arms together.
_MIN_CELLS = 512
_MAX_CELLS = 4096
_MAX_POINTS = 4_000_000

# Halvings of the grid's step towards each end of the domain.
_N_END_HALVINGS = 40

# Arms evaluated together.
_ARMS_PER_CHUNK = 500

# A curve leaves a truly flat stretch at least this fast, as a share of the arm's range.
_MIN_LEAVING_CHANGE = 1e-6

# A stretch that is wider, as a share of the domain, counts as flat in any case.
_MAX_FLAT_WIDTH = 0.1

# The `Recorder` stops storing after this number of evaluations.
_MAX_RECORDED = 4_000_000
_MIN_RADIX_SORTED = 100_000  # evaluations; fewer are sorted faster by comparison

# Rounding may exceed the reward range by this share of it.
_RANGE_TOLERANCE = 1e-9

# A larger step backwards, as a share of the reward range, is no rounding error.
_STEP_BACK_TOLERANCE = 1e-10

# The narrowest flat stretch that the `Recorder` reports, as a share of the domain.
_MIN_FLAT_WIDTH = 1e-5

_EPS = float(np.finfo(float).eps)


def n_cells(n_arms: int) -> int:
    """Return the number of equal cells on which each arm is checked; fewer for many arms.

    >>> n_cells(12), n_cells(10_000)
    (4096, 512)
    """
    return int(np.clip(_MAX_POINTS // n_arms, _MIN_CELLS, _MAX_CELLS))


def check_grid(domain: tuple[float, float], n_even: int = _MIN_CELLS) -> FloatArray:
    """Return the points of the check: equally spaced, and denser towards both ends."""
    low, high = domain
    graded = (high - low) * 0.5 ** np.arange(9, 9 + _N_END_HALVINGS)
    even = np.linspace(low, high, n_even + 1)
    return np.unique(np.concatenate([even, low + graded, high - graded]))


def check_means(
    evaluate: Evaluate, n_arms: int, domain: tuple[float, float], names: list[str], n_even: int
) -> None:
    """Raise a ModelError with arm and parameter unless all means are strictly monotone.

    ``evaluate(arms, thetas)`` is elementwise, in the user's units. ``names`` are the names of the
    arms' means in messages.
    """
    grid = check_grid(domain, n_even)
    for start in range(0, n_arms, _ARMS_PER_CHUNK):
        arms = np.arange(start, min(start + _ARMS_PER_CHUNK, n_arms))
        values = evaluate(arms[:, None], np.broadcast_to(grid, (arms.size, grid.size)))
        _check_monotone(values, arms, grid, names, evaluate)


def _check_monotone(
    values: FloatArray,
    arms: IntArray,
    grid: FloatArray,
    names: list[str],
    evaluate: Evaluate,
) -> None:
    steps = np.diff(values, axis=1)
    rounding = 8.0 * _EPS * np.abs(values).max(axis=1, keepdims=True)
    rising = (steps > rounding).any(axis=1)
    falling = (steps < -rounding).any(axis=1)
    for row in np.flatnonzero(rising & falling):
        turn = _turning_point(steps[row], rounding[row, 0], int(arms[row]), grid, evaluate)
        raise ModelError(
            f"{names[arms[row]]} must be strictly monotone in theta, turns at theta = {turn:.6g}"
        )
    flat = np.abs(steps) <= rounding
    narrowest = 1.5 * float(np.max(np.diff(grid)))
    still = np.zeros((arms.size, grid.size), np.bool_)
    still[:, :-1] = flat
    # Rows end with False, so no run of flat steps crosses them.
    rows, start, stop = _flat_runs(still.ravel(), grid.size)
    suspects = grid[stop] - grid[start] > min(narrowest, _MAX_FLAT_WIDTH * (grid[-1] - grid[0]))
    constant = values[rows, 0] == values[rows, -1]
    for row in np.unique(rows[suspects | constant]):
        stretch = flat_stretch(flat[row], values[row], grid, narrowest)
        if stretch is not None:
            low, high = _exact_stretch(stretch, rounding[row, 0], int(arms[row]), grid, evaluate)
            raise ModelError(
                f"{names[arms[row]]} must be strictly monotone in theta, "
                f"is flat from theta = {low:.6g} to {high:.6g}"
            )


def _flat_runs(still: BoolArray, length: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return row, first and last place of each run of flat steps in rows of a given length."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], still, [False]]).astype(np.int8)))
    start, stop = edges.reshape(-1, 2).T
    row = start // length
    return row, start - row * length, stop - row * length


def _turning_point(
    steps: FloatArray, rounding: float, arm: int, grid: FloatArray, evaluate: Evaluate
) -> float:
    """Return the extremum between the first two steps of opposite sign, by refinement."""
    moving = np.flatnonzero(np.abs(steps) > rounding)
    signs = np.sign(steps[moving])
    change = int(np.argmax(signs[1:] != signs[:-1]))
    peak = signs[change]
    low, high = grid[moving[change]], grid[moving[change + 1] + 1]
    for _ in range(20):
        points = np.linspace(low, high, 9)
        best = int(np.argmax(peak * evaluate(np.full(9, arm), points)))
        low, high = points[max(best - 1, 0)], points[min(best + 1, 8)]
    return float(0.5 * (low + high))


def flat_stretch(
    flat: BoolArray, values: FloatArray, grid: FloatArray, narrowest: float
) -> tuple[int, int] | None:
    """Return the first and last grid point of the first truly flat stretch, or None.

    ``flat`` marks the steps of the grid that do not change the value. ``narrowest`` is the
    smallest width of a stretch.

    Near a point where the slope vanishes (1 - theta**7 at 0) a strictly monotone curve is also
    flat in floating point, but it leaves the stretch slowly. A curve with a truly flat piece
    leaves it at once.
    """
    total = abs(values[-1] - values[0])
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flat, [False]]).astype(int)))
    for start, stop in edges.reshape(-1, 2):
        low, high = grid[start], grid[stop]
        width = high - low
        after = np.interp(high + width, grid, values) - values[stop]
        before = np.interp(low - width, grid, values) - values[start]
        sharp = max(abs(after), abs(before)) > _MIN_LEAVING_CHANGE * total
        if total == 0.0 or width > _MAX_FLAT_WIDTH * (grid[-1] - grid[0]):
            return int(start), int(stop)
        if sharp and width > narrowest:
            return int(start), int(stop)
    return None


def _exact_stretch(
    stretch: tuple[int, int], rounding: float, arm: int, grid: FloatArray, evaluate: Evaluate
) -> tuple[float, float]:
    """Return the ends of a flat stretch, located between the grid points."""
    start, stop = stretch
    level = evaluate(np.array([arm]), grid[start : start + 1])

    def is_level(_: IntArray, at: FloatArray) -> BoolArray:
        return np.asarray(np.abs(evaluate(np.full(at.shape, arm), at) - level) <= rounding)

    outer = grid[[max(start - 1, 0), min(stop + 1, grid.size - 1)]]
    low, high = bisect(is_level, grid[[start, stop]], outer)
    return float(low), float(high)


class Recorder:
    """Evaluates means and raises an error where they are not finite or out of range.

    Args:
        observed: ``observed(arms, thetas)``, elementwise, in the user's units.
        reward_range: The interval that must contain the means.
        names: The names of the arms' means in messages.
        monotone: Whether to store the evaluations for `check_monotone`.
    """

    def __init__(
        self,
        observed: Evaluate,
        reward_range: tuple[float, float],
        names: list[str],
        monotone: bool = True,
    ) -> None:
        self._observed = observed
        self._range = reward_range
        self._names = names
        self._seen: list[tuple[FloatArray, FloatArray, FloatArray]] = []
        self._n_left = _MAX_RECORDED if monotone else 0

    def __call__(self, arms: IntArray, thetas: FloatArray) -> FloatArray:
        """Return the means after checking them."""
        values = self._observed(arms, thetas)
        if values.size == 0:
            return values
        low, high = self._range
        slack = _RANGE_TOLERANCE * (high - low)
        # The comparison also fails for nan.
        if not (values.min() >= low - slack and values.max() <= high + slack):
            self._refuse(arms, thetas, values)
        if self._n_left > 0:
            self._n_left -= values.size
            # Searches reuse the arrays that they pass, so copies are stored.
            places = np.empty((2, values.size))
            places[0].reshape(values.shape)[...] = arms
            places[1].reshape(values.shape)[...] = thetas
            self._seen.append((places[0], places[1], values.flatten()))
        return values

    def _refuse(self, arms: IntArray, thetas: FloatArray, values: FloatArray) -> None:
        low, high = self._range
        slack = _RANGE_TOLERANCE * (high - low)
        wrong = ~((values >= low - slack) & (values <= high + slack))
        place = tuple(np.argwhere(wrong)[0])
        if (~np.isfinite(values)).any():
            place = tuple(np.argwhere(~np.isfinite(values))[0])
        name = self._names[int(np.broadcast_to(arms, values.shape)[place])]
        theta = float(np.broadcast_to(thetas, values.shape)[place])
        if not np.isfinite(values[place]):
            raise ModelError(f"{name} must be finite, got {values[place]} at theta = {theta:.6g}")
        raise ModelError(
            f"{name} must lie in the reward range [{low:g}, {high:g}], "
            f"got {values[place]:.6g} at theta = {theta:.6g}"
        )

    def check_monotone(self) -> None:
        """Raise an error if the stored evaluations of an arm step back or are flat."""
        if not self._seen:
            return
        arm, theta, mean = (np.concatenate([part[k] for part in self._seen]) for k in range(3))
        self._seen.clear()
        if arm.size < _MIN_RADIX_SORTED:
            order = np.lexsort((theta, arm))
        else:
            order = _sorted_by(np.searchsorted(np.unique(theta), theta), arm.astype(np.int64))
        arm, theta, mean = arm[order], theta[order], mean[order]
        first = np.flatnonzero(np.append(True, arm[1:] != arm[:-1]))
        last = np.append(first[1:], arm.size) - 1
        direction = np.repeat(np.sign(mean[last] - mean[first]), last - first + 1)
        low, high = self._range
        slack = max(_STEP_BACK_TOLERANCE * (high - low), 256.0 * _EPS * max(abs(low), abs(high)))
        step = np.diff(mean)
        same = arm[1:] == arm[:-1]
        back = same & (direction[1:] * step < -slack)
        if back.any():
            at = int(np.argmax(back))
            raise ModelError(
                f"{self._names[int(arm[at])]} must be strictly monotone in theta, "
                f"turns at theta = {theta[at]:.6g}"
            )
        still = same & (step == 0.0) & (np.diff(theta) > 0.0)
        length = theta[last].max() - theta[first].min()
        # Only runs that are wide enough, or arms that do not change at all, can be refused.
        edges = np.flatnonzero(np.diff(np.concatenate([[False], still, [False]]).astype(np.int8)))
        starts, stops = edges.reshape(-1, 2).T
        owner = np.searchsorted(first, starts, side="right") - 1
        spans = theta[last] - theta[first]
        wide = theta[stops] - theta[starts]
        suspects = wide > np.minimum(_MIN_FLAT_WIDTH * length, _MAX_FLAT_WIDTH * spans[owner])
        suspects |= (mean[last] == mean[first])[owner]
        for place in np.unique(owner[suspects]).tolist():
            start, stop = first[place], last[place]
            flat = still[start:stop]
            if flat.any():
                places, means = theta[start : stop + 1], mean[start : stop + 1]
                stretch = flat_stretch(flat, means, places, _MIN_FLAT_WIDTH * length)
                if stretch is not None:
                    raise ModelError(
                        f"{self._names[int(arm[start])]} must be strictly monotone in theta, is "
                        f"flat from theta = {places[stretch[0]]:.6g} to {places[stretch[1]]:.6g}"
                    )


def _sorted_by(*keys: IntArray) -> IntArray:
    """Return the order by keys that are not negative; the last key is the most important.

    The same as `numpy.lexsort`. Numbers of 16 bits are sorted in linear time, so each key is
    sorted in parts of 16 bits.
    """
    order = np.arange(keys[0].size)
    for key in keys:
        for shift in range(0, max(int(key.max()).bit_length(), 1), 16):
            part = (key[order] >> shift).astype(np.uint16)
            order = order[np.argsort(part, kind="stable")]
    return order


def unit_means(observed: Evaluate, reward_range: tuple[float, float]) -> Evaluate:
    """Return the means on the unit scale."""
    low, high = reward_range

    def unit_mean(arms: IntArray, thetas: FloatArray) -> FloatArray:
        return np.clip((observed(arms, thetas) - low) / (high - low), 0.0, 1.0)

    return unit_mean
