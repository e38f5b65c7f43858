"""The log in PostgreSQL: durable pairs a second of one and of two processes, beside SQLite.

Every part is measured in turns, several times, on the same disk. A pair is a decision and its
reward. Clients are threads that wait for every answer, 32 in all.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import Row
from benchmarks.service import SPEC, raw_pairs, seconds_of
from globalbandits.service.log import Log
from globalbandits.service.stores import SQLiteStore, Store, open_store

N_CLIENTS = 32
SECONDS = 3.0
TURNS = 3


def run() -> list[Row]:
    """Raw statements, one process, two processes; nothing where there is no server."""
    from tests.service.postgresql import NoServer, Server

    try:
        server = Server()
    except NoServer as reason:
        return [_row("PostgreSQL", [0.0], "not measured", str(reason))]
    try:
        return _measure(server.address)
    finally:
        server.close()


def _measure(address: str) -> list[Row]:
    parts: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(dir=os.environ.get("GLOBALBANDITS_BENCH_DIR")) as folder:
        for turn in range(TURNS):
            file = str(Path(folder, f"{turn}.db"))
            for name, value in (
                ("SQLite, raw statements, groups of 32", _raw(SQLiteStore(f"{file}-raw"))),
                ("SQLite, one process", _processes([file], 1)),
                ("PostgreSQL, raw statements, groups of 32", _raw(_emptied(address))),
                ("PostgreSQL, one process", _processes([address], 1)),
                ("PostgreSQL, two processes, one bandit", _processes([address] * 2, 1)),
                ("PostgreSQL, two processes, 16 bandits", _processes([address] * 2, 16)),
            ):
                parts.setdefault(name, []).append(value)
    one = statistics.median(parts["PostgreSQL, one process"])
    return [
        _row(name, values, "pairs/s", f"{statistics.median(values) / one:.2f} of one process")
        for name, values in parts.items()
    ]


def _emptied(address: str) -> Store:
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS globalbandits CASCADE")
    return open_store(address)


def _raw(store: Store) -> float:
    return raw_pairs(store, 32)


def _processes(addresses: list[str], n_bandits: int) -> float:
    """Pairs a second of all processes together, begun at the same moment."""
    if addresses[0].startswith("postgresql"):
        _emptied(addresses[0]).close()
    each = N_CLIENTS // len(addresses)
    command = [sys.executable, "-m", "benchmarks.replicas"]
    started = [
        subprocess.Popen(
            [*command, address, str(each), str(n_bandits), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number, address in enumerate(addresses)
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return sum(float(process.communicate()[0]) for process in started)


def serve(address: str, n_clients: int, n_bandits: int, number: int) -> float:
    """Pairs a second of this process."""
    log = Log(open_store(address))
    names = [f"shop-{bandit}" for bandit in range(n_bandits)]
    for name in names:
        log.create(name, SPEC)
    done = [0] * n_clients
    print("ready", flush=True)
    sys.stdin.readline()
    until = time.perf_counter() + SECONDS

    def play(client: int) -> None:
        name = names[client % n_bandits]
        while time.perf_counter() < until:
            request = f"{number}-{client}-{done[client]}"
            log.reward(name, log.decide(name, request).decision.id, 0.2 + done[client] % 10 / 100)
            done[client] += 1

    seconds = seconds_of(play, n_clients)
    log.close()
    return sum(done) / seconds


def _row(name: str, values: list[float], unit: str, note: str) -> Row:
    spread = f"{min(values):.0f} to {max(values):.0f}; {note}"
    return Row(name=name, value=statistics.median(values), unit=unit, target=None, note=spread)


if __name__ == "__main__":
    print(serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
