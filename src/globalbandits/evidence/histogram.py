"""The soft histogram of rewards, from which every statement of `Evidence` is computed.

A reward x of arm k on the unit scale lies between two of the knots j/B, j = 0..B. It adds
1 - w to the count of the left knot and w to the count of the right knot, where w is its relative
position between them. This keeps the mean and can only increase the variance. The logarithm of
a bet's pay-off is concave in x, so the wealth computed from the knots is at most the wealth of
the real bet, and every statement based on it is valid.

Sums are exact: w is rounded to a multiple of 2**-26, so sums of up to 2**27 rewards per knot
have no rounding error. Adding and subtracting histograms is exact, and the order of rewards
does not matter.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_integer, require
from globalbandits.errors import EvidenceError, RewardError, StateError
from globalbandits.evidence import drift_test

DEFAULT_BINS = 8
MOST_BINS = 1024
GRAINS = 67108864.0  # 2**26: weights of knots are multiples of 1 / GRAINS


class Histogram(NamedTuple):
    """Soft counts of rewards, per arm and knot."""

    counts: FloatArray  # (n_arms, n_bins + 1)


def empty(n_arms: int, n_bins: int = DEFAULT_BINS) -> Histogram:
    """An empty histogram.

    >>> empty(2, n_bins=4).counts.shape
    (2, 5)
    """
    return Histogram(np.zeros((n_arms, n_bins + 1)))


def place(reward: float, n_bins: int) -> tuple[int, float]:
    """The knot to the left of a reward, and the weight of the knot to the right.

    A reward outside [0, 1] is moved to the nearer end, and nan to 0. Numba compiles this.

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
    """Add a reward on the unit scale ``weight`` times; -1 removes it. Numba compiles this.

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
    """Whether an arm's row of soft counts can contain a reward.

    >>> holds(np.array([0.0, 1.5, 0.5]), 0.6), holds(np.array([0.0, 1.5, 0.5]), 0.8)
    (True, False)
    """
    knot, share = place(reward, row.shape[0] - 1)
    return bool(row[knot] >= 1.0 - share and row[knot + 1] >= share)


def add_many(histogram: Histogram, arms: IntArray, rewards: FloatArray) -> None:
    """Add rewards on the unit scale; bit-identical to calling `add` for each.

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
    """Soft counts with a clock, and copies of them taken at known times.

    Rewards are on the unit scale. Sums are exact: only the copies depend on the order of
    rewards, and a removed reward leaves no trace.

    Args:
        n_arms: number of arms.
        bins: cells of the histogram.
        every: observations between two copies.

    >>> tally = TimedHistogram(2, bins=4, every=100)
    >>> tally.note(1, 0.5)
    >>> tally.counts.tolist(), tally.clock
    ([[0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0]], 1)
    """

    def __init__(self, n_arms: int, bins: int, every: int) -> None:
        self.bins = _as_parameter("bins", bins, MOST_BINS)
        self.every = _as_parameter("every", every, drift_test.MAX_EVERY)
        self._histogram = empty(n_arms, self.bins)
        self._cells = _cells_of(self._histogram)
        self.snapshots = drift_test.no_snapshots(n_arms, self.bins)
        self.clock = 0  # number of rewards ever observed, removed ones included
        self.since = 0  # the clock when copies were last dropped
        self._marked: dict[int, FloatArray] = {}  # further copies, used by plots only

    @property
    def counts(self) -> FloatArray:
        """The soft counts, shape (n_arms, bins + 1); not a copy."""
        return self._histogram.counts

    def note(self, arm: int, reward: float) -> None:
        """Add one reward."""
        knot, share = place(reward, self.bins)
        cells, at = self._cells, arm * (self.bins + 1) + knot
        cells[at] += 1.0 - share
        cells[at + 1] += share
        self.tick()

    @property
    def soft_counts(self) -> Histogram:
        """The histogram, not a copy. A caller that adds a reward to it then calls `tick`."""
        return self._histogram

    def tick(self) -> None:
        """Advance the clock by one reward, and copy the histogram if a copy is due."""
        self.clock += 1
        if self.clock % self.every == 0:
            drift_test.record(self.snapshots, self.counts, self.clock, self.every)

    def note_many(self, arms: IntArray, rewards: FloatArray) -> None:
        """Add rewards; bit-identical to adding them one by one."""
        start = 0
        while start < arms.size:
            stop = min(arms.size, start + self.every - self.clock % self.every)
            add_many(self._histogram, arms[start:stop], rewards[start:stop])
            self.clock += stop - start
            drift_test.record(self.snapshots, self.counts, self.clock, self.every)
            start = stop

    def take_back(self, arm: int, reward: float, number: int | None) -> None:
        """Remove one reward. Raises `RewardError` if the arm cannot have had it.

        Args:
            arm: index of the arm.
            reward: the reward.
            number: position of the observation, counted from 1. None drops all copies, because
                it is unknown which of them contain the reward.
        """
        if not holds(self.counts[arm], reward):
            raise RewardError(
                f"reward must be one that arm {arm} has had, got {reward:.6g} on the unit scale"
            )
        if number is not None:
            self._check_number(arm, reward, number)
            for slot in np.flatnonzero(self.snapshots.times >= number):
                copy = Histogram(self.snapshots.counts[slot])
                add(copy, arm, reward, -1.0)
        else:
            self._drop_copies()
        add(self._histogram, arm, reward, -1.0)
        self._marked.clear()

    def merge(self, other: "TimedHistogram", past: FloatArray | None) -> None:
        """Add another histogram minus the common past.

        Two streams have no common clock, so the copies are dropped.
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
        """An independent copy."""
        twin = TimedHistogram(len(self.counts), self.bins, self.every)
        twin.counts[...] = self.counts
        used = np.flatnonzero(self.snapshots.times)
        twin.snapshots.times[used] = self.snapshots.times[used]
        twin.snapshots.counts[used] = self.snapshots.counts[used]
        twin.clock, twin.since, twin._marked = self.clock, self.since, dict(self._marked)
        return twin

    def moved(self, rows: Sequence[int | None]) -> "TimedHistogram":
        """The same rewards for a new list of arms; ``rows`` has each arm's old index or None."""
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
        """Store a copy of the current histogram for `history`."""
        self._marked[self.clock] = self.counts.copy()

    def history(self) -> tuple[IntArray, FloatArray]:
        """Times and histograms of the stored copies; the current histogram is last."""
        known = self._marked | dict(zip(*drift_test.kept(self.snapshots, self.clock), strict=True))
        known[self.clock] = self.counts.copy()
        times = sorted(known)
        return np.array(times, np.int64), np.array([known[time] for time in times])

    def _check_number(self, arm: int, reward: float, number: int) -> None:
        """Raise `EvidenceError` if the arm cannot have had this reward at this position."""
        number = as_integer("number", number, 1, EvidenceError)
        require(number <= self.clock, "number", f"be at most {self.clock}", number, EvidenceError)
        times, copies = drift_test.kept(self.snapshots, self.clock + 1)
        ends = np.vstack([np.zeros(self.bins + 1), copies[:, arm], self.counts[arm]])
        stretch = int(np.searchsorted(times, number))
        if not holds(ends[stretch + 1] - ends[stretch], reward):
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


def _cells_of(counts: Histogram) -> "memoryview[float]":
    """The soft counts as a flat memoryview, which Python updates faster than an array."""
    return memoryview(counts.counts.reshape(-1))  # type: ignore[arg-type]


def _as_parameter(name: str, value: object, most: int) -> int:
    number = as_integer(name, value, 1, EvidenceError)
    require(number <= most, name, f"be at most {most}", value, EvidenceError)
    return number
