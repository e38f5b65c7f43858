"""kill -9 under load: nothing acknowledged is lost or counts twice; all can be recomputed."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from globalbandits.service.log.load import load
from globalbandits.service.log.replay import comparable_state
from globalbandits.service.stores import SQLiteStore
from tests.service.client_record import (
    WithoutSnapshots,
    check_decisions,
    check_memory,
    check_replay,
    check_rewards,
    read,
)
from tests.service.driver import N_CLIENTS
from tests.soak import length

ROOT = Path(__file__).parents[2]
N_KILLS = length(4, 100)
PAIRS = 15 * N_KILLS

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no SIGKILL on Windows")


def start(store, ledger, n_pairs):
    command = [sys.executable, "-m", "tests.service.driver", str(store), str(ledger), str(n_pairs)]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)


def kill_when_grown(process, ledger, by, luck):
    """Kill a process shortly after its ledger has grown by a number of bytes."""
    before = ledger.stat().st_size
    while process.poll() is None and ledger.stat().st_size < before + by:
        time.sleep(0.005)
    time.sleep(luck.uniform(0, 0.03))
    process.send_signal(signal.SIGKILL)
    _, errors = process.communicate()
    assert "Traceback" not in errors, errors
    return process.returncode == -signal.SIGKILL


@pytest.fixture(scope="module")
def survived(tmp_path_factory):
    """A store whose writers were killed, the last one not; and the ledger."""
    folder = tmp_path_factory.mktemp("kill")
    store, ledger = folder / "log.db", folder / "ledger.txt"
    ledger.touch()
    luck = random.Random(1)
    kills = 0
    for _ in range(N_KILLS):
        kills += kill_when_grown(start(store, ledger, PAIRS), ledger, 2_000, luck)
    last = start(store, ledger, PAIRS)
    _, errors = last.communicate()
    assert last.returncode == 0, errors
    assert kills == N_KILLS  # no driver had finished before it was killed
    opened = SQLiteStore(store, read_only=True)
    yield opened, *read(ledger)
    opened.close()


def test_every_acknowledged_decision_is_stored_unchanged(survived):
    store, decisions, _ = survived
    assert len(decisions) == N_CLIENTS * PAIRS
    check_decisions(store, decisions)


def test_every_acknowledged_reward_is_stored_once_bit_for_bit(survived):
    store, _, rewards = survived
    assert len(rewards) == N_CLIENTS * PAIRS
    check_rewards(store, rewards)


def test_memory_is_the_sum_of_the_ledger(survived):
    check_memory(*survived)


def test_every_decision_is_recomputed(survived):
    store, decisions, _ = survived
    check_replay(store, decisions)


def test_a_snapshot_and_what_follows_is_the_whole_log(survived):
    store, *_ = survived
    for row in store.bandits():
        quick = load(store, row, compiled=False)
        whole = load(WithoutSnapshots(store), row, compiled=False)
        assert comparable_state(quick.state()) == comparable_state(whole.state())
