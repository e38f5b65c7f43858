"""`Summary`: a data frame whose printed form fits in 80 characters."""

from collections.abc import Mapping, Sequence

import pandas as pd

from globalbandits._types import FloatArray

MAX_LINE_CHARACTERS = 80
COLUMNS_PER_BLOCK = 4
MIN_NAME_CHARACTERS = 9


def summarise(names: Sequence[str], columns: Mapping[str, FloatArray]) -> "Summary":
    """A summary with one row per policy."""
    return Summary(columns, index=pd.Index(names, name="policy"))


class Summary(pd.DataFrame):
    """A data frame that prints in 80 characters.

    Printed numbers are short, and long names are cut in the middle. More than four columns are
    printed in blocks. The stored numbers are not rounded.
    """

    @property
    def _constructor(self) -> type["Summary"]:
        return Summary

    def __repr__(self) -> str:
        plain = pd.DataFrame(self)
        starts = range(0, max(plain.shape[1], 1), COLUMNS_PER_BLOCK)
        return "\n\n".join(_block(plain.iloc[:, at : at + COLUMNS_PER_BLOCK]) for at in starts)


def _block(table: pd.DataFrame) -> str:
    """Up to four columns, with names shortened to fit the line."""
    names = [str(name) for name in table.index]
    longest = max(map(len, names), default=0)
    text = _render(table, names)
    excess = max(map(len, text.splitlines())) - MAX_LINE_CHARACTERS
    if excess <= 0:
        return text
    room = max(longest - excess, MIN_NAME_CHARACTERS)
    return _render(table, [_abbreviate(name, room) for name in names])


def _render(table: pd.DataFrame, names: list[str]) -> str:
    shown = table.set_axis(pd.Index(names, name=table.index.name), axis=0)
    return str(shown.to_string(float_format=short_number))


def short_number(value: float) -> str:
    """A number with four digits, or with all digits before the point if there are more.

    >>> short_number(25.71234), short_number(0.0012345), short_number(123456.7), short_number(3.0)
    ('25.71', '0.001234', '123457', '3.0')
    """
    if 1e4 <= abs(value) < 1e12:
        return f"{value:.0f}"
    text = f"{value:.4g}"
    return f"{text}.0" if text.lstrip("-").isdigit() and abs(value) < 1e3 else text


def _abbreviate(name: str, room: int) -> str:
    """A name with at most ``room`` characters, cut in the middle.

    >>> _abbreviate("NonStationaryWAGP(half_window=100)", 15)
    'NonSta...w=100)'
    """
    if len(name) <= room:
        return name
    tail = (room - 3) // 2
    return f"{name[: room - 3 - tail]}...{name[-tail:]}"
