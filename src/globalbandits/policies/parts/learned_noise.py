"""The variance of each arm's rewards, learned from all arms first and from the arm later.

Rewards in [0, 1] with mean e have a variance of at most ``e * (1 - e)``. The rewards of all arms
show which share of that bound they reach. An arm's expected variance is the same share of the
bound at a guess of its mean. Everything follows from the statistics, in any order of rewards.
"""

import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.statistics import Statistics

MIN_VARIANCE = 1e-5
# The bound e * (1 - e) counts as at least this, for means near 0 and 1.
MIN_VARIANCE_BOUND = 0.001
# The first guess of an arm's mean weighs as much as this many rewards.
GUESS_WEIGHT_REWARDS = 4.0


class Pooling(NamedTuple):
    """How much the variance of an arm is taken from the other arms."""

    rounds: float  # the expected variance weighs as much as this many rewards
    most: float  # rewards of one arm that count in the share; infinite for all of them


SIMILAR_ARMS = Pooling(rounds=20.0, most=math.inf)
# An arm that is played most and hardly varies must not dominate the share.
DIFFERENT_ARMS = Pooling(rounds=5.0, most=20.0)


class Noise(NamedTuple):
    """Estimates of the variance of every arm's rewards."""

    guesses: FloatArray  # (n_arms,) guesses of the arms' means
    expected: FloatArray  # (n_arms,) variances estimated from all arms
    variances: FloatArray  # (n_arms,) v_k, from all arms and the arm's own rewards


def no_noise(n_arms: int) -> Noise:
    """Nothing learned yet."""
    return Noise(np.zeros(n_arms), np.zeros(n_arms), np.zeros(n_arms))


def guess_mean(stats: Statistics, arm: int, first_guess: float) -> float:
    """The weighted average of a first guess of an arm's mean and its own rewards."""
    return float(
        (GUESS_WEIGHT_REWARDS * first_guess + stats.sums[arm])
        / (GUESS_WEIGHT_REWARDS + stats.counts[arm])
    )


def learn_noise(stats: Statistics, noise: Noise, pooling: Pooling) -> None:
    """Expected variances and variances of all arms, from the guesses of their means.

    An arm that may turn out best is expected to have the largest variance between its own
    mean and the best one's.
    """
    n_arms = stats.counts.shape[0]
    seen = 0.5
    possible = 0.5
    best = noise.guesses[0]
    for arm in range(n_arms):
        best = max(best, noise.guesses[arm])
        count = stats.counts[arm]
        if count >= 2:
            mean = stats.sums[arm] / count
            weight = min(1.0, pooling.most / (count - 1))
            seen += weight * max(0.0, stats.squares[arm] - stats.sums[arm] * mean)
            possible += weight * (count - 1) * max(mean * (1.0 - mean), MIN_VARIANCE_BOUND)
    share = min(1.0, seen / possible)
    for arm in range(n_arms):
        mean = noise.guesses[arm]
        bound = max(mean * (1.0 - mean), best * (1.0 - best))
        if mean < 0.5 < best:
            bound = 0.25
        noise.expected[arm] = share * max(bound, MIN_VARIANCE_BOUND)
        update_variance(stats, noise, pooling, arm)


def update_variance(stats: Statistics, noise: Noise, pooling: Pooling, arm: int) -> None:
    """Update an arm's variance: the weighted average of the expected one and its own."""
    variance = noise.expected[arm]
    count = stats.counts[arm]
    if count >= 2:
        own = max(0.0, stats.squares[arm] - stats.sums[arm] * stats.sums[arm] / count)
        variance = (pooling.rounds * variance + own) / (pooling.rounds - 1.0 + count)
    noise.variances[arm] = max(variance, MIN_VARIANCE)
