"""Checks and conversions of the user's arms, intervals, grids and parameters."""

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits._validation import (
    Error,
    as_float,
    as_integer,
    as_interval,
    require,
    require_known,
)
from globalbandits.errors import ModelError


def as_arms(arms: Sequence[Any]) -> tuple[Any, ...]:
    """Return the arms as a tuple of plain Python values, at least one and all distinct.

    >>> as_arms(np.array([0.4, 0.6]))
    (0.4, 0.6)
    """
    try:
        values = tuple(arms)
    except TypeError:
        raise ModelError(f"arms must be a sequence of values, got {arms!r}") from None
    values = tuple(value.item() if isinstance(value, np.generic) else value for value in values)
    require(len(values) >= 1, "arms", "have at least one value", values, ModelError)
    seen: set[Any] = set()
    for value in values:
        try:
            repeated = value in seen
            seen.add(value)
        except TypeError:
            raise ModelError(f"arms must be hashable values, got {value!r}") from None
        require(not repeated, "arms", "be distinct", value, ModelError)
    return values


def as_levels(
    name: str,
    values: Iterable[float],
    low: float = 0.0,
    high: float = math.inf,
    rule: str = "be positive",
) -> tuple[float, ...]:
    """Return the values as distinct finite floats strictly between ``low`` and ``high``.

    >>> as_levels("prices", [2, 1.5])
    (2.0, 1.5)
    >>> as_levels("prices", [2, 0])
    Traceback (most recent call last):
        ...
    globalbandits.errors.ModelError: prices[1] must be positive, got 0.0
    """
    try:
        listed = list(values)
    except TypeError:
        raise ModelError(f"{name} must be a sequence of numbers, got {values!r}") from None
    require(len(listed) > 0, name, "have at least one value", listed, ModelError)
    levels = tuple(
        as_float(f"{name}[{index}]", value, ModelError) for index, value in enumerate(listed)
    )
    first: dict[float, int] = {}
    for index, level in enumerate(levels):
        require(low < level < high, f"{name}[{index}]", rule, level, ModelError)
        other = first.setdefault(level, index)
        rule_distinct = f"differ from {name}[{other}]"
        require(other == index, f"{name}[{index}]", rule_distinct, level, ModelError)
    return levels


Number = int | float
_GRID_KEYS = ("from", "to", "step", "number")


def decimal_steps(
    name: str, ends_and_step: tuple[Any, Any, Any], most: int, error: Error, shown: object
) -> list[float]:
    """Return the numbers first, first + step, ... up to last, computed in decimal arithmetic.

    Args:
        name: The name of the argument, for messages.
        ends_and_step: First, last and step, as numbers or strings.
        most: The limit on the number of values.
        error: The error to raise.
        shown: What messages show as the argument.

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
    except ArithmeticError:
        # The quotient has more digits than a Decimal.
        n_steps = Decimal(most)
    require(n_steps < most, name, f"be at most {most:,}", shown, error)
    return [float(start + index * width) for index in range(int(n_steps) + 1)]


def expand_grid(name: str, content: Mapping[str, Any], most: int, error: Error) -> list[float]:
    """Return the numbers of ``{from, to, step}``, or even ones of ``{from, to, number}``.

    >>> from globalbandits.errors import ModelError
    >>> expand_grid("arms", {"from": 0, "to": 1, "number": 5}, 100, ModelError)
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    for key in content:
        require_known(f"a key of {name}", key, _GRID_KEYS, error)
    whole = content.keys() in ({"from", "to", "step"}, {"from", "to", "number"})
    rule = "have from and to, and either step or number"
    require(whole, name, rule, dict(content), error)
    first, last = (as_float(f"{name}.{key}", content[key], error) for key in ("from", "to"))
    if "step" in content:
        step = as_float(f"{name}.step", content["step"], error)
        return decimal_steps(name, (first, last, step), most, error, dict(content))
    number = as_integer(f"{name}.number", content["number"], 1, error, maximum=most)
    return [float(value) for value in np.linspace(first, last, number).round(12)]


# Limits on the length of an interval.
MAX_LENGTH = 1e300
_MIN_LENGTH = 1e-290
_EPS = float(np.finfo(float).eps)


def as_span(name: str, value: Any) -> tuple[float, float]:
    """Return a pair (low, high) of floats whose distance is neither too small nor too large.

    >>> as_span("reward_range", (0, 100))
    (0.0, 100.0)
    """
    low, high = as_interval(name, value, ModelError)
    length = high - low
    rule = f"have a length between {_MIN_LENGTH:g} and {MAX_LENGTH:g}"
    require(_MIN_LENGTH <= length <= MAX_LENGTH, name, rule, value, ModelError)
    wide = length >= 1e4 * _EPS * max(abs(low), abs(high))
    require(wide, name, "be wider than the rounding errors of its ends", value, ModelError)
    return low, high


def as_numbers(name: str, value: Any) -> FloatArray:
    """Return a number or numbers as an array of floats.

    >>> as_numbers("theta", [0, 1]).tolist()
    [0.0, 1.0]
    """
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{name} must be a number or numbers, got {value!r}") from None


def as_thetas(theta: Any, domain: tuple[float, float]) -> FloatArray:
    """Return parameters as an array of floats; an error unless they lie in the domain."""
    thetas = as_numbers("theta", theta)
    low, high = domain
    inside = (thetas >= low) & (thetas <= high)
    if not inside.all():
        wrong = float(thetas[~inside].flat[0]) if thetas.ndim else float(thetas)
        raise ModelError(f"theta must lie in [{low:g}, {high:g}], got {wrong!r}")
    return thetas
