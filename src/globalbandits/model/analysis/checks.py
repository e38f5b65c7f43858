"""Check on a grid that every mean is strictly monotone.

`recorder` checks at every evaluation that means are finite and in range.
"""

import numpy as np

from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits.errors import ModelError
from globalbandits.model.analysis.curves import Evaluate
from globalbandits.model.analysis.refinement import bisect

_N_UNIFORM = 512
_N_FINEST = 4096
_POINTS_AT_MOST = 4_000_000  # of all arms together
_N_GRADED = 40  # halvings towards each end of the domain
_CHUNK = 500  # arms looked at together
_SHARP = 1e-6  # of an arm's range: how fast a curve leaves a flat stretch that is real
_WIDEST_FLAT = 0.1  # of the domain: nothing flatter than rounding may be wider
_EPS = float(np.finfo(float).eps)


def n_cells(n_arms: int) -> int:
    """Number of even cells on which each arm is checked; fewer if there are many arms.

    >>> n_cells(12), n_cells(10_000)
    (4096, 512)
    """
    return int(np.clip(_POINTS_AT_MOST // n_arms, _N_UNIFORM, _N_FINEST))


def check_grid(domain: tuple[float, float], n_even: int = _N_UNIFORM) -> FloatArray:
    """The points of the check: even, and ever denser towards both ends."""
    low, high = domain
    graded = (high - low) * 0.5 ** np.arange(9, 9 + _N_GRADED)
    even = np.linspace(low, high, n_even + 1)
    return np.unique(np.concatenate([even, low + graded, high - graded]))


def check_means(
    evaluate: Evaluate, n_arms: int, domain: tuple[float, float], names: list[str], n_even: int
) -> None:
    """Raise ModelError, naming the arm and the place, unless all means are strictly monotone.

    ``evaluate(arms, thetas)`` is elementwise, in the user's units; ``names`` are what messages
    call each arm's mean.
    """
    grid = check_grid(domain, n_even)
    for start in range(0, n_arms, _CHUNK):
        arms = np.arange(start, min(start + _CHUNK, n_arms))
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
    for row in np.flatnonzero(flat.any(axis=1)):
        narrowest = 1.5 * float(np.max(np.diff(grid)))
        stretch = flat_stretch(flat[row], values[row], grid, narrowest)
        if stretch is not None:
            low, high = _exact_stretch(stretch, rounding[row, 0], int(arms[row]), grid, evaluate)
            raise ModelError(
                f"{names[arms[row]]} must be strictly monotone in theta, "
                f"is flat from theta = {low:.6g} to {high:.6g}"
            )


def _turning_point(
    steps: FloatArray, rounding: float, arm: int, grid: FloatArray, evaluate: Evaluate
) -> float:
    """The extremum between the first two steps of opposite sign, by repeated refinement."""
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
    """First and last grid point of the first stretch that is really flat.

    ``flat`` marks the steps of the grid that do not change the value. ``narrowest`` is the
    smallest width of a stretch.

    Near a point where the slope vanishes (1 - theta**7 at 0) a strictly monotone curve is
    flat in floating point. There the curve also leaves the stretch slowly; a curve with a
    real flat piece leaves it at once.
    """
    total = abs(values[-1] - values[0])
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flat, [False]]).astype(int)))
    for start, stop in edges.reshape(-1, 2):
        low, high = grid[start], grid[stop]
        width = high - low
        after = np.interp(high + width, grid, values) - values[stop]
        before = np.interp(low - width, grid, values) - values[start]
        sharp = max(abs(after), abs(before)) > _SHARP * total
        if total == 0.0 or width > _WIDEST_FLAT * (grid[-1] - grid[0]):
            return int(start), int(stop)
        if sharp and width > narrowest:
            return int(start), int(stop)
    return None


def _exact_stretch(
    stretch: tuple[int, int], rounding: float, arm: int, grid: FloatArray, evaluate: Evaluate
) -> tuple[float, float]:
    """The ends of a flat stretch, looked for between the grid points."""
    start, stop = stretch
    level = evaluate(np.array([arm]), grid[start : start + 1])

    def is_level(_: IntArray, at: FloatArray) -> BoolArray:
        return np.asarray(np.abs(evaluate(np.full(at.shape, arm), at) - level) <= rounding)

    outer = grid[[max(start - 1, 0), min(stop + 1, grid.size - 1)]]
    low, high = bisect(is_level, grid[[start, stop]], outer)
    return float(low), float(high)


_MOST_POINTS = 4_000_000  # remembered; with thousands of arms there are more evaluations
_SLACK = 1e-9  # of the reward range: what rounding may exceed it by
_STEP_BACK = 1e-10  # of the reward range: more than rounding explains
_NARROWEST_FLAT = 1e-5  # of the domain


class Recorder:
    """Means that are finite and in range wherever they are evaluated; otherwise an error.

    Args:
        observed: ``observed(arms, thetas)``, elementwise, in the user's units.
        reward_range: The interval means must lie in.
        names: What messages call each arm's mean.
        monotone: Whether to remember the places for `check_monotone`.
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
        self._n_left = _MOST_POINTS if monotone else 0

    def __call__(self, arms: IntArray, thetas: FloatArray) -> FloatArray:
        """The means, which are then known to be usable."""
        values = self._observed(arms, thetas)
        if values.size == 0:
            return values
        low, high = self._range
        slack = _SLACK * (high - low)
        # One comparison for all: nan fails it too.
        if not (values.min() >= low - slack and values.max() <= high + slack):
            self._refuse(arms, thetas, values)
        if self._n_left > 0:
            self._n_left -= values.size
            # Copies: searches reuse the arrays that they pass.
            places = np.empty((2, values.size))
            places[0].reshape(values.shape)[...] = arms
            places[1].reshape(values.shape)[...] = thetas
            self._seen.append((places[0], places[1], values.flatten()))
        return values

    def _refuse(self, arms: IntArray, thetas: FloatArray, values: FloatArray) -> None:
        low, high = self._range
        slack = _SLACK * (high - low)
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
        """Refuse an arm that steps back or stands still between places it was looked at."""
        if not self._seen:
            return
        arm, theta, mean = (np.concatenate([part[k] for part in self._seen]) for k in range(3))
        self._seen.clear()
        order = np.lexsort((theta, arm))
        arm, theta, mean = arm[order], theta[order], mean[order]
        first = np.flatnonzero(np.append(True, arm[1:] != arm[:-1]))
        last = np.append(first[1:], arm.size) - 1
        direction = np.repeat(np.sign(mean[last] - mean[first]), last - first + 1)
        low, high = self._range
        slack = max(_STEP_BACK * (high - low), 256.0 * _EPS * max(abs(low), abs(high)))
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
        for start, stop in zip(first, last, strict=True):
            flat = still[start:stop]
            if flat.any():
                places, means = theta[start : stop + 1], mean[start : stop + 1]
                stretch = flat_stretch(flat, means, places, _NARROWEST_FLAT * length)
                if stretch is not None:
                    raise ModelError(
                        f"{self._names[int(arm[start])]} must be strictly monotone in theta, is "
                        f"flat from theta = {places[stretch[0]]:.6g} to {places[stretch[1]]:.6g}"
                    )


def unit_means(observed: Evaluate, reward_range: tuple[float, float]) -> Evaluate:
    """The means on the unit scale."""
    low, high = reward_range

    def unit_mean(arms: IntArray, thetas: FloatArray) -> FloatArray:
        return np.clip((observed(arms, thetas) - low) / (high - low), 0.0, 1.0)

    return unit_mean
