"""Estimates of the variance of each arm's rewards, at first from all arms, later from the arm.

Rewards in [0, 1] with mean e have a variance of at most ``e * (1 - e)``. The rewards of all arms
show which share of that bound they reach. An arm's expected variance is the same share of the
bound at a guess of its mean. Everything follows from the statistics, in any order of rewards.
"""

import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray
from globalbandits._validation import as_positive, require, require_known
from globalbandits.errors import PolicyError
from globalbandits.statistics import Statistics

MIN_VARIANCE = 1e-5
# Smallest value used for the bound e * (1 - e), for means near 0 and 1.
MIN_VARIANCE_BOUND = 0.001
# Weight of the first guess of an arm's mean, as a number of rewards.
GUESS_WEIGHT_REWARDS = 4.0


class Pooling(NamedTuple):
    """The influence of all arms on the variance of one arm."""

    rounds: float  # weight of the expected variance, as a number of rewards
    most: float  # the largest number of rewards of one arm in the share
    # Weight of Bernoulli rewards against an arm's own rewards, as a multiple of the logarithm of
    # the rounds; 0 to trust the other arms.
    doubt: float


# The limit of 20 rewards keeps an arm with many plays and little variance from dominating. An
# arm may still vary much more than the others. Without a doubt, a few equal rewards of such an
# arm would give it a variance near 0, and it would never be played again. The doubt grows with
# the logarithm of the rounds, so the probability of this falls as a power of the rounds.
SIMILAR_ARMS = Pooling(rounds=20.0, most=20.0, doubt=0.03)
DIFFERENT_ARMS = Pooling(rounds=5.0, most=20.0, doubt=0.01)
# For Student's distribution, which is wide for few rewards.
STUDENT_ARMS = Pooling(rounds=5.0, most=20.0, doubt=0.0)


class Noise(NamedTuple):
    """Estimates of the variance of every arm's rewards."""

    guesses: FloatArray  # (n_arms,) guesses of the arms' means
    bounds: FloatArray  # (n_arms,) bounds of the variances, estimated from all arms
    expected: FloatArray  # (n_arms,) variances estimated from all arms
    variances: FloatArray  # (n_arms,) v_k, from all arms and the arm's own rewards
    bernoulli: FloatArray  # (n_arms,) the same for Bernoulli rewards with these means
    doubt: FloatArray  # (1,) weight of Bernoulli rewards against an arm's own rewards
    rarities: FloatArray  # (n_arms,) factors of the weight of the expected variance


def no_noise(n_arms: int) -> Noise:
    """Nothing learned yet."""
    return Noise(
        guesses=np.zeros(n_arms),
        bounds=np.zeros(n_arms),
        expected=np.zeros(n_arms),
        variances=np.zeros(n_arms),
        bernoulli=np.zeros(n_arms),
        doubt=np.zeros(1),
        rarities=np.ones(n_arms),
    )


def guess_mean(stats: Statistics, arm: int, first_guess: float) -> float:
    """Return the weighted average of a first guess of an arm's mean and its own rewards."""
    return float(
        (GUESS_WEIGHT_REWARDS * first_guess + stats.sums[arm])
        / (GUESS_WEIGHT_REWARDS + stats.counts[arm])
    )


