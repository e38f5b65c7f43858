"""`Evidence`: observed rewards, the anytime-valid statements about them, and their saved state.

`evidence_from_log` builds the evidence of a log of plays.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits import statistics as counting
from globalbandits._plain_data import check_keys, decode_array, decode_tuple, encode_tuple
from globalbandits._rewards import as_arm, as_batch, as_unit, given_arm
from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_float, require, show
from globalbandits.errors import EvidenceError, RewardError, StateError
from globalbandits.evidence import drift_test, histogram
from globalbandits.evidence.drift_test import MAX_EVERY, kept, record, times_kept
from globalbandits.evidence.e_processes import SpikeSlab
from globalbandits.evidence.histogram import GRAINS, MOST_BINS, TimedHistogram
from globalbandits.evidence.inference import Inference
from globalbandits.evidence.statements import (
    ConfidenceSet,
    Contenders,
    Drift,
    Earnings,
    Interval,
    ModelEvidence,
    as_alpha,
    as_confidence,
    earned,
    earned_without_model,
    worth_bounds,
)
from globalbandits.evidence.vector_inference import Cover, VectorInference
from globalbandits.model import RegionalModel, RewardModel, VectorModel
from globalbandits.statistics import Statistics, are_possible, assign

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from globalbandits.model import AnyModel


MIN_OBSERVATIONS_AT_END = 30  # with fewer, an estimate at the end of the domain means nothing
# The e-value against the model is computed 2**(bits - 1) times in each doubling of the number of
# observations. With several unknown numbers it takes milliseconds, so it is computed less often.
_PEAK_TIMES_BITS = 5
_VECTOR_PEAK_TIMES_BITS = 3


def is_time_of_peak(n_observations: int, every: int, bits: int = _PEAK_TIMES_BITS) -> bool:
    """Whether the e-value against the model is computed after this number of observations.

    Each of the first 31 copies of the histogram is such a time, then 16 in each doubling of the
    number of observations. So the cost per observation falls.

    >>> [n for n in range(1, 9_601) if is_time_of_peak(n, 100)][28:36]
    [2900, 3000, 3100, 3200, 3400, 3600, 3800, 4000]
    """
    n_copies, rest = divmod(n_observations, every)
    return rest == 0 and n_copies % (1 << max(0, n_copies.bit_length() - bits)) == 0


class Evidence:
    """Anytime-valid statements about theta, the model, the best arm and drift.

    The state is a soft histogram, a few earlier copies of it, and the largest e-value so far. The
    histogram is additive and exact: it is independent of the order of rewards, two histograms can
    be merged, and a reward can be removed without a trace.

    Args:
        model: the reward model; rewards are in its units.
        bins: cells of the histogram, at most 1024. 8 suits most rewards, 16 suits continuous
            rewards with little noise, and 1 is exact for Bernoulli rewards.
        every: observations between two copies of the histogram; `drift` compares the copies.
        statistics: counts and sums of the same rewards, if a learner owns them. The evidence is
            then changed by `note`, `unnote` and `merge_counts` only.

    >>> from globalbandits.model import RewardModel
    >>> model = RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8])
    >>> evidence = Evidence(model)
    >>> for arm, reward in [(0, 0.3), (1, 0.35), (2, 0.4)] * 100:
    ...     evidence.update(arm, reward)
    >>> print(evidence.interval())
    theta in [..., ...] (confidence 0.95, 300 observations)
    >>> evidence.against_model().refuted()
    False
    """

    def __init__(
        self,
        model: "AnyModel",
        *,
        bins: int = histogram.DEFAULT_BINS,
        every: int = drift_test.EVERY,
        statistics: Statistics | None = None,
    ) -> None:
        self._model = model
        self._tally = TimedHistogram(model.n_arms, bins, every)
        self._kept_peak = -math.inf  # the largest log e-value against the model; see `_peak`
        self._peak_is_stale = False
        self._witness: Any = None  # a theta that explained the rewards at the last search
        self._shares_statistics = statistics is not None
        self._stats = counting.no_statistics(model.n_arms) if statistics is None else statistics

    @property
    def model(self) -> Any:
        """The reward model."""
        return self._model

    @property
    def counts(self) -> FloatArray:
        """The soft histogram, shape (n_arms, bins + 1)."""
        return self._tally.counts.copy()

    @property
    def n_observations(self) -> int:
        """Number of rewards in the evidence."""
        return int(self._stats.total[0])

    def update(self, arm: int, reward: float) -> None:
        """Add one reward, in the model's units."""
        self._check_own("update")
        index = as_arm("arm", arm, self._model.n_arms)
        unit = as_unit("reward", reward, self._model.reward_range)
        counting.count(self._stats, index, unit)
        self.note(index, unit)

    def note(self, arm: int, unit_reward: float) -> None:
        """Add one reward on the unit scale that the shared statistics already count."""
        self._tally.note(arm, unit_reward)
        self._keep_peak()

    @property
    def soft_counts(self) -> histogram.Histogram:
        """The soft counts, not a copy. A caller that adds a reward to them then calls `tick`."""
        return self._tally.soft_counts

    def tick(self) -> None:
        """Advance the clock after a reward was added to `soft_counts`."""
        tally = self._tally
        tally.tick()
        if tally.clock % tally.every == 0:
            self._keep_peak()

    def add_many(self, arms: IntArray, unit_rewards: FloatArray) -> None:
        """Add valid rewards on the unit scale; bit-identical to adding them one by one."""
        self._check_own("add_many")
        counting.count_many(self._stats, arms, unit_rewards)
        start, tally = 0, self._tally
        while start < arms.size:
            stop = min(arms.size, start + tally.every - tally.clock % tally.every)
            tally.note_many(arms[start:stop], unit_rewards[start:stop])
            self._keep_peak()
            start = stop

    def _keep_peak(self) -> None:
        """Keep the largest e-value against the model, at some times of the histogram's copies.

        By Ville's inequality the largest e-value counts, at any times: rewards that come later
        cannot make the model right again. A full search is needed only if the rewards refute the
        last witness.
        """
        if isinstance(self._model, RegionalModel):
            return  # it has no test of its curves
        several = isinstance(self._model, VectorModel)
        bits = _VECTOR_PEAK_TIMES_BITS if several else _PEAK_TIMES_BITS
        if not is_time_of_peak(self._tally.clock, self._tally.every, bits):
            return
        enough = max(self._peak, SMALLEST_PEAK)
        if isinstance(self._model, VectorModel):
            inference = vector_inference_of(self._model, self._tally.counts)
            if self._witness is None or inference.log_e_at(self._witness) >= enough:
                self._witness = self._model.from_unit(inference.top[1])
                self._raise_peak(inference.log_e_against)
            return
        if self._witness is not None:
            process = SpikeSlab(self._model, self._tally.counts)
            if float(process.at(np.array([self._witness]))[0]) < enough:
                return
        found = self._inference().rough_against(enough, math.inf)
        self._witness = found.theta
        self._raise_peak(found.certified)

    def _raise_peak(self, log_e_value: float) -> None:
        if log_e_value > max(self._kept_peak, SMALLEST_PEAK):
            self._kept_peak = log_e_value

    @property
    def _peak(self) -> float:
        """The largest log e-value against the model; minus infinity if it says nothing.

        After rewards were removed it is recomputed from the copies of the histogram.
        """
        if self._peak_is_stale:
            self._kept_peak, self._peak_is_stale = -math.inf, False
            for counts in kept(self._tally.snapshots, self._tally.clock + 1)[1]:
                if isinstance(self._model, VectorModel):
                    self._raise_peak(vector_inference_of(self._model, counts).log_e_against)
                else:
                    enough = max(self._kept_peak, SMALLEST_PEAK)
                    found = Inference(self._model, counts).rough_against(enough, math.inf)
                    self._raise_peak(found.certified)
        return self._kept_peak

    def forget(self, arm: int, reward: float, number: int | None = None) -> None:
        """Remove one reward. Raises `RewardError` if the arm cannot have had it.

        Args:
            arm: index of the arm.
            reward: the observed reward.
            number: position of the observation, counted from 1. Without it all copies of the
                histogram are dropped, and the search for drift starts again.
        """
        self._check_own("forget")
        index = as_arm("arm", arm, self._model.n_arms)
        unit = as_unit("reward", reward, self._model.reward_range)
        if not counting.may_hold(self._stats, index, unit):
            raise RewardError(f"reward must be one that arm {index} has had, got {reward!r}")
        self.unnote(index, unit, number)
        counting.uncount(self._stats, index, unit)

    def unnote(self, arm: int, unit_reward: float, number: int | None = None) -> None:
        """Undo `note`. Raises `RewardError` if the arm cannot have had this reward."""
        self._tally.take_back(arm, unit_reward, number)
        self._peak_is_stale = self._kept_peak > -math.inf

    def merge(self, *others: "Evidence") -> "Evidence":
        """Add other evidence about the same model to this one, and return this one.

        Two streams have no common clock, so the copies of the histogram are dropped and the
        search for drift starts again.
        """
        self._check_own("merge")
        if len({id(evidence) for evidence in (self, *others)}) <= len(others):
            raise StateError("evidence to merge must be different ones, got one of them twice")
        for other in others:
            require(isinstance(other, Evidence), "merge", "be given evidence", other, StateError)
            self._check_belongs(other)
        for other in others:
            self.merge_counts(other, None)
            counting.add(self._stats, other._stats, 1)
        return self

    def merge_counts(self, other: "Evidence", past: FloatArray | None) -> None:
        """Add another histogram minus the common past; the statistics are unchanged."""
        self._check_belongs(other)
        # Two streams have two chances of a false alarm: the largest e-value is halved.
        peak = max(self._peak, other._peak) - math.log(2.0)
        self._tally.merge(other._tally, past)
        self._kept_peak = -math.inf
        self._raise_peak(peak)

    def copy(self) -> "Evidence":
        """An independent copy, with its own statistics."""
        twin = Evidence(self._model, bins=self._tally.bins, every=self._tally.every)
        counting.assign(twin._stats, self._stats)
        twin._tally = self._tally.copy()
        twin._kept_peak, twin._witness = self._peak, self._witness
        return twin

    def interval(self, confidence: float = 0.95) -> Interval:
        """An interval that contains theta at all times with probability at least ``confidence``."""
        confidence = as_confidence(confidence)
        hull = self._inference("an interval").hull(confidence)
        return Interval(
            confidence=confidence,
            low=hull.low,
            high=hull.high,
            slack=hull.slack,
            n_observations=self.n_observations,
        )

    def region(self, confidence: float = 0.95) -> ConfidenceSet:
        """A set that contains all unknown numbers at all times with at least this probability."""
        confidence = as_confidence(confidence)
        model = self._model
        if not isinstance(model, VectorModel):
            span, (low, high) = self.interval(confidence), model.domain
            return ConfidenceSet(
                confidence=confidence,
                intervals={"theta": (span.low, span.high)},
                share=0.0 if span.is_empty else span.width / (high - low),
                n_observations=self.n_observations,
                holds=span.__contains__,
            )
        inference = self._vector_inference()
        cover = inference.cover(confidence)
        ends = np.full((2, model.n_parameters), math.nan)
        if len(cover.low):
            ends = model.from_unit(np.stack([cover.low.min(axis=0), cover.high.max(axis=0)]))
        return ConfidenceSet(
            confidence=confidence,
            intervals={
                name: (low, high)
                for name, low, high in zip(model.parameters, *ends.tolist(), strict=True)
            },
            share=cover.share,
            n_observations=self.n_observations,
            holds=lambda theta: inference.holds(model.as_theta(theta), confidence),
        )

    def against_model(self) -> ModelEvidence:
        """Evidence against the model: against every theta in its domain, now and at its largest."""
        if isinstance(self._model, VectorModel):
            several = self._vector_inference()
            return ModelEvidence(
                log_e_value=several.log_e_against,
                peak_log_e_value=max(several.log_e_against, self._peak),
                theta=self._model.named(self._model.from_unit(several.top[1])),
                shares=tuple(several.shares().tolist()),
                arms=self._model.arms,
                n_arms_seen=int(np.count_nonzero(self._stats.counts)),
                n_observations=self.n_observations,
            )
        inference = self._inference()
        return ModelEvidence(
            log_e_value=inference.against.certified,
            peak_log_e_value=max(inference.against.certified, self._peak),
            theta=inference.against.theta,
            shares=tuple(inference.shares().tolist()),
            arms=self._model.arms,
            end=self._end_of_domain(inference.against.theta),
            n_arms_seen=int(np.count_nonzero(self._stats.counts)),
            n_observations=self.n_observations,
        )

    def _end_of_domain(self, theta: float) -> str:
        if isinstance(self._model, VectorModel) or self.n_observations < MIN_OBSERVATIONS_AT_END:
            return ""
        return self._model.end_of_domain(theta)

    def contenders(
        self,
        confidence: float = 0.95,
        errors: float = 0.0,
        *,
        ranked: Any = None,
        rows: slice = slice(None),
    ) -> Contenders:
        """The arms that can still be best. A refuted model is not used.

        Args:
            confidence: the probability with which the best arm is never missing.
            errors: how far the mean of an arm may lie from its curve, as `Elastic` measures it: a
                share of the reward range for a mean in its middle, and the same distance in
                log-odds elsewhere, so that 0.05 is 0.006 for a mean of 0.03. With 0 the statement
                holds only if the curves are exactly right. Wrong curves can exclude the best arm
                long before they are refuted.
            ranked: the model of some arms, if only these are compared, such as those of a context.
            rows: their positions among the arms of this model.
        """
        confidence = as_confidence(confidence)
        size = as_float("errors", errors, EvidenceError)
        require(0.0 <= size < 0.5, "errors", "lie in [0, 0.5)", errors, EvidenceError)
        if ranked is not None:
            require(size == 0.0, "errors", "be 0 with contexts", errors, EvidenceError)
        if isinstance(self._model, VectorModel):
            require(size == 0.0, "errors", "be 0 for a VectorModel", errors, EvidenceError)
            several = self._vector_inference()
            model_free = several.refutes(confidence)
            if model_free:
                p_values = several.free_p_values(ranked or self._model, rows)
            else:
                p_values = several.p_values(rows)
            arms = p_values > 1.0 - confidence
            bounds = several.free_bounds(confidence)[rows].tolist() if model_free else None
        else:
            inference = self._inference()
            if ranked is not None:
                inference = inference.among(ranked, rows)
            if size:
                race, p_values = inference.race_with_errors(confidence, size)
            else:
                race = inference.race(confidence)
                p_values = inference.p_values(race, confidence)
            arms, model_free = race.arms, race.model_free
            bounds = inference.bounds(confidence)[rows].tolist() if model_free else None
        return Contenders(
            confidence=confidence,
            errors=size,
            arms=tuple(np.flatnonzero(arms).tolist()),
            p_values=tuple(p_values.tolist()),
            values=self._model.arms if ranked is None else ranked.arms,
            model_free=model_free,
            bounds=None if bounds is None else tuple((low, high) for low, high in bounds),
            n_observations=self.n_observations,
        )

    def earnings(self, baseline: int, confidence: float = 0.95) -> Earnings:
        """Worth of the plays minus the worth of always playing the baseline arm.

        The amount is in units of worth and follows the model's curves; ``model_free`` uses the
        rewards alone. See `Earnings`.

        Args:
            baseline: index of the baseline arm.
            confidence: confidence of the bounds.
        """
        n_cells = self._model.n_arms
        n_arms = n_cells // self._model.tables.n_contexts
        arm = as_arm("baseline", baseline, n_arms)
        # The baseline of a cell is the cell of the baseline arm in the same context.
        baselines = np.arange(n_cells) // n_arms * n_arms + arm
        label = self._model.arms[arm]
        if n_arms < n_cells:
            _, label = label
        if isinstance(self._model, VectorModel):
            confidence = as_confidence(confidence)
            amount, low, high = self._vector_earnings(baselines, confidence)
            bounds = self._vector_inference().free_bounds(confidence)
        else:
            theta, span = self._believed(confidence)
            confidence = span.confidence
            amount, low, high = earned(
                self._model, self._stats.counts, theta, (span.low, span.high), baselines
            )
            bounds = self._inference().bounds(confidence)
        return Earnings(
            baseline=label,
            amount=amount,
            low=low,
            high=high,
            confidence=confidence,
            n_observations=self.n_observations,
            model_free=earned_without_model(
                self._model, self._stats, bounds, baselines, label, confidence
            ),
        )

    def observed_worth(self) -> FloatArray:
        """Worth of each arm at the mean of its rewards, shape (n_arms,); nan without rewards."""
        low, high = self._model.reward_range
        counts = self._stats.counts
        found = np.full(counts.size, math.nan)
        for arm in np.flatnonzero(counts).tolist():
            mean = low + (high - low) * float(self._stats.sums[arm]) / int(counts[arm])
            found[arm] = self._model.worth_of(arm, mean)
        return found

    def observed_bounds(self, confidence: float = 0.95) -> FloatArray:
        """Intervals of the arms' worth from their own rewards, shape (n_arms, 2).

        They hold for all arms and at all times at once, and need no curve.

        Args:
            confidence: confidence of all intervals together.
        """
        confidence = as_confidence(confidence)
        if isinstance(self._model, VectorModel):
            means = self._vector_inference().free_bounds(confidence)
        else:
            means = self._inference().bounds(confidence)
        found = np.empty_like(means)
        for arm, (bottom, top) in enumerate(means.tolist()):
            # Worth need not be monotone in the mean, so it is evaluated between the two as well.
            worth = self._model.worth_of(arm, np.linspace(bottom, top, _N_INTERVAL_POINTS))
            found[arm] = worth.min(), worth.max()
        return found

    def _vector_earnings(
        self, baselines: IntArray, confidence: float
    ) -> tuple[float, float, float]:
        """Amount and bounds of `Earnings`; the bounds are nan if the model is refuted.

        The bounds are those at the corners and middles of the cells that cover the set.
        """
        assert isinstance(self._model, VectorModel)
        inference = self._vector_inference()
        cover = self._cover(inference, confidence)
        points = np.concatenate([inference.top[1][None], *cover.corners()])
        worth = self._model.worth(self._model.from_unit(points))
        extra = (worth - worth[:, baselines]) @ self._stats.counts.astype(np.float64)
        if len(extra) == 1:
            return float(extra[0]), math.nan, math.nan
        return float(extra[0]), float(extra.min()), float(extra.max())

    def _cover(self, inference: VectorInference, confidence: float) -> Cover:
        """Cells that cover the confidence set; none if the model is refuted."""
        cover = inference.cover(confidence)
        if inference.refutes(confidence):
            return Cover(cover.low[:0], cover.high[:0], 0.0)
        return cover

    def _believed(self, confidence: float) -> tuple[float, Interval]:
        """The least refuted theta, and the interval, which is empty if the model is refuted."""
        span = self.interval(confidence)
        against = self.against_model()
        if against.refuted(1.0 - span.confidence):
            span = dataclasses.replace(span, low=math.nan, high=math.nan)
        return against.theta, span

    def drift(self, alpha: float = 0.05) -> Drift:
        """Whether theta has changed, with a false-alarm rate of ``alpha`` over all time."""
        alpha = as_alpha(alpha)
        model = self._one_number("the search for drift", "the evidence since a known date")
        tally = self._tally
        seen = (model, tally.counts, tally.snapshots, tally.clock)
        log_e_value = drift_test.constant_log_e(*seen, tally.every)
        date = drift_test.date_change(*seen) if log_e_value >= -math.log(alpha) else None
        return Drift(
            alpha=alpha,
            log_e_value=log_e_value,
            since=None if date is None else date[1],
            between=None if date is None else (date[0], date[2]),
            n_observations=self.n_observations,
        )

    def history(self) -> tuple[IntArray, FloatArray]:
        """Times and histograms of the stored copies; the current histogram is last."""
        return self._tally.history()

    def mark(self) -> None:
        """Store the current histogram for `history`. Marks are not part of the `state`."""
        self._tally.mark()

    def plot_evidence(
        self, confidence: float = 0.95, *, truth: float | None = None, title: str = ""
    ) -> "Figure":
        """Plot interval, e-value and contenders over the times of `history`."""
        from globalbandits.evidence.evidence_plots import history_figure

        model = self._one_number("the plot of the interval", "plot_worth()")
        return history_figure(model, *self.history(), confidence, truth, title)

    def plot_worth(
        self,
        confidence: float = 0.95,
        *,
        baseline: int | None = None,
        ax: "Axes | None" = None,
        title: str = "",
        arm_name: str = "arm",
        currency: str = "",
        ranked: Any = None,
        rows: slice = slice(None),
    ) -> "Figure":
        """Plot the worth of each arm: estimate, interval, and observed value with its interval.

        The plot marks the arm with the largest worth at the estimate, and the baseline.

        Args:
            confidence: confidence of the interval.
            baseline: index of the baseline arm, such as the current price.
            ax: axes to draw into; default: a new figure.
            title: above the picture.
            arm_name: what arms are, such as "price".
            currency: the unit of worth, such as "€".
            ranked: the model of some arms, if only these are drawn, such as those of a context.
            rows: their positions among the arms of this model.
        """
        from globalbandits.evidence.evidence_plots import worth_figure

        drawn: Any = self._model if ranked is None else ranked
        arm = None if baseline is None else as_arm("baseline", baseline, drawn.n_arms)
        theta: Any
        bounds: FloatArray | None
        if isinstance(self._model, VectorModel):
            confidence = as_confidence(confidence)
            theta, bounds = self._believed_numbers(confidence)
            bounds = None if bounds is None else bounds[rows]
        else:
            theta, span = self._believed(confidence)
            confidence = span.confidence
            bounds = None if span.is_empty else worth_bounds(drawn, (span.low, span.high))
        return worth_figure(
            drawn,
            self._stats.counts[rows],
            self._stats.sums[rows],
            theta,
            bounds,
            confidence,
            arm,
            ax,
            self.observed_bounds(confidence)[rows],
            title=title,
            arm_name=arm_name,
            currency=currency,
        )

    def worths(self, confidence: float = 0.95) -> FloatArray:
        """The worth of each arm at the least refuted numbers, and its bounds; shape (n_arms, 3).

        For a model of several unknown numbers. Bounds are NaN if no numbers are left.
        """
        theta, bounds = self._believed_numbers(as_confidence(confidence))
        if bounds is None:
            bounds = np.full((self._model.n_arms, 2), np.nan)
        return np.column_stack([self._model.worth(theta), bounds])

    def _believed_numbers(self, confidence: float) -> tuple[Any, FloatArray | None]:
        """The least refuted numbers, and the bounds of each arm's worth if any numbers are left."""
        model: Any = self._model
        inference = self._vector_inference()
        cover = self._cover(inference, confidence)
        bounds = inference.worth_bounds(cover) if len(cover.low) else None
        return model.from_unit(inference.top[1]), bounds

    def state(self) -> dict[str, Any]:
        """The state for `restore`, as a dict for JSON.

        Shared statistics and their model are left out.
        """
        if self._shares_statistics:
            saved = encode(self._tally, None, None)
        else:
            saved = encode(self._tally, self._model.observed_samples(), self._stats)
        return saved if self._peak == -math.inf else saved | {"peak": self._peak}

    @classmethod
    def restore(
        cls,
        model: "AnyModel",
        state: Mapping[str, Any],
        *,
        statistics: Statistics | None = None,
    ) -> "Evidence":
        """Evidence from a saved `state`. Raises `StateError` for another model.

        Args:
            model: the reward model.
            state: the return value of `state`.
            statistics: counts and sums of the same rewards, if a learner owns them.
        """
        evidence = cls(model, statistics=statistics)
        shared = statistics is not None
        evidence._tally = decode(state, model, evidence._stats, shared=shared)
        evidence._kept_peak = decode_peak(state)
        return evidence

    @classmethod
    def take_over(
        cls,
        model: "AnyModel",
        state: Mapping[str, Any],
        old: Statistics,
        rows: "Sequence[int | None]",
        statistics: Statistics,
    ) -> "Evidence":
        """Evidence from the saved state of a model with other arms.

        Args:
            model: the new model; the mean curves of common arms are the same.
            state: the return value of `state`, without statistics.
            old: the statistics that belong to the state.
            rows: for each arm of the new model its index in the state, or None for a new arm.
            statistics: counts and sums of the new model's arms, owned by a learner.
        """
        evidence = cls(model, statistics=statistics)
        evidence._tally = decode(state, model, old, shared=True).moved(rows)
        evidence._kept_peak = decode_peak(state)
        return evidence

    def _one_number(self, what: str, instead: str) -> "RewardModel":
        """The model; an error if it has several unknown numbers."""
        model = self._model
        if isinstance(model, VectorModel):
            raise EvidenceError(
                f"model must have one unknown number for {what}, got {model.n_parameters} "
                f"({', '.join(model.parameters)}): use {instead}"
            )
        return model

    def _inference(self, what: str = "this statement") -> Inference:
        return Inference(
            self._one_number(what, "region(confidence)"), self._tally.counts, self._peak
        )

    def _vector_inference(self) -> VectorInference:
        assert isinstance(self._model, VectorModel)
        stats = self._stats
        return VectorInference(
            self._model, stats.counts, stats.sums, self._tally.counts, self._peak
        )

    def _check_own(self, action: str) -> None:
        """Raise `EvidenceError` if a learner owns the statistics."""
        if self._shares_statistics:
            raise EvidenceError(
                f"{action} must be called on evidence with statistics of its own, got that of a "
                "learner: report to the learner, or change a copy"
            )

    def _check_belongs(self, other: "Evidence") -> None:
        if other._model is not self._model:
            check_model(other._model.observed_samples(), self._model)
        bins = self._tally.bins
        require(other._tally.bins == bins, "bins", f"be {bins}", other._tally.bins, StateError)

    def __repr__(self) -> str:
        return f"Evidence({self._model.n_arms} arms, {self.n_observations:,} observations)"


