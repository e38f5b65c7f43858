"""What Ctrl-C means where a command keeps what is finished."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from globalbandits.cli.streams import complain

INTERRUPTED = 130  # as shells count it


@contextmanager
def resumable() -> Iterator[None]:
    """Say that nothing finished is lost, and end with a code of its own."""
    try:
        yield
    except KeyboardInterrupt:
        complain("interrupted; what is finished is kept, and the same command goes on from there")
        raise typer.Exit(INTERRUPTED) from None
