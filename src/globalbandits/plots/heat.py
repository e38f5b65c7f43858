"""A table as colours: who is how far from the best."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.plots.style import FONT_SIZE, INK, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    """Coloured cells with a text in each; light is small, nan cells stay empty.

    Args:
        table: values, shape (n_rows, n_columns).
        rows: names of the rows, from the top.
        columns: names of the columns.
        texts: what to write in each cell.
        title: above the table.
        legend: what the colours mean.
        highest: value of the darkest colour.
    """
    with styled():
        n_rows, n_columns = table.shape
        figure, axes = new_figure(2.4 + 0.62 * n_columns, 1.6 + 0.25 * n_rows)
        image = axes.imshow(
            np.ma.masked_invalid(table),
            aspect="auto",
            cmap="cividis_r",
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
                dark = np.isfinite(table[row, column]) and table[row, column] > 0.55 * highest
                axes.text(
                    column,
                    row,
                    texts[row][column],
                    ha="center",
                    va="center",
                    fontsize=FONT_SIZE - 2.5,
                    color="white" if dark else INK,
                )
        bar = figure.colorbar(image, ax=axes, fraction=0.02, pad=0.01, aspect=40)
        bar.set_label(legend)
        bar.outline.set_visible(False)
        axes.set_title(title)
        return figure
