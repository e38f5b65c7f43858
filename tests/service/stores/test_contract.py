"""What every store must do, run on every store."""

import threading

import pytest

from globalbandits.errors import StoreError
from globalbandits.service.stores import SQLiteStore
from globalbandits.service.stores.records import (
    BanditRow,
    Decision,
    Event,
    Refusal,
    SettingRow,
    Snapshot,
    StoredEvent,
    WriterRow,
)


def make_postgresql(request):
    from globalbandits.service.stores.postgresql import PostgreSQLStore

    return PostgreSQLStore(request.getfixturevalue("empty").address)


# Each is made from the test's request for it.
STORES = {
    "memory": lambda request: SQLiteStore(":memory:"),
    "file": lambda request: SQLiteStore(request.getfixturevalue("tmp_path") / "s"),
    "postgresql": make_postgresql,
}


@pytest.fixture(params=STORES)
def store(request):
    """A store with one writer and one bandit with two settings."""
    made = STORES[request.param](request)
    with made.transaction() as rows:
        rows.add_writer(WriterRow(0, "1.0", "3.13", "here", 5))
        rows.add_bandit(BanditRow(0, "main", "shop", "{}", 2**63 - 1, 0, 10))
        rows.add_settings([SettingRow(1, 1, 0, "{}", 10), SettingRow(1, 2, 3, "[]", 20)])
    yield made
    made.close()


def decision(id, request_id=None, bandit=1, **fields):
    row = Decision(id, bandit, request_id, 0, 2, 0, 1, 1, 100, None)
    return row._replace(**fields)


def event(seq, id, kind="reward", value=0.1, bandit=1):
    return Event(bandit, seq, kind, id, 2, value, 100 + seq)


def add(store, decisions=(), events=(), refusals=()):
    with store.transaction() as rows:
        rows.add_decisions(list(decisions))
        rows.add_events(list(events))
        rows.add_refusals(list(refusals))
        if events:
            rows.set_versions({1: max(row.seq for row in events)})


def test_bandits_settings_and_writers_come_back(store):
    assert store.bandits() == [BanditRow(1, "main", "shop", "{}", 2**63 - 1, 0, 10)]
    assert store.settings(1) == [SettingRow(1, 1, 0, "{}", 10), SettingRow(1, 2, 3, "[]", 20)]
    assert store.writers() == [WriterRow(1, "1.0", "3.13", "here", 5)]
    with store.transaction() as rows:
        assert rows.settings_after({1: 1}) == {1: [SettingRow(1, 2, 3, "[]", 20)]}
        assert rows.add_bandit(BanditRow(0, "other", "shop", "{}", 1, 0, 10)) == 2


def test_two_bandits_of_a_tenant_have_two_names(store):
    with pytest.raises(StoreError), store.transaction() as rows:
        rows.add_bandit(BanditRow(0, "main", "shop", "[]", 1, 0, 10))
    assert len(store.bandits()) == 1


def test_the_first_decision_of_a_request_stays(store):
    first, second = decision("a", "r"), decision("b", "r", shown=4)
    with store.transaction() as rows:
        assert rows.add_decisions([]) == 0
        assert rows.add_decisions([first, second, decision("c"), decision("d")]) == 3
        assert rows.add_decisions([decision("e", "r", shown=3)]) == 0
    with store.transaction() as rows:
        assert rows.decisions_by_request([(1, "r"), (1, "x"), (2, "r")]) == {(1, "r"): first}
        assert rows.decisions_by_id(["a", "b", "c"]) == {"a": first, "c": decision("c")}
    assert store.decision_of_request(1, "r") == first
    assert store.decision_of_request(1, "s") is None
    assert store.decision("b") is None
    assert [row.id for row in store.decisions(1)] == ["a", "c", "d"]
    assert store.shown_counts(1) == {(None, 2): 3}


def test_the_latest_decisions_come_first(store):
    add(store, [decision("a"), decision("c"), decision("b")])
    assert [row.id for row in store.latest(1, 2)] == ["c", "b"]
    assert store.latest(2, 5) == []


def test_decisions_are_ordered_by_state_then_time(store):
    rows = [
        decision("a", version=1, at=5),
        decision("b", version=0, at=9),
        decision("c", version=1, settings=2, at=1),
        decision("d", version=1, at=2),
    ]
    add(store, rows)
    assert [row.id for row in store.decisions(1)] == ["b", "d", "a", "c"]


