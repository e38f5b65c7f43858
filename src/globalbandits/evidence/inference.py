"""Inference from a soft histogram: interval, evidence against the model, and contenders.

Learners, logs of plays and the simulator all use `Inference`, so the same rewards always give
the same results.
"""

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits.evidence.contenders import (
    best_within,
    free_bounds,
    free_p_values,
    model_p_values,
    p_values_with_errors,
)
from globalbandits.evidence.e_processes import Pooled, SpikeSlab
from globalbandits.evidence.search import Hull, Infimum, find_hull, find_infimum, likely_edges
from globalbandits.evidence.statements import as_confidence
from globalbandits.model import RewardModel


class BestArms(NamedTuple):
    """The arms that can be best."""

    arms: BoolArray  # (n_arms,)
    model_free: bool  # whether the model is refuted and not used


class Inference:
    """Statements about one histogram and one model. Shared intermediate results are cached.

    Args:
        model: the reward model.
        counts: soft counts, shape (n_arms, n_bins + 1).
        peak: the largest log e-value against the model at earlier times.

    >>> from globalbandits.model import RewardModel
    >>> model = RewardModel(lambda theta, p: p * theta, [0.5, 1.0])
    >>> inference = Inference(model, np.array([[75.0, 25.0], [50.0, 50.0]]))
    >>> round(inference.hull(0.95).low, 2), inference.race(0.95).arms.tolist()
    (0.35, [False, True])
    """

    def __init__(self, model: RewardModel, counts: FloatArray, peak: float = -math.inf) -> None:
        self._model = model
        self._peak = peak
        self._counts = counts
        self._surveys: dict[float, tuple[FloatArray, FloatArray]] = {}
        # The model of the arms that are compared, and their rows.
        self._ranked, self._rows = model, slice(None)

    def among(self, ranked: RewardModel, rows: slice) -> "Inference":
        """The inference that compares some arms only. All rewards are evidence about theta.

        Args:
            ranked: the model of these arms, with the same parameter.
            rows: their positions among all arms.
        """
        other = Inference(self._model, self._counts, self._peak)
        other._ranked, other._rows = ranked, rows
        return other

    @cached_property
    def _edges(self) -> FloatArray:
        return likely_edges(self._model, self._counts)

    @cached_property
    def _pooled(self) -> Pooled:
        return Pooled(self._model, self._counts)

    def _first_survey(self, confidence: float) -> tuple[FloatArray, FloatArray]:
        """The process H in the initial cells; lower bounds only where it reaches the threshold."""
        if confidence not in self._surveys:
            floor = -math.log(1.0 - confidence)
            survey = self._pooled.survey(self._edges[:-1], self._edges[1:], floor)
            self._surveys[confidence] = survey
        return self._surveys[confidence]

    @cached_property
    def _free_p_values(self) -> FloatArray:
        return free_p_values(self._ranked, self._counts[self._rows])

    def hull(self, confidence: float) -> Hull:
        """The interval for theta; its ends are nan if every theta is excluded."""
        threshold, survey = -math.log(1.0 - confidence), self._first_survey(confidence)
        found = find_hull(self._pooled, threshold, self._edges, survey)
        return Hull(math.nan, math.nan, 0.0) if found is None else found

    @cached_property
    def against(self) -> Infimum:
        """The evidence against the model: the infimum of log SS over theta."""
        return find_infimum(SpikeSlab(self._model, self._counts), self._edges)

    def rough_against(self, least: float, enough: float) -> Infimum:
        """A faster `against` that is inaccurate below ``least`` and above ``enough``."""
        process = SpikeSlab(self._model, self._counts)
        return find_infimum(process, self._edges, tolerance=0.05, least=least, enough=enough)

    def shares(self) -> FloatArray:
        """Each arm's share of the evidence against the model, shape (n_arms,)."""
        return SpikeSlab(self._model, self._counts).shares(self.against.theta)

    def race(self, confidence: float, hull: Hull | None = None) -> BestArms:
        """The arms that can be best.

        These are the arms that are best for some theta in the interval of the same confidence.
        If the model is refuted at level 1 - confidence, they are instead the arms that no other
        arm beats by their own rewards.

        Args:
            confidence: confidence of the set.
            hull: the interval of this confidence, if it was already computed.
        """
        if max(self.against.certified, self._peak) >= -math.log(1.0 - confidence):
            return BestArms(self._free_p_values > 1.0 - confidence, model_free=True)
        hull = self.hull(confidence) if hull is None else hull
        return BestArms(best_within(self._ranked, hull.low, hull.high), model_free=False)

    def race_with_errors(self, confidence: float, errors: float) -> tuple[BestArms, FloatArray]:
        """The arms that can be best, and their p-values, if curves may have errors of a size.

        Two tests are combined, each at half the level: the curves with errors, and the arms' own
        rewards. If the curves are refuted even with errors, the arms' own rewards decide alone.

        Args:
            confidence: confidence of the set.
            errors: how far a mean may lie from its curve, see `e_processes.shifted`.
        """
        alpha = 1.0 - confidence
        by_curves = p_values_with_errors(self._model, self._counts, self._edges, errors)
        both = np.minimum(1.0, 2.0 * np.minimum(by_curves, self._free_p_values))
        if both.max() <= alpha:
            return BestArms(self._free_p_values > alpha, model_free=True), self._free_p_values
        return BestArms(both > alpha, model_free=False), both

    def p_values(self, race: BestArms, confidence: float) -> FloatArray:
        """p-values of "arm k is best", above 1 - confidence exactly for the arms of the race.

        Interval and p-values are rounded conservatively in different ways, so they can disagree
        about an arm at the edge of the race. The race then decides: the p-value is moved to the
        matching side of 1 - confidence.
        """
        if race.model_free:
            return self._free_p_values
        _, bounds = self._first_survey(confidence)
        p_values = model_p_values(self._ranked, self._pooled, self._edges, bounds)
        alpha = 1.0 - confidence
        return np.where(
            race.arms,
            np.maximum(p_values, np.nextafter(alpha, 1.0)),
            np.minimum(p_values, alpha),
        )

    def bounds(self, confidence: float) -> FloatArray:
        """Simultaneous intervals for all mean rewards without the model, shape (n_arms, 2)."""
        low, high = self._model.reward_range
        return low + (high - low) * free_bounds(self._counts, confidence)


