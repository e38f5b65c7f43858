"""Polynomials through the nodes of segments, and the flat arrays a loop reads them from."""

from collections.abc import Callable

import numpy as np

from globalbandits._types import FloatArray, IntArray
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
