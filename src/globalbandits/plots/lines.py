"""Lines with confidence bands, such as regret over time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from numpy.typing import ArrayLike

from globalbandits.plots.style import (
    INK,
    QUIET,
    LineStyle,
    axes_for,
    line_styles,
    place_legend,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Line(NamedTuple):
    """One line: its points, and an optional band.

    A reference (a bound, the truth) is drawn thin and black.
    """

    label: str
    x: ArrayLike
    y: ArrayLike
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    reference: bool = False


def band_figure(
    lines: Sequence[Line],
    *,
    xlabel: str,
    ylabel: str,
    title: str = "",
    log_x: bool = False,
    log_y: bool = False,
    marks: Sequence[float] = (),
    marks_label: str = "",
    size: tuple[float, float] = (7.2, 3.9),
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw lines with shaded bands, and thin vertical marks.

    >>> figure = band_figure(
    ...     [Line("WAGP", [1, 2, 3], [1, 1.5, 1.6], [0.9, 1.3, 1.4], [1.1, 1.7, 1.8])],
    ...     xlabel="round", ylabel="regret")
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['WAGP']
    """
    with styled():
        figure, axes = axes_for(ax, *size)
        axes.set(xlabel=xlabel, ylabel=ylabel)
        axes.set_title(title)
        axes.set_xscale("log" if log_x else "linear")
        axes.set_yscale("log" if log_y else "linear")
        axes.margins(x=0.0)
        for number, position in enumerate(marks):
            label = marks_label if number == 0 else "_"
            axes.axvline(position, color=QUIET, linewidth=0.7, linestyle=":", label=label)
        draw_lines(axes, lines)
        place_legend(axes, ax)
        return figure


_REFERENCE_DASHES = ("-", (0, (4, 2)), (0, (1, 1.5)))


def draw_lines(axes: "Axes", lines: Sequence[Line]) -> list[LineStyle]:
    """Draw lines with their bands and return their styles."""
    styles = iter(line_styles(sum(not line.reference for line in lines)))
    references = iter(_REFERENCE_DASHES * len(lines))
    used = []
    for line in lines:
        style = LineStyle(INK, next(references)) if line.reference else next(styles)
        _draw(axes, line, style)
        used.append(style)
    return used


def _draw(axes: "Axes", line: Line, style: LineStyle) -> None:
    if line.low is not None and line.high is not None:
        axes.fill_between(line.x, line.low, line.high, color=style.color, alpha=0.18, linewidth=0)
    width = 1.0 if line.reference else 1.7
    axes.plot(
        line.x,
        line.y,
        color=style.color,
        linestyle=style.dashes,
        linewidth=width,
        label=line.label,
    )
