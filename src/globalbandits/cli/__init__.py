"""The command line. It only parses arguments and prints results."""

from globalbandits.cli.app import main

__all__ = ["main"]
