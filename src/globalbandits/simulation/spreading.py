"""Runs spread over threads, or over an executor of the user's: the results are the same bits.

Every run draws from streams of its own, keyed by (seed, run), so it does not matter where
and in which order runs are played.
"""

import os
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from itertools import pairwise

import numpy as np

from globalbandits._random import States
from globalbandits._types import BoolArray
from globalbandits.compiling.engine import Engine
from globalbandits.errors import SimulationError
from globalbandits.simulation.arena import Arena
from globalbandits.simulation.control import Control
from globalbandits.simulation.job import Job
from globalbandits.simulation.records import Records, empty_records, keep
from globalbandits.simulation.stopping import StoppedError, StopSign, go_on

_PATIENCE = 0.1  # seconds between looks at the workers; an interrupt is heard at once
_SHARDS_PER_WORKER = 8  # so that workers end together, and progress is seen

Report = Callable[[int], None]


def available_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def play_in_threads(
    arena: Arena, first_run: int, n_runs: int, n_threads: int, report: Report
) -> tuple[Records, BoolArray]:
    """Play runs in threads, each in an arena like this one; the records, and which runs are in.

    A keyboard interrupt ends the present blocks and keeps the runs that are finished.
    """
    records = empty_records(arena.job, n_runs)
    finished = np.zeros(n_runs, np.bool_)
    n_threads = min(n_threads, n_runs)
    control = Control(n_runs, n_threads, report)

    def work(make: Callable[[], Arena]) -> None:
        arena = make()
        while (places := control.take(arena.n_next())) is not None:
            first, n_taken = places.start, places.stop - places.start
            n_done = arena.play(first_run + first, n_taken, records, first, control.tick)
            finished[first : first + n_done] = True

    with ThreadPoolExecutor(n_threads, thread_name_prefix="simulate") as pool:
        futures = [pool.submit(work, lambda: arena)]
        futures += [pool.submit(work, arena.copy) for _ in range(n_threads - 1)]
        try:
            _wait(futures)
        except KeyboardInterrupt:
            control.stop()
        except BaseException:
            control.stop()
            raise
    for future in futures:
        future.result()
    return records, finished


def play_shard(job: Job, first_run: int, n_runs: int, sign: str | None = None) -> Records:
    """Play some runs: what a worker of an executor does, until there is a sign to stop."""
    if not go_on(sign):
        raise StoppedError
    arena = Arena(job, Engine(quiet=True), States(job.seed, first_run, n_runs))
    records = empty_records(job, n_runs)
    if arena.play(first_run, n_runs, records, 0, lambda n_steps: go_on(sign)) < n_runs:
        raise StoppedError
    return records


def play_in_executor(
    job: Job, executor: Executor, first_run: int, n_runs: int, report: Report
) -> tuple[Records, BoolArray]:
    """Play runs in shards on an executor; returns the records, and which runs are in them.

    A keyboard interrupt, or a worker that dies, gives up the shards that are not finished.
    """
    n_workers = getattr(executor, "_max_workers", None) or available_cores()
    n_shards = min(n_runs, _SHARDS_PER_WORKER * n_workers)
    edges = [n_runs * shard // n_shards for shard in range(n_shards + 1)]
    records = empty_records(job, n_runs)
    finished = np.zeros(n_runs, np.bool_)
    futures: dict[Future[Records], slice] = {}
    steps_a_run = job.horizon * len(job.policies)
    sign = StopSign()
    try:
        for low, high in pairwise(edges):
            future = executor.submit(play_shard, job, first_run + low, high - low, sign.path)
            futures[future] = slice(low, high)
        pending = set(futures)
        while pending:
            done, pending = wait(pending, _PATIENCE, return_when="FIRST_COMPLETED")
            for future in done:
                keep(records, futures[future], future.result())
                finished[futures[future]] = True
            report(int(finished.sum()) * steps_a_run)
        sign.remove()
    except BaseException as error:
        for future in futures:
            future.cancel()
        sign.raise_for(futures)
        if not isinstance(error, (KeyboardInterrupt, BrokenExecutor)):
            raise
        for future, place in futures.items():  # some may have ended since the last look
            if future.done() and not future.cancelled() and future.exception() is None:
                keep(records, place, future.result())
                finished[place] = True
        if isinstance(error, BrokenExecutor):
            _mourn(error, bool(finished.any()))
    return records, finished


def _mourn(error: BrokenExecutor, some: bool) -> None:
    """Say that a worker died; an error if it leaves nothing."""
    if not some:
        text = "executor must keep its workers until a run is finished, but one died"
        raise SimulationError(f"{text}: {error}") from error
    text = f"a worker of the executor died, and the runs not finished are lost: {error}"
    warnings.warn(text, RuntimeWarning, stacklevel=4)


def _wait(futures: list[Future[None]]) -> None:
    """Wait for all, or for the first that fails, open to interrupts."""
    pending = set(futures)
    while pending:
        done, pending = wait(pending, _PATIENCE, return_when="FIRST_EXCEPTION")
        for future in done:
            future.result()
