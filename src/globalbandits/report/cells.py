"""A user's own words in a terminal's tables."""

from typing import TYPE_CHECKING

from globalbandits.plots.labels import printed_label

if TYPE_CHECKING:
    from rich.text import Text


def plain(value: object) -> "Text":
    r"""A label as it is: nothing in it is markup, and nothing steers the terminal.

    >>> plain("shop [/old]\x07").plain
    'shop [/old]\\x07'
    """
    from rich.text import Text

    return Text(printed_label(value))
