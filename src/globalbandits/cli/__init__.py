"""The command line: parsing and printing, nothing else."""

from globalbandits.cli.app import main

__all__ = ["main"]