def vector_inference_of(model: VectorModel, counts: FloatArray) -> VectorInference:
    """The inference from soft counts of any time.

    Splitting a reward between two knots keeps its mean, so sums follow from the soft counts.
    """
    sums = counts @ np.linspace(0.0, 1.0, counts.shape[1])
    n_rewards = np.round(counts.sum(axis=1)).astype(np.int64)
    return VectorInference(model, n_rewards, sums, counts)


_N_INTERVAL_POINTS = 65  # means at which the extremes of an arm's worth are sought

# Number of points in time, evenly spaced on a log scale, that `Evidence.plot_evidence` shows.
_N_MARKS = 40


def evidence_from_log(
    model: "AnyModel",
    arms: "ArrayLike | None" = None,
    rewards: "ArrayLike | None" = None,
    *,
    arm_values: "Sequence[Any] | None" = None,
    bins: int = histogram.DEFAULT_BINS,
    every: int = drift_test.EVERY,
) -> Evidence:
    """Evidence from a log of plays in chronological order.

    Only `Evidence.drift` depends on the order. Any rule may have chosen the arms, provided that
    it chose each arm before it saw that play's reward.

    Args:
        model: the reward model.
        arms: index of the arm of each play.
        rewards: reward of each play, in the model's units.
        arm_values: the arms' user-facing values, such as prices, instead of the indices.
        bins: cells of the histogram; see `Evidence`.
        every: observations between copies of the histogram; see `Evidence`.

    >>> import globalbandits as gb
    >>> model = gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8])
    >>> found = gb.evidence_from_log(model, arms=[0, 1, 2, 2], rewards=[0.3, 0.3, 0.4, 0.2])
    >>> found.n_observations
    4
    """
    if arm_values is not None:
        arms = given_arm(arms, arm_values, model.arms, many=True)
    collected = Evidence(model, bins=bins, every=every)
    indices, units = as_batch(arms, rewards, model.n_arms, model.reward_range)
    start = 0
    for stop in np.unique(np.geomspace(1, max(1, indices.size), _N_MARKS).round()).astype(int):
        collected.add_many(indices[start:stop], units[start:stop])
        collected.mark()
        start = stop
    return collected


