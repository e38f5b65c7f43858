"""Progress messages and progress bars on standard error."""

import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

REFRESH_SECONDS = 0.05
NOTEBOOK_REFRESH_SECONDS = 0.2
MAX_LISTED_POLICIES = 5
_LOG = logging.getLogger(__name__)


def say_compiling(names: Sequence[str], shown: bool = False) -> None:
    """Report which policies are being compiled, to the log and to a terminal or a notebook.

    Args:
        names: the policies.
        shown: also write to a standard error that is neither a terminal nor a notebook.
    """
    what = "1 policy" if len(names) == 1 else f"{len(names)} policies"
    listed = ", ".join(names[:MAX_LISTED_POLICIES]) + (
        ", ..." if len(names) > MAX_LISTED_POLICIES else ""
    )
    line = f"compiling {what}, once: {listed}"
    _LOG.info(line)
    stream = sys.stderr
    if stream is None or stream.closed:
        return
    if shown or stream.isatty() or _is_notebook(stream):
        with suppress(OSError, ValueError):
            print(line, file=stream, flush=True)


def _is_notebook(stream: Any) -> bool:
    """Whether the stream writes to a notebook."""
    return type(stream).__module__.partition(".")[0] == "ipykernel"


@contextmanager
def progress_bar(n_steps: int, shown: bool) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on standard error.

    Yields a function. Call it with the number of steps done since the last call.

    >>> with progress_bar(10, shown=False) as report:
    ...     report(5)
    """
    if not shown:
        yield lambda n_steps: None
        return
    if _is_notebook(sys.stderr):
        yield from _line_of_text(n_steps)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class StepsPerSecond(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(describe_rate(task.speed or task.finished_speed))

    columns = (
        TextColumn("simulating"),
        BarColumn(),
        TaskProgressColumn(),
        StepsPerSecond(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=5.0) as bar:
        task = bar.add_task("", total=n_steps)
        yield _refreshed(
            lambda n_done: bar.update(task, completed=n_done), n_steps, REFRESH_SECONDS
        )


def _line_of_text(n_steps: int) -> Iterator[Callable[[int], None]]:
    """A line of text that is overwritten, for notebooks, where rich's bar needs widgets."""
    began = time.monotonic()

    def show(n_done: int) -> None:
        rate = describe_rate(n_done / max(time.monotonic() - began, 1e-9))
        text = f"simulating {n_done / n_steps:5.0%}  {rate}"
        print(f"\r{text:<40}", end="", file=sys.stderr, flush=True)

    try:
        yield _refreshed(show, n_steps, NOTEBOOK_REFRESH_SECONDS)
    finally:
        print(file=sys.stderr)


def _refreshed(
    show: Callable[[int], None], n_steps: int, pause_seconds: float
) -> Callable[[int], None]:
    """Return a function that counts steps and shows their number after a pause, and at the end."""
    n_done = 0
    shown_at = 0.0

    def report(n_more: int) -> None:
        nonlocal n_done, shown_at
        n_done += n_more
        now = time.monotonic()
        if now - shown_at >= pause_seconds or n_done >= n_steps:
            shown_at = now
            show(n_done)

    return report


def describe_rate(rate: float | None) -> str:
    """Steps per second as a short text.

    >>> describe_rate(31_400_000.0), describe_rate(5_200.0), describe_rate(None)
    ('31.4 M steps/s', '5.2 k steps/s', '')
    """
    if rate is None:
        return ""
    if rate >= 1e6:
        return f"{rate / 1e6:.1f} M steps/s"
    return f"{rate / 1e3:.1f} k steps/s"
