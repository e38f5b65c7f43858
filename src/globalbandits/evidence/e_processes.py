"""E-processes: the wealth of bets against a parameter theta, as functions of theta.

For each theta, bets are placed against theta. If theta is true, no bet has a positive expected
gain, whatever arms are played. By Ville's inequality the wealth then ever reaches 1/alpha with
probability at most alpha, so a large wealth is evidence against theta. Every process is a
function of the soft histogram alone. It also has a certified lower bound over intervals of theta
("cells"), so that a search does not depend on a grid. All values are logarithms.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model import RewardModel

STAKE = 0.95  # c: the largest share of its wealth that a bet may lose
SMALLEST_MEAN = 1e-9
# Numbers in one temporary array, which should fit into the processor's cache.
_MAX_ARRAY_SIZE = 1 << 17


class Process(Protocol):
    """The logarithm of an e-process as a function of theta."""

    def at(self, thetas: FloatArray) -> FloatArray:
        """Values at points, shape (n,)."""

    def survey(
        self, lows: FloatArray, highs: FloatArray, floor: float
    ) -> tuple[FloatArray, FloatArray]:
        """The value at the middle of each cell [low, high], and a lower bound over the cell.

        The bound may be minus infinity for cells whose middle value is below ``floor``.
        """


class UnitMeans:
    """Mean rewards of selected arms on the unit scale, clipped away from 0 and 1."""

    def __init__(self, model: RewardModel, arms: IntArray) -> None:
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
    """A mean on the unit scale, clipped away from 0 and 1. Numba compiles this."""
    return min(max(mean, SMALLEST_MEAN), 1.0 - SMALLEST_MEAN)


def all_off_the_ends(means: FloatArray) -> FloatArray:
    """`off_the_ends` for arrays."""
    return np.minimum(np.maximum(means, SMALLEST_MEAN), 1.0 - SMALLEST_MEAN)


def shifted(means: FloatArray, errors: float) -> FloatArray:
    """Means on the unit scale, moved by ``4 * errors`` in log-odds: by ``errors`` at mean 1/2.

    >>> shifted(np.array([0.03, 0.5]), 0.05).round(4).tolist()
    [0.0364, 0.5498]
    """
    odds = np.exp(4.0 * errors) * means / (1.0 - means)
    return all_off_the_ends(odds / (1.0 + odds))


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
    """Evaluate ``function`` on a few rows at a time, so that temporary arrays stay small.

    The function returns an array whose last axis runs over the rows.
    """
    n_rows = max(1, _MAX_ARRAY_SIZE // max(1, row_size))
    starts = range(0, max(1, columns[0].size), n_rows)
    parts = [function(*(column[i : i + n_rows] for column in columns)) for i in starts]
    return np.concatenate(parts, axis=-1)


# The pooled process H bets on all arms at once, in the directions that the model allows.
#
# There are 24 bets: steps e_l = 4 R 2^-l, l = 0..11, to both sides of theta, where R is the length
# of the domain. Let d be the step after it is cut at the end of the domain, m_k = mu_k(theta), and
# m'_k the target mean:
#
#     m'_k = m_k + (mu_k(theta ± d) - m_k) e_l / d.
#
# A reward x of arm k multiplies the wealth of the bet by
#
#     (1 - x) (1 - m'_k) / (1 - m_k) + x m'_k / m_k,
#
# where m'_k is clipped so that this factor is at least 1 - c. H(theta) is the mean wealth of the
# bets. The targets use secants instead of derivatives, so a bet works where the slope is zero.

N_SCALES = 12
N_BETS = 2 * N_SCALES
_NEGLIGIBLE_SHARE = 0.005  # share of H that a lower bound may leave out
_MIN_FACTOR = 1.0 - STAKE  # smallest factor on the wealth of a bet


class PooledSets:
    """log H as a function of theta, for several sets of counts at once.

    Args:
        model: the reward model.
        counts: soft counts, shape (n_sets, n_arms, n_bins + 1).
    """

    def __init__(self, model: RewardModel, counts: FloatArray) -> None:
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
        return by_chunks(lambda part: _log_mean(self._wealth(part)[0]), self._row_size, thetas)

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
        """The end of a step from theta, cut at the domain, and the ratio of full to cut step."""
        low, high = self._means.domain
        room = np.where(steps > 0.0, high - thetas, low - thetas)
        cut = np.abs(steps) > np.abs(room)
        stretch = np.divide(steps, room, out=np.full(cut.shape, np.inf), where=room != 0.0)
        ends = np.minimum(np.maximum(thetas + steps, low), high)
        return ends, np.where(cut, stretch, 1.0)

    def _wealth(self, thetas: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log wealth of each bet at points, (n, n_bets, n_sets), and the means (n, 1, n_arms)."""
        ends, stretch = self._reach(thetas[:, np.newaxis], self._steps)
        stretch[np.isinf(stretch)] = 0.0  # no bet if theta is at the end of the domain
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
        values = _log_mean(wealth)
        bounds = np.full_like(values, -np.inf)
        wanted = np.flatnonzero(values.max(axis=0) >= floor)
        if wanted.size:
            rich = self._richest(wealth[wanted])
            cells = self._cells(lows[wanted], highs[wanted], means[wanted], self._steps[rich])
            bounds[:, wanted] = _log_mean(self._bound(cells))
        return np.stack([values, bounds])

    def _richest(self, wealth: FloatArray) -> IntArray:
        """Indices of the bets with nearly all wealth. Leaving out others keeps a bound valid."""
        parts = np.exp(wealth - wealth.max(axis=1, keepdims=True))
        parts /= parts.sum(axis=1, keepdims=True)
        order = np.argsort(-parts.max(axis=2), axis=1)
        kept = np.cumsum(np.take_along_axis(parts, order[..., np.newaxis], axis=1), axis=1)
        n_kept = int((kept < 1.0 - _NEGLIGIBLE_SHARE).sum(axis=1).max()) + 1
        return order[:, : min(n_kept, N_BETS)]

    def _cells(
        self, lows: FloatArray, highs: FloatArray, middle: FloatArray, steps: FloatArray
    ) -> "_Cells":
        """Ranges of m and m' in each cell. Means are monotone, so the ends give the ranges."""
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

        For fixed m, log wealth is concave in m', so its minimum is at an end of the range of m'
        or at the clip. For fixed m' it is convex in m, so it lies above its tangent. The wealth
        of a bet clipped from below increases with m; clipped from above, it decreases.
        """
        smallest = np.full((*cells.least.shape, len(self._counts)), np.inf)
        lowest, highest = _MIN_FACTOR * cells.low, 1.0 - _MIN_FACTOR * (1.0 - cells.high)
        for target in (cells.least, cells.most):
            free = (target >= lowest) & (target <= highest)
            inside = np.minimum(np.maximum(target, lowest), highest)
            tangent = self._tangent(cells, inside)
            np.minimum(smallest, tangent, out=smallest, where=free[..., np.newaxis])
        floored = cells.least < _MIN_FACTOR * cells.high
        if floored.any():
            pay = _MIN_FACTOR + STAKE * (1.0 - self._knots) / (1.0 - cells.low[..., np.newaxis])
            floor = self._count(np.log(pay))
            np.minimum(smallest, floor, out=smallest, where=floored[..., np.newaxis])
        capped = cells.most > 1.0 - _MIN_FACTOR * (1.0 - cells.low)
        if capped.any():
            pay = _MIN_FACTOR + STAKE * self._knots / cells.high[..., np.newaxis]
            ceiling = self._count(np.log(pay))
            np.minimum(smallest, ceiling, out=smallest, where=capped[..., np.newaxis])
        return np.asarray(smallest.sum(axis=2))

    def _tangent(self, cells: "_Cells", target: FloatArray) -> FloatArray:
        """Minimum over a cell of the tangent at its middle, per arm, for a fixed m'."""
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
        """Sum over knots of values times counts, shape (n, n_bets, n_arms, n_sets)."""
        n, n_bets, n_arms, n_knots = values.shape
        by_arm = values.transpose(2, 0, 1, 3).reshape(n_arms, n * n_bets, n_knots)
        summed = by_arm @ self._counts.transpose(1, 2, 0)
        return np.asarray(
            summed.reshape(n_arms, n, n_bets, len(self._counts)).transpose(1, 2, 0, 3)
        )


