"""The service without its routes: the log, on an event loop, with tokens, limits and readings."""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from globalbandits.errors import GlobalBanditsError, StoreAway
from globalbandits.service.appending import Ask, Tell
from globalbandits.service.bandit import Bandit
from globalbandits.service.clock import Clock
from globalbandits.service.histories import Histories
from globalbandits.service.log import Log
from globalbandits.service.metrics import Metrics
from globalbandits.service.rates import Rates
from globalbandits.service.readings import Readings
from globalbandits.service.stores.base import Store
from globalbandits.service.sweeper import Sweeper
from globalbandits.service.tokens import Tokens
from globalbandits.service.writer import Answer, answer_all

_LOGGER = logging.getLogger("globalbandits.service")
_FAULT_SECONDS = 2.0
_SAVE_EVERY = 300.0  # seconds between snapshots of all that has changed
LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Options(NamedTuple):
    """What an operator may set about a whole service."""

    token: str | None = None  # opens everything of the main tenant
    hosts: frozenset[str] = LOCAL  # names it answers to where no token is needed
    most_bandits: int = 100  # of a tenant
    most_open: int = 100_000  # decisions of a bandit without a reward
    rate: float = 10_000.0  # requests of a token a second
    burst: float = 20_000.0
    most_streams: int = 100
    sweep_seconds: float = 1.0
    reading_seconds: float = 5.0
    compiled: bool | None = None


class Service:
    """What handlers work with. It belongs to one event loop, from `start` to `stop`.

    Args:
        store: where the log is.
        options: limits and the like.
        clock: what time it is.
    """

    def __init__(
        self, store: Store, options: Options | None = None, clock: Clock | None = None
    ) -> None:
        self.options = Options() if options is None else options
        self.metrics = Metrics()
        self.log = Log(
            store,
            clock=clock,
            compiled=self.options.compiled,
            notify=self._notify,
            observe=self.metrics.commit,
        )
        self.tokens = Tokens(store.tokens(), self.log.clock.now, self.options.token)
        self.rates = Rates(self.options.rate, self.options.burst)
        self.readings = Readings(self.options.reading_seconds)
        self.histories = Histories(store, self.readings, self.options.reading_seconds)
        self.sweeper = Sweeper(self.log)
        self.draining = False
        self.n_streams = 0
        # States of the past take long for some policies, and threads are few.
        self.rebuilding = asyncio.Semaphore(2)
        self._fault = (-math.inf, "")  # when a commit failed last, and what it said
        self._away = ""  # what the last sweep said, if it failed
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._loading: dict[tuple[str, str], asyncio.Task[Bandit]] = {}

    async def start(self) -> None:
        """Begin to sweep and to save."""
        self._loop = asyncio.get_running_loop()
        self._tasks = [asyncio.create_task(self._sweep()), asyncio.create_task(self._save())]

    async def stop(self) -> None:
        """Store what waits, keep snapshots, close the store."""
        self.draining = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.to_thread(self.readings.close)
        await asyncio.to_thread(self.log.close)

    def _notify(self, answers: Sequence[tuple[Answer, Any]]) -> None:
        """On the writer's thread: answers for the loop go there together."""
        faults = [answer for _, answer in answers if isinstance(answer, StoreAway)]
        if faults:
            self._fault = time.monotonic(), str(faults[0])
        for_loop = [pair for pair in answers if isinstance(pair[0], asyncio.Future)]
        answer_all([pair for pair in answers if not isinstance(pair[0], asyncio.Future)])
        if for_loop and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(answer_all, for_loop)

    @property
    def store_fault(self) -> str:
        """Why nothing can be stored, as far as is known; nothing if it can, or may be tried.

        A commit that failed is forgotten in a moment. But a sweep reads the store again and again,
        also where nobody asks for anything.
        """
        at, text = self._fault
        return self._away or (text if time.monotonic() - at < _FAULT_SECONDS else "")

    async def bandit(self, name: str, tenant: str) -> Bandit:
        """A bandit; loading one does not hold up the others."""
        if self.log.is_loaded(name, tenant):
            return self.log.bandit(name, tenant)
        # One thread loads it however many ask: there are few, and others need them.
        key = tenant, name
        loading = self._loading.get(key)
        if loading is None:
            work = asyncio.to_thread(self.log.bandit, name, tenant)
            loading = self._loading[key] = asyncio.create_task(work)
            loading.add_done_callback(lambda _: self._loading.pop(key))
        return await asyncio.shield(loading)

    async def store(self, work: Ask | Tell) -> Any:
        """Have something stored and learned."""
        assert self._loop is not None
        future: Any = self.log.writer.submit(work, self._loop.create_future)
        return await future

    async def store_all(self, works: Sequence[Ask | Tell]) -> list[Any]:
        """Have many things stored and learned, in one commit."""
        assert self._loop is not None
        if not works:
            return []
        futures: Any = self.log.writer.submit_all(works, self._loop.create_future)
        answers: list[Any] = await asyncio.gather(*futures)
        return answers

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(self.options.sweep_seconds)
            self._away = await self._try(self.sweeper.sweep)
            if self.log.store.shared:
                await self._try(self._read_tokens)
            self.metrics.sweeping.set(0 if self.sweeper.paused else 1)

    def _read_tokens(self) -> None:
        """Tokens that were made or taken back at another server of the store."""
        self.tokens.replace(self.log.store.tokens())

    async def _save(self) -> None:
        seconds = 0.0
        while True:
            await asyncio.sleep(self.options.sweep_seconds)
            seconds += self.options.sweep_seconds
            await self._try(self.log.save_due)
            if seconds >= _SAVE_EVERY:
                seconds = 0.0
                for bandit in self.log.loaded():
                    await self._try(partial(self._save_one, bandit))

    def _save_one(self, bandit: Bandit) -> None:
        """Wait until it is stored: a thousand at once would stand before every request."""
        saved = self.log.save(bandit)
        if saved is not None:
            saved.result()

    async def _try(self, work: Callable[[], object]) -> str:
        """Do what is done again and again; what went wrong. The same is not logged every time."""
        try:
            await asyncio.to_thread(work)
        except GlobalBanditsError as error:
            if str(error) != self._away:
                _LOGGER.warning("%s", error)
            return str(error)
        except Exception as error:  # a mistake of ours; but defaults must not end with it
            _LOGGER.exception("%r failed", work)
            return repr(error)
        return ""
