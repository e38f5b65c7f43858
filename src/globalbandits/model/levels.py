"""The numbers a catalogue's arms are: prices, doses, probabilities."""

import math
from collections.abc import Iterable

from globalbandits._validation import as_float, require
from globalbandits.errors import ModelError


def as_levels(
    name: str,
    values: Iterable[float],
    low: float = 0.0,
    high: float = math.inf,
    rule: str = "be positive",
) -> tuple[float, ...]:
    """Values as distinct finite floats strictly between ``low`` and ``high``.

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