class Pooled:
    """log H as a function of theta, for one set of counts of shape (n_arms, n_bins + 1)."""

    def __init__(self, model: RewardModel, counts: FloatArray) -> None:
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


def _log_mean(wealth: FloatArray) -> FloatArray:
    """Log of the mean wealth of the bets: (n, n_bets, n_sets) -> (n_sets, n)."""
    return np.asarray(log_sum(wealth, axis=1).T - math.log(N_BETS))


class _Cells(NamedTuple):
    """Ranges of the mean m and of the bets' targets m' over cells of theta."""

    low: FloatArray  # (n, 1, n_arms)
    middle: FloatArray  # (n, 1, n_arms) m at the middle of the cell
    high: FloatArray  # (n, 1, n_arms)
    least: FloatArray  # (n, n_bets, n_arms) the smallest m', before the clip
    most: FloatArray  # (n, n_bets, n_arms)


# The spike-and-slab process SS tests whether one theta fits all arms at once.
#
# The rewards of each arm k are used to bet against its mean m_k = mu_k(theta), up and down, with
# stakes f = c 2^-l, l = 0..7. C_k[j] is the soft count of arm k at knot x_j:
#
#     s_k = 1/16 sum_l [ exp sum_j C_k[j] log(1 - f + f x_j / m_k)
#                      + exp sum_j C_k[j] log(1 - f + f (1 - x_j) / (1 - m_k)) ]
#
#     SS(theta) = 1/2 prod_k (1 - 1/K + s_k/K) + 1/2 prod_k (1/2 + s_k/2)
#
# The first product (spike) is large if a few means are wrong, the second (slab) if many means are
# slightly wrong. The wealth of up-bets decreases with m_k and the wealth of down-bets increases.
# Over a cell of theta each has its minimum at a known end, which gives a lower bound of SS.
#
# `up_pay`, `down_pay` and `log_parts` take numbers or arrays. The compiled loops in
# `live_refutation` use them too.

