"""What results are shown with: parts of HTML pages and notebooks, and tables in a terminal."""

from globalbandits.pages.html import (
    definitions,
    embed_figure,
    fill_page,
    framed_table,
    named_row,
    table,
)
from globalbandits.pages.notebook import curves, paragraph
from globalbandits.pages.terminal import literal, text_table

__all__ = [
    "curves",
    "definitions",
    "embed_figure",
    "fill_page",
    "framed_table",
    "literal",
    "named_row",
    "paragraph",
    "table",
    "text_table",
]
