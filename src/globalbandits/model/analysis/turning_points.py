"""Where curves turn or have a kink."""

from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.analysis.curves import (
    Evaluate,
    Nodes,
    evaluate_many,
)
from globalbandits.model.analysis.refinement import find_minimum
from globalbandits.model.tables import DEGREE, Curves

_TINY = 1e-8  # of the unit interval: smooth curves need no segments as narrow, kinks do
_MOST_KINKS = 64  # an arm
_STEP = 1e-5  # of the unit interval: how far from a kink its two sides are looked at
LEAST = 2e-12  # of the unit range: a smaller change is no turn
_NEAR = 1e-9  # how far a kink may lie from where splitting found it


class Turns(NamedTuple):
    """Local extrema of the arms' curves, sorted by arm and place."""

    arm: IntArray
    place: FloatArray
    is_peak: FloatArray  # 1 at maxima, -1 at minima


def find_kinks(evaluate: Evaluate, nodes: Nodes) -> tuple[IntArray, FloatArray]:
    """Arms and places of kinks inside (0, 1), from the segments that splitting left there.

    Splitting closes in on a kink down to the tolerance of the values. Its place is then where
    the two sides meet if each is continued as a parabola.
    """
    left, right = nodes.x[:, 0], nodes.x[:, -1]
    tiny = (right - left < _TINY) & (left > _TINY) & (right < 1.0 - _TINY)
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
    arm, place = arm[rank < _MOST_KINKS], place[rank < _MOST_KINKS]
    return arm, _meeting_points(evaluate, arm, place)


def _meeting_points(evaluate: Evaluate, arm: IntArray, place: FloatArray) -> FloatArray:
    """The kinks' places, as exactly as the two sides tell."""
    room = np.minimum(place, 1.0 - place)
    between = np.where(np.diff(arm) == 0, np.diff(place), np.inf)
    room = np.minimum(room, np.minimum(np.append(between, np.inf), np.append(np.inf, between)))
    step = np.minimum(_STEP, room / 8.0)
    steps = np.array([1.0, 2.0, 3.0])
    before = evaluate(arm[:, None], place[:, None] - step[:, None] * steps)
    after = evaluate(arm[:, None], place[:, None] + step[:, None] * steps)
    # Parabolas through the three points of each side, in units of the step: their difference.
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
    better = place + np.where(np.abs(shift) <= _NEAR, shift, 0.0)
    # A kink is where the curve is farthest from the slope between: a round number may be closer.
    tilt = 0.5 * (slope_before + slope_after) / step
    sign = np.sign(slope)

    def distance(at: FloatArray) -> FloatArray:
        return np.asarray(sign * (evaluate(arm, at) - tilt * (at - place)))

    rounded = np.round(better, 13)
    return np.where(distance(rounded) >= distance(better), rounded, better)


def _parabola(values: FloatArray) -> FloatArray:
    """Constant, slope and bend of the parabolas through the values at 1, 2 and 3."""
    first, second, third = values.T
    bend = 0.5 * (first - 2.0 * second + third)
    slope = second - first - 3.0 * bend
    return np.array([first - slope - bend, slope, bend])


def find_turns(evaluate: Evaluate, nodes: Nodes, rounding: Evaluate) -> Turns:
    """Local extrema inside the curves that stand out from their rounding errors."""
    places: list[tuple[int, float, float, float, float]] = []
    arms, starts = np.unique(nodes.arm, return_index=True)
    for arm, start, stop in zip(arms, starts, np.append(starts[1:], len(nodes.arm)), strict=True):
        x = np.append(nodes.x[start:stop, :-1].ravel(), nodes.x[stop - 1, -1])
        y = np.append(nodes.y[start:stop, :-1].ravel(), nodes.y[stop - 1, -1])
        steps = np.diff(y)
        if (steps >= 0.0).all() or (steps <= 0.0).all():
            continue
        least = np.maximum(LEAST, 4.0 * rounding(np.full(x.shape, arm), x))
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
    """Indices of inner extremes of a sequence with their sign; smaller changes are noise."""
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


_POWERS = np.arange(1, DEGREE + 1)
_REAL = 1e-6  # imaginary part of a root: a double root that rounding has split is real


def turning_points(curves: Curves, rounding: float) -> FloatArray:
    """The inner arguments at which some curve turns, in rising order.

    A polynomial turns only where its derivative has a root, so nothing is missed between the
    samples it was made from. Turns by less than the tolerance of the tables, or by less than
    four times ``rounding``, are not turns.
    """
    found = [np.empty(0)]
    least = max(LEAST, 4.0 * rounding)
    for arm in range(curves.low.shape[0]):
        places = np.concatenate([_candidates(curves, arm), curves.high[arm : arm + 1]])
        values = evaluate_many(curves, arm, places)
        chosen = [index for index, _ in extremes(values, np.full(values.shape, least))]
        found.append(places[chosen])
    return np.unique(np.concatenate(found))


def _candidates(curves: Curves, arm: int) -> FloatArray:
    """Left ends of one arm's segments, and roots of the derivative inside, in rising order."""
    first, last = int(curves.guide[arm, 0]), int(curves.guide[arm, -1])
    slopes = curves.coefficients[first : last + 1, 1:] * _POWERS
    rest = np.abs(slopes[:, 1:]).sum(axis=1)
    roots = [curves.left[first : last + 1]]
    # Where the constant outweighs all the rest the slope keeps its sign.
    may_turn = ~(np.abs(slopes[:, 0]) > rest) & (curves.scale[first : last + 1] > 0.0)
    for segment in first + np.flatnonzero(may_turn):
        root = np.roots(slopes[segment - first, ::-1])
        inside = (np.abs(root.imag) < _REAL) & (np.abs(root.real) < 1.0)
        roots.append(curves.middle[segment] + root.real[inside] / curves.scale[segment])
    return np.sort(np.clip(np.concatenate(roots), curves.low[arm], curves.high[arm]))