# Saved state: a plain dict that survives a round trip through JSON bit for bit.
#
# The copies of the histogram are saved as increments: the soft counts of each stretch of time
# between two copies. The histogram is the sum of the increments. It must agree with the
# statistics, and the times of the copies follow from the number of observations, so `decode`
# detects most damage.

VERSION = 2
KEYS = ("version", "model", "bins", "every", "since", "forgotten", "statistics", "stretches")
_MAX_OBSERVATIONS = 2**53
SMALLEST_PEAK = math.log(2.0)  # smaller log e-values are not kept
_MAX_EXACT_REWARDS = 2.0**27  # up to this number of rewards, an arm's soft counts sum exactly
_ROUNDING_PER_REWARD = 1e-9  # in the sums of the statistics


def encode(
    tally: TimedHistogram, observed: dict[str, Any] | None, stats: Statistics | None
) -> dict[str, Any]:
    """The saved state as a dict.

    Args:
        tally: the soft counts and their copies.
        observed: samples of the model's mean curves; None if a learner saves the model.
        stats: counts and sums of the same rewards; None if a learner saves them.
    """
    times, copies = kept(tally.snapshots, tally.clock + 1)
    first = np.zeros((1, *tally.counts.shape))
    stretches = np.diff(np.concatenate([first, copies, tally.counts[np.newaxis]]), axis=0)
    return {
        "version": VERSION,
        "model": observed,
        "bins": tally.bins,
        "every": tally.every,
        "since": tally.since,
        "forgotten": tally.clock - round(float(tally.counts.sum())),
        "statistics": None if stats is None else encode_tuple(stats),
        "stretches": [
            [time, _encode_rows(stretch)]
            for time, stretch in zip([*times.tolist(), tally.clock], stretches, strict=True)
        ],
    }