def test_events_come_back_in_order_with_every_bit(store):
    values = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 0.30000000000000004, 0.0]
    add(store, [decision(f"{seq}") for seq in range(1, 7)])
    add(store, events=[event(seq, f"{seq}", value=x) for seq, x in enumerate(values, 1)])
    assert [row.value.hex() for row in store.events(1)] == [value.hex() for value in values]
    assert [row.seq for row in store.events(1, after=2, upto=4)] == [3, 4]
    with store.transaction() as rows:
        assert [row.seq for row in rows.events_after(1, 4)] == [5, 6]
        assert rows.lock([1]) == {1: 6}
        assert rows.events_by_decision(["1", "7"]) == {"1": [StoredEvent("reward", 0.1, 1)]}
    assert store.bandits()[0].version == 6


def test_a_number_and_a_first_reward_are_accepted_once(store):
    add(store, [decision("a"), decision("b")], [event(1, "a")])
    for wrong in (event(1, "b"), event(2, "a")):
        with pytest.raises(StoreError):
            add(store, events=[wrong])
    kinds = ["retraction", "correction", "retraction", "correction"]
    add(store, events=[event(seq, "a", kind) for seq, kind in enumerate(kinds, 2)])
    expected = [StoredEvent(kind, 0.1, seq) for seq, kind in enumerate(["reward", *kinds], 1)]
    assert store.stored_events("a") == expected
    with store.transaction() as rows:
        assert rows.events_by_decision(["a", "b"]) == {"a": expected}


def test_a_block_that_fails_leaves_nothing(store):
    add(store, [decision("a", "r")], [event(1, "a")])
    before = _everything(store)

    def fail():
        with store.transaction() as rows:
            rows.add_writer(WriterRow(0, "2", "3", "x", 1))
            rows.add_bandit(BanditRow(0, "main", "other", "{}", 1, 0, 1))
            rows.add_settings([SettingRow(1, 3, 0, "{}", 1)])
            rows.add_decisions([decision("b", "s")])
            rows.add_events([event(2, "b")])
            rows.set_versions({1: 2})
            rows.add_refusals([Refusal(1, "b", "late", 0.5, 1)])
            rows.add_snapshot(Snapshot(1, 2, 1, "1", 0, "d", "{}"))
            rows.prune(1, 2, 10**9)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert _everything(store) == before
    add(store, [decision("b", "s")], [event(2, "b")])
    assert store.bandits()[0].version == 2


def _everything(store):
    return (
        store.bandits(),
        store.settings(1),
        list(store.events(1)),
        list(store.decisions(1)),
        store.refusals(1),
        store.snapshots(1),
        store.writers(),
    )


def test_a_refusal_is_kept_once(store):
    refusals = [Refusal(1, "a", "conflict", 0.5, at) for at in (1, 2)]
    add(store, refusals=[*refusals, Refusal(1, "a", "conflict", 0.25, 3)])
    add(store, refusals=refusals)
    assert [(row.value, row.at) for row in store.refusals(1)] == [(0.5, 1), (0.25, 3)]


def test_open_decisions_whose_time_has_come(store):
    rows = [
        decision("a", deadline=50),
        decision("b", deadline=50),
        decision("c", deadline=40),
        decision("d"),
        decision("e", deadline=60),
        decision("f", deadline=45),
    ]
    add(store, rows, [event(1, "f", "default")])
    ids = [row.id for row in store.overdue((0, ""), 50, 10)]
    assert ids == ["c", "a", "b"]
    assert [row.id for row in store.overdue((0, ""), 50, 2)] == ["c", "a"]
    assert [row.id for row in store.overdue((50, "a"), 50, 2)] == ["b"]
    assert store.open_decisions(1, 0, 0)[0] == 5


def test_snapshots_newest_first_and_old_ones_go(store):
    made = [Snapshot(1, version, 1, "1", 0, "d", f"{version}") for version in (3, 10, 14, 20)]
    with store.transaction() as rows:
        for snapshot in made:
            rows.add_snapshot(snapshot)
        rows.add_snapshot(made[0]._replace(state="new"))
    assert [row.state for row in store.snapshots(1)] == ["20", "14", "10", "new"]
    assert [row.version for row in store.snapshots(1, 14)] == [14, 10, 3]
    assert [row.version for row in store.snapshots(1, 19, limit=2)] == [14, 10]
    with store.transaction() as rows:
        rows.drop_snapshots(1, 20, 10)
    assert [row.version for row in store.snapshots(1)] == [20, 10, 3]  # of ten versions the first
    with store.transaction() as rows:
        for version in (23, 27, 41, 47):  # as they come: no version need be a round one
            rows.add_snapshot(made[0]._replace(version=version))
            rows.drop_snapshots(1, version, 10)
    assert [row.version for row in store.snapshots(1)] == [47, 41, 20, 10, 3]
    with store.transaction() as rows:
        rows.add_snapshot(made[1]._replace(kept=1))
        rows.drop_snapshots(1, 99, 0)
    assert [row.version for row in store.snapshots(1)] == [10]


