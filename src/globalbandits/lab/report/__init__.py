"""Reports: HTML pages, figures, files of numbers, and tables in the terminal."""

from globalbandits.lab.report.paper_report import print_outcomes, write_report

__all__ = ["print_outcomes", "write_report"]
