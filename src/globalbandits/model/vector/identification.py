"""Which arms identify the parameters: plays until every parameter is known, by Fisher information.

A reward of arm k carries the information J_k = g_k g_k' / (mu_k (1 - mu_k)) of a Bernoulli reward,
where g_k is the gradient of the arm's mean in unit coordinates. It has rank one, so d parameters
need at least d arms.
"""

import itertools
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.model.vector.tabulation import UnitModel, spread_points
from globalbandits.model.vector_tables import MEAN_MARGIN

# A parameter counts as known when its standard error is this share of its range.
KNOWN_SHARE_OF_RANGE = 0.1

# Points of the box at which the information is computed.
_N_POINTS = 256

# Sets are formed from at most this number of arms, spread evenly over all arms.
_MAX_ARMS = 24

# Half of the distance of a central difference, in unit coordinates.
_HALF_DIFFERENCE = 1e-4

# More plays than this are reported as infinitely many.
_MAX_PLAYS = 1e12


class Identification(NamedTuple):
    """Plays of each arm of a set until every parameter is known to a tenth of its range.

    The precision of a parameter is its standard error. The sets are ordered by the median over
    the box, the most informative one first.
    """

    parameters: tuple[str, ...]
    sets: tuple[tuple[int, ...], ...]  # indices of arms
    plays: FloatArray  # (n_sets,) median over the box
    plays_95: FloatArray  # (n_sets,) 95 % quantile over the box
    by_parameter: FloatArray  # (n_parameters,) the same median if all arms are played equally often


def identify(model: UnitModel, parameters: tuple[str, ...]) -> Identification:
    """Return the plays that every set of as many arms as parameters needs."""
    d, n_arms = model.n_parameters, model.n_arms
    points = spread_points(d, _N_POINTS)
    information = reward_information(model, points)
    chosen = np.unique(np.linspace(0, n_arms - 1, min(n_arms, _MAX_ARMS)).round().astype(int))
    sets = list(itertools.combinations(chosen.tolist(), d))
    plays = np.array([_plays(information[:, list(arms)].sum(axis=1)).max(axis=1) for arms in sets])
    plays = plays.reshape(len(sets), len(points))
    medians = np.median(plays, axis=1)
    order = np.argsort(medians, kind="stable")
    everything = np.median(_plays(information.sum(axis=1)), axis=0)
    return Identification(
        parameters,
        tuple(sets[place] for place in order),
        medians[order],
        np.quantile(plays, 0.95, axis=1, method="higher")[order] if sets else medians,
        everything,
    )


def reward_information(model: UnitModel, points: FloatArray) -> FloatArray:
    """Return J_k of every arm at the points, shape (n, n_arms, d, d)."""
    means = np.clip(model.means(points), MEAN_MARGIN, 1.0 - MEAN_MARGIN)
    slopes = []
    for axis in range(points.shape[1]):
        below, above = points.copy(), points.copy()
        below[:, axis] = np.maximum(points[:, axis] - _HALF_DIFFERENCE, 0.0)
        above[:, axis] = np.minimum(points[:, axis] + _HALF_DIFFERENCE, 1.0)
        width = (above[:, axis] - below[:, axis])[:, None]
        slopes.append((model.means(above) - model.means(below)) / width)
    gradient = np.stack(slopes, axis=-1)
    outer = gradient[..., :, None] * gradient[..., None, :]
    return np.asarray(outer / (means * (1.0 - means))[..., None, None])


def _plays(information: FloatArray) -> FloatArray:
    """Return the plays for each parameter from the information of one play, shape (n, d)."""
    # A tiny multiple of the identity makes singular information invertible.
    ridge = np.eye(information.shape[-1]) / (_MAX_PLAYS * KNOWN_SHARE_OF_RANGE**2)
    variances = np.linalg.inv(information + ridge).diagonal(axis1=1, axis2=2)
    plays = variances / KNOWN_SHARE_OF_RANGE**2
    return np.where(plays > 1e-3 * _MAX_PLAYS, np.inf, plays)
