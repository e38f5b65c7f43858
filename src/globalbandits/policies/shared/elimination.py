"""Elimination of toxic doses by their own patients, without a model (Liu and Yuan 2015).

A dose, and all above it, are eliminated once it has at least three patients and its rate is above
the target with a large posterior probability, under a uniform prior.
"""

import numpy as np

from globalbandits._types import BoolArray, FloatArray, IntArray

# An arm with fewer rewards is not eliminated.
MIN_REWARDS_TO_ELIMINATE = 3


def probability_above(n_rewards: int, total: float, target: float) -> float:
    """Return the probability that a Beta(1 + total, 1 + n - total) number is above the target.

    It is the probability of at most ``total`` successes in n + 1 trials (the beta-binomial
    identity).
    """
    term = (1.0 - target) ** (n_rewards + 1)
    probability = term
    for k in range(int(total + 1e-9)):
        term *= (n_rewards + 1 - k) / (k + 1.0) * target / (1.0 - target)
        probability += term
    return float(probability)


def probabilities_above(
    n_rewards: IntArray, total: IntArray, target: float | FloatArray
) -> FloatArray:
    """Return `probability_above` of many whole totals at once."""
    n, successes, rate = np.broadcast_arrays(n_rewards, total, target)
    # At a rate of 1 the odds are infinite.
    rate = np.minimum(rate, 1.0 - 1e-12)
    odds = rate / (1.0 - rate)
    term = (1.0 - rate) ** (n + 1)
    probabilities = term.copy()
    for k in range(int(successes.max(initial=0))):
        term = term * odds * (n + 1 - k) / (k + 1.0)
        probabilities += np.where(k < successes, term, 0.0)
    return np.asarray(probabilities)


def eliminated(treated: IntArray, events: IntArray, target: float, probability: float) -> BoolArray:
    """Return which doses of many trials are eliminated, shape (trial, dose)."""
    if probability >= 1.0:
        return np.zeros(treated.shape, np.bool_)
    above = probabilities_above(treated, events, target)
    toxic = (treated >= MIN_REWARDS_TO_ELIMINATE) & (above > probability)
    return np.asarray(np.maximum.accumulate(toxic, axis=1))


def last_left(out: BoolArray) -> IntArray:
    """Return the highest dose of every trial that is not eliminated; -1 if there is none."""
    return np.asarray(np.where(out.any(axis=1), out.argmax(axis=1) - 1, out.shape[1] - 1))
