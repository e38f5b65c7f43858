"""Nested NamedTuples of arrays in one block of memory.

The simulator resets a policy's whole state with one copy of that block.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_WORD_BYTES = 8


def pack(value: Any) -> tuple[Any, NDArray[np.uint64]]:
    """Return the same NamedTuple with all its arrays in one block of memory, and that block.

    >>> from typing import NamedTuple
    >>> class Pair(NamedTuple):
    ...     a: np.ndarray
    ...     b: np.ndarray
    >>> pair, words = pack(Pair(np.array([1, 2]), np.array([[0.5]])))
    >>> fresh = words.copy()
    >>> pair.a[:] = 7
    >>> words[:] = fresh
    >>> pair.a.tolist(), pair.b.tolist(), words.size
    ([1, 2], [[0.5]], 3)
    """
    words = np.zeros(_size(value), np.uint64)
    return _place(value, words, 0)[0], words


def _size(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return -(-value.nbytes // _WORD_BYTES)
    return sum(_size(field) for field in value) if isinstance(value, tuple) else 0


def _place(value: Any, words: NDArray[np.uint64], at: int) -> tuple[Any, int]:
    """A copy in the words from ``at`` on, and the index after its last word."""
    if isinstance(value, np.ndarray):
        end = at + _size(value)
        room = words[at:end].view(np.uint8)[: value.nbytes]
        placed = room.view(value.dtype).reshape(value.shape)
        placed[...] = value
        return placed, end
    if not hasattr(value, "_fields"):
        return value, at
    fields = []
    for field in value:
        placed, at = _place(field, words, at)
        fields.append(placed)
    return type(value)(*fields), at
