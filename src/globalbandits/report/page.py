"""The outcome as one HTML page that needs nothing but itself."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from globalbandits._files import replacing
from globalbandits.experiments import Entry, Grid, Outcome, Verdict, count_verdicts
from globalbandits.experiments.entries import UNSETTLED
from globalbandits.experiments.verdicts import Z95
from globalbandits.pages import definitions, embed_figure, fill_page, framed_table, named_row
from globalbandits.plots.saving import svg_bytes
from globalbandits.plots.style import narrow_picture
from globalbandits.report.conclusion import conclude, in_words
from globalbandits.report.numbers import MARKS, format_seconds, format_value

_CLASSES = {
    Verdict.REPRODUCED: "good",
    Verdict.NOT_REPRODUCED: "bad",
    Verdict.TOO_NOISY: "",
    Verdict.NOT_IDENTIFIED: "",
    Verdict.NOT_STATED: "",
}


def write_page(
    outcomes: Sequence[Outcome],
    figures: Mapping[str, Path],
    about: Mapping[str, str],
    folder: Path,
) -> Path:
    """Write ``report.html``: figures, tables, verdicts, and how they were made.

    Args:
        outcomes: the experiments.
        figures: the SVG files by experiment and chart; they are put into the page.
        about: lines for the head of the page, such as the command and the seed.
        folder: where to write.
    """
    page = fill_page(
        __package__,
        "page.html",
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
        f'<div class="{_CLASSES[verdict]}"><b>{counted[verdict]}</b>'
        f"{before.get(verdict, '')}{verdict}</div>"
        for verdict in Verdict
        if counted[verdict] > 0 or verdict is not Verdict.NOT_IDENTIFIED
    )


def _link(outcome: Outcome) -> str:
    number, title = outcome.spec.number, escape(outcome.spec.title)
    return f'<a href="#{outcome.key}">{title if number is None else f"{number}. {title}"}</a>'


def _section(outcome: Outcome, figures: Mapping[str, Path]) -> str:
    """An experiment: its verdict in words and its first figure; the rest is folded."""
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
    kind, mark = _CLASSES[entry.verdict], MARKS[entry.verdict]
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
        f'<td><span class="paper {_CLASSES[entry.verdict]}">{MARKS[entry.verdict]} '
        f"{entry.verdict.value}</span></td></tr>"
        for entry in entries
    ]
    shown = framed_table(("statement", "difference", "verdict"), rows, "statements")
    return f"<h3>What the paper says, and the difference that must be positive</h3>\n{shown}"


def _reasons(outcome: Outcome) -> str:
    """Why what is unsettled is so, where the spec says; one line for equal reasons."""
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
