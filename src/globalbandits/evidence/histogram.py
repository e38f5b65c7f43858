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

from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray

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
