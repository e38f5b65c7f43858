"""The arms' user-facing values: prices, doses, labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from globalbandits._validation import require
from globalbandits.errors import ModelError


def as_arms(arms: Sequence[Any]) -> tuple[Any, ...]:
    """Arm values as a tuple of plain Python values, at least one, none repeated.

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
