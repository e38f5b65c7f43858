"""Feature vectors of arms, for policies that assume mean rewards linear in features."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_float, as_fraction, as_positive, require
from globalbandits.errors import PolicyError
from globalbandits.policies.base import Policy
from globalbandits.statistics import Statistics

POWERS = 3
MAX_FEATURES = 1000  # per arm; matrices have MAX_FEATURES**2 entries
# Products of two features, summed over many rewards, must stay finite.
_MAX_FEATURE = 1e50
_RANK_TOLERANCE = 1e-10
# Squared distances with a smaller relative difference are equal.
_TIE_TOLERANCE = 1e-9


@dataclasses.dataclass(frozen=True, kw_only=True)
class FeaturePolicy(Policy):
    """Base of policies that assume means, or their logits, linear in features of the arms."""

    features: tuple[tuple[float, ...], ...] | None = None

    def __post_init__(self) -> None:
        """Check the features, and the factors that a subclass has."""
        if self.features is not None:
            object.__setattr__(self, "features", as_features(self.features))
        for name, check in (("scale", as_positive), ("ridge", as_positive), ("delta", as_fraction)):
            if hasattr(self, name):
                object.__setattr__(self, name, check(name, getattr(self, name), PolicyError))


def as_features(features: Any) -> tuple[tuple[float, ...], ...]:
    """Return features as a tuple of tuples of floats, all of one length.

    >>> as_features([[1, 2], [3, 4]])
    ((1.0, 2.0), (3.0, 4.0))
    """
    try:
        rows = tuple(tuple(row) for row in features)
    except TypeError:
        raise PolicyError(f"features must be one vector for each arm, got {features!r}") from None
    lengths = sorted({len(row) for row in rows})
    one_length = len(lengths) == 1 and lengths[0] > 0
    require(one_length, "features", "be vectors of one length, at least 1", lengths, PolicyError)
    rule = f"be vectors of at most {MAX_FEATURES} numbers"
    require(lengths[0] <= MAX_FEATURES, "features", rule, lengths[0], PolicyError)
    return tuple(tuple(as_float("features", x, PolicyError) for x in row) for row in rows)


def arm_features(
    features: Sequence[Sequence[float]] | None, arms: Sequence[Any], valued: bool
) -> FloatArray:
    """Return the matrix (n_arms, r) of given features, or of powers of the arms' values.

    The powers start with 1, which suits revenue, or with 0 if the model has a value.

    >>> arm_features(None, (0.5, 1.0, 2.0), valued=False).tolist()
    [[0.5, 0.25, 0.125], [1.0, 1.0, 1.0], [2.0, 4.0, 8.0]]
    >>> arm_features(None, (0.5, 1.0, 2.0), valued=True).tolist()
    [[1.0, 0.5, 0.25], [1.0, 1.0, 1.0], [1.0, 2.0, 4.0]]
    """
    n = len(arms)
    if features is not None:
        require(len(features) == n, "features", f"have {n} rows", len(features), PolicyError)
        return _checked(np.array(features, dtype=np.float64))
    try:
        values = [as_float("arm", arm, PolicyError) for arm in arms]
    except PolicyError:
        raise PolicyError(f"arms must be numbers unless features are given, got {arms!r}") from None
    with np.errstate(over="ignore"):
        first = 0 if valued else 1
        return _checked(np.power.outer(values, np.arange(first, min(POWERS, n) + first)))


def _checked(features: FloatArray) -> FloatArray:
    largest = float(np.max(np.abs(features)))
    require(
        largest <= _MAX_FEATURE, "features", f"be at most {_MAX_FEATURE:g}", largest, PolicyError
    )
    return features


def whiten(features: FloatArray) -> FloatArray:
    """Return the features in coordinates where their Gram matrix over the arms is the identity.

    The predictions of least squares and their variances do not depend on the coordinates. Their
    rounding errors do, by many digits for the powers of a price.
    """
    return np.ascontiguousarray(np.linalg.qr(independent_columns(features))[0])


def independent_columns(features: FloatArray) -> FloatArray:
    """Return the features with columns of length 1. Columns must be linearly independent."""
    n, r = features.shape
    lengths = np.sqrt(np.sum(features * features, axis=0))
    scaled = features / np.where(lengths > 0.0, lengths, 1.0)
    rank = int(np.linalg.matrix_rank(scaled, tol=_RANK_TOLERANCE))
    if rank < r:
        raise PolicyError(
            f"features must have linearly independent columns: {r} features of {n} arms have "
            f"rank {rank}; pass fewer features"
        )
    return scaled


def spread_arms(features: FloatArray) -> IntArray:
    """Return as many linearly independent arms as features, far apart, by pivoted Gram-Schmidt.

    Each arm is the one farthest from the span of the previous ones. Among arms that are equally
    far up to rounding, it is the last.

    >>> spread_arms(np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 0.5]])).tolist()
    [0, 2]
    """
    rest = features.copy()
    arms = np.zeros(features.shape[1], np.int64)
    for i in range(arms.shape[0]):
        squares = np.sum(rest * rest, axis=1)
        arms[i] = np.flatnonzero(squares >= (1.0 - _TIE_TOLERANCE) * squares.max())[-1]
        axis = rest[arms[i]] / np.linalg.norm(rest[arms[i]])
        rest = rest - np.outer(rest @ axis, axis)
    return arms


def first_unobserved(design: IntArray, stats: Statistics) -> int:
    """Return the first arm of the design without a reward; -1 if all have one.

    >>> from globalbandits.statistics import count, no_statistics
    >>> stats = no_statistics(3)
    >>> count(stats, 2, 0.5)
    >>> first_unobserved(np.array([2, 0]), stats)
    0
    """
    for i in range(design.shape[0]):
        if stats.counts[design[i]] == 0:
            return int(design[i])
    return -1
