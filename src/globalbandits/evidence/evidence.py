"""Evidence as a plain dict that survives JSON bit for bit, and back, with all of it checked.

Copies of the histogram are saved as the rewards of one stretch of time after the other. So
the histogram is the sum of what is saved, it must agree with the statistics, and the times of
the copies follow from the number of observations: little can be changed without notice.
"""

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits import statistics as counting
from globalbandits._encoding import check_keys, decode_array, decode_tuple, encode_tuple
from globalbandits._rewards import as_arm, as_batch, as_unit, given_arm
from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import require, show
from globalbandits.errors import EvidenceError, RewardError, StateError
from globalbandits.evidence import (
    drift_test,
    histogram,
)
from globalbandits.evidence.drift_test import (
    MOST_EVERY,
    kept,
    record,
    times_kept,
)
from globalbandits.evidence.histogram import GRAINS, MOST_BINS, TimedHistogram
from globalbandits.evidence.inference import Inference
from globalbandits.evidence.statements import (
    Contenders,
    Drift,
    Earnings,
    Interval,
    ModelEvidence,
    as_alpha,
    as_confidence,
    earned,
)
from globalbandits.statistics import Statistics, are_possible, assign

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from globalbandits.model import RewardModel


# Evidence as a plain dict that survives JSON bit for bit, and back, with all of it checked.
#
# Copies of the histogram are saved as the rewards of one stretch of time after the other. So the
# histogram is the sum of what is saved, it must agree with the statistics, and the times of the
# copies follow from the number of observations: little can be changed without notice.

VERSION = 2
KEYS = ("version", "model", "bins", "every", "since", "forgotten", "statistics", "stretches")
_MOST_OBSERVATIONS = 2**53
_EXACT = 2.0**27  # rewards of one arm whose soft counts add up without any rounding
_SLACK = 1e-9  # rounding in the statistics, for every reward


