"""Simulate all readings of the paper, print them, and write a page.

python -m benchmarks.paper_readings [--runs N] [--horizon N] [--seed N] [--out FOLDER]
"""

import argparse
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from benchmarks.paper_readings import N_SIMULATIONS, load_readings, run_readings
from globalbandits.lab.report import print_outcomes, write_report


def main(arguments: Sequence[str] | None = None) -> Path:
    """Write ``results.json`` and ``report.html``, and return the path of the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper_readings")
    parser.add_argument("--runs", type=int, help="runs of each simulation (default: 1,000)")
    parser.add_argument("--horizon", type=int, help="rounds of a run (default: the paper's)")
    parser.add_argument("--seed", type=int, default=0, help="seed of all randomness")
    parser.add_argument("--out", type=Path, default=Path("results/readings"), help="folder")
    words = list(sys.argv[1:] if arguments is None else arguments)
    given = parser.parse_args(words)
    started = time.perf_counter()
    total = N_SIMULATIONS * (given.runs or load_readings().runs)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("readings", total=total)
        outcome = run_readings(
            runs=given.runs,
            horizon=given.horizon,
            seed=given.seed,
            tick=lambda runs: progress.advance(task, runs),
        )
    command = shlex.join(["python", "-m", "benchmarks.paper_readings", *words])
    page = write_report([outcome], given.out, command=command, seed=given.seed, started=started)
    print_outcomes([outcome], Console())
    return page


if __name__ == "__main__":
    print(main())
