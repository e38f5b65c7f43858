"""The constructor of every model in the catalogues: a formula with named constants."""

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
) -> RewardModel:
    """The model of one family.

    Args:
        name: The full name, such as ``demand.linear_power``.
        mean: A formula of ``theta``, ``arm`` and the constants.
        inverse: A formula of ``mean``, ``arm`` and the constants that gives theta, or None.
        arms: Prices or doses.
        domain: The interval of theta.
        constants: The values of the names in the formulas; parameters of the family.
        worth: The family's parameters that say what a decision is worth.
        value: The value of a mean reward, if it is not the mean reward itself.
        reward_range: The interval of rewards.
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
    )
    model.remember_family(name, {**constants, **worth})
    return model
