"""`FittedPopulation`: curves on a grid, how often each point occurs, noise and bias."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from globalbandits._types import FloatArray, IntArray
from globalbandits.fitting.panel import Panel

N_GRID_POINTS = 61
GRID_END = 3.6
GRID: FloatArray = np.linspace(-GRID_END, GRID_END, N_GRID_POINTS)
ONE_POINT: FloatArray = np.zeros(1)
CURVE_MARGIN = 1e-9  # curves keep this distance from 0 and 1, where a Beta has no density
MIN_DRAWN_RHO = 1e-9  # a smaller rho would give a Beta with infinite parameters
MAX_RHO = 0.5
MIN_PHI = 1e-6
MIN_PRIOR_WEIGHT = 1e-12  # of a point that a shifted prior would exclude


class Shrinkage(NamedTuple):
    """Variances of the arms' a and c around a straight line; small ones pull strongly."""

    tau_a: float
    tau_c: float


class Selection(NamedTuple):
    """How groups chose their arms: z is ``Σ_k share_k slopes_k`` plus a deviation.

    ``share_k`` is the share of a group's rewards that come from arm k.
    """

    slopes: FloatArray  # (n_arms,)
    weights: FloatArray  # (n_points,) of the deviation; they sum to 1


class FittedPopulation(NamedTuple):
    """A population of groups: f_k(z) = σ(a_k + c_k z), z distributed with `weights`.

    The mean of n rewards in cell (g, k) has the variance ``f (1 - f) (phi_k / n + rho_k)``.
    ``curves`` holds f; ``a`` and ``c`` are nan if the user gave the curves.
    """

    a: FloatArray  # (n_arms,)
    c: FloatArray  # (n_arms,)
    rho: FloatArray  # (n_arms,) variance of the groups' own errors, in units of f (1 - f)
    phi: FloatArray  # (n_arms,) variance of one reward, in units of f (1 - f)
    weights: FloatArray  # (n_points,) of the population; they sum to 1
    grid: FloatArray  # (n_points,) z
    curves: FloatArray  # (n_points, n_arms) f
    binary: bool
    shrinkage: Shrinkage
    edf: float  # effective number of parameters per arm
    n_steps: int
    # None if groups chose their arms by chance. Only the history's groups need it: the arms of a
    # new group are chosen by a policy.
    selection: Selection | None = None

    @property
    def given(self) -> bool:
        """Whether the curves are the user's own."""
        return bool(np.isnan(self.a).any())

    @property
    def spread(self) -> FloatArray:
        """E_z[f_k (1 - f_k)], the variance of Bernoulli rewards of each arm: shape (n_arms,)."""
        return np.asarray(self.weights @ (self.curves * (1 - self.curves)))

    @property
    def bias(self) -> FloatArray:
        """lambda_k: standard deviation of the groups' own errors, on the unit scale."""
        return np.sqrt(self.rho * self.spread)

    @property
    def bias_scale(self) -> float:
        """Root mean square of the arms' `bias`."""
        return float(np.sqrt(np.mean(self.bias**2)))

    @property
    def noise(self) -> FloatArray:
        """Standard deviation of one reward around its group's mean, on the unit scale."""
        return np.sqrt(self.phi * self.spread)

    @property
    def means(self) -> FloatArray:
        """Mean of each arm over the population, on the unit scale."""
        return np.asarray(self.weights @ self.curves)

    def with_curves(self, a: FloatArray, c: FloatArray) -> "FittedPopulation":
        """Return the same population with other curves."""
        return self._replace(a=a, c=c, curves=curve_table(a, c, self.grid))

    def with_bias_scale(self, bias_scale: float) -> "FittedPopulation":
        """Return the same population with groups' own errors of another size."""
        factor = (bias_scale / self.bias_scale) ** 2
        rho = np.minimum(self.rho * factor, MAX_RHO)
        return self._replace(rho=rho, phi=1.0 - rho if self.binary else self.phi)


def curve_table(a: FloatArray, c: FloatArray, grid: FloatArray) -> FloatArray:
    """Return f_k(z) on the grid: shape (n_points, n_arms)."""
    return np.asarray(expit(a + grid[:, None] * c))


