"""From fitted curves to a `RewardModel`: the one place that builds it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.interpolate import PchipInterpolator

from globalbandits._types import FloatArray
from globalbandits.fitting.theta import CurveTable
from globalbandits.fitting.worth import Worth
from globalbandits.model import RewardModel


def build_model(table: CurveTable, arms: Sequence[Any], worth: Worth) -> RewardModel:
    """The model of what is observed, theta being the population's quantile; worth decides.

    A learner of it is given rewards as they are in the history.
    """
    low, high = worth.reward_range
    curves = low + (high - low) * table.means
    functions = [PchipInterpolator(table.theta, column) for column in curves.T]
    return RewardModel.from_functions(
        functions, arms, reward_range=worth.reward_range, values=_values(worth)
    )


def _values(worth: Worth) -> list[Callable[..., Any]] | None:
    if worth.plain:
        return None
    return [partial(_value, worth, place) for place in range(len(worth.arms))]


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
        values=_values(worth),
        monotone=curves.monotone,
    )
