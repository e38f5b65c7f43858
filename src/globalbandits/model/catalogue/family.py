"""The constructor that all catalogue families share: a model from a formula with constants."""

from collections.abc import Mapping
from typing import Any

from globalbandits.model.catalogue.objectives import (
    Benefit,
    Profit,
)
from globalbandits.model.formulas import Expression
from globalbandits.model.reward_model import RewardModel


def formula_model(
    name: str,
    mean: str,
    inverse: str | None,
    arms: tuple[float, ...],
    domain: tuple[float, float],
    *,
    constants: Mapping[str, float],
    worth: Mapping[str, Any],
    value: Profit | Benefit | None = None,
    reward_range: tuple[float, float] = (0.0, 1.0),
    monotone: bool = True,
    remarks: tuple[str, ...] = (),
) -> RewardModel:
    """Build the model of one family.

    Args:
        name: The full name, such as ``demand.linear_power``.
        mean: A formula of ``theta``, ``arm`` and the constants.
        inverse: A formula of ``mean``, ``arm`` and the constants that gives theta, or None.
        arms: Prices or doses.
        domain: The interval of theta.
        constants: The values of the constants in the formulas. They are parameters of the family.
        worth: The parameters of the family that determine the worth of a decision.
        value: The worth as a function of the mean reward; None if they are the same.
        reward_range: The interval of rewards.
        monotone: As in `RewardModel`.
        remarks: Warnings about the arguments.
    """
    model = RewardModel(
        Expression(mean, constants=constants),
        arms,
        domain,
        reward_range=reward_range,
        value=value,
        inverse=(
            None if inverse is None else Expression(inverse, ("mean", "arm"), "inverse", constants)
        ),
        monotone=monotone,
    )
    model.remember_family(name, {**constants, **worth}, remarks)
    return model
