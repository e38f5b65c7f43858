"""`Service`: the log on an event loop, with tokens, limits and evidence. Routes are in `http`."""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from globalbandits.errors import GlobalBanditsError, StoreUnavailable
from globalbandits.service.evidence_history import EvidenceHistory
from globalbandits.service.evidence_reader import EvidenceReader
from globalbandits.service.log import Log
from globalbandits.service.log.append import NewDecision, NewEvent
from globalbandits.service.log.bandit import Bandit
from globalbandits.service.log.clock import Clock
from globalbandits.service.log.sweeper import Sweeper
from globalbandits.service.log.writer import AnswerFuture, Change, answer_all
from globalbandits.service.metrics import Metrics
from globalbandits.service.rate_limiter import RateLimiter
from globalbandits.service.stores.base import Store
from globalbandits.service.tokens import Tokens

_LOGGER = logging.getLogger("globalbandits.service")
_FAULT_SECONDS = 2.0  # time for which the store is unavailable after a failed commit
_SAVE_SECONDS = 300.0  # between snapshots of all bandits that have changed
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})


class ServiceOptions(NamedTuple):
    """The options of a service.

    Attributes:
        token: a token with the role admin in the main tenant.
        hosts: the host names that need no token.
        most_bandits: maximum number of bandits of a tenant.
        most_open: maximum number of open decisions of a bandit.
        rate: requests per second of a token.
        burst: maximum number of requests of a token at once, after a pause.
        most_streams: maximum number of open event streams.
        sweep_seconds: the time between two sweeps for default rewards.
        reading_seconds: the time between two readings of a bandit's evidence.
        compiled: as in `Learner`.
    """

    token: str | None = None
    hosts: frozenset[str] = LOCAL_HOSTS
    most_bandits: int = 100
    most_open: int = 100_000
    rate: float = 10_000.0
    burst: float = 20_000.0
    most_streams: int = 100
    sweep_seconds: float = 1.0
    reading_seconds: float = 5.0
    compiled: bool | None = None


class Service:
    """The object that request handlers use. It belongs to one event loop from `start` to `stop`.

    Args:
        store: the store of the log.
        options: limits and other options.
        clock: the clock.
    """

    def __init__(
        self, store: Store, options: ServiceOptions | None = None, clock: Clock | None = None
    ) -> None:
        self.options = ServiceOptions() if options is None else options
        self.metrics = Metrics()
        self.log = Log(
            store,
            clock=clock,
            compiled=self.options.compiled,
            notify=self._notify,
            observe=self.metrics.commit,
        )
        self.tokens = Tokens(store.tokens(), self.log.clock.now, self.options.token)
        self.rates = RateLimiter(self.options.rate, self.options.burst)
        self.readings = EvidenceReader(self.options.reading_seconds)
        self.histories = EvidenceHistory(store, self.readings, self.options.reading_seconds)
        self.sweeper = Sweeper(self.log)
        self.draining = False
        self.n_streams = 0
        # Recomputing a past state takes long for some policies, so few threads may do it at once.
        self.rebuilding = asyncio.Semaphore(2)
        self._commit_fault = (-math.inf, "")  # the time and the text of the last failed commit
        self._sweep_fault = ""  # the error text of the last sweep, if it failed
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._loading: dict[tuple[str, str], asyncio.Task[Bandit]] = {}

    async def start(self) -> None:
        """Start the periodic tasks."""
        self._loop = asyncio.get_running_loop()
        self._tasks = [asyncio.create_task(self._sweep()), asyncio.create_task(self._save())]

    async def stop(self) -> None:
        """Store the queued work, save all bandits, and close the store."""
        self.draining = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.to_thread(self.readings.close)
        await asyncio.to_thread(self.log.close)

    def _notify(self, answers: Sequence[tuple[AnswerFuture, Any]]) -> None:
        """Set answers. Runs on the writer's thread; futures of the loop are set on the loop."""
        faults = [answer for _, answer in answers if isinstance(answer, StoreUnavailable)]
        if faults:
            self._commit_fault = time.monotonic(), str(faults[0])
        for_loop = [pair for pair in answers if isinstance(pair[0], asyncio.Future)]
        answer_all([pair for pair in answers if not isinstance(pair[0], asyncio.Future)])
        if for_loop and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(answer_all, for_loop)

    @property
    def store_fault(self) -> str:
        """The reason why the store is unavailable; an empty string if it is available.

        After a failed commit the store counts as unavailable for two seconds. Without requests, the
        periodic sweeps show whether it is available.
        """
        at, text = self._commit_fault
        return self._sweep_fault or (text if time.monotonic() - at < _FAULT_SECONDS else "")

    async def bandit(self, name: str, tenant: str) -> Bandit:
        """The bandit of this name. Loading it does not block requests for others."""
        if self.log.is_loaded(name, tenant):
            return self.log.bandit(name, tenant)
        # There are few threads, so all requests for a bandit share the one that loads it.
        key = tenant, name
        loading = self._loading.get(key)
        if loading is None:
            work = asyncio.to_thread(self.log.bandit, name, tenant)
            loading = self._loading[key] = asyncio.create_task(work)
            loading.add_done_callback(lambda _: self._loading.pop(key))
        return await asyncio.shield(loading)

    async def store(self, work: NewDecision | NewEvent | Change) -> Any:
        """Store a decision or an event, and return its result."""
        assert self._loop is not None
        future: Any = self.log.writer.submit(work, self._loop.create_future)
        return await future

    async def store_all(self, works: Sequence[NewDecision | NewEvent | Change]) -> list[Any]:
        """Store decisions and events in one commit, changes in their own; return the results."""
        assert self._loop is not None
        if not works:
            return []
        futures: Any = self.log.writer.submit_all(works, self._loop.create_future)
        answers: list[Any] = await asyncio.gather(*futures)
        return answers

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(self.options.sweep_seconds)
            self._sweep_fault = await self._try(self.sweeper.sweep)
            if self.log.store.shared:
                await self._try(self._read_tokens)
            self.metrics.sweeping.set(0 if self.sweeper.paused else 1)

    def _read_tokens(self) -> None:
        """Read tokens that another server of the store has created or revoked."""
        self.tokens.replace(self.log.store.tokens())

    async def _save(self) -> None:
        seconds = 0.0
        while True:
            await asyncio.sleep(self.options.sweep_seconds)
            seconds += self.options.sweep_seconds
            await self._try(self.log.save_due)
            if seconds >= _SAVE_SECONDS:
                seconds = 0.0
                for bandit in self.log.loaded():
                    await self._try(partial(self._save_one, bandit))

    def _save_one(self, bandit: Bandit) -> None:
        """Save a bandit and wait. A thousand snapshots at once would delay all requests."""
        saved = self.log.save(bandit)
        if saved is not None:
            saved.result()

    async def _try(self, work: Callable[[], object]) -> str:
        """Run one periodic task and return its error text, or an empty string.

        An unchanged error is logged once.
        """
        try:
            await asyncio.to_thread(work)
        except GlobalBanditsError as error:
            if str(error) != self._sweep_fault:
                _LOGGER.warning("%s", error)
            return str(error)
        except Exception as error:
            # A bug must not end the task.
            _LOGGER.exception("%r failed", work)
            return repr(error)
        return ""
