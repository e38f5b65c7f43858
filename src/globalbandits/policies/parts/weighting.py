"""WAGP's estimate: the arms' own estimates, weighted by how often the arms were played.

``theta-hat = sum_k (N_k / t) * inverse_k(mean reward of arm k)``. One reward changes one term of
the sum. The terms are kept as whole grains of the domain (2**-50 of its length), in two
integers each, so that sums are exact: the order of rewards leaves no trace in them.
"""

import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.tables import Tables, evaluate, evaluate_segment, find_segment, is_inside
from globalbandits.statistics import Statistics

_BITS = 25  # of each of the two integers
_HALF = 1 << _BITS
_GRAINS = 1 << (2 * _BITS)  # in the domain


class Estimates(NamedTuple):
    """Every arm's own estimate, and their weighted sum: one for each group of arms."""

    thetas: FloatArray  # (n_arms,) theta-hat_k, meaningful where N_k > 0
    segments: IntArray  # (n_arms,) where the arm's inverse was read, -1 beyond its ends or unread
    parts: IntArray  # (n_arms, 2) N_k theta-hat_k in grains, the upper and the lower half
    weighted: IntArray  # (n_groups, 2) sum over the group's arms


def no_estimates(n_arms: int, n_groups: int = 1) -> Estimates:
    """No reward yet."""
    return Estimates(
        thetas=np.zeros(n_arms),
        segments=np.full(n_arms, -1),
        parts=np.zeros((n_arms, 2), np.int64),
        weighted=np.zeros((n_groups, 2), np.int64),
    )


def weigh(tables: Tables, stats: Statistics, own: Estimates, arm: int) -> None:
    """Bring one arm's estimate and the sum in line with the arm's counts and sums."""
    weigh_in_group(tables, tables.low, tables.high, stats, own, arm, 0)


def weigh_in_group(
    tables: Tables,
    low: float,
    high: float,
    stats: Statistics,
    own: Estimates,
    arm: int,
    group: int,
) -> None:
    """`weigh` for an arm of a group whose parameter lies in [low, high]."""
    count = stats.counts[arm]
    upper = 0
    lower = 0
    if count > 0:
        theta = invert(tables, own, arm, stats.sums[arm] / count)
        own.thetas[arm] = theta
        position = (theta - low) / (high - low) * _GRAINS
        grains = 0
        if position > 0.0:  # not for nan
            grains = min(int(min(position, float(_GRAINS))), _GRAINS)
        upper = count * (grains >> _BITS)
        lower = count * (grains & (_HALF - 1))
    else:
        own.thetas[arm] = 0.0
        own.segments[arm] = -1
    own.weighted[group, 0] += upper - own.parts[arm, 0]
    own.weighted[group, 1] += lower - own.parts[arm, 1]
    own.parts[arm, 0] = upper
    own.parts[arm, 1] = lower


def weigh_all(tables: Tables, stats: Statistics, own: Estimates) -> None:
    """All arms' estimates from counts and sums, whatever was there."""
    own.weighted[:] = 0
    for arm in range(tables.n_arms):
        own.segments[arm] = -1
        own.parts[arm, 0] = 0
        own.parts[arm, 1] = 0
        weigh(tables, stats, own, arm)


def invert(tables: Tables, own: Estimates, arm: int, mean: float) -> float:
    """`evaluate` of the arm's inverse; the segment it was read from last is tried first."""
    curves = tables.inverse
    segment = own.segments[arm]
    if segment >= 0 and is_inside(curves, segment, mean):
        return evaluate_segment(curves, segment, mean)
    own.segments[arm] = -1
    if curves.low[arm] < mean < curves.high[arm]:
        own.segments[arm] = find_segment(curves, arm, mean)
    return evaluate(curves, arm, mean)


def weighted_mean(tables: Tables, stats: Statistics, own: Estimates) -> float:
    """The weighted estimate theta-hat_t, kept inside the domain; nan before any reward."""
    if stats.total[0] == 0:
        return math.nan
    return group_mean(tables.low, tables.high, own, 0, stats.total[0])


def group_mean(low: float, high: float, own: Estimates, group: int, n_rewards: int) -> float:
    """The weighted estimate of a group whose arms have had so many rewards, one at least."""
    grains = (own.weighted[group, 0] * float(_HALF) + own.weighted[group, 1]) / n_rewards
    theta = low + (high - low) * (grains / _GRAINS)
    return float(min(max(theta, low), high))
