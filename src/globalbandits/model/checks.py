"""Check on a grid that every mean is strictly monotone.

`recorder` checks at every evaluation that means are finite and in range.
"""

import numpy as np

from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits.errors import ModelError
from globalbandits.model.curves import Evaluate
from globalbandits.model.refinement import bisect

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
