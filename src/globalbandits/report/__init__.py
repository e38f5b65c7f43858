"""The outcome of the experiments for people: a page, figures, tables, and a JSON file."""

from globalbandits.report.terminal import print_outcomes
from globalbandits.report.writing import write_report

__all__ = ["print_outcomes", "write_report"]
