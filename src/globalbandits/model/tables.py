"""The flat arrays a loop reads, and the functions that read them.

Everything here is written in the subset of Python that Numba compiles: the live learner
calls these functions as they stand, the simulator compiles the very same ones.

A decision needs two look-ups: `evaluate` (a curve of one arm, most often its inverse) and
`find_cell` (which arms are best at a parameter). All rewards and means in the tables are on
the unit scale: the model's reward range is mapped to [0, 1]. What a decision is worth is on a
unit scale of its own: the model's worth range is mapped to [0, 1].

Whatever is looked up may be nan or infinite. Comparisons are written so that nan ends at an
end of a table, and nothing that is not finite becomes an index.
"""

import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray

DEGREE = 7
INSIDE = 1.0 - 1e-9  # of half a segment


class Curves(NamedTuple):
    """One piecewise polynomial per arm, in flat arrays.

    Segments of all arms stand one after the other, each arm's from left to right. Within a
    segment the curve is a polynomial of degree 7 in u = (x - middle) * scale, -1 <= u <= 1.
    """

    low: FloatArray  # (n_arms,) left end of the argument
    high: FloatArray  # (n_arms,) right end
    at_low: FloatArray  # (n_arms,) exact value at the left end
    at_high: FloatArray  # (n_arms,) exact value at the right end
    cell_scale: FloatArray  # (n_arms,) guide cells per unit of the argument
    guide: IntArray  # (n_arms, n_cells + 1) first and last segment a guide cell can meet
    left: FloatArray  # (n_segments,) left end of each segment
    middle: FloatArray  # (n_segments,)
    scale: FloatArray  # (n_segments,)
    coefficients: FloatArray  # (n_segments, 8), constant term first


class Envelope(NamedTuple):
    """Which arms are best where.

    The breakpoints cut the domain into cells, from left to right: even cells are the breakpoints
    themselves, where arms tie, odd cells are the open intervals between them.
    """

    breakpoints: FloatArray  # (n_intervals + 1,) domain ends included
    starts: IntArray  # (n_cells + 1,) where a cell's arms start in `arms`
    arms: IntArray  # best arms of all cells, one cell after the other
    sub_low: FloatArray  # (n_cells,) nearest suboptimal parameter on the left, or -inf
    sub_high: FloatArray  # (n_cells,) nearest suboptimal parameter on the right, or inf


class Peaks(NamedTuple):
    """The means at which an arm's value is larger than on both sides."""

    starts: IntArray  # (n_arms + 1,) where an arm's peaks start in `positions`
    positions: FloatArray  # means on the unit scale, each arm's in rising order


class Tables(NamedTuple):
    """All a policy may read of a model, on the unit scales of rewards and of worth."""

    n_arms: int
    low: float  # the domain
    high: float
    mean: Curves  # parameter -> mean of what is observed
    inverse: Curves  # mean of what is observed -> parameter
    worth: Curves  # parameter -> what a decision is worth; `mean` itself unless valued
    envelope: Envelope
    invertible: bool  # whether `inverse` may be read
    valued: bool  # whether a decision is worth something else than the mean observation
    value: Curves  # mean of what is observed -> what a decision is worth; not read unless valued
    peaks: Peaks  # of `value`
    value_slope: FloatArray  # (n_arms,) value at mean 1 less value at mean 0
    value_offset: FloatArray  # (n_arms,) value at mean 0
    affine_increasing: bool  # whether value is slope * mean + offset, slope > 0, for every arm


def evaluate(curves: Curves, arm: int, x: float) -> float:
    """Value of one arm's curve at x; outside the curve's range, the value at the nearer end."""
    if not x > curves.low[arm]:  # nan too
        return float(curves.at_low[arm])
    if x >= curves.high[arm]:
        return float(curves.at_high[arm])
    return evaluate_segment(curves, find_segment(curves, arm, x), x)


def find_segment(curves: Curves, arm: int, x: float) -> int:
    """The segment of one arm's curve that holds x, or the one nearest to it."""
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
    """Whether x lies in a segment, clear of its ends, where rounding could tell otherwise."""
    u = (x - float(curves.middle[segment])) * float(curves.scale[segment])
    return abs(u) < INSIDE


def evaluate_segment(curves: Curves, segment: int, x: float) -> float:
    """Value of one segment's polynomial at x."""
    c = curves.coefficients[segment]
    u = (x - float(curves.middle[segment])) * float(curves.scale[segment])
    square = u * u
    low = (c[0] + c[1] * u) + (c[2] + c[3] * u) * square
    high = (c[4] + c[5] * u) + (c[6] + c[7] * u) * square
    return float(low + high * (square * square))


def value_of(tables: Tables, arm: int, unit_mean: float) -> float:
    """What a decision for the arm is worth if its mean observation is ``unit_mean``."""
    if not tables.valued:
        return unit_mean
    return evaluate(tables.value, arm, unit_mean)


def largest_value(tables: Tables, arm: int, low: float, high: float) -> float:
    """The most a decision for the arm can be worth if its mean lies in [low, high].

    Values may peak inside the interval; elsewhere the largest one is at an end.
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
    """The cell of the envelope that holds theta, by bisection over the breakpoints."""
    points = envelope.breakpoints
    return find_cell_among(points, 0, points.shape[0] - 1, theta)


def find_cell_among(points: FloatArray, first: int, last: int, theta: float) -> int:
    """The cell of an envelope whose breakpoints are ``points[first]`` to ``points[last]``."""
    if not theta > points[first]:  # nan too
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
    """A best arm of the cell; ties at random, and no random number drawn without one."""
    start = envelope.starts[cell]
    n_best = envelope.starts[cell + 1] - start
    if n_best > 1:
        start += int(rng.random() * n_best)
    return int(envelope.arms[start])


def suboptimality_distance(tables: Tables, theta: float) -> float:
    """Delta_min of Definition 3: how far theta is from where its best arms stop being best."""
    envelope = tables.envelope
    cell = find_cell(envelope, theta)
    distance = min(theta - float(envelope.sub_low[cell]), float(envelope.sub_high[cell]) - theta)
    if math.isinf(distance):
        return tables.high - tables.low
    return distance
