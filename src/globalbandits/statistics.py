"""`Statistics`: the number, the sum and the sum of squares of each arm's rewards.

Learners, evidence and the simulator all keep one `Statistics`, and policies read it. Rewards are
on the unit scale. The functions that compiled code calls use the subset of Python that Numba
supports.
"""

from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import AnyArray, FloatArray, IntArray


class Statistics(NamedTuple):
    """Counts and sums per arm. The statistics of several learners can be added."""

    counts: IntArray  # (n_arms,) number of rewards, N_k
    sums: FloatArray  # (n_arms,) sum of rewards
    squares: FloatArray  # (n_arms,) sum of squared rewards
    total: IntArray  # (1,) number of rewards of all arms


def no_statistics(n_arms: int) -> Statistics:
    """Empty statistics.

    >>> no_statistics(2).counts.tolist()
    [0, 0]
    """
    return Statistics(
        np.zeros(n_arms, np.int64), np.zeros(n_arms), np.zeros(n_arms), np.zeros(1, np.int64)
    )


def no_weighted_statistics(n_arms: int) -> Statistics:
    """Return empty statistics whose counts may become fractions."""
    counts: Any = np.zeros(n_arms)
    total: Any = np.zeros(1)
    return Statistics(counts, np.zeros(n_arms), np.zeros(n_arms), total)


def count(stats: Statistics, arm: int, reward: float) -> None:
    """Add one reward.

    >>> stats = no_statistics(2)
    >>> count(stats, 1, 0.5)
    >>> stats.sums.tolist(), stats.total.tolist()
    ([0.0, 0.5], [1])
    """
    stats.counts[arm] += 1
    stats.sums[arm] += reward
    stats.squares[arm] += reward * reward
    stats.total[0] += 1


def count_many(stats: Statistics, arms: IntArray, rewards: FloatArray) -> None:
    """Add rewards with NumPy; bit-identical to calling `count` for each.

    >>> stats = no_statistics(2)
    >>> count_many(stats, np.array([1, 1]), np.array([0.5, 1.0]))
    >>> stats.squares.tolist(), stats.total.tolist()
    ([0.0, 1.25], [2])
    """
    np.add.at(stats.counts, arms, 1)
    np.add.at(stats.sums, arms, rewards)
    np.add.at(stats.squares, arms, rewards * rewards)
    stats.total[0] += arms.size


def may_hold(stats: Statistics, arm: int, reward: float) -> bool:
    """Whether a reward can be among the arm's counted rewards, up to rounding.

    This holds if some rewards in [0, 1] have the sums that remain without it.

    >>> stats = no_statistics(1)
    >>> count(stats, 0, 0.25)
    >>> count(stats, 0, 0.75)
    >>> may_hold(stats, 0, 0.25), may_hold(stats, 0, 0.5)
    (True, False)
    """
    left = int(stats.counts[arm]) - 1
    if left < 0:
        return False
    slack = 1e-9 * (1.0 + left)
    rest = float(stats.sums[arm]) - reward
    if not -slack <= rest <= left + slack:
        return False
    # The sum of squares is smallest if all rewards are equal. It is largest if all but one are
    # 0 or 1.
    rest = min(max(rest, 0.0), float(left))
    least = rest * rest / max(left, 1)
    most = int(rest) + (rest - int(rest)) ** 2
    return least - slack <= float(stats.squares[arm]) - reward * reward <= most + slack


def uncount(stats: Statistics, arm: int, reward: float) -> None:
    """Remove one counted reward; the sums stay possible for rewards in [0, 1].

    Removing an arm's last reward sets its sums to exactly 0, which discards rounding errors.
    """
    left = stats.counts[arm] - 1
    stats.counts[arm] = left
    stats.total[0] -= 1
    if left > 0:
        stats.sums[arm] = min(max(stats.sums[arm] - reward, 0.0), float(left))
        stats.squares[arm] = min(max(stats.squares[arm] - reward * reward, 0.0), float(left))
    else:
        stats.sums[arm] = 0.0
        stats.squares[arm] = 0.0


def add(stats: Statistics, other: Statistics, sign: int) -> None:
    """Add (1) or subtract (-1) other statistics, arm by arm."""
    for arm in range(stats.counts.shape[0]):
        stats.counts[arm] += sign * other.counts[arm]
        stats.sums[arm] += sign * other.sums[arm]
        stats.squares[arm] += sign * other.squares[arm]
    stats.total[0] += sign * other.total[0]


def assign(stats: Statistics, other: Statistics) -> None:
    """Overwrite statistics with a copy of other statistics."""
    for arm in range(stats.counts.shape[0]):
        stats.counts[arm] = other.counts[arm]
        stats.sums[arm] = other.sums[arm]
        stats.squares[arm] = other.squares[arm]
    stats.total[0] = other.total[0]


def assign_arm(stats: Statistics, other: Statistics, arm: int) -> None:
    """Overwrite the statistics of one arm with those of other statistics."""
    stats.total[0] += other.counts[arm] - stats.counts[arm]
    stats.counts[arm] = other.counts[arm]
    stats.sums[arm] = other.sums[arm]
    stats.squares[arm] = other.squares[arm]


def clear(stats: Statistics) -> None:
    """Reset statistics to zero."""
    for arm in range(stats.counts.shape[0]):
        stats.counts[arm] = 0
        stats.sums[arm] = 0.0
        stats.squares[arm] = 0.0
    stats.total[0] = 0


def copy(stats: Statistics) -> Statistics:
    """An independent copy."""
    return Statistics(
        stats.counts.copy(), stats.sums.copy(), stats.squares.copy(), stats.total.copy()
    )


def are_possible(stats: Statistics) -> bool:
    """Whether rewards in [0, 1] can have these counts and sums, up to rounding.

    >>> stats = no_statistics(1)
    >>> count(stats, 0, 0.5)
    >>> are_possible(stats)
    True
    >>> stats.sums[0] = 2.0
    >>> are_possible(stats)
    False
    """
    counts, sums, squares, total = stats
    if np.any(counts < 0) or int(total[0]) != sum(counts.tolist()):
        return False
    return _can_be(counts, sums, squares, 1e-9 * (1.0 + counts))


def are_part(part: Statistics, whole: Statistics) -> bool:
    """Whether ``part`` can be the statistics of a subset of the rewards of ``whole``.

    >>> part, whole = no_statistics(1), no_statistics(1)
    >>> count(whole, 0, 0.5)
    >>> are_part(part, whole), are_part(whole, part)
    (True, False)
    """
    if not are_possible(part) or np.any(part.counts > whole.counts):
        return False
    counts = whole.counts - part.counts
    sums, squares = whole.sums - part.sums, whole.squares - part.squares
    if np.any((counts == 0) & ((sums != 0.0) | (squares != 0.0))):
        return False
    slack = 1e-9 * (1.0 + whole.counts)  # the rounding error is that of the whole's sums
    return _can_be(counts, sums, squares, slack)


def _can_be(counts: IntArray, sums: FloatArray, squares: FloatArray, slack: AnyArray) -> bool:
    inside = (sums >= -slack) & (sums <= counts + slack)
    # 0 <= x <= 1 gives sum x**2 <= sum x, and N * sum x**2 >= (sum x)**2.
    spread = (squares <= sums + slack) & (squares * counts >= sums * sums - slack * (1.0 + counts))
    return bool(np.all(inside & spread))
