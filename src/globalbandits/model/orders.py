"""How a curve behaves close to one point: like which power of the distance, with which factor.

Everything is read off differences of the curve at halving distances from the point. Rounding
spoils the small distances and higher terms the large ones, so each limit is taken where the
two together weigh least, and comes with what is left to doubt.
"""

from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray

LEVELS = 45  # distances down to 2**-44 of the first one
_WINDOW = 18  # only the finest levels speak for the limit: 18 halvings
_LARGEST_DENOMINATOR = 10


class Approach(NamedTuple):
    """Differences of a curve over distances that shrink towards a point, a row per point."""

    rows: IntArray  # (n,) which curve
    distance: FloatArray  # (n, LEVELS) halving from column to column
    difference: FloatArray  # (n, LEVELS) how much the curve changes over the distance
    error: FloatArray  # (n, LEVELS) rounding error of the difference; inf where it is useless

    def constant(self, exponent: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Limit of difference / distance**exponent at distance 0, and its uncertainty."""
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            power = self.distance ** exponent[:, None]
            return limit_at_zero(self.difference / power, self.error / power)

    def order(self, exact: bool) -> FloatArray:
        """The power of the distance that the difference follows at distance 0.

        Args:
            exact: Whether the point is known exactly. The smallest distances from a point
                that was only searched for tell how far off it is, and nothing of its order.
        """
        slope, doubt = self.constant(np.ones(len(self.rows)))
        with np.errstate(invalid="ignore"):
            orders = np.diff(np.log(self.difference)) / np.diff(np.log(self.distance))
        errors = 2.0 * self.error[:, 1:] / self.difference[:, 1:]
        order, order_doubt = (limit_at_zero if exact else plateau)(orders, errors)
        # A slope that is clearly neither 0 nor infinite settles it, also where the curve looks
        # flat over all but the smallest distances.
        return np.where(slope > 10.0 * doubt, 1.0, snap(order, order_doubt))


def limit_at_zero(values: FloatArray, errors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Limit of each row whose columns belong to halving distances, and its uncertainty.

    Three neighbouring columns that approach the limit geometrically give it by Aitken's
    formula, whatever the rate. An uncertainty of infinity says that there is no limit in
    sight; the value is then the one at the finest level that rounding leaves meaningful.

    >>> h = 0.5 ** np.arange(LEVELS)[None, :]
    >>> limit, doubt = limit_at_zero(3.0 + h**0.5 + h**2, 1e-15 / h)
    >>> bool(abs(limit[0] - 3.0) <= doubt[0] < 1e-6)
    True
    """
    n_rows, n_levels = values.shape
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.diff(values, axis=1)
        before, step = steps[:, :-1], steps[:, 1:]
        ratio = step / before
        still = np.abs(step) <= 2.0 * errors[:, 2:]
        geometric = (ratio > 0.0) & (ratio < 0.96) & ~still
        limits = values[:, 2:] + np.where(geometric, step * ratio / (1.0 - ratio), 0.0)
        wiggle = np.where(ratio < 0.0, np.abs(before) + np.abs(step), np.inf)
        doubt = np.where(geometric | still, 0.0, wiggle)[:, 1:]
        # The slower the approach, the further the formula reaches, and rounding with it.
        reach = np.where(geometric, np.maximum(8.0, 2.0 / (1.0 - ratio) ** 2), 8.0)[:, 1:]
        doubt = doubt + np.abs(np.diff(limits, axis=1)) + reach * errors[:, 3:]
        reliable = np.logical_and.accumulate(
            np.isfinite(values) & (errors <= 1e-3 * np.abs(values)), axis=1
        )
    last = np.maximum(reliable.sum(axis=1) - 1, 0)
    levels = np.arange(3, n_levels)
    usable = (levels <= last[:, None]) & (levels >= last[:, None] - _WINDOW)
    doubt = np.where(usable & np.isfinite(doubt), doubt, np.inf)
    best = np.argmin(doubt, axis=1)
    every = np.arange(n_rows)
    limit, uncertainty = limits[every, best + 1], doubt[every, best]
    # What the finest level shows must lie closer to the limit than the level it was read from.
    finest = values[every, last]
    slack = np.abs(values[every, best + 3] - limit) + 4.0 * errors[every, last]
    with np.errstate(invalid="ignore"):
        seen = np.isfinite(uncertainty) & (np.abs(finest - limit) <= slack)
    return np.where(seen, limit, finest), np.where(seen, uncertainty, np.inf)


def plateau(values: FloatArray, errors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Value of each row where three neighbouring columns differ least, and by how much.

    >>> plateau(np.array([[1.0, 1.8, 2.0, 2.01, 2.0, 0.5]]), np.zeros((1, 6)))
    (array([2.01]), array([0.02]))
    """
    steps = np.abs(np.diff(values, axis=1))
    doubt = steps[:, 1:] + steps[:, :-1] + errors[:, 2:]
    doubt = np.where(np.isfinite(doubt), doubt, np.inf)
    every, best = np.arange(len(values)), np.argmin(doubt, axis=1)
    return values[every, best + 1], doubt[every, best]


def snap(orders: FloatArray, doubt: FloatArray) -> FloatArray:
    """Orders moved to the simplest fraction that the doubt allows; most curves have one.

    An inequality stays valid when its exponent is moved away from 1, so a move towards 1 must
    be short, and an order that is not moved to a fraction is moved away from 1 by its doubt.

    >>> snap(np.array([1.9996, 2.0004, 0.6668]), np.full(3, 1e-3))
    array([2.        , 2.        , 0.66666667])
    >>> snap(np.array([1.994, 2.006]), np.full(2, 2e-3))
    array([2.   , 2.008])
    """
    away = np.where(orders < 1.0, -1.0, 1.0)
    longest = np.minimum(1e-6 + 3.0 * doubt, 1e-2) * np.minimum(orders, 1.0)
    snapped: FloatArray = orders + away * np.minimum(doubt, 1e-2) * np.minimum(orders, 1.0)
    for denominator in range(_LARGEST_DENOMINATOR, 0, -1):
        fraction = np.round(orders * denominator) / denominator
        move = away * (fraction - orders)
        near = (move <= longest) & (move >= -np.minimum(longest, 1e-3))
        snapped = np.where(near, fraction, snapped)
    return snapped
