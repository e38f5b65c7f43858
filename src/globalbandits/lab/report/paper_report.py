"""The report of the reproduction: ``results.json``, figures, a page, and terminal tables."""

import json
import time
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from globalbandits._files import replacing
from globalbandits._means import Z95
from globalbandits._version import __version__
from globalbandits.lab.paper import Entry, Grid, Outcome, Verdict, count_verdicts
from globalbandits.lab.paper.outcome import best_entries
from globalbandits.lab.paper.verdicts import UNSETTLED
from globalbandits.lab.report.number_formats import format_mean, format_seconds, format_value
from globalbandits.pages import (
    definitions,
    embed_figure,
    fill_page,
    framed_table,
    named_row,
    text_table,
)
from globalbandits.plots import save_figure
from globalbandits.plots.style import narrow_picture, svg_bytes

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

MARKS = {
    Verdict.REPRODUCED: "✓",
    Verdict.NOT_REPRODUCED: "✗",
    Verdict.TOO_NOISY: "?",
    Verdict.NOT_IDENTIFIED: "·",
    Verdict.NOT_STATED: "–",
}
_TERMINAL_STYLES = {
    Verdict.REPRODUCED: "green",
    Verdict.NOT_REPRODUCED: "yellow",
    Verdict.TOO_NOISY: "cyan",
    Verdict.NOT_IDENTIFIED: "dim",
    Verdict.NOT_STATED: "dim",
}
_CSS_CLASSES = {
    Verdict.REPRODUCED: "good",
    Verdict.NOT_REPRODUCED: "bad",
    Verdict.TOO_NOISY: "",
    Verdict.NOT_IDENTIFIED: "",
    Verdict.NOT_STATED: "",
}
_MAX_NAMED = 3  # maximum number of entries that the conclusion names
_STATEMENTS_TITLE = "What the paper says, and the difference that must be positive"


def write_report(
    outcomes: Sequence[Outcome], folder: Path, *, command: str, seed: int, started: float
) -> Path:
    """Write ``results.json``, the figures and ``report.html``, and return the path of the page.

    An interrupted write leaves no partial file.

    Args:
        outcomes: the experiments.
        folder: the folder to write to; created if it is missing.
        command: the command that gives the same report.
        seed: seed of all randomness.
        started: start time by `time.perf_counter`.
    """
    figures = write_figures(outcomes, folder)
    seconds = time.perf_counter() - started
    about = {"command": command, "seed": seed, "version": __version__, "seconds": seconds}
    write_results(outcomes, about, folder)
    lines = {
        "Command": command,
        "Seed": str(seed),
        "Version": f"globalbandits {__version__}",
        "Time taken": format_seconds(seconds),
    }
    return write_page(outcomes, figures, lines, folder)


def write_results(outcomes: Sequence[Outcome], about: Mapping[str, Any], folder: Path) -> Path:
    """Write ``results.json``: one key per experiment with its entries, and their provenance."""
    content: dict[str, Any] = {"about": dict(about)}
    for outcome in outcomes:
        content[outcome.key] = {key: entry.to_dict() for key, entry in outcome.entries.items()}
    joint = {
        outcome.key: [joint.to_dict() for joint in outcome.joint]
        for outcome in outcomes
        if outcome.joint
    }
    if joint:
        content["about"]["joint"] = joint
    target = folder / "results.json"
    with replacing(target) as temporary:
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
        temporary.write_text(text + "\n", encoding="utf-8")
    return target


def write_figures(outcomes: Sequence[Outcome], folder: Path) -> dict[str, Path]:
    """Write every chart as SVG and PNG into ``figures/``; return the SVG paths by chart name."""
    paths: dict[str, Path] = {}
    for outcome in outcomes:
        for chart in outcome.charts:
            figure = chart.draw()
            stem = folder / "figures" / f"{outcome.key}_{chart.name}"
            save_figure(figure, stem.with_suffix(".png"))
            paths[f"{outcome.key}_{chart.name}"] = save_figure(figure, stem.with_suffix(".svg"))
    return paths


def write_page(
    outcomes: Sequence[Outcome],
    figures: Mapping[str, Path],
    about: Mapping[str, str],
    folder: Path,
) -> Path:
    """Write ``report.html`` and return its path.

    Args:
        outcomes: the experiments.
        figures: the SVG files by experiment and chart, which the page embeds.
        about: lines for the head of the page, such as the command and the seed.
        folder: the folder to write to.
    """
    page = fill_page(
        __package__,
        "paper_report.html",
        title="Global Bandits, reproduced",
        conclusion=escape(conclude(outcomes)),
        tally=_tally(outcomes),
        navigation="\n".join(_link(outcome) for outcome in outcomes),
        about=definitions(about),
        sections="\n".join(_section(outcome, figures) for outcome in outcomes),
    )
    target = folder / "report.html"
    with replacing(target) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return target