def encode(
    tally: TimedHistogram, observed: dict[str, Any] | None, stats: Statistics | None
) -> dict[str, Any]:
    """All of the state; what is kept elsewhere is None.

    Args:
        tally: the soft counts and their copies.
        observed: samples of what the model observes.
        stats: counts and sums of the same rewards.
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
    """Pairs of an arm and its row; arms without rewards are left out."""
    return [[arm, counts[arm].tolist()] for arm in np.flatnonzero(counts.any(axis=1)).tolist()]


def decode(state: Any, model: "RewardModel", stats: Statistics, *, shared: bool) -> TimedHistogram:
    """What `encode` has written.

    Args:
        state: the saved state.
        model: the model it must be of, unless it is shared.
        stats: counts and sums of the same rewards if they are ``shared``; otherwise they are
            filled with those of the state.
        shared: whether model and statistics are kept elsewhere.

    Raises:
        StateError: if the state is damaged, of another model or not of the same rewards.
    """
    check_keys("evidence", state, KEYS)
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
    every = _decode_integer("every", state["every"], 1, MOST_EVERY)
    tally = TimedHistogram(len(stats.counts), bins, every)
    totals = _decode_stretches(tally, state["since"], state["stretches"])
    forgotten = _decode_integer("forgotten", state["forgotten"], 0, _MOST_OBSERVATIONS)
    if forgotten != tally.clock - int(totals.sum()):
        raise StateError(f"forgotten must be {tally.clock - int(totals.sum())}, got {forgotten}")
    check_agreement(stats, tally.counts, totals)
    return tally


def check_model(samples: Any, model: "RewardModel") -> None:
    """Refuse evidence of a model that observes something else."""
    if not model.same_observed(samples):
        raise StateError(
            "evidence must be of a model with the same curves, domain and reward range, "
            f"got {show(samples)}"
        )


def _decode_stretches(tally: TimedHistogram, since: Any, saved: Any) -> IntArray:
    """Fill an empty tally; returns how many rewards each arm has."""
    stretches = [_as_list("stretch", entry, 2) for entry in _as_list("stretches", saved)]
    times = [_decode_integer("time", time, 0, _MOST_OBSERVATIONS) for time, _ in stretches]
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
    """Counts and sums that rewards on the unit scale can have."""
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
    """Refuse a histogram that is not one of the rewards in the statistics.

    Args:
        stats: counts and sums.
        counts: soft counts, shape (n_arms, n_bins + 1).
        totals: how many rewards each arm has in them, shape (n_arms,).
    """
    knots = np.linspace(0.0, 1.0, counts.shape[1])
    slack = (_SLACK + 1.0 / (GRAINS * (counts.shape[1] - 1))) * (1.0 + totals)
    squares = counts @ (knots * knots)
    # Sharing a reward between two knots keeps its mean and adds up to a quarter of the squared
    # distance of the knots to its square.
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
    """Add pairs of an arm and its row to soft counts and to totals; returns how many rewards."""
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
    """How many rewards each row of soft counts is of; 0 if it cannot be those of any."""
    good = np.all((soft >= 0.0) & (soft < _MOST_OBSERVATIONS), axis=1)
    kept = np.where(good[:, np.newaxis], soft, 0.0)
    good &= np.all(kept * GRAINS % 1.0 == 0.0, axis=1)
    totals = kept.sum(axis=1)
    n_rewards = np.round(totals)
    rounding = np.where(n_rewards <= _EXACT, 0.0, n_rewards / GRAINS)
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
        every: int = drift_test.EVERY,
        statistics: Statistics | None = None,
    ) -> None:
        self._model = model
        self._tally = TimedHistogram(model.n_arms, bins, every)
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
        """Times and histograms that are still known, the present one last."""
        return self._tally.history()

    def mark(self) -> None:
        """Remember the present for `history`; marks are not part of the `state`."""
        self._tally.mark()

    def plot_evidence(
        self, confidence: float = 0.95, *, truth: float | None = None, title: str = ""
    ) -> "Figure":
        """Interval, e-value and contenders over the times of `history`."""
        from globalbandits.evidence.evidence_plots import history_figure

        return history_figure(self._model, *self.history(), confidence, truth, title)

    def plot_worth(
        self, confidence: float = 0.95, *, baseline: int | None = None, ax: "Axes | None" = None
    ) -> "Figure":
        """What each arm is worth: the curve at the estimate, its interval, what was observed.

        The arm that is worth most at the estimate is marked, and so is the baseline, the index
        of an arm such as today's price. Drawn into ``ax`` if it is given.
        """
        from globalbandits.evidence.evidence_plots import worth_figure

        arm = None if baseline is None else as_arm("baseline", baseline, self._model.n_arms)
        theta, span = self._believed(confidence)
        return worth_figure(self._model, self._stats, theta, span, arm, ax)

    def state(self) -> dict[str, Any]:
        """All that `restore` needs, as a dict that JSON can hold.

        Statistics that are kept elsewhere are left out, and the model with them.
        """
        if self._shares_statistics:
            return encode(self._tally, None, None)
        return encode(self._tally, self._model.observed_samples(), self._stats)

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
        evidence._tally = decode(state, model, evidence._stats, shared=shared)
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
        evidence._tally = decode(state, model, old, shared=True).moved(rows)
        return evidence

    def _reading(self) -> Inference:
        return Inference(self._model, self._tally.counts)

    def _check_own(self, action: str) -> None:
        """Refuse to change statistics that are kept elsewhere."""
        if self._shares_statistics:
            raise EvidenceError(
                f"{action} must be called on evidence with statistics of its own, got that of a "
                "learner: tell the learner, or change a copy"
            )

    def _check_belongs(self, other: "Evidence") -> None:
        if other._model is not self._model:
            check_model(other._model.observed_samples(), self._model)
        bins = self._tally.bins
        require(other._tally.bins == bins, "bins", f"be {bins}", other._tally.bins, StateError)

    def __repr__(self) -> str:
        return f"Evidence({self._model.n_arms} arms, {self.n_observations:,} observations)"


_N_MARKS = 40  # moments, evenly spaced in their logarithm, that a picture of the log can show


def evidence_from_log(
    model: "RewardModel",
    arms: "ArrayLike | None" = None,
    rewards: "ArrayLike | None" = None,
    *,
    arm_values: "Sequence[Any] | None" = None,
    bins: int = histogram.DEFAULT_BINS,
    every: int = drift_test.EVERY,
) -> Evidence:
    """Evidence from a log of plays, in the order they happened.

    Only `Evidence.drift` depends on the order. The rule that chose the arms does not matter,
    as long as it did not see a reward before choosing the arm it was paid for.

    Args:
        model: the reward model.
        arms: index of the arm of each play.
        rewards: reward of each play, in the model's units.
        arm_values: instead of the indices what the arms stand for, such as prices.
        bins: cells of the histogram, see `Evidence`.
        every: observations between copies of the histogram, see `Evidence`.

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
