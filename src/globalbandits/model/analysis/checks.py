"""Checks of the means: finite, within the reward range, and strictly monotone.

`check_means` checks monotonicity on a grid. `Recorder` checks every evaluation of the analysis.
"""

from collections.abc import Iterator

import numpy as np

from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits.errors import ModelError
from globalbandits.model.analysis.curves import Evaluate, arm_chunks
from globalbandits.model.analysis.refinement import bisect

# Cells of the grid for each arm, and points for all arms together.
_MIN_CELLS = 512
_MAX_CELLS = 4096
_MAX_POINTS = 4_000_000

# Halvings of the grid's step towards each end of the domain.
_N_END_HALVINGS = 40

# A curve leaves a truly flat stretch at least this fast, as a share of the arm's range.
_MIN_LEAVING_CHANGE = 1e-6

# A stretch that is wider, as a share of the domain, counts as flat in any case.
_MAX_FLAT_WIDTH = 0.1

# The `Recorder` stops storing after this number of evaluations.
_MAX_RECORDED = 4_000_000

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
    evaluate: Evaluate, names: list[str], grid: FloatArray, on_grid: FloatArray
) -> BoolArray:
    """Raise a ModelError with arm and parameter unless all means are strictly monotone.

    ``evaluate(arms, thetas)`` is elementwise, in the user's units; ``on_grid`` has its values on
    the grid, one row per arm. ``names`` are the names of the arms' means in messages. Returns
    whether each arm has a step away from the ends that is flat up to rounding.
    """
    parts = [
        _check_monotone(on_grid[arms], arms, grid, names, evaluate)
        for arms in arm_chunks(len(names), grid.size)
    ]
    return np.concatenate(parts)


def _check_monotone(
    values: FloatArray,
    arms: IntArray,
    grid: FloatArray,
    names: list[str],
    evaluate: Evaluate,
) -> BoolArray:
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
    return np.asarray(flat[:, _may_be_flat(grid[:-1], grid[1:], grid)].any(axis=1))


