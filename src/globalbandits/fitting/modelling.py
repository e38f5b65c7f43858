"""From fitted curves to a `RewardModel`: the one place that builds it."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.errors import ModelError
from globalbandits.fitting.theta import CurveTable
from globalbandits.fitting.worth import Worth
from globalbandits.model import RewardModel
from globalbandits.model.expressions import Expression
from globalbandits.model.named_values import Profit
from globalbandits.model.writing import check_model_path


def build_model(table: CurveTable, arms: Sequence[Any], worth: Worth) -> RewardModel:
    """The model of what is observed, theta being the population's quantile; worth decides.

    A learner of it is given rewards as they are in the history.
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
    """What a model takes as ``value`` or ``values``: data that can be saved, where it can be."""
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
    return {"values": [partial(_value, worth, place) for place in range(len(worth.arms))]}


def _value(worth: Worth, place: int, mean: FloatArray | float) -> FloatArray:
    """What one arm is worth at a mean in the rewards' own units."""
    low, high = worth.reward_range
    means = np.asarray((mean - low) / (high - low), dtype=np.float64)
    return np.asarray(worth(means[..., np.newaxis].repeat(len(worth.arms), axis=-1))[..., place])


def value_given(
    curves: RewardModel, arms: Sequence[Any], worth: Worth, own_value: bool
) -> RewardModel:
    """The user's own model, if worth is by its own value; else the same with this worth.

    A model that has to be made anew is one of the history's arms and reward range.
    """
    as_it_is = own_value or (worth.plain and not curves.valued)
    if as_it_is and curves.reward_range == worth.reward_range:
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
    """Write a model into a file; one of Python functions as a table of its means at the knots."""
    check_model_path(path)  # before a table is made
    try:
        model.to_dict()
    except ModelError:
        model = model.to_table(knots)
    model.save(path)
