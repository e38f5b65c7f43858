"""Do groups differ at all, beyond the noise of their rewards?"""

from typing import NamedTuple

import numpy as np

from globalbandits.fitting.panel import Panel


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

    For coins ``Σ n (y - p_k)² / (p_k (1 - p_k))``. Where cells are small its variance is not
    that of a chi² but ``Σ 2 + (1 - 6 p (1 - p)) / (n p (1 - p))``; the p-value is that of the
    scaled chi² with the right mean and variance. For other rewards the arms' variances within
    cells take the place of p (1 - p), and the p-value is that of an F.
    """
    from scipy import stats

    n, pooled = panel.counts, panel.pooled
    deviations = (n * (panel.means - pooled) ** 2).sum(axis=0)
    used = panel.tried.sum(axis=0)
    if panel.binary:
        variance = pooled * (1 - pooled)
    else:
        degrees = np.maximum(n - 1, 0.0).sum(axis=0)
        variance = panel.within.sum(axis=0) / np.maximum(degrees, 1.0)
    counted = variance > 0
    freedom = int((used[counted] - 1).sum())
    if freedom < 1:
        return Homogeneity(0.0, 0, 1.0 if panel.binary else float("nan"))
    statistic = float((deviations[counted] / variance[counted]).sum())
    if not panel.binary:
        ratio = stats.f.sf(statistic / freedom, freedom, degrees[counted].sum())
        return Homogeneity(statistic, freedom, float(ratio))
    cells = panel.tried[:, counted]
    extra = (1 - 6 * variance[counted]) / (np.maximum(n[:, counted], 1.0) * variance[counted])
    spread = float(((2 + extra) * cells).sum()) * freedom / float(cells.sum())
    stretch = max(spread / (2 * freedom), 1e-9)  # single fair coins have no spread at all
    p_value = stats.chi2.sf(statistic / stretch, freedom / stretch)
    return Homogeneity(statistic, freedom, float(p_value))
