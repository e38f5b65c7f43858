"""The league on random worlds: one page, one file of numbers, and a table in the terminal."""

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from globalbandits._files import replacing
from globalbandits.experiments.league.unseen import SCORING, Unseen
from globalbandits.pages import definitions, fill_page, framed_table, named_row, table
from globalbandits.plots.labels import counted
from globalbandits.report.cells import plain
from globalbandits.report.league import league_cost, scenario_section
from globalbandits.report.numbers import format_seconds

if TYPE_CHECKING:
    from rich.console import Console


def write_unseen(played: Unseen, about: Mapping[str, str], folder: Path) -> Path:
    """Write ``unseen.html`` and ``unseen.json``; returns the page's path."""
    with replacing(folder / "unseen.json") as temporary:
        temporary.write_text(json.dumps(played.to_dict(), indent=1), encoding="utf-8")
    standings = played.standings
    page = fill_page(
        __package__,
        "unseen.html",
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
    """How it was scored, and one row a policy."""
    from rich.table import Table

    worlds = counted(len(played.worlds), "random world")
    table = Table(title=f"Regret over the best policy's in {worlds}")
    table.add_column("policy")
    for name in ("geometric mean", "at worst", "in world", "within 1.5x", "worlds"):
        table.add_column(name, justify="right")
    for score in played.scores():
        table.add_row(
            plain(score.label),
            f"{score.ratio:.2f} ± {score.ratio * (score.factor - 1.0):.2f}",
            f"{score.worst:,.1f}",
            str(score.worst_world),
            f"{score.near:.0%}",
            str(score.worlds),
        )
    console.print(table)
    console.print(SCORING, markup=False)


def _conclusion(played: Unseen) -> str:
    """Who won, in one sentence."""
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
