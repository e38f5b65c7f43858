"""The command line. It only parses arguments and prints results."""

import sys
from collections.abc import Sequence

from globalbandits._extras import needs_extra
from globalbandits.errors import MissingExtraError


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit. Without its packages, print how to install them."""
    try:
        with needs_extra("lab"):
            from globalbandits.cli.program import main as run
    except MissingExtraError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    run(arguments)


__all__ = ["main"]
