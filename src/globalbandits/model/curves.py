"""Monotone functions turned into piecewise polynomials, forwards and backwards.

Each segment is sampled at Chebyshev-Lobatto points of the parameter. The polynomial through
(parameter, mean) approximates the mean; the polynomial through the very same points read the
other way round, (mean, parameter), approximates the inverse: no root is searched for.
Segments are split until both are accurate at points in between. Splitting in the parameter
grades the mesh towards ends where the slope vanishes or explodes.
"""

from collections.abc import Callable

import numpy as np

from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits.errors import ModelError
from globalbandits.model.tables import DEGREE, Curves

Evaluate = Callable[[IntArray, FloatArray], FloatArray]

MEAN_TOLERANCE = 1e-12  # of the unit reward range
INVERSE_TOLERANCE = 1e-11  # of the domain's length
_N_FIRST = 4  # segments an arm starts with
_N_GUIDE = 64
_MAX_ROUNDS = 400
_N_PATIENT = 4  # rounds of plain halving before segments at the ends are graded faster
_GRADING = 1.0 / 16.0
_LARGEST_STEP = 1e-2  # of the unit range: a jump in an unsplittable segment
_EPS = float(np.finfo(float).eps)

_LOBATTO = -np.cos(np.pi * np.arange(DEGREE + 1) / DEGREE)
_BETWEEN = 0.5 * (_LOBATTO[1:] + _LOBATTO[:-1])
_SAMPLES = np.concatenate([_LOBATTO, _BETWEEN])


def build_curves(
    evaluate: Evaluate, n_arms: int, domain: tuple[float, float], names: list[str]
) -> tuple[Curves, Curves]:
    """The mean curves and their inverses, for means on the unit scale.

    ``evaluate(arms, thetas)`` is elementwise and monotone in theta; ``names`` are what messages
    call each arm's mean.
    """
    low, high = domain
    length = high - low
    edges = np.linspace(low, high, _N_FIRST + 1)
    arm = np.repeat(np.arange(n_arms), _N_FIRST)
    left, right = np.tile(edges[:-1], n_arms), np.tile(edges[1:], n_arms)
    done: list[tuple[IntArray, FloatArray, FloatArray]] = []
    for n_rounds in range(_MAX_ROUNDS):
        middle = 0.5 * (left + right)
        if n_rounds > _N_PATIENT:
            # Still not done at an end of the domain: the slope vanishes or explodes there.
            middle = np.where(left == low, left + _GRADING * (right - left), middle)
            middle = np.where(right == high, right - _GRADING * (right - left), middle)
        theta = _sample_points(left, right)
        mean = evaluate(arm[:, None], theta)
        good = _is_accurate(theta, mean, length)
        atomic = (middle <= left) | (middle >= right)
        _refuse_jumps(arm, theta, mean, atomic & ~good, names)
        keep = good | atomic
        nodes = slice(0, DEGREE + 1)
        done.append((arm[keep], theta[keep, nodes], mean[keep, nodes]))
        arm, left, middle, right = arm[~keep], left[~keep], middle[~keep], right[~keep]
        if arm.size == 0:
            break
        arm = np.repeat(arm, 2)
        left, right = (
            np.column_stack([left, middle]).ravel(),
            np.column_stack([middle, right]).ravel(),
        )
    else:
        raise ModelError(f"{names[arm[0]]} must be tabulated, fails near theta = {left[0]:.6g}")
    arms = np.concatenate([part[0] for part in done])
    thetas = np.concatenate([part[1] for part in done])
    means = np.concatenate([part[2] for part in done])
    order = np.lexsort((thetas[:, 0], arms))
    arms, thetas, means = arms[order], thetas[order], means[order]
    return _pack(arms, thetas, means, n_arms), _pack_inverse(arms, thetas, means, n_arms, domain)


def _sample_points(left: FloatArray, right: FloatArray) -> FloatArray:
    """Nodes, then the points between them, for each segment; end points exact."""
    theta = left[:, None] + 0.5 * (right - left)[:, None] * (_SAMPLES + 1.0)
    theta[:, DEGREE] = right
    return theta


def _is_accurate(theta: FloatArray, mean: FloatArray, length: float) -> BoolArray:
    """Whether both polynomials of each segment hit the points between the nodes."""
    nodes, between = slice(0, DEGREE + 1), slice(DEGREE + 1, None)
    fitted, argument = _fit(theta[:, nodes], mean[:, nodes])
    error = np.abs(_polynomial(fitted, argument(theta[:, between])) - mean[:, between])
    forward = error.max(axis=1) <= MEAN_TOLERANCE

    fitted, argument = _fit(mean[:, nodes], theta[:, nodes])
    error = np.abs(_polynomial(fitted, argument(mean[:, between])) - theta[:, between]).max(axis=1)
    rise = np.abs(mean[:, DEGREE] - mean[:, 0])
    width = theta[:, DEGREE] - theta[:, 0]
    # Where the curve is so flat that rounding of the mean moves the inverse by more than the
    # tolerance, the inverse is as good as the mean's own digits allow.
    rounding = 4.0 * _EPS * np.abs(mean).max(axis=1)
    noise = rise <= 64.0 * rounding
    backward = (error <= INVERSE_TOLERANCE * length) | (error * rise <= rounding * width) | noise
    return np.asarray(forward & backward)


