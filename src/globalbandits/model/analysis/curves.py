"""Curves: functions of one number turned into piecewise polynomials, and their inverses.

Each segment is sampled at Chebyshev-Lobatto points of the parameter. The polynomial through the
points (parameter, mean) approximates the mean. The polynomial through the swapped points (mean,
parameter) approximates the inverse, so no root has to be searched for. Segments are split until
both polynomials are accurate at points between the nodes. Splitting in the parameter refines the
segments towards ends where the slope vanishes or is infinite.

The worth of a decision need not be monotone and has no inverse: `build_plain` tabulates the curve
alone.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits.errors import ModelError
from globalbandits.model.tables import DEGREE, Curves

Evaluate = Callable[[IntArray, FloatArray], FloatArray]
# Whether each segment (arm, x, y) is accurate.
_Accurate = Callable[[IntArray, FloatArray, FloatArray], BoolArray]

# Lengths are shares of the domain, changes are shares of the unit range.

MEAN_TOLERANCE = 1e-12
INVERSE_TOLERANCE = 1e-11

# A curve that is farther off at a grid point has missed a feature.
_MISSED_TOLERANCE = 1e-8

# Segments of an arm at the start, and at most (the average of all arms).
_N_FIRST_SEGMENTS = 4
_MAX_SEGMENTS_PER_ARM = 4_000

# Rounds of splitting, and how often the curves are built again after a feature was missed.
_MAX_ROUNDS = 400
_MAX_BUILDS = 4

# After this number of halvings, segments at the ends of the domain are cut at this share.
_N_HALVINGS = 4
_END_SHARE = 1.0 / 16.0

# A rise between two neighbouring floats: a larger one is a jump, a smaller one is none. In
# between, it is a jump unless the rise over a thousand floats is larger by this factor.
_MAX_STEEP_RISE = 1e-2
_MIN_JUMP = 1e-8
_STEEP_FACTOR = 1.2

# Rounding errors: relative to a mean, and the largest absolute one.
_EPS = float(np.finfo(float).eps)
_ROUNDING = 64.0 * _EPS
_MAX_NOISE = 1e-4

# Points of all arms evaluated together. Arrays of this size stay in the processor's cache and their
# memory is reused; larger ones take two to three times as long per point.
_POINTS_PER_CHUNK = 16_384

# Cells of the guide that finds the segment of an argument.
_N_GUIDE_CELLS = 64

_LOBATTO = -np.cos(np.pi * np.arange(DEGREE + 1) / DEGREE)
_BETWEEN = 0.5 * (_LOBATTO[1:] + _LOBATTO[:-1])
_SAMPLES = np.concatenate([_LOBATTO, _BETWEEN])


class Pieces(NamedTuple):
    """The first segments of each arm, one row per segment, sorted by arm and place."""

    arm: IntArray
    left: FloatArray
    right: FloatArray


class Nodes(NamedTuple):
    """The samples through which the segments' polynomials go, sorted by arm and place."""

    arm: IntArray  # (n_segments,)
    x: FloatArray  # (n_segments, 8)
    y: FloatArray  # (n_segments, 8)


