"""Fits that are made seldom: when the next one is due, and what a saved one may be.

A policy that fits seldom keeps a copy of the statistics of its last fit. Everything else
follows from that copy and the statistics of now.
"""

import math

from globalbandits.statistics import Statistics, are_part

_EVERY_ROUND = 20  # rewards, up to which a fit is made every round


def next_fit(n_rewards: int, growth: float) -> float:
    """The number of rewards at which the fit after this one is due.

    Every round at first; later when there are ``growth`` times as many.

    >>> next_fit(3, 1.05), next_fit(20, 1.05), next_fit(1000, 1.05)
    (4.0, 21.0, 1050.0)
    """
    total = float(n_rewards)
    if n_rewards < _EVERY_ROUND:
        return total + 1.0
    return max(total + 1.0, float(math.ceil(growth * total)))


def may_be_last_fit(fitted: Statistics, stats: Statistics, growth: float) -> bool:
    """Whether a learner with these statistics can have made its last fit with those.

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
