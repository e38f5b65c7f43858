"""What a fit knows: curves on a grid, how often which point of it occurs, noise and bias."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from globalbandits._types import FloatArray

N_POINTS = 61
END = 3.6
GRID: FloatArray = np.linspace(-END, END, N_POINTS)
ONE_POINT: FloatArray = np.zeros(1)


class Shrinkage(NamedTuple):
    """How strongly the arms' a and c are pulled to a straight line: variances around it."""

    tau_a: float
    tau_c: float


class Fitted(NamedTuple):
    """A population of groups: f_k(z) = σ(a_k + c_k z), z distributed with `weights`.

    The mean of n rewards in cell (g, k) has the variance ``f (1 - f) (phi_k / n + rho_k)``.
    ``curves`` holds f; ``a`` and ``c`` are nan where the user gave the curves.
    """

    a: FloatArray  # (n_arms,)
    c: FloatArray  # (n_arms,)
    rho: FloatArray  # (n_arms,) the groups' own errors, in units of f (1 - f)
    phi: FloatArray  # (n_arms,) noise of one reward, in units of f (1 - f)
    weights: FloatArray  # (n_points,) of the population; they sum to 1
    grid: FloatArray  # (n_points,) z
    curves: FloatArray  # (n_points, n_arms) f
    binary: bool
    shrinkage: Shrinkage
    edf: float  # effective number of parameters per arm
    n_steps: int

    @property
    def given(self) -> bool:
        """Whether the curves are the user's own."""
        return bool(np.isnan(self.a).any())

    @property
    def spread(self) -> FloatArray:
        """E_z[f_k (1 - f_k)], the variance of a coin with the arm's mean: shape (n_arms,)."""
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


def curve_table(a: FloatArray, c: FloatArray, grid: FloatArray) -> FloatArray:
    """f_k(z) on the grid: shape (n_points, n_arms)."""
    return np.asarray(expit(a + grid[:, None] * c))


def log_curves(fitted: Fitted) -> tuple[FloatArray, FloatArray]:
    """Log f and log(1 - f), without loss where f is near 0 or 1."""
    if fitted.given:
        return np.log(fitted.curves), np.log1p(-fitted.curves)
    logits = fitted.a + fitted.grid[:, None] * fitted.c
    return np.asarray(log_expit(logits)), np.asarray(log_expit(-logits))


def normal_weights(grid: FloatArray) -> FloatArray:
    """The standard Normal on the grid."""
    density = np.exp(-0.5 * grid**2)
    return np.asarray(density / density.sum())