def learn_noise(stats: Statistics, noise: Noise, pooling: Pooling) -> None:
    """Estimate the variances of all arms from the guesses of their means.

    Any arm may turn out to be best. So the bound of an arm is the largest ``e * (1 - e)`` of the
    means e between its own and the best one.
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
    noise.doubt[0] = pooling.doubt * math.log(1.0 + stats.total[0])
    for arm in range(n_arms):
        mean = noise.guesses[arm]
        bound = max(mean * (1.0 - mean), best * (1.0 - best))
        if mean < 0.5 < best:
            bound = 0.25
        noise.bounds[arm] = max(bound, MIN_VARIANCE_BOUND)
        noise.expected[arm] = share * noise.bounds[arm]
        update_variance(stats, noise, pooling, arm)


def update_variance(stats: Statistics, noise: Noise, pooling: Pooling, arm: int) -> None:
    """Set an arm's variance to the weighted average of the expected one and its own.

    It is at least the share of a Bernoulli variance that the arm's own rewards, with the doubt,
    leave possible. Equal rewards at an end of the range leave all of it: Bernoulli rewards would
    look the same.
    """
    variance = noise.expected[arm]
    bernoulli = noise.bounds[arm]
    count = stats.counts[arm]
    if count >= 2:
        square = stats.sums[arm] * stats.sums[arm] / count
        own = max(0.0, stats.squares[arm] - square)
        weight = pooling.rounds * noise.rarities[arm]
        variance = (weight * variance + own) / (weight - 1.0 + count)
        # The squares of rewards that are 0 or 1 have the same sum as the rewards.
        most = max(0.0, stats.sums[arm] - square)
        bernoulli = (weight * bernoulli + most) / (weight - 1.0 + count)
        if noise.doubt[0] > 0.0:
            possible = most * (count - 1) / count
            share = min(1.0, (noise.doubt[0] + own) / (noise.doubt[0] + possible))
            variance = max(variance, share * bernoulli)
    noise.variances[arm] = max(variance, MIN_VARIANCE)
    noise.bernoulli[arm] = max(bernoulli, MIN_VARIANCE)


# Learned variances in policies that otherwise use the variance of Bernoulli rewards ("coin") or a
# given number. Bounds and draws then have Student's distribution.

COIN = "coin"
LEARNED = "learned"
_MAX_EXPONENT = 600.0
_MIN_REST = 1e-12
_FIRST_GUESS = 0.5  # of a mean on the unit scale, before the arm's first reward


def as_coin_or_learned(value: object) -> str:
    """Check a variance that must be "coin" (Bernoulli rewards) or "learned".

    >>> as_coin_or_learned("gauss")
    Traceback (most recent call last):
        ...
    globalbandits.errors.PolicyError: variance must be one of coin, learned, got 'gauss'
    """
    return require_known("variance", value, (COIN, LEARNED), PolicyError)


def as_number_or_learned(value: object) -> float | str:
    """Check a variance that must be a positive number or "learned".

    >>> as_number_or_learned("coin")
    Traceback (most recent call last):
        ...
    globalbandits.errors.PolicyError: variance must be a positive number or 'learned', got 'coin'
    """
    if value is None or isinstance(value, str):
        rule = f"be a positive number or {LEARNED!r}"
        require(value == LEARNED, "variance", rule, value, PolicyError)
        return LEARNED
    return as_positive("variance", value, PolicyError)


def learn_variances(stats: Statistics) -> FloatArray:
    """Return the variance of every arm's rewards, from the statistics alone; shape (n_arms,).

    It is the weighted average of the variance of an arm's own rewards and the expected one, which
    has the weight of five rewards. At most 20 rewards per arm count in the expected one.
    """
    noise = no_noise(stats.counts.shape[0])
    for arm in range(stats.counts.shape[0]):
        noise.guesses[arm] = guess_mean(stats, arm, _FIRST_GUESS)
    learn_noise(stats, noise, STUDENT_ARMS)
    return noise.variances


def degrees_of_freedom(stats: Statistics, arm: int) -> float:
    """Return the degrees of freedom of an arm's learned variance."""
    return float(STUDENT_ARMS.rounds - 1.0 + stats.counts[arm])


def surprise(stats: Statistics, variance: float, arm: int, gap: float) -> float:
    """Return how unlikely an error ``gap`` of the arm's mean is under Student's law, in nats.

    The value is 0 for no gap. With many rewards it is ``N / 2 * log(1 + gap^2 / variance)``, the
    least divergence of Normal arms of unknown variance (Burnetas and Katehakis 1996).
    """
    degrees = degrees_of_freedom(stats, arm)
    squares = stats.counts[arm] * gap * gap / variance
    return 0.5 * degrees * math.log(1.0 + squares / degrees)


def student_radius(stats: Statistics, variance: float, arm: int, budget: float) -> float:
    """Return the gap whose `surprise` is ``budget``.

    With many rewards it is ``sqrt(2 * budget * v / N)``.
    """
    degrees = degrees_of_freedom(stats, arm)
    growth = math.exp(min(2.0 * budget / degrees, _MAX_EXPONENT)) - 1.0
    return math.sqrt(degrees * variance / stats.counts[arm] * growth)


def set_student_widths(stats: Statistics, factor: float, widths: FloatArray) -> None:
    """Set `student_radius` of arms with rewards, divided by sqrt(factor * log t).

    The radius is that of ``factor * log t / 2`` nats in the next round t.
    """
    budget = 0.5 * factor * math.log(stats.total[0] + 1)
    variances = learn_variances(stats)
    for arm in range(stats.counts.shape[0]):
        if stats.counts[arm] > 0:
            radius = student_radius(stats, variances[arm], arm, budget)
            widths[arm] = radius / math.sqrt(2.0 * budget)


def draw_student(stats: Statistics, variance: float, arm: int, rng: np.random.Generator) -> float:
    """Draw a mean from the posterior of a Normal arm whose variance is learned.

    The square of a Student variable divided by its degrees of freedom is b / (1 - b), where b has
    a Beta distribution.
    """
    count, degrees = stats.counts[arm], degrees_of_freedom(stats, arm)
    part = rng.beta(0.5, 0.5 * degrees)
    gap = math.sqrt(variance / count * degrees * part / max(1.0 - part, _MIN_REST))
    if rng.random() < 0.5:
        gap = -gap
    return float(stats.sums[arm] / count + gap)
