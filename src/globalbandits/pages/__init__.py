"""What every HTML page is made of: one style, figures inside the page, lists and tables."""

from globalbandits.pages.html import (
    definitions,
    embed_figure,
    fill_page,
    framed_table,
    named_row,
    table,
)
from globalbandits.pages.notebook import curves, paragraph

__all__ = [
    "curves",
    "definitions",
    "embed_figure",
    "fill_page",
    "framed_table",
    "named_row",
    "paragraph",
    "table",
]
