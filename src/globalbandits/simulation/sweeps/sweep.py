"""`sweep`: simulate every point of a spec, report progress, and store the results in a folder."""

import json
import os
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from globalbandits._validation import as_integer, require
from globalbandits.errors import (
    GlobalBanditsError,
    ResultError,
    ScenarioError,
    SimulationError,
    SweepError,
)
from globalbandits.simulation.play.arena import compiled_arena
from globalbandits.simulation.progress import describe_rate
from globalbandits.simulation.simulation_request import Request
from globalbandits.simulation.sweeps.folder import Folder
from globalbandits.simulation.sweeps.plan import Plan, Task, make_plan
from globalbandits.simulation.sweeps.sweep_result import SweepResult
from globalbandits.simulation.workers import RequestInPlay, ShardLoop, check_executor, open_workers

PROGRESS_LINE_SECONDS = 1.0


class Listener:
    """Receives the progress events of a sweep. This base class ignores them."""

    def start(self, n_tasks: int, n_found: int, n_steps: int) -> None:
        """The sweep starts, with this number of tasks, finished tasks and steps to play."""

    def steps(self, n_steps: int) -> None:
        """Steps were played since the last call."""

    def task(self, where: Mapping[str, Any]) -> None:
        """A task is finished."""

    def failed(self, where: Mapping[str, Any], reason: str) -> None:
        """A task has failed."""

    def end(self, n_played: int, n_found: int, n_failed: int) -> None:
        """The sweep has ended."""


class JsonLines(Listener):
    """Writes one line of JSON for each event, to be read by other programs."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._started = self._written_at = time.monotonic()
        self._n_left = self._n_steps = self._n_done = self._n_tasks = 0

    def _write(self, event: str, **values: Any) -> None:
        line = json.dumps({"event": event, **values}, default=str)
        print(line, file=self._stream or sys.stdout, flush=True)

    def start(self, n_tasks: int, n_found: int, n_steps: int) -> None:
        """Write the first line."""
        self._started = time.monotonic()
        self._n_tasks, self._n_done, self._n_left = n_tasks, n_found, n_steps
        self._write("start", tasks=n_tasks, finished=n_found, steps=n_steps)

    def steps(self, n_steps: int) -> None:
        """Write a progress line, at most once a second."""
        self._n_steps += n_steps
        now = time.monotonic()
        if now - self._written_at >= PROGRESS_LINE_SECONDS:
            self._written_at = now
            rate = self._n_steps / max(now - self._started, 1e-9)
            left = (self._n_left - self._n_steps) / rate
            self._write(
                "progress",
                tasks=self._n_tasks,
                finished=self._n_done,
                steps=self._n_steps,
                steps_per_second=round(rate),
                seconds_left=round(left, 1),
            )

    def task(self, where: Mapping[str, Any]) -> None:
        """Write a line for the task."""
        self._n_done += 1
        self._write("task", finished=self._n_done, tasks=self._n_tasks, at=dict(where))

    def failed(self, where: Mapping[str, Any], reason: str) -> None:
        """Write a line for the task that has failed."""
        self._write("failed", at=dict(where), reason=reason)

    def end(self, n_played: int, n_found: int, n_failed: int) -> None:
        """Write the last line."""
        seconds = round(time.monotonic() - self._started, 3)
        self._write("end", played=n_played, found=n_found, failed=n_failed, seconds=seconds)


@contextmanager
def progress_listener() -> Iterator[Listener]:
    """A progress bar on standard error: tasks, steps per second, time left."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[tasks]} tasks"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=5.0) as bar:
        yield _Bar(bar)


class _Bar(Listener):
    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._n_tasks = self._n_done = 0

    def start(self, n_tasks: int, n_found: int, n_steps: int) -> None:
        self._n_tasks, self._n_done = n_tasks, n_found
        done = f"{n_found}/{n_tasks}"
        self._row = self._bar.add_task("simulating", total=n_steps, tasks=done, rate="")

    def steps(self, n_steps: int) -> None:
        task = self._bar.tasks[0]
        self._bar.update(self._row, advance=n_steps, rate=describe_rate(task.speed))

    def task(self, where: Mapping[str, Any]) -> None:
        self._n_done += 1
        self._bar.update(self._row, tasks=f"{self._n_done}/{self._n_tasks}")

    def failed(self, where: Mapping[str, Any], reason: str) -> None:
        self._bar.console.print(f"failed at {dict(where)}: {reason}", markup=False)


