"""Groups drawn from a fitted population."""

from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.fitting.fitted import Fitted
from globalbandits.fitting.likelihood import END


class Drawn(NamedTuple):
    """New groups, on the unit scale."""

    points: IntArray  # (n_groups,) index on the grid
    curves: FloatArray  # (n_groups, n_arms) means by the shared number alone
    means: FloatArray  # (n_groups, n_arms) with the group's own errors


def draw_groups(fitted: Fitted, number: int, rng: np.random.Generator) -> Drawn:
    """Draw z from the population, and around every curve the group's own error.

    The mean of arm k is Beta with mean f_k(z) and variance ``rho_k f (1 - f)``.
    """
    below = np.cumsum(fitted.weights)
    points = np.searchsorted(below / below[-1], rng.random(number), side="right").astype(np.int64)
    curves = fitted.curves[points]
    rho = np.maximum(fitted.rho, 1e-9)
    precision = (1.0 - rho) / rho
    inside = np.clip(curves, END, 1.0 - END)
    means = rng.beta(precision * inside, precision * (1.0 - inside))
    return Drawn(points, curves, means)
