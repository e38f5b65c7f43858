"""Do groups differ at all, beyond the noise of their rewards?"""

from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.fitting.panel import Panel

_LARGE = 1e5  # rewards of an arm from which on its statistic is as spread as a chi²


class Homogeneity(NamedTuple):
    """Pearson's statistic of cells against pooled means, and how likely it is by chance."""

    statistic: float
    freedom: int
    p_value: float  # nan where the noise of a reward cannot be told

    def differ(self, level: float = 0.05) -> bool:
        """Whether the groups differ measurably; nan counts as yes."""
        return not self.p_value > level


def check_homogeneity(panel: Panel) -> Homogeneity:
    """Compare every cell with its arm's mean over all groups.

    For coins ``Σ n (y - p_k)² / (p_k (1 - p_k))``. Where cells are small this is not a chi²; the
    p-value is that of the scaled chi² with its exact mean and variance. For other rewards the
    arms' variances within cells take the place of p (1 - p), and the p-value is that of an F.
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
    moments = [coin_moments(n[panel.tried[:, arm], arm], panel.sums[:, arm].sum()) for arm in arms]
    mean, spread = np.sum(moments, axis=0).tolist()
    if spread <= 1e-9 * mean:  # single coins: the statistic is the same however they fall
        return Homogeneity(statistic, freedom, 1.0)
    stretch = spread / (2 * mean)
    p_value = stats.chi2.sf(statistic / stretch, mean / stretch)
    return Homogeneity(statistic, freedom, float(p_value))


def coin_moments(counts: FloatArray, ones: float) -> tuple[float, float]:
    """Mean and variance of one arm's statistic if its ones fell on cells by chance.

    With T = Σ x² / n over cells with x ones among n, the statistic is
    ``N² / (a b) (T - a² / N)`` for a ones and b others, N together. The moments of T follow
    from E x_i(x_i - 1)... x_j(x_j - 1)..., those of a multivariate hypergeometric.
    """
    n, cells = counts, counts.size
    total = float(n.sum())
    if total > _LARGE:
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