class Outcome(NamedTuple):
    """The number of tasks that were played, found and failed."""

    n_played: int
    n_found: int  # finished by an earlier call
    failed: dict[int, str]  # error texts by the key of the task


def run_plan(
    plan: Plan, folder: Folder, executor: str, n_workers: int | None, listener: Listener
) -> Outcome:
    """Play the tasks whose results are missing from the folder.

    A keyboard interrupt is raised again. The results of finished tasks are then in the folder.
    """
    missing: dict[str, list[Task]] = {}  # by name, because points of the grid may share a task
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
    except ResultError:  # the file is damaged, so the task is played again
        return False
    return True


def _requests(
    plan: Plan, tasks: list[Task], fail: Callable[[int, Exception], None]
) -> Iterator[tuple[int, Request]]:
    """Yield the key and the request of each task.

    New kinds of policies and worlds are compiled here, so that workers load the code from disk.
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


Spec = Mapping[str, Any] | str | os.PathLike[str]


def sweep(
    spec: Spec,
    out: str | os.PathLike[str],
    *,
    grid: Mapping[str, Any] | None = None,
    executor: str = "threads",
    workers: int | None = None,
    force: bool = False,
    progress: bool = False,
    listener: Listener | None = None,
) -> SweepResult:
    """Simulate every point of a spec and save the results in a folder.

    All points are checked before the first is played. Each finished point is stored in a file whose
    name is a hash of everything that the result depends on. If you repeat the call, it plays only
    the missing points, and the files have the same bytes as without an interruption. Results do not
    depend on executor and workers.

    Args:
        spec: the path of a TOML file, or its content: ``model``, ``environment``, ``policies``,
            ``horizon``, and optionally ``runs``, ``seed``, ``checkpoints``, ``spacing``,
            ``batch``, ``evidence``, ``stop`` and ``sweep``. Models, policies, noises, drifts,
            biases and delays may be Python objects.
        out: a new or empty folder, or the folder of the same sweep.
        grid: axes that replace the spec's ``sweep``. Keys are dotted; values are lists, or dicts
            with ``from``, ``to`` and either ``step`` or ``number``.
        executor: "threads", "processes", "joblib", "dask" or "dask://HOST:PORT".
        workers: number of threads or processes; the number of cores by default.
        force: accept the folder of another spec, and remove the results that are not in this spec.
        progress: show a progress bar.
        listener: receives progress events.

    >>> import tempfile, globalbandits as gb
    >>> spec = {"model": gb.demand.linear([0.4, 0.6, 0.8]), "environment": {"theta": 0.4},
    ...         "policies": ["ucb1"], "horizon": 50, "runs": 4}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = gb.sweep(spec, folder, grid={"environment.theta": [0.2, 0.4, 0.6]})
    ...     dict(result.dataset["regret"].isel(time=-1).sizes)
    {'theta': 3, 'policy': 1, 'run': 4}
    """
    check_executor(executor)
    if workers is not None:
        workers = as_integer("workers", workers, 1, SimulationError)
    plan = plan_of(spec, grid)
    folder = Folder(out)
    with folder.lock(), ExitStack() as stack:
        folder.start(plan, force=force)
        if listener is None:
            listener = stack.enter_context(progress_listener()) if progress else Listener()
        outcome = run_plan(plan, folder, executor, workers, listener)
    if outcome.failed:
        key, reason = next(iter(outcome.failed.items()))
        where = plan.where(plan.tasks[key])
        n_failed = f"{len(outcome.failed)} of {len(plan.tasks)} tasks failed"
        raise SweepError(f"{n_failed}; the first at {where}: {reason}")
    return SweepResult.load(out)


def plan_of(spec: Spec, grid: Mapping[str, Any] | None = None) -> Plan:
    """The checked tasks of a spec. Error messages begin with the name of its file."""
    content, folder = read_spec(spec)
    if grid is not None:
        content = {**content, "sweep": grid}
    try:
        return make_plan(content, folder)
    except GlobalBanditsError as error:
        file = "" if isinstance(spec, Mapping) else f"{os.fspath(spec)}: "
        raise ScenarioError(f"{file}{error}") from error


def read_spec(spec: Spec) -> tuple[Mapping[str, Any], Path | None]:
    """The content of a spec, and the folder of its file."""
    if isinstance(spec, Mapping):
        return spec, None
    path = Path(spec)
    require(path.suffix == ".toml", "spec", "be a .toml file", str(spec), ScenarioError)
    try:
        return tomllib.loads(path.read_text("utf-8")), path.parent
    except OSError as error:
        raise ScenarioError(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise ScenarioError(f"{path} must be TOML: {error}") from None
