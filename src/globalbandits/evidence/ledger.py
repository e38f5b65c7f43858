"""All evidence about one model: fed reward by reward, asked at any time."""

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits import statistics as counting
from globalbandits._rewards import as_arm, as_unit
from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import require
from globalbandits.errors import EvidenceError, RewardError, StateError
from globalbandits.evidence import drift, histogram, saving
from globalbandits.evidence.chances import as_alpha, as_confidence
from globalbandits.evidence.earnings import Earnings, earned
from globalbandits.evidence.readings import Reading
from globalbandits.evidence.statements import Contenders, Drift, Interval, ModelEvidence
from globalbandits.evidence.tally import Tally
from globalbandits.statistics import Statistics

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from globalbandits.model import RewardModel


class Evidence:
    """What rewards say about theta, the model, the best arm and change, valid at all times.

    The state is a soft histogram and a few old copies of it. It is additive: it does not
    depend on the order of rewards, two of them can be merged, and rewards can be taken back,
    all bit for bit.

    Args:
        model: the reward model; rewards are given in its units.
        bins: cells of the histogram, at most 1024: 8 suits most rewards, 16 continuous ones
            with little noise, and 1 is exact for rewards that are all or nothing.
        every: how many observations lie between copies, which `drift` needs.
        statistics: counts and sums of the same rewards, if they are kept elsewhere: then only
            `note`, `unnote` and `merge_counts` change the evidence.

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
        model: "RewardModel",
        *,
        bins: int = histogram.DEFAULT_BINS,
        every: int = drift.EVERY,
        statistics: Statistics | None = None,
    ) -> None:
        self._model = model
        self._tally = Tally(model.n_arms, bins, every)
        self._shares_statistics = statistics is not None
        self._stats = counting.no_statistics(model.n_arms) if statistics is None else statistics

    @property
    def model(self) -> "RewardModel":
        """The reward model."""
        return self._model

    @property
    def counts(self) -> FloatArray:
        """The soft histogram, shape (n_arms, bins + 1)."""
        return self._tally.counts.copy()

    @property
    def n_observations(self) -> int:
        """How many rewards the evidence rests on."""
        return int(self._stats.total[0])

    def update(self, arm: int, reward: float) -> None:
        """Take in one reward, in the model's units."""
        self._check_own("update")
        index = as_arm("arm", arm, self._model.n_arms)
        unit = as_unit("reward", reward, self._model.reward_range)
        counting.count(self._stats, index, unit)
        self._tally.note(index, unit)

    def note(self, arm: int, unit_reward: float) -> None:
        """Take in one reward on the unit scale that has been counted already."""
        self._tally.note(arm, unit_reward)

    @property
    def soft_counts(self) -> histogram.Histogram:
        """The soft counts for those who add rewards themselves, each followed by a `tick`."""
        return self._tally.soft_counts

    def tick(self) -> None:
        """One more reward has been counted and added to the histogram."""
        self._tally.tick()

    def add_many(self, arms: IntArray, unit_rewards: FloatArray) -> None:
        """Take in rewards on the unit scale, unchecked; the same bits as one by one."""
        self._check_own("add_many")
        counting.count_many(self._stats, arms, unit_rewards)
        self._tally.note_many(arms, unit_rewards)

    def forget(self, arm: int, reward: float, number: int | None = None) -> None:
        """Take one reward back; refused if it cannot be among those observed.

        Args:
            arm: index of the arm.
            reward: the reward as it was observed.
            number: which observation it was, counted from 1. If it is not given, the copies
                that may hold the reward are dropped, and the search for drift begins anew.
        """
        self._check_own("forget")
        index = as_arm("arm", arm, self._model.n_arms)
        unit = as_unit("reward", reward, self._model.reward_range)
        if not counting.may_hold(self._stats, index, unit):
            raise RewardError(f"reward must be one that arm {index} has had, got {reward!r}")
        self._tally.take_back(index, unit, number)
        counting.uncount(self._stats, index, unit)

    def unnote(self, arm: int, unit_reward: float, number: int | None = None) -> None:
        """Undo `note`; refused if the arm cannot have had this reward on the unit scale."""
        self._tally.take_back(arm, unit_reward, number)

    def merge(self, *others: "Evidence") -> "Evidence":
        """Add what others have seen of the same model; returns this one.

        Two streams have no common clock: the copies are dropped and the search for drift
        begins anew.
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
        """Add another histogram, less a past that is in both; the statistics stay."""
        self._check_belongs(other)
        self._tally.merge(other._tally, past)

    def copy(self) -> "Evidence":
        """The same evidence, with memory and statistics of its own."""
        twin = Evidence(self._model, bins=self._tally.bins, every=self._tally.every)
        counting.assign(twin._stats, self._stats)
        twin._tally = self._tally.copy()
        return twin

    def interval(self, confidence: float = 0.95) -> Interval:
        """An interval that holds theta at all times, with probability ``confidence`` at least."""
        confidence = as_confidence(confidence)
        hull = self._reading().hull(confidence)
        return Interval(
            confidence=confidence,
            low=hull.low,
            high=hull.high,
            slack=hull.slack,
            n_observations=self.n_observations,
        )

    def against_model(self) -> ModelEvidence:
        """How strongly the rewards speak against the model, whatever theta is."""
        reading = self._reading()
        return ModelEvidence(
            log_e_value=reading.against.certified,
            theta=reading.against.theta,
            shares=tuple(reading.shares().tolist()),
            arms=self._model.arms,
            n_arms_seen=int(np.count_nonzero(self._stats.counts)),
            n_observations=self.n_observations,
        )

    def contenders(self, confidence: float = 0.95) -> Contenders:
        """The arms that can still be best; without the model once that is refuted."""
        confidence = as_confidence(confidence)
        reading = self._reading()
        race = reading.race(confidence)
        bounds = reading.bounds(confidence).tolist() if race.model_free else None
        return Contenders(
            confidence=confidence,
            arms=tuple(np.flatnonzero(race.arms).tolist()),
            p_values=tuple(reading.p_values(race, confidence).tolist()),
            values=self._model.arms,
            model_free=race.model_free,
            bounds=None if bounds is None else tuple((low, high) for low, high in bounds),
            n_observations=self.n_observations,
        )

    def earnings(self, baseline: int, confidence: float = 0.95) -> Earnings:
        """What the plays were worth beyond always the baseline, an arm's index.

        In the units of the worth, by the model's curves; see `Earnings`.
        """
        arm = as_arm("baseline", baseline, self._model.n_arms)
        theta, span = self._believed(confidence)
        amount, low, high = earned(
            self._model, self._stats.counts, theta, (span.low, span.high), arm
        )
        return Earnings(
            baseline=self._model.arms[arm],
            amount=amount,
            low=low,
            high=high,
            confidence=span.confidence,
            n_observations=self.n_observations,
        )

    def _believed(self, confidence: float) -> tuple[float, Interval]:
        """The least refuted theta, and the interval: an empty one if the model is refuted."""
        span = self.interval(confidence)
        against = self.against_model()
        if against.refuted(1.0 - span.confidence):
            span = dataclasses.replace(span, low=math.nan, high=math.nan)
        return against.theta, span

    def drift(self, alpha: float = 0.05) -> Drift:
        """Whether theta has moved, with a false-alarm rate of ``alpha`` over all time."""
        alpha = as_alpha(alpha)
        tally = self._tally
        seen = (self._model, tally.counts, tally.snapshots, tally.clock)
        log_e_value = drift.constant_log_e(*seen, tally.every)
        date = drift.date_change(*seen) if log_e_value >= -math.log(alpha) else None
        return Drift(
            alpha=alpha,
            log_e_value=log_e_value,
            since=None if date is None else date[1],
            between=None if date is None else (date[0], date[2]),
            n_observations=self.n_observations,
        )

    def history(self) -> tuple[IntArray, FloatArray]:
        """Times and histograms that are still known, the present one last."""
        return self._tally.history()

    def mark(self) -> None:
        """Remember the present for `history`; marks are not part of the `state`."""
        self._tally.mark()

    def plot_evidence(
        self, confidence: float = 0.95, *, truth: float | None = None, title: str = ""
    ) -> "Figure":
        """Interval, e-value and contenders over the times of `history`."""
        from globalbandits.evidence.figures import history_figure

        return history_figure(self._model, *self.history(), confidence, truth, title)

    def plot_worth(
        self, confidence: float = 0.95, *, baseline: int | None = None, ax: "Axes | None" = None
    ) -> "Figure":
        """What each arm is worth: the curve at the estimate, its interval, what was observed.

        The arm that is worth most at the estimate is marked, and so is the baseline, the index
        of an arm such as today's price. Drawn into ``ax`` if it is given.
        """
        from globalbandits.evidence.figures import worth_figure

        arm = None if baseline is None else as_arm("baseline", baseline, self._model.n_arms)
        theta, span = self._believed(confidence)
        return worth_figure(self._model, self._stats, theta, span, arm, ax)

    def state(self) -> dict[str, Any]:
        """All that `restore` needs, as a dict that JSON can hold.

        Statistics that are kept elsewhere are left out, and the model with them.
        """
        if self._shares_statistics:
            return saving.encode(self._tally, None, None)
        return saving.encode(self._tally, self._model.observed_samples(), self._stats)

    @classmethod
    def restore(
        cls,
        model: "RewardModel",
        state: "Mapping[str, Any]",
        *,
        statistics: Statistics | None = None,
    ) -> "Evidence":
        """The evidence whose `state` this is; refused if it was of another model.

        Args:
            model: the reward model.
            state: what `state` returned.
            statistics: of the same rewards, if they are kept elsewhere.
        """
        evidence = cls(model, statistics=statistics)
        shared = statistics is not None
        evidence._tally = saving.decode(state, model, evidence._stats, shared=shared)
        return evidence

    @classmethod
    def take_over(
        cls,
        model: "RewardModel",
        state: "Mapping[str, Any]",
        old: Statistics,
        rows: "Sequence[int | None]",
        statistics: Statistics,
    ) -> "Evidence":
        """The evidence of a state whose arms stand in other places of the model.

        Args:
            model: the model; what it observes of common arms is the same.
            state: what `state` returned, without statistics.
            old: the statistics of the state.
            rows: for each arm of the model the arm in the state, or None.
            statistics: those of the model's arms, kept elsewhere.
        """
        evidence = cls(model, statistics=statistics)
        evidence._tally = saving.decode(state, model, old, shared=True).moved(rows)
        return evidence

    def _reading(self) -> Reading:
        return Reading(self._model, self._tally.counts)

    def _check_own(self, action: str) -> None:
        """Refuse to change statistics that are kept elsewhere."""
        if self._shares_statistics:
            raise EvidenceError(
                f"{action} must be called on evidence with statistics of its own, got that of a "
                "learner: tell the learner, or change a copy"
            )

    def _check_belongs(self, other: "Evidence") -> None:
        if other._model is not self._model:
            saving.check_model(other._model.observed_samples(), self._model)
        bins = self._tally.bins
        require(other._tally.bins == bins, "bins", f"be {bins}", other._tally.bins, StateError)

    def __repr__(self) -> str:
        return f"Evidence({self._model.n_arms} arms, {self.n_observations:,} observations)"
