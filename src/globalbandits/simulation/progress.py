"""What a person sees of long simulations: that code is compiled, steps a second, the time left."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

_SELDOM = 0.05  # seconds: workers report more often than anyone can see
_LISTED = 5  # policies named in one line


def say_compiling(names: Sequence[str], shown: bool = False) -> None:
    """Say on standard error what is being compiled, if somebody is there to read it.

    Args:
        names: the policies.
        shown: say it even if standard error is no terminal.
    """
    stream = sys.stderr
    if stream is None or stream.closed or not (shown or stream.isatty()):
        return
    what = "1 policy" if len(names) == 1 else f"{len(names)} policies"
    listed = ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
    with suppress(OSError, ValueError):
        print(f"compiling {what}, once: {listed}", file=stream, flush=True)


@contextmanager
def progress_bar(n_steps: int, shown: bool) -> Iterator[Callable[[int], None]]:
    """Gives a function to tell how many steps are done; shows a bar on standard error.

    >>> with progress_bar(10, shown=False) as report:
    ...     report(5)
    """
    if not shown:
        yield lambda done: None
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
