"""The style of all figures: colours, sizes and legends, and how figures are created and saved."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from io import BytesIO
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

from globalbandits._extras import needs_extra
from globalbandits._files import replacing
from globalbandits.errors import ResultError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def new_picture(width: float, height: float) -> "Figure":
    """Return an empty figure of this size in inches that a notebook displays."""
    picture: Figure = _picture_class()(figsize=(width, height))
    return picture


@cache
def _picture_class() -> Any:
    """Create the class on first use, because it needs Matplotlib."""
    with needs_extra("lab"):
        from matplotlib.figure import Figure

    class Picture(Figure):
        """A figure that a notebook displays at the end of a cell."""

        def _repr_png_(self) -> bytes:
            buffer = BytesIO()
            self.savefig(buffer, format="png", dpi=self.dpi)
            return buffer.getvalue()

        def __reduce__(self) -> Any:
            # pickle cannot find the class by its name, because it is defined inside a function.
            return _empty_picture, (), self.__getstate__()

    return Picture


def _empty_picture() -> Any:
    """Return a picture without state, which pickle sets next."""
    kind = _picture_class()
    return kind.__new__(kind)


# The palette of Okabe and Ito, whose colours are distinct for all forms of colour blindness. Black
# is the last colour, because references are black too.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.2, 1.2)),
    (0, (6, 1.5, 1.2, 1.5)),
    (0, (9, 2)),
    (0, (3, 1, 1, 1, 1, 1)),
    (0, (2.5, 2.5)),
)
INK = "#222222"
QUIET = "#8a8a8a"
FONT_SIZE = 9.5

_NARROW: ContextVar[bool] = ContextVar("narrow", default=False)
_NARROW_WIDTH_INCHES = 4.4
_NARROW_TITLE_CHARACTERS = 40

_SETTINGS: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": QUIET,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": FONT_SIZE + 1.5,
    "figure.constrained_layout.use": True,
    "figure.dpi": 150,
    "font.family": "DejaVu Sans",
    "font.size": FONT_SIZE,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.7,
    "savefig.dpi": 200,
    "svg.fonttype": "path",
    "svg.hashsalt": "globalbandits",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


class LineStyle(NamedTuple):
    """Colour and dashes of one line."""

    color: Any
    dashes: Any


@contextmanager
def styled() -> Iterator[None]:
    """Apply the settings of all figures inside a block. Global settings are unchanged."""
    with needs_extra("lab"):
        import matplotlib

    with matplotlib.rc_context(_SETTINGS):
        yield


@contextmanager
def narrow() -> Iterator[None]:
    """Draw narrow figures for phones inside a block: legends below, panels stacked."""
    before = _NARROW.set(True)
    try:
        yield
    finally:
        _NARROW.reset(before)


def line_styles(n_lines: int) -> list[LineStyle]:
    """Return styles for n lines: a palette with dashes for a few, a ramp in lightness for many.

    A ramp suits arms, which have an order, and stays readable in grey.

    >>> len(line_styles(3)), len(line_styles(12))
    (3, 12)
    """
    if n_lines <= len(PALETTE):
        return [LineStyle(PALETTE[i], DASHES[i]) for i in range(n_lines)]
    with needs_extra("lab"):
        import matplotlib

    ramp = matplotlib.colormaps["viridis"]
    return [LineStyle(ramp(0.92 * i / (n_lines - 1)), "-") for i in range(n_lines)]


def new_figure(width: float, height: float) -> "tuple[Figure, Axes]":
    """Return a figure with one pair of axes, outside Matplotlib's global list of figures."""
    figure = new_picture(fitting(width), height)
    return figure, figure.subplots()


def figure_of(axes: "Axes") -> "Figure":
    """Return the figure of the user's axes."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    return figure


def axes_for(ax: "Axes | None", width: float, height: float) -> "tuple[Figure, Axes]":
    """Return the user's axes with their figure, or a new figure if there are none."""
    return new_figure(width, height) if ax is None else (figure_of(ax), ax)


def new_row(width: float, height: float, n: int) -> "tuple[Figure, list[Axes]]":
    """Return a figure with ``n`` pairs of axes, side by side or stacked in narrow figures."""
    if _NARROW.get():
        figure = new_picture(fitting(width), 0.8 * height * n)
        return figure, list(figure.subplots(n, 1, squeeze=False).flat)
    figure = new_picture(width, height)
    return figure, list(figure.subplots(1, n, squeeze=False).flat)


def narrow_picture(draw: "Callable[[], Figure]") -> "Figure":
    """Return the figure of ``draw`` for a phone: narrow, with wrapped titles."""
    with narrow():
        figure = draw()
    for axes in figure.axes:
        title = "\n".join(wrap(axes.get_title("left"), _NARROW_TITLE_CHARACTERS))
        if len(figure.axes) > 1:
            axes.set_title(title, loc="left")
        else:
            # Long names next to the axes would push their title out of the figure. A title of the
            # figure starts at its left edge.
            axes.set_title("", loc="left")
            figure.suptitle(title, x=0.01, horizontalalignment="left", size=FONT_SIZE + 1.5)
    return figure


def fitting(width: float) -> float:
    """Return the width of a figure in inches; narrow figures have less.

    >>> fitting(7.2)
    7.2
    """
    return min(width, _NARROW_WIDTH_INCHES) if _NARROW.get() else width


def place_legend(axes: "Axes", ax: "Axes | None") -> None:
    """Add a legend outside of new axes, or inside the user's axes, which may have neighbours."""
    if ax is None:
        legend_beside(axes)
    else:
        axes.legend(loc="best")


def legend_beside(axes: "Axes", **options: Any) -> None:
    """Add a legend to the right of the axes, or below narrow ones."""
    if _NARROW.get():
        axes.legend(loc="upper left", bbox_to_anchor=(0.0, -0.16), handlelength=3.0, **options)
        return
    axes.legend(
        loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, handlelength=3.0, **options
    )


# Files contain no dates, so that the same figure always gives the same bytes.
_METADATA: dict[str, dict[str, Any]] = {
    ".svg": {"Date": None},
    ".png": {},
    ".pdf": {"CreationDate": None},
}


def check_figure_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a figure, or raise an error if its suffix is not supported.

    >>> check_figure_path("out.gif")
    Traceback (most recent call last):
        ...
    globalbandits.errors.ResultError: figure path must end in .svg, .png or .pdf, got 'out.gif'
    """
    target = Path(path)
    if target.suffix.lower() not in _METADATA:
        raise ResultError(f"figure path must end in .svg, .png or .pdf, got {str(path)!r}")
    return target


def svg_bytes(figure: "Figure") -> bytes:
    """Return a figure as the bytes of an SVG file."""
    buffer = BytesIO()
    with styled():
        figure.savefig(buffer, format="svg", metadata=_METADATA[".svg"])
    return buffer.getvalue()


def save_figure(figure: "Figure", path: str | os.PathLike[str]) -> Path:
    """Write a figure as SVG, PNG or PDF, by the suffix of the path, and return the path.

    An interrupted write leaves no partial file. The same figure gives the same bytes.
    """
    target = check_figure_path(path)
    suffix = target.suffix.lower()
    with styled(), replacing(target) as temporary:
        figure.savefig(temporary, format=suffix[1:], metadata=_METADATA[suffix])
    return target
