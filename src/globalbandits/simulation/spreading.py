"""Runs spread over threads, or over an executor of the user's: the results are the same bits.

Every run draws from streams of its own, keyed by (seed, run), so it does not matter where
and in which order runs are played.
"""

import os
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from itertools import pairwise

import numpy as np

from globalbandits._random import States
from globalbandits._types import BoolArray
from globalbandits.compiling.engine import Engine
from globalbandits.simulation.arena import Arena
from globalbandits.simulation.control import Control
from globalbandits.simulation.job import Job
from globalbandits.simulation.records import Records, empty_records, keep

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

    def work(arena: Arena) -> None:
        while (places := control.take(arena.n_next())) is not None:
            first, n_taken = places.start, places.stop - places.start
            n_done = arena.play(first_run + first, n_taken, records, first, control.tick)
            finished[first : first + n_done] = True

    with ThreadPoolExecutor(n_threads, thread_name_prefix="simulate") as pool:
        futures = [pool.submit(work, arena)]
        futures += [pool.submit(work, arena.copy()) for _ in range(n_threads - 1)]
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


def play_shard(job: Job, first_run: int, n_runs: int) -> Records:
    """Play some runs: what a worker of an executor does."""
    arena = Arena(job, Engine(quiet=True), States(job.seed, first_run, n_runs))
    records = empty_records(job, n_runs)
    arena.play(first_run, n_runs, records, 0, lambda n_steps: True)
    return records


def play_in_executor(
    job: Job, executor: Executor, first_run: int, n_runs: int, report: Report
) -> tuple[Records, BoolArray]:
    """Play runs in shards on an executor; returns the records, and which runs are in them.

    A keyboard interrupt gives up the shards that are not finished.
    """
    n_workers = getattr(executor, "_max_workers", None) or available_cores()
    n_shards = min(n_runs, _SHARDS_PER_WORKER * n_workers)
    edges = [n_runs * shard // n_shards for shard in range(n_shards + 1)]
    records = empty_records(job, n_runs)
    finished = np.zeros(n_runs, np.bool_)
    futures = {
        executor.submit(play_shard, job, first_run + low, high - low): slice(low, high)
        for low, high in pairwise(edges)
    }
    steps_a_run = job.horizon * len(job.policies)
    pending = set(futures)
    try:
        while pending:
            done, pending = wait(pending, _PATIENCE, return_when="FIRST_COMPLETED")
            for future in done:
                keep(records, futures[future], future.result())
                finished[futures[future]] = True
            report(int(finished.sum()) * steps_a_run)
    except KeyboardInterrupt:
        for future in futures:
            future.cancel()
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    return records, finished


def _wait(futures: list[Future[None]]) -> None:
    """Wait for all, or for the first that fails, open to interrupts."""
    pending = set(futures)
    while pending:
        done, pending = wait(pending, _PATIENCE, return_when="FIRST_EXCEPTION")
        for future in done:
            future.result()
