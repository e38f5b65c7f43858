"""Arrays that refuse indices outside of them.

Compiled code does not check indices. So rules are run once in plain Python over arrays that do.
Negative indices, which Python counts from the end, are refused too.
"""

from typing import Any

import numpy as np


class OutsideError(IndexError):
    """An index outside of an array."""


class Bounded(np.ndarray):
    """An array that refuses indices outside of it."""

    def __getitem__(self, key: Any) -> Any:
        _check(self.shape, key)
        return super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        _check(self.shape, key)
        super().__setitem__(key, value)


def bounded(value: Any) -> Any:
    """A NamedTuple with its arrays, and those of NamedTuples inside it, as bounded views."""
    if isinstance(value, np.ndarray):
        return value.view(Bounded)
    if hasattr(value, "_fields"):
        return type(value)(*(bounded(field) for field in value))
    return value


def _check(shape: tuple[int, ...], key: Any) -> None:
    keys = key if isinstance(key, tuple) else (key,)
    for axis, (size, index) in enumerate(zip(shape, keys, strict=False)):
        if isinstance(index, (int, np.integer)) and not 0 <= index < size:
            raise OutsideError(f"index {index} of axis {axis} with {size} entries")
