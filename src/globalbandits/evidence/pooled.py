r"""The pooled process H: bets on all arms at once, in the directions the model allows.

With steps e_l = 4 R 2^-l, l = 0..11, to both sides of theta, d = the step cut at the end of
the domain (R long), m_k = mu_k(theta) and the target m'_k = m_k + (mu_k(theta ± d) - m_k) e_l/d,
a reward x of arm k multiplies the wealth of a bet by

    (1 - x) (1 - m'_k) / (1 - m_k) + x m'_k / m_k,

where m'_k is clipped so that the factor is at least 1 - c. H(theta) is the mean wealth of the
24 bets. Secants, not derivatives, so that a vanishing slope does not blind a bet.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.evidence.processes import STAKE, UnitMeans, by_chunks, log_sum

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

N_SCALES = 12
N_BETS = 2 * N_SCALES
_NEGLIGIBLE = 0.005  # of H: the bets that a lower bound may leave out
_KEEP = 1.0 - STAKE


class PooledSets:
    """Logarithms of H as functions of theta, for several sets of counts at once.

    Args:
        model: the reward model.
        counts: soft counts, shape (n_sets, n_arms, n_bins + 1).
    """

    def __init__(self, model: "RewardModel", counts: FloatArray) -> None:
        arms = np.flatnonzero(counts.any(axis=(0, 2)))
        knots = np.flatnonzero(counts.any(axis=(0, 1)))
        self._means = UnitMeans(model, arms)
        self._knots = knots / (counts.shape[2] - 1)
        self._counts = counts[:, arms[:, np.newaxis], knots]
        steps = 4.0 * (model.domain[1] - model.domain[0]) * 0.5 ** np.arange(N_SCALES)
        self._steps = np.concatenate([-steps, steps])
        self._row_size = N_BETS * arms.size * knots.size

    def at(self, thetas: FloatArray) -> FloatArray:
        """Values at points, shape (n_sets, n)."""
        return by_chunks(lambda part: _mean(self._wealth(part)[0]), self._row_size, thetas)

    def survey(
        self, lows: FloatArray, highs: FloatArray, floor: float
    ) -> tuple[FloatArray, FloatArray]:
        """Values at the middles of cells, and lower bounds over cells, shape (n_sets, n)."""
        row_size = self._row_size * len(self._counts)
        values, bounds = by_chunks(
            lambda low, high: self._survey(low, high, floor), row_size, lows, highs
        )
        return values, bounds

    def _reach(self, thetas: FloatArray, steps: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where a step from theta ends, cut at the domain, and by how much it was cut (>= 1)."""
        low, high = self._means.domain
        room = np.where(steps > 0.0, high - thetas, low - thetas)
        cut = np.abs(steps) > np.abs(room)
        stretch = np.divide(steps, room, out=np.full(cut.shape, np.inf), where=room != 0.0)
        ends = np.minimum(np.maximum(thetas + steps, low), high)
        return ends, np.where(cut, stretch, 1.0)

    def _wealth(self, thetas: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log wealth of each bet at points, (n, n_bets, n_sets), and the means (n, 1, n_arms)."""
        ends, stretch = self._reach(thetas[:, np.newaxis], self._steps)
        stretch[np.isinf(stretch)] = 0.0  # no room on this side: no bet
        means = self._means(np.column_stack([thetas, ends]))
        mean = means[:, :1]
        stake = (means[:, 1:] - mean) * (stretch[..., np.newaxis] / (mean * (1.0 - mean)))
        np.maximum(stake, -STAKE / (1.0 - mean), out=stake)
        np.minimum(stake, STAKE / mean, out=stake)
        pay = stake[..., np.newaxis] * (self._knots - mean[..., np.newaxis])
        pay += 1.0
        np.log(pay, out=pay)
        flat = pay.reshape(*pay.shape[:2], -1)
        return flat @ self._counts.reshape(len(self._counts), -1).T, mean

    def _survey(self, lows: FloatArray, highs: FloatArray, floor: float) -> FloatArray:
        middles = 0.5 * (lows + highs)
        wealth, means = self._wealth(middles)
        values = _mean(wealth)
        bounds = np.full_like(values, -np.inf)
        ask = np.flatnonzero(values.max(axis=0) >= floor)
        if ask.size:
            rich = self._richest(wealth[ask])
            cells = self._cells(lows[ask], highs[ask], means[ask], self._steps[rich])
            bounds[:, ask] = _mean(self._bound(cells))
        return np.stack([values, bounds])

    def _richest(self, wealth: FloatArray) -> IntArray:
        """Bets to keep in a lower bound: without the others it is still one, and as good."""
        parts = np.exp(wealth - wealth.max(axis=1, keepdims=True))
        parts /= parts.sum(axis=1, keepdims=True)
        order = np.argsort(-parts.max(axis=2), axis=1)
        kept = np.cumsum(np.take_along_axis(parts, order[..., np.newaxis], axis=1), axis=1)
        n_kept = int((kept < 1.0 - _NEGLIGIBLE).sum(axis=1).max()) + 1
        return order[:, : min(n_kept, N_BETS)]

    def _cells(
        self, lows: FloatArray, highs: FloatArray, middle: FloatArray, steps: FloatArray
    ) -> "_Cells":
        """What m and m' can be in each cell: means are monotone, so ends tell all."""
        sides = np.stack([lows, highs], axis=1)
        ends, stretch = self._reach(sides[..., np.newaxis], steps[:, np.newaxis])
        means = self._means(np.concatenate([sides[..., np.newaxis], ends], axis=2))
        near, far = np.sort(means[:, :, :1], axis=1), np.sort(means[:, :, 1:], axis=1)
        low, high = near[:, 0], near[:, 1]
        uncut = (stretch == 1.0).all(axis=1)[..., np.newaxis]
        stretch = np.minimum(stretch, 1e12)[..., np.newaxis]
        # m' = m + (far - m) * stretch rises with far and falls with m.
        least = high + ((far[:, 0] - high)[:, np.newaxis] * stretch).min(axis=1)
        most = low + ((far[:, 1] - low)[:, np.newaxis] * stretch).max(axis=1)
        return _Cells(
            low,
            np.minimum(np.maximum(middle, low), high),
            high,
            np.where(uncut, far[:, 0], least),
            np.where(uncut, far[:, 1], most),
        )

    def _bound(self, cells: "_Cells") -> FloatArray:
        """Lower bounds of log wealth over cells, shape (n, n_bets, n_sets).

        For a given m, log wealth is concave in m': it is smallest at an end of what m' can be,
        or at the clip. For a given m' it is convex in m: it lies above its tangent. A bet
        clipped from below gains with m, one clipped from above loses.
        """
        smallest = np.full((*cells.least.shape, len(self._counts)), np.inf)
        lowest, highest = _KEEP * cells.low, 1.0 - _KEEP * (1.0 - cells.high)
        for target in (cells.least, cells.most):
            free = (target >= lowest) & (target <= highest)
            inside = np.minimum(np.maximum(target, lowest), highest)
            tangent = self._tangent(cells, inside)
            np.minimum(smallest, tangent, out=smallest, where=free[..., np.newaxis])
        floored = cells.least < _KEEP * cells.high
        if floored.any():
            pay = _KEEP + STAKE * (1.0 - self._knots) / (1.0 - cells.low[..., np.newaxis])
            floor = self._count(np.log(pay))
            np.minimum(smallest, floor, out=smallest, where=floored[..., np.newaxis])
        capped = cells.most > 1.0 - _KEEP * (1.0 - cells.low)
        if capped.any():
            pay = _KEEP + STAKE * self._knots / cells.high[..., np.newaxis]
            ceiling = self._count(np.log(pay))
            np.minimum(smallest, ceiling, out=smallest, where=capped[..., np.newaxis])
        return np.asarray(smallest.sum(axis=2))

    def _tangent(self, cells: "_Cells", target: FloatArray) -> FloatArray:
        """Smallest value in a cell of the tangent at its middle, per arm, for a fixed m'."""
        odds = (1.0 - target) / (1.0 - cells.middle)
        at_zero = odds[..., np.newaxis] * (1.0 - self._knots)
        at_one = (target / cells.middle)[..., np.newaxis] * self._knots
        pay = at_zero + at_one
        at_zero /= (1.0 - cells.middle)[..., np.newaxis]
        at_one /= cells.middle[..., np.newaxis]
        slope = self._count((at_zero - at_one) / pay)
        reach = np.where(slope > 0.0, *(side[..., np.newaxis] for side in (cells.low, cells.high)))
        return np.asarray(
            self._count(np.log(pay)) + slope * (reach - cells.middle[..., np.newaxis])
        )

    def _count(self, values: FloatArray) -> FloatArray:
        """Values at the knots summed with the counts: (n, n_bets, n_arms, n_sets)."""
        n, n_bets, n_arms, n_knots = values.shape
        by_arm = values.transpose(2, 0, 1, 3).reshape(n_arms, n * n_bets, n_knots)
        summed = by_arm @ self._counts.transpose(1, 2, 0)
        return np.asarray(
            summed.reshape(n_arms, n, n_bets, len(self._counts)).transpose(1, 2, 0, 3)
        )


class Pooled:
    """The logarithm of H as a function of theta, for one set of counts (n_arms, n_bins + 1)."""

    def __init__(self, model: "RewardModel", counts: FloatArray) -> None:
        self._sets = PooledSets(model, counts[np.newaxis])

    def at(self, thetas: FloatArray) -> FloatArray:
        """Values at points."""
        return np.asarray(self._sets.at(thetas)[0])

    def survey(
        self, lows: FloatArray, highs: FloatArray, floor: float
    ) -> tuple[FloatArray, FloatArray]:
        """Values at the middles of cells, and lower bounds over the cells."""
        values, bounds = self._sets.survey(lows, highs, floor)
        return values[0], bounds[0]


def _mean(wealth: FloatArray) -> FloatArray:
    """Log of the mean wealth of the bets: (n, n_bets, n_sets) -> (n_sets, n)."""
    return np.asarray(log_sum(wealth, axis=1).T - math.log(N_BETS))


class _Cells(NamedTuple):
    """Ranges of the mean m and of the bets' targets m' over cells of theta."""

    low: FloatArray  # (n, 1, n_arms)
    middle: FloatArray  # (n, 1, n_arms) m at the middle of the cell
    high: FloatArray  # (n, 1, n_arms)
    least: FloatArray  # (n, n_bets, n_arms) the smallest m', before the clip
    most: FloatArray  # (n, n_bets, n_arms)
