"""Bisection, crossings and golden-section search on many brackets at once."""

from collections.abc import Callable

import numpy as np

from globalbandits._types import BoolArray, FloatArray, IntArray

_MAX_HALVINGS = 64
_GOLDEN_SECTION = 0.5 * (np.sqrt(5.0) - 1.0)
# A minimum above this share of the smallest value found so far does not reach 0.
_CLEARLY_POSITIVE = 0.25


def bisect(
    still_before: Callable[[IntArray, FloatArray], BoolArray], low: FloatArray, high: FloatArray
) -> FloatArray:
    """Return the place in each bracket where a condition that holds at ``low`` ends.

    ``high`` may lie on either side of ``low``. ``still_before(index, place)`` is whether the
    condition holds in bracket ``index`` at ``place``.
    """
    low, high = low.copy(), high.copy()
    active = np.arange(low.size)
    # More halvings would matter only for an end at 0, where floats are arbitrarily fine.
    for _ in range(_MAX_HALVINGS):
        middle = 0.5 * (low[active] + high[active])
        moving = (middle != low[active]) & (middle != high[active])
        active, middle = active[moving], middle[moving]
        if active.size == 0:
            break
        before = still_before(active, middle)
        low[active[before]] = middle[before]
        high[active[~before]] = middle[~before]
    return high


def find_crossing(
    value: Callable[[IntArray, FloatArray], FloatArray],
    low: FloatArray,
    high: FloatArray,
    at_low: FloatArray,
    at_high: FloatArray,
) -> FloatArray:
    """Return the place in each bracket where values change their sign, by the method ITP.

    It needs a fifth of the evaluations of bisection for smooth functions, and one more at worst
    (Oliveira and Takahashi, 2021). Values at the ends have opposite signs, and ``low < high``.
    """
    low, high, sign = low.copy(), high.copy(), np.sign(at_low)
    above, below = np.abs(at_low), -np.abs(at_high)
    first_width = high - low
    # Twice this is the width of the last bracket: the spacing of floats at its larger end.
    tolerance = 0.5 * np.spacing(np.maximum(np.abs(low), np.abs(high)))
    slack = first_width.copy()
    active = np.arange(low.size)
    for _ in range(_MAX_HALVINGS):
        width = high[active] - low[active]
        active = active[width > 2.0 * tolerance[active]]
        if active.size == 0:
            break
        start, width = low[active], high[active] - low[active]
        middle = start + 0.5 * width
        falsi = start + width * (above[active] / (above[active] - below[active]))
        away = middle - falsi
        # A step beyond the secant's zero, so that the bracket shrinks from both sides.
        step = np.maximum(0.2 * width * width / first_width[active], 2.0 * tolerance[active])
        step = np.minimum(step, np.abs(away))
        inside = middle - (falsi + np.copysign(step, away))
        # Never farther from the middle than bisection would allow.
        reach = np.maximum(slack[active] - 0.5 * width, 0.0)
        place = middle - np.minimum(np.maximum(inside, -reach), reach)
        slack[active] *= 0.5
        found = sign[active] * value(active, place)
        before = found > 0.0
        low[active[before]], above[active[before]] = place[before], found[before]
        high[active[~before]], below[active[~before]] = place[~before], found[~before]
    return high


def find_minimum(
    value: Callable[[IntArray, FloatArray], FloatArray],
    low: FloatArray,
    high: FloatArray,
    n_steps: int = 45,
    floor: float = 0.0,
    at_ends: tuple[FloatArray, FloatArray] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Search each bracket by golden sections; return place and value of the smallest value.

    The search in a bracket stops at the first value below ``floor``. If the values at the ends of
    the brackets are given, it also stops where a convex function would stay well above 0.
    """
    low, high = low.copy(), high.copy()
    index = np.arange(low.size)
    right = low + _GOLDEN_SECTION * (high - low)
    left = high - _GOLDEN_SECTION * (high - low)
    at_left, at_right = value(index, left), value(index, right)
    place = np.where(at_left <= at_right, left, right)
    best = np.minimum(at_left, at_right)
    if at_ends is not None:
        at_low, at_high = at_ends[0].copy(), at_ends[1].copy()
    for _ in range(n_steps):
        searched = best >= floor
        if at_ends is not None:
            least = _least_if_convex(at_low, at_left, at_right, at_high)
            searched &= least < _CLEARLY_POSITIVE * best
        index = np.flatnonzero(searched)
        if index.size == 0:
            break
        smaller_left = at_left[index] <= at_right[index]
        go_left, go_right = index[smaller_left], index[~smaller_left]
        if at_ends is not None:
            at_high[go_left], at_low[go_right] = at_right[go_left], at_left[go_right]
        high[go_left], right[go_left], at_right[go_left] = (
            right[go_left],
            left[go_left],
            at_left[go_left],
        )
        low[go_right], left[go_right], at_left[go_right] = (
            left[go_right],
            right[go_right],
            at_right[go_right],
        )
        left[go_left] = high[go_left] - _GOLDEN_SECTION * (high[go_left] - low[go_left])
        right[go_right] = low[go_right] + _GOLDEN_SECTION * (high[go_right] - low[go_right])
        probe = np.where(smaller_left, left[index], right[index])
        found = value(index, probe)
        at_left[go_left], at_right[go_right] = found[smaller_left], found[~smaller_left]
        better = found < best[index]
        place[index[better]], best[index[better]] = probe[better], found[better]
    return place, best


def _least_if_convex(
    at_low: FloatArray, at_left: FloatArray, at_right: FloatArray, at_high: FloatArray
) -> FloatArray:
    """Return a lower bound of convex functions from their values at the golden sections.

    A convex function lies above the line through two of its points, outside of these points.
    """
    outer = np.minimum(
        at_left - np.maximum(at_right - at_left, 0.0) / _GOLDEN_SECTION,
        at_right - np.maximum(at_left - at_right, 0.0) / _GOLDEN_SECTION,
    )
    inner = np.maximum(
        at_left - np.maximum(at_low - at_left, 0.0) * _GOLDEN_SECTION,
        at_right - np.maximum(at_high - at_right, 0.0) * _GOLDEN_SECTION,
    )
    return np.asarray(np.minimum(outer, inner))
