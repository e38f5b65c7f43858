"""Validation of user input. Every message has the form ``name must rule, got value``."""

import difflib
import math
import numbers
import os
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any, SupportsFloat

import numpy as np

from globalbandits.errors import GlobalBanditsError

LARGEST_INTEGER = 2**63 - 1  # the limit of arrays and compiled code
LARGEST_SEED = 2**128 - 1
_MAX_SHOWN_CHARACTERS = 300  # of a value in a message

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
        raise error(f"{name} must {rule}, got {show(value)}")


def show(value: object) -> str:
    """The repr of a value, shortened if it is long. Never raises.

    >>> show("low"), show(10**400)[:4], len(show(10**400))
    ("'low'", '1000', 303)
    >>> show(10**5000)
    'an integer of 16610 bits'
    """
    try:
        text = repr(value)
    except Exception:  # Python limits the digits of an integer; a custom repr may raise anything
        if isinstance(value, int):
            return f"an integer of {value.bit_length()} bits"
        return f"a {type(value).__name__}"
    return text if len(text) <= _MAX_SHOWN_CHARACTERS else f"{text[:_MAX_SHOWN_CHARACTERS]}..."


def did_you_mean(value: object, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the most similar known name, if there is one.

    >>> did_you_mean("horizn", ["horizon", "runs"])
    "; did you mean 'horizon'?"
    >>> did_you_mean("colour", ["horizon", "runs"])
    ''
    """
    if not isinstance(value, str):
        return ""
    plain = {name.lower().replace("-", "_"): name for name in known}
    near = difflib.get_close_matches(value[:80].lower().replace("-", "_"), plain, n=1)
    return f"; did you mean {plain[near[0]]!r}?" if near else ""


def require_known(name: str, value: object, known: Iterable[str], error: Error) -> str:
    """Return value if it is one of the known strings; otherwise the message lists them."""
    listed = list(known)
    if isinstance(value, str) and value in listed:
        return value
    rule = f"be one of {', '.join(listed) or 'none'}"
    raise error(f"{name} must {rule}, got {show(value)}{did_you_mean(value, listed)}")


def as_integer(
    name: str, value: object, minimum: int, error: Error, *, maximum: int = LARGEST_INTEGER
) -> int:
    """Return value as an int from ``minimum`` to ``maximum``; booleans and 2.5 are rejected."""
    is_integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    require(is_integer, name, "be an integer", value, error)
    number = int(value)  # type: ignore[call-overload]
    require(number >= minimum, name, f"be at least {minimum}", value, error)
    require(number <= maximum, name, f"be at most {maximum}", value, error)
    return int(number)


def as_seed(value: object, error: Error) -> int:
    """Return value as a seed: an integer from 0 up to 2**128 - 1."""
    return as_integer("seed", value, 0, error, maximum=LARGEST_SEED)


def as_float(name: str, value: object, error: Error) -> float:
    """Return value as a finite float; booleans, strings, complex numbers and NaN are rejected."""
    require(_is_real(value), name, "be a number", value, error)
    try:
        number = float(value)  # type: ignore[arg-type]
    except OverflowError:  # an integer or a fraction beyond the largest float
        number = math.inf
    except Exception:  # a custom __float__ may raise anything
        raise error(f"{name} must be a number, got {show(value)}") from None
    require(math.isfinite(number), name, "be finite", value, error)
    return number


def _is_real(value: object) -> bool:
    """Whether a value is a single real number."""
    if type(value) in (float, int):  # fast path: the checks below are slow
        return True
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "iuf"
    if isinstance(value, np.generic):
        return value.dtype.kind in "iuf"
    return isinstance(value, SupportsFloat) and not isinstance(value, (bool, complex))


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


def as_list(name: str, value: Any, rule: str, error: Error) -> list[Any]:
    """Return the entries of an ordered collection; strings, bytes, sets and dicts are rejected."""
    refused = (str, bytes, bytearray, memoryview, Set, Mapping)
    is_listed = isinstance(value, Iterable) and not isinstance(value, refused)
    require(is_listed, name, rule, value, error)
    try:
        return list(value)
    except TypeError:  # an array with no dimensions
        raise error(f"{name} must {rule}, got {show(value)}") from None


def as_floats(name: str, value: Any, error: Error) -> tuple[float, ...]:
    """Return value as a tuple of finite floats."""
    entries = as_list(name, value, "be a list of numbers", error)
    return tuple(as_float(name, entry, error) for entry in entries)


def as_interval(name: str, value: Any, error: Error) -> tuple[float, float]:
    """Return value as a pair (low, high) of finite floats with low < high."""
    rule = "be a pair (low, high)"
    ends = as_list(name, value, rule, error)
    require(len(ends) == 2, name, rule, value, error)
    low = as_float(f"{name} low", ends[0], error)
    high = as_float(f"{name} high", ends[1], error)
    require(low < high, name, "have low < high", value, error)
    require(math.isfinite(high - low), name, "have a finite length", value, error)
    return low, high


def as_folder(name: str, value: object, error: Error) -> Path:
    """Return value as the path of a folder, and create the folder if it is missing."""
    if not isinstance(value, (str, os.PathLike)):
        raise error(f"{name} must be a path, got {show(value)}")
    folder = Path(value)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        rule = "be a folder that can be made"
        raise error(f"{name} must {rule}, got {show(str(folder))}: {failure.strerror}") from failure
    return folder
