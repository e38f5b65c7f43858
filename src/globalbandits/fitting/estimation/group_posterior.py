"""Single groups under a fitted population: likelihood, posterior, expected means and misfit."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, logsumexp

from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits.errors import FitError
from globalbandits.fitting.decision_value import Worth
from globalbandits.fitting.estimation.curve_model import ThetaScale
from globalbandits.fitting.estimation.fitted_population import (
    CURVE_MARGIN,
    FittedPopulation,
    effective_counts,
    log_curves,
    prior_weights,
)
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.panel.rows import (
    HistoryColumns,
    column_names,
    panel_from_table,
    panels_from_rows,
    read_columns,
)

MIN_RHO_OF_BETA = 1e-9  # with a smaller rho, cells of 0/1 rewards are binomial
MISFIT_LEVEL = 0.05  # of the tests for misfits, over all groups and over a group's arms
INTERVAL_LEVELS = np.array([0.05, 0.5, 0.95])  # of theta: a 90 % interval and the median


def log_scores(panel: Panel, fitted: FittedPopulation) -> FloatArray:
    """Return log Σ_q pi_q Π_k p(cell | f_kq, rho_k, phi_k) per group: shape (n_groups,).

    p is beta-binomial with precision (1 - rho) / rho for 0/1 rewards, and Normal otherwise. The
    binomial coefficient is left out; it is the same for every fit.
    """
    return np.asarray(logsumexp(_joint_logs(panel, fitted), axis=1))


def posterior_weights(panel: Panel, fitted: FittedPopulation) -> FloatArray:
    """Return the posterior of every group over the grid: shape (n_groups, n_points)."""
    logs = _joint_logs(panel, fitted)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _joint_logs(panel: Panel, fitted: FittedPopulation) -> FloatArray:
    """Return log pi_q + Σ_k log p(cell | f_kq, ...): shape (n_groups, n_points)."""
    total = np.zeros((panel.n_groups, fitted.grid.size))
    log_f, log_not_f = log_curves(fitted)
    inside = np.clip(fitted.curves, CURVE_MARGIN, 1 - CURVE_MARGIN)
    for arm in range(panel.n_arms):
        rows = np.flatnonzero(panel.tried[:, arm])
        n, total_reward = panel.counts[rows, arm, None], panel.sums[rows, arm, None]
        f, rho = inside[:, arm], float(fitted.rho[arm])
        if not panel.binary:
            variance = f * (1 - f) * (fitted.phi[arm] / n + rho)
            error = total_reward / n - f
            logs = -0.5 * (error**2 / variance + np.log(2 * np.pi * variance))
        elif rho < MIN_RHO_OF_BETA:
            logs = total_reward * log_f[:, arm] + (n - total_reward) * log_not_f[:, arm]
        else:
            precision = (1 - rho) / rho
            yes, no = precision * f, precision * (1 - f)
            logs = betaln(total_reward + yes, n - total_reward + no) - betaln(yes, no)
        total[rows] += logs
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(prior_weights(panel, fitted)) + total)


def arm_means(panel: Panel, fitted: FittedPopulation, posteriors: FloatArray) -> FloatArray:
    """Return the expected mean of every arm in every group, on the unit scale.

    It lies between the curve and the group's own mean: ``E_w (A f + sum) / (A + n)``, where the
    curve has the weight of ``A = phi / rho`` rewards.
    """
    curve = posteriors @ fitted.curves
    strength = fitted.phi / np.maximum(fitted.rho, 1e-9)
    return np.asarray((strength * curve + panel.sums) / (strength + panel.counts))


class Misfit(NamedTuple):
    """Which groups do not lie on the curves."""

    p_values: FloatArray  # (n_groups,)
    arms_off: IntArray  # (n_groups,) number of arms off by more than noise and bias explain
    groups: BoolArray  # (n_groups,) significant after correction for the number of groups


def find_misfits(panel: Panel, fitted: FittedPopulation, posteriors: FloatArray) -> Misfit:
    """Compare every group with the curves at its most likely point.

    ``Σ_k m (y - f)² / (f (1 - f))`` over the arms a group tried is compared with a chi² with as
    many degrees of freedom, at the level .05 divided by the number of groups.
    """
    from scipy import stats

    curves = fitted.curves[np.argmax(posteriors, axis=1)]
    counts = effective_counts(panel, fitted.rho, fitted.phi)
    variance = np.maximum(curves * (1 - curves), 1e-300)
    squared = counts * (panel.means - curves) ** 2 / variance
    tried = panel.tried.sum(axis=1)
    p_values = stats.chi2.sf(squared.sum(axis=1), np.maximum(tried, 1))
    off = stats.chi2.isf(MISFIT_LEVEL / np.maximum(tried, 1), 1)
    arms_off = (squared > off[:, None]).sum(axis=1)
    return Misfit(p_values, arms_off, np.asarray(p_values < MISFIT_LEVEL / panel.n_groups))


@dataclasses.dataclass(frozen=True)
class GroupPosterior:
    """A group's number and arms, given its rewards.

    Attributes:
        theta: Median of the group's number.
        interval: 90 % interval of the group's number.
        means: Expected mean reward per arm, in the rewards' units.
        worth: What these means are worth.
        best: The arm with the largest worth.
    """

    theta: float
    interval: tuple[float, float]
    means: dict[Any, float]
    worth: dict[Any, float]
    best: Any


def group_panel(rows: Any, reference: Panel, columns: HistoryColumns) -> Panel:
    """Aggregate the rows of one group into a panel with the arms of a reference panel."""
    names = column_names(rows)
    arm, reward, trials = columns.arm, columns.reward, columns.trials
    if reward is None or (reward not in names and "n" in names):
        reward = None
        wanted = [arm, "n", "mean"] + (["variance"] if "variance" in names else [])
    else:
        wanted = [arm, reward, *([] if trials is None else [trials])]
    taken = dict(zip(wanted, read_columns(rows, wanted), strict=True))
    if taken[arm].size == 0:
        none = np.zeros((1, reference.n_arms))
        return dataclasses.replace(reference, counts=none, sums=none, squares=none, groups=(0,))
    group = "\0group"
    taken[group] = np.zeros(taken[arm].size, np.int64)
    if reward is None:
        found = panel_from_table(taken, group=group, arm=arm, reward_range=reference.reward_range)
    else:
        bounds = reference.reward_range if trials is None else None
        own = HistoryColumns(group, arm, reward, reward_range=bounds, trials=trials)
        found, _ = panels_from_rows(taken, own)
    if reference.binary and not found.binary:
        low, high = reference.reward_range
        raise FitError(f"rewards must be {low:g} or {high:g}, as in the history")
    for each in found.arms:
        if each not in reference.arms:
            known = ", ".join(repr(known) for known in reference.arms)
            raise FitError(f"arm {each!r} must be one of the model's: {known}")
    whole = found.with_arms(reference.arms)
    # One group shows too little of how rows vary: the history's dispersion is used.
    scale = whole.dispersion / reference.dispersion
    return dataclasses.replace(
        whole,
        counts=scale * whole.counts,
        sums=scale * whole.sums,
        squares=scale * whole.squares,
        binary=reference.binary,
        dispersion=reference.dispersion,
    )


def group_posterior(
    panel: Panel, fitted: FittedPopulation, scale: ThetaScale, worth: Worth
) -> GroupPosterior:
    """Return the posterior of a panel's only group."""
    weights = posterior_weights(panel, fitted)
    low, middle, high = scale.quantiles(weights, INTERVAL_LEVELS)[0].tolist()
    unit = arm_means(panel, fitted, weights)[0]
    bottom, top = panel.reward_range
    valued = worth(unit)
    return GroupPosterior(
        theta=middle,
        interval=(low, high),
        means=dict(zip(panel.arms, (bottom + (top - bottom) * unit).tolist(), strict=True)),
        worth=dict(zip(panel.arms, valued.tolist(), strict=True)),
        best=panel.arms[int(valued.argmax())],
    )
