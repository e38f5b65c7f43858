"""Deadlines: a decision without a reward at its deadline learns its default."""

import logging
from collections.abc import Iterator

from globalbandits.service.log.append import EventResult
from globalbandits.service.log.log import Log
from globalbandits.service.log.settings import Settings
from globalbandits.service.stores.records import Decision

_LOGGER = logging.getLogger("globalbandits.service")
_DECISIONS_PER_READ = 500
CLOCK_TRUST_SECONDS = 600.0  # after this time a clock that was set counts as correct
_RECHECK_MICROSECONDS = 60_000_000


class Sweeper:
    """Submits the defaults that are due. Several sweepers on one store do no harm.

    If the wall clock is set by more than a minute, defaults wait until it is set back or ten
    minutes have passed: a wrong clock must not turn open decisions into defaults.

    Args:
        log: the log.
        trust_seconds: after this time a clock that was set counts as correct.
    """

    def __init__(self, log: Log, trust_seconds: float = CLOCK_TRUST_SECONDS) -> None:
        self._log = log
        self._trust_nanoseconds = trust_seconds * 1e9
        self._jumped_at: int | None = None
        # Decisions up to this (deadline, id) have an event, or have no default.
        self._done = (0, "")
        self._recheck_at = 0
        self._defaults: dict[tuple[int, int], bool] = {}  # by bandit and number of settings

    @property
    def paused(self) -> bool:
        """Whether defaults wait because the clock was set."""
        return self._jumped_at is not None

    def sweep(self) -> int:
        """Learn all defaults that are due, and return how many. Blocks until they are stored."""
        if not self._trust_clock():
            return 0
        n_learned = 0
        now = self._log.clock.now()
        if now >= self._recheck_at or now < self._done[0]:
            # A decision may be stored after others with later deadlines: its commit took long,
            # another process made it, or the clock was set back.
            self._done = min(self._done, (now - 2 * _RECHECK_MICROSECONDS, ""))
            self._recheck_at = now + _RECHECK_MICROSECONDS
        for decisions in self._overdue(now):
            futures = []
            for decision in decisions:
                if not self._has_default(decision):
                    continue
                bandit = self._log.bandit_of(decision.bandit)
                future = None if bandit is None else self._log.submit_default(bandit, decision)
                if future is not None:
                    futures.append(future)
            results: list[EventResult] = [future.result() for future in futures]
            n_learned += sum(result.outcome == "learned" for result in results)
            last = decisions[-1]
            assert last.deadline is not None
            self._done = last.deadline, last.id
        return n_learned

    def _has_default(self, decision: Decision) -> bool:
        """Whether a decision has a default. Its bandit need not be in memory."""
        key = decision.bandit, decision.settings
        if key not in self._defaults:
            for row in self._log.store.settings(decision.bandit):
                value = Settings.from_log(row.body).default_reward
                self._defaults[decision.bandit, row.number] = value is not None
        return self._defaults[key]

    def _overdue(self, now: int) -> Iterator[list[Decision]]:
        while decisions := self._log.store.overdue(self._done, now, _DECISIONS_PER_READ):
            yield decisions

    def _trust_clock(self) -> bool:
        clock = self._log.clock
        moved = clock.jump()
        if moved == 0:
            if self._jumped_at is not None:
                _LOGGER.warning("the clock is correct again: defaults are learned")
            self._jumped_at = None
            return True
        if self._jumped_at is None:
            self._jumped_at = clock.monotonic()
            _LOGGER.warning("the clock was set by %.0f s: defaults wait", moved / 1e6)
        if clock.monotonic() - self._jumped_at < self._trust_nanoseconds:
            return False
        _LOGGER.warning("the clock was not set back: it counts as correct from now on")
        clock.accept_jump()
        self._jumped_at = None
        return True
