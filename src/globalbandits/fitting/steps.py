"""The steps of the fit, each closed or one Newton step.

Notation, for group g, arm k, point q of the grid: n rewards with mean y, curve f, responsibility
w, and the effective count ``m = n / (phi + n rho)``, in which rewards of one cell count less the
more the groups have errors of their own.
"""

from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.fitting.arms import ArmScale
from globalbandits.fitting.fitted import (
    Fitted,
    Shrinkage,
    curve_table,
    log_curves,
    normal_weights,
)
from globalbandits.fitting.panel import Panel

RIDGE = 1e-3
LONGEST_STEP = 1.5
TAU_RANGE = (1e-4, 1e4)
PSEUDO_GROUPS = 10.0
NARROWEST_KERNEL = 0.25
POOLED_GROUPS = 30.0  # groups' worth of all arms' rho in each arm's
POOLED_REWARDS = 2.0  # degrees of freedom of all arms' phi in each arm's
RHO_FLOOR = 1e-6
RHO_LARGEST = 0.5
PHI_FLOOR = 1e-6


def effective_counts(panel: Panel, rho: FloatArray, phi: FloatArray) -> FloatArray:
    """m: the number of independent coins that a cell's rewards are worth."""
    return np.asarray(panel.counts / np.maximum(phi + panel.counts * rho, PHI_FLOOR))


def responsibilities(panel: Panel, fitted: Fitted) -> FloatArray:
    """E step: the posterior of every group over the grid, shape (n_groups, n_points)."""
    logs = joint_logs(panel, fitted)
    logs -= logs.max(axis=1, keepdims=True)
    np.exp(logs, out=logs)
    logs /= logs.sum(axis=1, keepdims=True)
    return logs


def joint_logs(panel: Panel, fitted: Fitted) -> FloatArray:
    """Log pi_q + sum_k m (y log f + (1 - y) log(1 - f)): shape (n_groups, n_points)."""
    counts = effective_counts(panel, fitted.rho, fitted.phi)
    successes = counts * panel.means
    log_f, log_not_f = log_curves(fitted)
    with np.errstate(divide="ignore"):
        prior = np.log(fitted.weights)
    return np.asarray(prior + successes @ log_f.T + (counts - successes) @ log_not_f.T)


def improve_curves(
    counts: FloatArray, successes: FloatArray, fitted: Fitted, scale: ArmScale
) -> Fitted:
    """M step: one Newton step of (a, c), never one that lowers what it climbs.

    Args:
        counts: N = w' m, shape (n_points, n_arms).
        successes: S = w' (m y).
        fitted: Where it starts from, and how strongly arms are pulled to a straight line.
        scale: Says what a straight line over the arms is.
    """
    n_arms = fitted.a.size
    z = fitted.grid
    eye = np.eye(n_arms)
    pull_a = scale.bends / fitted.shrinkage.tau_a + RIDGE * eye
    pull_c = scale.bends / fitted.shrinkage.tau_c + RIDGE * eye
    residual = successes - counts * fitted.curves
    information = counts * fitted.curves * (1 - fitted.curves)
    data = np.zeros((2 * n_arms, 2 * n_arms))
    first, second = np.arange(n_arms), np.arange(n_arms, 2 * n_arms)
    data[first, first] = information.sum(axis=0)
    data[second, second] = z**2 @ information
    data[first, second] = data[second, first] = z @ information
    hessian = data.copy()
    hessian[:n_arms, :n_arms] += pull_a
    hessian[n_arms:, n_arms:] += pull_c
    slope = np.concatenate([residual.sum(axis=0), z @ residual])
    slope -= np.concatenate([pull_a @ fitted.a, pull_c @ fitted.c])
    covariance: FloatArray = np.linalg.inv(hessian).astype(np.float64)
    step = covariance @ slope
    step *= min(1.0, LONGEST_STEP / max(float(np.abs(step).max()), 1e-300))

    def height(a: FloatArray, c: FloatArray) -> float:
        logits = a + z[:, None] * c
        likelihood = np.sum(successes * logits - counts * np.logaddexp(0.0, logits))
        return float(likelihood - 0.5 * (a @ pull_a @ a + c @ pull_c @ c))

    start = height(fitted.a, fitted.c)
    step_a, step_c = step[:n_arms], step[n_arms:]
    halves = (0.5**number for number in range(30))
    part = next(
        (
            each
            for each in halves
            if height(fitted.a + each * step_a, fitted.c + each * step_c) >= start
        ),
        0.0,
    )
    a, c = fitted.a + part * step_a, fitted.c + part * step_c
    edf = float(np.sum(covariance * data)) / n_arms
    taus = [
        renew_tau(vector, covariance[part, part], scale)
        for vector, part in ((a, slice(0, n_arms)), (c, slice(n_arms, 2 * n_arms)))
    ]
    return with_curves(fitted, a, c)._replace(shrinkage=Shrinkage(*taus), edf=edf)


def renew_tau(vector: FloatArray, covariance: FloatArray, scale: ArmScale) -> float:
    """Variance of the arms around a straight line, uncertainty of the vector included."""
    if scale.n_bends < 1:
        return 1.0
    bent = float(vector @ scale.bends @ vector) + float(np.sum(scale.bends * covariance))
    return min(max(bent / scale.n_bends, TAU_RANGE[0]), TAU_RANGE[1])