def _refuse_jumps(
    arm: IntArray, theta: FloatArray, mean: FloatArray, suspects: BoolArray, names: list[str]
) -> None:
    """An interval that cannot be halved any more must not hold a visible jump."""
    jump = np.abs(mean[:, DEGREE] - mean[:, 0])
    for index in np.flatnonzero(suspects & (jump > _LARGEST_STEP)):
        raise ModelError(
            f"{names[arm[index]]} must be continuous enough to tabulate, "
            f"jumps by {jump[index]:.3g} of the reward range at theta = {theta[index, 0]:.6g}"
        )


def _fit(x: FloatArray, y: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """Coefficients of the polynomial through (x, y) in u = (x - middle) * scale, row by row."""
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
    powers = _straighten(powers, u, y)
    return powers, argument


def _straighten(powers: FloatArray, u: FloatArray, y: FloatArray) -> FloatArray:
    """Use a straight line where nodes coincide: a polynomial through rounding noise wiggles."""
    u_step, y_step = np.diff(u, axis=1), np.diff(y, axis=1)
    wild = (np.abs(u_step) < 1e-9).any(axis=1) | (np.abs(y_step) == 0.0).any(axis=1)
    if not wild.any():
        return powers
    line = np.zeros_like(powers)
    line[:, 0] = 0.5 * (y[:, 0] + y[:, -1])
    rise = 0.5 * (y[:, -1] - y[:, 0])
    line[:, 1] = np.where(u[:, -1] >= u[:, 0], rise, -rise)
    return np.where(wild[:, None], line, powers)


def _polynomial(coefficients: FloatArray, u: FloatArray) -> FloatArray:
    """Each row's polynomial at the row's arguments."""
    value = np.zeros_like(u)
    for order in range(DEGREE, -1, -1):
        value = value * u + coefficients[:, order : order + 1]
    return value


def _pack(arms: IntArray, x: FloatArray, y: FloatArray, n_arms: int) -> Curves:
    """Segments sorted by arm and x, as the flat arrays a loop reads."""
    coefficients, _ = _fit(x, y)
    left, right = x[:, 0], x[:, -1]
    half = 0.5 * (right - left)
    scale = np.divide(1.0, half, out=np.zeros_like(half), where=half > 0.0)
    first = np.searchsorted(arms, np.arange(n_arms), side="left")
    last = np.searchsorted(arms, np.arange(n_arms), side="right") - 1
    low, high = left[first].copy(), right[last].copy()
    cell_scale = _N_GUIDE / (high - low)
    # A guide cell's edge lies in the segment before the first one that starts after it.
    guide = np.empty((n_arms, _N_GUIDE + 1), np.int64)
    position = (left - low[arms]) * cell_scale[arms] + arms * (_N_GUIDE + 2.0)
    for edge in range(_N_GUIDE + 1):
        wanted = np.arange(n_arms) * (_N_GUIDE + 2.0) + edge
        guide[:, edge] = np.searchsorted(position, wanted, side="right") - 1
    guide = np.clip(guide, first[:, None], last[:, None])
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


def _pack_inverse(
    arms: IntArray, theta: FloatArray, mean: FloatArray, n_arms: int, domain: tuple[float, float]
) -> Curves:
    """The inverse curves: the same nodes with the roles swapped, each arm in rising order."""
    falling = mean[:, -1] < mean[:, 0]
    mean = np.where(falling[:, None], mean[:, ::-1], mean)
    theta = np.where(falling[:, None], theta[:, ::-1], theta)
    rises = mean[:, -1] > mean[:, 0]
    arms, theta, mean = arms[rises], theta[rises], mean[rises]
    order = np.lexsort((mean[:, 0], arms))
    curves = _pack(arms[order], mean[order], theta[order], n_arms)
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
    u = (x - curves.middle[segment]) * curves.scale[segment]
    square = u * u
    low = (c[..., 0] + c[..., 1] * u) + (c[..., 2] + c[..., 3] * u) * square
    high = (c[..., 4] + c[..., 5] * u) + (c[..., 6] + c[..., 7] * u) * square
    value = low + high * (square * square)
    value = np.where(x <= curves.low[arm], curves.at_low[arm], value)
    return np.asarray(np.where(x >= curves.high[arm], curves.at_high[arm], value))
