"""The sandwich: a floor and a ceiling for an arm's index, from its own rewards.

For an arm with N rewards of mean m, and rewards of variance at most v, ::

    floor   = m + sqrt(v / N) * psi(eps * t / N)
    ceiling = m + sqrt(v / N) * psi(10 * t / N)

The arm with the largest ``min(max(index, floor), ceiling)`` is played. Then no good arm is given up
and no bad one is kept, for any index: docs/elastic.md has the lemma.
"""

import math

from globalbandits._types import FloatArray
from globalbandits.policies.parts.gittins import psi_log
from globalbandits.statistics import Statistics

CEILING_LOOKAHEAD = 10.0  # times the rounds so far
LARGEST_VARIANCE = 0.25  # of rewards in [0, 1]
# The eps of the floor in the proof; it costs almost nothing.
PROVED_CAUTION = 1e-4


def own_bonus(variance: float, count: int, ahead: float) -> float:
    """The bonus of an arm above its own mean, for a horizon and without a curve.

    >>> round(own_bonus(0.25, 100, 1000.0), 4)
    0.0991
    """
    return math.sqrt(variance / count) * psi_log(ahead / count)


def clamp(index: float, own: float, least: float, most: float) -> float:
    """An index between an arm's own mean plus ``least`` and plus ``most``.

    >>> clamp(0.9, 0.5, 0.1, 0.2), clamp(0.5, 0.5, 0.1, 0.2)
    (0.7, 0.6)
    """
    return min(max(index, own + least), own + most)


def cautious_variance(stats: Statistics, arm: int, variance: float) -> float:
    """A cautious variance of an arm with rewards: few own rewards leave a large one possible."""
    count = stats.counts[arm]
    own = stats.sums[arm] / count
    squares = max(0.0, stats.squares[arm] - stats.sums[arm] * own)
    return float(max(variance, (0.5 + squares) / (2.0 + count)))


def is_forced(rounds: float, caution: float) -> bool:
    """Whether an arm without rewards is to be played now: from round 1 / eps on.

    >>> is_forced(99.0, 0.01), is_forced(100.0, 0.01)
    (False, True)
    """
    return rounds * caution >= 1.0


def largest_of(values: FloatArray) -> int:
    """The first position of the largest value."""
    best = 0
    for arm in range(1, values.shape[0]):
        if values[arm] > values[best]:
            best = arm
    return best
