"""The parameter ``variance`` of policies that may learn it, and Student's distribution."""

import math

import numpy as np

from globalbandits._types import FloatArray
from globalbandits._validation import as_positive, require, require_known
from globalbandits.errors import PolicyError
from globalbandits.policies.parts.learned_noise import (
    DIFFERENT_ARMS,
    guess_mean,
    learn_noise,
    no_noise,
)
from globalbandits.statistics import Statistics

COIN = "coin"
LEARNED = "learned"
_MAX_EXPONENT = 600.0
_MIN_REST = 1e-12
_FIRST_GUESS = 0.5  # of a mean on the unit scale, before the arm's first reward


def as_coin_or_learned(value: object) -> str:
    """A variance that is "coin" or "learned".

    >>> as_coin_or_learned("gauss")
    Traceback (most recent call last):
        ...
    globalbandits.errors.PolicyError: variance must be one of coin, learned, got 'gauss'
    """
    return require_known("variance", value, (COIN, LEARNED), PolicyError)


def as_number_or_learned(value: object) -> float | str:
    """A variance that is a positive number or "learned".

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
    """The variance of every arm's rewards, from the statistics alone; shape (n_arms,).

    A weighted average of the variance of an arm's own rewards and the expected one, which weighs
    as much as five rewards. At most 20 rewards per arm count in the expected one, so that an arm
    that is played most and hardly varies does not dominate it.
    """
    noise = no_noise(stats.counts.shape[0])
    for arm in range(stats.counts.shape[0]):
        noise.guesses[arm] = guess_mean(stats, arm, _FIRST_GUESS)
    learn_noise(stats, noise, DIFFERENT_ARMS)
    return noise.variances


def degrees_of_freedom(stats: Statistics, arm: int) -> float:
    """The degrees of freedom of an arm's learned variance."""
    return float(DIFFERENT_ARMS.rounds - 1.0 + stats.counts[arm])


def surprise(stats: Statistics, variance: float, arm: int, gap: float) -> float:
    """How unlikely an error ``gap`` of the arm's mean is, in nats, by Student's density.

    With many rewards this is ``N / 2 * log(1 + gap^2 / variance)``, the least divergence of Normal
    arms of unknown variance (Burnetas and Katehakis 1996).
    """
    degrees = degrees_of_freedom(stats, arm)
    squares = stats.counts[arm] * gap * gap / variance
    return 0.5 * degrees * math.log(1.0 + squares / degrees)


def student_radius(stats: Statistics, variance: float, arm: int, budget: float) -> float:
    """The gap whose `surprise` is ``budget``: ``sqrt(2 * budget * v / N)`` with many rewards."""
    degrees = degrees_of_freedom(stats, arm)
    growth = math.exp(min(2.0 * budget / degrees, _MAX_EXPONENT)) - 1.0
    return math.sqrt(degrees * variance / stats.counts[arm] * growth)


def draw_student(stats: Statistics, variance: float, arm: int, rng: np.random.Generator) -> float:
    """A mean from the posterior of a Normal arm whose variance is learned.

    The square of a Student variable over its degrees of freedom is b / (1 - b) with b of a Beta.
    """
    count, degrees = stats.counts[arm], degrees_of_freedom(stats, arm)
    part = rng.beta(0.5, 0.5 * degrees)
    gap = math.sqrt(variance / count * degrees * part / max(1.0 - part, _MIN_REST))
    if rng.random() < 0.5:
        gap = -gap
    return float(stats.sums[arm] / count + gap)
