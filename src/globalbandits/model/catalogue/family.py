"""The constructors that all catalogue families share: a model from a formula with constants."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from globalbandits._validation import as_float, as_interval, require
from globalbandits.errors import ModelError
from globalbandits.model.formulas import Expression
from globalbandits.model.objectives import Benefit, Profit
from globalbandits.model.reward_model import RewardModel
from globalbandits.model.vector_model import AnyModel, VectorModel

Interval = tuple[float, float]
# A number of a family: known, or unknown in an interval.
Number = float | Interval
# The lower limit of numbers that must be positive.
SMALLEST_POSITIVE = math.ulp(0.0)


def formula_model(
    name: str,
    mean: str,
    inverse: str | None,
    arms: tuple[float, ...],
    domain: Interval,
    *,
    constants: Mapping[str, float],
    worth: Mapping[str, Any],
    value: Profit | Benefit | None = None,
    reward_range: Interval = (0.0, 1.0),
    monotone: bool = True,
    remarks: tuple[str, ...] = (),
) -> RewardModel:
    """Build the model of one family with one unknown number, theta.

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
    model.remember_family(name, {"domain": list(domain), **constants, **worth}, remarks)
    return model


def named_model(
    name: str,
    mean: str,
    arms: tuple[float, ...],
    numbers: Mapping[str, Number],
    *,
    constants: Mapping[str, float],
    worth: Mapping[str, Any],
    value: Profit | Benefit | None = None,
    reward_range: Interval = (0.0, 1.0),
    shape: str = "",
    uninformative: tuple[float, ...] = (),
) -> AnyModel:
    """Build the model of one family whose numbers are known, or unknown in an interval.

    With one unknown number the result is a `RewardModel` of theta, with several a `VectorModel`.

    Args:
        name: As in `formula_model`.
        mean: A formula of the numbers, ``arm`` and the constants.
        arms: As in `formula_model`.
        numbers: The known value or the interval of every number.
        constants: As in `formula_model`.
        worth: As in `formula_model`.
        value: As in `formula_model`.
        reward_range: As in `formula_model`.
        shape: The number that the means of the uninformative arms do not depend on.
        uninformative: Arms that teach nothing about the shape; a remark names them.
    """
    box = {key: number for key, number in numbers.items() if isinstance(number, tuple)}
    known = {key: number for key, number in numbers.items() if not isinstance(number, tuple)}
    rule = "include a number that is unknown, given as a pair (low, high)"
    require(bool(box), " and ".join(numbers), rule, dict(numbers), ModelError)
    fixed = {**constants, **known}
    options: dict[str, Any] = {"reward_range": reward_range, "value": value}
    model: AnyModel
    if len(box) > 1:
        names = (*box, "arm")
        model = VectorModel(Expression(mean, names, constants=fixed), arms, box, **options)
    else:
        (unknown,) = box
        text = re.sub(rf"(?<![\w.]){unknown}(?!\w)", "theta", mean)
        # A mean that does not depend on theta cannot be inverted.
        options["monotone"] = unknown != shape or not uninformative
        model = RewardModel(Expression(text, constants=fixed), arms, box[unknown], **options)
    described = {key: list(n) if isinstance(n, tuple) else n for key, n in numbers.items()}
    remarks = [
        f"arm {arm:g} teaches nothing about the {shape}: its mean does not depend on it"
        for arm in uninformative
        if shape in box
    ]
    model.remember_family(name, {**described, **constants, **worth}, tuple(remarks))
    return model


def as_number(name: str, value: object, low: float, high: float, rule: str) -> Number:
    """Return a known number, or the interval of an unknown one, within [low, high].

    >>> as_number("level", 0.2, 0.0, 1.0, "lie in [0, 1]")
    0.2
    >>> as_number("level", [0.2, 0.4], 0.0, 1.0, "lie in [0, 1]")
    (0.2, 0.4)
    """
    found: Number
    if isinstance(value, Iterable) and not isinstance(value, str):
        found = as_interval(name, value, ModelError)
        inside = low <= found[0] and found[1] <= high
    else:
        found = as_float(name, value, ModelError)
        inside = low <= found <= high
    require(inside, name, rule, value, ModelError)
    return found


def as_theta(
    name: str,
    value: Number | None,
    domain: Interval | None,
    default: Interval,
    low: float = -math.inf,
    high: float = math.inf,
    rule: str = "be finite",
) -> Number:
    """Return theta: given by its name in the family, or as ``domain``, or the default interval.

    >>> as_theta("slope", None, None, (0.0, 1.0)), as_theta("slope", 0.5, None, (0.0, 1.0))
    ((0.0, 1.0), 0.5)
    """
    same = f"not be given together with {name}, which is the same number"
    require(value is None or domain is None, "domain", same, domain, ModelError)
    if value is not None:
        return as_number(name, value, low, high, rule)
    interval = default if domain is None else as_interval("domain", domain, ModelError)
    return as_number("domain", interval, low, high, rule)


def ends(number: Number) -> Interval:
    """Return the interval of a number; a known number is both ends.

    >>> ends(0.5), ends((0.2, 0.4))
    ((0.5, 0.5), (0.2, 0.4))
    """
    return number if isinstance(number, tuple) else (number, number)
