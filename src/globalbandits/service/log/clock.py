"""The time in whole microseconds since 1970 in UTC."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
JUMP_MICROSECONDS = 60_000_000  # a larger difference to the monotonic clock is a jump


class Clock:
    """The wall clock without its small steps back.

    A step of more than a minute is followed at once, in both directions. Otherwise a clock that was
    an hour ahead for a moment would make every deadline an hour early.

    Args:
        wall: returns nanoseconds since 1970.
        monotonic: returns nanoseconds that do not change when the wall clock is set.
    """

    def __init__(
        self,
        wall: Callable[[], int] = time.time_ns,
        monotonic: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._last = 0
        self._offset = wall() - monotonic()

    def now(self) -> int:
        """Microseconds since 1970: at least the previous value, except after a jump back."""
        with self._lock:
            now = self._wall() // 1000
            if now > self._last or now < self._last - JUMP_MICROSECONDS:
                self._last = now
            return self._last

    def monotonic(self) -> int:
        """Nanoseconds that do not change when the wall clock is set."""
        return self._monotonic()

    def jump(self) -> int:
        """By how many microseconds the wall clock was set since the start.

        Differences of up to a minute count as 0.
        """
        moved = (self._wall() - self._monotonic() - self._offset) // 1000
        return moved if abs(moved) > JUMP_MICROSECONDS else 0

    def accept_jump(self) -> None:
        """Treat the present time of the wall clock as correct."""
        with self._lock:
            self._offset = self._wall() - self._monotonic()


def as_text(at: int) -> str:
    """Format a time as in RFC 3339.

    >>> as_text(1_700_000_000_123_456)
    '2023-11-14T22:13:20.123456Z'
    """
    seconds, rest = divmod(at, 1_000_000)
    return f"{_second(seconds)}.{rest:06d}Z"


@lru_cache(maxsize=256)
def _second(seconds: int) -> str:
    return (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
