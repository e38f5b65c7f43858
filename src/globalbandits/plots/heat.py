"""A table as a heat map."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from globalbandits._extras import needs_extra
from globalbandits._types import FloatArray
from globalbandits.plots.style import FONT_SIZE, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLORMAP = "YlOrBr"
# Share of the colormap in use. Black text on these colours has a contrast of at least 4.5, also on
# dark pages, which invert the lightness.
_MAX_COLOR = 0.48
_MIN_HEIGHT_INCHES = 3.3  # leaves room for the label of the colour bar


def heat_figure(
    table: FloatArray,
    rows: Sequence[str],
    columns: Sequence[str],
    texts: Sequence[Sequence[str]],
    *,
    title: str = "",
    legend: str = "",
    highest: float = 3.0,
) -> "Figure":
    """Draw coloured cells with a text in each. Small values are pale, and nan cells are empty.

    Args:
        table: values, shape (n_rows, n_columns).
        rows: names of the rows, from the top.
        columns: names of the columns.
        texts: texts of the cells.
        title: a line above the table.
        legend: label of the colour bar.
        highest: value of the darkest colour.
    """
    with needs_extra("lab"):
        import matplotlib
        from matplotlib.colors import ListedColormap

    colors = matplotlib.colormaps[_COLORMAP](np.linspace(0.0, _MAX_COLOR, 256))
    with styled():
        n_rows, n_columns = table.shape
        height = max(_MIN_HEIGHT_INCHES, 1.6 + 0.25 * n_rows)
        figure, axes = new_figure(2.4 + 0.62 * n_columns, height)
        image = axes.imshow(
            np.ma.masked_invalid(table),
            aspect="auto",
            cmap=ListedColormap(colors),
            vmin=0.0,
            vmax=highest,
        )
        axes.set_xticks(range(n_columns), columns, rotation=40, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(n_rows), rows)
        axes.tick_params(length=0)
        axes.grid(False)
        for spine in axes.spines.values():
            spine.set_visible(False)
        for row in range(n_rows):
            for column in range(n_columns):
                axes.text(
                    column,
                    row,
                    texts[row][column],
                    ha="center",
                    va="center",
                    fontsize=FONT_SIZE - 2.5,
                    color="black",
                )
        bar = figure.colorbar(image, ax=axes, fraction=0.02, pad=0.01, aspect=40)
        bar.set_label(legend)
        bar.outline.set_visible(False)
        axes.set_title(title)
        return figure