def _tally(outcomes: Sequence[Outcome]) -> str:
    counted = count_verdicts(outcomes)
    before = {Verdict.NOT_IDENTIFIED: "read in several ways, ", Verdict.NOT_STATED: "ours, "}
    return "\n".join(
        f'<div class="{_CSS_CLASSES[verdict]}"><b>{counted[verdict]}</b>'
        f"{before.get(verdict, '')}{verdict}</div>"
        for verdict in Verdict
        if counted[verdict] > 0 or verdict is not Verdict.NOT_IDENTIFIED
    )


def _link(outcome: Outcome) -> str:
    number, title = outcome.spec.number, escape(outcome.spec.title)
    return f'<a href="#{outcome.key}">{title if number is None else f"{number}. {title}"}</a>'


def _section(outcome: Outcome, figures: Mapping[str, Path]) -> str:
    """Return the section of an experiment: conclusion and first figure, then a folded part."""
    said = in_words(outcome)
    parts = [
        f'<h2 id="{outcome.key}">{escape(outcome.heading)}</h2>',
        *([f"<p><b>{escape(said)}</b></p>"] if said else []),
        f"<p>{escape(outcome.spec.text)}</p>",
        f'<p class="why">{outcome.runs:,} runs of {outcome.horizon:,} rounds, '
        f"{format_seconds(outcome.seconds)}.</p>",
    ]
    folded: list[str] = []
    for number, chart in enumerate(outcome.charts):
        name = f"{outcome.key}_{chart.name}"
        phone = svg_bytes(narrow_picture(chart.draw))
        (folded if number else parts).append(embed_figure(figures[name], chart.caption, phone))
        folded += [_grid(grid, outcome) for grid in outcome.grids if grid.below == chart.name]
    folded += [_grid(grid, outcome) for grid in outcome.grids if not grid.below]
    if outcome.statements:
        folded.append(_statements(outcome.statements))
    if outcome.joint:
        items = "\n".join(f"<li>{escape(str(joint))}</li>" for joint in outcome.joint)
        folded.append(f'<h3>Tables as wholes</h3>\n<ul class="why-list">\n{items}\n</ul>')
    folded.append(_reasons(outcome))
    folded += [f"<pre>{escape(note)}</pre>" for note in outcome.notes]
    inside = "\n".join(part for part in folded if part)
    if inside:
        parts.append(f"<details><summary>All tables and figures</summary>\n{inside}\n</details>")
    return "\n".join(parts)


def _grid(grid: Grid, outcome: Outcome) -> str:
    rows = [
        named_row(label, [_cell(outcome.entries[key]) for key in keys]) for label, keys in grid.rows
    ]
    shown = framed_table((grid.corner, *grid.columns), rows)
    return f"<h3>{escape(grid.title)}</h3>\n{shown}"


def _cell(entry: Entry) -> str:
    text = _number(entry)
    if entry.published is None:
        return f"<td>{text}</td>"
    kind, mark = _CSS_CLASSES[entry.verdict], MARKS[entry.verdict]
    assumed = " (runs assumed)" if entry.runs > 0 and not entry.published.stated else ""
    note = f"paper {escape(entry.published.printed)} {mark}{assumed}"
    return f'<td>{text}<br><span class="paper {kind}" title="{entry.verdict}">{note}</span></td>'


def _number(entry: Entry) -> str:
    value, half = format_value(entry.value, Z95 * entry.sem)
    error = f'<span class="pm"> ± {half}</span>' if half else ""
    return f'<span class="number">{value}{error}</span>'


def _statements(entries: Sequence[Entry]) -> str:
    rows = [
        f"<tr><td>{escape(entry.statement)}</td>"
        f"<td>{escape(entry.label)}: {_number(entry)} {escape(entry.unit)}</td>"
        f'<td><span class="paper {_CSS_CLASSES[entry.verdict]}">{MARKS[entry.verdict]} '
        f"{entry.verdict.value}</span></td></tr>"
        for entry in entries
    ]
    shown = framed_table(("statement", "difference", "verdict"), rows, "statements")
    return f"<h3>{_STATEMENTS_TITLE}</h3>\n{shown}"


