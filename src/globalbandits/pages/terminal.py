"""Tables in a terminal."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from globalbandits._extras import needs_extra
from globalbandits.plots.labels import printed_label

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


def literal(value: object) -> "Text":
    r"""Return a label as text without markup; control characters are escaped.

    >>> literal("shop [/old]\x07").plain
    'shop [/old]\\x07'
    """
    with needs_extra("lab"):
        from rich.text import Text

    return Text(printed_label(value))


def text_table(
    columns: Sequence[str],
    rows: "Iterable[Sequence[str | Text]]",
    *,
    title: str | None = None,
    left: Sequence[str] | None = None,
    wrap: bool = True,
) -> "Table":
    """Return a table for a rich console.

    Args:
        columns: the heads of the columns.
        rows: the cells; a string is shown literally, a `Text` with its style.
        title: text above the table.
        left: heads of the left-aligned columns, by default the first one; the others are
            right-aligned.
        wrap: whether long cells continue on the next line.
    """
    with needs_extra("lab"):
        from rich.box import SIMPLE_HEAD
        from rich.table import Table

    table = Table(
        title=None if title is None else literal(title),
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        collapse_padding=not wrap,
        pad_edge=title is not None,
    )
    aligned = columns[:1] if left is None else left
    for column in columns:
        justify: Literal["left", "right"] = "left" if column in aligned else "right"
        table.add_column(literal(column), justify=justify, no_wrap=not wrap)
    for row in rows:
        table.add_row(*(literal(cell) if isinstance(cell, str) else cell for cell in row))
    return table
