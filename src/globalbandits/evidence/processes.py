"""What an e-process is, and the means it bets on.

For each theta, gamblers bet that theta is wrong. If theta is the truth, nobody can expect to
gain, whatever arms are played and whenever one looks, so wealth ever reaches 1/alpha with
probability at most alpha: a large value is evidence against theta. Every process here is a
function of the soft histogram alone, and comes with a certified lower bound over whole cells
of theta, so that nothing hides between the points of a grid. Everything is in log space.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from globalbandits._types import FloatArray, IntArray

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

STAKE = 0.95  # c: the largest part of the wealth a bet may lose
SMALLEST_MEAN = 1e-9
_CHUNK = 1 << 17  # numbers in one temporary array: it should stay in the processor's cache


class Process(Protocol):
    """The logarithm of an e-process as a function of theta."""

    def at(self, thetas: FloatArray) -> FloatArray:
        """Values at points, shape (n,)."""

    def survey(
        self, lows: FloatArray, highs: FloatArray, floor: float
    ) -> tuple[FloatArray, FloatArray]:
        """The value at the middle of each cell [low, high], and a lower bound over the cell.

        Bounds of cells with a middle value below ``floor`` are not used: they may be minus
        infinity.
        """


class UnitMeans:
    """Means on the unit scale of some arms, kept off 0 and 1."""

    def __init__(self, model: "RewardModel", arms: IntArray) -> None:
        self._model = model
        self._arms = slice(None) if arms.size == model.n_arms else arms
        self.domain = model.domain

    def __call__(self, thetas: FloatArray) -> FloatArray:
        """Shape (..., n_arms) for thetas of shape (...)."""
        low, high = self._model.reward_range
        means = self._model.means(thetas)[..., self._arms]
        if (low, high) != (0.0, 1.0):
            means = (means - low) / (high - low)
        return all_off_the_ends(means)


def off_the_ends(mean: float) -> float:
    """A mean on the unit scale, kept off 0 and 1. Numba compiles this."""
    return min(max(mean, SMALLEST_MEAN), 1.0 - SMALLEST_MEAN)


def all_off_the_ends(means: FloatArray) -> FloatArray:
    """The same for arrays."""
    return np.minimum(np.maximum(means, SMALLEST_MEAN), 1.0 - SMALLEST_MEAN)


def log_sum(values: FloatArray, axis: int) -> FloatArray:
    """Logarithm of the sum of exponentials along an axis.

    >>> float(log_sum(np.array([1000.0, 1000.0]), axis=0).round(4))
    1000.6931
    """
    top = values.max(axis=axis, keepdims=True)
    summed = np.log(np.exp(values - top).sum(axis=axis, keepdims=True))
    return np.asarray((top + summed).squeeze(axis))


def by_chunks(
    function: Callable[..., FloatArray], row_size: int, *columns: FloatArray
) -> FloatArray:
    """``function`` of columns, a few rows at a time so that temporaries stay small.

    The function returns an array whose last axis runs over the rows.
    """
    n_rows = max(1, _CHUNK // max(1, row_size))
    starts = range(0, max(1, columns[0].size), n_rows)
    parts = [function(*(column[i : i + n_rows] for column in columns)) for i in starts]
    return np.concatenate(parts, axis=-1)
