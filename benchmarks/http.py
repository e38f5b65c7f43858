"""The decision service: CPU of a durable request, its times, pairs a second, beside the disk."""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import Row
from benchmarks.service import SPEC, commit_seconds
from globalbandits.service.server import bind

N_CLIENTS = 32
N_TRIVIAL, N_PAIRS = 100, 25  # of each client in a round
N_ROUNDS = 5
TOKEN = "a-token-for-the-benchmark"
POLICIES = {"WAGP": "wagp", "Thompson sampling": "thompson_sampling", "Elastic": "elastic"}
TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class Round(NamedTuple):
    """What one round of requests took."""

    requests: int
    seconds: float
    cpu: float  # of the server
    times: list[float]


def run() -> list[Row]:
    """Trivial and durable requests in turns, for three policies."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("GLOBALBANDITS_BENCH_DIR")) as folder:
        commit = commit_seconds(Path(folder, "commit.db"))
        with bind("127.0.0.1", 0) as free:
            port = free.getsockname()[1]
        code = "from globalbandits.cli import main; main()"
        command = [
            sys.executable,
            "-c",
            code,
            "serve",
            "--db",
            f"{folder}/log.db",
            "--port",
            str(port),
        ]
        environment = os.environ | {"GLOBALBANDITS_TOKEN": TOKEN}
        server = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        try:
            rows = asyncio.run(measure(server.pid, port, commit))
        finally:
            server.terminate()
            server.wait()
    return rows


async def measure(pid: int, port: int, commit: float) -> list[Row]:
    """All rows."""
    rows = [_row("a raw commit of one row", 1e3 * commit, "ms", None, "median of 50")]
    connections = [await Connection.open(port) for _ in range(N_CLIENTS)]
    for label, kind in POLICIES.items():
        spec = SPEC | {"policy": {"policy": kind}}
        status, _ = await connections[0].send("PUT", f"/v1/bandits/{kind}", spec)
        assert status == 201, status
        rounds = []
        for number in range(N_ROUNDS + 1):
            trivial = await play(pid, connections, Trivial())
            durable = await play(pid, connections, Pairs(kind, number))
            rounds.append((trivial, durable))
        rows += summary(label, commit, rounds[1:])  # the first one warms up
    for connection in connections:
        connection.close()
    return rows


def summary(label: str, commit: float, rounds: list[tuple[Round, Round]]) -> list[Row]:
    """The rows of one policy."""
    cpu = [1e6 * durable.cpu / durable.requests for _, durable in rounds]
    plain = [1e6 * trivial.cpu / trivial.requests for trivial, _ in rounds]
    ratio = statistics.median(a / b for a, b in zip(cpu, plain, strict=True) if b > 0)
    pairs = statistics.median(durable.requests / 2 / durable.seconds for _, durable in rounds)
    times = sorted(taken for _, durable in rounds for taken in durable.times)
    p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
    costs = f"{statistics.median(cpu):.0f} and {statistics.median(plain):.0f} µs"
    goal = ">= 2000" if commit <= 0.002 else None
    return [
        _row(f"{label}: CPU of a durable request / trivial one", ratio, "times", 2.5, costs),
        _row(f"{label}: durable pairs, 32 connections", pairs, "pairs/s", goal, ""),
        _row(f"{label}: p50 of a durable request", 1e3 * p50, "ms", None, ""),
        _row(f"{label}: p99 of a durable request", 1e3 * p99, "ms", None, ""),
    ]


class Trivial:
    """Requests that store nothing, with the same check of the token."""

    async def __call__(self, client: int, connection: "Connection") -> list[float]:
        """Times of each request."""
        times = []
        for _ in range(N_TRIVIAL):
            begun = time.perf_counter()
            status, _ = await connection.send("GET", "/v1/bandits")
            assert status == 200, status
            times.append(time.perf_counter() - begun)
        return times


class Pairs:
    """Decisions and their rewards."""

    def __init__(self, kind: str, number: int) -> None:
        self._path = f"/v1/bandits/{kind}/decisions"
        self._number = number

    async def __call__(self, client: int, connection: "Connection") -> list[float]:
        """Times of each request."""
        times = []
        for n in range(N_PAIRS):
            begun = time.perf_counter()
            body = {"request_id": f"{self._number}-{client}-{n}"}
            status, answer = await connection.send("POST", self._path, body)
            assert status == 201, status
            middle = time.perf_counter()
            path = f"{self._path}/{json.loads(answer)['decision_id']}/reward"
            status, _ = await connection.send("PUT", path, {"reward": 0.2 + n % 10 / 100})
            assert status == 200, status
            times += [middle - begun, time.perf_counter() - middle]
        return times


async def play(pid: int, connections: "list[Connection]", what: Any) -> Round:
    """One round on all connections at once."""
    cpu, begun = cpu_seconds(pid), time.perf_counter()
    found = await asyncio.gather(*(what(n, one) for n, one in enumerate(connections)))
    seconds = time.perf_counter() - begun
    times = [taken for one in found for taken in one]
    return Round(len(times), seconds, cpu_seconds(pid) - cpu, times)


def cpu_seconds(pid: int) -> float:
    """CPU time of a process so far; 0 where it cannot be known."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICK


class Connection:
    """A connection that costs the measuring process little."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, port: int) -> "Connection":
        """Connect, as soon as the server listens."""
        for _ in range(600):
            try:
                return cls(*await asyncio.open_connection("127.0.0.1", port))
            except OSError:
                await asyncio.sleep(0.1)
        raise TimeoutError("the server did not start")

    async def send(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        """Send a request; the status and the body of its answer."""
        data = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        self._writer.write(head.encode() + data)
        headers = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = int(headers.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return int(headers[9:12]), await self._reader.readexactly(length)

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()


def _row(name: str, value: float, unit: str, target: float | str | None, note: str) -> Row:
    return Row(name=name, value=value, unit=unit, target=target, note=note)
