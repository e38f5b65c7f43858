"""Polynomials through the nodes of segments, and the flat arrays a loop reads them from."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits.errors import ModelError
from globalbandits.model.tables import DEGREE, Curves

_N_GUIDE = 64


def fit(
    x: FloatArray, y: FloatArray, monotone: bool = True
) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """Coefficients of the polynomial through (x, y) in u = (x - middle) * scale, row by row.

    In a monotone curve equal neighbours are rounding, in any other they may be a turn.
    """
    first, last = x[:, 0], x[:, -1]
    middle = 0.5 * (first + last)
    half = 0.5 * np.abs(last - first)
    scale = np.divide(1.0, half, out=np.zeros_like(half), where=half > 0.0)

    def argument(values: FloatArray) -> FloatArray:
        return np.asarray((values - middle[:, None]) * scale[:, None])

    u = argument(x)
    table = y.copy()
    # Newton's divided differences; equal nodes (rounding) leave a zero difference.
    for order in range(1, DEGREE + 1):
        spacing = u[:, order:] - u[:, :-order]
        rise = table[:, order:] - table[:, order - 1 : -1]
        table[:, order:] = np.divide(rise, spacing, out=np.zeros_like(rise), where=spacing != 0.0)
    # Newton form to powers of u, by Horner's scheme on polynomials.
    powers = np.zeros_like(table)
    powers[:, 0] = table[:, DEGREE]
    for order in range(DEGREE - 1, -1, -1):
        shifted = np.zeros_like(powers)
        shifted[:, 1:] = powers[:, :-1]
        powers = shifted - powers * u[:, order : order + 1]
        powers[:, 0] += table[:, order]
    powers = _straighten(powers, u, y, monotone)
    return powers, argument


def _straighten(powers: FloatArray, u: FloatArray, y: FloatArray, monotone: bool) -> FloatArray:
    """Use a straight line where nodes coincide: a polynomial through rounding noise wiggles."""
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
    """Each row's polynomial at the row's arguments."""
    value = np.zeros_like(u)
    for order in range(DEGREE, -1, -1):
        value = value * u + coefficients[:, order : order + 1]
    return value


def pack(
    arms: IntArray, x: FloatArray, y: FloatArray, n_arms: int, monotone: bool = True
) -> Curves:
    """Segments sorted by arm and x, as the flat arrays a loop reads."""
    coefficients, _ = fit(x, y, monotone)
    left, right = x[:, 0], x[:, -1]
    half = 0.5 * (right - left)
    scale = np.divide(1.0, half, out=np.zeros_like(half), where=half > 0.0)
    first = np.searchsorted(arms, np.arange(n_arms), side="left")
    last = np.searchsorted(arms, np.arange(n_arms), side="right") - 1
    low, high = left[first].copy(), right[last].copy()
    cell_scale = _N_GUIDE / (high - low)
    # A guide cell's edge lies in the last segment that starts at it or before.
    started = np.zeros((n_arms, _N_GUIDE + 1), np.int64)
    edge = np.ceil((left - low[arms]) * cell_scale[arms]).astype(np.int64)
    np.add.at(started, (arms, np.minimum(edge, _N_GUIDE)), 1)
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
    """The inverse curves: the same nodes with the roles swapped, each arm in rising order."""
    falling = mean[:, -1] < mean[:, 0]
    mean = np.where(falling[:, None], mean[:, ::-1], mean)
    theta = np.where(falling[:, None], theta[:, ::-1], theta)
    rises = mean[:, -1] > mean[:, 0]
    arms, theta, mean = arms[rises], theta[rises], mean[rises]
    order = np.lexsort((mean[:, 0], arms))
    curves = pack(arms[order], mean[order], theta[order], n_arms)
    # Beyond the range of the means lies the nearer end of the domain, also where the curve
    # leaves that end so slowly that rounding makes it flat there.
    increasing = curves.at_high > curves.at_low
    return curves._replace(
        at_low=np.where(increasing, domain[0], domain[1]),
        at_high=np.where(increasing, domain[1], domain[0]),
    )


def evaluate_many(curves: Curves, arm: int, x: FloatArray) -> FloatArray:
    """`tables.evaluate` for an array of arguments, by the same operations."""
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
    value = np.where(x > curves.low[arm], value, curves.at_low[arm])  # nan ends at the low end
    return np.asarray(np.where(x >= curves.high[arm], curves.at_high[arm], value))


def stretched(curves: Curves, slope: FloatArray, offset: FloatArray) -> Curves:
    """The curves ``slope * curve + offset``, with one slope and one offset per arm."""
    arms = segment_arms(curves)
    coefficients = curves.coefficients * slope[arms][:, None]
    coefficients[:, 0] += offset[arms]
    return curves._replace(
        at_low=slope * curves.at_low + offset,
        at_high=slope * curves.at_high + offset,
        coefficients=coefficients,
    )


def segment_arms(curves: Curves) -> IntArray:
    """The arm each segment belongs to: shape (n_segments,)."""
    counts = curves.guide[:, -1] - curves.guide[:, 0] + 1
    return np.repeat(np.arange(len(counts)), counts)


def identity(n_arms: int) -> Curves:
    """For each arm the curve from [0, 1] to itself, in one segment."""
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


_OFF = 1e-8  # of the unit range: a curve that is further off has missed something
_CHUNK = 500  # arms looked at together


def missed_places(
    evaluate: Callable[[IntArray, FloatArray], FloatArray], curves: Curves, grid: FloatArray
) -> FloatArray:
    """Where to cut so that features seen on the grid are met: a row per arm, nan for none.

    Each run of grid points that the curve misses is enclosed by its two neighbours, and cut in
    its middle.
    """
    n_arms = len(curves.low)
    found: list[list[float]] = [[] for _ in range(n_arms)]
    for start in range(0, n_arms, _CHUNK):
        arms = np.arange(start, min(start + _CHUNK, n_arms))
        values = evaluate(arms[:, None], np.broadcast_to(grid, (arms.size, grid.size)))
        table = np.stack([evaluate_many(curves, arm, grid) for arm in arms.tolist()])
        off = np.abs(table - values) > _OFF
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


# Functions of one number turned into piecewise polynomials, forwards and backwards.
#
# Each segment is sampled at Chebyshev-Lobatto points of the parameter. The polynomial through
# (parameter, mean) approximates the mean; the polynomial through the very same points read the
# other way round, (mean, parameter), approximates the inverse: no root is searched for. Segments
# are split until both are accurate at points in between. Splitting in the parameter grades the
# mesh towards ends where the slope vanishes or explodes.
#
# What a decision is worth need not be monotone and has no inverse: `build_plain` looks at the
# curve alone, from the pieces it is given.

Evaluate = Callable[[IntArray, FloatArray], FloatArray]
_Accurate = Callable[[IntArray, FloatArray, FloatArray], BoolArray]  # of arm, x, y: a segment each

MEAN_TOLERANCE = 1e-12  # of the unit reward range
INVERSE_TOLERANCE = 1e-11  # of the domain's length
_N_FIRST = 4  # segments an arm starts with
_MAX_ROUNDS = 400
_MOST_BUILDS = 4
_N_PATIENT = 4  # rounds of plain halving before segments at the ends are graded faster
_GRADING = 1.0 / 16.0
_MOST_SEGMENTS = 4_000  # an arm, on average: beyond, a curve is noise
_LARGEST_STEP = 1e-2  # of the unit range: a rise over one bit that is too large to be slope
_SMALLEST_JUMP = 1e-8  # of the unit range
_STEEPER = 1.2
_ROUNDING = 64.0 * float(np.finfo(float).eps)  # of a mean: less is no change
_LARGEST_NOISE = 1e-4  # of the unit range: more is not rounding but a jump
_EPS = float(np.finfo(float).eps)

_LOBATTO = -np.cos(np.pi * np.arange(DEGREE + 1) / DEGREE)
_BETWEEN = 0.5 * (_LOBATTO[1:] + _LOBATTO[:-1])
_SAMPLES = np.concatenate([_LOBATTO, _BETWEEN])


class Pieces(NamedTuple):
    """Parts of the arms' intervals to start from; a row per part, sorted by arm and place."""

    arm: IntArray
    left: FloatArray
    right: FloatArray


