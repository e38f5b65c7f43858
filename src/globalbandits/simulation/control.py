"""What all workers of a simulation share: which run is next, how far they are, when to stop."""

import threading
from collections.abc import Callable


class Control:
    """Hands out runs and counts steps.

    Args:
        n_runs: runs to hand out, by their place 0, 1, ...
        on_steps: told after each block how many steps there are so far.
    """

    def __init__(self, n_runs: int, on_steps: Callable[[int], None]) -> None:
        self._n_runs = n_runs
        self._next = 0
        self._steps = 0
        self._on_steps = on_steps
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def take(self) -> int | None:
        """The place of the next run to play; None if there is none, or it is time to stop."""
        with self._lock:
            if self._next >= self._n_runs or self._stopped.is_set():
                return None
            self._next += 1
            return self._next - 1

    def tick(self, n_steps: int) -> bool:
        """Count steps; whether to go on."""
        with self._lock:
            self._steps += n_steps
            self._on_steps(self._steps)
        return not self._stopped.is_set()

    def stop(self) -> None:
        """Ask all workers to end after their present block."""
        self._stopped.set()
