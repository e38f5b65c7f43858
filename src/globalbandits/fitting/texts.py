"""Names read from text files: numbers where all of them are."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from globalbandits._types import IntArray
from globalbandits.fitting.columns import as_plain, sorted_order

MISSING = ("", "nan", "NaN", "NA", "N/A", "null", "NULL", "None")  # texts of a missing reward


def as_values(texts: Sequence[Any]) -> tuple[list[Any], IntArray]:
    """Distinct values in order, and the place of every text among them.

    Integers if all texts are written as such, floats if all are numbers, else texts. What is
    not a text (from a typed file) stays what it is; decimals become floats.

    >>> as_values(["3.50", "2", "3.5"])
    ([2.0, 3.5], array([1, 0, 1]))
    >>> as_values(["07", "12"])[0]
    ['07', '12']
    """
    values = [as_plain(text) for text in texts]
    if values and all(isinstance(text, str) for text in values):
        values = _numbers(values)
    distinct = list(dict.fromkeys(values))
    ordered = [distinct[place] for place in sorted_order(distinct)]
    places = {value: place for place, value in enumerate(ordered)}
    return ordered, np.array([places[value] for value in values], np.int64)


def as_named(name: Any, known: Collection[Any]) -> Any:
    """What a name stands for: one of the known values, or the number that its text says.

    >>> as_named("07", {"07", "12"}), as_named("7", {7, 8}), as_named("4.5", {4.0, 5.0})
    ('07', 7, 4.5)
    """
    return as_values([name])[0][0] if isinstance(name, str) and name not in known else name


def _numbers(texts: list[str]) -> list[Any]:
    try:
        integers = [int(text) for text in texts]
    except ValueError:
        pass
    else:
        # A shop "07" is not the shop "7": codes with leading zeros stay texts.
        return integers if all(map(_is_canonical, texts, integers)) else list(texts)
    try:
        floats = [float(text) for text in texts]
    except ValueError:
        return list(texts)
    return floats if np.isfinite(floats).all() else list(texts)


def _is_canonical(text: str, integer: int) -> bool:
    return str(integer) == text.strip()