def test_pruning_keeps_what_may_still_come_back(store):
    rows = [
        decision("old", "r1", at=10),
        decision("old, rewarded later", at=10),
        decision("new", "r2", at=99),
        decision("old and open", at=10),
        decision("old with a deadline to come", at=10, deadline=70),
    ]
    events = [event(1, "old"), event(2, "new"), event(3, "old, rewarded later")]
    add(store, rows, events, [Refusal(1, "old", "late", 0.5, 10), Refusal(1, "x", "late", 0.5, 60)])
    with store.transaction() as transaction:
        transaction.add_snapshot(Snapshot(1, 1, 1, "1", 0, "d", "{}"))
        transaction.add_snapshot(Snapshot(1, 2, 1, "1", 1, "d", "{}"))
        assert transaction.prune(1, 2, 50) == (2, 1)
    left = {row.id for row in store.decisions(1)}
    assert left == {"old, rewarded later", "new", "old with a deadline to come"}
    assert [row.seq for row in store.events(1)] == [2, 3]
    assert [row.version for row in store.snapshots(1)] == [2]
    assert [row.decision for row in store.refusals(1)] == ["x"]
    assert store.decision_of_request(1, "r1") is None
    assert store.decision_of_request(1, "r2") is not None


def test_hostile_texts_are_stored_as_text(store):
    text = "'); DROP TABLE decisions; -- %s ? \\ {} \"é\U0001f600"
    add(store, [decision(text, text)])
    assert store.decision(text) == decision(text, text)
    assert store.decision_of_request(1, text) == decision(text, text)
    assert store.decision("\x00") is None
    assert store.stored_events("\x00") == []
    assert store.decision_of_request(1, "\x00") is None


def test_heads_hold_the_version_and_setting_of_each_bandit(store):
    add(store, [decision("a")], [event(1, "a")])
    with store.transaction() as rows:
        bandit = rows.add_bandit(BanditRow(0, "main", "other", "{}", 1, 0, 10))
        rows.add_settings([SettingRow(bandit, 1, 0, "{}", 10)])
    assert store.heads() == {1: (1, 2), bandit: (0, 1)}


def test_settings_of_several_bandits_are_read_together(store):
    with store.transaction() as rows:
        bandit = rows.add_bandit(BanditRow(0, "main", "other", "{}", 1, 0, 10))
        rows.add_settings([SettingRow(bandit, 1, 0, "{}", 10)])
        assert rows.settings_after({}) == {}
        assert rows.settings_after({1: 2, bandit: 1}) == {}
        found = rows.settings_after({bandit: 0, 1: 0})
    assert [row.number for row in found[1]] == [1, 2]
    assert found[bandit] == [SettingRow(bandit, 1, 0, "{}", 10)]


def test_how_many_decisions_were_new(store):
    with store.transaction() as rows:
        assert rows.add_decisions([]) == 0
        assert rows.add_decisions([decision("a", "r"), decision("b", "r"), decision("c")]) == 2
        assert rows.add_decisions([decision("d", "r")]) == 0


def test_many_rows_in_one_batch(store):
    rows = [decision(f"{i:05}", f"{i}") for i in range(7_000)]
    add(store, rows, [event(i + 1, row.id) for i, row in enumerate(rows)])
    with store.transaction() as transaction:
        requests = [(1, row.request_id) for row in rows]
        assert len(transaction.decisions_by_request(requests)) == 7_000
        assert len(transaction.events_by_decision([row.id for row in rows])) == 7_000
    assert list(store.decisions(1)) == rows


def test_readers_see_only_what_is_committed(store):
    seen = []
    with store.transaction() as rows:
        rows.add_decisions([decision("a")])
        # In memory there is one connection: readers wait for the end of the transaction.
        if str(store.path) != ":memory:":
            reader = threading.Thread(target=lambda: seen.append(store.decision("a")))
            reader.start()
            reader.join()
            assert seen == [None]
    assert store.decision("a") == decision("a")
