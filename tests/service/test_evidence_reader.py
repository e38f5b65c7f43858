"""Evidence in another process: when it is read again, and when that process ends."""

import logging
import os
import signal
import subprocess
import sys
import time

import pytest

from globalbandits.errors import ConflictError, GlobalBanditsError
from globalbandits.service import evidence_history, evidence_reader
from globalbandits.service.evidence_history import EvidenceHistory
from globalbandits.service.evidence_reader import EvidenceReader, EvidenceReading
from globalbandits.service.log import Log
from globalbandits.service.stores import SQLiteStore
from tests.service.worlds import MODEL, WAGP

EVIDENCE = {"interval": {"low": 0.1, "high": 0.9}, "model": {"theta": 0.5, "log_e_value": 0.0}}


@pytest.fixture(scope="module")
def readings():
    made = EvidenceReader(seconds=0.0)
    yield made
    made.close()


@pytest.fixture
def bandit():
    log = Log(SQLiteStore(":memory:"), compiled=False)
    log.create("shop", WAGP)
    log.reward("shop", log.decide("shop").decision.id, 0.3)
    yield log.bandit("shop"), log
    log.close()


def soon(ask):
    until = time.monotonic() + 60
    while (found := ask()) is None:
        assert time.monotonic() < until
        time.sleep(0.01)
    return found


def test_changed_settings_are_read_again(readings, bandit):
    shop, log = bandit
    first = soon(lambda: readings.ask(shop))
    assert "earnings" not in first.evidence
    log.change("shop", {"incumbent": 0.5, "model": MODEL | {"cost": 0.3}})

    def changed():
        found = readings.ask(shop)
        return found if found.number == 2 else None

    second = soon(changed)
    assert second.version == first.version == 1
    assert "earnings" in second.evidence


def test_a_failed_reading_is_logged(readings, bandit, monkeypatch, caplog):
    shop, _ = bandit
    monkeypatch.setattr(evidence_reader, "read", int)  # which takes no model
    with caplog.at_level(logging.ERROR, "globalbandits.service"):
        monkeypatch.setattr(readings, "_latest", {})
        readings.ask(shop)
        soon(lambda: caplog.text or None)
    assert "evidence cannot be computed: " in caplog.text


def test_ctrl_c_does_not_end_the_reading_process(readings):
    pid = readings.run(os.getpid).result()
    os.kill(pid, signal.SIGINT)
    # Two processes may run; the one with the signal must be among those that answer.
    soon(lambda: readings.run(os.getpid).result() == pid or None)


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="no /proc to look at")
def test_the_reading_process_ends_with_the_service_even_after_a_kill():
    code = """
import os, time
from globalbandits.service.evidence_reader import EvidenceReader
if __name__ == "__main__":
    readings = EvidenceReader()
    print(readings.run(os.getpid).result(), flush=True)
    time.sleep(60)
"""
    service = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    pid = int(service.stdout.readline())
    assert _runs(pid)
    service.kill()
    service.wait()
    service.stdout.close()
    until = time.monotonic() + 10
    while _runs(pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert not _runs(pid)


def _runs(pid):
    """Whether there is such a process that is not a zombie."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_policies_are_compared_in_the_process(readings, bandit):
    shop, _ = bandit
    values = shop.values[:2]
    found = soon(lambda: readings.compare(shop, values, [], 50))
    assert [row["policy"] for row in found["policies"]] == [f"always {value}" for value in values]
    assert found["n_rewards"] == shop.learner.n_observations
    assert all(row["low"] <= row["earned"] <= row["high"] for row in found["policies"])
    assert readings.compare(shop, values, [], 51) is None
    with pytest.raises(ConflictError, match="another comparison is under way"):
        readings.compare(shop, values, [], 52)
    for always, policies, words in (
        ([77.0], [], "always must be one of the arms"),
        ([], [], "policies must be at least one"),
        ([], [{"policy": "no_such"}], "policy must be"),
    ):
        with pytest.raises(GlobalBanditsError, match=words):
            soon(lambda a=always, p=policies: patient(readings, shop, a, p))


def patient(readings, shop, always, policies):
    """A comparison that waits for the one under way."""
    try:
        return readings.compare(shop, always, policies, 50)
    except ConflictError:
        return None


def test_a_long_history_is_bounded(readings, bandit, monkeypatch):
    shop, log = bandit
    monkeypatch.setattr(evidence_history, "MAX_EVENTS", 0)
    monkeypatch.setattr(evidence_history, "_MAX_POINTS", 3)
    found = EvidenceHistory(log.store, readings, 0.0)
    for version in range(1, 8):
        made = EvidenceReading(version, 1, 0.0, EVIDENCE)
        monkeypatch.setattr(readings, "ask", lambda bandit, made=made: made)
        shown = [point["version"] for point in found.ask(shop)]
        assert shown == list(range(1, version + 1))[-3:]
    assert len(found._points[shop.row.id]) == 3
