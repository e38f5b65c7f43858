"""Statements for many histograms at once: over time, over runs."""

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.evidence.contenders import free_p_values
from globalbandits.evidence.levels import as_confidence
from globalbandits.evidence.likelihood import likely_edges
from globalbandits.evidence.pooled import Pooled
from globalbandits.evidence.search import find_hull, find_infima
from globalbandits.evidence.spike_slab import SpikeSlab

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


class Findings(NamedTuple):
    """What histograms say, each of the histograms' leading shape."""

    low: FloatArray  # ends of the interval for theta
    high: FloatArray
    log_e_value: FloatArray  # against the model
    contenders: IntArray  # (..., n_arms) 1 for arms that can be best


def find_out(model: "RewardModel", histograms: FloatArray, level: float = 0.95) -> Findings:
    """What each of many histograms says, at one level.

    Args:
        model: the reward model.
        histograms: soft counts, shape (..., n_arms, n_bins + 1).
        level: confidence of the intervals and of the contenders.

    >>> from globalbandits.model import RewardModel
    >>> model = RewardModel(lambda theta, p: p * theta, [0.5, 1.0])
    >>> found = find_out(model, np.array([[[0.0, 0.0], [0.0, 0.0]], [[75.0, 25.0], [50.0, 50.0]]]))
    >>> found.low.round(2).tolist(), found.contenders.tolist()
    ([0.0, 0.35], [[0, 1], [0, 1]])
    """
    level = as_confidence(level)
    threshold = -math.log(1.0 - level)
    shape = histograms.shape[:-2]
    low, high, log_e_value = np.empty(shape), np.empty(shape), np.empty(shape)
    contenders = np.zeros((*shape, model.n_arms), np.int64)
    for place in np.ndindex(shape):
        counts = histograms[place]
        edges = likely_edges(model, counts)
        hull = find_hull(Pooled(model, counts), threshold, edges)
        low[place], high[place] = (math.nan, math.nan) if hull is None else hull[:2]
        owners = np.zeros(edges.size - 1, np.int64)
        against = find_infima(SpikeSlab(model, counts), edges[:-1], edges[1:], owners)
        log_e_value[place] = against.certified[0]
        if log_e_value[place] >= threshold:
            contenders[place] = free_p_values(counts) > 1.0 - level
        else:
            for region in model.regions:
                if region.high >= low[place] and region.low <= high[place]:
                    contenders[(*place, list(region.arms))] = 1
    return Findings(low, high, log_e_value, contenders)
