"""Workers: the threads, processes or cluster nodes that play simulations, and the loop over them.

`open_workers` starts the workers of an executor. `ShardLoop` cuts requests into shards of runs,
sends the shards to the workers and collects the records. `play_request` does this for one request.
"""

import contextlib
import math
import multiprocessing
import os
import pickle
import shutil
import sys
import tempfile
import threading
import warnings
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
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from globalbandits._extras import needs_extra
from globalbandits._random import States
from globalbandits._types import BoolArray
from globalbandits._validation import did_you_mean, show
from globalbandits.compiling.engine import Engine
from globalbandits.errors import SimulationError
from globalbandits.simulation.play.arena import Arena, compiled_arena
from globalbandits.simulation.play.job import Job, Records, empty_records, store_runs
from globalbandits.simulation.simulation_request import Request


class StoppedError(Exception):
    """Raised in a worker that has seen the stop file. Its runs are discarded."""


class StopFile:
    """A file in its own temporary folder. Workers in other processes stop when it exists.

    Workers on other machines do not see it and play their shards to the end. So do all workers if
    the folder cannot be created.
    """

    def __init__(self) -> None:
        self._folder: str | None = None
        with contextlib.suppress(OSError):
            self._folder = tempfile.mkdtemp(prefix="globalbandits-")

    @property
    def path(self) -> str | None:
        """The path to pass to `is_stopped`; None if there is no folder."""
        return None if self._folder is None else str(Path(self._folder, "stop"))

    def create(self, futures: Iterable[Future[Any]]) -> None:
        """Tell all workers to stop. The file is removed when the last future is done."""
        if self._folder is None:
            return
        pending = list(futures)
        if not pending:
            self.remove()
            return
        with contextlib.suppress(OSError):
            Path(self._folder, "stop").touch()
        lock, n_pending = threading.Lock(), len(pending)

        def count(future: Future[Any]) -> None:
            nonlocal n_pending
            with lock:
                n_pending -= 1
                is_last = n_pending == 0
            if is_last:
                self.remove()

        for future in pending:
            future.add_done_callback(count)

    def remove(self) -> None:
        """Remove the file and its folder."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def is_stopped(path: str | None) -> bool:
    """Whether the stop file exists."""
    return path is not None and os.path.exists(path)


# One worker plays one shard of runs. Each run draws from its own random streams, keyed by
# (seed, run), so its records have the same bits on every worker and in every order.


def available_cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def play_shard(job: Job, first_run: int, n_runs: int, stop_path: str | None = None) -> Records:
    """Play some runs, unless the file ``stop_path`` appears."""
    if is_stopped(stop_path):
        raise StoppedError
    arena = Arena(job, Engine(quiet=True), States(job.seed, first_run, n_runs))
    records = empty_records(job, n_runs)
    n_finished = arena.play(first_run, n_runs, records, 0, lambda _: not is_stopped(stop_path))
    if n_finished < n_runs:
        raise StoppedError
    return records


def play_pickled_shard(
    pickled_job: bytes, first_run: int, n_runs: int, stop_path: str | None
) -> Records:
    """Play some runs of a pickled job.

    The job is unpickled here, not by the executor, because an error there breaks a process pool.
    """
    try:
        job = pickle.loads(pickled_job)
    except Exception as error:
        raise SimulationError(
            "workers must be able to import what they play, but one failed: "
            f"{type(error).__name__}: {error}"
        ) from None
    return play_shard(job, first_run, n_runs, stop_path)


class RunQueue:
    """Hands out runs to threads, counts their steps and stops them.

    Args:
        n_runs: runs to hand out, by their places 0, 1, ...
        n_threads: number of threads that take them.
        on_steps: called with the number of steps after each block.
        lock: held while ``on_steps`` is called.
    """

    def __init__(
        self, n_runs: int, n_threads: int, on_steps: Callable[[int], None], lock: threading.Lock
    ) -> None:
        self._n_runs = n_runs
        self._n_threads = n_threads
        self._n_taken = 0
        self._on_steps = on_steps
        self._lock = lock
        self._stopped = threading.Event()

    def take(self, most: int) -> slice | None:
        """Places of the next runs to play; None if no runs are left or the queue is stopped.

        Near the end these are fewer than ``most``, so that all threads end together.
        """
        with self._lock:
            n_left = self._n_runs - self._n_taken
            if n_left <= 0 or self._stopped.is_set():
                return None
            first = self._n_taken
            self._n_taken += max(1, min(most, n_left // self._n_threads))
            return slice(first, self._n_taken)

    def count_steps(self, n_steps: int) -> bool:
        """Report steps; returns whether to go on."""
        with self._lock:
            self._on_steps(n_steps)
        return not self._stopped.is_set()

    def stop(self) -> None:
        """Let each thread end after its current block."""
        self._stopped.set()


# The kinds of workers: threads, local processes, joblib, a Dask cluster, or the user's executor.

Pickle = Callable[[Any], bytes]

NAMES = ("threads", "processes", "joblib", "dask", "dask://HOST:PORT")
MAX_STEPS_PER_SHARD = 50_000_000  # takes seconds, much longer than sending the shard
PENDING_SHARDS_PER_WORKER = 2  # one in play and one waiting
DASK_CONNECT_SECONDS = 5.0  # for a cluster to answer
JOBLIB_IDLE_SECONDS = 300


class RequestInPlay:
    """A request, the records of its runs, and which runs are finished so far.

    Attributes:
        task: the form of the request that `Workers.prepare` made for the workers.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.records = empty_records(request.job, request.runs)
        self.finished = np.zeros(request.runs, np.bool_)
        self.task: Any = None

    def store(self, places: slice, part: Records | None) -> None:
        """Store the records of a shard; None if its worker has stored them already."""
        if part is not None:
            store_runs(self.records, places, part)
            self.finished[places] = True


