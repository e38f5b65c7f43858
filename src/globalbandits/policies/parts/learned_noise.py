"""How much rewards vary: learned from all arms at first, from the arm itself later.

Rewards in [0, 1] with mean e have a variance of at most ``e * (1 - e)``. All arms together show
which share of that they reach; an arm is expected to vary by the same share, at a guess of its
mean. Everything follows from the statistics, so the order of rewards leaves no trace.
"""

import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.statistics import Statistics

LEAST_VARIANCE = 1e-5
LEAST_BOUND = 0.001  # of the variance of rewards in [0, 1], however near an end their mean is
GUESS_ROUNDS = 4.0  # how many rewards the first guess of an arm's mean is worth


class Pooling(NamedTuple):
    """How far arms are taken to be alike."""

    rounds: float  # how many rewards the expected variance of an arm is worth
    most: float  # rewards of an arm that count in the share; infinite for all of them


ALIKE = Pooling(rounds=20.0, most=math.inf)
APART = Pooling(rounds=5.0, most=20.0)  # a favourite without noise says little of the others


class Noise(NamedTuple):
    """What is known of the variance of every arm's rewards."""

    guesses: FloatArray  # (n_arms,) of the arms' means
    expected: FloatArray  # (n_arms,) variances, by all arms
    variances: FloatArray  # (n_arms,) v_k, by all arms and the arm's own rewards


def no_noise(n_arms: int) -> Noise:
    """Room for the numbers of some arms."""
    return Noise(np.zeros(n_arms), np.zeros(n_arms), np.zeros(n_arms))


def guess_mean(stats: Statistics, arm: int, first_guess: float) -> float:
    """A first guess of an arm's mean and its own rewards, weighed together."""
    return float(
        (GUESS_ROUNDS * first_guess + stats.sums[arm]) / (GUESS_ROUNDS + stats.counts[arm])
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
            possible += weight * (count - 1) * max(mean * (1.0 - mean), LEAST_BOUND)
    share = min(1.0, seen / possible)
    for arm in range(n_arms):
        mean = noise.guesses[arm]
        bound = max(mean * (1.0 - mean), best * (1.0 - best))
        if mean < 0.5 < best:
            bound = 0.25
        noise.expected[arm] = share * max(bound, LEAST_BOUND)
        renew_variance(stats, noise, pooling, arm)


def renew_variance(stats: Statistics, noise: Noise, pooling: Pooling, arm: int) -> None:
    """An arm's variance: the expected one and that of its own rewards, weighed together."""
    variance = noise.expected[arm]
    count = stats.counts[arm]
    if count >= 2:
        own = max(0.0, stats.squares[arm] - stats.sums[arm] * stats.sums[arm] / count)
        variance = (pooling.rounds * variance + own) / (pooling.rounds - 1.0 + count)
    noise.variances[arm] = max(variance, LEAST_VARIANCE)