N_STAKES = 8
N_SLAB_BETS = 2 * N_STAKES
STAKES = tuple(STAKE * 0.5**step for step in range(N_STAKES))
LOG_HALF = math.log(0.5)


def up_pay(stake: Any, knot: float, mean: Any) -> Any:
    """Pay-off of a bet on rewards above the mean, for a reward at a knot."""
    return 1.0 + stake * (knot / mean - 1.0)


def down_pay(stake: Any, knot: float, mean: Any) -> Any:
    """Pay-off of a bet on rewards below the mean, for a reward at a knot."""
    return 1.0 + stake * ((1.0 - knot) / (1.0 - mean) - 1.0)


def log_parts(n_arms: int) -> tuple[float, float]:
    """Logarithms of the weights 1 - 1/K and 1/K in the spike. In the slab both are 1/2.

    >>> log_parts(1)
    (-inf, 0.0)
    """
    if n_arms == 1:
        return -math.inf, 0.0
    return math.log1p(-1.0 / n_arms), -math.log(n_arms)


class SpikeSlab:
    """log SS as a function of theta.

    Args:
        model: the reward model.
        counts: soft counts, shape (n_arms, n_bins + 1).
        errors: how far a mean may lie from its curve, see `shifted`. Values are then lower
            bounds over all such means.
    """

    def __init__(self, model: RewardModel, counts: FloatArray, errors: float = 0.0) -> None:
        self._errors = errors
        self._arms = np.flatnonzero(counts.any(axis=1))
        self._means = UnitMeans(model, self._arms)
        self._counts = counts[self._arms]
        self._n_arms = model.n_arms
        self._row_size = N_STAKES * self._arms.size

    def at(self, thetas: FloatArray) -> FloatArray:
        """Values at points."""
        return by_chunks(self._below, self._row_size, thetas, thetas)

    def survey(
        self, lows: FloatArray, highs: FloatArray, floor: float
    ) -> tuple[FloatArray, FloatArray]:
        """Values at the middles of cells, and lower bounds over the cells."""
        return self.at(0.5 * (lows + highs)), by_chunks(self._below, self._row_size, lows, highs)

    def _below(self, lows: FloatArray, highs: FloatArray) -> FloatArray:
        factors = self._factors(lows, highs)
        return np.asarray(np.logaddexp(*factors.sum(axis=2)) + LOG_HALF)

    def shares(self, theta: float) -> FloatArray:
        """Each arm's share of the evidence at theta; they sum to 1, or to 0 without evidence.

        These are shares of the log of the larger product. An arm that fits has share 0.
        """
        point = np.array([theta])
        factors = self._factors(point, point)[:, 0]
        gains = np.maximum(factors[np.argmax(factors.sum(axis=1))], 0.0)
        shares = np.zeros(self._n_arms)
        if gains.any():
            shares[self._arms] = gains / gains.sum()
        return shares

    def _factors(self, lows: FloatArray, highs: FloatArray) -> FloatArray:
        """Logs of the arms' factors in the spike and the slab, shape (2, n, n_arms)."""
        ends = self._means(np.stack([lows, highs]))
        tops, bottoms = ends.max(axis=0), ends.min(axis=0)
        if self._errors:
            tops, bottoms = shifted(tops, self._errors), shifted(bottoms, -self._errors)
        wealth = arm_wealth(self._counts, tops, bottoms)
        # Arms without rewards have s_k = 1, so their factors are 1 and can be left out.
        without, within = log_parts(self._n_arms)
        spike = np.logaddexp(without, wealth + within)
        return np.stack([spike, np.logaddexp(LOG_HALF, wealth + LOG_HALF)])


def arm_wealth(counts: FloatArray, up_means: FloatArray, down_means: FloatArray) -> FloatArray:
    """Logarithm of s_k, with up-bets against one mean and down-bets against another.

    Args:
        counts: soft counts, shape (n_arms, n_bins + 1).
        up_means: means that up-bets bet against, shape (..., n_arms).
        down_means: means that down-bets bet against. Equal to ``up_means`` for the value at a
            mean; smaller for a lower bound over the means between the two.
    """
    n_bins = counts.shape[1] - 1
    stakes = np.array(STAKES).reshape(-1, *(1,) * up_means.ndim)
    wealth = np.zeros((N_SLAB_BETS, *up_means.shape))
    for index in np.flatnonzero(counts.any(axis=0)):
        knot, weight = index / n_bins, counts[:, index]
        wealth[:N_STAKES] += weight * np.log(up_pay(stakes, knot, up_means))
        wealth[N_STAKES:] += weight * np.log(down_pay(stakes, knot, down_means))
    return log_sum(wealth, axis=0) - math.log(N_SLAB_BETS)
