"""Turning points: where curves have extrema or kinks.

`find_kinks` and `find_turns` search the samples from which curves are built. `turning_points`
finds all extrema of the finished polynomials.
"""

from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.analysis.curves import Evaluate, Nodes, evaluate_many
from globalbandits.model.analysis.refinement import find_minimum
from globalbandits.model.tables import DEGREE, Curves

# Lengths are shares of the unit interval, changes are shares of the unit range.

# Only a kink needs segments narrower than this.
_KINK_WIDTH = 1e-8

_MAX_KINKS_PER_ARM = 64

# The largest step from a kink at which its two sides are sampled.
_MAX_KINK_STEP = 1e-5

# The largest correction of a kink's place.
_MAX_KINK_SHIFT = 1e-9

# The smallest change of a curve that counts as an extremum.
MIN_TURN = 2e-12

# A root with a smaller imaginary part is real: rounding can split a double root.
_MAX_IMAGINARY = 1e-6

_POWERS = np.arange(1, DEGREE + 1)


class Turns(NamedTuple):
    """Local extrema of the arms' curves, sorted by arm and place."""

    arm: IntArray
    place: FloatArray
    # 1 at maxima, -1 at minima.
    is_peak: FloatArray


def find_kinks(evaluate: Evaluate, nodes: Nodes) -> tuple[IntArray, FloatArray]:
    """Return arms and places of the kinks inside (0, 1).

    Curves are built by splitting segments, which leaves very narrow segments around a kink. Its
    place is the point where the two sides meet if each is extended as a parabola.
    """
    left, right = nodes.x[:, 0], nodes.x[:, -1]
    tiny = (right - left < _KINK_WIDTH) & (left > _KINK_WIDTH) & (right < 1.0 - _KINK_WIDTH)
    found = np.flatnonzero(tiny)
    if found.size == 0:
        return np.empty(0, np.int64), np.empty(0)
    apart = (np.diff(nodes.arm[found]) != 0) | (np.diff(found) != 1)
    cluster = np.concatenate([[0], np.cumsum(apart)])
    order = np.lexsort(((right - left)[found], cluster))
    _, first = np.unique(cluster[order], return_index=True)
    chosen = found[order[first]]
    arm, place = nodes.arm[chosen], 0.5 * (left[chosen] + right[chosen])
    order = np.lexsort((place, arm))
    arm, place = arm[order], place[order]
    rank = np.arange(arm.size) - np.searchsorted(arm, arm)
    arm, place = arm[rank < _MAX_KINKS_PER_ARM], place[rank < _MAX_KINKS_PER_ARM]
    return arm, _meeting_points(evaluate, arm, place)


def _meeting_points(evaluate: Evaluate, arm: IntArray, place: FloatArray) -> FloatArray:
    """Refine the places of kinks from samples of their two sides."""
    room = np.minimum(place, 1.0 - place)
    between = np.where(np.diff(arm) == 0, np.diff(place), np.inf)
    room = np.minimum(room, np.minimum(np.append(between, np.inf), np.append(np.inf, between)))
    step = np.minimum(_MAX_KINK_STEP, room / 8.0)
    steps = np.array([1.0, 2.0, 3.0])
    before = evaluate(arm[:, None], place[:, None] - step[:, None] * steps)
    after = evaluate(arm[:, None], place[:, None] + step[:, None] * steps)
    # The difference of the parabolas through the three points of each side, in units of the step.
    (constant, out, bend), (other_constant, slope_after, other_bend) = map(
        _parabola, (before, after)
    )
    slope_before = -out
    constant, slope, bend = constant - other_constant, slope_before - slope_after, bend - other_bend
    shift = np.zeros(place.size)
    for _ in range(6):
        steepness = slope + 2.0 * bend * shift
        wrong = constant + slope * shift + bend * shift**2
        shift -= np.divide(wrong, steepness, out=np.zeros_like(wrong), where=steepness != 0.0)
    shift *= step
    better = place + np.where(np.abs(shift) <= _MAX_KINK_SHIFT, shift, 0.0)
    # At a kink the curve is farthest from a line with the average slope. Users often place kinks
    # at round numbers, so the rounded place is preferred if it is at least as far.
    tilt = 0.5 * (slope_before + slope_after) / step
    sign = np.sign(slope)

    def distance(at: FloatArray) -> FloatArray:
        return np.asarray(sign * (evaluate(arm, at) - tilt * (at - place)))

    rounded = np.round(better, 13)
    return np.where(distance(rounded) >= distance(better), rounded, better)


