"""The tables of a model: flat arrays for policies, and the functions that read them.

The functions use the subset of Python that Numba compiles. The simulator compiles the same
functions that a live learner calls.

A decision needs two look-ups: `evaluate` (a curve of one arm, usually its inverse) and
`find_cell` (the best arms at a parameter). Rewards and means are on the unit scale: the model's
reward range is mapped to [0, 1]. Worth has its own unit scale: the model's worth range is mapped
to [0, 1].

Arguments may be nan or infinite. The comparisons map nan to an end of a table, and a number that
is not finite never becomes an index.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray

# The degree of the polynomials.
DEGREE = 7

# An argument is inside a segment up to this share of the distance from its middle to its ends.
INSIDE = 1.0 - 1e-9


class Curves(NamedTuple):
    """One piecewise polynomial per arm, in flat arrays.

    The segments are sorted by arm and then from left to right. Within a segment the curve is a
    polynomial of degree 7 in u = (x - middle) * scale, -1 <= u <= 1.
    """

    low: FloatArray  # (n_arms,) left end of the argument
    high: FloatArray  # (n_arms,) right end
    at_low: FloatArray  # (n_arms,) exact value at the left end
    at_high: FloatArray  # (n_arms,) exact value at the right end
    cell_scale: FloatArray  # (n_arms,) guide cells per unit of the argument
    guide: IntArray  # (n_arms, n_cells + 1) segments at the edges of the guide cells
    left: FloatArray  # (n_segments,) left end of each segment
    middle: FloatArray  # (n_segments,)
    scale: FloatArray  # (n_segments,)
    coefficients: FloatArray  # (n_segments, 8), constant term first


class Envelope(NamedTuple):
    """The best arms at every parameter.

    The breakpoints cut the domain into cells, from left to right. Even cells are the breakpoints,
    where arms tie. Odd cells are the open intervals between them.
    """

    breakpoints: FloatArray  # (n_intervals + 1,) including the domain's ends
    starts: IntArray  # (n_cells + 1,) index of a cell's first arm in `arms`
    arms: IntArray  # best arms of all cells, cell by cell
    sub_low: FloatArray  # (n_cells,) nearest suboptimal parameter on the left, or -inf
    sub_high: FloatArray  # (n_cells,) nearest suboptimal parameter on the right, or inf


class Peaks(NamedTuple):
    """The means at which an arm's value has a local maximum."""

    starts: IntArray  # (n_arms + 1,) index of an arm's first peak in `positions`
    positions: FloatArray  # means on the unit scale, in increasing order for each arm


class Tables(NamedTuple):
    """The data of a model that policies read, on the unit scales of rewards and of worth."""

    n_arms: int
    low: float  # the domain
    high: float
    mean: Curves  # parameter -> mean reward
    inverse: Curves  # mean reward -> parameter
    worth: Curves  # parameter -> worth; the same as `mean` unless valued
    envelope: Envelope
    invertible: bool  # whether `inverse` may be read
    valued: bool  # whether worth differs from the mean reward
    value: Curves  # mean reward -> worth; not read unless valued
    peaks: Peaks  # local maxima of `value`
    value_slope: FloatArray  # (n_arms,) value at mean 1 minus value at mean 0
    value_offset: FloatArray  # (n_arms,) value at mean 0
    affine_increasing: bool  # whether value is slope * mean + offset, slope > 0, for every arm
    # Arms are the cells of this number of contexts, all arms of the first context first.
    n_contexts: int = 1


def evaluate(curves: Curves, arm: int, x: float) -> float:
    """Evaluate one arm's curve at x; outside its range, return the value at the nearer end."""
    # The comparison is also False for nan.
    if not x > curves.low[arm]:
        return float(curves.at_low[arm])
    if x >= curves.high[arm]:
        return float(curves.at_high[arm])
    return evaluate_segment(curves, find_segment(curves, arm, x), x)


def find_segment(curves: Curves, arm: int, x: float) -> int:
    """Return the segment of one arm's curve that contains x or is nearest to it."""
    position = (x - float(curves.low[arm])) * float(curves.cell_scale[arm])
    cell = 0
    if position >= curves.guide.shape[1] - 2:
        cell = curves.guide.shape[1] - 2
    elif position > 0.0:
        cell = int(position)
    segment = curves.guide[arm, cell]
    last = curves.guide[arm, cell + 1]
    while segment < last:
        probe = (segment + last + 1) // 2
        if curves.left[probe] <= x:
            segment = probe
        else:
            last = probe - 1
    return int(segment)


def is_inside(curves: Curves, segment: int, x: float) -> bool:
    """Whether x lies in a segment and is not within rounding of its ends."""
    u = (x - float(curves.middle[segment])) * float(curves.scale[segment])
    return abs(u) < INSIDE


def evaluate_segment(curves: Curves, segment: int, x: float) -> float:
    """Evaluate one segment's polynomial at x."""
    c = curves.coefficients[segment]
    u = (x - float(curves.middle[segment])) * float(curves.scale[segment])
    square = u * u
    low = (c[0] + c[1] * u) + (c[2] + c[3] * u) * square
    high = (c[4] + c[5] * u) + (c[6] + c[7] * u) * square
    return float(low + high * (square * square))


def value_of(tables: Tables, arm: int, unit_mean: float) -> float:
    """Return the worth of a decision for an arm whose mean reward is ``unit_mean``."""
    if not tables.valued:
        return unit_mean
    return evaluate(tables.value, arm, unit_mean)


def largest_value(tables: Any, arm: int, low: float, high: float) -> float:
    """Return the largest worth of a decision for an arm whose mean lies in [low, high].

    The largest value lies at a peak inside the interval or at one of its ends.
    """
    if not tables.valued:
        return high
    largest = max(evaluate(tables.value, arm, low), evaluate(tables.value, arm, high))
    for index in range(tables.peaks.starts[arm], tables.peaks.starts[arm + 1]):
        peak = float(tables.peaks.positions[index])
        if low < peak < high:
            largest = max(largest, evaluate(tables.value, arm, peak))
    return largest


def find_cell(envelope: Envelope, theta: float) -> int:
    """Return the cell of the envelope that contains theta, by bisection."""
    points = envelope.breakpoints
    return find_cell_among(points, 0, points.shape[0] - 1, theta)


def find_cell_among(points: FloatArray, first: int, last: int, theta: float) -> int:
    """Return the cell of an envelope with breakpoints ``points[first]`` to ``points[last]``."""
    # The comparison is also False for nan.
    if not theta > points[first]:
        return 0
    if theta >= points[last]:
        return 2 * (last - first)
    low = first
    high = last - 1
    while low < high:
        probe = (low + high + 1) // 2
        if points[probe] <= theta:
            low = probe
        else:
            high = probe - 1
    if theta == points[low]:
        return 2 * (low - first)
    return 2 * (low - first) + 1


def choose_in_cell(envelope: Envelope, cell: int, rng: np.random.Generator) -> int:
    """Return a best arm of the cell, drawn at random only if several arms are best."""
    start = envelope.starts[cell]
    n_best = envelope.starts[cell + 1] - start
    if n_best > 1:
        start += int(rng.random() * n_best)
    return int(envelope.arms[start])


def suboptimality_distance(tables: Tables, theta: float) -> float:
    """Return Delta_min of Definition 3; see `RewardModel.suboptimality_distance`."""
    envelope = tables.envelope
    cell = find_cell(envelope, theta)
    distance = min(theta - float(envelope.sub_low[cell]), float(envelope.sub_high[cell]) - theta)
    if math.isinf(distance):
        return tables.high - tables.low
    return distance
