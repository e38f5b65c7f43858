"""Pearson's test of homogeneity: do groups differ beyond the noise of their rewards?"""

from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.fitting.panel import Panel

MAX_EXACT_REWARDS = 1e5  # with more rewards of an arm, its statistic has the moments of a chi²


class Homogeneity(NamedTuple):
    """Pearson's statistic of cells against pooled means, and its p-value."""

    statistic: float
    freedom: int
    p_value: float  # nan if the noise of a reward is not identified

    def differ(self, level: float = 0.05) -> bool:
        """Say whether the groups differ significantly; a p-value of nan counts as yes."""
        return not self.p_value > level


def check_homogeneity(panel: Panel) -> Homogeneity:
    """Compare every cell with its arm's mean over all groups.

    The statistic of 0/1 rewards is ``Σ n (y - p_k)² / (p_k (1 - p_k))``. With small cells it is not
    chi² distributed; the p-value comes from the scaled chi² with its exact mean and variance. For
    other rewards the arms' variances within cells replace p (1 - p), and the p-value comes from
    an F distribution.
    """
    from scipy import stats

    n, pooled = panel.counts, panel.pooled
    deviations = (n * (panel.means - pooled) ** 2).sum(axis=0)
    degrees = np.maximum(n - 1, 0.0).sum(axis=0)
    if panel.binary:
        variance = pooled * (1 - pooled)
    else:
        variance = panel.within.sum(axis=0) / np.maximum(degrees, 1.0)
    arms = np.flatnonzero(variance > 0)
    freedom = int((panel.tried.sum(axis=0) - 1)[arms].sum())
    if freedom < 1:
        return Homogeneity(0.0, 0, 1.0 if panel.binary else float("nan"))
    statistic = float((deviations[arms] / variance[arms]).sum())
    if not panel.binary:
        ratio = stats.f.sf(statistic / freedom, freedom, degrees[arms].sum())
        return Homogeneity(statistic, freedom, float(ratio))
    moments = [
        bernoulli_moments(n[panel.tried[:, arm], arm], panel.sums[:, arm].sum()) for arm in arms
    ]
    mean, spread = np.sum(moments, axis=0).tolist()
    # With one 0/1 reward per cell the statistic is constant.
    if spread <= 1e-9 * mean:
        return Homogeneity(statistic, freedom, 1.0)
    stretch = spread / (2 * mean)
    p_value = stats.chi2.sf(statistic / stretch, mean / stretch)
    return Homogeneity(statistic, freedom, float(p_value))


def bernoulli_moments(counts: FloatArray, ones: float) -> tuple[float, float]:
    """Return mean and variance of one arm's statistic if its ones are distributed at random.

    With T = Σ x² / n over cells with x ones among n, the statistic is
    ``N² / (a b) (T - a² / N)`` for a ones and b others, N together. The moments of T follow
    from E x_i(x_i - 1)... x_j(x_j - 1)..., those of a multivariate hypergeometric.
    """
    n, cells = counts, counts.size
    total = float(n.sum())
    if total > MAX_EXACT_REWARDS:
        return cells - 1.0, 2.0 * (cells - 1.0)
    below = np.arange(4)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(total > below, (ones - below) / (total - below), 0.0)
    p1, p2, p3, p4 = np.cumprod(ratios)
    less = n - 1
    mean = less.sum() * p2 + cells * p1
    own = less * (n - 2) * (n - 3) / n * p4 + 6 * less * (n - 2) / n * p3 + 7 * less / n * p2
    pairs = (
        (less.sum() ** 2 - (less**2).sum()) * p4
        + 2 * (cells - 1) * less.sum() * p3
        + cells * (cells - 1) * p2
    )
    variance = (own + p1 / n).sum() + pairs - mean**2
    scale = total**2 / (ones * (total - ones))
    return scale * (mean - ones**2 / total), max(scale**2 * variance, 0.0)
