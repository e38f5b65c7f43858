"""The user's own curves, tested against the history: only the rest is learned from it."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.errors import FitError
from globalbandits.fitting.arms import ArmScale
from globalbandits.fitting.factor import MOST_STEPS, climb
from globalbandits.fitting.fitted import GRID, Fitted, Shrinkage
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.start import PHI, RHO

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

_END = 1e-9  # curves are kept this far from 0 and 1, where a single reward could refute them


class GivenCurves(NamedTuple):
    """A model's means on the grid, on the unit scale of the history's rewards."""

    curves: FloatArray  # (n_points, n_arms)
    domain: tuple[float, float]


def read_curves(model: "RewardModel", panel: Panel) -> GivenCurves:
    """The model's means at the middles of equal cells of its domain, for the panel's arms."""
    places = {arm: place for place, arm in enumerate(model.arms)}
    for arm in panel.arms:
        if arm not in places:
            known = ", ".join(repr(each) for each in model.arms)
            raise FitError(f"curves must have the history's arm {arm!r}, has: {known}")
    low, high = model.domain
    middles = low + (high - low) * (np.arange(GRID.size) + 0.5) / GRID.size
    means = model.means(middles)[:, [places[arm] for arm in panel.arms]]
    bottom, top = panel.reward_range
    unit = (means - bottom) / (top - bottom)
    if unit.min() < -_END or unit.max() > 1 + _END:
        raise FitError(
            f"curves must lie in the history's reward_range [{bottom:g}, {top:g}], "
            f"got means from {means.min():.6g} to {means.max():.6g}"
        )
    return GivenCurves(np.clip(unit, _END, 1 - _END), (low, high))


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
