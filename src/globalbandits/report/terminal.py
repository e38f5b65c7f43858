"""The outcome as tables in a terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from globalbandits.experiments import Entry, Grid, Outcome, Verdict, count_verdicts
from globalbandits.report.numbers import MARKS, format_entry

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_STYLES = {
    Verdict.REPRODUCED: "green",
    Verdict.NOT_REPRODUCED: "yellow",
    Verdict.TOO_NOISY: "cyan",
    Verdict.NOT_IDENTIFIED: "dim",
    Verdict.NOT_STATED: "dim",
}


def print_outcomes(outcomes: Sequence[Outcome], console: "Console") -> None:
    """Print every table of every experiment, and the verdicts counted."""
    for outcome in outcomes:
        console.print(f"\n[bold]{outcome.heading}[/bold]")
        for grid in outcome.grids:
            console.print(grid_table(grid, outcome))
        if outcome.statements:
            console.print(statement_table(outcome.statements))
        for joint in outcome.joint:
            console.print(str(joint), markup=False, highlight=False)
    counted = count_verdicts(outcomes)
    unidentified = counted[Verdict.NOT_IDENTIFIED]
    console.print(
        f"\n[bold]{counted[Verdict.REPRODUCED]} reproduced, "
        f"{counted[Verdict.NOT_REPRODUCED]} not reproduced, "
        f"{counted[Verdict.TOO_NOISY]} too noisy to tell[/bold], "
        f"{f'{unidentified} read in several ways, not identified, ' if unidentified else ''}"
        f"{counted[Verdict.NOT_STATED]} of ours that the paper does not state; "
        "± is a 95 % interval"
    )


def grid_table(grid: Grid, outcome: Outcome) -> "Table":
    """One grid of entries; the paper's number stands below ours."""
    table = _new_table(grid.title)
    table.add_column(grid.corner)
    for column in grid.columns:
        table.add_column(column, justify="right")
    for label, keys in grid.rows:
        table.add_row(label, *(_cell(outcome.entries[key]) for key in keys))
    return table


def statement_table(entries: Sequence[Entry]) -> "Table":
    """The paper's statements, each with the difference it claims to be positive."""
    table = _new_table("What the paper says, and the difference that must be positive")
    for column in ("statement", "difference", "verdict"):
        table.add_column(column)
    for entry in entries:
        verdict = f"[{_STYLES[entry.verdict]}]{MARKS[entry.verdict]} {entry.verdict.value}[/]"
        difference = f"{entry.label}: {format_entry(entry)} {entry.unit}"
        table.add_row(entry.statement, difference, verdict)
    return table


def _cell(entry: Entry) -> str:
    text = format_entry(entry)
    if entry.published is None:
        return text
    style = _STYLES[entry.verdict]
    return f"{text}\n[{style}]paper {entry.published.printed} {MARKS[entry.verdict]}[/]"


def _new_table(title: str) -> "Table":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    return Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