def renew_weights(posteriors: FloatArray, fitted: Fitted) -> FloatArray:
    """The population: the average posterior, smoothed without getting wider.

    Ten pseudo-groups are added. Fitted curves have the standard Normal's, which fixes the scale
    of z; where the user gave the curves, theta has a scale of its own, and they come from the
    Normal with the mean and the spread of the average posterior.
    """
    grid, n_groups = fitted.grid, posteriors.shape[0]
    average = posteriors.mean(axis=0)
    centre = float(average @ grid)
    spread = float(np.sqrt(average @ (grid - centre) ** 2))
    width = max(NARROWEST_KERNEL, 0.9 * n_groups**-0.2)
    pseudo = normal_weights(grid)
    if fitted.given:
        step = float(grid[1] - grid[0])
        width = max(width * spread, step)
        pseudo = normal_weights((grid - centre) / max(spread, step))
    shrink = np.sqrt(max(0.0, 1.0 - (width / max(spread, 1e-12)) ** 2))
    points = centre + shrink * (grid - centre)
    kernel = np.exp(-0.5 * ((grid[:, None] - points) / width) ** 2)
    smooth = (kernel / kernel.sum(axis=0)) @ average
    return np.asarray((n_groups * smooth + PSEUDO_GROUPS * pseudo) / (n_groups + PSEUDO_GROUPS))


class Residuals(NamedTuple):
    """Per cell, given the responsibilities: shape (n_groups, n_arms) each."""

    squared: FloatArray  # R = E_w (y - f)^2
    variance: FloatArray  # V = E_w f (1 - f)


def residuals(panel: Panel, posteriors: FloatArray, curves: FloatArray) -> Residuals:
    """How far the cells are from the curves, and a coin's variance there."""
    first = posteriors @ curves
    second = posteriors @ curves**2
    squared = np.maximum(panel.means**2 - 2 * panel.means * first + second, 0.0)
    return Residuals(squared, np.maximum(first - second, 1e-300))


def renew_phi(panel: Panel, cells: Residuals) -> FloatArray:
    """Noise of one reward in units of a coin's, pulled a little to that of all arms."""
    degrees = np.maximum(panel.counts - 1, 0.0)
    expected = (degrees * cells.variance).sum(axis=0)
    found = panel.within.sum(axis=0)
    if expected.sum() <= 0.0:  # one reward per cell: all of it is called bias
        return np.full(panel.n_arms, PHI_FLOOR)
    everywhere = found.sum() / expected.sum()
    freedom = degrees.sum(axis=0)
    own = np.divide(found, expected, out=np.zeros_like(found), where=expected > 0)
    phi = (freedom * own + POOLED_REWARDS * everywhere) / (freedom + POOLED_REWARDS)
    return np.asarray(np.clip(phi, PHI_FLOOR, 1.0))


def rho_moments(
    panel: Panel, cells: Residuals, rho: FloatArray, phi: FloatArray, edf: float
) -> tuple[FloatArray, FloatArray]:
    """Numerator and denominator of every arm's rho: shape (n_arms,) each.

    ``rho_k = Σ m² (R G_k / (G_k - edf) - phi V / n) / Σ m² V``; for coins, whose noise is
    ``(1 - rho) / n``, with ``V / n`` above and ``V (1 - 1/n)`` below.
    """
    weight = effective_counts(panel, rho, phi) ** 2
    n = np.maximum(panel.counts, 1.0)
    used = panel.tried.sum(axis=0)
    enlarged = cells.squared * (used / np.maximum(used - edf, 1.0))
    if panel.binary:
        noise, share = cells.variance / n, cells.variance * (1 - 1 / n)
        weight = weight * (panel.counts > 1)  # a single coin says nothing about errors
    else:
        noise, share = phi * cells.variance / n, cells.variance
    return (weight * (enlarged - noise)).sum(axis=0), (weight * share).sum(axis=0)


def renew_rho(
    panel: Panel, cells: Residuals, rho: FloatArray, phi: FloatArray, edf: float
) -> FloatArray:
    """The groups' own errors per arm, pulled to that of all arms; no arm becomes exact."""
    above, below = rho_moments(panel, cells, rho, phi, edf)
    if below.sum() <= 0.0:
        return np.full(panel.n_arms, RHO_FLOOR)
    everywhere = above.sum() / below.sum()
    own = np.divide(above, below, out=np.full(below.size, everywhere), where=below > 0)
    used = (panel.counts > 1 if panel.binary else panel.tried).sum(axis=0)
    pulled = (used * own + POOLED_GROUPS * everywhere) / (used + POOLED_GROUPS)
    floor = max(everywhere / 4, RHO_FLOOR)
    return np.asarray(np.clip(pulled, min(floor, RHO_LARGEST), RHO_LARGEST))


def with_curves(fitted: Fitted, a: FloatArray, c: FloatArray) -> Fitted:
    """The same population with other curves."""
    return fitted._replace(a=a, c=c, curves=curve_table(a, c, fitted.grid))
