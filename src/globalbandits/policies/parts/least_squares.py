"""Least squares on features of the arms, brought up to date one reward at a time.

With features u_k, ``M = ridge * 1 + sum_k N_k u_k u_k'`` is the matrix of the normal equations.
One reward changes its inverse by the formula of Sherman and Morrison: O(r**2) for the matrix and
O(n_arms r) for the arms. Rounding gathers, and where the inverse shrinks much it weighs more, so
from time to time all is computed from the counts: see `is_due`.
"""

import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.statistics import Statistics

REBUILD_EVERY = 1000  # rewards
_HARDLY_KNOWN = 100.0  # times the variance of one reward

# Below this share of a diagonal entry, what is left of it is rounding.
_LEAST_PIVOT = 1e-15
_SLACK = 1e-9  # how far saved numbers may be from those computed afresh, times ...
_SLACK_OF_CONDITION = 1e-11  # ... 1, and this much for each unit of M's condition number


class Spread(NamedTuple):
    """How little the rewards say about the arms' predictions."""

    inverse: FloatArray  # (r, r) M**-1
    variances: FloatArray  # (n_arms,) u_k' M**-1 u_k
    widths: FloatArray  # (n_arms,) square roots of the variances


class Work(NamedTuple):
    """Room for the work of one update; no number in it is needed by the next one."""

    matrix: FloatArray  # (r, r)
    vector: FloatArray  # (r,)
    solution: FloatArray  # (r,)


def no_spread(features: FloatArray) -> Spread:
    """All zero, for the time before M can be inverted."""
    n, r = features.shape
    return Spread(np.zeros((r, r)), np.zeros(n), np.zeros(n))


def room(features: FloatArray) -> Work:
    """Room for as many features."""
    r = features.shape[1]
    return Work(np.zeros((r, r)), np.zeros(r), np.zeros(r))


def clear(spread: Spread) -> None:
    """Make all zero again."""
    spread.inverse[:, :] = 0.0
    spread.variances[:] = 0.0
    spread.widths[:] = 0.0


def measure(
    features: FloatArray, counts: IntArray, ridge: float, spread: Spread, work: Work
) -> None:
    """Inverse and variances from the counts.

    Leaves the inverse of M's Cholesky factor in `work.matrix`.
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


def is_due(stats: Statistics, spread: Spread, arm: int) -> bool:
    """Whether all is to be computed from the counts now, after a reward of an arm."""
    total = stats.total[0]
    return bool(
        total % REBUILD_EVERY == 0
        or total & (total - 1) == 0
        or spread.variances[arm] > _HARDLY_KNOWN
    )


def absorb(
    features: FloatArray,
    spread: Spread,
    work: Work,
    means: FloatArray,
    arm: int,
    error: float,
) -> float:
    """Inverse, variances and predictions after one more reward of an arm with features u.

    M**-1 becomes M**-1 - (M**-1 u)(M**-1 u)' / g with g = 1 + u' M**-1 u, which is returned. The
    coefficients move along M**-1 u by the ``error`` of the arm's prediction over g.
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
    """The predictions u_k' z, z the coefficients that fit all rewards plus ``offset``."""
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
    """``out = matrix vector``."""
    for i in range(out.shape[0]):
        entry = 0.0
        for j in range(vector.shape[0]):
            entry += matrix[i, j] * vector[j]
        out[i] = entry


def invert(matrix: FloatArray, out: FloatArray) -> None:
    """Inverse of a symmetric positive definite matrix by Cholesky; the matrix is overwritten.

    Its lower triangle holds the inverse of the Cholesky factor afterwards. A pivot that rounding
    has eaten up is replaced by the least one that would not be rounding.
    """
    r = matrix.shape[0]
    # matrix = L L', L in the lower triangle; then L is replaced by its inverse.
    for j in range(r):
        least = _LEAST_PIVOT * matrix[j, j]
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


def slack_of(features: FloatArray, counts: IntArray, ridge: float) -> float:
    """How far saved numbers may be from those computed afresh, as a share of the largest.

    Rounding in an inverse is multiplied by the matrix's condition number.
    """
    matrix = ridge * np.eye(features.shape[1]) + (features.T * counts) @ features
    return float(_SLACK + _SLACK_OF_CONDITION * np.linalg.cond(matrix))


def resume(spread: Spread, fresh: Spread, slack: float) -> bool:
    """Derive the widths of saved inverse and variances; False if these cannot be right."""
    spread.widths[:] = np.sqrt(np.maximum(spread.variances, 0.0))
    return is_near(spread.inverse, fresh.inverse, slack) and is_near(
        spread.variances, fresh.variances, slack
    )


def is_near(saved: FloatArray, fresh: FloatArray, slack: float) -> bool:
    """Whether numbers differ by no more than the slack times the largest of them and 1.

    With a slack of 1 and more nothing is known of them, and all are taken: they only order arms.
    """
    largest = max(1.0, float(np.max(np.abs(fresh))))
    return slack >= 1.0 or bool(np.all(np.abs(saved - fresh) <= slack * largest))