def _encode_rows(counts: FloatArray) -> list[Any]:
    """Pairs of an arm and its row, for arms with rewards."""
    return [[arm, counts[arm].tolist()] for arm in np.flatnonzero(counts.any(axis=1)).tolist()]


def decode(state: Any, model: "AnyModel", stats: Statistics, *, shared: bool) -> TimedHistogram:
    """The histogram that `encode` saved.

    Args:
        state: the saved state.
        model: the model; if not ``shared``, the state must belong to it.
        stats: if ``shared``, counts and sums of the same rewards; otherwise overwritten with
            those of the state.
        shared: whether a learner owns the model and the statistics.

    Raises:
        StateError: if the state is damaged, or belongs to another model or to other rewards.
    """
    check_keys("evidence", without_peak(state), KEYS)
    version = state["version"]
    if type(version) is not int or version != VERSION:
        raise StateError(
            f"evidence must have version {VERSION}, got {show(version)}: "
            "states of other versions cannot be read"
        )
    if not shared:
        check_model(state["model"], model)
        assign(stats, decode_statistics(state["statistics"], stats))
    elif state["statistics"] is not None or state["model"] is not None:
        raise StateError(
            "statistics and model must be null where they are kept elsewhere, "
            f"got {show(state['statistics'])} and {show(state['model'])}"
        )
    bins = _decode_integer("bins", state["bins"], 1, MOST_BINS)
    every = _decode_integer("every", state["every"], 1, MAX_EVERY)
    tally = TimedHistogram(len(stats.counts), bins, every)
    totals = _decode_stretches(tally, state["since"], state["stretches"])
    forgotten = _decode_integer("forgotten", state["forgotten"], 0, _MAX_OBSERVATIONS)
    if forgotten != tally.clock - int(totals.sum()):
        raise StateError(f"forgotten must be {tally.clock - int(totals.sum())}, got {forgotten}")
    check_agreement(stats, tally.counts, totals)
    return tally


