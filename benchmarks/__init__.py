"""Measurements behind ``make bench``.

It runs the modules with a function ``run() -> list[Row]``. They measure this machine: compare
ratios between machines, not seconds. The other modules have commands of their own, which their
first lines name. The packages are not part of ``make bench``: `adapters` connects other bandit
libraries with ours, and `paper_readings` simulates readings of what the paper leaves open.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any, TypedDict


class Row(TypedDict):
    """One measured number.

    ``target`` is a number not to exceed, or a text such as ">= 5", or None.
    """

    name: str
    value: float
    unit: str
    target: float | str | None
    note: str


def median_seconds(call: Callable[[], Any], repeats: int = 7, loops: int = 1) -> float:
    """Median time of one call, after one call that does not count."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(loops):
            call()
        times.append((time.perf_counter() - start) / loops)
    return statistics.median(times)