class Findings(NamedTuple):
    """Results for many histograms; each field has the histograms' leading shape."""

    low: FloatArray  # ends of the interval for theta
    high: FloatArray
    log_e_value: FloatArray  # against the model
    contenders: IntArray  # (..., n_arms) 1 for arms that can be best


def infer_many(model: RewardModel, histograms: FloatArray, confidence: float = 0.95) -> Findings:
    """Inference from many histograms at one confidence.

    Args:
        model: the reward model.
        histograms: soft counts, shape (..., n_arms, n_bins + 1).
        confidence: confidence of the intervals and of the contenders.

    >>> from globalbandits.model import RewardModel
    >>> model = RewardModel(lambda theta, p: p * theta, [0.5, 1.0])
    >>> histograms = np.array([[[0.0, 0.0], [0.0, 0.0]], [[75.0, 25.0], [50.0, 50.0]]])
    >>> found = infer_many(model, histograms)
    >>> found.low.round(2).tolist(), found.contenders.tolist()
    ([0.0, 0.35], [[0, 1], [0, 1]])
    """
    confidence = as_confidence(confidence)
    shape = histograms.shape[:-2]
    low, high, log_e_value = np.empty(shape), np.empty(shape), np.empty(shape)
    contenders = np.zeros((*shape, model.n_arms), np.int64)
    for place in np.ndindex(shape):
        inference = Inference(model, histograms[place])
        hull = inference.hull(confidence)
        low[place], high[place] = hull.low, hull.high
        log_e_value[place] = inference.against.certified
        contenders[place] = inference.race(confidence, hull).arms
    return Findings(low, high, log_e_value, contenders)