def log_curves(fitted: FittedPopulation) -> tuple[FloatArray, FloatArray]:
    """Return log f and log(1 - f), with full precision where f is near 0 or 1."""
    if fitted.given:
        return np.log(fitted.curves), np.log1p(-fitted.curves)
    logits = fitted.a + fitted.grid[:, None] * fitted.c
    return np.asarray(log_expit(logits)), np.asarray(log_expit(-logits))


def prior_weights(panel: Panel, fitted: FittedPopulation) -> FloatArray:
    """Return the prior of a history's groups over the grid: (n_points,), or a row per group."""
    if fitted.selection is None:
        return fitted.weights
    shares = panel.counts / np.maximum(panel.counts.sum(axis=1, keepdims=True), 1.0)
    return shifted(fitted.selection.weights, fitted.grid, shares @ fitted.selection.slopes)


def shifted(weights: FloatArray, grid: FloatArray, shifts: FloatArray) -> FloatArray:
    """Move distributions on a grid by linear interpolation: shape (n_shifts, n_points).

    Args:
        weights: One distribution, or one per shift.
        grid: Equally spaced.
        shifts: How far each is moved.
    """
    n_points, step = grid.size, float(grid[1] - grid[0])
    places = np.arange(n_points) - shifts[:, None] / step
    left = np.floor(places).astype(np.int64)
    part = places - left
    rows = np.broadcast_to(weights, places.shape)
    padded = np.pad(rows, ((0, 0), (1, 1)))

    def at(index: IntArray) -> FloatArray:
        return np.take_along_axis(padded, np.clip(index + 1, 0, n_points + 1), axis=1)

    moved = (1 - part) * at(left) + part * at(left + 1) + MIN_PRIOR_WEIGHT
    return np.asarray(moved / moved.sum(axis=1, keepdims=True))


def weighted_quantiles(
    values: FloatArray, weights: FloatArray, levels: tuple[float, ...]
) -> FloatArray:
    """Return quantiles of the columns of values whose rows have weights: (n_levels, n_columns).

    >>> weighted_quantiles(np.array([[1.0], [3.0], [2.0]]), np.array([0.2, 0.2, 0.6]), (0.5,))
    array([[2.]])
    """
    order = np.argsort(values, axis=0, kind="stable")
    sorted_values = np.take_along_axis(values, order, axis=0)
    below = np.cumsum(weights[order], axis=0)
    found = [np.argmax(below >= level * below[-1], axis=0) for level in levels]
    return np.array([np.take_along_axis(sorted_values, row[None], axis=0)[0] for row in found])


def normal_weights(grid: FloatArray) -> FloatArray:
    """Return the standard Normal density on the grid, normalised to sum 1."""
    density = np.exp(-0.5 * grid**2)
    return np.asarray(density / density.sum())


def effective_counts(panel: Panel, rho: FloatArray, phi: FloatArray) -> FloatArray:
    """Return m: how many independent Bernoulli rewards carry a cell's information."""
    return np.asarray(panel.counts / np.maximum(phi + panel.counts * rho, MIN_PHI))


class DrawnGroups(NamedTuple):
    """New groups, on the unit scale."""

    points: IntArray  # (n_groups,) index on the grid
    curves: FloatArray  # (n_groups, n_arms) means by the shared number alone
    means: FloatArray  # (n_groups, n_arms) means with the group's own errors


def draw_groups(fitted: FittedPopulation, n_groups: int, rng: np.random.Generator) -> DrawnGroups:
    """Draw z from the population, and the group's own error around every curve.

    The mean of arm k is Beta with mean f_k(z) and variance ``rho_k f (1 - f)``.
    """
    below = np.cumsum(fitted.weights)
    points = np.searchsorted(below / below[-1], rng.random(n_groups), side="right").astype(np.int64)
    curves = fitted.curves[points]
    rho = np.maximum(fitted.rho, MIN_DRAWN_RHO)
    precision = (1.0 - rho) / rho
    inside = np.clip(curves, CURVE_MARGIN, 1.0 - CURVE_MARGIN)
    means = rng.beta(precision * inside, precision * (1.0 - inside))
    return DrawnGroups(points, curves, means)