class Nodes(NamedTuple):
    """What the segments were made from, sorted by arm and place."""

    arm: IntArray  # (n_segments,)
    x: FloatArray  # (n_segments, 8)
    y: FloatArray  # (n_segments, 8)


def even_pieces(
    n_arms: int, domain: tuple[float, float], knots: FloatArray | None = None
) -> Pieces:
    """A few equal parts of the domain for every arm, or the parts between all arms' knots."""
    edges = np.linspace(*domain, _N_FIRST + 1)
    if knots is not None:
        inner = knots[(knots > domain[0]) & (knots < domain[1])]
        edges = np.concatenate([[domain[0]], inner, [domain[1]]])
    arm = np.repeat(np.arange(n_arms), edges.size - 1)
    return Pieces(arm, np.tile(edges[:-1], n_arms), np.tile(edges[1:], n_arms))


def cut_pieces(pieces: Pieces, cuts: FloatArray) -> Pieces:
    """The parts cut further at the arms' own places: one row of ``cuts`` per arm, nan for none."""
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
) -> tuple[Curves, Curves]:
    """The mean curves and their inverses, for means on the unit scale.

    ``evaluate(arms, thetas)`` is elementwise and monotone in theta; ``pieces`` are where to
    start from; ``names`` are what messages call each arm's mean. The curves agree with the means
    on ``grid``.
    """
    length, n_arms = domain[1] - domain[0], len(names)

    def is_accurate(arm: IntArray, theta: FloatArray, mean: FloatArray) -> BoolArray:
        return _is_accurate(theta, mean, length)

    for _ in range(_MOST_BUILDS):
        nodes = _split(evaluate, pieces, domain, is_accurate, names, "theta")
        curves = pack(*nodes, n_arms)
        missed = missed_places(evaluate, curves, grid)
        if missed.size == 0:
            break
        pieces = cut_pieces(pieces, missed)
    _refuse_rounding(curves, names)
    return curves, pack_inverse(*nodes, n_arms, domain)


