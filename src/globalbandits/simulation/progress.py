"""What a person sees of long simulations: that code is compiled, steps a second, the time left."""

import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

_SELDOM = 0.05  # seconds: workers report more often than anyone can see
_LISTED = 5  # policies named in one line
_LOG = logging.getLogger(__name__)


def say_compiling(names: Sequence[str], shown: bool = False) -> None:
    """Say in the log, and to a person at a terminal or a notebook, what is being compiled.

    Args:
        names: the policies.
        shown: say it even if nobody seems to read standard error.
    """
    what = "1 policy" if len(names) == 1 else f"{len(names)} policies"
    listed = ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
    line = f"compiling {what}, once: {listed}"
    _LOG.info(line)
    stream = sys.stderr
    if stream is None or stream.closed:
        return
    if shown or stream.isatty() or _is_notebook(stream):
        with suppress(OSError, ValueError):
            print(line, file=stream, flush=True)


def _is_notebook(stream: Any) -> bool:
    """Whether what is written there is shown below a cell of a notebook."""
    return type(stream).__module__.partition(".")[0] == "ipykernel"


@contextmanager
def progress_bar(n_steps: int, shown: bool) -> Iterator[Callable[[int], None]]:
    """Gives a function to tell how many steps are done; shows a bar on standard error.

    >>> with progress_bar(10, shown=False) as report:
    ...     report(5)
    """
    if not shown:
        yield lambda done: None
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
        shown_at = 0.0

        def report(done: int) -> None:
            nonlocal shown_at
            now = time.monotonic()
            if now - shown_at >= _SELDOM or done >= n_steps:
                shown_at = now
                bar.update(task, completed=done)

        yield report


def _line_of_text(n_steps: int) -> Iterator[Callable[[int], None]]:
    """One line that is written over: bars that need widgets would warn where there are none."""
    began = time.monotonic()
    shown_at = 0.0

    def report(done: int) -> None:
        nonlocal shown_at
        now = time.monotonic()
        if now - shown_at >= 4 * _SELDOM or done >= n_steps:
            shown_at = now
            rate = describe_rate(done / max(now - began, 1e-9))
            text = f"simulating {done / n_steps:5.0%}  {rate}"
            print(f"\r{text:<40}", end="", file=sys.stderr, flush=True)

    try:
        yield report
    finally:
        print(file=sys.stderr)


def describe_rate(rate: float | None) -> str:
    """Steps a second in few letters.

    >>> describe_rate(31_400_000.0), describe_rate(5_200.0), describe_rate(None)
    ('31.4 M steps/s', '5.2 k steps/s', '')
    """
    if rate is None:
        return ""
    if rate >= 1e6:
        return f"{rate / 1e6:.1f} M steps/s"
    return f"{rate / 1e3:.1f} k steps/s"
