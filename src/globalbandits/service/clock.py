"""Time in whole microseconds since 1970 in UTC, which small corrections do not make run back."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
JUMP = 60_000_000  # microseconds that the wall clock may differ from the steady one


class Clock:
    """The wall clock, but for its small steps back.

    A clock that is set by more than a minute is followed at once, there and back: else a clock
    that was an hour ahead for a moment would leave every deadline an hour early.

    Args:
        wall: gives nanoseconds since 1970.
        steady: gives nanoseconds that no adjustment of the clock changes.
    """

    def __init__(
        self, wall: Callable[[], int] = time.time_ns, steady: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._wall = wall
        self._steady = steady
        self._lock = threading.Lock()
        self._last = 0
        self._offset = wall() - steady()

    def now(self) -> int:
        """Microseconds since 1970; not below those given before, unless by more than a minute."""
        with self._lock:
            now = self._wall() // 1000
            if now > self._last or now < self._last - JUMP:
                self._last = now
            return self._last

    def steady(self) -> int:
        """Nanoseconds that no adjustment of the clock changes."""
        return self._steady()

    def jumped(self) -> int:
        """By how many microseconds the wall clock was set since the start; 0 if by few."""
        moved = (self._wall() - self._steady() - self._offset) // 1000
        return moved if abs(moved) > JUMP else 0

    def accept_jump(self) -> None:
        """Take the wall clock as right, as it is now."""
        with self._lock:
            self._offset = self._wall() - self._steady()


def as_text(at: int) -> str:
    """A time as RFC 3339 writes it.

    >>> as_text(1_700_000_000_123_456)
    '2023-11-14T22:13:20.123456Z'
    """
    seconds, rest = divmod(at, 1_000_000)
    return f"{_second(seconds)}.{rest:06d}Z"


@lru_cache(maxsize=256)
def _second(seconds: int) -> str:
    return (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
