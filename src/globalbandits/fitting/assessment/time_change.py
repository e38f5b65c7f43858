"""Do the rewards of the same arm in the same group change over the time of a history?"""

from typing import NamedTuple

import numpy as np

from globalbandits.fitting.panel import Panel

TIME_CHANGE_LEVEL = 0.01


class TimeChange(NamedTuple):
    """Mean reward in the last third of the time minus that before, in the rewards' units."""

    mean: float
    se: float  # over groups
    p_value: float  # of "no group changes"; nan if it cannot be tested

    @property
    def found(self) -> bool:
        """Whether rewards change."""
        return self.p_value < TIME_CHANGE_LEVEL


def check_time_change(panel: Panel, late: Panel) -> TimeChange:
    """Compare the last third of the time with the time before, cell by cell.

    A group's change is the mean over its arms of late minus early, weighted by the precision of
    each. The squares of the changes, in units of their noise, are chi² distributed if nothing
    changes. This also finds groups that change in different directions.
    """
    from scipy import stats

    early = panel.without(late)
    both = early.tried & late.tried
    inverse = 1 / np.maximum(early.counts, 1.0) + 1 / np.maximum(late.counts, 1.0)
    weights = np.where(both, 1 / inverse, 0.0)
    if panel.binary:
        variance = panel.means * (1 - panel.means)
    else:
        degrees = np.maximum(early.counts - 1, 0) + np.maximum(late.counts - 1, 0)
        within = (early.within + late.within).sum(axis=0) / np.maximum(degrees.sum(axis=0), 1.0)
        variance = np.broadcast_to(within, weights.shape)
    total = weights.sum(axis=1)
    noise = (weights * variance).sum(axis=1)
    rows = np.flatnonzero((total > 0) & (noise > 0))
    if rows.size < 2:
        return TimeChange(float("nan"), float("nan"), float("nan"))
    differences = (weights * (late.means - early.means)).sum(axis=1)[rows]
    statistic = float((differences**2 / noise[rows]).sum())
    whole = float(total[rows].sum())
    mean = float(differences.sum()) / whole
    deviations = differences - mean * total[rows]
    se = float(np.sqrt(rows.size / (rows.size - 1) * (deviations**2).sum())) / whole
    width = panel.reward_range[1] - panel.reward_range[0]
    return TimeChange(width * mean, width * se, float(stats.chi2.sf(statistic, rows.size)))
