"""From fitted curves to a `RewardModel` whose theta is the population's quantile.

Theta is the share of groups below a group, so it is uniform over the population. A policy with a
uniform prior on [0, 1] then starts from the population of the history.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import PchipInterpolator

from globalbandits._types import FloatArray
from globalbandits.errors import ModelError
from globalbandits.fitting.decision_value import Value, Worth
from globalbandits.fitting.estimation.fitted_population import FittedPopulation, curve_table
from globalbandits.fitting.panel import Panel
from globalbandits.model import RewardModel
from globalbandits.model.description import check_model_path
from globalbandits.model.formulas import Expression
from globalbandits.model.objectives import Profit

N_KNOTS = 65
TAIL_PROBABILITY = 0.005  # of the population beyond either end of [0, 1]
# Curves of a model must be strictly monotone. A flat arm gets the smallest rise of an arm over all
# theta, as a share of the range; a curve that is flat between two knots gets a small ramp.
MIN_RISE = 1e-4
RAMP_RISE = 1e-5


class ThetaScale(NamedTuple):
    """Theta at the edges of the grid's cells: shape (n_points + 1,), never decreasing."""

    edges: FloatArray

    def quantiles(self, posteriors: FloatArray, levels: FloatArray) -> FloatArray:
        """Return quantiles of theta per group: shape (n_groups, n_levels).

        Theta is uniform within every cell of the grid.
        """
        below = np.concatenate(
            [np.zeros((len(posteriors), 1)), np.cumsum(posteriors, axis=1)], axis=1
        )
        below /= below[:, -1:]
        return np.array([np.interp(levels, row, self.edges) for row in below])


def quantile_scale(fitted: FittedPopulation) -> ThetaScale:
    """Return theta as the population's quantile, without the tails beyond [0, 1]."""
    scaled = (below_edges(fitted) - TAIL_PROBABILITY) / (1 - 2 * TAIL_PROBABILITY)
    return ThetaScale(np.clip(scaled, 0.0, 1.0))


def linear_scale(fitted: FittedPopulation, domain: tuple[float, float]) -> ThetaScale:
    """Return theta of the user's own curves: the grid's cells divide the domain equally."""
    return ThetaScale(np.linspace(*domain, fitted.grid.size + 1))


def below_edges(fitted: FittedPopulation) -> FloatArray:
    """Return the share of the population below each edge of the grid's cells."""
    below = np.concatenate([[0.0], np.cumsum(fitted.weights)])
    return np.asarray(below / below[-1])


def z_at(fitted: FittedPopulation, theta: FloatArray) -> FloatArray:
    """Return the z whose quantile is theta."""
    half = 0.5 * (fitted.grid[1] - fitted.grid[0])
    edges = np.append(fitted.grid - half, fitted.grid[-1] + half)
    inverse = PchipInterpolator(below_edges(fitted), edges)
    return np.asarray(inverse(TAIL_PROBABILITY + (1 - 2 * TAIL_PROBABILITY) * theta))


class CurveTable(NamedTuple):
    """The arms' means at knots of theta, on the unit scale, strictly monotone."""

    theta: FloatArray  # (n_knots,)
    means: FloatArray  # (n_knots, n_arms)
    flat: tuple[bool, ...]  # arms whose mean hardly depends on theta


def tabulate(fitted: FittedPopulation) -> CurveTable:
    """Tabulate the curves over theta; a flat arm gets a small rise and is flagged."""
    theta = np.linspace(0.0, 1.0, N_KNOTS)
    means = curve_table(fitted.a, fitted.c, z_at(fitted, theta))
    rises = means[-1] - means[0]
    flat = np.abs(rises) < MIN_RISE
    for arm in range(means.shape[1]):
        ramp = theta if rises[arm] >= 0 else 1.0 - theta
        if flat[arm]:
            middle = float(np.clip(means[:, arm].mean(), MIN_RISE, 1.0 - MIN_RISE))
            means[:, arm] = middle + MIN_RISE * (ramp - 0.5)
        elif np.abs(np.diff(means[:, arm])).min() < RAMP_RISE / N_KNOTS:
            means[:, arm] = (1 - RAMP_RISE) * means[:, arm] + RAMP_RISE * ramp
    return CurveTable(theta, means, tuple(bool(each) for each in flat))


