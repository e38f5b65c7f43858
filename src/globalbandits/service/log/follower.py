"""Follow a shared store: learn what other processes have appended.

A process that reports an event reads what it has missed anyway. The follower finds the rest.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping

from globalbandits.errors import StoreUnavailable
from globalbandits.service.log.append import catch_up
from globalbandits.service.log.bandit import Bandit
from globalbandits.service.log.writer import Change, Writer
from globalbandits.service.stores.records import Event
from globalbandits.service.stores.store import Store, Transaction

POLL_SECONDS = 0.2
RECOUNT_SECONDS = 10.0  # between counts of all decisions, including those of other processes
_UNAVAILABLE_POLL_SECONDS = 1.0
_ERROR_POLL_SECONDS = 10.0
# Pause at least this many times as long as a poll computes, if there are very many bandits.
_PAUSE_PER_POLL = 20.0
_LOGGER = logging.getLogger("globalbandits.service")


class Follower:
    """A thread that polls the store and makes memory learn new events.

    Args:
        store: a shared store.
        bandits: the bandits in memory, by id.
        writer: the log's writer; only its thread may change memory.
        found_others: called when bandits were created or deleted.
        recount: counts the decisions of a bandit in the store.
        poll_seconds: the time between polls.
    """

    def __init__(
        self,
        store: Store,
        bandits: Mapping[int, Bandit],
        writer: Writer,
        found_others: Callable[[], object],
        recount: Callable[[Bandit], object],
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self._store = store
        self._bandits = bandits
        self._writer = writer
        self._found_others = found_others
        self._recount_one = recount
        self._poll_seconds = poll_seconds
        self._known: set[int] = set()
        self._to_recount: set[int] = set()  # bandits with events of other processes
        self._recount_at = 0.0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop polling."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        pause = self._poll_seconds
        while not self._stopped.wait(pause):
            # Processor time: after an outage a poll may wait for a new connection.
            started = time.thread_time()
            try:
                self._poll()
                pause = _PAUSE_PER_POLL * (time.thread_time() - started)
            except StoreUnavailable:
                # Callers get this error from their own requests.
                pause = _UNAVAILABLE_POLL_SECONDS
            except Exception as error:
                # Try again later; meanwhile decisions are made from the state in memory.
                _LOGGER.error("events of other processes cannot be learned: %s", error)
                pause = _ERROR_POLL_SECONDS
            pause = max(self._poll_seconds, pause)

    def _poll(self) -> None:
        heads = self._store.heads()
        # A bandit may be created, loaded here and deleted between two polls.
        gone = not self._bandits.keys() <= heads.keys()
        if gone or heads.keys() != self._known:
            self._found_others()
            self._known = set(heads)
        behind = {
            bandit: heads[bandit][0]
            for bandit, loaded in list(self._bandits.items())
            if bandit in heads
            and (heads[bandit][0] > loaded.version or heads[bandit][1] > loaded.number)
        }
        if not behind:
            self._recount()
            return

        def read(rows: Transaction) -> dict[int, list[Event]]:
            # A bandit may have left memory since.
            loaded = {id: version for id, version in behind.items() if id in self._bandits}
            return catch_up(rows, loaded, self._bandits)

        def learn(missed: dict[int, list[Event]]) -> None:
            for bandit, events in missed.items():
                self._bandits[bandit].advance(events)

        self._writer.submit(Change(read, learn)).result()
        self._to_recount |= behind.keys()
        self._recount()

    def _recount(self) -> None:
        """Read how often arms were shown by all processes. Slow, so only now and then."""
        started = time.monotonic()
        if started < self._recount_at or not self._to_recount:
            return
        for bandit in self._to_recount:
            loaded = self._bandits.get(bandit)
            if loaded is not None:
                self._recount_one(loaded)
        self._to_recount.clear()
        now = time.monotonic()
        self._recount_at = now + max(RECOUNT_SECONDS, _PAUSE_PER_POLL * (now - started))
