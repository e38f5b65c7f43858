"""Columns of anything that has them, and the distinct values of one."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from globalbandits._types import AnyArray, FloatArray, IntArray
from globalbandits.errors import FitError


def column_names(frame: Any) -> list[str]:
    """Names of the columns of a pandas or polars frame, or of a dict of arrays."""
    if isinstance(frame, Mapping):
        return [str(name) for name in frame]
    names = getattr(frame, "columns", None)
    if names is None or not hasattr(frame, "__getitem__"):
        raise FitError(
            f"history must have columns, as a frame or a dict of arrays has, got {type(frame)!r}"
        )
    return [str(name) for name in names]


def read_columns(frame: Any, wanted: Sequence[str]) -> list[AnyArray]:
    """The named columns as one-dimensional arrays of one length.

    >>> read_columns({"store": ["a", "b"], "sold": [0, 1]}, ["sold"])
    [array([0, 1])]
    """
    check_columns(wanted, column_names(frame))
    columns = [np.asarray(frame[name]) for name in wanted]
    for name, column in zip(wanted, columns, strict=True):
        if column.ndim != 1:
            raise FitError(f"column {name!r} must be one-dimensional, got the shape {column.shape}")
        if column.size != columns[0].size:
            raise FitError(
                f"column {name!r} must have {columns[0].size} rows as {wanted[0]!r} has, "
                f"got {column.size}"
            )
    return columns


def check_columns(wanted: Sequence[str], names: Sequence[str]) -> None:
    """Refuse a history that does not have all the columns."""
    for name in wanted:
        if name not in names:
            raise FitError(f"history must have a column {name!r}, has: {', '.join(names)}")


def as_numbers(name: str, column: AnyArray) -> FloatArray:
    """A column as floats; text and dates are refused."""
    if column.dtype.kind not in "biufO":
        raise FitError(f"{name} must be numbers, got a column of {column.dtype}")
    try:
        return column.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise FitError(f"{name} must be numbers, got a column with other values") from None


def encode(name: str, column: AnyArray) -> tuple[IntArray, list[Any]]:
    """The code of every row, and the distinct values in order: sorted where they can be.

    >>> codes, values = encode("arm", np.array([3.5, 2.0, 3.5]))
    >>> codes.tolist(), values
    ([1, 0, 1], [2.0, 3.5])
    """
    import pandas as pd

    codes, found = pd.factorize(column)
    if codes.size and codes.min() < 0:
        row = int(np.argmax(codes < 0))
        raise FitError(f"{name} must not be missing, row {row} has {as_plain(column[row])!r}")
    values = [as_plain(value) for value in found]
    order = sorted_order(values)
    ranks = np.empty(len(values), np.int64)
    ranks[order] = np.arange(len(values))
    return ranks[codes], [values[place] for place in order]


def sorted_order(values: Sequence[Any]) -> list[int]:
    """Places of the values in order; as they are if they cannot be compared."""
    try:
        return sorted(range(len(values)), key=lambda place: values[place])
    except TypeError:
        return list(range(len(values)))


def as_plain(value: Any) -> Any:
    """A NumPy scalar, or a database's decimal, as the Python value it stands for."""
    if isinstance(value, Decimal):
        return float(value)
    return value.item() if isinstance(value, np.generic) else value
