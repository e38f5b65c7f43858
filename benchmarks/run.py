"""Run every benchmark (or those named), print a table, and keep the numbers as JSON.

python -m benchmarks.run [NAME | NAME:PART ...]

A benchmark of several tables has a dictionary ``PARTS``: ``shops:exact`` runs one part of
``shops``.
"""

import importlib
import json
import os
import pkgutil
import platform
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import benchmarks
from benchmarks import Row
from globalbandits import __version__
from globalbandits._files import replacing

RESULTS = Path("results/bench.json")
Measurement = Callable[[], list[Row]]


def benchmark_names() -> list[str]:
    """Return the names of the modules with a function `run`."""
    found = pkgutil.iter_modules(benchmarks.__path__)
    names = [module.name for module in found if not module.ispkg]
    return [
        name
        for name in names
        if name != "run" and not name.startswith("_") and "\ndef run(" in source_of(name)
    ]


def source_of(name: str) -> str:
    """Return the text of a module, which is slow to import."""
    return (Path(benchmarks.__path__[0]) / f"{name}.py").read_text(encoding="utf-8")


def parts_of(name: str) -> dict[str, Measurement]:
    """Return the measurements of a benchmark that can be run alone, by name."""
    parts: dict[str, Measurement] = getattr(
        importlib.import_module(f"benchmarks.{name}"), "PARTS", {}
    )
    return parts


def measurement_of(name: str) -> Measurement:
    """Return the function of a benchmark, or of one of its parts."""
    benchmark, _, part = name.partition(":")
    if part:
        return parts_of(benchmark)[part]
    measurement: Measurement = importlib.import_module(f"benchmarks.{benchmark}").run
    return measurement


def reached(value: float, target: float | str | None) -> bool | None:
    """Whether a value meets its target; None if there is none, or it is only words.

    >>> reached(3.0, 5.0), reached(3.0, ">= 5"), reached(3.0, "<= 5"), reached(3.0, "small")
    (True, False, True, None)
    """
    if target is None:
        return None
    sign, _, number = str(target).rpartition(" ")
    try:
        bound = float(number)
    except ValueError:
        return None
    return value >= bound if sign == ">=" else value <= bound


def main(names: Sequence[str]) -> int:
    """Run, print, save; the exit code is 1 if a benchmark could not run."""
    known = benchmark_names()
    unknown = sorted({name.partition(":")[0] for name in names} - set(known))
    if unknown:
        print(f"error: benchmark must be one of {', '.join(known)}, got {unknown[0]!r}")
        return 2
    for name in names:
        benchmark, _, part = name.partition(":")
        parts = parts_of(benchmark) if part else {}
        if part and part not in parts:
            print(f"error: part of {benchmark} must be one of {', '.join(parts)}, got {part!r}")
            return 2
    console = Console()
    rows: list[dict[str, Any]] = []
    failed = []
    for name in names or known:
        start = time.perf_counter()
        try:
            measured = measurement_of(name)()
        except Exception:  # one broken benchmark must not hide the numbers of the others
            traceback.print_exc()
            failed.append(name)
            continue
        console.print(as_table(f"{name} ({time.perf_counter() - start:.0f} s)", measured))
        rows += [{"benchmark": name, **row} for row in measured]
    save(rows, failed)
    console.print(f"numbers: {RESULTS}")
    return 1 if failed else 0


def as_table(title: str, rows: Sequence[Row]) -> Table:
    """The rows of one benchmark for a person."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("what")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("unit")
    table.add_column("target", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("note", style="dim")
    words = {True: "[green]met[/green]", False: "[red]missed[/red]", None: ""}
    for row in rows:
        target = "" if row["target"] is None else str(row["target"])
        verdict = words[reached(row["value"], row["target"])]
        value = f"{row['value']:.4g}"
        table.add_row(row["name"], value, row["unit"], target, verdict, row["note"])
    return table


def save(rows: Sequence[dict[str, Any]], failed: Sequence[str]) -> None:
    """Keep the numbers, and what they were measured on."""
    content = {
        "version": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        "failed": list(failed),
        "rows": [{**row, "reached": reached(row["value"], row["target"])} for row in rows],
    }
    with replacing(RESULTS) as temporary:
        temporary.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
