"""Groups whose unknown numbers are normal in the box of a vector model, fitted by EM.

The posterior of a group is computed on the points of a grid in unit coordinates. Along the main
axis of the groups the same fit has one number.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.errors import FitError
from globalbandits.fitting.estimation.factor_model import (
    INITIAL_PHI,
    INITIAL_RHO,
    residuals,
    responsibilities,
    update_phi,
    update_rho,
)
from globalbandits.fitting.estimation.fitted_population import (
    CURVE_MARGIN,
    FittedPopulation,
    Shrinkage,
)
from globalbandits.fitting.panel import Panel
from globalbandits.model import VectorModel
from globalbandits.model.vector.tabulation import grid_points

N_CELLS = 48  # along each number; a line has N_CELLS**2 / 16 points
MAX_STEPS = 60
STEP_TOLERANCE = 1e-3  # of means and standard deviations, in units of the box; ends the fit
INITIAL_SD = 0.3
# Smallest standard deviation of the groups along a number, as a share of its interval.
MIN_SD = 0.01


class NormalPopulation(NamedTuple):
    """Normal numbers of groups, and the population on the points of the box."""

    mean: FloatArray  # (n_numbers,) in the coordinates of the points
    covariance: FloatArray  # (n_numbers, n_numbers)
    points: FloatArray  # (n_points, n_numbers)
    fitted: FittedPopulation


class Line(NamedTuple):
    """The main axis of a population: ``center + t * direction`` in unit coordinates."""

    center: FloatArray
    direction: FloatArray  # of length 1
    low: float  # the part of t inside the box
    high: float


def fit_box(panel: Panel, model: VectorModel) -> NormalPopulation:
    """Fit normal numbers in the whole box."""
    points = grid_points(model.n_parameters, N_CELLS, middles=True)
    start = np.full(model.n_parameters, 0.5)
    covariance = INITIAL_SD**2 * np.eye(model.n_parameters)
    return _run_em(panel, points, unit_curves(model, panel, points), start, covariance)


def fit_line(panel: Panel, model: VectorModel, line: Line) -> NormalPopulation:
    """Fit one normal number along a line."""
    n_points = N_CELLS**2 // 16
    t = line.low + (line.high - line.low) * (np.arange(n_points) + 0.5) / n_points
    curves = unit_curves(model, panel, line.center + t[:, None] * line.direction)
    sd = INITIAL_SD * (line.high - line.low)
    return _run_em(panel, t[:, None], curves, np.zeros(1), np.array([[sd**2]]))


def main_axis(population: NormalPopulation) -> Line:
    """Return the line through the mean along which groups differ most."""
    direction = np.linalg.eigh(population.covariance)[1][:, -1]
    direction = direction * np.sign(direction[np.argmax(np.abs(direction))])
    center = np.clip(population.mean, 0.0, 1.0)
    moving = np.abs(direction) > 1e-9
    ends = np.stack([-center, 1.0 - center])[:, moving] / direction[moving]
    ends = np.sort(ends, axis=0)
    return Line(center, direction, float(ends[0].max()), float(ends[1].min()))


def unit_curves(model: VectorModel, panel: Panel, points: FloatArray) -> FloatArray:
    """Return the means of the panel's arms at points of the box, on the panel's unit scale."""
    for arm in panel.arms:
        if arm not in model.arms:
            known = ", ".join(repr(each) for each in model.arms)
            raise FitError(f"curves must have the history's arm {arm!r}, has: {known}")
    columns = [model.arms.index(arm) for arm in panel.arms]
    low, high = panel.reward_range
    means = model.means(model.from_unit(np.clip(points, 0.0, 1.0)))[:, columns]
    if means.min() < low - CURVE_MARGIN or means.max() > high + CURVE_MARGIN:
        raise FitError(
            f"curves must lie in the history's reward_range [{low:g}, {high:g}], got means from "
            f"{means.min():.6g} to {means.max():.6g}"
        )
    return np.clip((means - low) / (high - low), CURVE_MARGIN, 1.0 - CURVE_MARGIN)


def without_excess(panel: Panel, curves: FloatArray) -> Panel:
    """Return the panel with the rewards of each cell limited to what the grid can resolve.

    A cell with more rewards would determine its mean more exactly than the distance of
    neighbouring points. That precision carries no information about how groups differ.
    """
    span = np.maximum(curves.max(axis=0) - curves.min(axis=0), 1e-3)
    most = (N_CELLS / (2.0 * span)) ** 2
    share = np.minimum(1.0, most / np.maximum(panel.counts, 1.0))
    return dataclasses.replace(
        panel,
        counts=share * panel.counts,
        sums=share * panel.sums,
        squares=share * panel.squares,
    )


def _run_em(
    panel: Panel,
    points: FloatArray,
    curves: FloatArray,
    mean: FloatArray,
    covariance: FloatArray,
) -> NormalPopulation:
    """Take EM steps until mean and standard deviations have converged."""
    panel = without_excess(panel, curves)
    unknown = np.full(panel.n_arms, np.nan)
    fitted = FittedPopulation(
        a=unknown,
        c=unknown,
        rho=np.full(panel.n_arms, INITIAL_RHO),
        phi=np.full(panel.n_arms, 1.0 - INITIAL_RHO if panel.binary else INITIAL_PHI),
        weights=_normal_weights(points, mean, covariance),
        grid=np.zeros(len(points)),
        curves=curves,
        binary=panel.binary,
        shrinkage=Shrinkage(1.0, 1.0),
        edf=0.0,
        n_steps=0,
    )
    least = MIN_SD**2 * np.eye(points.shape[1])
    for _ in range(MAX_STEPS):
        before = np.concatenate([mean, np.sqrt(np.diag(covariance))])
        posteriors = responsibilities(panel, fitted)
        own = posteriors @ points
        mean = own.mean(axis=0)
        second = np.einsum("gp,pi,pj->ij", posteriors, points, points, optimize=True)
        covariance = second / len(own) - np.outer(mean, mean) + least
        cells = residuals(panel, posteriors, curves)
        phi = fitted.phi if panel.binary else update_phi(panel, cells)
        rho = update_rho(panel, cells, fitted.rho, phi, fitted.edf)
        fitted = fitted._replace(
            weights=_normal_weights(points, mean, covariance),
            rho=rho,
            phi=1.0 - rho if panel.binary else phi,
            n_steps=fitted.n_steps + 1,
        )
        after = np.concatenate([mean, np.sqrt(np.diag(covariance))])
        if np.abs(after - before).max() < STEP_TOLERANCE:
            break
    return NormalPopulation(mean, covariance, points, fitted)


def _normal_weights(points: FloatArray, mean: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return a normal density on the points, which sums to 1."""
    away = points - mean
    logs = -0.5 * np.einsum("pi,ij,pj->p", away, np.linalg.inv(covariance), away)
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())
