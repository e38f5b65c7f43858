"""A played trial as tables for a person, and as a figure."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from globalbandits.experiments.trials import Played
from globalbandits.plots.labels import drawn_label
from globalbandits.report.cells import plain

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.table import Table


def print_trial(played: Played, console: "Console") -> None:
    """What every design achieves first, then which arms it recommends, scenario by scenario."""
    trial = played.trial
    console.print(_achieved(played))
    fewest = min(result.dataset.sizes["run"] for result in played.results.values())
    console.print(
        f"correct: recommends a best arm. above: % of decisions on arms above {trial.target:g}. "
        f"exceeded: % of runs with more than {trial.more_than:g} of them. "
        f"Standard error of a share: at most {50.0 / fewest**0.5:.2f} %.\n"
    )
    for name, result in played.results.items():
        title = f"{name}: recommended arm, % of {result.dataset.sizes['run']:,} runs"
        means = trial.worlds[name].true_means().tolist()
        console.print(_recommended(title, means, result.selection(), console))


def _achieved(played: Played) -> "Table":
    limits = {"target": played.trial.target, "more_than": played.trial.more_than}
    rows = []
    for name, result in played.results.items():
        table = result.characteristics(**limits)
        for design, row in table.iterrows():
            shown = [
                f"{value:.1f}" if column == "decisions" else f"{100 * value:.1f}"
                for column, value in row.items()
            ]
            rows.append([name if design == table.index[0] else "", str(design), *shown])
    title = f"What designs achieve in {played.trial.decisions:,} decisions, % of runs"
    return _table(title, ["scenario", "design", *table.columns], rows, texts=2)


def _recommended(
    title: str, means: list[float], shares: "pd.DataFrame", console: "Console"
) -> "Table":
    """Arms side by side where the terminal is wide enough, else one below the other."""
    true = [f"{mean:.2f}" for mean in means] + [""] * (shares.shape[1] - len(means))
    cells = [[f"{100 * share:.1f}" for share in row] for row in shares.to_numpy().tolist()]
    lines = [
        ["design", *map(str, shares.columns)],
        ["true mean", *true],
        *([str(design), *row] for design, row in zip(shares.index, cells, strict=True)),
    ]
    side_by_side = _table(title, lines[0], lines[1:], texts=1)
    if side_by_side.__rich_measure__(console, console.options).maximum <= console.width:
        return side_by_side
    turned = [list(row) for row in zip(*lines, strict=True)]
    return _table(title, ["arm", *turned[0][1:]], turned[1:], texts=1)


def _table(title: str, columns: list[str], rows: list[list[str]], texts: int) -> "Table":
    """A table whose first `texts` columns are words; the others are numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=plain(title), box=SIMPLE_HEAD, title_justify="left", collapse_padding=True)
    for number, column in enumerate(columns):
        table.add_column(plain(column), justify="left" if number < texts else "right", no_wrap=True)
    for row in rows:
        table.add_row(*map(plain, row))
    return table


def draw_trial(played: Played, path: "str | os.PathLike[str]") -> Path:
    """Draw the shares of recommended arms, a panel per scenario and design."""
    from globalbandits.plots.bars import share_figure
    from globalbandits.plots.saving import save_figure

    arms = [drawn_label(arm) for arm in next(iter(played.results.values())).selection().columns]
    panels = {drawn_label(name): shares for name, shares in played.shares().items()}
    return save_figure(share_figure(panels, arms, ylabel="% of runs"), path)
