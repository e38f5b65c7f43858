"""Reports of the league on its scenarios and on random worlds: pages, JSON files and tables."""

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from globalbandits._files import replacing
from globalbandits._means import Z95
from globalbandits.lab.league import Cell, Scenario, Standings, Unseen
from globalbandits.lab.league.random_worlds import SCORING
from globalbandits.lab.report.number_formats import format_seconds, format_value
from globalbandits.pages import (
    definitions,
    embed_figure,
    fill_page,
    framed_table,
    named_row,
    table,
    text_table,
)
from globalbandits.plots import heat_figure, save_figure
from globalbandits.plots.labels import counted, drawn_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console


def write_league(standings: Standings, about: Mapping[str, str], folder: Path) -> Path:
    """Write ``league.html``, ``league.json`` and the heat map; return the path of the page."""
    figure = league_figure(standings)
    for suffix in ("png", "svg"):
        picture = save_figure(figure, folder / f"league.{suffix}")
    with replacing(folder / "league.json") as temporary:
        temporary.write_text(json.dumps(standings.to_dict(), indent=1), encoding="utf-8")
    head = {**about, "time taken": format_seconds(standings.seconds)}
    page = fill_page(
        __package__,
        "league_report.html",
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
    """Return the winner's average, worst case and number of wins."""
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
    """Draw a heat map of policies and scenarios, coloured by regret relative to the best."""
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
    """Print one row per policy: its regret relative to the best, on average and at worst."""
    columns = ("policy", "average", "at worst", "there", "best or level with it")
    relative = standings.relative()
    rows = []
    for label in standings.order():
        row = relative[standings.policies.index(label)]
        if np.isnan(row).all():
            rows.append((label, "–", "–", "did not play", "0"))
            continue
        cells = [standings.cells[scenario.key].get(label) for scenario in standings.scenarios]
        level = sum(cell is not None and cell.is_level for cell in cells)
        rows.append(
            (
                label,
                _multiple(float(np.nanmean(row))),
                _multiple(float(np.nanmax(row))),
                standings.scenarios[int(np.nanargmax(row))].title,
                f"{level} of {len(cells)}",
            )
        )
    title = "Regret as a multiple of the best policy's"
    console.print(text_table(columns, rows, title=title, left=("policy", "there")))


def _multiple(power: float) -> str:
    return f"{10.0**power:,.0f}x" if power >= 1.0 else f"{10.0**power:.1f}x"


def _short(cell: Cell | None) -> str:
    if cell is None:
        return "–"
    if cell.regret >= 99.5:
        return f"{cell.regret:,.0f}"
    return f"{cell.regret:.1f}" if cell.regret >= 9.95 else f"{cell.regret:.2f}"


def scenario_section(standings: Standings, scenario: Scenario) -> str:
    """Return the folded section of a scenario: interval, rank and gap to the best per policy."""
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
    """Return the time per step on the first scenario and on the scenario with most arms."""
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


def write_unseen(played: Unseen, about: Mapping[str, str], folder: Path) -> Path:
    """Write ``unseen.html`` and ``unseen.json``; return the path of the page."""
    with replacing(folder / "unseen.json") as temporary:
        temporary.write_text(json.dumps(played.to_dict(), indent=1), encoding="utf-8")
    standings = played.standings
    page = fill_page(
        __package__,
        "random_worlds_report.html",
        title="The league on random worlds",
        about=definitions({**about, "time taken": format_seconds(standings.seconds)}),
        conclusion=escape(_conclusion(played)),
        scoring=escape(SCORING),
        scores=_scores(played),
        errors=_by_error(played),
        sections="\n".join(scenario_section(standings, world) for world in standings.scenarios),
        cost=league_cost(standings),
    )
    target = folder / "unseen.html"
    with replacing(target) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return target


def print_unseen(played: Unseen, console: "Console") -> None:
    """Print one row per policy, and the rule of the scores."""
    columns = ("policy", "geometric mean", "at worst", "in world", "within 1.5x", "worlds")
    rows = [
        (
            score.label,
            f"{score.ratio:.2f} ± {score.ratio * (score.factor - 1.0):.2f}",
            f"{score.worst:,.1f}",
            str(score.worst_world),
            f"{score.near:.0%}",
            str(score.worlds),
        )
        for score in played.scores()
    ]
    worlds = counted(len(played.worlds), "random world")
    console.print(text_table(columns, rows, title=f"Regret over the best policy's in {worlds}"))
    console.print(SCORING, markup=False)


def _conclusion(played: Unseen) -> str:
    """Return the winner in one sentence."""
    first, *others = played.scores()
    worlds = "one world" if first.worlds == 1 else f"{first.worlds} worlds (geometric mean)"
    next_one = f"; next is {others[0].label} with {others[0].ratio:.2f} times" if others else ""
    return (
        f"{first.label} won: its regret is {first.ratio:.2f} times the best one's over {worlds}, "
        f"at worst {first.worst:,.1f} times{next_one}."
    )


def _scores(played: Unseen) -> str:
    rows = [
        named_row(
            score.label,
            (
                f"<td>{score.ratio:.2f}"
                f'<span class="pm"> ± {score.ratio * (score.factor - 1.0):.2f}</span></td>',
                f'<td>{score.worst:,.1f}</td><td><a href="#world_{score.worst_world}">'
                f"{score.worst_world}</a></td><td>{score.near:.0%}</td><td>{score.worlds}</td>",
            ),
        )
        for score in played.scores()
    ]
    names = ("policy", "geometric mean", "at worst", "in world", "within 1.5 ×", "worlds")
    return framed_table(names, rows)


def _by_error(played: Unseen) -> str:
    kinds = sorted({world.error for world in played.worlds})
    rows = []
    for score in played.scores():
        found = (score.by_error.get(kind) for kind in kinds)
        rows.append([score.label, *("–" if ratio is None else f"{ratio:.2f}" for ratio in found)])
    counts = [sum(world.error == kind for world in played.worlds) for kind in kinds]
    heads = [f"{kind} ({number})" for kind, number in zip(kinds, counts, strict=True)]
    return table(("policy", *heads), rows)
