"""How far arms are apart in worth without the model: each arm's rewards speak for it alone.

If a worth w is too much for arm k, and too little for another arm, then k is not best. What is
known of an arm is its wealth s_k(m) against each mean m: a convex function, at most 1 at the mean
of its rewards. So the evidence that its worth is below w is the wealth at the nearest mean, on
either side, that is worth w or more.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.evidence.processes import all_off_the_ends
from globalbandits.evidence.spike_slab import arm_wealth

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

_N_LEVELS = 257  # of worth
_N_CELLS = 2048  # of means, in which a value is looked up


def worth_separation(model: "RewardModel", counts: FloatArray, centres: FloatArray) -> FloatArray:
    """Log evidence that an arm is worth less than another one, shape (n_arms,).

    Args:
        model: the reward model; only its values are used.
        counts: soft counts, shape (n_arms, n_bins + 1).
        centres: mean rewards on the unit scale, shape (n_arms,).
    """
    levels = np.linspace(0.0, 1.0, _N_LEVELS)
    values = _unit_values(model)
    too_much = _evidence(counts, centres, values, levels)
    too_little = _evidence(counts, centres, -values, -levels)
    # An arm cannot be beaten by itself: no worth is both too much and too little for it.
    rivals = too_little.max(axis=1, keepdims=True)
    return np.asarray(np.minimum(too_much, rivals).max(axis=0))


def _unit_values(model: "RewardModel") -> FloatArray:
    """What arms are worth at the ends of cells of means, shape (n_arms, n_cells + 1)."""
    low, high = model.reward_range
    least, most = model.worth_range
    means = np.linspace(low, high, _N_CELLS + 1)
    worth = np.array([model.worth_of(arm, means) for arm in range(model.n_arms)])
    return np.asarray((worth - least) / ((most - least) or 1.0))


def _evidence(
    counts: FloatArray, centres: FloatArray, values: FloatArray, levels: FloatArray
) -> FloatArray:
    """Log wealth against all means whose value is at least a level: (n_levels, n_arms)."""
    n_arms = counts.shape[0]
    below, above = np.zeros((2, levels.size, n_arms))
    for arm in range(n_arms):
        most = _most_in_cells(values[arm])
        below[:, arm], above[:, arm] = _nearest(most, float(centres[arm]), levels)
    found = np.full((levels.size, n_arms), math.inf)
    for means in (below, above):
        there = ~np.isnan(means)
        inside = all_off_the_ends(np.where(there, means, 0.5))
        wealth = np.where(there, arm_wealth(counts, inside, inside), math.inf)
        found = np.minimum(found, wealth)
    return found


def _most_in_cells(values: FloatArray) -> FloatArray:
    """The largest value in each cell, on the safe side: a peak between two ends may be higher."""
    steps = np.abs(np.diff(values))
    slack = np.maximum(np.append(steps, 0.0), np.append(0.0, steps))
    return np.asarray(np.maximum((values + slack)[:-1], (values + slack)[1:]))


def _nearest(most: FloatArray, centre: float, levels: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The nearest means below and above the centre that reach the levels; nan for none."""
    ends = np.linspace(0.0, 1.0, _N_CELLS + 1)
    home = min(int(centre * _N_CELLS), _N_CELLS - 1)
    ahead = np.searchsorted(np.maximum.accumulate(most[home:]), levels)
    behind = np.searchsorted(np.maximum.accumulate(most[home::-1]), levels)
    above = np.append(np.maximum(ends[home:-1], centre), math.nan)[ahead]
    below = np.append(np.minimum(ends[home + 1 : 0 : -1], centre), math.nan)[behind]
    return below, above
