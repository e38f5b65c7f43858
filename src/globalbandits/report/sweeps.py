"""Sweeps in a terminal: how far they are, and a row for each point and policy."""

from typing import TYPE_CHECKING, Any

from globalbandits.report.cells import plain
from globalbandits.report.numbers import format_value
from globalbandits.simulation.sweeps import SweepResult

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

MOST_ROWS = 60


def state_of(result: SweepResult) -> str:
    """How far a sweep is, in one line."""
    n_left = len(result.missing)
    done = f"{result.n_tasks - n_left} of {result.n_tasks} tasks are finished"
    if n_left == 0:
        return f"finished: {done}"
    if result.folder.is_running():
        return f"running: {done}"
    return f"stopped: {done}; the same command goes on from here"


def print_sweep(result: SweepResult, console: "Console", *, everything: bool = False) -> None:
    """How far a sweep is, and the mean regret of every policy at every finished point."""
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
    """Two means and their paired difference, a row for each point and policy."""
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
    """A mean and the half width of its interval, where there is one."""
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
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in header:
        numeric = name not in ("policy",)
        table.add_column(plain(name), justify="right" if numeric else "left")
    shown = rows if everything else rows[:MOST_ROWS]
    for row in shown:
        table.add_row(*map(plain, row))
    console.print(table)
    if len(shown) < len(rows):
        more = f"{len(rows) - len(shown)} more rows; --all shows them"
        console.print(more, markup=False, highlight=False)