def _refuse_rounding(curves: Curves, names: list[str]) -> None:
    """A mean that changes by a few last bits on the unit scale has no inverse there."""
    rise = np.abs(curves.at_high - curves.at_low)
    rounding = _ROUNDING * np.maximum(np.abs(curves.at_high), np.abs(curves.at_low))
    lost = np.flatnonzero(rise < rounding)
    if lost.size:
        arm = lost[0]
        raise ModelError(
            f"{names[arm]} must change by at least {rounding[arm]:.2g} of the reward range over "
            f"the domain to be told from rounding, got {rise[arm]:.2g} (is reward_range too wide?)"
        )


def build_plain(
    evaluate: Evaluate,
    pieces: Pieces,
    domain: tuple[float, float],
    rounding: Evaluate,
    names: list[str],
    argument: str,
    grid: FloatArray,
) -> tuple[Curves, Nodes]:
    """Curves of any shape on the unit scale, and the nodes they were made from.

    Args:
        evaluate: ``evaluate(arms, arguments)``, elementwise.
        pieces: Where to start from: kinks belong on the edges.
        domain: The interval all arms' pieces cover.
        rounding: ``rounding(arms, arguments)``, the size of the values' rounding error.
        names: What messages call each arm's curve.
        argument: What messages call the argument.
        grid: Places where the curves must agree with the values.
    """

    def is_accurate(arm: IntArray, x: FloatArray, y: FloatArray) -> BoolArray:
        error = _forward_error(x, y, monotone=False)
        good = error <= MEAN_TOLERANCE
        bad = np.flatnonzero(~good)
        # A polynomial need not follow rounding errors, which its nodes have too.
        if bad.size:
            noise = 8.0 * rounding(arm[bad, None], x[bad]).max(axis=1)
            good[bad] = error[bad] <= np.minimum(noise, _LARGEST_NOISE)
        return np.asarray(good)

    for _ in range(_MOST_BUILDS):
        nodes = _split(evaluate, pieces, domain, is_accurate, names, argument)
        curves = pack(*nodes, len(names), monotone=False)
        missed = missed_places(evaluate, curves, grid)
        if missed.size == 0:
            break
        pieces = cut_pieces(pieces, missed)
    return curves, nodes


