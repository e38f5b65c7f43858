"""Outcomes that are awaited, as fractions of a reward of 0.

An outcome of arm k that would have been reported with probability w by now, if it were a 1, has
the likelihood ``1 - w m`` at the arm's mean m (Cheung and Chappell 2000). A posterior that is
computed from counts and sums takes it for ``z`` zeros, whose likelihood is ``(1 - m)**z``. Two
numbers of zeros are of use:

- with the same slope of the log-likelihood at m, ``z = w (1 - m) / (1 - w m)``: a posterior around
  m moves as with the exact likelihood;
- with the same log-likelihood at m, ``z = log(1 - w m) / log(1 - m)``: exact at every m at which
  the likelihood is computed.

Both are sums over the open outcomes of an arm, kept on a grid of means.
"""

from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.statistics import Statistics

N_CELLS = 64  # of the grid of means


class OpenOutcomes(NamedTuple):
    """Zeros that the open outcomes of each arm count as, at means 0, 1/64, ..., 1."""

    weight: FloatArray  # (1,) sum of all weights; 0 if no outcome is awaited
    same_slope: FloatArray  # (n_arms, N_CELLS + 1)
    same_likelihood: FloatArray  # (n_arms, N_CELLS + 1)


def no_open_outcomes(n_arms: int) -> OpenOutcomes:
    """No outcome is awaited."""
    shape = (n_arms, N_CELLS + 1)
    return OpenOutcomes(np.zeros(1), np.zeros(shape), np.zeros(shape))


def set_open_outcomes(outcomes: OpenOutcomes, arms: IntArray, weights: FloatArray) -> None:
    """Replace the outcomes that are awaited. Not compiled.

    >>> outcomes = no_open_outcomes(2)
    >>> set_open_outcomes(outcomes, np.array([1, 1]), np.array([0.5, 1.0]))
    >>> zeros_at(outcomes.same_slope, 1, 0.0), round(zeros_at(outcomes.same_slope, 1, 0.5), 4)
    (1.5, 1.3333)
    """
    for array in outcomes:
        array[:] = 0.0
    outcomes.weight[0] = weights.sum()
    # At a mean of 1 the limits are 0 zeros for a weight below 1, and one for a weight of 1.
    means = np.linspace(0.0, 1.0, N_CELLS + 1)[1:-1]
    for arm, weight in zip(arms.tolist(), weights.tolist(), strict=True):
        slopes, likelihoods = outcomes.same_slope[arm], outcomes.same_likelihood[arm]
        slopes[0] += weight
        likelihoods[0] += weight
        slopes[1:-1] += weight * (1.0 - means) / (1.0 - weight * means)
        likelihoods[1:-1] += np.log1p(-weight * means) / np.log1p(-means)
        slopes[-1] += float(weight == 1.0)
        likelihoods[-1] += float(weight == 1.0)


def pend_open_outcomes(
    setup: Any, stats: Statistics, state: Any, arms: IntArray, weights: FloatArray
) -> None:
    """`Rules.pend` of a policy whose setup has `open`."""
    set_open_outcomes(setup.open, arms, weights)


def zeros_at(zeros: FloatArray, arm: int, mean: float) -> float:
    """Return an arm's number of zeros at a mean, linear between the means of the grid."""
    place = min(max(mean, 0.0), 1.0) * N_CELLS
    cell = min(int(place), N_CELLS - 1)
    share = place - cell
    return float((1.0 - share) * zeros[arm, cell] + share * zeros[arm, cell + 1])


def add_zeros(outcomes: OpenOutcomes, means: FloatArray, stats: Statistics) -> None:
    """Add the open outcomes to statistics whose counts are floats, at these means of the arms."""
    for arm in range(means.shape[0]):
        zeros = zeros_at(outcomes.same_slope, arm, means[arm])
        stats.counts[arm] += zeros
        stats.total[0] += zeros
