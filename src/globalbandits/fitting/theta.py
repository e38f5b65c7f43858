"""Theta: the share of groups below this one, so that it is uniform over the population.

A policy that starts from a uniform prior on [0, 1] then starts from the history's population.
"""

from typing import NamedTuple

import numpy as np
from scipy.interpolate import PchipInterpolator

from globalbandits._types import FloatArray
from globalbandits.fitting.fitted import Fitted, curve_table

N_KNOTS = 65
TAIL = 0.005  # of the population beyond either end of [0, 1]
FLAT = 1e-4  # of the range: an arm that rises less is given this rise, and flagged
_STEEP_ENOUGH = 1e-5


class ThetaScale(NamedTuple):
    """Theta at the edges of the grid's cells: shape (n_points + 1,), never falling."""

    edges: FloatArray

    @property
    def domain(self) -> tuple[float, float]:
        """Where theta lies."""
        return float(self.edges[0]), float(self.edges[-1])

    def quantiles(self, posteriors: FloatArray, levels: FloatArray) -> FloatArray:
        """Quantiles of theta per group: shape (n_groups, n_levels).

        Theta is spread evenly over every cell of the grid.
        """
        below = np.concatenate(
            [np.zeros((len(posteriors), 1)), np.cumsum(posteriors, axis=1)], axis=1
        )
        below /= below[:, -1:]
        return np.array([np.interp(levels, row, self.edges) for row in below])


def quantile_scale(fitted: Fitted) -> ThetaScale:
    """Theta as the population's quantile, .005 of it beyond each end."""
    return ThetaScale(np.clip((below_edges(fitted) - TAIL) / (1 - 2 * TAIL), 0.0, 1.0))


def straight_scale(fitted: Fitted, domain: tuple[float, float]) -> ThetaScale:
    """Theta of the user's own curves: points of the grid are the middles of equal cells."""
    return ThetaScale(np.linspace(*domain, fitted.grid.size + 1))


def below_edges(fitted: Fitted) -> FloatArray:
    """Share of the population below each edge of the grid's cells."""
    below = np.concatenate([[0.0], np.cumsum(fitted.weights)])
    return np.asarray(below / below[-1])


def z_at(fitted: Fitted, theta: FloatArray) -> FloatArray:
    """The z whose quantile is theta."""
    half = 0.5 * (fitted.grid[1] - fitted.grid[0])
    edges = np.append(fitted.grid - half, fitted.grid[-1] + half)
    inverse = PchipInterpolator(below_edges(fitted), edges)
    return np.asarray(inverse(TAIL + (1 - 2 * TAIL) * theta))


class CurveTable(NamedTuple):
    """The arms' means at knots of theta, on the unit scale, strictly monotone."""

    theta: FloatArray  # (n_knots,)
    means: FloatArray  # (n_knots, n_arms)
    flat: tuple[bool, ...]  # arms whose mean hardly depends on theta


def tabulate(fitted: Fitted) -> CurveTable:
    """The curves over theta; an arm that is flat gets a small rise, and is flagged."""
    theta = np.linspace(0.0, 1.0, N_KNOTS)
    means = curve_table(fitted.a, fitted.c, z_at(fitted, theta))
    rises = means[-1] - means[0]
    flat = np.abs(rises) < FLAT
    for arm in range(means.shape[1]):
        ramp = theta if rises[arm] >= 0 else 1.0 - theta
        if flat[arm]:
            middle = float(np.clip(means[:, arm].mean(), FLAT, 1.0 - FLAT))
            means[:, arm] = middle + FLAT * (ramp - 0.5)
        elif np.abs(np.diff(means[:, arm])).min() < _STEEP_ENOUGH / N_KNOTS:
            means[:, arm] = (1 - _STEEP_ENOUGH) * means[:, arm] + _STEEP_ENOUGH * ramp
    return CurveTable(theta, means, tuple(bool(each) for each in flat))