def _split(
    evaluate: Evaluate,
    pieces: Pieces,
    domain: tuple[float, float],
    is_accurate: _Accurate,
    names: list[str],
    argument: str,
) -> Nodes:
    """Cut the pieces until the polynomial of each segment is accurate."""
    low, high = domain
    arm, left, right = pieces
    done: list[tuple[IntArray, FloatArray, FloatArray]] = []
    n_done = 0
    for n_rounds in range(_MAX_ROUNDS):
        middle = 0.5 * (left + right)
        if n_rounds > _N_PATIENT:
            # Still not done at an end of the domain: the slope vanishes or explodes there.
            middle = np.where(left == low, left + _GRADING * (right - left), middle)
            middle = np.where(right == high, right - _GRADING * (right - left), middle)
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
        if n_done + arm.size > _MOST_SEGMENTS * len(names):
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
    """Nodes, then the points between them, for each segment; end points exact."""
    x = left[:, None] + 0.5 * (right - left)[:, None] * (_SAMPLES + 1.0)
    x[:, DEGREE] = right
    return x


def _forward_error(x: FloatArray, y: FloatArray, monotone: bool = True) -> FloatArray:
    """By how much each segment's polynomial misses the points between the nodes."""
    nodes, between = slice(0, DEGREE + 1), slice(DEGREE + 1, None)
    fitted, argument = fit(x[:, nodes], y[:, nodes], monotone)
    error = np.abs(polynomial(fitted, argument(x[:, between])) - y[:, between])
    return np.asarray(error.max(axis=1))


def _is_accurate(theta: FloatArray, mean: FloatArray, length: float) -> BoolArray:
    """Whether both polynomials of each segment hit the points between the nodes."""
    forward = _forward_error(theta, mean) <= MEAN_TOLERANCE
    error = _forward_error(mean, theta)
    rise = np.abs(mean[:, DEGREE] - mean[:, 0])
    width = theta[:, DEGREE] - theta[:, 0]
    # Where the curve is so flat that rounding of the mean moves the inverse by more than the
    # tolerance, the inverse is as good as the mean's own digits allow.
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
    """An interval that cannot be halved any more must not hold a jump.

    A steep curve rises by much over the last bit too, but by clearly more over a thousand of
    them; a jump does not.
    """
    rise = np.abs(y[:, DEGREE] - y[:, 0])
    for index in np.flatnonzero(suspects & (rise > _SMALLEST_JUMP)):
        left, right = x[index, 0], x[index, DEGREE]
        reach = 512.0 * np.spacing(max(abs(left), abs(right)))
        around = np.clip([left - reach, right + reach], *domain)
        wide = np.abs(np.diff(evaluate(np.full(2, arm[index]), around))).item()
        if rise[index] > _LARGEST_STEP or wide < _STEEPER * rise[index]:
            raise ModelError(
                f"{names[arm[index]]} must be continuous enough to tabulate, jumps by "
                f"{rise[index]:.3g} of the whole range at {argument} = {left:.6g}"
            )
