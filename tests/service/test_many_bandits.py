"""Thousands of bandits: they leave memory and return, are deleted, and are listed in pages."""

import random
import threading

import httpx
import pytest

from globalbandits.errors import ConflictError, UnknownError
from globalbandits.service.log import Log
from globalbandits.service.log.append import DecisionRequest
from globalbandits.service.log.load import load
from globalbandits.service.log.replay import comparable_state, replay
from globalbandits.service.service import ServiceOptions
from globalbandits.service.stores import SQLiteStore
from tests.service.serving import serving
from tests.service.stores.test_contract import STORES
from tests.service.worlds import THOMPSON, WAGP, WINDOW, HandClock

POLICIES = [WAGP, THOMPSON, WINDOW]
MAX_LOADED = 4


@pytest.fixture(params=STORES)
def log(request):
    store = STORES[request.param](request)
    log = Log(store, clock=HandClock(), compiled=False, max_loaded=MAX_LOADED)
    yield log
    log.close()


def create(log, n):
    for number in range(n):
        log.create(f"shop-{number}", POLICIES[number % 3] | {"seed": number})


def settle(log):
    """Wait until no more bandits are in memory than may be."""
    while len(log.loaded()) > MAX_LOADED:
        threading.Event().wait(0.01)


def test_bandits_leave_memory_and_return_with_the_same_bits(log):
    create(log, 12)
    luck, pairs, states = random.Random(1), [], {}
    for number in range(150):
        name = f"shop-{luck.randrange(12)}"
        decision = log.decide(name, f"{number}").decision
        log.reward(name, decision.id, luck.random())
        pairs.append((name, decision.id))
        if luck.random() < 0.1:
            log.change(name, {"held_back": luck.random() / 2, "incumbent": 0.5})
        bandit = log.bandit(name)
        states[name] = comparable_state(bandit.state()), bandit.version, bandit.n_open, bandit.shown
    settle(log)
    for name, known in states.items():
        bandit = log.bandit(name)
        found = comparable_state(bandit.state()), bandit.version, bandit.n_open, bandit.shown
        assert found == known
    for row in log.store.bandits():
        report = replay(log.store, row, compiled=False)
        assert (report.agree, report.wrong) == (report.decisions, [])
        assert comparable_state(load(log.store, row).state()) == states[row.name][0]
    assert all(log.reward(name, id, 2 / 3).outcome == "conflict" for name, id in pairs[::10])


def test_bandits_that_were_loaded_while_others_left_leave_too(log, monkeypatch):
    create(log, 9)
    settle(log)
    evict, n_evictions = log._evict, []

    def evict_and_load_all(ids):
        evict(ids)
        n_evictions.append(len(ids))
        if len(n_evictions) == 1:
            for number in range(9):
                log.bandit(f"shop-{number}")

    monkeypatch.setattr(log, "_evict", evict_and_load_all)
    for number in range(9):
        log.bandit(f"shop-{number}")
    settle(log)
    assert len(n_evictions) >= 2


def test_work_for_a_bandit_that_has_left_memory(log):
    create(log, 9)
    left = log.bandit("shop-0")
    decision = log.decide("shop-0", "a").decision
    for number in range(1, 9):
        log.bandit(f"shop-{number}")
    settle(log)
    assert left not in log.loaded()
    assert log.submit_reward(left, decision.id, 0.3).result().outcome == "learned"
    work = log.new_decision(left, DecisionRequest("b"))
    assert log.writer.submit(work).result().decision.version == 0  # from the older state
    assert (log.bandit("shop-0").version, left.version) == (1, 0)
    report = replay(log.store, log.store.bandit(1), compiled=False)
    assert (report.agree, report.wrong) == (2, [])


def test_many_threads_use_more_bandits_than_memory_holds(log):
    create(log, 10)
    faults = []

    def play(client):
        luck = random.Random(client)
        try:
            for number in range(25):
                name = f"shop-{luck.randrange(10)}"
                id = log.decide(name, f"{client}-{number}").decision.id
                assert log.reward(name, id, luck.random()).outcome == "learned"
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=play, args=(client,)) for client in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert sum(row.version for row in log.store.bandits()) == 150
    for row in log.store.bandits():
        report = replay(log.store, row, compiled=False)
        assert (report.agree, report.wrong) == (report.decisions, [])
        assert log.bandit(row.name).version == row.version


