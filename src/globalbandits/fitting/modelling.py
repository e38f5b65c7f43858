"""From fitted curves to a `RewardModel`: the one place that builds it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.interpolate import PchipInterpolator

from globalbandits._types import FloatArray
from globalbandits.fitting.fitted import Fitted
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
    values: list[Callable[..., Any]] | None = None
    if not worth.plain:
        values = [partial(_value, worth, place) for place in range(len(arms))]
    return RewardModel.from_functions(
        functions, arms, reward_range=worth.reward_range, values=values
    )


def _value(worth: Worth, place: int, mean: FloatArray | float) -> FloatArray:
    """What one arm is worth at a mean in the rewards' own units."""
    low, high = worth.reward_range
    means = np.asarray((mean - low) / (high - low), dtype=np.float64)
    return np.asarray(worth(means[..., np.newaxis].repeat(len(worth.arms), axis=-1))[..., place])


def error_scale(fitted: Fitted) -> float:
    """Rms size of the curves' errors over the arms, on the unit scale of the rewards."""
    return float(np.sqrt(np.mean(fitted.bias**2)))
