"""Two processes on one log, killed, cut off, their database restarted: as if there were one."""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from globalbandits.service.log.load import load
from globalbandits.service.log.replay import comparable_state
from globalbandits.service.stores import open_store
from tests.service.client_record import (
    WithoutSnapshots,
    check_decisions,
    check_memory,
    check_replay,
    check_rewards,
    read,
)
from tests.service.conftest import drop
from tests.service.driver import N_CLIENTS
from tests.service.postgresql import Line
from tests.service.test_kill import kill_when_grown

ROOT = Path(__file__).parents[2]
SOAK = "GLOBALBANDITS_SOAK" in os.environ
N_KILLS, N_RESTARTS, N_CUTS = (8, 2, 8) if SOAK else (3, 1, 2)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no SIGKILL on Windows")


class Replicas:
    """Two drivers on one database, the second one over a line that can be cut."""

    def __init__(self, server, folder):
        self.server, self.folder = server, folder
        self.line = Line(server.port)
        self.addresses = [server.address, self.line.address]
        self.ledgers = [folder / f"ledger-{replica}" for replica in (0, 1)]
        for ledger in self.ledgers:
            ledger.touch()
        self.running = {}

    def start(self, replica):
        state = self.folder / f"state-{replica}"
        words = [
            self.addresses[replica],
            self.ledgers[replica],
            self.folder / "stop",
            replica,
            state,
        ]
        command = [sys.executable, "-m", "tests.service.driver", *[str(word) for word in words]]
        self.running[replica] = subprocess.Popen(
            command, cwd=ROOT, stderr=subprocess.PIPE, text=True
        )

    def grow(self, replica, by):
        """Wait until the ledger of a replica's clients has grown by a number of bytes."""
        ledger = self.ledgers[replica]
        before = ledger.stat().st_size
        while ledger.stat().st_size < before + by:
            for process in self.running.values():
                assert process.poll() is None, process.communicate()
            time.sleep(0.01)

    def finish(self):
        """Stop the clients; the states of both replicas."""
        (self.folder / "stop").touch()
        states = [self.folder / f"state-{replica}" for replica in self.running]
        for state in states:
            while not state.with_name(f"{state.name}.stopped").exists():
                time.sleep(0.02)
        for state in states:
            state.with_name(f"{state.name}.go").touch()
        for process in self.running.values():
            _, errors = process.communicate()
            assert process.returncode == 0, errors
        return [json.loads(state.read_text()) for state in states]

    def close(self):
        self.line.close()
        for process in self.running.values():
            if process.poll() is None:
                process.kill()
                process.communicate()


@pytest.fixture(scope="module")
def survived(server, tmp_path_factory):
    """The log, the acknowledged requests, and the states in memory of both replicas."""
    drop(server)
    replicas = Replicas(server, tmp_path_factory.mktemp("replicas"))
    luck = random.Random(1)
    try:
        replicas.start(0)
        replicas.start(1)
        kills = 0
        for number in range(N_KILLS):
            replicas.grow(1, 1_000)
            kills += kill_when_grown(replicas.running[0], replicas.ledgers[0], 1_500, luck)
            replicas.start(0)
            if number < N_CUTS:
                replicas.line.cut()
                time.sleep(luck.uniform(0, 0.3))
                replicas.line.restore()
            if number < N_RESTARTS:
                replicas.grow(1, 1_000)
                server.stop()
                time.sleep(luck.uniform(0, 0.3))
                server.start()
        assert kills == N_KILLS
        replicas.grow(0, 3_000)
        states = replicas.finish()
    finally:
        replicas.close()
    store = open_store(server.address, read_only=True)
    told = [read(ledger) for ledger in replicas.ledgers]
    yield store, told[0][0] | told[1][0], told[0][1] | told[1][1], states
    store.close()


def test_both_replicas_decided(survived):
    _, decisions, _, _ = survived
    by_client = {client for client, _ in decisions}
    assert by_client == set(range(2 * N_CLIENTS))


def test_nothing_is_lost_and_nothing_counts_twice(survived):
    store, decisions, rewards, _ = survived
    check_decisions(store, decisions)
    check_rewards(store, rewards)
    check_memory(store, decisions, rewards)


def test_every_decision_is_recomputed(survived):
    store, decisions, *_ = survived
    check_replay(store, decisions)


def test_both_replicas_are_what_the_log_gives_bit_for_bit(survived):
    store, _, _, states = survived
    for row in store.bandits():
        whole = load(WithoutSnapshots(store), row, compiled=False)
        expected = json.loads(json.dumps(comparable_state(whole.state())))
        assert [state[row.name] for state in states] == [expected, expected]
