"""Limit the rate of requests per token with a token bucket."""

import math
import time
from collections.abc import Callable


class RateLimiter:
    """One bucket per token.

    Args:
        rate: requests per second.
        burst: maximum number of requests at once, after a pause.
        now: a clock in seconds.

    >>> limiter = RateLimiter(10, 2, lambda: 0.0)
    >>> [limiter.wait("a") for _ in range(3)], limiter.wait("b")
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
        """Count a request and return 0, or return the whole seconds to wait before the next."""
        now = self._now()
        level, since = self._buckets.get(token, (self._burst, now))
        level = min(self._burst, level + (now - since) * self._rate)
        if level < 1.0:
            return math.ceil((1.0 - level) / self._rate)
        self._buckets[token] = level - 1.0, now
        return 0
