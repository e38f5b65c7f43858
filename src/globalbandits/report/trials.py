"""A played trial as a table for a person, and as a figure."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from globalbandits.experiments.trials import Played
from globalbandits.plots.labels import drawn_label, printed_label

if TYPE_CHECKING:
    from rich.console import Console


def print_trial(played: Played, console: "Console") -> None:
    """One table per scenario: shares of recommended arms in percent, and the rest."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    trial = played.trial
    for name, result in played.results.items():
        rows = played.table().loc[name]
        n_runs = result.dataset.sizes["run"]
        title = f"{name}: recommended arm, % of {n_runs:,} runs"
        table = Table(title=printed_label(title), box=SIMPLE_HEAD, title_justify="left")
        table.add_column("design")
        means = trial.worlds[name].true_means()
        for column in rows.columns:
            table.add_column(printed_label(column), justify="right")
        true = [f"{mean:.2f}" for mean in means.tolist()]
        table.add_row("true mean", *true, *[""] * (len(rows.columns) - len(true)), style="dim")
        for design, row in rows.iterrows():
            cells = [
                f"{value:.1f}" if column == "decisions" else f"{100 * value:.1f}"
                for column, value in row.items()
            ]
            table.add_row(printed_label(design), *cells)
        console.print(table)
    error = 50.0 / min(result.dataset.sizes["run"] for result in played.results.values()) ** 0.5
    console.print(
        f"correct: recommends a best arm. above: % of decisions on arms above {trial.target:g}. "
        f"exceeded: % of runs with more than {trial.more_than:g} of them. "
        f"Standard error of a share: at most {error:.2f} %."
    )


def draw_trial(played: Played, path: "str | os.PathLike[str]") -> Path:
    """Draw the shares of recommended arms, a panel per scenario and design."""
    from globalbandits.plots.bars import share_figure
    from globalbandits.plots.saving import save_figure

    arms = [drawn_label(arm) for arm in next(iter(played.results.values())).selection().columns]
    panels = {drawn_label(name): shares for name, shares in played.shares().items()}
    return save_figure(share_figure(panels, arms, ylabel="% of runs"), path)
