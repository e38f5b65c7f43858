"""The schedule of fits: when the next one is due, and whether a saved one is possible.

A policy that does not fit after every reward keeps a copy of the statistics of its last fit. The
rest of its state follows from that copy and the current statistics. A policy that also updates
single arms on a schedule keeps a second copy: each arm's rewards at its last update.
"""

import math

from globalbandits.statistics import Statistics, are_part

_FIT_EVERY_ROUND_UNTIL = 20  # rewards
# An arm's number of rewards grows by this factor from one update of the arm to the next.
_RENEWAL_GROWTH = 1.01


def next_fit(n_rewards: int, growth: float) -> float:
    """Return the number of rewards at which the next fit is due.

    At first a fit is due in every round, later when there are ``growth`` times as many rewards.

    >>> next_fit(3, 1.05), next_fit(20, 1.05), next_fit(1000, 1.05)
    (4.0, 21.0, 1050.0)
    """
    total = float(n_rewards)
    if n_rewards < _FIT_EVERY_ROUND_UNTIL:
        return total + 1.0
    return max(total + 1.0, float(math.ceil(growth * total)))


def may_be_last_fit(fitted: Statistics, stats: Statistics, growth: float) -> bool:
    """Whether a learner with statistics ``stats`` can have made its last fit with ``fitted``.

    >>> from globalbandits.statistics import copy, count, no_statistics
    >>> fitted = no_statistics(2)
    >>> count(fitted, 1, 0.5)
    >>> may_be_last_fit(fitted, copy(fitted), 1.05)
    True
    >>> may_be_last_fit(fitted, no_statistics(2), 1.05)
    False
    """
    n_fitted = int(fitted.total[0])
    return n_fitted <= int(stats.total[0]) < next_fit(n_fitted, growth) and are_part(fitted, stats)


def is_old(n_renewed: int, n_rewards: int) -> bool:
    """Whether numbers derived from ``n_renewed`` rewards of an arm are out of date.

    >>> is_old(99, 100), is_old(1000, 1009), is_old(1000, 1010)
    (True, False, True)
    """
    return n_rewards >= _RENEWAL_GROWTH * n_renewed


def may_be_renewals(
    fitted: Statistics, renewed: Statistics, stats: Statistics, growth: float
) -> bool:
    """Whether a learner with ``stats`` can have made its last fit and updates with the others."""
    if not may_be_last_fit(fitted, stats, growth):
        return False
    if not are_part(fitted, renewed) or not are_part(renewed, stats):
        return False
    for arm in range(stats.counts.shape[0]):
        played = stats.counts[arm] > renewed.counts[arm]
        if played and is_old(renewed.counts[arm], stats.counts[arm]):
            return False
    return True
