"""Where to look first: the likelihood of coins with the model's means.

Rewards need not be coins; this is only a guide. It tells searches where to begin and dates a
change, and no statement's validity depends on it.
"""

from typing import TYPE_CHECKING

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.evidence.processes import UnitMeans

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

_N_THETAS = 65
_N_ROUNDS = 4
_STEPS = np.array([0.25, 0.5, 0.75, 1.0, 1.3, 1.7, 2.2, 3.0, 4.5, 7.0, 12.0, 25.0, 60.0, 200.0])


def coin_fit(means: FloatArray, counts: FloatArray) -> FloatArray:
    """Log likelihood of soft counts, shape (n_thetas, ...).

    Args:
        means: shape (n_thetas, n_arms), on the unit scale.
        counts: shape (..., n_arms, n_bins + 1).
    """
    knots = np.linspace(0.0, 1.0, counts.shape[-1])
    successes, failures = counts @ knots, counts @ (1.0 - knots)
    return np.asarray(np.log(means) @ successes.T + np.log1p(-means) @ failures.T)


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
