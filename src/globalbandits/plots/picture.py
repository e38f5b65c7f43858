"""Figures that a notebook displays without a magic command."""

from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_picture(width: float, height: float) -> "Figure":
    """Return an empty figure of this size in inches that a notebook displays."""
    picture: Figure = _picture_class()(figsize=(width, height))
    return picture


@cache
def _picture_class() -> Any:
    """Create the class on first use, because it needs Matplotlib."""
    from matplotlib.figure import Figure

    class Picture(Figure):
        """A figure that a notebook displays at the end of a cell."""

        def _repr_png_(self) -> bytes:
            buffer = BytesIO()
            self.savefig(buffer, format="png", dpi=self.dpi)
            return buffer.getvalue()

        def __reduce__(self) -> Any:
            # Made inside a function, the class cannot be found by its name.
            return _unmade, (), self.__getstate__()

    return Picture


def _unmade() -> Any:
    """Return a picture without state, which pickle sets next."""
    kind = _picture_class()
    return kind.__new__(kind)
