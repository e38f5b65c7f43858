"""`Service`: the log on an event loop, with tokens, limits and evidence. Routes are in `http`."""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from globalbandits.errors import GlobalBanditsError, StoreError, StoreUnavailable
from globalbandits.service.bandit_watch import Watch
from globalbandits.service.evidence_history import EvidenceHistory
from globalbandits.service.log import MAX_LOADED, OPEN_SECONDS, Log
from globalbandits.service.log.append import NewDecision, NewEvent
from globalbandits.service.log.archive.retention import prune_online
from globalbandits.service.log.bandit import Bandit
from globalbandits.service.log.clock import Clock
from globalbandits.service.log.sweeper import Sweeper
from globalbandits.service.log.writer import AnswerFuture, Change, answer_all
from globalbandits.service.metrics import Metrics
from globalbandits.service.rate_limiter import RateLimiter
from globalbandits.service.stores.store import Store
from globalbandits.service.tokens import Tokens

_LOGGER = logging.getLogger("globalbandits.service")
_FAULT_SECONDS = 2.0  # time for which the store is unavailable after a failed commit
_SAVE_SECONDS = 300.0  # between snapshots of all bandits that have changed
_PRUNE_SECONDS = 3600.0  # between two rounds of pruning
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})


class ServiceOptions(NamedTuple):
    """The options of a service.

    Attributes:
        token: a token with the role admin in the main tenant.
        hosts: the host names that need no token.
        most_bandits: maximum number of bandits of a tenant; None for no limit.
        max_loaded: maximum number of bandits in memory.
        most_open: maximum number of open decisions of a bandit.
        deadline_seconds: the deadline of new bandits whose body does not name one; None for none.
        rate: requests per second of a token.
        burst: maximum number of requests of a token at once, after a pause.
        most_streams: maximum number of open event streams.
        recount_seconds: the time between two counts of a bandit that has too many open decisions.
        sweep_seconds: the time between two sweeps for default rewards.
        reading_seconds: the time between two readings of a bandit's evidence.
        watch_seconds: the time between two rounds of the watch; None for no watch.
        keep_seconds: the age at which decisions are pruned; None to keep all of them.
        webhook: an address that gets a POST when a model is refuted.
        bandit_metrics: whether `/metrics` has numbers of every bandit in memory.
        compiled: as in `Learner`.
    """

    token: str | None = None
    hosts: frozenset[str] = LOCAL_HOSTS
    most_bandits: int | None = None
    max_loaded: int = MAX_LOADED
    most_open: int = 100_000
    deadline_seconds: float | None = OPEN_SECONDS
    rate: float = 10_000.0
    burst: float = 20_000.0
    most_streams: int = 100
    recount_seconds: float = 10.0
    sweep_seconds: float = 1.0
    reading_seconds: float = 5.0
    watch_seconds: float | None = 60.0
    keep_seconds: float | None = None
    webhook: str | None = None
    bandit_metrics: bool = False
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
            max_loaded=self.options.max_loaded,
            notify=self._notify,
            observe=self.metrics.commit,
        )
        self.tokens = Tokens(store.tokens(), self.log.clock.now, self.options.token)
        self.rates = RateLimiter(self.options.rate, self.options.burst)
        self.watch = Watch(self.log, self.options.reading_seconds, self.options.webhook)
        self.readings = self.watch.readings
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
        if self.options.keep_seconds is not None:
            self._tasks.append(asyncio.create_task(self._prune(self.options.keep_seconds)))
        if self.options.watch_seconds is not None:
            self._tasks.append(asyncio.create_task(self._watch(self.options.watch_seconds)))

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
        """Store decisions and events in one commit, changes in their own; return the results.

        The result of work that was refused, such as that of a bandit that was deleted meanwhile, is
        its error.
        """
        assert self._loop is not None
        if not works:
            return []
        futures: Any = self.log.writer.submit_all(works, self._loop.create_future)
        answers: list[Any] = await asyncio.gather(*futures, return_exceptions=True)
        for answer in answers:
            refused = isinstance(answer, GlobalBanditsError) and not isinstance(answer, StoreError)
            if isinstance(answer, BaseException) and not refused:
                raise answer
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
                await self._try(self._save_all)

    async def _watch(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            for bandit in self.log.loaded():
                pause = 0.0

                def visit(bandit: Bandit = bandit) -> None:
                    nonlocal pause
                    pause = self.watch.visit(bandit)

                await self._try(visit)
                await asyncio.sleep(pause)

    async def _prune(self, keep_seconds: float) -> None:
        while True:
            before = self.log.clock.now() - round(keep_seconds * 1e6)
            if not self.sweeper.paused:  # a clock that was set must not delete anything
                await self._try(partial(prune_online, self.log, before))
            await asyncio.sleep(_PRUNE_SECONDS)

    def _save_all(self) -> None:
        """Save bandits and wait between commits, so that requests are not delayed."""
        for saved in self.log.save_all():
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
