"""Play the tasks of a plan that are not finished."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from globalbandits.errors import ResultError
from globalbandits.simulation.arena import compiled_arena
from globalbandits.simulation.executors import RequestInPlay, open_workers
from globalbandits.simulation.requests import Request
from globalbandits.simulation.shards import ShardLoop
from globalbandits.simulation.sweeps.folder import Folder
from globalbandits.simulation.sweeps.listening import Listener
from globalbandits.simulation.sweeps.plan import Plan, Task


class Outcome(NamedTuple):
    """How a sweep went."""

    n_played: int
    n_found: int  # finished by an earlier call
    failed: dict[int, str]  # error texts by the key of the task


def run_plan(
    plan: Plan, folder: Folder, executor: str, n_workers: int | None, listener: Listener
) -> Outcome:
    """Play the tasks that are missing from the folder.

    A keyboard interrupt is passed on. The tasks that are finished by then are in the folder.
    """
    missing: dict[str, list[Task]] = {}  # by name: two points of the grid may be the same task
    for task in plan.tasks:
        if task.name in missing or not _is_finished(folder, task):
            missing.setdefault(task.name, []).append(task)
    distinct = [tasks[0] for tasks in missing.values()]
    n_missing = sum(map(len, missing.values()))
    n_found = len(plan.tasks) - n_missing
    listener.start(len(plan.tasks), n_found, sum(task.n_steps for task in distinct))
    failed: dict[int, str] = {}

    def fail(key: int, error: Exception) -> None:
        for task in missing[plan.tasks[key].name]:
            failed[task.key] = f"{type(error).__name__}: {error}"
            listener.failed(plan.where(task), failed[task.key])

    def finish(key: int, played: RequestInPlay) -> None:
        name = plan.tasks[key].name
        folder.save(name, played.request.result(played.records, played.finished))
        for task in missing[name]:
            listener.task(plan.where(task))

    if distinct:
        with open_workers(executor, n_workers) as workers:
            loop = ShardLoop(workers, on_finished=finish, on_failed=fail, on_steps=listener.steps)
            loop.play(_requests(plan, distinct, fail), len(distinct))
    outcome = Outcome(n_missing - len(failed), n_found, failed)
    listener.end(outcome.n_played, n_found, len(failed))
    return outcome


def _is_finished(folder: Folder, task: Task) -> bool:
    if not folder.has(task.name):
        return False
    try:
        folder.load(task.name)
    except ResultError:  # damaged since it was written: play it again
        return False
    return True


def _requests(
    plan: Plan, tasks: list[Task], fail: Callable[[int, Exception], None]
) -> Iterator[tuple[int, Request]]:
    """The requests of tasks.

    New kinds of policies and worlds are compiled here first, so that workers find the code on disk.
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
