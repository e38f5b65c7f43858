"""Curves through a table of means that rise and fall only as the numbers do.

Piecewise cubic Hermite interpolation (PCHIP): slopes by the weighted harmonic mean of
F. N. Fritsch & J. Butland (1984), "A method for constructing local monotone piecewise cubic
interpolants", SIAM J. Sci. Stat. Comput. 5(2). Between points that rise the curve rises, so no
grid is needed to know that it is monotone.
"""

from typing import Any

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import require
from globalbandits.errors import ModelError
from globalbandits.model.intervals import as_numbers

MOST_KNOTS = 2_000


class TableCurves:
    """All arms' means: the curves through ``(knots, means)``, a column of means per arm.

    >>> curves = TableCurves(np.array([0.0, 0.5, 1.0]), np.array([[0.1], [0.2], [0.8]]))
    >>> curves(np.array(0), np.array([0.0, 0.25, 0.5, 1.0])).round(4).tolist()
    [0.1, 0.1286, 0.2, 0.8]
    """

    def __init__(self, knots: FloatArray, means: FloatArray) -> None:
        self.knots = knots
        self.means = means
        width = np.diff(knots)[:, None]
        secant = np.diff(means, axis=0) / width
        slope = pchip_slopes(knots, means)
        # mean = c0 + x (c1 + x (c2 + x c3)), x counted from the left knot.
        self._coefficients = np.stack(
            [
                means[:-1],
                slope[:-1],
                (3.0 * secant - 2.0 * slope[:-1] - slope[1:]) / width,
                (slope[:-1] + slope[1:] - 2.0 * secant) / width**2,
            ]
        )

    def __call__(self, arms: IntArray, thetas: FloatArray) -> FloatArray:
        """Means of arms (indices) at parameters, elementwise.

        Beyond the knots the outermost cubics are continued.
        """
        piece = np.searchsorted(self.knots[1:-1], thetas, "right")
        x = thetas - self.knots[piece]
        c0, c1, c2, c3 = (part[piece, arms] for part in self._coefficients)
        return np.asarray(c0 + x * (c1 + x * (c2 + x * c3)))

    def of_arm(self, arm: int, theta: Any) -> FloatArray:
        """The mean of one arm."""
        return self(np.array(arm), np.asarray(theta, dtype=float))

    def unseen_width(self, arms: tuple[Any, ...], domain: tuple[float, float]) -> float:
        """0 if the means of every arm rise throughout or fall throughout, else infinite."""
        steps = np.diff(self.means, axis=0)
        monotone = (steps > 0.0).all(axis=0) | (steps < 0.0).all(axis=0)
        return 0.0 if monotone.all() else np.inf


def pchip_slopes(knots: FloatArray, means: FloatArray) -> FloatArray:
    """The slopes of the curves at each knot, shape (n_knots, n_arms).

    >>> pchip_slopes(np.array([0.0, 1.0, 2.0]), np.array([[0.0], [1.0], [4.0]])).ravel().tolist()
    [0.0, 1.5, 4.0]
    """
    width = np.diff(knots)[:, None]
    secant = np.diff(means, axis=0) / width
    if len(secant) == 1:
        return np.repeat(secant, 2, axis=0)
    slope = np.zeros(means.shape)
    same = secant[:-1] * secant[1:] > 0.0
    left = 2.0 * width[1:] + width[:-1]
    right = width[1:] + 2.0 * width[:-1]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        inner = (left + right) / (left / secant[:-1] + right / secant[1:])
    slope[1:-1] = np.where(same, inner, 0.0)
    slope[0] = _end_slope(width[0], width[1], secant[0], secant[1])
    slope[-1] = _end_slope(width[-1], width[-2], secant[-1], secant[-2])
    return slope


def _end_slope(
    near: FloatArray, far: FloatArray, first: FloatArray, second: FloatArray
) -> FloatArray:
    """The slope of the parabola through three points, kept between 0 and three secants."""
    slope = ((2.0 * near + far) * first - near * second) / (near + far)
    too_steep = (first * second <= 0.0) & (np.abs(slope) > 3.0 * np.abs(first))
    slope = np.where(too_steep, 3.0 * first, slope)
    return np.where(slope * first <= 0.0, 0.0, slope)


def as_table(
    theta: Any, means: Any, n_arms: int | None, monotone: bool
) -> tuple[FloatArray, FloatArray]:
    """Knots, shape (n_knots,), and means, shape (n_knots, n_arms), checked.

    The range of the means is checked where every model's is.
    """
    knots, table = as_numbers("theta", theta), as_numbers("means", means)
    rule = f"be a list of 2 to {MOST_KNOTS:,} numbers"
    listed = knots.ndim == 1 and 2 <= knots.size <= MOST_KNOTS
    require(listed, "theta", rule, f"shape {knots.shape}", ModelError)
    bad = np.flatnonzero(~np.isfinite(knots))
    require(bad.size == 0, "theta", "be finite", knots[bad].tolist(), ModelError)
    back = np.flatnonzero(np.diff(knots) <= 0.0)
    if back.size:
        place = int(back[0])
        raise ModelError(
            f"theta[{place + 1}] must be above theta[{place}] = {knots[place]:g}, "
            f"got {knots[place + 1]:g}"
        )
    rows = f"have {knots.size} rows, one per theta"
    width = "a number for each arm" if n_arms is None else f"{n_arms} numbers, one per arm"
    shaped = table.ndim == 2 and table.shape[0] == knots.size and table.shape[1] >= 1
    shaped = shaped and n_arms in (None, table.shape[1])
    require(shaped, "means", f"{rows}, each of {width}", f"shape {table.shape}", ModelError)
    missing = np.argwhere(~np.isfinite(table))
    if missing.size:
        row, arm = missing[0]
        raise ModelError(f"means[{row}][{arm}] must be finite, got {table[row, arm]}")
    if monotone:
        _check_monotone(knots, table)
    return knots, table


def _check_monotone(knots: FloatArray, table: FloatArray) -> None:
    steps = np.diff(table, axis=0)
    direction = np.sign(table[-1] - table[0])
    wrong = np.argwhere((steps * direction <= 0.0).T)
    if wrong.size:
        arm, row = wrong[0]
        raise ModelError(
            f"means[{row + 1}][{arm}] must go on {'rising' if direction[arm] > 0 else 'falling'}"
            f" as the column does, or monotone be False, got {table[row, arm]:g} at "
            f"theta = {knots[row]:g} and {table[row + 1, arm]:g} at {knots[row + 1]:g}"
        )
