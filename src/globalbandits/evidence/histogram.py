"""The soft histogram: what every statement is computed from, and all it needs to keep.

A reward x of arm k on the unit scale lies between two of the knots j/B, j = 0..B. It adds
1 - w to the left knot's count and w to the right one's, where w is its relative position
between them: the mean is kept, the spread only grows. The logarithm of a bet's pay-off is
concave in x, so wealth computed from the knots never exceeds the wealth of the real bet, and
every statement built on it stays valid.

Sums are exact: w is rounded to a multiple of 2**-26, so additions of up to 2**27 rewards
per knot carry no rounding. Histograms therefore add up, can be subtracted again and do not
depend on the order of rewards, bit for bit.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_integer, require
from globalbandits.errors import EvidenceError, RewardError, StateError
from globalbandits.evidence import (
    drift_test,
    histogram,
)

DEFAULT_BINS = 8
MOST_BINS = 1024
GRAINS = 67108864.0  # 2**26: how finely a reward is shared between two knots


class Histogram(NamedTuple):
    """Soft counts of rewards, per arm and knot."""

    counts: FloatArray  # (n_arms, n_bins + 1)


def empty(n_arms: int, n_bins: int = DEFAULT_BINS) -> Histogram:
    """A histogram without rewards.

    >>> empty(2, n_bins=4).counts.shape
    (2, 5)
    """
    return Histogram(np.zeros((n_arms, n_bins + 1)))


def place(reward: float, n_bins: int) -> tuple[int, float]:
    """The knot to the left of a reward, and the share of the one to the right of it.

    What is not in [0, 1] goes to the nearer end, and nan to 0. Numba compiles this.

    >>> place(0.3125, 4)
    (1, 0.25)
    """
    if reward >= 1.0:
        return n_bins - 1, 1.0
    if not reward > 0.0:
        return 0, 0.0
    position = reward * n_bins
    knot = int(position)
    return knot, int((position - knot) * GRAINS + 0.5) / GRAINS


def add(histogram: Histogram, arm: int, reward: float, weight: float) -> None:
    """Add a reward on the unit scale ``weight`` times; -1 takes one back. Numba compiles this.

    >>> histogram = empty(1, n_bins=4)
    >>> add(histogram, 0, 0.3, 1.0)
    >>> histogram.counts.round(3).tolist()
    [[0.0, 0.8, 0.2, 0.0, 0.0]]
    """
    counts = histogram.counts
    knot, share = place(reward, counts.shape[1] - 1)
    counts[arm, knot] += weight * (1.0 - share)
    counts[arm, knot + 1] += weight * share


def holds(row: FloatArray, reward: float) -> bool:
    """Whether a reward can be among those in an arm's row of soft counts.

    >>> holds(np.array([0.0, 1.5, 0.5]), 0.6), holds(np.array([0.0, 1.5, 0.5]), 0.8)
    (True, False)
    """
    knot, share = place(reward, row.shape[0] - 1)
    return bool(row[knot] >= 1.0 - share and row[knot + 1] >= share)


def add_many(histogram: Histogram, arms: IntArray, rewards: FloatArray) -> None:
    """Add rewards on the unit scale, with the same bits as `add` one by one.

    >>> histogram = empty(2, n_bins=4)
    >>> add_many(histogram, np.array([0, 1, 0]), np.array([0.5, 1.0, 0.5]))
    >>> histogram.counts.tolist()
    [[0.0, 0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0]]
    """
    counts = histogram.counts
    n_bins = counts.shape[1] - 1
    positions = rewards * n_bins
    knots = np.minimum(positions.astype(np.int64), n_bins - 1)
    shares = np.floor((positions - knots) * GRAINS + 0.5) / GRAINS
    np.add.at(counts, (arms, knots), 1.0 - shares)
    np.add.at(counts, (arms, knots + 1), shares)


class TimedHistogram:
    """Soft counts, copies of them taken at known times, and a clock.

    Rewards are on the unit scale. Sums are exact: nothing depends on the order of rewards but
    the copies, and what is taken back leaves no trace.

    Args:
        n_arms: how many arms there are.
        bins: cells of the histogram.
        every: observations between copies.

    >>> histogram_history = TimedHistogram(2, bins=4, every=100)
    >>> histogram_history.note(1, 0.5)
    >>> histogram_history.counts.tolist(), histogram_history.clock
    ([[0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0]], 1)
    """

    def __init__(self, n_arms: int, bins: int, every: int) -> None:
        self.bins = _as_parameter("bins", bins, histogram.MOST_BINS)
        self.every = _as_parameter("every", every, drift_test.MOST_EVERY)
        self._histogram = histogram.empty(n_arms, self.bins)
        self._cells = _cells_of(self._histogram)
        self.snapshots = drift_test.no_snapshots(n_arms, self.bins)
        self.clock = 0  # rewards ever observed: unlike their number it never runs back
        self.since = 0  # the clock when copies were last dropped
        self._marked: dict[int, FloatArray] = {}  # further copies, for pictures alone

    @property
    def counts(self) -> FloatArray:
        """The soft counts, shape (n_arms, bins + 1): not a copy."""
        return self._histogram.counts

    def note(self, arm: int, reward: float) -> None:
        """Add one reward."""
        knot, share = histogram.place(reward, self.bins)
        cells, at = self._cells, arm * (self.bins + 1) + knot
        cells[at] += 1.0 - share
        cells[at + 1] += share
        self.tick()

    @property
    def soft_counts(self) -> histogram.Histogram:
        """The soft counts for those who add rewards themselves, each followed by a `tick`."""
        return self._histogram

    def tick(self) -> None:
        """One more reward is in the histogram."""
        self.clock += 1
        if self.clock % self.every == 0:
            drift_test.record(self.snapshots, self.counts, self.clock, self.every)

    def note_many(self, arms: IntArray, rewards: FloatArray) -> None:
        """Add rewards; the same bits as one by one."""
        start = 0
        while start < arms.size:
            stop = min(arms.size, start + self.every - self.clock % self.every)
            histogram.add_many(self._histogram, arms[start:stop], rewards[start:stop])
            self.clock += stop - start
            drift_test.record(self.snapshots, self.counts, self.clock, self.every)
            start = stop

    def take_back(self, arm: int, reward: float, number: int | None) -> None:
        """Take one reward back; refused if it cannot be among those of the arm.

        Args:
            arm: the arm.
            reward: the reward.
            number: which observation it was, counted from 1; None drops all copies, because
                it is not known which of them hold the reward.
        """
        if not histogram.holds(self.counts[arm], reward):
            raise RewardError(
                f"reward must be one that arm {arm} has had, got {reward:.6g} on the unit scale"
            )
        if number is not None:
            self._check_number(arm, reward, number)
            for slot in np.flatnonzero(self.snapshots.times >= number):
                copy = histogram.Histogram(self.snapshots.counts[slot])
                histogram.add(copy, arm, reward, -1.0)
        else:
            self._drop_copies()
        histogram.add(self._histogram, arm, reward, -1.0)
        self._marked.clear()

    def merge(self, other: "TimedHistogram", past: FloatArray | None) -> None:
        """Add another histogram_history, less a past that is in both.

        Two streams have no common clock: copies are dropped.
        """
        merged, clock = self.counts + other.counts, self.clock + other.clock
        if past is not None:
            merged -= past
            clock -= round(float(past.sum()))
        if merged.min() < 0.0:
            raise StateError(
                "evidence to merge must still hold the common past, got some that has forgotten "
                "the same rewards of it"
            )
        self.counts[...] = merged
        self.clock = clock
        self._marked.clear()
        self._drop_copies()

    def copy(self) -> "TimedHistogram":
        """The same histogram_history, with memory of its own."""
        twin = TimedHistogram(len(self.counts), self.bins, self.every)
        twin.counts[...] = self.counts
        used = np.flatnonzero(self.snapshots.times)
        twin.snapshots.times[used] = self.snapshots.times[used]
        twin.snapshots.counts[used] = self.snapshots.counts[used]
        twin.clock, twin.since, twin._marked = self.clock, self.since, dict(self._marked)
        return twin

    def moved(self, rows: Sequence[int | None]) -> "TimedHistogram":
        """The same rewards with arms in other places; ``rows``: where each arm was, or None."""
        twin = TimedHistogram(len(rows), self.bins, self.every)
        here = np.array([arm for arm, row in enumerate(rows) if row is not None], np.int64)
        there = np.array([row for row in rows if row is not None], np.int64)
        twin.counts[here] = self.counts[there]
        used = np.flatnonzero(self.snapshots.times)
        twin.snapshots.times[used] = self.snapshots.times[used]
        twin.snapshots.counts[np.ix_(used, here)] = self.snapshots.counts[np.ix_(used, there)]
        twin.clock, twin.since = self.clock, self.since
        return twin

    def mark(self) -> None:
        """Keep a copy of the present for `history`."""
        self._marked[self.clock] = self.counts.copy()

    def history(self) -> tuple[IntArray, FloatArray]:
        """Times and histograms that are still known, the present one last."""
        known = self._marked | dict(zip(*drift_test.kept(self.snapshots, self.clock), strict=True))
        known[self.clock] = self.counts.copy()
        times = sorted(known)
        return np.array(times, np.int64), np.array([known[time] for time in times])

    def _check_number(self, arm: int, reward: float, number: int) -> None:
        """Refuse a number in whose stretch of time the arm cannot have had this reward."""
        number = as_integer("number", number, 1, EvidenceError)
        require(number <= self.clock, "number", f"be at most {self.clock}", number, EvidenceError)
        times, copies = drift_test.kept(self.snapshots, self.clock + 1)
        ends = np.vstack([np.zeros(self.bins + 1), copies[:, arm], self.counts[arm]])
        stretch = int(np.searchsorted(times, number))
        if not histogram.holds(ends[stretch + 1] - ends[stretch], reward):
            raise EvidenceError(
                f"number must be that of an observation of arm {arm} with this reward, got {number}"
            )

    def _drop_copies(self) -> None:
        self.snapshots.times[:] = 0
        self.since = self.clock

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_cells"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._cells = _cells_of(self._histogram)


def _cells_of(counts: histogram.Histogram) -> "memoryview[float]":
    """The soft counts as one row of numbers, which Python changes quicker than an array."""
    return memoryview(counts.counts.reshape(-1))  # type: ignore[arg-type]


def _as_parameter(name: str, value: object, most: int) -> int:
    number = as_integer(name, value, 1, EvidenceError)
    require(number <= most, name, f"be at most {most}", value, EvidenceError)
    return number
