"""The user's own curves, tested against the history: only the rest is learned from it."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.errors import FitError
from globalbandits.fitting.arms import ArmScale
from globalbandits.fitting.factor import MOST_STEPS, climb
from globalbandits.fitting.fitted import GRID, Fitted, Shrinkage
from globalbandits.fitting.likelihood import END
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.start import PHI, RHO
from globalbandits.fitting.theta import N_KNOTS, CurveTable
from globalbandits.fitting.worth import Value

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


class GivenCurves(NamedTuple):
    """A model's means on the grid, on the unit scale of the history's rewards."""

    curves: FloatArray  # (n_points, n_arms)
    domain: tuple[float, float]


def read_curves(model: "RewardModel", panel: Panel) -> GivenCurves:
    """The model's means at the middles of equal cells of its domain, for the panel's arms."""
    for arm in panel.arms:
        if arm not in model.arms:
            known = ", ".join(repr(each) for each in model.arms)
            raise FitError(f"curves must have the history's arm {arm!r}, has: {known}")
    low, high = model.domain
    middles = low + (high - low) * (np.arange(GRID.size) + 0.5) / GRID.size
    unit = _unit_means(model, panel, middles)
    if unit.min() < -END or unit.max() > 1 + END:
        bottom, top = panel.reward_range
        raise FitError(
            f"curves must lie in the history's reward_range [{bottom:g}, {top:g}], got means "
            f"from {bottom + (top - bottom) * unit.min():.6g} "
            f"to {bottom + (top - bottom) * unit.max():.6g}"
        )
    return GivenCurves(np.clip(unit, END, 1 - END), (low, high))


def value_of(model: "RewardModel") -> Value | None:
    """What a decision is worth by a model of one's own; None if it is the mean."""
    if not model.valued:
        return None
    low, high = model.reward_range
    return lambda mean, arm: model.worth_of(model.arms.index(arm), np.clip(mean, low, high))


def tabulate_given(model: "RewardModel", panel: Panel) -> CurveTable:
    """The user's curves at knots of theta."""
    theta = np.linspace(*model.domain, N_KNOTS)
    return CurveTable(theta, _unit_means(model, panel, theta), (False,) * panel.n_arms)


def _unit_means(model: "RewardModel", panel: Panel, theta: FloatArray) -> FloatArray:
    """Means of the panel's arms on its unit scale: shape (theta.size, n_arms)."""
    columns = [model.arms.index(arm) for arm in panel.arms]
    low, high = panel.reward_range
    return np.asarray((model.means(theta)[:, columns] - low) / (high - low))


def fit_given(panel: Panel, scale: ArmScale, given: GivenCurves) -> Fitted:
    """Learn the population, noise and errors around curves that stay as they are."""
    n_arms, n_points = panel.n_arms, GRID.size
    unknown = np.full(n_arms, np.nan)
    start = Fitted(
        a=unknown,
        c=unknown,
        rho=np.full(n_arms, RHO),
        phi=np.full(n_arms, 1.0 - RHO if panel.binary else PHI),
        weights=np.full(n_points, 1.0 / n_points),
        grid=GRID,
        curves=given.curves,
        binary=panel.binary,
        shrinkage=Shrinkage(1.0, 1.0),
        edf=0.0,
        n_steps=0,
    )
    return climb(panel, scale, start, MOST_STEPS)
