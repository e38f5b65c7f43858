"""Intervals and arrays of numbers a user gives, as floats that can be computed with."""

from typing import Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits._validation import as_interval, require
from globalbandits.errors import ModelError

LONGEST = 1e300
_SHORTEST = 1e-290
_EPS = float(np.finfo(float).eps)


def as_span(name: str, value: Any) -> tuple[float, float]:
    """A pair (low, high) of floats whose distance is a usable float too.

    >>> as_span("reward_range", (0, 100))
    (0.0, 100.0)
    """
    low, high = as_interval(name, value, ModelError)
    length = high - low
    rule = f"have a length between {_SHORTEST:g} and {LONGEST:g}"
    require(_SHORTEST <= length <= LONGEST, name, rule, value, ModelError)
    wide = length >= 1e4 * _EPS * max(abs(low), abs(high))
    require(wide, name, "be wider than the rounding errors of its ends", value, ModelError)
    return low, high


def as_numbers(name: str, value: Any) -> FloatArray:
    """An array of floats from a number or numbers.

    >>> as_numbers("theta", [0, 1]).tolist()
    [0.0, 1.0]
    """
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{name} must be a number or numbers, got {value!r}") from None


def as_thetas(theta: Any, domain: tuple[float, float]) -> FloatArray:
    """Parameters as an array of floats inside the domain."""
    thetas = as_numbers("theta", theta)
    low, high = domain
    inside = (thetas >= low) & (thetas <= high)
    if not inside.all():
        wrong = float(thetas[~inside].flat[0]) if thetas.ndim else float(thetas)
        raise ModelError(f"theta must lie in [{low:g}, {high:g}], got {wrong!r}")
    return thetas
