"""Results of many tasks as one array that is read from its files when it is looked at."""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from xarray.backends import BackendArray
from xarray.core import indexing

from globalbandits._types import AnyArray

if TYPE_CHECKING:
    import xarray as xr

_KEPT = 8  # files in memory: variables of a dataset are mostly looked at together


class Stack(BackendArray):
    """One variable of all tasks, the axes of the sweep first.

    Parts that are shorter than the longest one are filled up with ``fill``.

    Args:
        read: gives the dataset of a task by its place in the grid; None if it is missing.
        name: the variable.
        outer: shape of the sweep.
        inner: shape of the longest part.
        dtype: of the whole.
        fill: for what is missing.
    """

    def __init__(
        self,
        read: "Callable[[int], xr.Dataset | None]",
        name: str,
        outer: tuple[int, ...],
        inner: tuple[int, ...],
        dtype: np.dtype[Any],
        fill: Any,
    ) -> None:
        self.shape = outer + inner
        self.dtype = dtype
        self._read = read
        self._name = name
        self._n_outer = len(outer)
        self._fill = fill

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        """Some of the numbers; only the files that hold them are read."""
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
        whole: AnyArray = np.full(inner, self._fill, self.dtype)
        found = self._read(place)
        if found is not None:
            values = found[self._name].values
            whole[tuple(slice(n) for n in values.shape)] = values
        return whole


def _lists(key: tuple[Any, ...], shape: tuple[int, ...]) -> list[Any]:
    return [np.atleast_1d(np.arange(n)[part]) for n, part in zip(shape, key, strict=True)]


def remembering(
    load: "Callable[[int], xr.Dataset | None]",
) -> "Callable[[int], xr.Dataset | None]":
    """The same function, which remembers the last few files."""
    return lru_cache(_KEPT)(load)


def lazily(dims: tuple[str, ...], stack: Stack) -> "xr.Variable":
    """A variable of a dataset that reads nothing before it is looked at."""
    import xarray as xr

    return xr.Variable(dims, indexing.LazilyIndexedArray(stack))
