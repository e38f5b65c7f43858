"""Deadlines: decisions that waited too long learn their default."""

import logging
from collections.abc import Iterator

from globalbandits.service.appending import Told
from globalbandits.service.bandit import Bandit
from globalbandits.service.clock import Clock
from globalbandits.service.log import Log
from globalbandits.service.stores.records import Decision

_LOGGER = logging.getLogger("globalbandits.service")
_PIECE = 500  # decisions at a time
PATIENCE = 600.0  # seconds after which a clock that was set is believed
_AGAIN = 60_000_000  # microseconds after which what was just settled is looked at once more


class Sweeper:
    """Submits defaults that are due. Two of them, or one that is killed, do no harm.

    Where the wall clock was set by more than a minute, nothing is due until it is set back, or has
    stayed that way for ten minutes: a wrong clock must not turn open decisions into defaults.

    Args:
        log: the log.
        patience: seconds after which a clock that was set is believed.
    """

    def __init__(self, log: Log, patience: float = PATIENCE) -> None:
        self._log = log
        self._patience = patience * 1e9
        self._jumped_at: int | None = None
        self._done = (0, "")  # all before it are settled, or have no default
        self._again_at = 0

    @property
    def paused(self) -> bool:
        """Whether defaults wait for the clock."""
        return self._jumped_at is not None

    def sweep(self) -> int:
        """Learn all defaults that are due; how many. Takes its time: not for an event loop."""
        if not self._clock_is_good(self._log.clock):
            return 0
        learned = 0
        now = self._log.clock.now()
        if now >= self._again_at or now < self._done[0]:
            # A decision may be stored after others whose deadlines are later: its commit took long,
            # or another process made it, or the clock was set back.
            self._done = min(self._done, (now - 2 * _AGAIN, ""))
            self._again_at = now + _AGAIN
        for piece in self._overdue(now):
            futures = []
            for decision in piece:
                bandit = self._bandit_of(decision)
                future = None if bandit is None else self._log.submit_default(bandit, decision)
                if future is not None:
                    futures.append(future)
            told: list[Told] = [future.result() for future in futures]
            learned += sum(answer.outcome == "learned" for answer in told)
            last = piece[-1]
            assert last.deadline is not None
            self._done = last.deadline, last.id
        return learned

    def _overdue(self, now: int) -> Iterator[list[Decision]]:
        while piece := self._log.store.overdue(self._done, now, _PIECE):
            yield piece

    def _bandit_of(self, decision: Decision) -> Bandit | None:
        return self._log.bandit_of(decision.bandit)

    def _clock_is_good(self, clock: Clock) -> bool:
        moved = clock.jumped()
        if moved == 0:
            if self._jumped_at is not None:
                _LOGGER.warning("the clock is right again: defaults go on")
            self._jumped_at = None
            return True
        if self._jumped_at is None:
            self._jumped_at = clock.steady()
            _LOGGER.warning("the clock was set by %.0f s: defaults wait", moved / 1e6)
        if clock.steady() - self._jumped_at < self._patience:
            return False
        _LOGGER.warning("the clock has stayed that way: it is believed")
        clock.accept_jump()
        self._jumped_at = None
        return True
