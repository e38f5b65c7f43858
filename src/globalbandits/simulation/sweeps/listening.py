"""Listeners: where the progress of a sweep goes, such as a progress bar or lines of JSON."""

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

from globalbandits.simulation.progress import describe_rate

PROGRESS_LINE_SECONDS = 1.0


class Listener:
    """Base of all listeners; ignores all events."""

    def start(self, n_tasks: int, n_found: int, n_steps: int) -> None:
        """The sweep starts: the number of tasks, of finished tasks, and of steps to play."""

    def steps(self, n_steps: int) -> None:
        """Steps were played since the last call."""

    def task(self, where: Mapping[str, Any]) -> None:
        """A task is finished."""

    def failed(self, where: Mapping[str, Any], reason: str) -> None:
        """A task has failed."""

    def end(self, n_played: int, n_found: int, n_failed: int) -> None:
        """The sweep has ended."""


class JsonLines(Listener):
    """Writes one line of JSON for each event, for other programs."""

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
        """Write a line about progress, once a second at most."""
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
