"""Where the fit starts: pooled means, and the main directions in which groups differ."""

import numpy as np
from scipy.special import logit

from globalbandits._types import FloatArray
from globalbandits.fitting.fitted import (
    GRID,
    ONE_POINT,
    Fitted,
    Shrinkage,
    curve_table,
    normal_weights,
)
from globalbandits.fitting.panel import Panel

PRIOR_REWARDS = 4.0
RHO = 0.02
PHI = 0.2


def starts(panel: Panel, number: int) -> list[Fitted]:
    """Fits to start from, one for each of the first singular vectors of the cells' logits."""
    pooled = smooth_pooled(panel)
    cells = (panel.counts * panel.means + PRIOR_REWARDS * pooled) / (panel.counts + PRIOR_REWARDS)
    deviations = np.where(panel.tried, logit(cells) - logit(pooled), 0.0)
    weight = np.sqrt(panel.counts.mean(axis=0))
    _, values, directions = np.linalg.svd(deviations * weight, full_matrices=False)
    found = []
    for value, direction in list(zip(values, directions, strict=True))[:number]:
        spread = value / np.sqrt(panel.n_groups)
        slopes = spread * direction / np.maximum(weight, 1e-12)
        found.append(build(panel, logit(pooled), upright(slopes), GRID))
    return found


def flat_start(panel: Panel) -> Fitted:
    """Every arm for itself: no number is shared, so the grid is one point."""
    a = logit(smooth_pooled(panel))
    return build(panel, a, np.zeros(panel.n_arms), ONE_POINT)


def build(panel: Panel, a: FloatArray, c: FloatArray, grid: FloatArray) -> Fitted:
    """A fit with given curves, and the first guess of everything else."""
    n_arms = panel.n_arms
    return Fitted(
        a=a,
        c=c,
        rho=np.full(n_arms, RHO),
        phi=np.full(n_arms, 1.0 - RHO if panel.binary else PHI),
        weights=normal_weights(grid),
        grid=grid,
        curves=curve_table(a, c, grid),
        binary=panel.binary,
        shrinkage=Shrinkage(1.0, 1.0),
        edf=0.0,
        n_steps=0,
    )


def upright(slopes: FloatArray) -> FloatArray:
    """The slopes with the sign that makes the steepest one positive."""
    steepest = slopes[np.argmax(np.abs(slopes))]
    return -slopes if steepest < 0 else slopes


def smooth_pooled(panel: Panel) -> FloatArray:
    """Pooled means, kept off 0 and 1 by one reward of a half."""
    counts = panel.counts.sum(axis=0)
    return np.asarray((panel.sums.sum(axis=0) + 0.5) / (counts + 1.0))
