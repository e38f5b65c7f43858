"""Replicas: what other processes append to a shared store reaches this one's memory.

Whoever tells about a bandit reads what he has missed anyway. The rest is found by looking.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping

from globalbandits.errors import StoreAway
from globalbandits.service.appending import catch_up
from globalbandits.service.bandit import Bandit
from globalbandits.service.stores.base import Store, Transaction
from globalbandits.service.stores.records import Event
from globalbandits.service.writer import Change, Writer

SECONDS = 0.2  # between looks
RECOUNT = 10.0  # between counts of all decisions, those of others included
_SHARE = 20.0  # a look takes one part in so many of the time, where there are very many bandits
_LOGGER = logging.getLogger("globalbandits.service")


class Follower:
    """A thread that looks whether others have gone on, and has memory learn it.

    Args:
        store: a shared one.
        bandits: the bandits in memory, by id.
        writer: the only one who may change memory.
        found_new: is called when there are bandits that were not there before.
        seconds: between looks.
    """

    def __init__(
        self,
        store: Store,
        bandits: Mapping[int, Bandit],
        writer: Writer,
        found_new: Callable[[], object],
        seconds: float = SECONDS,
    ) -> None:
        self._store = store
        self._bandits = bandits
        self._writer = writer
        self._found_new = found_new
        self._seconds = seconds
        self._known: set[int] = set()
        self._moved: set[int] = set()  # bandits that others have gone on with since the last count
        self._count_at = 0.0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        pause = self._seconds
        while not self._stopped.wait(pause):
            begun = time.perf_counter()
            try:
                self._look()
                pause = max(self._seconds, _SHARE * (time.perf_counter() - begun))
            except StoreAway:  # whoever asks for something is told
                pause = max(self._seconds, 1.0)
            except Exception as error:  # it is tried again; decisions are made from what is known
                _LOGGER.error("what others have stored cannot be learned: %s", error)
                pause = max(self._seconds, 10.0)

    def _look(self) -> None:
        heads = self._store.heads()
        if not heads.keys() <= self._known:
            self._found_new()
            self._known = set(heads)
        behind = {
            bandit: heads[bandit][0]
            for bandit, known in list(self._bandits.items())
            if bandit in heads
            and (heads[bandit][0] > known.version or heads[bandit][1] > known.number)
        }
        if not behind:
            self._count()
            return

        def read(rows: Transaction) -> dict[int, list[Event]]:
            return catch_up(rows, behind, self._bandits)

        def learn(missed: dict[int, list[Event]]) -> None:
            for bandit, events in missed.items():
                self._bandits[bandit].advance(events)

        self._writer.submit(Change(read, learn)).result()
        self._moved |= behind.keys()
        self._count()

    def _count(self) -> None:
        """Have memory know how often arms were shown, by whomever; now and then, it takes long."""
        begun = time.monotonic()
        if begun < self._count_at or not self._moved:
            return
        for bandit in self._moved:
            self._bandits[bandit].set_shown(self._store.shown(bandit), self._store.n_open(bandit))
        self._moved.clear()
        now = time.monotonic()
        self._count_at = now + max(RECOUNT, _SHARE * (now - begun))