def _may_be_flat(left: FloatArray, right: FloatArray, grid: FloatArray) -> BoolArray:
    """Whether steps between evaluations may belong to a flat stretch that is refused.

    Shorter steps, and steps close to the ends of the grid, are often flat in floating point. Every
    stretch of at least `_MIN_FLAT_WIDTH` contains a step of this length away from the ends.
    """
    length = grid[-1] - grid[0]
    margin = 0.5 * _MIN_FLAT_WIDTH * length
    wide = right - left > _MIN_FLAT_WIDTH / (2 * _MAX_RECORDED) * length
    return np.asarray(wide & (right > grid[0] + margin) & (left < grid[-1] - margin))


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
        # Arrays (3, n) of arms, parameters and means.
        self._seen: list[FloatArray] = []
        self._n_left = _MAX_RECORDED if monotone else 0
        self._grid: tuple[FloatArray, FloatArray, BoolArray] | None = None

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
            stored = np.empty((3, *values.shape))
            stored[0], stored[1], stored[2] = arms, thetas, values
            self._seen.append(stored.reshape(3, -1))
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

    def add_grid(self, grid: FloatArray, on_grid: FloatArray, has_flat: BoolArray) -> None:
        """Let `check_monotone` compare the other evaluations with those of `check_means`.

        The evaluations on the grid count as stored.
        """
        self._grid = grid, on_grid, has_flat
        self._n_left -= on_grid.size

    def check_monotone(self) -> None:
        """Raise an error if the stored evaluations of an arm step back or are flat."""
        if not self._seen:
            return
        low, high = self._range
        slack = max(_STEP_BACK_TOLERANCE * (high - low), 256.0 * _EPS * max(abs(low), abs(high)))
        for samples in self._chunks():
            if self._grid is not None:
                samples = _doubtful(*samples, slack, *self._grid)
            if samples[0].size:
                _refuse_stored(*samples, slack, self._names)

    def _chunks(self) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
        """Yield arms, parameters and means of the stored evaluations, sorted, a few arms at a time.

        The evaluations are forgotten.
        """
        seen, self._seen = self._seen, []
        n_arms = len(self._names)
        n_stored = sum(part.shape[1] for part in seen)
        for arms in arm_chunks(n_arms, max(n_stored // n_arms, 1)):
            if arms.size < n_arms:
                if arms[0] == 0:
                    seen = [_sorted_by_arm(part) for part in seen]
                ends = [np.searchsorted(part[0], [arms[0], arms[-1] + 1]) for part in seen]
                parts = [part[:, slice(*end)] for part, end in zip(seen, ends, strict=True)]
            else:
                parts = seen
            arm, theta, mean = np.concatenate(parts, axis=1)
            # One key for arm and parameter, because a sort by two keys takes six times as long.
            distinct = np.unique(theta)
            key = arm.astype(np.int64) * distinct.size + np.searchsorted(distinct, theta)
            order = np.argsort(key, kind="stable")
            if order.size:
                yield key[order] // distinct.size, theta[order], mean[order]


def _sorted_by_arm(stored: FloatArray) -> FloatArray:
    arm = stored[0]
    return stored if (arm[1:] >= arm[:-1]).all() else stored[:, np.argsort(arm, kind="stable")]


def _refuse_stored(
    arm: IntArray,
    theta: FloatArray,
    mean: FloatArray,
    slack: float,
    names: list[str],
) -> None:
    """Raise an error if evaluations, sorted by arm and parameter, step back or are flat."""
    first = np.flatnonzero(np.append(True, arm[1:] != arm[:-1]))
    last = np.append(first[1:], arm.size) - 1
    length = theta[last].max() - theta[first].min()
    direction = np.repeat(np.sign(mean[last] - mean[first]), last - first + 1)
    step = np.diff(mean)
    same = arm[1:] == arm[:-1]
    back = same & (direction[1:] * step < -slack)
    if back.any():
        at = int(np.argmax(back))
        raise ModelError(
            f"{names[int(arm[at])]} must be strictly monotone in theta, "
            f"turns at theta = {theta[at]:.6g}"
        )
    still = same & (step == 0.0) & (np.diff(theta) > 0.0)
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
                    f"{names[int(arm[start])]} must be strictly monotone in theta, is "
                    f"flat from theta = {places[stretch[0]]:.6g} to {places[stretch[1]]:.6g}"
                )


def _doubtful(
    arm: IntArray,
    theta: FloatArray,
    mean: FloatArray,
    slack: float,
    grid: FloatArray,
    on_grid: FloatArray,
    has_flat: BoolArray,
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return all evaluations, with those on the grid, of the arms that may step back or be flat.

    The means of the other arms rise (or fall) on the grid and from each evaluation to the next,
    and each evaluation lies between its neighbours on the grid.
    """
    direction = np.sign(on_grid[:, -1] - on_grid[:, 0])[arm]

    def is_doubtful(rise: FloatArray, left: FloatArray, right: FloatArray) -> BoolArray:
        return np.asarray((rise < -slack) | ((rise <= 0.0) & _may_be_flat(left, right, grid)))

    above = np.searchsorted(grid, theta)
    below = above - (theta < grid[above])
    doubtful = is_doubtful(direction * (mean - on_grid[arm, below]), grid[below], theta)
    doubtful |= is_doubtful(direction * (on_grid[arm, above] - mean), theta, grid[above])
    follows = arm[1:] == arm[:-1]
    doubtful[1:] |= follows & is_doubtful(direction[1:] * np.diff(mean), theta[:-1], theta[1:])
    wanted = has_flat.copy()
    wanted[arm[doubtful]] = True
    chosen = wanted[arm]
    arms = np.unique(arm[chosen])
    # The others are inserted into the rows of the grid, which keeps everything sorted.
    place = np.searchsorted(arms, arm[chosen]) * grid.size + above[chosen]
    return (
        np.insert(np.repeat(arms, grid.size), place, arm[chosen]),
        np.insert(np.tile(grid, arms.size), place, theta[chosen]),
        np.insert(on_grid[arms].ravel(), place, mean[chosen]),
    )


def unit_means(observed: Evaluate, reward_range: tuple[float, float]) -> Evaluate:
    """Return the means on the unit scale."""

    def unit_mean(arms: IntArray, thetas: FloatArray) -> FloatArray:
        return to_unit(observed(arms, thetas), reward_range)

    return unit_mean


def to_unit(means: FloatArray, reward_range: tuple[float, float]) -> FloatArray:
    """Return means in the user's units on the unit scale."""
    low, high = reward_range
    # One array for all three steps: large arrays cost more to allocate than to compute.
    unit = means - low
    if high - low != 1.0:
        unit /= high - low
    return np.clip(unit, 0.0, 1.0, out=unit)
