"""What one worker does: it plays some runs of a job.

Each run draws from its own random streams, keyed by (seed, run). So the records have the same bits
wherever and in whatever order the runs are played.
"""

import os
import pickle

from globalbandits._random import States
from globalbandits.compiling.engine import Engine
from globalbandits.errors import SimulationError
from globalbandits.simulation.arena import Arena
from globalbandits.simulation.job import Job
from globalbandits.simulation.records import Records, empty_records
from globalbandits.simulation.stopping import StoppedError, is_stopped


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

    Unpickling is done here and not by the executor: an error there would break a process pool.
    """
    try:
        job = pickle.loads(pickled_job)
    except Exception as error:
        raise SimulationError(
            "workers must be able to import what they play, but one failed: "
            f"{type(error).__name__}: {error}"
        ) from None
    return play_shard(job, first_run, n_runs, stop_path)
