"""What one histogram says: the only place where interval, e-value and contenders are found.

A live learner, a log of plays and the simulator all ask here, so that the same rewards get the
same answers from all of them.
"""

import math
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits.evidence.contenders import (
    best_within,
    free_bounds,
    free_p_values,
    model_p_values,
)
from globalbandits.evidence.e_processes import Pooled, SpikeSlab
from globalbandits.evidence.search import Hull, Infimum, find_hull, find_infimum, likely_edges
from globalbandits.evidence.statements import as_confidence

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


class BestArms(NamedTuple):
    """Which arms can be best."""

    arms: BoolArray  # (n_arms,)
    model_free: bool  # the model is refuted: arms are compared without it


class Inference:
    """One histogram and one model; what is needed for several answers is computed once.

    Args:
        model: the reward model.
        counts: soft counts, shape (n_arms, n_bins + 1).

    >>> from globalbandits.model import RewardModel
    >>> model = RewardModel(lambda theta, p: p * theta, [0.5, 1.0])
    >>> reading = Reading(model, np.array([[75.0, 25.0], [50.0, 50.0]]))
    >>> round(reading.hull(0.95).low, 2), reading.race(0.95).arms.tolist()
    (0.35, [False, True])
    """

    def __init__(self, model: "RewardModel", counts: FloatArray) -> None:
        self._model = model
        self._counts = counts
        self._looks: dict[float, tuple[FloatArray, FloatArray]] = {}

    @cached_property
    def _edges(self) -> FloatArray:
        return likely_edges(self._model, self._counts)

    @cached_property
    def _pooled(self) -> Pooled:
        return Pooled(self._model, self._counts)

    def _first_look(self, confidence: float) -> tuple[FloatArray, FloatArray]:
        """H at the middles of the first cells, and bounds where it is not below the threshold."""
        if confidence not in self._looks:
            floor = -math.log(1.0 - confidence)
            look = self._pooled.survey(self._edges[:-1], self._edges[1:], floor)
            self._looks[confidence] = look
        return self._looks[confidence]

    @cached_property
    def _free_p_values(self) -> FloatArray:
        return free_p_values(self._model, self._counts)

    def hull(self, confidence: float) -> Hull:
        """The interval for theta; its ends are nan if no theta is left."""
        threshold, look = -math.log(1.0 - confidence), self._first_look(confidence)
        found = find_hull(self._pooled, threshold, self._edges, look)
        return Hull(math.nan, math.nan, 0.0) if found is None else found

    @cached_property
    def against(self) -> Infimum:
        """The evidence against the model: log SS at the theta that is least refuted."""
        return find_infimum(SpikeSlab(self._model, self._counts), self._edges)

    def rough_against(self, least: float, enough: float) -> Infimum:
        """The same, quicker: no precision is spent below ``least`` and above ``enough``."""
        process = SpikeSlab(self._model, self._counts)
        return find_infimum(process, self._edges, tolerance=0.05, least=least, enough=enough)

    def shares(self) -> FloatArray:
        """Each arm's part of the evidence against the model, shape (n_arms,)."""
        return SpikeSlab(self._model, self._counts).shares(self.against.theta)

    def race(self, confidence: float, hull: Hull | None = None) -> BestArms:
        """The arms that can be best.

        Those that are best somewhere in the interval of the same confidence; and if the model
        is refuted at 1 - confidence, those that no other arm beats without it.

        Args:
            confidence: how sure the set is.
            hull: the interval of this confidence, if it is known already.
        """
        if self.against.certified >= -math.log(1.0 - confidence):
            return BestArms(self._free_p_values > 1.0 - confidence, model_free=True)
        hull = self.hull(confidence) if hull is None else hull
        return BestArms(best_within(self._model, hull.low, hull.high), model_free=False)

    def p_values(self, race: BestArms, confidence: float) -> FloatArray:
        """p-values of "arm k is best", above 1 - confidence for exactly the arms of the race.

        The interval and the p-values are both rounded to the safe side, each in its own way.
        For an arm at the very edge of the race they could disagree: then the race decides,
        and the p-value is moved to the side of 1 - confidence that the race says.
        """
        if race.model_free:
            return self._free_p_values
        _, bounds = self._first_look(confidence)
        p_values = model_p_values(self._model, self._pooled, self._edges, bounds)
        alpha = 1.0 - confidence
        return np.where(
            race.arms,
            np.maximum(p_values, np.nextafter(alpha, 1.0)),
            np.minimum(p_values, alpha),
        )

    def bounds(self, confidence: float) -> FloatArray:
        """Intervals for the means of all arms at once without the model, shape (n_arms, 2)."""
        low, high = self._model.reward_range
        return low + (high - low) * free_bounds(self._counts, confidence)


class Findings(NamedTuple):
    """What histograms say, each of the histograms' leading shape."""

    low: FloatArray  # ends of the interval for theta
    high: FloatArray
    log_e_value: FloatArray  # against the model
    contenders: IntArray  # (..., n_arms) 1 for arms that can be best


def infer_many(model: "RewardModel", histograms: FloatArray, confidence: float = 0.95) -> Findings:
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
        reading = Inference(model, histograms[place])
        hull = reading.hull(confidence)
        low[place], high[place] = hull.low, hull.high
        log_e_value[place] = reading.against.certified
        contenders[place] = reading.race(confidence, hull).arms
    return Findings(low, high, log_e_value, contenders)
