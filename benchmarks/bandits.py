"""Ten thousand bandits in one SQLite file: memory of the process, and the time of a cold bandit.

Every bandit has prices of its own, so that no model is shared. The rows are written directly; the
decisions, rewards and evictions are the log's own. A child process does the work, so that its
memory is the memory of nothing else.
"""

import json
import multiprocessing
import os
import random
import resource
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import Row
from globalbandits.service.log import Log
from globalbandits.service.log.append import DecisionRequest
from globalbandits.service.log.replay import comparable_state
from globalbandits.service.log.settings import Settings, build_model, canonical_json
from globalbandits.service.stores import SQLiteStore
from globalbandits.service.stores.records import BanditRow, SettingRow

N_BANDITS = 10_000
N_USED = 4_500  # more than memory holds; their models stay
N_REWARDS = 20  # of each bandit that is used
N_COLD = 200
POLICIES = ("wagp", "thompson_sampling")


def run() -> list[Row]:
    """Fill a file, use a part of the bandits, and load some that have left memory."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("GLOBALBANDITS_BENCH_DIR")) as folder:
        path = Path(folder, "bandits.db")
        _fill(path)
        context = multiprocessing.get_context("spawn")
        with context.Pool(1) as pool:
            found = pool.apply(_use, (path,))
    note = f"{found['loaded']} in memory after {N_USED} were used"
    rows = [_row("memory with 10,000 bandits", found["mib"], "MiB", "<= 2048", note)]
    for kind in ("known", "new"):
        seconds, cpu, n_same = found[kind]
        note = f"{n_same} of {N_COLD} states have the same bits; 95 %: {_percentile(seconds):.0f}"
        name = f"a cold bandit, {kind} model"
        rows.append(_row(f"{name}, median", statistics.median(seconds), "ms", "<= 50", note))
        rows.append(_row(f"{name}, CPU", statistics.median(cpu), "ms", None, ""))
    rows.append(_row("a page of names", found["page"], "ms", None, "100 of 10,000, with a search"))
    return rows


def _percentile(values: list[float]) -> float:
    return sorted(values)[int(0.95 * len(values))]


def _spec(number: int) -> dict[str, Any]:
    luck = random.Random(number)
    prices = sorted(round(luck.uniform(1.0, 9.0), 2) + 0.001 * k for k in range(7))
    return {
        "model": {"family": "demand.exponential", "arms": prices, "cost": 0.5},
        "policy": {"policy": POLICIES[number % len(POLICIES)]},
    }


def _fill(path: Path) -> None:
    store = SQLiteStore(path)
    with store.transaction() as rows:
        for number in range(N_BANDITS):
            spec = _spec(number)
            row = BanditRow(0, "main", f"shop-{number:05}", canonical_json(spec), number, 0, 0)
            id = rows.add_bandit(row)
            body = canonical_json(Settings(**spec).to_dict())
            rows.add_settings([SettingRow(id, 1, 0, body, 0)])
    store.close()


def _use(path: Path) -> dict[str, Any]:
    log = Log(SQLiteStore(path))
    luck, states = random.Random(1), {}
    for number in range(N_USED):
        name = f"shop-{number:05}"
        bandit = log.bandit(name)
        asks = [log.new_decision(bandit, DecisionRequest(f"{k}")) for k in range(N_REWARDS)]
        made = [future.result().decision for future in log.writer.submit_all(asks)]
        tells = [log.new_reward(bandit, row.id, float(luck.random() < 0.3)) for row in made]
        for future in log.writer.submit_all(tells):
            future.result()
        states[name] = _bits(bandit)
    known = _load(log, {name: states[name] for name in list(states)[2_000 : 2_000 + N_COLD]})
    build_model.clear()
    new = _load(log, {name: states[name] for name in list(states)[:N_COLD]})
    begun = time.perf_counter()
    assert len(log.names(search="shop-0", after="shop-00500", limit=100)) == 100
    page = 1e3 * (time.perf_counter() - begun)
    n_loaded = len(log.loaded())
    log.close()
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"mib": mib, "known": known, "new": new, "loaded": n_loaded, "page": page}


def _load(log: Log, states: dict[str, str]) -> tuple[list[float], list[float], int]:
    """Milliseconds and CPU time of a decision of each cold bandit, and how many are unchanged."""
    seconds, cpu, n_same = [], [], 0
    for name, bits in states.items():
        assert not log.is_loaded(name)
        begun, used = time.perf_counter(), time.thread_time()
        log.new_decision(log.bandit(name), DecisionRequest("cold"))
        cpu.append(1e3 * (time.thread_time() - used))
        seconds.append(1e3 * (time.perf_counter() - begun))
        n_same += _bits(log.bandit(name)) == bits
    return seconds, cpu, n_same


def _bits(bandit: Any) -> str:
    return json.dumps(comparable_state(bandit.state()), sort_keys=True)


def _row(name: str, value: float, unit: str, target: str | None, note: str) -> Row:
    return Row(name=name, value=value, unit=unit, target=target, note=note)
