"""What a fit says about single groups: their number, their arms, and whether they fit."""

from typing import NamedTuple

import numpy as np

from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits.fitting.fitted import Fitted
from globalbandits.fitting.likelihood import cell_logs
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.steps import effective_counts

SURE = 0.05  # level at which one of all groups, or one of a group's arms, does not fit


def posterior_weights(panel: Panel, fitted: Fitted) -> FloatArray:
    """Posterior of every group over the grid: shape (n_groups, n_points)."""
    with np.errstate(divide="ignore"):
        logs = np.log(fitted.weights) + cell_logs(panel, fitted)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def arm_means(panel: Panel, fitted: Fitted, posteriors: FloatArray) -> FloatArray:
    """Expected mean of every arm in every group, on the unit scale.

    Between the curve and the group's own mean: ``E_w (A f + sum) / (A + n)``, where
    ``A = phi / rho`` rewards of the group's own weigh as much as the curve.
    """
    curve = posteriors @ fitted.curves
    strength = fitted.phi / np.maximum(fitted.rho, 1e-9)
    return np.asarray((strength * curve + panel.sums) / (strength + panel.counts))


class Misfit(NamedTuple):
    """Which groups do not lie on the curves."""

    p_values: FloatArray  # (n_groups,)
    arms_off: IntArray  # (n_groups,) arms that are off by more than noise and usual errors
    groups: BoolArray  # (n_groups,) beyond chance, given how many groups there are


def find_misfits(panel: Panel, fitted: Fitted, posteriors: FloatArray) -> Misfit:
    """Compare every group with the curves at its most likely point.

    ``Σ_k m (y - f)² / (f (1 - f))`` over the arms a group tried is compared with a chi² of as
    many degrees of freedom, at the level .05 divided by the number of groups.
    """
    from scipy import stats

    curves = fitted.curves[np.argmax(posteriors, axis=1)]
    counts = effective_counts(panel, fitted.rho, fitted.phi)
    variance = np.maximum(curves * (1 - curves), 1e-300)
    squared = counts * (panel.means - curves) ** 2 / variance
    tried = panel.tried.sum(axis=1)
    p_values = stats.chi2.sf(squared.sum(axis=1), np.maximum(tried, 1))
    off = stats.chi2.isf(SURE / np.maximum(tried, 1), 1)
    arms_off = (squared > off[:, None]).sum(axis=1)
    return Misfit(p_values, arms_off, np.asarray(p_values < SURE / panel.n_groups))
