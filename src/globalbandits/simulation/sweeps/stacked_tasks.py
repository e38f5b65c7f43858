"""One dataset over the files of all tasks of a sweep, which reads a file when its values are used.

`SweepResult.dataset` imports this module when it is first used, because xarray takes a while.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from globalbandits._types import AnyArray

MAX_CACHED_FILES = 8  # variables of one file are often used together
_FILL_VALUES: dict[str, Any] = {"f": np.nan, "i": -1, "b": False, "U": ""}

Read = Callable[[int], xr.Dataset | None]


class Layout:
    """The variables of all tasks, with the largest size of each dimension."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self.variables: dict[str, tuple[tuple[str, ...], np.dtype[Any]]] = {}
        self.labels: dict[str, AnyArray] = {}  # coordinates of the first task
        self.differing: set[str] = set()  # coordinates that differ between tasks

    def add(self, data: xr.Dataset) -> None:
        """Add the variables and sizes of a task."""
        for dim, size in data.sizes.items():
            self.sizes[str(dim)] = max(size, self.sizes.get(str(dim), 0))
        for key, part in data.variables.items():
            name, dims = str(key), tuple(map(str, part.dims))
            known, dtype = self.variables.get(name, (dims, part.dtype))
            long, short = (dims, known) if len(dims) > len(known) else (known, dims)
            dims = (*long, *(dim for dim in short if dim not in long))
            self.variables[name] = dims, np.promote_types(dtype, part.dtype)
        for name in map(str, data.coords):
            values = data[name].values
            if not np.array_equal(self.labels.setdefault(name, values), values):
                self.differing.add(name)


def stack_tasks(read: Read, axes: Mapping[str, list[Any]], keys: Iterable[int]) -> xr.Dataset:
    """One dataset of all tasks, with the sweep's axes first. It reads files when values are used.

    Args:
        read: returns the dataset of a task by its index in the grid; None if it is missing.
        axes: the values of the sweep's axes by name.
        keys: tasks that define variables and sizes; one is enough if all tasks are alike.
    """
    read = lru_cache(MAX_CACHED_FILES)(read)
    layout = Layout()
    for key in keys:
        found = read(key)
        if found is not None:
            layout.add(found)
    outer = tuple(len(values) for values in axes.values())
    coordinates: dict[str, Any] = {name: np.array(values) for name, values in axes.items()}
    stacked: dict[str, Any] = {}
    for name, (dims, dtype) in layout.variables.items():
        if name in layout.labels and name not in layout.differing:
            coordinates[name] = layout.labels[name]
            continue
        shown = name
        if name in layout.labels:
            shown = f"{name}_of"
            dtype = dtype if dtype.kind == "U" else np.dtype(float)
        inner = tuple(layout.sizes[dim] for dim in dims)
        stack = Stack(read, name, outer, dims, inner, dtype)
        array = indexing.LazilyIndexedArray(stack)
        stacked[shown] = xr.Variable((*axes, *dims), array)
    return xr.Dataset(stacked, coordinates)


class Stack(BackendArray):
    """One variable of all tasks, with the axes of the sweep first.

    The values of one task are a part. Missing parts and shorter parts are padded.

    Args:
        read: returns the dataset of a task by its index in the grid; None if it is missing.
        name: name of the variable.
        outer: shape of the sweep.
        dims: dimensions of a part. A part without one of them is repeated along it.
        inner: largest shape of a part.
        dtype: type of all values.
    """

    def __init__(
        self,
        read: Read,
        name: str,
        outer: tuple[int, ...],
        dims: tuple[str, ...],
        inner: tuple[int, ...],
        dtype: np.dtype[Any],
    ) -> None:
        self.shape = outer + inner
        self.dtype = dtype
        self._read = read
        self._name = name
        self._n_outer = len(outer)
        self._dims = dims

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        """Return some of the values. Only their files are read."""
        return indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.OUTER, self._get
        )

    def _get(self, key: tuple[Any, ...]) -> AnyArray:
        outer, inner = self.shape[: self._n_outer], self.shape[self._n_outer :]
        chosen = [np.arange(n)[part] for n, part in zip(outer, key[: self._n_outer], strict=True)]
        rest = key[self._n_outer :]
        grid = np.meshgrid(*(np.atleast_1d(part) for part in chosen), indexing="ij")
        places = (
            np.ravel_multi_index(tuple(part.ravel() for part in grid), outer)
            if outer
            else np.zeros(1, int)
        )
        parts = [self._part(int(place), inner)[np.ix_(*_lists(rest, inner))] for place in places]
        shape = tuple(part.size for part in chosen if part.ndim)
        kept = tuple(
            size for size, part in zip(parts[0].shape, rest, strict=True) if not np.isscalar(part)
        )
        return np.stack(parts).reshape(shape + kept)

    def _part(self, place: int, inner: tuple[int, ...]) -> AnyArray:
        whole: AnyArray = np.full(inner, _FILL_VALUES[self.dtype.kind], self.dtype)
        found = self._read(place)
        if found is not None and self._name in found.variables:
            part = found[self._name]
            more = {dim: found.sizes[dim] for dim in self._dims if dim not in part.dims}
            values = part.expand_dims(more).transpose(*self._dims).values
            whole[tuple(slice(n) for n in values.shape)] = values
        return whole


def _lists(key: tuple[Any, ...], shape: tuple[int, ...]) -> list[Any]:
    return [np.atleast_1d(np.arange(n)[part]) for n, part in zip(shape, key, strict=True)]
