"""Rows of numbers a text or a file gives by their ends: decimal, so that 0.45 is 0.45."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from globalbandits._validation import Error, as_float, as_integer, require, require_known

Number = int | float
_KEYS = ("from", "to", "step", "number")


def decimal_steps(
    name: str, ends_and_step: tuple[Any, Any, Any], most: int, error: Error, shown: object
) -> list[float]:
    """The numbers first, first + step, ... up to last; decimal numbers, or texts of them.

    >>> from globalbandits.errors import ModelError
    >>> decimal_steps("arms", ("0.4", "0.6", "0.05"), 100, ModelError, "0.4:0.6:0.05")
    [0.4, 0.45, 0.5, 0.55, 0.6]
    """
    rule = "be first:last:step or a list with commas"
    try:
        start, end, width = (Decimal(str(part)) for part in ends_and_step)
    except InvalidOperation:
        require(False, name, rule, shown, error)
    finite = start.is_finite() and end.is_finite() and width.is_finite()
    require(finite, name, rule, shown, error)
    rising = width > 0 and end >= start
    require(rising, name, "have first <= last and a positive step", shown, error)
    try:
        n_steps = (end - start) / width
    except ArithmeticError:  # more digits than decimals have
        n_steps = Decimal(most)
    require(n_steps < most, name, f"be at most {most:,}", shown, error)
    return [float(start + index * width) for index in range(int(n_steps) + 1)]


def expand_grid(name: str, content: Mapping[str, Any], most: int, error: Error) -> list[float]:
    """Numbers from ``{from, to, step}``, or evenly spaced ones from ``{from, to, number}``.

    >>> from globalbandits.errors import ModelError
    >>> expand_grid("arms", {"from": 0, "to": 1, "number": 5}, 100, ModelError)
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    for key in content:
        require_known(f"a key of {name}", key, _KEYS, error)
    whole = content.keys() in ({"from", "to", "step"}, {"from", "to", "number"})
    rule = "have from and to, and either step or number"
    require(whole, name, rule, dict(content), error)
    first, last = (as_float(f"{name}.{key}", content[key], error) for key in ("from", "to"))
    if "step" in content:
        step = as_float(f"{name}.step", content["step"], error)
        return decimal_steps(name, (first, last, step), most, error, dict(content))
    number = as_integer(f"{name}.number", content["number"], 1, error, maximum=most)
    return [float(value) for value in np.linspace(first, last, number).round(12)]
