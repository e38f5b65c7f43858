"""Workers: threads, processes of this machine, joblib's, a Dask cluster's, or a given executor.

`open_workers` gives the workers of a name. `Workers` is what the loop in `shards` asks of them.
"""

import math
import multiprocessing
import pickle
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from globalbandits._random import States
from globalbandits._validation import did_you_mean, show
from globalbandits.errors import SimulationError
from globalbandits.simulation.arena import Arena, compiled_arena
from globalbandits.simulation.control import RunQueue
from globalbandits.simulation.records import Records, empty_records, store_runs
from globalbandits.simulation.requests import Request
from globalbandits.simulation.spreading import available_cores, play_pickled_shard, play_shard
from globalbandits.simulation.stopping import StopFile

Pickle = Callable[[Any], bytes]

NAMES = ("threads", "processes", "joblib", "dask", "dask://HOST:PORT")
MAX_STEPS_PER_SHARD = 50_000_000  # seconds of work, next to which sending a shard costs nothing
PENDING_SHARDS_PER_WORKER = 2  # one is played, one waits
JOBLIB_IDLE_SECONDS = 300


class RequestInPlay:
    """A request, the records of its runs, and which runs are finished so far.

    Attributes:
        task: what `Workers.prepare` made of the request.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.records = empty_records(request.job, request.runs)
        self.finished = np.zeros(request.runs, np.bool_)
        self.task: Any = None

    def store(self, places: slice, part: Records | None) -> None:
        """Store the records of a shard; None if its worker has done so itself."""
        if part is not None:
            store_runs(self.records, places, part)
            self.finished[places] = True


class Workers:
    """What the loop asks of its workers.

    Attributes:
        name: what messages call them.
        n_workers: how many work at once.
        max_pending: shards to submit before one is finished.
        losses: errors which say that a worker died, so that its shard is to be submitted again.
    """

    name: str
    n_workers: int
    max_pending: int
    losses: tuple[type[BaseException], ...] = ()

    def cut(self, request: Request, n_shards: int) -> list[slice]:
        """Places of the runs of each shard: at least ``n_shards`` of them, none of them long."""
        n_shards = max(n_shards, math.ceil(request.n_steps / MAX_STEPS_PER_SHARD))
        n_shards = min(n_shards, request.runs)
        edges = [request.runs * shard // n_shards for shard in range(n_shards + 1)]
        return [slice(low, high) for low, high in pairwise(edges)]

    def prepare(self, play: RequestInPlay, on_steps: Callable[[int], None]) -> None:
        """Get ready for the shards of a request.

        ``on_steps`` is for workers that store their records themselves.
        """

    def submit(self, play: RequestInPlay, places: slice) -> Future[Records | None]:
        """Play a shard. The result is None if the worker stores the records itself."""
        raise NotImplementedError

    def abandon(self, play: RequestInPlay) -> None:
        """Play no more runs of a request that has failed."""

    def stop(self, futures: Iterable[Future[Any]]) -> None:
        """Stop playing."""
        raise NotImplementedError

    def close(self) -> None:
        """Free what the workers hold."""


class ThreadWorkers(Workers):
    """Threads of this process. They share the records and take runs from a queue.

    Args:
        n_workers: number of threads.
        arena: the arena of the first request, if there is one already.
    """

    name = "threads"

    def __init__(self, n_workers: int, arena: Arena | None = None) -> None:
        self.n_workers = self.max_pending = n_workers
        self._first_arena = arena
        self._pool = ThreadPoolExecutor(n_workers, thread_name_prefix="simulate")
        self._queues: list[RunQueue] = []
        self._lock = threading.Lock()

    def cut(self, request: Request, n_shards: int) -> list[slice]:
        """One shard per thread, each of which may play any of the runs."""
        return [slice(0, request.runs)] * min(self.n_workers, request.runs)

    def prepare(self, play: RequestInPlay, on_steps: Callable[[int], None]) -> None:
        """Make the arena of the first thread and the queue of runs."""
        request, arena = play.request, self._first_arena
        self._first_arena = None
        if arena is None:
            states = States(request.job.seed, request.first_run, request.runs)
            arena = compiled_arena(request.job, states)
        n_threads = min(self.n_workers, request.runs)
        queue = RunQueue(request.runs, n_threads, on_steps, self._lock)
        self._queues.append(queue)
        # The first thread plays in this arena. Each other thread makes a copy, so that its memory
        # is near its core.
        play.task = queue, [*[arena.copy] * (n_threads - 1), lambda: arena]

    def submit(self, play: RequestInPlay, places: slice) -> Future[Records | None]:
        """Start one thread. It stores its records itself."""
        queue, arena_makers = play.task
        return self._pool.submit(self._play_queue, play, queue, arena_makers.pop())

    @staticmethod
    def _play_queue(play: RequestInPlay, queue: RunQueue, make_arena: Callable[[], Arena]) -> None:
        arena, first_run = make_arena(), play.request.first_run
        while (places := queue.take(arena.n_next())) is not None:
            first, n_taken = places.start, places.stop - places.start
            n_finished = arena.play(
                first_run + first, n_taken, play.records, first, queue.count_steps
            )
            play.finished[first : first + n_finished] = True

    def abandon(self, play: RequestInPlay) -> None:
        """Let the threads that play this request end."""
        play.task[0].stop()

    def stop(self, futures: Iterable[Future[Any]]) -> None:
        """Let all threads end after the block they are at, and wait for them."""
        for queue in self._queues:
            queue.stop()
        wait(futures)

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()


class ExecutorWorkers(Workers):
    """The workers of an executor that the user has made.

    All shards are submitted at once, as the number of workers may not be known. An executor that
    breaks is not replaced.
    """

    name = "executor"

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.n_workers = getattr(executor, "_max_workers", None) or available_cores()
        self.max_pending = sys.maxsize
        self._stop_file = StopFile()
        self._is_stopped = False

    def submit(self, play: RequestInPlay, places: slice) -> Future[Records | None]:
        """Send the job as it is; the executor pickles it if it needs to."""
        return self._submit(play_shard, play.request.job, play, places)

    def _submit(
        self, play_function: Callable[..., Records], job: Any, play: RequestInPlay, places: slice
    ) -> Future[Any]:
        first_run, n_runs = play.request.first_run + places.start, places.stop - places.start
        return self._executor.submit(play_function, job, first_run, n_runs, self._stop_file.path)

    def stop(self, futures: Iterable[Future[Any]]) -> None:
        """Cancel the shards that wait, and tell the workers to stop."""
        futures = list(futures)
        for future in futures:
            future.cancel()
        self._is_stopped = True
        self._stop_file.create(futures)

    def close(self) -> None:
        """Remove the stop file, unless workers still have to see it."""
        if not self._is_stopped:
            self._stop_file.remove()


class NamedWorkers(ExecutorWorkers):
    """Workers of an executor that is made here, and made again when it breaks.

    Args:
        make: makes the executor.
        n_workers: how many of them work at once.
        name: what messages call it.
        dumps: pickles what is sent to workers, for `pickle.loads`.
        losses: errors which say that a worker died.
    """

    def __init__(
        self,
        make: Callable[[], Executor],
        n_workers: int,
        name: str,
        dumps: Pickle = pickle.dumps,
        losses: tuple[type[BaseException], ...] = (BrokenExecutor,),
    ) -> None:
        super().__init__(make())
        self._make = make
        self._dumps = dumps
        self.n_workers = n_workers
        self.max_pending = PENDING_SHARDS_PER_WORKER * n_workers
        self.name = name
        self.losses = losses

    def prepare(self, play: RequestInPlay, on_steps: Callable[[int], None]) -> None:
        """Pickle the job once for all its shards."""
        try:
            play.task = self._dumps(play.request.job)
        except Exception as error:  # pickling an object of the user's may raise anything
            raise SimulationError(
                f"executor {self.name!r} must be sent what it plays, but that failed: "
                f"{type(error).__name__}: {error}"
            ) from error

    def submit(self, play: RequestInPlay, places: slice) -> Future[Records | None]:
        """Send the pickled job, to a new executor if this one is broken."""
        try:
            return self._submit(play_pickled_shard, play.task, play, places)
        except BrokenExecutor:
            self._executor.shutdown(wait=False)
            self._executor = self._make()
            return self._submit(play_pickled_shard, play.task, play, places)

    def close(self) -> None:
        """Let go of the executor without waiting for what it still does."""
        super().close()
        self._executor.shutdown(wait=False)


def check_executor(name: object) -> str:
    """Return the name of an executor; raise `SimulationError` if it is unknown.

    >>> check_executor("dask://10.0.0.7:8786")
    'dask://10.0.0.7:8786'
    """
    if isinstance(name, str):
        place = name.removeprefix("dask://")
        host, _, port = place.rpartition(":")
        if name in NAMES[:4] or (place != name and host and port.isdigit()):
            return name
    rule = f"be one of {', '.join(NAMES)}"
    hint = did_you_mean(name, NAMES[:4])
    raise SimulationError(f"executor must {rule}, got {show(name)}{hint}")


@contextmanager
def open_workers(
    executor: Executor | str, n_workers: int | None = None, arena: Arena | None = None
) -> Iterator[Workers]:
    """Workers for the time of the block.

    Args:
        executor: one of `NAMES`, or an executor of the user's.
        n_workers: how many; as many as there are cores, or as the cluster has, by default.
        arena: for threads, the arena of their first request if there is one already.
    """
    if isinstance(executor, str) and check_executor(executor).startswith("dask"):
        with _dask_workers(executor, n_workers) as workers:
            yield workers
        return
    workers = _make_workers(executor, n_workers or available_cores(), arena)
    try:
        yield workers
    finally:
        workers.close()


def _make_workers(executor: Executor | str, n_workers: int, arena: Arena | None) -> Workers:
    if not isinstance(executor, str):
        return ExecutorWorkers(executor)
    if executor == "threads":
        return ThreadWorkers(n_workers, arena)
    if executor == "joblib":
        return _joblib_workers(n_workers)
    # Spawned, not forked: forking a process that has threads and compiled code is not safe.
    context = multiprocessing.get_context("spawn")
    make = partial(ProcessPoolExecutor, n_workers, mp_context=context)
    return NamedWorkers(make, n_workers, executor)


def _joblib_workers(n_workers: int) -> Workers:
    try:
        from cloudpickle import dumps
        from joblib.externals.loky import get_reusable_executor
    except ImportError as error:
        raise _missing("joblib", "joblib") from error
    make = partial(get_reusable_executor, max_workers=n_workers, timeout=JOBLIB_IDLE_SECONDS)
    return NamedWorkers(make, n_workers, "joblib", dumps)


@contextmanager
def _dask_workers(name: str, n_workers: int | None) -> Iterator[Workers]:
    try:
        from cloudpickle import dumps
        from distributed import Client, LocalCluster
        from distributed.scheduler import KilledWorker
    except ImportError as error:
        raise _missing(name, "distributed") from error
    cluster = None
    if name == "dask":
        cluster = LocalCluster(
            n_workers=n_workers or available_cores(),
            threads_per_worker=1,
            dashboard_address=None,
        )
    address = name.replace("dask://", "tcp://") if cluster is None else cluster
    try:
        client = Client(address, set_as_default=False, timeout="5s")
    except OSError as error:
        raise SimulationError(
            f"executor must be a running Dask cluster, got {name!r}: {error}"
        ) from error
    try:
        number = sum(client.nthreads().values()) or 1
        losses = (KilledWorker, CancelledError, BrokenExecutor)
        make = partial(client.get_executor, pure=False, retries=5)
        workers = NamedWorkers(make, number, name, dumps, losses)
        try:
            yield workers
        finally:
            workers.close()
    finally:
        client.close()
        if cluster is not None:
            cluster.close()


def _missing(name: str, package: str) -> SimulationError:
    text = f"executor {name!r} needs {package}: pip install 'globalbandits[cluster]'"
    return SimulationError(text)
