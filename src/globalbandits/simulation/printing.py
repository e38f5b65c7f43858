"""A table of numbers that shows all its columns on a terminal of 80."""

import pandas as pd

_WIDTH = 80
_N_COLUMNS = 4  # in a block
_SHORTEST_NAME = 9


class Summary(pd.DataFrame):
    """A data frame that is printed in 80 columns: short numbers, long names cut in the middle.

    More than four columns are printed in blocks. The numbers themselves are as exact as ever.
    """

    @property
    def _constructor(self) -> type["Summary"]:
        return Summary

    def __repr__(self) -> str:
        plain = pd.DataFrame(self)
        starts = range(0, max(plain.shape[1], 1), _N_COLUMNS)
        return "\n\n".join(_block(plain.iloc[:, at : at + _N_COLUMNS]) for at in starts)


def _block(table: pd.DataFrame) -> str:
    """Up to four columns; names as long as there is room for."""
    names = [str(name) for name in table.index]
    longest = max(map(len, names), default=0)
    text = _render(table, names)
    excess = max(map(len, text.splitlines())) - _WIDTH
    if excess <= 0:
        return text
    room = max(longest - excess, _SHORTEST_NAME)
    return _render(table, [_cut(name, room) for name in names])


def _render(table: pd.DataFrame, names: list[str]) -> str:
    shown = table.set_axis(pd.Index(names, name=table.index.name), axis=0)
    return str(shown.to_string(float_format=short_number))


def short_number(value: float) -> str:
    """Four digits, or all before the point where there are more.

    >>> short_number(25.71234), short_number(0.0012345), short_number(123456.7), short_number(3.0)
    ('25.71', '0.001234', '123457', '3.0')
    """
    if 1e4 <= abs(value) < 1e12:
        return f"{value:.0f}"
    text = f"{value:.4g}"
    return f"{text}.0" if text.lstrip("-").isdigit() and abs(value) < 1e3 else text


def _cut(name: str, room: int) -> str:
    """A name in so many letters.

    >>> _cut("NonStationaryWAGP(half_window=100)", 15)
    'NonSta...w=100)'
    """
    if len(name) <= room:
        return name
    tail = (room - 3) // 2
    return f"{name[: room - 3 - tail]}...{name[-tail:]}"