def without_peak(state: Any) -> Any:
    """The state without the largest e-value, which is saved only if it says something."""
    if isinstance(state, Mapping):
        return {key: value for key, value in state.items() if key != "peak"}
    return state


def decode_peak(state: Mapping[str, Any]) -> float:
    """The largest log e-value of a checked state; minus infinity if none was saved."""
    if "peak" not in state:
        return -math.inf
    peak = float(decode_array("peak", state["peak"], np.zeros(())))
    require(SMALLEST_PEAK < peak < math.inf, "peak", "be a number above 0.69", peak, StateError)
    return peak


def check_model(samples: Any, model: "AnyModel") -> None:
    """Raise `StateError` if the samples differ from the model's mean curves."""
    if not model.same_observed(samples):
        raise StateError(
            "evidence must be of a model with the same curves, domain and reward range, "
            f"got {show(samples)}"
        )


def _decode_stretches(tally: TimedHistogram, since: Any, saved: Any) -> IntArray:
    """Fill an empty tally and return the number of rewards of each arm."""
    stretches = [_as_list("stretch", entry, 2) for entry in _as_list("stretches", saved)]
    times = [_decode_integer("time", time, 0, _MAX_OBSERVATIONS) for time, _ in stretches]
    tally.clock = times[-1] if times else 0
    tally.since = _decode_integer("since", since, 0, tally.clock)
    expected = [*times_kept(tally.since, tally.clock, tally.every), tally.clock]
    if times != expected:
        raise StateError(f"stretches must end at the times {expected}, got {show(times)}")
    totals = np.zeros(len(tally.counts), np.int64)
    before = 0
    for time, (_, rows) in zip(times, stretches, strict=True):
        n_rewards = _add_rows(tally.counts, totals, rows)
        if n_rewards > time - before:
            raise StateError(
                f"stretch from {before} to {time} must have at most {time - before} rewards, "
                f"got {n_rewards}"
            )
        if time > tally.since:
            record(tally.snapshots, tally.counts, time, tally.every)
        before = time
    return totals