def test_a_deleted_bandit_is_gone_and_its_name_is_free(log):
    create(log, 2)
    old = log.decide("shop-0", "a").decision
    at = log.delete("shop-0")
    assert at == log.clock.now()
    log.clock.pass_seconds(5)
    assert log.delete("shop-0") == at  # a repeated call
    assert log.names() == ["shop-1"]
    with pytest.raises(UnknownError, match=r"bandit must be one of this store's, got 'shop-0'"):
        log.decide("shop-0", "a")
    with pytest.raises(UnknownError, match="got 'nobody'"):
        log.delete("nobody")
    bandit, new = log.create("shop-0", THOMPSON)
    assert (new, bandit.version, bandit.row.id) == (True, 0, 3)
    assert log.decide("shop-0", "a").decision.id != old.id
    assert log.reward("shop-0", old.id, 0.5).outcome == "unknown"
    with pytest.raises(ConflictError, match="exists with another spec"):
        log.create("shop-0", WAGP)
    assert log.store.decision(old.id) == old  # the log keeps it
    assert log.bandit_of(1) is None


def test_work_under_way_for_a_bandit_that_is_deleted(log):
    create(log, 2)
    bandit = log.bandit("shop-0")
    decision = log.new_decision(bandit, DecisionRequest("a"))
    stored = log.decide("shop-0", "b").decision
    log.delete("shop-0")
    for work in (decision, log.new_reward(bandit, stored.id, 0.5)):
        with pytest.raises(UnknownError):
            log.writer.submit(work).result()
    assert [row.id for row in log.store.decisions(1)] == [stored.id]


def test_deletions_survive_a_restart(tmp_path):
    log = Log(SQLiteStore(tmp_path / "log.db"), compiled=False)
    create(log, 3)
    log.delete("shop-1")
    log.close()
    log = Log(SQLiteStore(tmp_path / "log.db"), compiled=False)
    assert log.names() == ["shop-0", "shop-2"]
    log.close()


def test_names_come_in_pages_and_are_searched(log):
    for name in ("Rome", "oslo-2", "oslo-1", "bern", "OSLO-3"):
        log.create(name, WAGP)
    log.create("oslo-9", WAGP, "other")
    assert log.names() == ["OSLO-3", "Rome", "bern", "oslo-1", "oslo-2"]
    assert log.names(limit=2) == ["OSLO-3", "Rome"]
    assert log.names(after="Rome", limit=2) == ["bern", "oslo-1"]
    assert log.names(search="slo-", after="OSLO-3") == ["oslo-1", "oslo-2"]
    assert log.names(search="paris") == []


def test_over_http():
    options = ServiceOptions(compiled=False, max_loaded=10)
    with (
        serving(SQLiteStore(":memory:"), options) as (service, url),
        httpx.Client(base_url=url, timeout=30) as http,
    ):
        for number in range(105):  # there is no limit of 100
            assert http.put(f"/v1/bandits/b{number:03}", json=WAGP).status_code == 201
        first = http.get("/v1/bandits").json()
        assert (len(first["bandits"]), first["next"]) == (100, "b099")
        rest = http.get("/v1/bandits", params={"after": first["next"]}).json()
        assert rest == {"bandits": [f"b{number}" for number in range(100, 105)], "next": None}
        found = http.get("/v1/bandits", params={"search": "B05", "limit": 3}).json()
        assert found == {"bandits": ["b050", "b051", "b052"], "next": "b052"}
        wrong = http.get("/v1/bandits", params={"limit": 0})
        assert wrong.status_code == 422
        assert "limit must be a whole number from 1 to 1000, got '0'" in wrong.text
        gone = http.delete("/v1/bandits/b007").json()
        assert http.delete("/v1/bandits/b007").json() == gone
        assert http.get("/v1/bandits/b007").status_code == 404
        assert http.delete("/v1/bandits/nobody").status_code == 404
        assert len(service.log.loaded()) <= 11