class Workers:
    """Interface of all workers, used by `ShardLoop`.

    Attributes:
        name: name of the executor in messages.
        n_workers: number of shards played at the same time.
        max_pending: maximum number of submitted shards that are not finished.
        losses: errors raised when a worker died. The shard is then submitted again.
    """

    name: str
    n_workers: int
    max_pending: int
    losses: tuple[type[BaseException], ...] = ()

    def cut(self, request: Request, n_shards: int) -> list[slice]:
        """Places of the runs of each shard: at least ``n_shards`` shards, all of limited length."""
        n_shards = max(n_shards, math.ceil(request.n_steps / MAX_STEPS_PER_SHARD))
        n_shards = min(n_shards, request.runs)
        edges = [request.runs * shard // n_shards for shard in range(n_shards + 1)]
        return [slice(low, high) for low, high in pairwise(edges)]

    def prepare(self, play: RequestInPlay, on_steps: Callable[[int], None]) -> None:
        """Prepare the shards of a request.

        Workers that store their records themselves call ``on_steps``.
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
        """Free the resources of the workers."""


class ThreadWorkers(Workers):
    """Threads of this process. They share the records and take runs from a queue.

    Args:
        n_workers: number of threads.
        arena: an existing arena of the first request.
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
        """Let the threads of this request end."""
        play.task[0].stop()

    def stop(self, futures: Iterable[Future[Any]]) -> None:
        """Let each thread end after its current block, and wait for all."""
        for queue in self._queues:
            queue.stop()
        wait(futures)

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()


class ExecutorWorkers(Workers):
    """The workers of an executor that the user has created.

    All shards are submitted at once, because the number of workers may be unknown. A broken
    executor is not replaced.
    """

    name = "executor"

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.n_workers = getattr(executor, "_max_workers", None) or available_cores()
        self.max_pending = sys.maxsize
        self._stop_file = StopFile()
        self._is_stopped = False

    def submit(self, play: RequestInPlay, places: slice) -> Future[Records | None]:
        """Send the job itself. The executor pickles it if necessary."""
        return self._submit(play_shard, play.request.job, play, places)

    def _submit(
        self, play_function: Callable[..., Records], job: Any, play: RequestInPlay, places: slice
    ) -> Future[Any]:
        first_run, n_runs = play.request.first_run + places.start, places.stop - places.start
        return self._executor.submit(play_function, job, first_run, n_runs, self._stop_file.path)

    def stop(self, futures: Iterable[Future[Any]]) -> None:
        """Cancel the waiting shards and stop the others."""
        futures = list(futures)
        for future in futures:
            future.cancel()
        self._is_stopped = True
        self._stop_file.create(futures)

    def close(self) -> None:
        """Remove the stop file, unless workers may still have to see it."""
        if not self._is_stopped:
            self._stop_file.remove()


class NamedWorkers(ExecutorWorkers):
    """Workers of an executor that this class creates, and replaces when it breaks.

    Args:
        make: creates the executor.
        n_workers: number of workers.
        name: name of the executor in messages.
        dumps: pickles jobs; workers use `pickle.loads`.
        losses: errors raised when a worker died.
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
        except Exception as error:  # pickling a user's object may raise any exception
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
        """Shut down the executor without waiting for pending shards."""
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
    """Context manager: start workers, and close them at the end.

    Args:
        executor: one of `NAMES`, or the user's executor.
        n_workers: number of workers; by default the number of cores, or the size of the cluster.
        arena: for threads, an existing arena of the first request.
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
    # Processes are spawned. Forking a process that has threads and compiled code is not safe.
    context = multiprocessing.get_context("spawn")
    make = partial(ProcessPoolExecutor, n_workers, mp_context=context)
    return NamedWorkers(make, n_workers, executor)


def _joblib_workers(n_workers: int) -> Workers:
    with needs_extra("cluster"):
        from cloudpickle import dumps
        from joblib.externals.loky import get_reusable_executor
    make = partial(get_reusable_executor, max_workers=n_workers, timeout=JOBLIB_IDLE_SECONDS)
    return NamedWorkers(make, n_workers, "joblib", dumps)


@contextmanager
def _dask_workers(name: str, n_workers: int | None) -> Iterator[Workers]:
    with needs_extra("cluster"):
        from cloudpickle import dumps
        from distributed import Client, LocalCluster
        from distributed.scheduler import KilledWorker
    cluster = None
    if name == "dask":
        cluster = LocalCluster(
            n_workers=n_workers or available_cores(),
            threads_per_worker=1,
            dashboard_address=None,
        )
    address = name.replace("dask://", "tcp://") if cluster is None else cluster
    try:
        client = Client(address, set_as_default=False, timeout=DASK_CONNECT_SECONDS)
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


# The loop that plays requests on workers of any kind. It cuts each request into shards of runs,
# keeps the workers busy and stores the returned records. It resubmits a shard whose worker died.
# On an interrupt it keeps the finished runs.

POLL_SECONDS = 0.1  # interrupts are noticed at once, also between polls
SHARDS_PER_WORKER = 8  # small shards, so that all workers end at about the same time
MAX_DEATHS_PER_SHARD = 5

OnSteps = Callable[[int], None]  # called with the number of steps played since the last call


class Shard(NamedTuple):
    """Some runs of one request."""

    key: int
    request: Request
    places: slice


class ShardLoop:
    """Plays requests on workers.

    Args:
        workers: the workers.
        on_finished: called with the key of a request and its records when all its runs are played.
        on_failed: called once for each request that fails. The other requests continue.
        on_steps: called with the number of steps played since the last call.
    """

    def __init__(
        self,
        workers: Workers,
        *,
        on_finished: Callable[[int, RequestInPlay], None],
        on_failed: Callable[[int, Exception], None],
        on_steps: OnSteps,
    ) -> None:
        self._workers = workers
        self._on_finished = on_finished
        self._on_failed = on_failed
        self._on_steps = on_steps
        self._pending: dict[Future[Records | None], Shard] = {}
        self._deaths: dict[tuple[int, int], int] = {}
        self._closed: set[int] = set()  # keys of requests that are finished or have failed
        self.in_play: dict[int, RequestInPlay] = {}

    def play(self, requests: Iterator[tuple[int, Request]], n_requests: int) -> None:
        """Play all requests.

        After an interrupt, ``in_play`` holds the requests that are not complete.

        Args:
            requests: pairs of a key and a request. The next pair is taken when workers are about
                to be free.
            n_requests: number of requests. The fewer there are, the more shards each is cut into.
        """
        n_shards = math.ceil(SHARDS_PER_WORKER * self._workers.n_workers / max(n_requests, 1))
        shards = (
            Shard(key, request, places)
            for key, request in requests
            for places in self._workers.cut(request, n_shards)
        )
        try:
            while True:
                self._fill(shards)
                if not self._pending:
                    return
                done, _ = wait(self._pending, POLL_SECONDS, return_when="FIRST_COMPLETED")
                for future in done:
                    self._take(future)
        except BaseException:
            self._workers.stop(self._pending)
            self._keep_what_is_done()
            raise

    def _fill(self, shards: Iterator[Shard]) -> None:
        """Submit shards until ``max_pending`` are pending."""
        while len(self._pending) < self._workers.max_pending:
            shard = next(shards, None)
            if shard is None:
                return
            if shard.key not in self.in_play and shard.key not in self._closed:
                self._begin(shard)
            if shard.key not in self._closed:
                self._send(shard)

    def _begin(self, shard: Shard) -> None:
        request_in_play = RequestInPlay(shard.request)
        try:
            self._workers.prepare(request_in_play, self._on_steps)
        except Exception as error:
            self._fail(shard.key, error)
        else:
            self.in_play[shard.key] = request_in_play

    def _send(self, shard: Shard) -> None:
        future = self._workers.submit(self.in_play[shard.key], shard.places)
        self._pending[future] = shard

    def _take(self, future: Future[Records | None]) -> None:
        """Store the records of a finished shard, or resubmit it if its worker died."""
        shard = self._pending[future]
        try:
            part = future.result()
        except self._workers.losses as error:
            self._send_again(shard, error)
        except BrokenExecutor:  # the user's executor cannot be replaced
            raise
        except Exception as error:
            self._fail(shard.key, error)
        else:
            self._store(shard, part)
        # Last, so that `_keep_what_is_done` stores the shard if an interrupt came before.
        del self._pending[future]

    def _send_again(self, shard: Shard, error: BaseException) -> None:
        place = shard.key, shard.places.start
        self._deaths[place] = self._deaths.get(place, 0) + 1
        if self._deaths[place] == MAX_DEATHS_PER_SHARD:
            self._fail(
                shard.key,
                SimulationError(
                    f"executor must keep its workers, but {MAX_DEATHS_PER_SHARD} died "
                    f"with the same runs: {error}"
                ),
            )
        elif shard.key not in self._closed:
            self._send(shard)

    def _store(self, shard: Shard, part: Records | None) -> None:
        request_in_play = self.in_play.get(shard.key)
        if request_in_play is not None:
            request_in_play.store(shard.places, part)
        if part is not None:
            n_runs = shard.places.stop - shard.places.start
            job = shard.request.job
            self._on_steps(n_runs * job.horizon * len(job.policies))
        if request_in_play is not None and request_in_play.finished.all():
            try:
                self._on_finished(shard.key, request_in_play)
            except Exception as error:
                self._fail(shard.key, error)
            else:
                self._closed.add(shard.key)
                del self.in_play[shard.key]

    def _fail(self, key: int, error: Exception) -> None:
        if key in self._closed:
            return
        self._closed.add(key)
        request_in_play = self.in_play.pop(key, None)
        if request_in_play is not None:
            self._workers.abandon(request_in_play)
        self._on_failed(key, error)

    def _keep_what_is_done(self) -> None:
        """Store the shards that have finished since the last poll."""
        for future, shard in self._pending.items():
            played = future.done() and not future.cancelled() and future.exception() is None
            if played and shard.key in self.in_play:
                self.in_play[shard.key].store(shard.places, future.result())


def play_request(
    workers: Workers, request: Request, on_steps: OnSteps
) -> tuple[Records, BoolArray]:
    """Play one request and return its records and a mask of its finished runs.

    A keyboard interrupt or a broken executor of the user ends the other runs. The finished runs are
    kept.
    """
    finished: list[RequestInPlay] = []

    def fail(_key: int, error: Exception) -> None:
        raise error

    loop = ShardLoop(
        workers,
        on_finished=lambda _key, request_in_play: finished.append(request_in_play),
        on_failed=fail,
        on_steps=on_steps,
    )
    try:
        loop.play(iter([(0, request)]), 1)
    except (KeyboardInterrupt, BrokenExecutor) as error:
        finished += loop.in_play.values()
        if isinstance(error, BrokenExecutor):
            _report_dead_worker(error, any(played.finished.any() for played in finished))
        elif not finished:
            raise
    return finished[0].records, finished[0].finished


def _report_dead_worker(error: BrokenExecutor, is_any_finished: bool) -> None:
    """Warn that a worker died and its runs are lost; raise an error if no run is finished."""
    if not is_any_finished:
        text = "executor must keep its workers until a run is finished, but one died"
        raise SimulationError(f"{text}: {error}") from error
    text = f"a worker of the executor died, and the runs not finished are lost: {error}"
    warnings.warn(text, RuntimeWarning, stacklevel=4)
