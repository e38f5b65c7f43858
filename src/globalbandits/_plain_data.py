"""Values for JSON: arrays that survive it bit for bit and are checked on return, and `plain`."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from globalbandits._types import AnyArray
from globalbandits._validation import show
from globalbandits.errors import StateError

_SPECIAL = ("nan", "inf", "-inf")  # JSON has no such numbers, so they are written as strings


def plain(value: Any) -> Any:
    """Return a value that JSON can hold, for reading by people and programs.

    Dataclasses and mappings become dicts, sequences and arrays become lists, numbers that JSON
    does not know become None, and other objects their ``repr``. `encode_array` is exact instead.

    >>> plain({1: (np.float64(0.5), float("inf")), "arms": np.arange(2)})
    {'1': [0.5, None], 'arms': [0, 1]}
    """
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return repr(value)
    return number if math.isfinite(number) else None


def encode_array(array: AnyArray) -> Any:
    """Return an array as nested lists.

    >>> encode_array(np.array([1.5, np.inf]))
    [1.5, 'inf']
    """
    return _encode(array.tolist())


def encode_tuple(value: Any) -> Any:
    """Return a NamedTuple of arrays, or of such NamedTuples, as nested dicts of lists."""
    if isinstance(value, np.ndarray):
        return encode_array(value)
    return {name: encode_tuple(field) for name, field in zip(value._fields, value, strict=True)}


def decode_array(name: str, saved: Any, template: AnyArray) -> AnyArray:
    """Return nested lists as an array with the shape and the kind of number of the template.

    >>> decode_array("sums", [0.5, "nan"], np.zeros(2))
    array([0.5, nan])
    >>> decode_array("sums", [0.5], np.zeros(2))
    Traceback (most recent call last):
        ...
    globalbandits.errors.StateError: sums must be a list of 2 entries, got a list of 1
    """
    check = _check_integer if template.dtype.kind == "i" else _check_float
    numbers: list[Any] = []
    _flatten(name, saved, template.shape, check, numbers)
    return np.array(numbers, dtype=template.dtype).reshape(template.shape)


def decode_tuple(name: str, saved: Any, template: Any) -> Any:
    """Return nested dicts of lists as a NamedTuple like the template."""
    if isinstance(template, np.ndarray):
        return decode_array(name, saved, template)
    check_keys(name, saved, template._fields)
    return type(template)(
        *(
            decode_tuple(f"{name}.{field}", saved[field], getattr(template, field))
            for field in template._fields
        )
    )


def check_keys(name: str, saved: Any, keys: tuple[str, ...]) -> None:
    """Raise an error unless the value is a dict with exactly these keys."""
    if not isinstance(saved, Mapping):
        raise StateError(f"{name} must be a dict, got {show(saved)}")
    missing = [key for key in keys if key not in saved]
    extra = [key for key in saved if key not in keys]
    if missing or extra:
        raise StateError(
            f"{name} must have the keys {', '.join(keys)}, "
            f"got missing {missing} and extra {show(extra)}"
        )


def _encode(value: Any) -> Any:
    if isinstance(value, list):
        return [_encode(item) for item in value]
    return value if math.isfinite(value) else str(value)


def _flatten(name: str, saved: Any, shape: tuple[int, ...], check: Any, numbers: list[Any]) -> None:
    if not shape:
        numbers.append(check(name, saved))
        return
    if not isinstance(saved, (list, tuple)):
        raise StateError(f"{name} must be a list of {shape[0]} entries, got {show(saved)}")
    if len(saved) != shape[0]:
        raise StateError(f"{name} must be a list of {shape[0]} entries, got a list of {len(saved)}")
    for item in saved:
        _flatten(name, item, shape[1:], check, numbers)


def _check_integer(name: str, value: Any) -> int:
    if type(value) is not int or not -(2**63) <= value < 2**63:
        raise StateError(f"{name} must hold 64-bit integers, got {show(value)}")
    return value


def _check_float(name: str, value: Any) -> float:
    if isinstance(value, str) and value in _SPECIAL:
        return float(value)
    if type(value) is int and abs(value) <= 2**53:
        return float(value)
    if type(value) is not float or not math.isfinite(value):
        raise StateError(f"{name} must hold finite numbers, got {show(value)}")
    return value
