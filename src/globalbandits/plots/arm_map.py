"""A map of the best arm over two parameters."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from globalbandits._types import BoolArray, IntArray
from globalbandits.plots.style import FONT_SIZE, INK, axes_for, legend_beside, line_styles, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Names in the legend.
_MAX_LEGEND = 14

# Regions with a smaller share of the map get no name inside.
_MIN_SHARE = 0.01

_ALPHA = 0.35


def arm_map_figure(
    labels: IntArray,
    x: tuple[float, float],
    y: tuple[float, float],
    arms: Sequence[str],
    *,
    trapped: BoolArray | None = None,
    mark: tuple[float, float] | None = None,
    xlabel: str = "",
    ylabel: str = "",
    title: str = "",
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw the best arm in every cell of a map.

    Args:
        labels: best arm of the cells, shape (n_x, n_y).
        x: interval of the first parameter.
        y: interval of the second parameter.
        arms: names of the arms.
        trapped: cells to hatch, on a grid of the same or of another size.
        mark: a point to mark.
        xlabel: name of the first parameter.
        ylabel: name of the second parameter.
        title: a line above the map.
        ax: axes to draw into; by default a new figure.

    >>> figure = arm_map_figure(np.array([[0, 0], [1, 1]]), (0, 1), (0, 2), ["low", "high"])
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['low', 'high']
    """
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    colors = [style.color for style in line_styles(len(arms))]
    present = np.unique(labels)
    extent = (*x, *y)
    with styled():
        figure, axes = axes_for(ax, 7.2, 4.8)
        axes.grid(visible=False)
        axes.imshow(
            labels.T,
            origin="lower",
            extent=extent,
            aspect="auto",
            interpolation="nearest",
            cmap=ListedColormap(colors),
            vmin=-0.5,
            vmax=len(arms) - 0.5,
            alpha=_ALPHA,
        )
        handles = [
            Patch(facecolor=colors[arm], alpha=_ALPHA, label=arms[arm])
            for arm in present.tolist()[:_MAX_LEGEND]
        ]
        for arm in present.tolist():
            inside = labels == arm
            if inside.mean() >= _MIN_SHARE:
                _name(axes, inside, x, y, arms[arm])
        if trapped is not None and trapped.any():
            axes.contourf(
                *(
                    low + (high - low) * (np.arange(n) + 0.5) / n
                    for (low, high), n in zip((x, y), trapped.shape, strict=True)
                ),
                trapped.T.astype(float),
                levels=[0.5, 1.5],
                colors="none",
                hatches=["///"],
            )
            handles.append(
                Patch(facecolor="none", hatch="///", label="greedy play can stay\nwith a wrong arm")
            )
        if mark is not None:
            axes.plot(*mark, "o", color=INK, markersize=5)
        axes.set(xlabel=xlabel, ylabel=ylabel, xlim=x, ylim=y)
        axes.set_title(title)
        if ax is None:
            legend_beside(axes, handles=handles)
        else:
            axes.legend(handles=handles, loc="best")
        return figure


def _name(
    axes: "Axes",
    inside: BoolArray,
    x: tuple[float, float],
    y: tuple[float, float],
    name: str,
) -> None:
    """Write the name at the point of a region that is farthest from its edge."""
    from scipy.ndimage import distance_transform_edt

    depth = distance_transform_edt(np.pad(inside, 1))[1:-1, 1:-1]
    deepest = np.argwhere(depth > 0.999 * depth.max())
    row, column = deepest[len(deepest) // 2]
    axes.text(
        x[0] + (x[1] - x[0]) * (row + 0.5) / inside.shape[0],
        y[0] + (y[1] - y[0]) * (column + 0.5) / inside.shape[1],
        name,
        ha="center",
        va="center",
        fontsize=FONT_SIZE - 1.5,
        color=INK,
    )
