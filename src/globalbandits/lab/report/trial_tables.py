"""The report of a trial: tables in the terminal, and a figure."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from globalbandits.lab.trials import Played
from globalbandits.pages import text_table
from globalbandits.plots.bars import share_figure
from globalbandits.plots.labels import drawn_label
from globalbandits.plots.style import save_figure

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.table import Table


def print_trial(played: Played, console: "Console") -> None:
    """Print the characteristics of every design, then its recommended doses in each scenario."""
    trial = played.trial
    n_runs = min(len(found.patients) for one in played.results.values() for found in one.values())
    console.print(_achieved(played))
    console.print(
        f"correct: recommends a best dose, or none where the lowest is too toxic. "
        f"above: % of patients on doses above {trial.target:g}. "
        f"exceeded: % of trials with more than {trial.more_than:g} of them. "
        f"patients and DLTs: means per trial. "
        f"Standard error of a share: at most {50.0 / n_runs**0.5:.2f} %.\n"
    )
    for name in played.results:
        title = f"{name}: recommended dose, % of {n_runs:,} trials"
        rates = list(trial.scenarios[name])
        console.print(_recommended(title, rates, played.selection(name), console))


def _achieved(played: Played) -> "Table":
    rows = []
    for name in played.results:
        table = played.characteristics(name)
        for design, row in table.iterrows():
            shown = [
                f"{value:.1f}" if column in ("patients", "DLTs") else f"{100 * value:.1f}"
                for column, value in row.items()
            ]
            rows.append([name if design == table.index[0] else "", str(design), *shown])
    title = f"What designs achieve with {played.trial.patients:,} patients, % of trials"
    columns = ["scenario", "design", *table.columns]
    return text_table(columns, rows, title=title, left=columns[:2], wrap=False)


def _recommended(
    title: str, means: list[float], shares: "pd.DataFrame", console: "Console"
) -> "Table":
    """Return doses as columns if the terminal is wide enough, otherwise as rows."""
    true = [f"{mean:.2f}" for mean in means] + [""] * (shares.shape[1] - len(means))
    cells = [[f"{100 * share:.1f}" for share in row] for row in shares.to_numpy().tolist()]
    lines = [
        ["design", *map(str, shares.columns)],
        ["true rate", *true],
        *([str(design), *row] for design, row in zip(shares.index, cells, strict=True)),
    ]
    side_by_side = text_table(lines[0], lines[1:], title=title, wrap=False)
    if side_by_side.__rich_measure__(console, console.options).maximum <= console.width:
        return side_by_side
    turned = [list(row) for row in zip(*lines, strict=True)]
    return text_table(["dose", *turned[0][1:]], turned[1:], title=title, wrap=False)


def draw_trial(played: Played, path: "str | os.PathLike[str]") -> Path:
    """Draw the shares of recommended doses, one panel per scenario and design."""
    doses = [drawn_label(dose) for dose in (*played.trial.doses, "none")]
    panels = {drawn_label(name): shares for name, shares in played.shares().items()}
    return save_figure(share_figure(panels, doses, xlabel="dose", ylabel="% of trials"), path)