def _reasons(outcome: Outcome) -> str:
    """Return the reasons that the spec gives for unsettled verdicts, each once."""
    reasons: dict[str, list[str]] = {}
    for entry in outcome.entries.values():
        if entry.verdict in UNSETTLED and entry.why:
            reasons.setdefault(entry.why, []).append(entry.statement or entry.label)
    if not reasons:
        return ""
    items = "\n".join(
        f"<li><b>{escape(', '.join(names))}</b>: {escape(why)}</li>"
        for why, names in reasons.items()
    )
    return f'<h3>Why not</h3>\n<ul class="why-list">\n{items}\n</ul>'


def conclude(outcomes: Sequence[Outcome]) -> str:
    """Return the whole reproduction in a few sentences."""
    sentences = [*map(_compared, outcomes), _agreement(outcomes)]
    entries = best_entries(outcomes)
    failed = [entry for entry in entries if entry.verdict is Verdict.NOT_REPRODUCED]
    if failed:
        names = [entry.statement or entry.label for entry in failed]
        more = f", and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        sentences.append(f"Not reproduced: {'; '.join(names[:_MAX_NAMED])}{more}.")
    said = " ".join(sentence for sentence in sentences if sentence)
    return said or "Nothing here is judged by what the paper prints."


def in_words(outcome: Outcome) -> str:
    """Return one experiment in a sentence or two: regrets, and agreement with the paper."""
    sentences = (_compared(outcome), _agreement([outcome]))
    return " ".join(sentence for sentence in sentences if sentence)


def _compared(outcome: Outcome) -> str:
    """Return WAGP's and UCB1's regret; an empty text if one of them is missing."""
    wagp, ucb1 = (outcome.entries.get(key) for key in ("wagp_regret", "ucb1_regret"))
    if wagp is None or ucb1 is None:
        return ""
    many = ucb1.value >= 2.0 * wagp.value > 0.0
    times = f", {ucb1.value / wagp.value:,.0f} times as much" if many else ""
    return (
        f"In {outcome.horizon:,} rounds WAGP loses {_mean(wagp)} rewards and UCB1 "
        f"{_mean(ucb1)}{times}."
    )


def _agreement(outcomes: Sequence[Outcome]) -> str:
    counted = count_verdicts(outcomes)
    judged = (Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.TOO_NOISY)
    total = sum(counted[verdict] for verdict in judged)
    if total == 0:
        return ""
    said = ", ".join(
        f"{counted[verdict]} {'is' if counted[verdict] == 1 else 'are'} {verdict}"
        for verdict in judged
        if counted[verdict] > 0
    )
    return f"Of {total} numbers and statements of the paper, {said}."


def _mean(entry: Entry) -> str:
    return format_mean(entry.value, entry.sem)


def print_outcomes(outcomes: Sequence[Outcome], console: "Console") -> None:
    """Print every table of every experiment, and the number of each verdict."""
    for outcome in outcomes:
        console.print(f"\n[bold]{outcome.heading}[/bold]")
        for grid in outcome.grids:
            console.print(_grid_table(grid, outcome))
        if outcome.statements:
            console.print(_statement_table(outcome.statements))
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


def _grid_table(grid: Grid, outcome: Outcome) -> "Table":
    """Return one grid of entries, with the paper's number below ours."""
    rows = [
        [label, *(_text_cell(outcome.entries[key]) for key in keys)] for label, keys in grid.rows
    ]
    return text_table((grid.corner, *grid.columns), rows, title=grid.title)


def _statement_table(entries: Sequence[Entry]) -> "Table":
    """Return the paper's statements, each with the difference that it claims to be positive."""
    from rich.text import Text

    columns = ("statement", "difference", "verdict")
    rows = []
    for entry in entries:
        verdict = f"{MARKS[entry.verdict]} {entry.verdict.value}"
        rows.append(
            (
                entry.statement,
                f"{entry.label}: {_mean(entry)} {entry.unit}",
                Text(verdict, style=_TERMINAL_STYLES[entry.verdict]),
            )
        )
    return text_table(columns, rows, title=_STATEMENTS_TITLE, left=columns)


def _text_cell(entry: Entry) -> "str | Text":
    from rich.text import Text

    if entry.published is None:
        return _mean(entry)
    paper = f"paper {entry.published.printed} {MARKS[entry.verdict]}"
    return Text.assemble(_mean(entry), "\n", (paper, _TERMINAL_STYLES[entry.verdict]))
