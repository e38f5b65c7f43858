"""Standard output and error as they may be: without all letters, closed, or ending early."""

import contextlib
import io
import os
import sys
from typing import TextIO


def make_safe() -> None:
    """Let no letter that a stream cannot write be an error: it is spelled out instead."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def takes_any_letter(stream: TextIO | None) -> bool:
    """Whether a stream writes all letters as they are."""
    return (getattr(stream, "encoding", None) or "").lower().replace("-", "").startswith("utf")


def is_open(stream: TextIO | None) -> bool:
    """Whether there is such a stream at all."""
    return stream is not None and not stream.closed


def complain(message: str) -> None:
    """One line on standard error, if there is one."""
    if is_open(sys.stderr):
        with contextlib.suppress(OSError):
            print(f"error: {message}", file=sys.stderr)


def flush() -> None:
    """Write what is still to be written now, so that trouble with it is met here."""
    for stream in (sys.stdout, sys.stderr):
        if is_open(stream):
            stream.flush()


def abandon() -> None:
    """Nobody listens any more: let what Python flushes when it ends go nowhere."""
    for stream in (sys.stdout, sys.stderr):
        if is_open(stream):
            try:
                stream.flush()
            except (OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                with contextlib.suppress(OSError, ValueError):  # a stream without a number
                    os.dup2(nowhere, stream.fileno())
                os.close(nowhere)