def tabulate_given(model: RewardModel, panel: Panel) -> CurveTable:
    """Tabulate the user's own curves over theta."""
    theta = np.linspace(*model.domain, N_KNOTS)
    return CurveTable(theta, unit_means(model, panel, theta), (False,) * panel.n_arms)


def unit_means(model: RewardModel, panel: Panel, theta: FloatArray) -> FloatArray:
    """Return a model's means of the panel's arms, on its unit scale: (theta.size, n_arms)."""
    columns = [model.arms.index(arm) for arm in panel.arms]
    low, high = panel.reward_range
    return np.asarray((model.means(theta)[:, columns] - low) / (high - low))


def build_model(table: CurveTable, arms: Sequence[Any], worth: Worth) -> RewardModel:
    """Build the model of what is observed; `worth` decides between arms.

    A learner of the model takes rewards in the units of the history.
    """
    low, high = worth.reward_range
    return RewardModel.from_table(
        table.theta,
        low + (high - low) * table.means,
        arms,
        reward_range=worth.reward_range,
        **value_arguments(worth),
    )


def value_arguments(worth: Worth) -> dict[str, Any]:
    """Return a model's argument ``value`` or ``values``, as data that can be saved if possible."""
    if worth.plain:
        return {}
    value = worth.value
    if isinstance(value, (Profit, Expression)) and not worth.offsets.any():
        return {"value": value}
    if value is None or isinstance(value, Profit):
        cost = None if value is None else value.cost
        slopes = [1.0 if cost is None else float(arm - cost) for arm in worth.arms]
        lines = zip(slopes, worth.offsets.tolist(), strict=True)
        return {"values": [f"{slope!r} * mean + {offset!r}" for slope, offset in lines]}
    return {"values": [partial(_arm_value, worth, place) for place in range(len(worth.arms))]}


def _arm_value(worth: Worth, place: int, mean: FloatArray | float) -> FloatArray:
    """Return what one arm is worth at a mean in the rewards' own units."""
    low, high = worth.reward_range
    means = np.asarray((mean - low) / (high - low), dtype=np.float64)
    return np.asarray(worth(means[..., np.newaxis].repeat(len(worth.arms), axis=-1))[..., place])


def own_value(model: RewardModel) -> Value | None:
    """Return the value function of the user's own model; None if it is the mean."""
    if not model.valued:
        return None
    low, high = model.reward_range
    return lambda mean, arm: model.worth_of(model.arms.index(arm), np.clip(mean, low, high))


def revalue_given(
    curves: RewardModel, arms: Sequence[Any], worth: Worth, has_own_value: bool
) -> RewardModel:
    """Return the user's own model, rebuilt with this worth if it differs from the model's own.

    A rebuilt model has the history's arms and reward range.
    """
    unchanged = has_own_value or (worth.plain and not curves.valued)
    if unchanged and curves.reward_range == worth.reward_range:
        return curves

    def mean_of(arm: Any) -> Callable[[Any], Any]:
        place = curves.arms.index(arm)
        return lambda theta: curves.means(theta)[..., place]

    return RewardModel.from_functions(
        [mean_of(arm) for arm in arms],
        arms,
        curves.domain,
        reward_range=worth.reward_range,
        monotone=curves.monotone,
        **value_arguments(worth),
    )


def save_model(model: RewardModel, knots: FloatArray, path: str | os.PathLike[str]) -> None:
    """Write a model into a file; Python functions are tabulated at the knots."""
    # A wrong path is refused before the table is computed.
    check_model_path(path)
    try:
        model.to_dict()
    except ModelError:
        model = model.to_table(knots)
    model.save(path)
