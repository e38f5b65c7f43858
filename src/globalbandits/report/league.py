"""The league on one page, in one file of numbers, and as a table in the terminal."""

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from globalbandits._files import replacing
from globalbandits.experiments.league import Cell, Scenario, Standings
from globalbandits.experiments.verdicts import Z95
from globalbandits.pages import (
    definitions,
    embed_figure,
    fill_page,
    framed_table,
    named_row,
    table,
)
from globalbandits.plots import heat_figure, save_figure
from globalbandits.plots.labels import drawn_label
from globalbandits.report.cells import plain
from globalbandits.report.numbers import format_seconds, format_value

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console


def write_league(standings: Standings, about: Mapping[str, str], folder: Path) -> Path:
    """Write ``league.html``, ``league.json`` and the heat map; returns the page's path."""
    figure = league_figure(standings)
    for suffix in ("png", "svg"):
        picture = save_figure(figure, folder / f"league.{suffix}")
    with replacing(folder / "league.json") as temporary:
        temporary.write_text(json.dumps(standings.to_dict(), indent=1), encoding="utf-8")
    head = {**about, "time taken": format_seconds(standings.seconds)}
    page = fill_page(
        __package__,
        "league.html",
        title="The league of policies",
        about=definitions(head),
        conclusion=escape(str(standings)),
        tally=_tally(standings),
        picture=embed_figure(
            picture,
            "Regret as a multiple of the best policy's on each scenario (the number in the cell is "
            "the regret itself). The less colour, the better. Policies are sorted by their "
            "average.",
            natural=True,
        ),
        sections="\n".join(
            scenario_section(standings, scenario) for scenario in standings.scenarios
        ),
        cost=league_cost(standings),
    )
    target = folder / "league.html"
    with replacing(target) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return target


def _tally(standings: Standings) -> str:
    """The three numbers that carry the sentence: the winner's average, worst case and wins."""
    winner = standings.order()[0]
    row = standings.relative()[standings.policies.index(winner)]
    cells = [standings.cells[scenario.key].get(winner) for scenario in standings.scenarios]
    level = sum(cell is not None and cell.is_level for cell in cells)
    worst = standings.scenarios[int(np.nanargmax(row))].title
    numbers = (
        (_multiple(float(np.nanmean(row))), f"{winner}'s regret over the best one's, on average"),
        (_multiple(float(np.nanmax(row))), f"at worst, on “{worst}”"),
        (f"{level} of {len(cells)}", "scenarios best, or level with the best"),
    )
    return "\n".join(f"<div><b>{escape(one)}</b>{escape(text)}</div>" for one, text in numbers)


def league_figure(standings: Standings) -> "Figure":
    """Policies by scenarios, coloured by regret over the best one's."""
    order = standings.order()
    rows = [standings.policies.index(label) for label in order]
    texts = [
        [_short(standings.cells[scenario.key].get(label)) for scenario in standings.scenarios]
        for label in order
    ]
    return heat_figure(
        standings.relative()[np.array(rows)],
        [drawn_label(label) for label in order],
        [drawn_label(scenario.title) for scenario in standings.scenarios],
        texts,
        legend="regret ÷ the best policy's,\npowers of ten",
    )


def print_league(standings: Standings, console: "Console") -> None:
    """One row a policy: how far from the best it was, on average and at worst."""
    from rich.table import Table

    table = Table(title="Regret as a multiple of the best policy's")
    table.add_column("policy")
    table.add_column("average", justify="right")
    table.add_column("at worst", justify="right")
    table.add_column("there")
    table.add_column("best or level with it", justify="right")
    relative = standings.relative()
    for label in standings.order():
        row = relative[standings.policies.index(label)]
        if np.isnan(row).all():
            table.add_row(plain(label), "–", "–", "did not play", "0")
            continue
        cells = [standings.cells[s.key].get(label) for s in standings.scenarios]
        level = sum(cell is not None and cell.is_level for cell in cells)
        table.add_row(
            plain(label),
            _multiple(float(np.nanmean(row))),
            _multiple(float(np.nanmax(row))),
            plain(standings.scenarios[int(np.nanargmax(row))].title),
            f"{level} of {len(cells)}",
        )
    console.print(table)


def _multiple(power: float) -> str:
    return f"{10.0**power:,.0f}x" if power >= 1.0 else f"{10.0**power:.1f}x"


def _short(cell: Cell | None) -> str:
    if cell is None:
        return "–"
    if cell.regret >= 99.5:
        return f"{cell.regret:,.0f}"
    return f"{cell.regret:.1f}" if cell.regret >= 9.95 else f"{cell.regret:.2f}"


def scenario_section(standings: Standings, scenario: Scenario) -> str:
    """One scenario, folded: every policy with its interval, rank and distance to the best."""
    cells = standings.cells[scenario.key]
    rows = []
    for label in sorted(cells, key=lambda name: cells[name].rank):
        cell = cells[label]
        value, half = format_value(cell.regret, Z95 * cell.sem)
        behind, behind_half = format_value(cell.behind, Z95 * cell.behind_sem)
        distance = "" if cell.rank == 1 else f'{behind}<span class="pm"> ± {behind_half}</span>'
        rows.append(
            named_row(
                label,
                (
                    f'<td class="{"level" if cell.is_level else ""}">{value}'
                    f'<span class="pm"> ± {half}</span></td>',
                    f"<td>{cell.rank}</td><td>{distance}</td>",
                ),
            )
        )
    missing = [
        f"<li><b>{escape(label)}</b>: {escape(why)}</li>"
        for label, why in standings.absent[scenario.key].items()
    ]
    absent = f'<ul class="why-list">{"".join(missing)}</ul>' if missing else ""
    runs = max(cell.runs for cell in cells.values())
    shown = framed_table(("policy", "regret", "rank", "behind the best"), rows)
    return (
        f'<details id="{escape(scenario.key)}"><summary><b>{escape(scenario.title)}</b>: '
        f'{escape(scenario.text)} <span class="why">{runs:,} runs of '
        f"{scenario.horizon:,} decisions.</span></summary>{shown}{absent}</details>"
    )


def league_cost(standings: Standings) -> str:
    """Time per step of each policy on the scenarios with few and with many arms."""
    few = standings.scenarios[0]
    many = max(standings.scenarios, key=lambda s: s.environment.model.n_arms)
    shown = [few] if many is few else [few, many]
    rows = []
    for label in standings.order():
        times = [standings.cells[s.key].get(label) for s in shown]
        rows.append([label, *("–" if c is None else f"{c.nanoseconds:,.0f}" for c in times)])
    return table(
        ["policy", *(f"{s.title}, {s.environment.model.n_arms} arms" for s in shown)], rows
    )
