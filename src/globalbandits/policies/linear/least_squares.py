"""Least squares on features of the arms, updated one reward at a time.

With features u_k, ``M = ridge * 1 + sum_k N_k u_k u_k'`` is the matrix of the normal equations.
One reward changes its inverse by the formula of Sherman and Morrison, in O(r**2) steps for the
matrix and O(n_arms r) for the arms. Rounding errors accumulate, mostly when the inverse shrinks a
lot. So everything is recomputed from the counts on a schedule: see `is_rebuild_due`.
"""

import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.statistics import Statistics

REBUILD_EVERY = 1000  # rewards

# Everything is recomputed after a reward of an arm whose prediction has a variance above this
# multiple of the variance of one reward, because the inverse then changes a lot.
_REBUILD_VARIANCE = 100.0

# A pivot below this share of its diagonal entry is a rounding error.
_MIN_PIVOT = 1e-15

# Relative tolerance between saved and recomputed numbers: the first constant, plus the second
# times M's condition number.
_TOLERANCE = 1e-9
_TOLERANCE_PER_CONDITION = 1e-11


class Spread(NamedTuple):
    """The uncertainty of the arms' predictions."""

    inverse: FloatArray  # (r, r) M**-1
    variances: FloatArray  # (n_arms,) u_k' M**-1 u_k
    widths: FloatArray  # (n_arms,) square roots of the variances


class Work(NamedTuple):
    """Scratch arrays of one update."""

    matrix: FloatArray  # (r, r)
    vector: FloatArray  # (r,)
    solution: FloatArray  # (r,)


def no_spread(features: FloatArray) -> Spread:
    """All zero, for use before M can be inverted."""
    n, r = features.shape
    return Spread(np.zeros((r, r)), np.zeros(n), np.zeros(n))


def no_work(features: FloatArray) -> Work:
    """Scratch arrays for these features."""
    r = features.shape[1]
    return Work(np.zeros((r, r)), np.zeros(r), np.zeros(r))


def clear_spread(spread: Spread) -> None:
    """Set everything to zero."""
    spread.inverse[:, :] = 0.0
    spread.variances[:] = 0.0
    spread.widths[:] = 0.0


def compute_spread(
    features: FloatArray, counts: IntArray, ridge: float, spread: Spread, work: Work
) -> None:
    """Compute inverse and variances from the counts.

    Afterwards `work.matrix` contains the inverse of M's Cholesky factor.
    """
    n, r = features.shape
    matrix, inverse = work.matrix, spread.inverse
    for i in range(r):
        for j in range(r):
            matrix[i, j] = ridge if i == j else 0.0
    for k in range(n):
        count = counts[k]
        if count > 0:
            for i in range(r):
                for j in range(r):
                    matrix[i, j] += count * (features[k, i] * features[k, j])
    invert(matrix, inverse)
    for k in range(n):
        variance = 0.0
        for i in range(r):
            for j in range(r):
                variance += features[k, i] * inverse[i, j] * features[k, j]
        spread.variances[k] = max(0.0, variance)
        spread.widths[k] = math.sqrt(spread.variances[k])


def is_rebuild_due(stats: Statistics, spread: Spread, arm: int) -> bool:
    """Whether to recompute everything from the counts after a reward of an arm."""
    total = stats.total[0]
    return bool(
        total % REBUILD_EVERY == 0
        or total & (total - 1) == 0
        or spread.variances[arm] > _REBUILD_VARIANCE
    )


def add_reward(
    features: FloatArray,
    spread: Spread,
    work: Work,
    means: FloatArray,
    arm: int,
    error: float,
) -> float:
    """Update inverse, variances and predictions with one more reward of an arm with features u.

    M**-1 becomes M**-1 - (M**-1 u)(M**-1 u)' / g with g = 1 + u' M**-1 u, which is returned. The
    coefficients move along M**-1 u by the ``error`` of the arm's prediction divided by g.
    """
    n, r = features.shape
    inverse, direction = spread.inverse, work.vector
    for i in range(r):
        along = 0.0
        for j in range(r):
            along += inverse[i, j] * features[arm, j]
        direction[i] = along
    growth = 1.0 + spread.variances[arm]
    scale = 1.0 / growth
    step = scale * error
    for i in range(r):
        for j in range(r):
            inverse[i, j] -= scale * (direction[i] * direction[j])
    for k in range(n):
        along = 0.0
        for i in range(r):
            along += features[k, i] * direction[i]
        means[k] += along * step
        spread.variances[k] = max(0.0, spread.variances[k] - scale * (along * along))
        spread.widths[k] = math.sqrt(spread.variances[k])
    return float(growth)


