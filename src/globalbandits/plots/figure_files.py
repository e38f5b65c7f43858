"""Figures as files: SVG, PNG and PDF."""

import os
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from globalbandits._files import replacing
from globalbandits.errors import ResultError
from globalbandits.plots.style import styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Without dates the same figure always gives the same bytes.
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

    The file is written completely or not at all. The same figure gives the same bytes.
    """
    target = check_figure_path(path)
    suffix = target.suffix.lower()
    with styled(), replacing(target) as temporary:
        figure.savefig(temporary, format=suffix[1:], metadata=_METADATA[suffix])
    return target
