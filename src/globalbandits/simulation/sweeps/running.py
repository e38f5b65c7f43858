"""Play the tasks of a plan that are not finished, wherever workers are."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from globalbandits._random import States
from globalbandits.errors import ResultError
from globalbandits.simulation.executors import open_workers
from globalbandits.simulation.records import Records
from globalbandits.simulation.requests import Request
from globalbandits.simulation.shards import play_requests
from globalbandits.simulation.spreading import available_cores, play_in_threads
from globalbandits.simulation.sweeps.folder import Folder
from globalbandits.simulation.sweeps.listening import Listener
from globalbandits.simulation.sweeps.plan import Plan, Task
from globalbandits.simulation.warming import compiled_arena

_SHARDS_PER_WORKER = 4  # for few tasks: so that workers end together

Done = Callable[[int, Request, Records], None]
Fail = Callable[[int, Exception], None]


class Outcome(NamedTuple):
    """How a sweep went."""

    n_played: int
    n_found: int  # finished before
    failed: dict[int, str]  # what went wrong, by the key of the task


def run_plan(
    plan: Plan, folder: Folder, executor: str, n_workers: int | None, listener: Listener
) -> Outcome:
    """Play what is missing; a keyboard interrupt goes on, and finished tasks stay."""
    missing: dict[str, list[Task]] = {}  # by name: two points of the grid may be the same task
    for task in plan.tasks:
        if task.name in missing or not _is_finished(folder, task):
            missing.setdefault(task.name, []).append(task)
    once = [tasks[0] for tasks in missing.values()]
    n_missing = sum(map(len, missing.values()))
    n_found = len(plan.tasks) - n_missing
    listener.start(len(plan.tasks), n_found, sum(task.n_steps for task in once))
    failed: dict[int, str] = {}

    def fail(key: int, error: Exception) -> None:
        for task in missing[plan.tasks[key].name]:
            failed[task.key] = f"{type(error).__name__}: {error}"
            listener.failed(plan.where(task), failed[task.key])

    def done(key: int, request: Request, records: Records) -> None:
        name = plan.tasks[key].name
        folder.save(name, request.result(records, np.ones(request.runs, np.bool_)))
        for task in missing[name]:
            listener.task(plan.where(task))

    requests = _requests(plan, once, fail)
    if executor == "threads":
        _play_here(requests, n_workers or available_cores(), done, fail, listener)
    elif once:
        with open_workers(executor, n_workers) as workers:
            n_shards = 1 + _SHARDS_PER_WORKER * workers.n_workers // len(once)
            play_requests(workers, requests, n_shards, done, fail, listener.steps)
    outcome = Outcome(n_missing - len(failed), n_found, failed)
    listener.end(outcome.n_played, n_found, len(failed))
    return outcome


def _is_finished(folder: Folder, task: Task) -> bool:
    if not folder.has(task.name):
        return False
    try:
        folder.load(task.name)
    except ResultError:  # damaged since it was written: played again
        return False
    return True


def _requests(plan: Plan, tasks: list[Task], fail: Fail) -> Iterator[tuple[int, Request]]:
    """The requests of tasks; new kinds of policies and worlds are compiled here first.

    Compiled code is on disk then, and no worker has to compile.
    """
    compiled: set[tuple[str, ...]] = set()
    for task in tasks:
        try:
            request = task.read(plan.reader).request
            job = request.job
            parts = (*job.policies, job.noise, job.drift)
            kinds = tuple(type(part).__name__ for part in parts)
            if kinds not in compiled:
                compiled_arena(job)
                compiled.add(kinds)
        except Exception as error:
            fail(task.key, error)
            continue
        yield task.key, request


def _play_here(
    requests: Iterator[tuple[int, Request]],
    n_threads: int,
    done: Done,
    fail: Fail,
    listener: Listener,
) -> None:
    """One task after the other, each in all threads."""
    for key, request in requests:
        last = 0

        def report(n_steps: int) -> None:
            nonlocal last
            listener.steps(n_steps - last)
            last = n_steps

        try:
            states = States(request.job.seed, request.first_run, request.runs)
            arena = compiled_arena(request.job, states)
            records, finished = play_in_threads(
                arena, request.first_run, request.runs, n_threads, report
            )
            if not finished.all():
                raise KeyboardInterrupt
            done(key, request, records)
        except Exception as error:
            fail(key, error)
