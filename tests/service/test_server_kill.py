"""kill -9 of the server under 32 clients: nothing lost, nothing twice, all recomputed."""

import asyncio
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import globalbandits as gb
from globalbandits.service import client as client_module
from globalbandits.service.log.replay import replay
from globalbandits.service.server import bind
from globalbandits.service.stores import SQLiteStore
from tests.service.driver import BANDITS, bandit_of, reward_of
from tests.soak import length

ROOT = Path(__file__).parents[2]
# The second kill is that of a server which has itself recovered.
N_KILLS = length(2, 50)
N_CLIENTS = 32
PER_LIFE = 60  # pairs between two kills, at least

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no SIGKILL on Windows")


def start(path, port):
    code = "from globalbandits.cli import main; main()"
    arguments = ["serve", "--db", str(path), "--port", str(port)]
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


async def play(client, number, ledger, stop):
    """Decide and reward until the event is set; note only what was acknowledged."""
    name = bandit_of(number)
    n = 0
    while not stop.is_set():
        decision = await client.decide(name, f"{number}-{n}")
        told = await client.reward(name, decision.decision_id, reward_of(number, n))
        ledger[number, n] = decision.decision_id, decision.arm, told.version
        n += 1


async def kill_again_and_again(path):
    with bind("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    luck, ledger, stop = random.Random(2), {}, asyncio.Event()
    server = start(path, port)
    async with gb.AsyncClient(f"http://127.0.0.1:{port}", total=300) as client:
        for name, spec in BANDITS.items():
            await client.create(name, spec)
        players = [
            asyncio.create_task(play(client, number, ledger, stop)) for number in range(N_CLIENTS)
        ]
        for _ in range(N_KILLS):
            goal = len(ledger) + PER_LIFE
            while len(ledger) < goal and not any(player.done() for player in players):
                await asyncio.sleep(0.005)
            await asyncio.sleep(luck.uniform(0, 0.02))
            assert server.poll() is None
            server.send_signal(signal.SIGKILL)
            _, errors = server.communicate()
            assert errors == ""
            server = start(path, port)
        stop.set()
        await asyncio.gather(*players)
    server.send_signal(signal.SIGTERM)
    _, errors = server.communicate()
    assert "Traceback" not in errors, errors
    return ledger


@pytest.fixture(scope="module")
def survived(tmp_path_factory):
    path = tmp_path_factory.mktemp("killed") / "log.db"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(client_module, "_MAX_PAUSE_SECONDS", 0.3)  # the server is back soon
        ledger = asyncio.run(kill_again_and_again(path))
    store = SQLiteStore(path)  # the lock ended with the last process
    yield store, ledger
    store.close()


def test_nothing_is_lost_and_nothing_counts_twice(survived):
    store, ledger = survived
    assert len(ledger) >= N_KILLS * PER_LIFE
    decisions = {row.id: row for bandit in store.bandits() for row in store.decisions(bandit.id)}
    events = {}
    for bandit in store.bandits():
        found = list(store.events(bandit.id))
        assert [event.seq for event in found] == list(range(1, bandit.version + 1))
        for event in found:
            assert event.decision not in events
            events[event.decision] = event
    assert len(events) == len(ledger)  # every client ended with an answer
    for (number, n), (id, arm, version) in ledger.items():
        assert (decisions[id].request_id, decisions[id].shown) == (f"{number}-{n}", arm)
        assert (events[id].value, events[id].seq) == (reward_of(number, n), version)


def test_every_decision_is_recomputed(survived):
    store, ledger = survived
    found = [replay(store, row, compiled=False) for row in store.bandits()]
    assert [report.wrong for report in found] == [[], []]
    assert sum(report.agree for report in found) == len(ledger)
