"""Checks at the edge, all with one message shape: ``name must rule, got value``."""

import math
import numbers
from typing import Any, SupportsFloat

import numpy as np

from globalbandits.errors import GlobalBanditsError

Error = type[GlobalBanditsError]


def require(condition: bool, name: str, rule: str, value: object, error: Error) -> None:
    """Raise ``error`` with "name must rule, got value" unless the condition holds.

    >>> from globalbandits.errors import PolicyError
    >>> require(0 >= 1, "half_window", "be at least 1", 0, PolicyError)
    Traceback (most recent call last):
        ...
    globalbandits.errors.PolicyError: half_window must be at least 1, got 0
    """
    if not condition:
        raise error(f"{name} must {rule}, got {value!r}")


def as_integer(name: str, value: object, minimum: int, error: Error) -> int:
    """Return value as an int that is at least ``minimum``; booleans and 2.5 are refused."""
    is_integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    require(is_integer, name, "be an integer", value, error)
    number = int(value)  # type: ignore[call-overload]
    require(number >= minimum, name, f"be at least {minimum}", value, error)
    return int(number)


def as_float(name: str, value: object, error: Error) -> float:
    """Return value as a finite float; booleans, strings, NaN and infinities are refused."""
    is_real = isinstance(value, SupportsFloat) and not isinstance(value, (bool, np.bool_))
    require(is_real, name, "be a number", value, error)
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise error(f"{name} must be a number, got {value!r}") from None
    require(math.isfinite(number), name, "be finite", value, error)
    return number


def as_positive(name: str, value: object, error: Error) -> float:
    """Return value as a finite float above zero."""
    number = as_float(name, value, error)
    require(number > 0.0, name, "be positive", value, error)
    return number


def as_fraction(name: str, value: object, error: Error) -> float:
    """Return value as a float strictly between 0 and 1."""
    number = as_float(name, value, error)
    require(0.0 < number < 1.0, name, "lie strictly between 0 and 1", value, error)
    return number


def as_interval(name: str, value: Any, error: Error) -> tuple[float, float]:
    """Return value as a pair (low, high) of finite floats with low < high."""
    try:
        low, high = value
    except (TypeError, ValueError):
        raise error(f"{name} must be a pair (low, high), got {value!r}") from None
    bounds = as_float(f"{name} low", low, error), as_float(f"{name} high", high, error)
    require(bounds[0] < bounds[1], name, "have low < high", value, error)
    return bounds
