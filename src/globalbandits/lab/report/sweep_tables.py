"""Sweeps in the terminal: their progress, and one row for each point and policy."""

from typing import TYPE_CHECKING, Any

from globalbandits.lab.report.number_formats import format_value
from globalbandits.pages import text_table
from globalbandits.simulation.sweeps import SweepResult

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

MAX_ROWS = 60


def state_of(result: SweepResult) -> str:
    """Return the progress of a sweep in one line."""
    n_left = len(result.missing)
    done = f"{result.n_tasks - n_left} of {result.n_tasks} tasks are finished"
    if n_left == 0:
        return f"finished: {done}"
    if result.folder.is_running():
        return f"running: {done}"
    return f"stopped: {done}; the same command continues"


def print_sweep(result: SweepResult, console: "Console", *, everything: bool = False) -> None:
    """Print the progress of a sweep, and the mean regret of every policy at finished points."""
    console.print(state_of(result), markup=False, highlight=False)
    if len(result.missing) == result.n_tasks:
        return
    frame = result.summary()
    axes = list(result.axes)
    header = [*axes, "policy", "regret ± 95 %", "runs"]
    rows = [
        [
            *(_text(row[axis]) for axis in axes),
            row["policy"],
            _with_half(row["regret_mean"], row["regret_high"]),
            str(row["runs"]),
        ]
        for _, row in frame.iterrows()
    ]
    _print_table(header, rows, console, everything)


def print_comparison(
    frame: "pd.DataFrame", console: "Console", *, everything: bool = False
) -> None:
    """Print two means and their paired difference, one row for each point and policy."""
    axes = list(frame.columns[: list(frame.columns).index("policy")])
    header = [*axes, "policy", "first", "second", "difference ± 95 %", "runs"]
    rows = [
        [
            *(_text(row[axis]) for axis in axes),
            row["policy"],
            f"{row['first_mean']:.4g}",
            f"{row['second_mean']:.4g}",
            _with_half(row["difference_mean"], row["difference_high"]),
            str(row["runs"]),
        ]
        for _, row in frame.iterrows()
    ]
    _print_table(header, rows, console, everything)


def _with_half(mean: float, high: float) -> str:
    """Return a mean, and the half width of its interval if there is one."""
    half = high - mean
    if not half > 0.0:
        return f"{mean:.4g}"
    value, width = format_value(mean, half)
    return f"{value} ± {width}"


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _print_table(
    header: list[str], rows: list[list[str]], console: "Console", everything: bool
) -> None:
    shown = rows if everything else rows[:MAX_ROWS]
    console.print(text_table(header, shown, left=("policy",)))
    if len(shown) < len(rows):
        more = f"{len(rows) - len(shown)} more rows; --all shows them"
        console.print(more, markup=False, highlight=False)
