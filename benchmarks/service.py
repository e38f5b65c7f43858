"""The log: durable pairs a second beside the disk's own limit, by group size, and replay."""

import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import Row
from globalbandits.service.log import Log
from globalbandits.service.log.append import DecisionRequest
from globalbandits.service.log.identifiers import DecisionIds
from globalbandits.service.log.replay import replay
from globalbandits.service.stores import SQLiteStore, Store
from globalbandits.service.stores.records import (
    BanditRow,
    Decision,
    Event,
    SettingRow,
    WriterRow,
)

GROUPS = (1, 16, 32, 128)
N_PAIRS = {1: 60, 16: 960, 32: 1_920, 128: 5_120}
N_ROUNDS = 5
SPEC = {
    "model": {"family": "demand.linear_power", "arms": [0.4 + 0.05 * k for k in range(12)]},
    "policy": {"policy": "wagp"},
    "seed": 1,
}


def run() -> list[Row]:
    """Raw limit and writer in turns, one group size after the other; then replay."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("GLOBALBANDITS_BENCH_DIR")) as folder:
        commit = commit_seconds(Path(folder, "commit.db"))
        rows.append(_row("a raw commit of one row", 1e3 * commit, "ms", "median of 50"))
        for group in GROUPS:
            rounds = [
                (
                    raw_pairs(SQLiteStore(Path(folder, f"raw-{group}-{n}.db")), group),
                    writer_pairs(_log(folder, group, n), group),
                )
                for n in range(N_ROUNDS)
            ]
            raw, ours = (statistics.median(column) for column in zip(*rounds, strict=True))
            ratios = sorted(mine / theirs for theirs, mine in rounds)
            note = f"ratios of {N_ROUNDS} turns: {ratios[0]:.2f} to {ratios[-1]:.2f}"
            rows.append(_row(f"raw statements, groups of {group}", raw, "pairs/s", ""))
            rows.append(_row(f"the writer, groups of {group}", ours, "pairs/s", note))
        ours = threads_pairs(Path(folder, "threads.db"), 32)
        rows.append(_row("32 threads that wait for every answer", ours, "pairs/s", ""))
        store = SQLiteStore(_log(folder, 128, 0), read_only=True)
        begun = time.perf_counter()
        found = replay(store, store.bandits()[0])
        seconds = time.perf_counter() - begun
        assert found.agree == found.decisions
        note = f"{found.agree} of {found.decisions} decisions agree"
        rows.append(_row("replay of a pair", 1e6 * seconds / found.version, "µs", note))
        store.close()
    return rows


def _log(folder: str, group: int, n: int) -> Path:
    return Path(folder, f"log-{group}-{n}.db")


def commit_seconds(path: Path) -> float:
    """The time of one commit that waits for the disk."""
    store = SQLiteStore(path)
    times = []
    for number in range(50):
        begun = time.perf_counter()
        with store.transaction() as rows:
            rows.add_writer(WriterRow(0, "", "", "", number))
        times.append(time.perf_counter() - begun)
    store.close()
    return statistics.median(times)


def raw_pairs(store: Store, group: int) -> float:
    """Pairs a second of the same statements in groups, with nobody deciding or waiting."""
    with store.transaction() as rows:
        rows.add_writer(WriterRow(0, "", "", "", 0))
        rows.add_bandit(BanditRow(0, "main", "raw", "{}", 1, 0, 0))
        rows.add_settings([SettingRow(1, 1, 0, "{}", 0)])
    n_groups = N_PAIRS[group] // group
    ids, version = DecisionIds(), 0
    begun = time.perf_counter()
    for number in range(n_groups):
        now = time.time_ns() // 1000
        made = [
            Decision(ids.new(now), 1, f"{number}-{k}", 0, 0, version, 1, 1, now, None)
            for k in range(group)
        ]
        given = [row.id for row in made]
        with store.transaction() as rows:
            rows.add_decisions(made)
        with store.transaction() as rows:
            rows.decisions_by_id(given)
            rows.events_by_decision(given)
            rows.lock([1])
            rows.add_events(
                [Event(1, version + k + 1, "reward", id, 0, 0.3, now) for k, id in enumerate(given)]
            )
            version += group
            rows.set_versions({1: version})
    seconds = time.perf_counter() - begun
    store.close()
    return n_groups * group / seconds


def writer_pairs(path: Path, group: int) -> float:
    """Pairs a second of the log: decided, stored, learned, answered, a group at a time."""
    log = Log(SQLiteStore(path))
    bandit, _ = log.create("shop", SPEC)
    n_groups = N_PAIRS[group] // group
    begun = time.perf_counter()
    for number in range(n_groups):
        asks = [log.new_decision(bandit, DecisionRequest(f"{number}-{k}")) for k in range(group)]
        made = [future.result().decision for future in log.writer.submit_all(asks)]
        tells = [log.new_reward(bandit, row.id, 0.2 + number % 10 / 100) for row in made]
        for future in log.writer.submit_all(tells):
            future.result()
    seconds = time.perf_counter() - begun
    log.close()
    return n_groups * group / seconds


def threads_pairs(path: Path, n_threads: int) -> float:
    """Pairs a second of the log with threads that each wait for every answer."""
    log = Log(SQLiteStore(path))
    log.create("shop", SPEC)
    each = N_PAIRS[n_threads] // n_threads

    def play(client: int) -> None:
        for number in range(each):
            id = log.decide("shop", f"{client}-{number}").decision.id
            log.reward("shop", id, 0.2 + number % 10 / 100)

    seconds = seconds_of(play, n_threads)
    log.close()
    return each * n_threads / seconds


def seconds_of(play: Callable[[int], None], n_threads: int) -> float:
    """How long clients, each a thread with its number, take together."""
    threads = [threading.Thread(target=play, args=(client,)) for client in range(n_threads)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begun


def _row(name: str, value: float, unit: str, note: str) -> Row:
    return Row(name=name, value=value, unit=unit, target=None, note=note)
