"""The likelihood of coins with the model's means: where to look first, and when theta changed.

Rewards need not be coins; this is only a guide. It tells searches where to begin, dates a
change, and helps to tell a change from a wrong model. No statement's validity depends on it.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.evidence.processes import UnitMeans

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

_N_THETAS = 65
_N_ROUNDS = 4
_STEPS = np.array([0.25, 0.5, 0.75, 1.0, 1.3, 1.7, 2.2, 3.0, 4.5, 7.0, 12.0, 25.0, 60.0, 200.0])


def coin_likelihood(log: Callable[[Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """The log likelihood of coins, for numbers or for arrays: their logarithms differ.

    NumPy's logarithm of an array may differ from that of the C library in the last bit, and
    loops must have the same bits compiled and interpreted.
    """

    def likelihood(failures: Any, successes: Any, mean: Any) -> Any:
        return successes * log(mean) + failures * log(1.0 - mean)

    return likelihood


log_coin = coin_likelihood(math.log)  # Numba compiles this
log_coins = coin_likelihood(np.log)


def tosses(counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Failures and successes in soft counts, shape (..., n_bins + 1) -> (...) each.

    >>> [part.tolist() for part in tosses(np.array([[1.0, 4.0, 2.0]]))]
    [[3.0], [4.0]]
    """
    knots = np.linspace(0.0, 1.0, counts.shape[-1])
    return counts @ (1.0 - knots), counts @ knots


def coin_fit(means: FloatArray, counts: FloatArray) -> FloatArray:
    """Log likelihood of soft counts at several thetas, shape (n_thetas,).

    Args:
        means: shape (n_thetas, n_arms), on the unit scale.
        counts: shape (n_arms, n_bins + 1).
    """
    return np.asarray(log_coins(*tosses(counts), means).sum(axis=1))


def likely_edges(model: "RewardModel", counts: FloatArray) -> FloatArray:
    """Edges of cells that cover the domain, fine where theta most likely is.

    >>> from globalbandits.model import RewardModel
    >>> model = RewardModel(lambda theta, p: p * theta, [0.5, 1.0])
    >>> widths = np.diff(likely_edges(model, np.array([[75.0, 25.0], [50.0, 50.0]])))
    >>> bool(widths.max() > 10 * widths.min())
    True
    """
    low, high = model.domain
    arms = np.flatnonzero(counts.any(axis=1))
    if arms.size == 0:
        return np.linspace(low, high, 9)
    unit_means = UnitMeans(model, arms)
    left, right = low, high
    for _ in range(_N_ROUNDS):
        thetas = np.linspace(left, right, _N_THETAS)
        means = unit_means(thetas)
        fit = coin_fit(means, counts[arms])
        best = int(fit.argmax())
        if fit.max() - fit.min() < 20.0:
            break
        left, right = thetas[max(best - 2, 0)], thetas[min(best + 2, _N_THETAS - 1)]
    slopes = np.gradient(means, thetas, axis=0)[best]
    spread = means[best] * (1.0 - means[best])
    information = float((counts[arms].sum(axis=1) * slopes**2 / spread).sum())
    scale = min(2.5 / np.sqrt(max(information, 1e-300)), 0.25 * (high - low))
    ladder = np.concatenate([-scale * _STEPS[::-1], scale * _STEPS])
    inner = thetas[best] + ladder
    gap = 0.1 * scale
    inner = inner[(inner > low + gap) & (inner < high - gap)]
    return np.concatenate([[low], inner, [high]])
