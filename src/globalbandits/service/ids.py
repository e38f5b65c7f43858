"""Ids of new decisions."""

import itertools
import secrets


class Ids:
    """New ids of decisions: the time, a mark of the process, and a number.

    Ids of one time lie together, which keeps the store's index small. The mark is drawn once: to
    ask the system for random bytes each time would let other threads take over in between.

    >>> ids = Ids()
    >>> ids.new(1_700_000_000_000_000)[:13], len(ids.new(0)), ids.new(0) == ids.new(0)
    ('60a24181e4000', 33, False)
    """

    def __init__(self) -> None:
        self._mark = secrets.token_hex(7)
        self._numbers = itertools.count()

    def new(self, at: int) -> str:
        """An id nobody has."""
        return f"{at:013x}{self._mark}{next(self._numbers) & 0xFFFFFF:06x}"
