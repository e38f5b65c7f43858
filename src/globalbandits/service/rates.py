"""How many requests a token may make: a bucket that fills at a steady rate."""

import math
import time
from collections.abc import Callable


class Rates:
    """A bucket for each token.

    Args:
        rate: requests a second.
        burst: requests at once, after a time without any.
        now: seconds.

    >>> rates = Rates(10, 2, lambda: 0.0)
    >>> [rates.wait("a") for _ in range(3)], rates.wait("b")
    ([0, 0, 1], 0)
    """

    def __init__(
        self, rate: float, burst: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = rate
        self._burst = burst
        self._now = now
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait(self, token: str) -> int:
        """0 and one request less; or whole seconds to wait."""
        now = self._now()
        level, since = self._buckets.get(token, (self._burst, now))
        level = min(self._burst, level + (now - since) * self._rate)
        if level < 1.0:
            return math.ceil((1.0 - level) / self._rate)
        self._buckets[token] = level - 1.0, now
        return 0
