r"""The spike-and-slab process SS: does any theta fit all arms at once?

Each arm alone bets against its mean m_k = mu_k(theta), up and down, with stakes f = c 2^-l:

    s_k = 1/16 sum_l [ exp sum_j C_k[j] log(1 - f + f x_j / m_k)
                     + exp sum_j C_k[j] log(1 - f + f (1 - x_j)/(1 - m_k)) ],   l = 0..7,
    SS(theta) = 1/2 prod_k (1 - 1/K + s_k/K) + 1/2 prod_k (1/2 + s_k/2).

The first product is large if a few arms are wrong, the second if many are a little wrong.
The up-bets fall with m_k and the down-bets rise: over a cell of theta each is smallest at a
known end, which bounds SS from below.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.evidence.processes import STAKE, UnitMeans, by_chunks, log_sum

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

N_STAKES = 8
_STAKES = STAKE * 0.5 ** np.arange(N_STAKES)


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
        return np.asarray(np.logaddexp(*factors.sum(axis=2)) + math.log(0.5))

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
        rest = math.log1p(-1.0 / self._n_arms) if self._n_arms > 1 else -math.inf
        spike = np.logaddexp(rest, wealth - math.log(self._n_arms))
        return np.stack([spike, np.logaddexp(0.0, wealth) - math.log(2.0)])


def arm_wealth(counts: FloatArray, up_means: FloatArray, down_means: FloatArray) -> FloatArray:
    """Logarithm of s_k, with up-bets against one mean and down-bets against another.

    Args:
        counts: soft counts, shape (n_arms, n_bins + 1).
        up_means: means, shape (..., n_arms).
        down_means: the same for the value at a mean; not above ``up_means`` for a lower bound
            over the means between them.
    """
    up, down = bet_wealth(counts, up_means, down_means)
    return np.asarray(np.logaddexp(up, down) - math.log(2.0))


def bet_wealth(
    counts: FloatArray, up_means: FloatArray, down_means: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Log of the mean wealth of the up-bets and of the down-bets, each of shape (..., n_arms)."""
    n_bins = counts.shape[1] - 1
    up = np.zeros((*up_means.shape, N_STAKES))
    down = np.zeros_like(up)
    for index in np.flatnonzero(counts.any(axis=0)):
        knot = index / n_bins
        weight = counts[:, index, np.newaxis]
        up += weight * np.log(1.0 + _STAKES * (knot / up_means - 1.0)[..., np.newaxis])
        loss = (1.0 - knot) / (1.0 - down_means) - 1.0
        down += weight * np.log(1.0 + _STAKES * loss[..., np.newaxis])
    return log_sum(up, -1) - math.log(N_STAKES), log_sum(down, -1) - math.log(N_STAKES)
