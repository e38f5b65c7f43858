"""From history to a model: a million rows in memory and in a file, and the verdict."""

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import globalbandits as gb
from benchmarks import Row

N_ROWS = 1_000_000
N_GROUPS = 500
COLUMNS: dict[str, Any] = {"group": "group", "arm": "arm", "reward": "reward"}


def run() -> list[Row]:
    """Processor seconds; what is compiled is compiled before."""
    history = gb.histories.exponential_demand(
        groups=N_GROUPS, rewards=N_ROWS // N_GROUPS, seed=1, rho=0.02
    )
    work = f"{N_ROWS:,} rows, {N_GROUPS} groups, 7 arms"
    names = np.array([f"store {number}" for number in range(N_GROUPS)])
    texts = {**history, "group": names[history["group"]]}
    rows = [
        timed("fit: rows in memory, no verdict", texts, 5.0, work + ", groups are texts"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.csv"
        history.save(path)
        rows.append(timed("fit: CSV file, no verdict", path, 8.0, work))
    small = gb.histories.exponential_demand(groups=50, seed=1, rho=0.02)
    gb.fit(small, **COLUMNS, cost=1.0, horizon=10, runs=2)  # compiles
    start = time.process_time()
    gb.fit(small, **COLUMNS, cost=1.0)
    seconds = time.process_time() - start
    note = "50 groups, 7,000 rows: fit, scores, 20 refits, 7 policies in 200 groups of 1,000 rounds"
    rows.append(Row(name="fit: verdict", value=seconds, unit="CPU s", target=15.0, note=note))
    return rows


def timed(name: str, history: object, target: float, note: str) -> Row:
    """One fit without a verdict."""
    file: dict[str, Any] = {"group": "store", "arm": "price", "reward": "sold"}
    columns = file if isinstance(history, Path) else COLUMNS
    start = time.process_time()
    gb.fit(history, **columns, cost=1.0, verdict=False)
    seconds = time.process_time() - start
    return Row(name=name, value=seconds, unit="CPU s", target=target, note=note)
