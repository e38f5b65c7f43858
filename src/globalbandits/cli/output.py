"""Output of commands: JSON, error lines, and streams that may be closed or end early."""

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

import typer

INTERRUPTED = 130  # a shell's exit code for Ctrl-C


def make_safe() -> None:
    """Write characters that a stream cannot encode as escapes, instead of raising an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def encodes_everything(stream: TextIO | None) -> bool:
    """Whether a stream can encode every character."""
    return (getattr(stream, "encoding", None) or "").lower().replace("-", "").startswith("utf")


def is_open(stream: TextIO | None) -> bool:
    """Whether the stream exists and is open."""
    return stream is not None and not stream.closed


def complain(message: str) -> None:
    """Write one line to standard error, if it is open."""
    if is_open(sys.stderr):
        with contextlib.suppress(OSError):
            print(f"error: {message}", file=sys.stderr)


def flush() -> None:
    """Flush both streams now, so that their errors are raised here."""
    for stream in (sys.stdout, sys.stderr):
        if is_open(stream):
            stream.flush()


def abandon() -> None:
    """Redirect streams that cannot be flushed to the null device, so that Python exits quietly."""
    for stream in (sys.stdout, sys.stderr):
        if is_open(stream):
            try:
                stream.flush()
            except (OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                with contextlib.suppress(OSError, ValueError):  # a stream without a descriptor
                    os.dup2(nowhere, stream.fileno())
                os.close(nowhere)


def as_json(value: Any) -> str:
    """Return a value as JSON, with escapes if standard output cannot encode every character."""
    import json

    from globalbandits._plain_data import plain

    ascii_only = not encodes_everything(sys.stdout)
    return f"{json.dumps(plain(value), indent=2, ensure_ascii=ascii_only, allow_nan=False)}\n"


@contextlib.contextmanager
def resumable() -> Iterator[None]:
    """On Ctrl-C, print a message that finished work is kept, and exit with its own code."""
    try:
        yield
    except KeyboardInterrupt:
        complain("interrupted; what is finished is kept, and the same command continues from there")
        raise typer.Exit(INTERRUPTED) from None
