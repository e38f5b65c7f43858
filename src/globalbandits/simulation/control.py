"""What all workers of a simulation share: which run is next, how far they are, when to stop."""

import threading
from collections.abc import Callable


class Control:
    """Hands out runs and counts steps.

    Args:
        n_runs: runs to hand out, by their places 0, 1, ...
        n_workers: how many ask for them.
        on_steps: told after each block how many steps there are so far.
    """

    def __init__(self, n_runs: int, n_workers: int, on_steps: Callable[[int], None]) -> None:
        self._n_runs = n_runs
        self._n_workers = n_workers
        self._next = 0
        self._steps = 0
        self._on_steps = on_steps
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def take(self, most: int) -> slice | None:
        """Places of the next runs to play; None if there are none, or it is time to stop.

        Near the end fewer than ``most`` are given, so that all workers end together.
        """
        with self._lock:
            left = self._n_runs - self._next
            if left <= 0 or self._stopped.is_set():
                return None
            first = self._next
            self._next += max(1, min(most, left // self._n_workers))
            return slice(first, self._next)

    def tick(self, n_steps: int) -> bool:
        """Count steps; whether to go on."""
        with self._lock:
            self._steps += n_steps
            self._on_steps(self._steps)
        return not self._stopped.is_set()

    def stop(self) -> None:
        """Ask all workers to end after their present block."""
        self._stopped.set()