def decode_statistics(saved: Any, template: Statistics) -> Statistics:
    """Saved statistics, checked to be possible for rewards on the unit scale."""
    stats: Statistics = decode_tuple("statistics", saved, template)
    with np.errstate(all="ignore"):
        possible = are_possible(stats)
    if not possible:
        raise StateError(
            "statistics must be counts and sums that rewards in the range can have, "
            f"got {show(saved)}"
        )
    return stats


def check_agreement(stats: Statistics, counts: FloatArray, totals: IntArray) -> None:
    """Raise `StateError` if histogram and statistics cannot come from the same rewards.

    Args:
        stats: counts and sums.
        counts: soft counts, shape (n_arms, n_bins + 1).
        totals: number of rewards of each arm in the soft counts, shape (n_arms,).
    """
    knots = np.linspace(0.0, 1.0, counts.shape[1])
    slack = (_ROUNDING_PER_REWARD + 1.0 / (GRAINS * (counts.shape[1] - 1))) * (1.0 + totals)
    squares = counts @ (knots * knots)
    # Splitting a reward between two knots keeps its mean. It increases the square by at most a
    # quarter of the squared distance between the knots.
    most = 0.25 * totals * knots[1] * knots[1]
    agree = totals == stats.counts
    agree &= np.abs(counts @ knots - stats.sums) <= slack
    agree &= (stats.squares <= squares + slack) & (stats.squares >= squares - most - slack)
    if not agree.all():
        arm = int(np.argmin(agree))
        raise StateError(
            f"evidence must agree with the statistics, got {totals[arm]} rewards of arm {arm} "
            f"with sum {counts[arm] @ knots:.9g} for {stats.counts[arm]} with sum "
            f"{stats.sums[arm]:.9g}"
        )


