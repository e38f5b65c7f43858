"""What every HTML page is made of: one style, figures inside the page, lists and tables."""

from globalbandits.pages.html import definitions, embed_figure, fill_page, table

__all__ = ["definitions", "embed_figure", "fill_page", "table"]
