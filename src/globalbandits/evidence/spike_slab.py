r"""The spike-and-slab process SS: does any theta fit all arms at once?

Each arm alone bets against its mean m_k = mu_k(theta), up and down, with stakes f = c 2^-l:

    s_k = 1/16 sum_l [ exp sum_j C_k[j] log(1 - f + f x_j / m_k)
                     + exp sum_j C_k[j] log(1 - f + f (1 - x_j)/(1 - m_k)) ],   l = 0..7,
    SS(theta) = 1/2 prod_k (1 - 1/K + s_k/K) + 1/2 prod_k (1/2 + s_k/2).

The first product is large if a few arms are wrong, the second if many are a little wrong.
The up-bets fall with m_k and the down-bets rise: over a cell of theta each is smallest at a
known end, which bounds SS from below.

The pieces of the formula (`up_pay`, `down_pay`, `log_parts`) take numbers or arrays: the loops
in `witness` use the same ones.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.evidence.processes import STAKE, UnitMeans, by_chunks, log_sum

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

N_STAKES = 8
N_BETS = 2 * N_STAKES
STAKES = tuple(STAKE * 0.5**step for step in range(N_STAKES))
LOG_HALF = math.log(0.5)


def up_pay(stake: Any, knot: float, mean: Any) -> Any:
    """What a bet on rewards above the mean pays for a reward at a knot."""
    return 1.0 + stake * (knot / mean - 1.0)


def down_pay(stake: Any, knot: float, mean: Any) -> Any:
    """What a bet on rewards below the mean pays for a reward at a knot."""
    return 1.0 + stake * ((1.0 - knot) / (1.0 - mean) - 1.0)


def log_parts(n_arms: int) -> tuple[float, float]:
    """Logarithms of the parts 1 - 1/K and 1/K of the spike; those of the slab are halves.

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
    """

    def __init__(self, model: "RewardModel", counts: FloatArray) -> None:
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
        """Each arm's part of the evidence at theta, summing to 1 (or 0 without any evidence).

        Parts of the log of the larger of the two products; arms that fit have none.
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
        wealth = arm_wealth(self._counts, ends.max(axis=0), ends.min(axis=0))
        # Arms without rewards have s_k = 1 and add nothing.
        without, within = log_parts(self._n_arms)
        spike = np.logaddexp(without, wealth + within)
        return np.stack([spike, np.logaddexp(LOG_HALF, wealth + LOG_HALF)])


def arm_wealth(counts: FloatArray, up_means: FloatArray, down_means: FloatArray) -> FloatArray:
    """Logarithm of s_k, with up-bets against one mean and down-bets against another.

    Args:
        counts: soft counts, shape (n_arms, n_bins + 1).
        up_means: means, shape (..., n_arms).
        down_means: the same for the value at a mean; not above ``up_means`` for a lower bound
            over the means between them.
    """
    n_bins = counts.shape[1] - 1
    stakes = np.array(STAKES).reshape(-1, *(1,) * up_means.ndim)
    wealth = np.zeros((N_BETS, *up_means.shape))
    for index in np.flatnonzero(counts.any(axis=0)):
        knot, weight = index / n_bins, counts[:, index]
        wealth[:N_STAKES] += weight * np.log(up_pay(stakes, knot, up_means))
        wealth[N_STAKES:] += weight * np.log(down_pay(stakes, knot, down_means))
    return log_sum(wealth, axis=0) - math.log(N_BETS)