def _add_rows(counts: FloatArray, totals: IntArray, rows: Any) -> int:
    """Add saved rows to soft counts and totals, and return the number of rewards added."""
    n_arms, n_knots = counts.shape
    pairs = [_as_list("row", entry, 2) for entry in _as_list("rows", rows)]
    arms: list[int] = []
    for arm, _ in pairs:
        arms.append(_decode_integer("arm", arm, arms[-1] + 1 if arms else 0, n_arms - 1))
    saved = [row for _, row in pairs]
    soft = decode_array("soft counts", saved, np.zeros((len(pairs), n_knots)))
    n_rewards = _count_rewards(soft)
    if not n_rewards.all():
        wrong = saved[int(np.argmin(n_rewards))]
        raise StateError(
            f"soft counts must be those of a whole number of rewards, got {show(wrong)}"
        )
    counts[arms] += soft
    totals[arms] += n_rewards
    return int(n_rewards.sum())


def _count_rewards(soft: FloatArray) -> IntArray:
    """Number of rewards in each row of soft counts; 0 if the row is invalid."""
    good = np.all((soft >= 0.0) & (soft < _MAX_OBSERVATIONS), axis=1)
    kept = np.where(good[:, np.newaxis], soft, 0.0)
    good &= np.all(kept * GRAINS % 1.0 == 0.0, axis=1)
    totals = kept.sum(axis=1)
    n_rewards = np.round(totals)
    rounding = np.where(n_rewards <= _MAX_EXACT_REWARDS, 0.0, n_rewards / GRAINS)
    good &= np.abs(totals - n_rewards) <= rounding
    return np.where(good, n_rewards, 0.0).astype(np.int64)


def _decode_integer(name: str, saved: Any, low: int, high: int) -> int:
    number = int(decode_array(name, saved, np.zeros((), np.int64)))
    if not low <= number <= high:
        raise StateError(f"{name} must lie between {low} and {high}, got {number}")
    return number


def _as_list(name: str, saved: Any, length: int | None = None) -> list[Any]:
    if not isinstance(saved, (list, tuple)):
        raise StateError(f"{name} must be a list, got {show(saved)}")
    if length is not None and len(saved) != length:
        raise StateError(f"{name} must have {length} entries, got {len(saved)}")
    return list(saved)
