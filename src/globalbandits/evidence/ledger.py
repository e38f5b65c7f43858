"""All evidence about one model: fed reward by reward, asked at any time."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits import statistics as counting
from globalbandits._rewards import as_arm, as_unit
from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_integer, require
from globalbandits.errors import EvidenceError, RewardError, StateError
from globalbandits.evidence import contenders, drift, histogram, saving
from globalbandits.evidence.levels import as_alarm_rate, as_confidence
from globalbandits.evidence.likelihood import likely_edges
from globalbandits.evidence.pooled import Pooled
from globalbandits.evidence.search import find_hull, find_infima
from globalbandits.evidence.spike_slab import SpikeSlab
from globalbandits.evidence.statements import Contenders, Drift, Interval, ModelEvidence
from globalbandits.statistics import Statistics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from globalbandits.model import RewardModel


class Evidence:
    """What rewards say about theta, the model, the best arm and change, valid at all times.

    The state is a soft histogram and a few old copies of it. It is additive: it does not
    depend on the order of rewards, two of them can be merged, and rewards can be taken back,
    all bit for bit.

    Args:
        model: the reward model; rewards are told in its units.
        bins: cells of the histogram: 8 suits most rewards, 16 continuous ones with little
            noise, and 1 is exact for rewards that are all or nothing.
        every: how many observations lie between copies, which `drift` needs.
        statistics: where rewards are counted, if somebody else counts them too.

    >>> from globalbandits.model import RewardModel
    >>> model = RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8])
    >>> evidence = Evidence(model)
    >>> for arm, reward in [(0, 0.3), (1, 0.35), (2, 0.4)] * 100:
    ...     evidence.update(arm, reward)
    >>> print(evidence.interval())
    theta in [..., ...] (level 0.95, 300 observations)
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
        self._stats = counting.no_statistics(model.n_arms) if statistics is None else statistics
        self._bins = as_integer("bins", bins, 1, EvidenceError)
        self._every = as_integer("every", every, 1, EvidenceError)
        self._histogram = histogram.empty(model.n_arms, self._bins)
        self._snapshots = drift.no_snapshots(model.n_arms, self._bins)
        self._clock = 0  # rewards ever told: unlike their number it never runs back
        self._milestones: dict[int, FloatArray] = {}  # further copies, for pictures alone

    @property
    def model(self) -> "RewardModel":
        """The reward model."""
        return self._model

    @property
    def counts(self) -> FloatArray:
        """The soft histogram, shape (n_arms, bins + 1)."""
        return self._histogram.counts.copy()

    @property
    def n_observations(self) -> int:
        """How many rewards the evidence rests on."""
        return int(self._stats.total[0])

    def update(self, arm: int, reward: float) -> None:
        """Take in one reward, in the model's units."""
        model = self._model
        index = as_arm("arm", arm, model.n_arms)
        unit = as_unit("reward", reward, model.reward_range)
        counting.count(self._stats, index, unit)
        self.note(index, unit)

    def note(self, arm: int, unit_reward: float) -> None:
        """Take in one reward on the unit scale that has been counted already."""
        histogram.add(self._histogram, arm, unit_reward, 1.0)
        self._clock += 1
        drift.record(self._snapshots, self._histogram.counts, self._clock, self._every)

    def add_many(self, arms: IntArray, unit_rewards: FloatArray) -> None:
        """Take in rewards on the unit scale, unchecked; the same bits as one by one."""
        start = 0
        while start < arms.size:
            stop = min(arms.size, start + self._every - self._clock % self._every)
            for arm, unit in zip(
                arms[start:stop].tolist(), unit_rewards[start:stop].tolist(), strict=True
            ):
                counting.count(self._stats, arm, unit)
            histogram.add_many(self._histogram, arms[start:stop], unit_rewards[start:stop])
            self._clock += stop - start
            drift.record(self._snapshots, self._histogram.counts, self._clock, self._every)
            start = stop

    def forget(self, arm: int, reward: float, number: int | None = None) -> None:
        """Take one reward back.

        Args:
            arm: index of the arm.
            reward: the reward as it was told.
            number: which observation it was, counted from 1. If it is not given, the copies
                that may hold the reward are dropped, and the search for drift begins anew.
        """
        index = as_arm("arm", arm, self._model.n_arms)
        unit = as_unit("reward", reward, self._model.reward_range)
        if number is not None:
            number = as_integer("number", number, 1, EvidenceError)
            rule = f"be at most {self._clock}"
            require(number <= self._clock, "number", rule, number, EvidenceError)
        self.unnote(index, unit, number)
        counting.uncount(self._stats, index, unit)

    def unnote(self, arm: int, unit_reward: float, number: int | None = None) -> None:
        """Undo `note`; refused if the arm cannot have had this reward on the unit scale."""
        left = histogram.Histogram(self._histogram.counts[[arm]])
        histogram.add(left, 0, unit_reward, -1.0)
        if left.counts.min() < 0.0:
            raise RewardError(
                f"reward must be one that arm {arm} has had, "
                f"got {unit_reward:.6g} on the unit scale"
            )
        self._histogram.counts[arm] = left.counts[0]
        self._milestones.clear()
        if number is None:
            self._snapshots.times[:] = 0
            return
        for slot in np.flatnonzero(self._snapshots.times >= number):
            copy = histogram.Histogram(self._snapshots.counts[slot])
            histogram.add(copy, arm, unit_reward, -1.0)

    def merge(self, *others: "Evidence") -> "Evidence":
        """Add what others have seen of the same model; returns this one.

        Two streams have no common clock: the copies are dropped and the search for drift
        begins anew.
        """
        for other in others:
            require(other is not self, "evidence to merge", "be another one", other, StateError)
            self._check_belongs(other._model.fingerprint, other._bins)
        for other in others:
            self.merge_counts(other, None)
            counting.add(self._stats, other._stats, 1)
        return self

    def merge_counts(self, other: "Evidence", past: FloatArray | None) -> None:
        """Add another histogram, less a past that is in both; the statistics stay."""
        self._check_belongs(other._model.fingerprint, other._bins)
        self._histogram.counts[...] += other._histogram.counts
        if past is not None:
            self._histogram.counts[...] -= past
        self._clock += other._clock
        self._snapshots.times[:] = 0
        self._milestones.clear()

    def copy(self) -> "Evidence":
        """The same evidence, with memory of its own."""
        twin = Evidence(
            self._model,
            bins=self._bins,
            every=self._every,
            statistics=counting.copy(self._stats),
        )
        twin._histogram.counts[...] = self._histogram.counts
        twin._snapshots.times[...] = self._snapshots.times
        twin._snapshots.counts[...] = self._snapshots.counts
        twin._clock = self._clock
        twin._milestones = dict(self._milestones)
        return twin

    def interval(self, level: float = 0.95) -> Interval:
        """An interval that holds theta at all times, with probability ``level`` at least."""
        level = as_confidence(level)
        counts = self._histogram.counts
        edges = likely_edges(self._model, counts)
        hull = find_hull(Pooled(self._model, counts), -math.log(1.0 - level), edges)
        low, high, slack = (math.nan, math.nan, 0.0) if hull is None else hull
        return Interval(
            level=level, low=low, high=high, slack=slack, n_observations=self.n_observations
        )

    def against_model(self) -> ModelEvidence:
        """How strongly the rewards speak against the model, whatever theta is."""
        counts = self._histogram.counts
        process = SpikeSlab(self._model, counts)
        edges = likely_edges(self._model, counts)
        found = find_infima(process, edges[:-1], edges[1:], np.zeros(edges.size - 1, np.int64))
        theta = float(found.thetas[0])
        return ModelEvidence(
            log_e_value=float(found.certified[0]),
            theta=theta,
            shares=tuple(process.shares(theta).tolist()),
            arms=self._model.arms,
            n_arms_seen=int(counts.any(axis=1).sum()),
            n_observations=self.n_observations,
        )

    def contenders(self, level: float = 0.95) -> Contenders:
        """The arms that can still be best; without the model if it is refuted at 1 - level."""
        level = as_confidence(level)
        counts = self._histogram.counts
        model_free = self.against_model().refuted(1.0 - level)
        bounds = None
        if model_free:
            low, high = self._model.reward_range
            scaled = low + (high - low) * contenders.free_bounds(counts, level)
            bounds = tuple((float(a), float(b)) for a, b in scaled)
            p_values = contenders.free_p_values(counts)
        else:
            p_values = contenders.model_p_values(self._model, counts)
        return Contenders(
            level=level,
            arms=tuple(np.flatnonzero(p_values > 1.0 - level).tolist()),
            p_values=tuple(p_values.tolist()),
            values=self._model.arms,
            model_free=model_free,
            bounds=bounds,
            n_observations=self.n_observations,
        )

    def drift(self, level: float = 0.05) -> Drift:
        """Whether theta has moved, with a false-alarm rate of ``level`` over all time."""
        level = as_alarm_rate(level)
        seen = (self._model, self._histogram.counts, self._snapshots, self._clock)
        log_e_value = drift.constant_log_e(*seen, self._every)
        date = drift.date_change(*seen) if log_e_value >= -math.log(level) else None
        return Drift(
            level=level,
            log_e_value=log_e_value,
            since=None if date is None else date[1],
            between=None if date is None else (date[0], date[2]),
            n_observations=self.n_observations,
        )

    def history(self) -> tuple[IntArray, FloatArray]:
        """Times and histograms that are still known, the present one last."""
        known = self._milestones | dict(zip(*drift.kept(self._snapshots, self._clock), strict=True))
        known[self._clock] = self.counts
        times = sorted(known)
        return np.array(times, np.int64), np.array([known[time] for time in times])

    def mark(self) -> None:
        """Remember the present for `history`; marks are not part of the `state`."""
        self._milestones[self._clock] = self.counts

    def plot_evidence(
        self, level: float = 0.95, *, truth: float | None = None, title: str = ""
    ) -> "Figure":
        """Interval, e-value and contenders over the times of `history`."""
        from globalbandits.evidence.figures import history_figure

        return history_figure(self._model, *self.history(), level, truth, title)

    def state(self) -> dict[str, Any]:
        """All that `restore` needs, as a dict that JSON can hold."""
        return saving.encode(
            self._bins, self._every, self._clock, self._histogram.counts, self._snapshots
        ) | {"model": self._model.fingerprint}

    @classmethod
    def restore(
        cls,
        model: "RewardModel",
        state: Mapping[str, Any],
        *,
        statistics: Statistics | None = None,
    ) -> "Evidence":
        """The evidence whose `state` this is; refused if it was of another model."""
        saving.check_keys(state)
        evidence = cls(model, bins=state["bins"], every=state["every"], statistics=statistics)
        evidence._check_belongs(state["model"], evidence._bins)
        evidence._clock = as_integer("clock", state["clock"], 0, StateError)
        shape = evidence._histogram.counts.shape
        evidence._histogram.counts[...] = saving.decode_counts("counts", state["counts"], shape)
        saving.decode_snapshots(state["snapshots"], evidence._snapshots, evidence._clock)
        return evidence

    def _check_belongs(self, fingerprint: object, bins: int) -> None:
        mine = self._model.fingerprint
        rule = f"be of the model with fingerprint {mine}"
        require(fingerprint == mine, "evidence", rule, fingerprint, StateError)
        require(bins == self._bins, "bins", f"be {self._bins}", bins, StateError)

    def __repr__(self) -> str:
        return f"Evidence({self._model.n_arms} arms, {self.n_observations:,} observations)"
