"""The queue of runs that the threads of a simulation share."""

import threading
from collections.abc import Callable


class RunQueue:
    """Hands out runs to threads, counts their steps and tells them when to stop.

    Args:
        n_runs: runs to hand out, by their places 0, 1, ...
        n_threads: number of threads that take them.
        on_steps: called with the number of steps after each block.
        lock: held while ``on_steps`` is called.
    """

    def __init__(
        self, n_runs: int, n_threads: int, on_steps: Callable[[int], None], lock: threading.Lock
    ) -> None:
        self._n_runs = n_runs
        self._n_threads = n_threads
        self._n_taken = 0
        self._on_steps = on_steps
        self._lock = lock
        self._stopped = threading.Event()

    def take(self, most: int) -> slice | None:
        """Places of the next runs to play; None if there are none left, or it is stopped.

        Near the end it gives fewer than ``most``, so that all threads end together.
        """
        with self._lock:
            n_left = self._n_runs - self._n_taken
            if n_left <= 0 or self._stopped.is_set():
                return None
            first = self._n_taken
            self._n_taken += max(1, min(most, n_left // self._n_threads))
            return slice(first, self._n_taken)

    def count_steps(self, n_steps: int) -> bool:
        """Report steps; returns whether to go on."""
        with self._lock:
            self._on_steps(n_steps)
        return not self._stopped.is_set()

    def stop(self) -> None:
        """Let all threads end after the block they are at."""
        self._stopped.set()