def predict(
    features: FloatArray,
    stats: Statistics,
    offset: float,
    spread: Spread,
    work: Work,
    means: FloatArray,
) -> None:
    """Compute the predictions u_k' z; the coefficients z fit all rewards plus ``offset``."""
    n, r = features.shape
    moments, coefficients = work.vector, work.solution
    for i in range(r):
        moments[i] = 0.0
    for k in range(n):
        count = stats.counts[k]
        if count > 0:
            whole = stats.sums[k] + count * offset
            for i in range(r):
                moments[i] += whole * features[k, i]
    multiply(spread.inverse, moments, coefficients)
    for k in range(n):
        mean = 0.0
        for i in range(r):
            mean += features[k, i] * coefficients[i]
        means[k] = mean


def multiply(matrix: FloatArray, vector: FloatArray, out: FloatArray) -> None:
    """Write the product of matrix and vector to ``out``."""
    for i in range(out.shape[0]):
        entry = 0.0
        for j in range(vector.shape[0]):
            entry += matrix[i, j] * vector[j]
        out[i] = entry


def invert(matrix: FloatArray, out: FloatArray) -> None:
    """Invert a symmetric positive definite matrix by Cholesky; the matrix is overwritten.

    Afterwards its lower triangle contains the inverse of the Cholesky factor. Pivots have a lower
    bound, because smaller ones are rounding errors.
    """
    r = matrix.shape[0]
    # matrix = L L', L in the lower triangle; then L is replaced by its inverse.
    for j in range(r):
        least = _MIN_PIVOT * matrix[j, j]
        for k in range(j):
            matrix[j, j] -= matrix[j, k] * matrix[j, k]
        matrix[j, j] = math.sqrt(max(least, matrix[j, j]))
        for i in range(j + 1, r):
            for k in range(j):
                matrix[i, j] -= matrix[i, k] * matrix[j, k]
            matrix[i, j] /= matrix[j, j]
    for j in range(r):
        matrix[j, j] = 1.0 / matrix[j, j]
        for i in range(j + 1, r):
            entry = 0.0
            for k in range(j, i):
                entry -= matrix[i, k] * matrix[k, j]
            matrix[i, j] = entry / matrix[i, i]
    for i in range(r):
        for j in range(r):
            out[i, j] = 0.0
            for k in range(max(i, j), r):
                out[i, j] += matrix[k, i] * matrix[k, j]


def tolerance_of(features: FloatArray, counts: IntArray, ridge: float) -> float:
    """Return the tolerance between saved and recomputed numbers, relative to the largest.

    The rounding errors of an inverse grow with the matrix's condition number.
    """
    matrix = ridge * np.eye(features.shape[1]) + (features.T * counts) @ features
    return float(_TOLERANCE + _TOLERANCE_PER_CONDITION * np.linalg.cond(matrix))


def resume(spread: Spread, fresh: Spread, slack: float) -> bool:
    """Compute the widths from saved variances; return False if saved numbers are wrong."""
    spread.widths[:] = np.sqrt(np.maximum(spread.variances, 0.0))
    return is_near(spread.inverse, fresh.inverse, slack) and is_near(
        spread.variances, fresh.variances, slack
    )


def is_near(saved: FloatArray, fresh: FloatArray, slack: float) -> bool:
    """Whether numbers differ by at most the slack times the larger of 1 and the largest of them.

    A slack of 1 or more means that the matrix is singular up to rounding. Then all numbers are
    accepted.
    """
    largest = max(1.0, float(np.max(np.abs(fresh))))
    return slack >= 1.0 or bool(np.all(np.abs(saved - fresh) <= slack * largest))
