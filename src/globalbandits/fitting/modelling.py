"""From fitted curves to a `RewardModel`: the one place that builds it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.interpolate import PchipInterpolator

from globalbandits.fitting.fitted import Fitted
from globalbandits.fitting.theta import CurveTable
from globalbandits.fitting.worth import Worth
from globalbandits.model import RewardModel


def build_model(table: CurveTable, arms: Sequence[Any], worth: Worth) -> RewardModel:
    """The model of what a decision is worth, theta being the population's quantile.

    Its rewards are worths: a learner is told ``value(reward, arm) + offset``.
    """
    columns = worth(table.means).T
    functions = [PchipInterpolator(table.theta, column) for column in columns]
    return RewardModel.from_functions(functions, arms, reward_range=worth_range(worth))


def worth_range(worth: Worth) -> tuple[float, float]:
    """The lowest and the highest worth of a single reward."""
    if worth.plain:
        return worth.reward_range
    ends = worth(np.array([[0.0], [1.0]]).repeat(len(worth.arms), axis=1))
    return float(ends.min()), float(ends.max())


def model_bias(model: RewardModel, fitted: Fitted, worth: Worth) -> float:
    """Rms size of the curves' errors on the unit scale of the model's rewards."""
    low, high = worth.reward_range
    errors = fitted.bias * (high - low)
    if not (fitted.given or worth.plain):
        errors = fitted.bias * worth.slopes(fitted.curves, fitted.weights)
    bottom, top = model.reward_range
    return float(np.sqrt(np.mean(errors**2))) / (top - bottom)