def arm_chunks(n_arms: int, n_points: int) -> Iterator[IntArray]:
    """Yield the indices of all arms, in chunks to evaluate together at ``n_points`` per arm."""
    size = max(_POINTS_PER_CHUNK // n_points, 1)
    for start in range(0, n_arms, size):
        yield np.arange(start, min(start + size, n_arms))


def evaluate_on_grid(evaluate: Evaluate, n_arms: int, grid: FloatArray) -> FloatArray:
    """Return the values of all arms at the points of a grid, shape (n_arms, n_points)."""
    values = np.empty((n_arms, grid.size))
    for arms in arm_chunks(n_arms, grid.size):
        chunk = slice(arms[0], arms[-1] + 1)
        values[chunk] = evaluate(arms[:, None], np.broadcast_to(grid, (arms.size, grid.size)))
    return values


def even_pieces(
    n_arms: int, domain: tuple[float, float], knots: FloatArray | None = None
) -> Pieces:
    """Cut the domain of every arm into equal pieces, or at the knots."""
    edges = np.linspace(*domain, _N_FIRST_SEGMENTS + 1)
    if knots is not None:
        inner = knots[(knots > domain[0]) & (knots < domain[1])]
        edges = np.concatenate([[domain[0]], inner, [domain[1]]])
    arm = np.repeat(np.arange(n_arms), edges.size - 1)
    return Pieces(arm, np.tile(edges[:-1], n_arms), np.tile(edges[1:], n_arms))


def cut_pieces(pieces: Pieces, cuts: FloatArray) -> Pieces:
    """Cut the pieces at ``cuts``, which has one row per arm, filled up with nan."""
    arm, left, right = pieces
    smallest = 64.0 * _EPS * float(np.max(np.abs([left, right]), initial=0.0))
    for column in cuts.T:
        place = column[arm]
        inside = (place > left + smallest) & (place < right - smallest)
        arm = np.concatenate([arm, arm[inside]])
        left, right = (
            np.concatenate([left, place[inside]]),
            np.concatenate([np.where(inside, place, right), right[inside]]),
        )
    order = np.lexsort((left, arm))
    return Pieces(arm[order], left[order], right[order])


def build_curves(
    evaluate: Evaluate,
    pieces: Pieces,
    domain: tuple[float, float],
    names: list[str],
    grid: FloatArray,
    on_grid: FloatArray,
) -> tuple[Curves, Curves]:
    """Return the curves of the means and their inverses, on the unit scale.

    ``evaluate(arms, thetas)`` is elementwise and monotone in theta. ``pieces`` are the first
    segments. ``names`` are the names of the arms' means in messages. The curves agree with the
    means ``on_grid``.
    """
    length, n_arms = domain[1] - domain[0], len(names)

    def is_accurate(arm: IntArray, theta: FloatArray, mean: FloatArray) -> BoolArray:
        return _is_accurate(theta, mean, length)

    for _ in range(_MAX_BUILDS):
        nodes = _split(evaluate, pieces, domain, is_accurate, names, "theta")
        curves = pack(*nodes, n_arms)
        missed = missed_places(curves, grid, on_grid)
        if missed.size == 0:
            break
        pieces = cut_pieces(pieces, missed)
    _refuse_rounding(curves, names)
    return curves, pack_inverse(*nodes, n_arms, domain)


def build_plain(
    evaluate: Evaluate,
    pieces: Pieces,
    domain: tuple[float, float],
    rounding: Evaluate,
    names: list[str],
    argument: str,
    grid: FloatArray,
    on_grid: FloatArray,
) -> tuple[Curves, Nodes]:
    """Return curves of any shape on the unit scale, and their nodes.

    Args:
        evaluate: ``evaluate(arms, arguments)``, elementwise.
        pieces: The first segments. Kinks should lie on their edges.
        domain: The interval that the pieces of every arm cover.
        rounding: ``rounding(arms, arguments)``, the size of the values' rounding errors.
        names: The names of the arms' curves in messages.
        argument: The name of the argument in messages.
        grid: Points at which the curves must agree with the values.
        on_grid: The values at these points, one row per arm.
    """

    def is_accurate(arm: IntArray, x: FloatArray, y: FloatArray) -> BoolArray:
        error = _forward_error(x, y, monotone=False)
        good = error <= MEAN_TOLERANCE
        bad = np.flatnonzero(~good)
        # The nodes have rounding errors too, and the polynomial need not follow them.
        if bad.size:
            noise = 8.0 * rounding(arm[bad, None], x[bad]).max(axis=1)
            good[bad] = error[bad] <= np.minimum(noise, _MAX_NOISE)
        return np.asarray(good)

    for _ in range(_MAX_BUILDS):
        nodes = _split(evaluate, pieces, domain, is_accurate, names, argument)
        curves = pack(*nodes, len(names), monotone=False)
        missed = missed_places(curves, grid, on_grid)
        if missed.size == 0:
            break
        pieces = cut_pieces(pieces, missed)
    return curves, nodes


def missed_places(curves: Curves, grid: FloatArray, on_grid: FloatArray) -> FloatArray:
    """Return the places to cut so that the curves follow features that the grid shows.

    The result has one row per arm, filled up with nan. Each run of grid points that the curve
    misses is cut at its two neighbours and in its middle.
    """
    n_arms = len(curves.low)
    found: list[list[float]] = [[] for _ in range(n_arms)]
    for arms in arm_chunks(n_arms, grid.size):
        off = np.abs(evaluate_grid(curves, arms, grid) - on_grid[arms]) > _MISSED_TOLERANCE
        for row in np.flatnonzero(off.any(axis=1)):
            padded = np.concatenate([[False], off[row], [False]]).astype(int)
            for first, stop in np.flatnonzero(np.diff(padded)).reshape(-1, 2):
                last = min(stop, grid.size - 1)
                found[arms[row]] += [grid[max(first - 1, 0)], grid[(first + last) // 2], grid[last]]
    width = max(len(places) for places in found)
    rows = np.full((n_arms, width), np.nan)
    for arm, places in enumerate(found):
        rows[arm, : len(places)] = places
    return rows


def _refuse_rounding(curves: Curves, names: list[str]) -> None:
    """Raise an error for a mean that changes only by rounding errors on the unit scale."""
    rise = np.abs(curves.at_high - curves.at_low)
    rounding = _ROUNDING * np.maximum(np.abs(curves.at_high), np.abs(curves.at_low))
    lost = np.flatnonzero(rise < rounding)
    if lost.size:
        arm = lost[0]
        raise ModelError(
            f"{names[arm]} must change by at least {rounding[arm]:.2g} of the reward range over "
            f"the domain to differ from rounding, got {rise[arm]:.2g} (is reward_range too wide?)"
        )


# Splitting into segments.


def _split(
    evaluate: Evaluate,
    pieces: Pieces,
    domain: tuple[float, float],
    is_accurate: _Accurate,
    names: list[str],
    argument: str,
) -> Nodes:
    """Split the pieces until the polynomial of each segment is accurate."""
    low, high = domain
    arm, left, right = pieces
    done: list[tuple[IntArray, FloatArray, FloatArray]] = []
    n_done = 0
    for n_rounds in range(_MAX_ROUNDS):
        middle = 0.5 * (left + right)
        if n_rounds > _N_HALVINGS:
            # A segment at an end is still inaccurate: the slope vanishes or is infinite there.
            middle = np.where(left == low, left + _END_SHARE * (right - left), middle)
            middle = np.where(right == high, right - _END_SHARE * (right - left), middle)
        x = _sample_points(left, right)
        y = evaluate(arm[:, None], x)
        good = is_accurate(arm, x, y)
        atomic = (middle <= left) | (middle >= right)
        _refuse_jumps(evaluate, arm, x, y, atomic & ~good, domain, names, argument)
        keep = good | atomic
        nodes = slice(0, DEGREE + 1)
        done.append((arm[keep], x[keep, nodes], y[keep, nodes]))
        n_done += int(keep.sum())
        arm, left, middle, right = arm[~keep], left[~keep], middle[~keep], right[~keep]
        if arm.size == 0:
            break
        if n_done + arm.size > _MAX_SEGMENTS_PER_ARM * len(names):
            raise ModelError(
                f"{names[arm[0]]} must be smooth enough to tabulate, "
                f"fails near {argument} = {left[0]:.6g}"
            )
        arm = np.repeat(arm, 2)
        left, right = (
            np.column_stack([left, middle]).ravel(),
            np.column_stack([middle, right]).ravel(),
        )
    else:
        raise ModelError(
            f"{names[arm[0]]} must be tabulated, fails near {argument} = {left[0]:.6g}"
        )
    arms = np.concatenate([part[0] for part in done])
    xs = np.concatenate([part[1] for part in done])
    ys = np.concatenate([part[2] for part in done])
    order = np.lexsort((xs[:, 0], arms))
    return Nodes(arms[order], xs[order], ys[order])


def _sample_points(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return each segment's nodes, then the points between them; end points are exact."""
    x = 0.5 * (right - left)[:, None] * (_SAMPLES + 1.0)
    x += left[:, None]
    x[:, DEGREE] = right
    return x


def _forward_error(x: FloatArray, y: FloatArray, monotone: bool = True) -> FloatArray:
    """Return the largest error of each segment's polynomial at the points between the nodes."""
    nodes, between = slice(0, DEGREE + 1), slice(DEGREE + 1, None)

    def of_rows(x: FloatArray, y: FloatArray) -> FloatArray:
        fitted, argument = fit(x[:, nodes], y[:, nodes], monotone)
        error = np.abs(polynomial(fitted, argument(x[:, between])) - y[:, between])
        return np.asarray(error.max(axis=1))

    return _by_rows(of_rows, x, y)


def _by_rows(
    of_rows: Callable[[FloatArray, FloatArray], FloatArray], x: FloatArray, y: FloatArray
) -> FloatArray:
    """Apply a function of rows to a few rows at a time."""
    size = _POINTS_PER_CHUNK // (DEGREE + 1)
    starts = range(0, max(len(x), 1), size)
    return np.concatenate([of_rows(x[i : i + size], y[i : i + size]) for i in starts])


def _is_accurate(theta: FloatArray, mean: FloatArray, length: float) -> BoolArray:
    """Whether both polynomials of each segment are accurate between the nodes."""
    forward = _forward_error(theta, mean) <= MEAN_TOLERANCE
    error = _forward_error(mean, theta)
    rise = np.abs(mean[:, DEGREE] - mean[:, 0])
    width = theta[:, DEGREE] - theta[:, 0]
    # If the curve is so flat that rounding of the mean moves the inverse by more than the
    # tolerance, the inverse can only be as accurate as the mean's digits.
    rounding = 4.0 * _EPS * np.abs(mean).max(axis=1)
    noise = rise <= 64.0 * rounding
    backward = (error <= INVERSE_TOLERANCE * length) | (error * rise <= rounding * width) | noise
    return np.asarray(forward & backward)


def _refuse_jumps(
    evaluate: Evaluate,
    arm: IntArray,
    x: FloatArray,
    y: FloatArray,
    suspects: BoolArray,
    domain: tuple[float, float],
    names: list[str],
    argument: str,
) -> None:
    """Raise an error if a segment that cannot be halved any more contains a jump.

    A steep curve may also rise much between two neighbouring floats, but it rises clearly more
    over a thousand of them. A jump does not.
    """
    rise = np.abs(y[:, DEGREE] - y[:, 0])
    for index in np.flatnonzero(suspects & (rise > _MIN_JUMP)):
        left, right = x[index, 0], x[index, DEGREE]
        reach = 512.0 * np.spacing(max(abs(left), abs(right)))
        around = np.clip([left - reach, right + reach], *domain)
        wide = np.abs(np.diff(evaluate(np.full(2, arm[index]), around))).item()
        if rise[index] > _MAX_STEEP_RISE or wide < _STEEP_FACTOR * rise[index]:
            raise ModelError(
                f"{names[arm[index]]} must be continuous enough to tabulate, jumps by "
                f"{rise[index]:.3g} of the whole range at {argument} = {left:.6g}"
            )


# The polynomials of the segments.


def fit(
    x: FloatArray, y: FloatArray, monotone: bool = True
) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """Return the coefficients of each row's polynomial in u = (x - middle) * scale.

    The second result maps x to u. In a monotone curve equal neighbours are rounding errors; in
    other curves they may be an extremum.
    """
    first, last = x[:, 0], x[:, -1]
    middle = 0.5 * (first + last)
    half = 0.5 * np.abs(last - first)
    scale = np.divide(1.0, half, out=np.zeros_like(half), where=half > 0.0)

    def argument(values: FloatArray) -> FloatArray:
        return np.asarray((values - middle[:, None]) * scale[:, None])

    u = argument(x)
    # Rows of nodes, so that every operation runs over a long contiguous array.
    # The table is overwritten, so it is a copy even of a single row.
    node, table = np.ascontiguousarray(u.T), np.array(y.T, order="C")
    # Newton's divided differences. Nodes that rounding makes equal have a zero difference.
    for order in range(1, DEGREE + 1):
        spacing = node[order:] - node[:-order]
        rise = table[order:] - table[order - 1 : -1]
        distinct = spacing != 0.0
        if distinct.all():
            table[order:] = rise / spacing
        else:
            table[order:] = np.divide(rise, spacing, out=np.zeros_like(rise), where=distinct)
    # From Newton's form to powers of u, by Horner's scheme on polynomials.
    powers = np.zeros_like(table)
    powers[0] = table[DEGREE]
    for order in range(DEGREE - 1, -1, -1):
        # The polynomial has DEGREE - order terms so far, and gets one more.
        n_terms = DEGREE - order
        scaled = powers[:n_terms] * node[order]
        powers[1 : n_terms + 1] = powers[:n_terms]
        powers[0] = 0.0
        powers[:n_terms] -= scaled
        powers[0] += table[order]
    return _straighten(np.ascontiguousarray(powers.T), u, y, monotone), argument


def _straighten(powers: FloatArray, u: FloatArray, y: FloatArray, monotone: bool) -> FloatArray:
    """Use a line where nodes coincide, because a polynomial through noise oscillates."""
    u_step, y_step = np.diff(u, axis=1), np.diff(y, axis=1)
    equal = (np.abs(u_step) < 1e-9) | (monotone & (y_step == 0.0))
    wild = np.asarray(equal.any(axis=1))
    if not wild.any():
        return powers
    line = np.zeros_like(powers)
    line[:, 0] = 0.5 * (y[:, 0] + y[:, -1])
    rise = 0.5 * (y[:, -1] - y[:, 0])
    line[:, 1] = np.where(u[:, -1] >= u[:, 0], rise, -rise)
    return np.where(wild[:, None], line, powers)


def polynomial(coefficients: FloatArray, u: FloatArray) -> FloatArray:
    """Evaluate each row's polynomial at the row's arguments."""
    terms, at = np.ascontiguousarray(coefficients.T), np.ascontiguousarray(u.T)
    value = np.zeros_like(at)
    for order in range(DEGREE, -1, -1):
        value *= at
        value += terms[order]
    return np.ascontiguousarray(value.T)


def pack(
    arms: IntArray, x: FloatArray, y: FloatArray, n_arms: int, monotone: bool = True
) -> Curves:
    """Return the segments, sorted by arm and x, as flat arrays."""
    coefficients = _by_rows(lambda x, y: fit(x, y, monotone)[0], x, y)
    left, right = x[:, 0], x[:, -1]
    half = 0.5 * (right - left)
    scale = np.divide(1.0, half, out=np.zeros_like(half), where=half > 0.0)
    first = np.searchsorted(arms, np.arange(n_arms), side="left")
    last = np.searchsorted(arms, np.arange(n_arms), side="right") - 1
    low, high = left[first].copy(), right[last].copy()
    cell_scale = _N_GUIDE_CELLS / (high - low)
    # The edge of a guide cell lies in the last segment that starts at or before it.
    started = np.zeros((n_arms, _N_GUIDE_CELLS + 1), np.int64)
    edge = np.ceil((left - low[arms]) * cell_scale[arms]).astype(np.int64)
    np.add.at(started, (arms, np.minimum(edge, _N_GUIDE_CELLS)), 1)
    guide = first[:, None] + np.cumsum(started, axis=1) - 1
    return Curves(
        low=low,
        high=high,
        at_low=y[first, 0].copy(),
        at_high=y[last, -1].copy(),
        cell_scale=cell_scale,
        guide=guide,
        left=left.copy(),
        middle=0.5 * (left + right),
        scale=scale,
        coefficients=np.ascontiguousarray(coefficients),
    )


def pack_inverse(
    arms: IntArray, theta: FloatArray, mean: FloatArray, n_arms: int, domain: tuple[float, float]
) -> Curves:
    """Return the inverse curves, from the same nodes with mean and parameter swapped."""
    falling = mean[:, -1] < mean[:, 0]
    if falling.all():
        mean, theta = mean[:, ::-1], theta[:, ::-1]
    elif falling.any():
        mean = np.where(falling[:, None], mean[:, ::-1], mean)
        theta = np.where(falling[:, None], theta[:, ::-1], theta)
    rises = mean[:, -1] > mean[:, 0]
    if not rises.all():
        arms, theta, mean = arms[rises], theta[rises], mean[rises]
    order = np.lexsort((mean[:, 0], arms))
    curves = pack(arms[order], mean[order], theta[order], n_arms)
    # Outside the range of the means the inverse is the nearer end of the domain, even if the
    # curve leaves that end so slowly that rounding makes it flat there.
    increasing = curves.at_high > curves.at_low
    return curves._replace(
        at_low=np.where(increasing, domain[0], domain[1]),
        at_high=np.where(increasing, domain[1], domain[0]),
    )


# Operations on finished curves.


def evaluate_many(curves: Curves, arm: int, x: FloatArray) -> FloatArray:
    """Evaluate one arm's curve at an array, by the same operations as `tables.evaluate`."""
    first, last = curves.guide[arm, 0], curves.guide[arm, -1]
    found = np.searchsorted(curves.left[first : last + 1], x, side="right") - 1 + first
    segment = np.clip(found, first, last)
    c = curves.coefficients[segment]
    inner = np.clip(x, curves.low[arm], curves.high[arm])
    u = (inner - curves.middle[segment]) * curves.scale[segment]
    square = u * u
    low = (c[..., 0] + c[..., 1] * u) + (c[..., 2] + c[..., 3] * u) * square
    high = (c[..., 4] + c[..., 5] * u) + (c[..., 6] + c[..., 7] * u) * square
    value = low + high * (square * square)
    # The comparison is False for nan, which gets the value at the low end.
    value = np.where(x > curves.low[arm], value, curves.at_low[arm])
    return np.asarray(np.where(x >= curves.high[arm], curves.at_high[arm], value))


def evaluate_grid(curves: Curves, arms: IntArray, grid: FloatArray) -> FloatArray:
    """Evaluate the curves of neighbouring arms on one grid; bit-identical to `evaluate_many`.

    The grid is sorted and goes from the low to the high end of the curves.
    """
    first, stop = curves.guide[arms, 0], curves.guide[arms, -1] + 1
    segments = slice(first[0], stop[-1])
    # All grid points of all arms in one row: a segment has those from its left edge to the next.
    start = np.repeat(np.arange(arms.size) * grid.size, np.diff(stop, prepend=first[0]))
    start += np.searchsorted(grid, curves.left[segments])
    n_points = np.diff(start, append=arms.size * grid.size)

    def at_points(column: FloatArray) -> FloatArray:
        return np.repeat(column[segments], n_points).reshape(arms.size, grid.size)

    low, high = curves.low[arms, None], curves.high[arms, None]
    u = (np.clip(grid, low, high) - at_points(curves.middle)) * at_points(curves.scale)
    square = u * u
    c = [at_points(column) for column in curves.coefficients.T]
    base = (c[0] + c[1] * u) + (c[2] + c[3] * u) * square
    rest = (c[4] + c[5] * u) + (c[6] + c[7] * u) * square
    value = base + rest * (square * square)
    value = np.where(grid > low, value, curves.at_low[arms, None])
    return np.asarray(np.where(grid >= high, curves.at_high[arms, None], value))


def stretched(curves: Curves, slope: FloatArray, offset: FloatArray) -> Curves:
    """Return the curves ``slope * curve + offset``, with one slope and one offset per arm."""
    arms = segment_arms(curves)
    coefficients = curves.coefficients * slope[arms][:, None]
    coefficients[:, 0] += offset[arms]
    return curves._replace(
        at_low=slope * curves.at_low + offset,
        at_high=slope * curves.at_high + offset,
        coefficients=coefficients,
    )


def segment_arms(curves: Curves) -> IntArray:
    """Return the arm of each segment, shape (n_segments,)."""
    counts = curves.guide[:, -1] - curves.guide[:, 0] + 1
    return np.repeat(np.arange(len(counts)), counts)


def identity(n_arms: int) -> Curves:
    """Return the identity on [0, 1] for each arm, in one segment."""
    coefficients = np.zeros((n_arms, DEGREE + 1))
    coefficients[:, :2] = 0.5
    arms = np.arange(n_arms)
    return Curves(
        low=np.zeros(n_arms),
        high=np.ones(n_arms),
        at_low=np.zeros(n_arms),
        at_high=np.ones(n_arms),
        cell_scale=np.ones(n_arms),
        guide=np.column_stack([arms, arms]),
        left=np.zeros(n_arms),
        middle=np.full(n_arms, 0.5),
        scale=np.full(n_arms, 2.0),
        coefficients=coefficients,
    )
