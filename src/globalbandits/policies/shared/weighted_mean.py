"""WAGP's estimate: the arms' own estimates, weighted by their numbers of rewards.

``theta-hat = sum_k (N_k / t) * inverse_k(mean reward of arm k)``. One reward changes one term of
the sum. Terms are whole numbers of grains (2**-50 of the domain's length), each stored as two
integers: an upper and a lower half of 25 bits. Sums of integers are exact, so the estimate does
not depend on the order of rewards.
"""

import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.errors import PolicyError
from globalbandits.model.tables import Tables, evaluate, evaluate_segment, find_segment, is_inside
from globalbandits.statistics import Statistics

_BITS_PER_HALF = 25
_GRAINS_PER_UPPER = 1 << _BITS_PER_HALF
_DOMAIN_GRAINS = 1 << (2 * _BITS_PER_HALF)
# Much larger than rounding errors, and much smaller than a region of the domain.
_EDGE_MARGIN_GRAINS = 1024.0


class Estimates(NamedTuple):
    """Every arm's own estimate, and their weighted sum (one for each group, if there are any)."""

    thetas: FloatArray  # (n_arms,) theta-hat_k, meaningful where N_k > 0
    segments: IntArray  # (n_arms,) segment of the arm's inverse at the last call, -1 for none
    parts: IntArray  # (n_arms, 2) N_k theta-hat_k in grains, the upper and the lower half
    weighted: IntArray  # (2,) or (n_groups, 2) sum over the arms


def no_estimates(n_arms: int) -> Estimates:
    """No reward yet."""
    return Estimates(
        thetas=np.zeros(n_arms),
        segments=np.full(n_arms, -1),
        parts=np.zeros((n_arms, 2), np.int64),
        weighted=np.zeros(2, np.int64),
    )


def no_group_estimates(n_arms: int, n_groups: int) -> Estimates:
    """No reward yet, and a sum for each group of arms."""
    return no_estimates(n_arms)._replace(weighted=np.zeros((n_groups, 2), np.int64))


def update_estimate(tables: Tables, stats: Statistics, own: Estimates, arm: int) -> None:
    """Update one arm's estimate and the weighted sum from the arm's counts and sums."""
    upper, lower = own.parts[arm, 0], own.parts[arm, 1]
    update_term(tables, tables.low, tables.high, stats, own, arm)
    own.weighted[0] += own.parts[arm, 0] - upper
    own.weighted[1] += own.parts[arm, 1] - lower


def update_group_estimate(
    tables: Tables,
    low: float,
    high: float,
    stats: Statistics,
    own: Estimates,
    arm: int,
    group: int,
) -> None:
    """`update_estimate` for an arm of a group whose parameter lies in [low, high]."""
    upper, lower = own.parts[arm, 0], own.parts[arm, 1]
    update_term(tables, low, high, stats, own, arm)
    own.weighted[group, 0] += own.parts[arm, 0] - upper
    own.weighted[group, 1] += own.parts[arm, 1] - lower


def update_term(
    tables: Tables, low: float, high: float, stats: Statistics, own: Estimates, arm: int
) -> None:
    """Update one arm's estimate and its term of the weighted sum."""
    count = stats.counts[arm]
    upper = 0
    lower = 0
    if count > 0:
        theta = invert(tables, own, arm, stats.sums[arm] / count)
        own.thetas[arm] = theta
        position = as_grains(low, high, theta)
        grains = 0
        # The comparison is false for nan.
        if position > 0.0:
            grains = int(min(position, float(_DOMAIN_GRAINS)))
        upper = count * (grains >> _BITS_PER_HALF)
        lower = count * (grains & (_GRAINS_PER_UPPER - 1))
    else:
        own.thetas[arm] = 0.0
        own.segments[arm] = -1
    own.parts[arm, 0] = upper
    own.parts[arm, 1] = lower


def rebuild_estimates(tables: Tables, stats: Statistics, own: Estimates) -> None:
    """Compute all estimates and the weighted sum from counts and sums."""
    own.weighted[0] = 0
    own.weighted[1] = 0
    for arm in range(tables.n_arms):
        own.segments[arm] = -1
        own.parts[arm, 0] = 0
        own.parts[arm, 1] = 0
        update_estimate(tables, stats, own, arm)


def invert(tables: Tables, own: Estimates, arm: int, mean: float) -> float:
    """Return the arm's inverse at a mean. The segment of the last call is tried first."""
    curves = tables.inverse
    segment = own.segments[arm]
    if segment >= 0 and is_inside(curves, segment, mean):
        return evaluate_segment(curves, segment, mean)
    if curves.low[arm] < mean < curves.high[arm]:
        segment = find_segment(curves, arm, mean)
        own.segments[arm] = segment
        return evaluate_segment(curves, segment, mean)
    own.segments[arm] = -1
    return evaluate(curves, arm, mean)


def as_grains(low: float, high: float, theta: float) -> float:
    """Return the distance of a parameter from the left end of the domain, in grains."""
    return (theta - low) * (_DOMAIN_GRAINS / (high - low))


def is_between(own: Estimates, stats: Statistics, low: float, high: float) -> bool:
    """Whether the weighted estimate certainly lies between two points given by `as_grains`.

    False for an estimate very close to one of them. Faster than `weighted_mean`: no division.
    """
    grains = own.weighted[0] * float(_GRAINS_PER_UPPER) + own.weighted[1]
    n_rewards = float(stats.total[0])
    return bool(
        (float(low) + _EDGE_MARGIN_GRAINS) * n_rewards
        < grains
        < (float(high) - _EDGE_MARGIN_GRAINS) * n_rewards
    )


def weighted_mean(tables: Tables, stats: Statistics, own: Estimates) -> float:
    """Return the weighted estimate theta-hat_t inside the domain; nan before any reward."""
    if stats.total[0] == 0:
        return math.nan
    return mean_of_grains(tables.low, tables.high, own.weighted[0], own.weighted[1], stats.total[0])


def mean_of_grains(low: float, high: float, upper: int, lower: int, n_rewards: int) -> float:
    """Return the parameter at the average number of grains per reward, inside the domain."""
    grains = (upper * float(_GRAINS_PER_UPPER) + lower) / n_rewards
    theta = low + (high - low) * (grains / _DOMAIN_GRAINS)
    return float(min(max(theta, low), high))


def require_inverses(tables: Tables, policy: str) -> None:
    """Raise PolicyError unless every mean of the model can be inverted.

    >>> from globalbandits.model import RewardModel
    >>> flat = RewardModel(lambda theta, x: x + 0 * theta, [0.2, 0.4], monotone=False)
    >>> require_inverses(flat.tables, "WAGP")
    Traceback (most recent call last):
        ...
    globalbandits.errors.PolicyError: model must be monotone for WAGP, which inverts the arms' \
means (GridThompson, IDS, Elastic, UCBS, UCBC and TSC do not), got monotone=False
    """
    rule = (
        f"be monotone for {policy}, which inverts the arms' means "
        "(GridThompson, IDS, Elastic, UCBS, UCBC and TSC do not)"
    )
    if not tables.invertible:
        raise PolicyError(f"model must {rule}, got monotone=False")
