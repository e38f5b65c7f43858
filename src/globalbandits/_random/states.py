"""The first states of all streams of a range of runs, computed a chunk at a time when needed."""

import threading
from functools import lru_cache

import numpy as np

from globalbandits._random.keys import Stream
from globalbandits._random.seeding import UInt64Array, stream_states

_CHUNK = 4096  # runs: enough for NumPy to be quick
_KEPT = 8  # chunks; threads are never far from each other


class States:
    """First states of the streams of some runs; threads may share it.

    >>> states = States(7, first_run=10, n_runs=5_000)
    >>> some = states.of(Stream.REWARD, 2_057, 3)
    >>> np.array_equal(some, stream_states(Stream.REWARD, 7, 2_057, 3))
    True
    """

    def __init__(self, seed: int, first_run: int, n_runs: int) -> None:
        self._first = first_run
        self._lock = threading.Lock()

        @lru_cache(maxsize=_KEPT)
        def chunk(stream: Stream, number: int) -> UInt64Array:
            place = number * _CHUNK
            return stream_states(stream, seed, first_run + place, min(_CHUNK, n_runs - place))

        self._chunk = chunk

    def of(self, stream: Stream, first_run: int, n_runs: int) -> UInt64Array:
        """States of some of the runs, shape (n_runs, 4)."""
        parts = []
        place, left = first_run - self._first, n_runs
        with self._lock:
            while left > 0:
                number, offset = divmod(place, _CHUNK)
                part = self._chunk(stream, number)[offset : offset + left]
                parts.append(part)
                place, left = place + len(part), left - len(part)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