def _parabola(values: FloatArray) -> FloatArray:
    """Return constant, slope and bend of the parabolas through the values at 1, 2 and 3."""
    first, second, third = values.T
    bend = 0.5 * (first - 2.0 * second + third)
    slope = second - first - 3.0 * bend
    return np.array([first - slope - bend, slope, bend])


def find_turns(evaluate: Evaluate, nodes: Nodes, rounding: Evaluate) -> Turns:
    """Return the inner local extrema that exceed the rounding errors of the curves."""
    places: list[tuple[int, float, float, float, float]] = []
    arms, starts = np.unique(nodes.arm, return_index=True)
    for arm, start, stop in zip(arms, starts, np.append(starts[1:], len(nodes.arm)), strict=True):
        x = np.append(nodes.x[start:stop, :-1].ravel(), nodes.x[stop - 1, -1])
        y = np.append(nodes.y[start:stop, :-1].ravel(), nodes.y[stop - 1, -1])
        steps = np.diff(y)
        if (steps >= 0.0).all() or (steps <= 0.0).all():
            continue
        least = np.maximum(MIN_TURN, 4.0 * rounding(np.full(x.shape, arm), x))
        for index, peak in extremes(y, least):
            places.append((int(arm), x[index - 1], x[index], x[index + 1], peak))
    if not places:
        nothing = np.empty(0)
        return Turns(np.empty(0, np.int64), nothing, nothing)
    table = np.array(places)
    arms, sign = table[:, 0].astype(np.int64), table[:, 4]
    found, depth = find_minimum(
        lambda index, at: -sign[index] * evaluate(arms[index], at),
        table[:, 1],
        table[:, 3],
        floor=-np.inf,
    )
    at_node = -sign * evaluate(arms, table[:, 2])
    place = np.where(at_node <= depth, table[:, 2], found)
    return Turns(arms, place, sign)


def extremes(y: FloatArray, least: FloatArray) -> list[tuple[int, float]]:
    """Return indices and signs of a sequence's inner extrema; changes below ``least`` are noise."""
    found: list[tuple[int, float]] = []
    highest = lowest = 0
    direction = 0.0
    for index in range(1, len(y)):
        if y[index] > y[highest]:
            highest = index
        if y[index] < y[lowest]:
            lowest = index
        if direction >= 0.0 and y[highest] - y[index] > least[highest] + least[index]:
            if direction > 0.0:
                found.append((highest, 1.0))
            direction, lowest = -1.0, index
        elif direction <= 0.0 and y[index] - y[lowest] > least[lowest] + least[index]:
            if direction < 0.0:
                found.append((lowest, -1.0))
            direction, highest = 1.0, index
    return [(index, sign) for index, sign in found if 0 < index < len(y) - 1]


def turning_points(curves: Curves, rounding: float) -> FloatArray:
    """Return the inner arguments at which some curve has an extremum, in increasing order.

    A polynomial has extrema only at roots of its derivative, so none is missed. A change below
    the tolerance of the tables, or below four times ``rounding``, does not count.
    """
    found = [np.empty(0)]
    least = max(MIN_TURN, 4.0 * rounding)
    for arm in range(curves.low.shape[0]):
        places = np.concatenate([_candidates(curves, arm), curves.high[arm : arm + 1]])
        values = evaluate_many(curves, arm, places)
        chosen = [index for index, _ in extremes(values, np.full(values.shape, least))]
        found.append(places[chosen])
    return np.unique(np.concatenate(found))


def _candidates(curves: Curves, arm: int) -> FloatArray:
    """Return the left ends of an arm's segments and the inner roots of the derivative, sorted."""
    first, last = int(curves.guide[arm, 0]), int(curves.guide[arm, -1])
    slopes = curves.coefficients[first : last + 1, 1:] * _POWERS
    rest = np.abs(slopes[:, 1:]).sum(axis=1)
    roots = [curves.left[first : last + 1]]
    # Where the constant term exceeds the sum of all others the slope keeps its sign.
    may_turn = ~(np.abs(slopes[:, 0]) > rest) & (curves.scale[first : last + 1] > 0.0)
    for segment in first + np.flatnonzero(may_turn):
        root = np.roots(slopes[segment - first, ::-1])
        inside = (np.abs(root.imag) < _MAX_IMAGINARY) & (np.abs(root.real) < 1.0)
        roots.append(curves.middle[segment] + root.real[inside] / curves.scale[segment])
    return np.sort(np.clip(np.concatenate(roots), curves.low[arm], curves.high[arm]))
