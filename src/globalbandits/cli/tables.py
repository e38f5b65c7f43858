"""The facts of `facts` as tables for a person."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from globalbandits.plots.labels import counted, printed_label

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

MAX_ROWS = 20
_CONSTANTS = {
    "lower_constant": "D1",
    "lower_exponent": "γ1",
    "upper_constant": "D2",
    "upper_exponent": "γ2",
    "informativeness": "γ",
}


def print_facts(facts: dict[str, Any], console: "Console") -> None:
    """Print everything but what is too long: `--json` has it all."""
    for part in _parts(facts):
        console.print(part)


def _parts(facts: dict[str, Any]) -> "Iterator[RenderableType]":
    """Answers first, the constants of the theory last."""
    yield _summary(facts)
    if facts["at_theta"] is not None:
        yield _at_theta(facts["at_theta"], facts["valued"])
    yield _table(
        "Regions: where which arm is worth most"
        if facts["valued"]
        else "Regions: where which arm is best",
        ("arm", "from θ", "to θ", "largest Δmin", "at θ"),
        [
            [names(region["arms"]), *(show(value) for value in list(region.values())[1:])]
            for region in facts["regions"]
        ],
    )
    if facts["dominated"]:
        yield f"Never best: {names(facts['dominated'], ', ')}\n"
    means = {"mean_at_low": "μ(low θ)", "mean_at_high": "μ(high θ)"}
    worths = {"worth_at_low": "worth(low θ)", "worth_at_high": "worth(high θ)"}
    yield _arms("Arms: at the ends of the domain", facts, means | worths)
    yield from _hardest(facts["hardest"])
    yield from _constants(facts)


def _constants(facts: dict[str, Any]) -> "Iterator[RenderableType]":
    if facts["constants"] is None:
        yield "Some mean is flat or turns: theta cannot be read off it, so there are no constants."
        return
    constants = facts["constants"]
    yield _arms("Constants", facts, _CONSTANTS)
    yield (
        "|μ(θ) - μ(θ')| lies between D1 |θ - θ'|^γ1 and D2 |θ - θ'|^γ2. "
        f"All arms: informativeness γ = {show(facts['informativeness'])}, "
        f"D̄1 = {show(constants['inverse_constant'])}, γ̄1 = {show(constants['inverse_exponent'])}, "
        f"D2 = {show(constants['constant'])}, γ2 = {show(constants['exponent'])}"
    )


def _arms(title: str, facts: dict[str, Any], columns: dict[str, str]) -> "RenderableType":
    """One row per arm: those of the columns that there are."""
    keys = [key for key in columns if key in facts["arms"][0]]
    rows = [[show(arm[key]) for key in ("arm", *keys)] for arm in facts["arms"]]
    return _table(title, ("arm", *(columns[key] for key in keys)), rows)


def _hardest(hardest: dict[str, Any]) -> "Iterator[RenderableType]":
    if not hardest["edges"]:
        yield "Hardest parameters: none, the same arms are best everywhere\n"
        return
    edges = [show(edge) for edge in hardest["edges"]]
    yield f"Hardest parameters: beside an edge Δmin falls to 0, at θ = {names(edges, ', ')}"
    yield _table(
        "Hardest regions, at their easiest θ",
        ("θ", "Δmin", "δmin", "best"),
        [
            [
                show(region["easiest"]),
                show(region["largest_distance"]),
                show(region["suboptimality_gap"]),
                names(region["arms"]),
            ]
            for region in hardest["regions"]
        ],
    )


def _summary(facts: dict[str, Any]) -> str:
    low, high = facts["domain"]
    least, most = facts["worth_range"]
    worth = f"a decision is worth {show(least)} to {show(most)}\n" if facts["valued"] else ""
    remarks = "".join(f"note: {show(remark)}\n" for remark in facts["remarks"])
    return (
        f"{show(facts['model'])}: {counted(facts['n_arms'], 'arm')}, θ in [{low:g}, {high:g}], "
        f"{counted(len(facts['regions']), 'region')}, "
        f"{counted(len(facts['dominated']), 'arm')} never best\n"
        f"{worth}{remarks}"
    )


def _at_theta(at: dict[str, Any], valued: bool) -> str:
    gap = at["suboptimality_gap"]
    edge = at["nearest_edge"]
    worth = f" and worth {show(at['best_worth'])}" if valued else ""
    shown_gap = "every arm is best" if gap is None else f"δmin = {show(gap)}"
    shown_edge = "no other arm is ever best" if edge is None else f"nearest edge θ = {show(edge)}"
    return (
        f"At θ = {show(at['theta'])}: best {names(at['best'])} "
        f"with mean {show(at['best_mean'])}{worth}, {shown_gap}, "
        f"Δmin = {show(at['suboptimality_distance'])} ({shown_edge})\n"
    )


def _table(title: str, columns: tuple[str, ...], rows: list[list[str]]) -> "RenderableType":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, justify="right")
    shown = rows if len(rows) <= MAX_ROWS else [*rows[: MAX_ROWS - 2], rows[-1]]
    for row in shown:
        table.add_row(*row)
    if len(shown) < len(rows):
        table.caption = f"{len(rows) - len(shown):,} more before the last; --json has all"
        table.caption_justify = "left"
    return table


def show(value: object) -> str:
    """A number with six digits at most; anything else as it is, in one line; "-" for None.

    >>> show(0.4000000001), show(1234567.0), show("high"), show(None)
    ('0.4', '1.23457e+06', 'high', '-')
    """
    return "-" if value is None else printed_label(value)


def names(arms: list[Any], separator: str = " = ") -> str:
    """Arms in one line, the first ones only where there are many.

    >>> names([0.4, 0.45]), names(list(range(100)), ", ")
    ('0.4 = 0.45', '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ... (100)')
    """
    shown = separator.join(show(arm) for arm in arms[:12])
    return shown if len(arms) <= 12 else f"{shown}{separator}... ({len(arms)})"
