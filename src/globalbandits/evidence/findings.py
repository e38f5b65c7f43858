"""Statements for many histograms at once: over time, over runs."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.evidence.chances import as_confidence
from globalbandits.evidence.readings import Reading

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


class Findings(NamedTuple):
    """What histograms say, each of the histograms' leading shape."""

    low: FloatArray  # ends of the interval for theta
    high: FloatArray
    log_e_value: FloatArray  # against the model
    contenders: IntArray  # (..., n_arms) 1 for arms that can be best


def find_out(model: "RewardModel", histograms: FloatArray, confidence: float = 0.95) -> Findings:
    """What each of many histograms says, at one confidence.

    Args:
        model: the reward model.
        histograms: soft counts, shape (..., n_arms, n_bins + 1).
        confidence: of the intervals and of the contenders.

    >>> from globalbandits.model import RewardModel
    >>> model = RewardModel(lambda theta, p: p * theta, [0.5, 1.0])
    >>> found = find_out(model, np.array([[[0.0, 0.0], [0.0, 0.0]], [[75.0, 25.0], [50.0, 50.0]]]))
    >>> found.low.round(2).tolist(), found.contenders.tolist()
    ([0.0, 0.35], [[0, 1], [0, 1]])
    """
    confidence = as_confidence(confidence)
    shape = histograms.shape[:-2]
    low, high, log_e_value = np.empty(shape), np.empty(shape), np.empty(shape)
    contenders = np.zeros((*shape, model.n_arms), np.int64)
    for place in np.ndindex(shape):
        reading = Reading(model, histograms[place])
        hull = reading.hull(confidence)
        low[place], high[place] = hull.low, hull.high
        log_e_value[place] = reading.against.certified
        contenders[place] = reading.race(confidence, hull).arms
    return Findings(low, high, log_e_value, contenders)
