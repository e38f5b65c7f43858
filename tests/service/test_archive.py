"""Exports, copies and reports of replays: what they check, and how they report damage."""

import dataclasses
import json

import pytest

from globalbandits._version import __version__
from globalbandits.errors import StoreError
from globalbandits.service.log import Log
from globalbandits.service.log.archive import transfer
from globalbandits.service.log.archive.transfer import copy, export_lines, import_lines
from globalbandits.service.log.replay import (
    ReplayReport,
    allowed_of,
    comparable_state,
    redecide,
    replay,
)
from globalbandits.service.stores import SQLiteStore
from globalbandits.service.stores.records import Decision
from tests.service.worlds import WAGP, HandClock, copy_of_store, sql

UNIFORM = WAGP | {"policy": {"policy": "uniform"}}
DECISION = Decision("d", 1, None, 0, 0, 0, 1, 1, 0, None)


@pytest.fixture(scope="module")
def written():
    log = Log(SQLiteStore(":memory:"), clock=HandClock(), compiled=False, snapshot_events=10)
    log.create("shop", UNIFORM | {"sticky_seconds": 1e6})
    for number in range(40):
        unit = f"u{number}" if number % 4 else "u0"
        found = log.decide("shop", f"{number}", unit=unit, allowed=[0.4, 0.5, 0.8]).decision
        if number % 3:
            log.reward("shop", found.id, number / 40)
    log.decide("shop", "all")
    log.stop()
    yield log.store
    log.store.close()


@pytest.fixture
def store(written):
    other = copy_of_store(written)
    yield other
    other.close()


def report_of(store, **options):
    return replay(store, store.bandits()[0], compiled=False, **options)


def test_a_replay_counts_every_decision_once(store):
    found = report_of(store)
    expected = ReplayReport("main", "shop", base=0, version=26, decisions=41, agree=41, snapshots=3)
    assert found == expected
    assert found.good
    assert not dataclasses.replace(found, differ=1).good
    assert not dataclasses.replace(found, wrong=["x"]).good
    assert dataclasses.replace(found, foreign=1, gone=3, imported=2).good


def test_probabilities_are_those_of_decisions_that_followed_no_other(store):
    found = report_of(store, probability_draws=5).probabilities
    decisions = {decision.id: decision for decision in store.decisions(1)}
    assert set(found) == {id for id, row in decisions.items() if row.follows is None}
    assert len(found) == 32
    for id, chances in found.items():
        n = 5 if decisions[id].allowed is None else 3
        assert chances.of_chosen(decisions[id].shown) == pytest.approx(1 / n)


def test_a_report_has_twenty_lines_about_decisions_at_most(store):
    sql(store, "UPDATE decisions SET chosen = (chosen + 1) % 5, shown = (shown + 1) % 5")
    # Units are shown the arm of their first decision, as it is stored.
    found = report_of(store)
    assert (found.differ, found.agree, found.foreign) == (41, 0, 0)
    assert len(found.wrong) == 20
    assert not found.good
    sql(store, "UPDATE decisions SET chosen = (chosen + 4) % 5, shown = (shown + 4) % 5")
    sql(store, "UPDATE decisions SET shown = 3 WHERE request_id = 'all' AND shown != 3")
    sql(store, "UPDATE decisions SET shown = 2 WHERE request_id = 'all' AND chosen = 3")
    found = report_of(store)
    (decision,) = [row for row in store.decisions(1) if row.request_id == "all"]
    assert (found.differ, found.agree) == (1, 40)
    assert found.wrong == [
        f"decision {decision.id} at version 26: stored arm {decision.chosen}, shown "
        f"{decision.shown}; recomputed arm {decision.chosen}, shown {decision.chosen}"
    ]


def test_a_decision_that_follows_another_shows_its_arm(store):
    later = [row for row in store.decisions(1) if row.follows is not None][-1]
    sql(store, "UPDATE decisions SET shown = (shown + 1) % 5 WHERE id = ?", later.id)
    found = report_of(store)
    assert (found.differ, found.agree) == (1, 40)
    assert f"recomputed arm {later.chosen}, shown {later.shown}" in found.wrong[0]


def test_decisions_of_other_versions_of_the_library_are_foreign(store):
    sql(store, "UPDATE decisions SET chosen = (chosen + 1) % 5 WHERE request_id = 'all'")
    sql(store, "UPDATE writers SET library = '0.1'")
    found = report_of(store)
    assert (found.differ, found.foreign, found.agree, found.wrong) == (0, 1, 40, [])
    assert found.good


def test_a_decision_that_cannot_be_recomputed_is_wrong(store):
    sql(store, "UPDATE decisions SET allowed = '[0, \"x\"]' WHERE request_id = '5'")
    found = report_of(store)
    (decision,) = [row for row in store.decisions(1) if row.request_id == "5"]
    assert found.wrong == [
        f"decision {decision.id}: allowed must be a list of arms' indices, got '[0, \"x\"]'"
    ]
    assert (found.agree, found.decisions) == (40, 41)


def test_allowed_arms_of_a_stored_decision():
    assert allowed_of(DECISION) is None
    assert allowed_of(DECISION._replace(allowed="[2, 0]")) == [2, 0]
    assert allowed_of(DECISION._replace(allowed="[]")) == []
    for wrong in ("x", "{}", "[true]", "[1.0]", "[1, null]", "3"):
        with pytest.raises(StoreError) as caught:
            allowed_of(DECISION._replace(allowed=wrong))
        assert str(caught.value) == f"allowed must be a list of arms' indices, got {wrong!r}"


def test_states_are_compared_without_their_origin():
    state = {"anchor": 3, "learner": {"lineage": "x", "policy": 1}, "other": 5}
    assert comparable_state(state) == {"policy": 1, "anchor": 3, "awaited": None}
    awaited = state | {"awaited": {"d": [1, 2]}}
    assert comparable_state(awaited)["awaited"] == {"d": [1, 2]}
    for wrong in (None, [], {}, {"learner": 1}, {"anchor": 3}):
        assert comparable_state(wrong) is None


def test_a_past_decision_of_a_unit_is_recomputed(store):
    log = Log(store, clock=HandClock(), compiled=False)
    bandit = log.bandit("shop")
    later = next(row for row in store.decisions(1) if row.follows is not None)
    found = redecide(store, bandit, later)
    assert (found.choice.why, found.choice.shown) == ("unit", later.shown)
    assert found.decision == later
    assert found.explanation.n_observations == later.version
    # The decision that it follows may have been pruned.
    gone = redecide(store, bandit, later._replace(follows="gone"))
    assert (gone.choice.why, gone.choice.shown) == ("unit", later.shown)
    log.close()


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ("UPDATE snapshots SET state = 'x' WHERE version = 10", "; it is skipped"),
        ("UPDATE snapshots SET state = '{}' WHERE version = 10", "; it is skipped"),
        ("UPDATE snapshots SET state = replace(state, '\"anchor\":', '\"anchor\":9') "
         "WHERE version = 10", ""),
    ],
)  # fmt: skip
def test_a_snapshot_that_is_not_what_the_log_gives(store, change, line):
    sql(store, change)
    found = report_of(store)
    assert found.wrong == [f"snapshot 10 is not what the log gives{line}"]
    assert (found.snapshots, found.agree) == (2, 41)
    sql(store, "UPDATE snapshots SET library = '0.1' WHERE version = 10")
    found = report_of(store)
    assert (found.snapshots, found.wrong) == (2, [])


def lines_of(store):
    return list(export_lines(store, store.bandits()))


def edited(lines, kind, changes):
    """The lines with fields of the first record of a kind changed, and its number."""
    number = next(n for n, line in enumerate(lines) if json.loads(line)["type"] == kind)
    record = json.loads(lines[number])
    return [*lines[:number], json.dumps(record | changes), *lines[number + 1 :]], number + 1


def test_an_export_has_a_heading_and_no_names_of_machines(store):
    first, writer = map(json.loads, lines_of(store)[:2])
    assert first == {
        "type": "log",
        "format": "globalbandits.log",
        "version": 1,
        "library": __version__,
    }
    assert (writer["type"], writer["host"]) == ("writer", "")


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("log", {"format": "x"}, "must be the heading of a globalbandits.log of version 1"),
        ("log", {"version": 2}, "must be the heading of a globalbandits.log of version 1"),
        ("log", {"type": "writer"}, "must be the heading of a globalbandits.log of version 1"),
        ("bandit", {"seed": 2**63}, "seed must fit into 64 bits, got 9223372036854775808"),
        ("bandit", {"seed": -(2**63)}, "seed must fit into 64 bits, got -9223372036854775808"),
        ("bandit", {"name": "a\0"}, "name must be a text that stores can hold, got"),
        ("bandit", {"more": 1}, "must have the fields id, tenant, name, spec, seed, version, at"),
        ("decision", {"probability": 0.0}, "probability must lie in (0, 1], got 0.0"),
        ("decision", {"probability": 1.0000001}, "probability must lie in (0, 1], got 1.0000001"),
        ("decision", {"context": "x"}, "context must be one of [None], got 'x'"),
        ("decision", {"allowed": "[5]"}, "arm must be an index below 5, got 5"),
        ("decision", {"shown": 5}, "arm must be an index below 5, got 5"),
        ("decision", {"writer": 9}, "writer must be one of those above, got 9"),
        ("event", {"context": "x"}, "context must be one of [None], got 'x'"),
        ("event", {"value": 1.5}, "value must lie in [0, 1], got 1.5"),
        ("event", {"n_rewards": 2, "value": 2.5}, "reward must be"),
        ("event", {"seq": 2}, "seq must be 1, got 2"),
        ("event", {"arm": True}, "arm must be of type <class 'int'>, got True"),
        ("event", {"bandit": 7}, "bandit must be one of those above, got 7"),
    ],
)
def test_a_line_that_does_not_fit_is_named(store, kind, changes, message):
    lines, number = edited(lines_of(store), kind, changes)
    with pytest.raises(StoreError) as caught:
        import_lines(SQLiteStore(":memory:"), lines)
    assert str(caught.value).startswith(f"line {number}: {message}")


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("bandit", {"seed": 2**63 - 1}),
        ("bandit", {"at": -(2**63) + 1}),
        ("decision", {"probability": 1.0}),
        ("decision", {"allowed": "[4, 0]"}),
        ("event", {"n_rewards": 2, "value": 2.0}),
        ("event", {"kind": "decision", "n_rewards": 0, "value": 7.0}),
    ],
)
def test_values_at_the_ends_of_their_ranges_are_imported(store, kind, changes):
    lines, number = edited(lines_of(store), kind, changes)
    other = SQLiteStore(":memory:")
    assert import_lines(other, lines) == ["shop"]
    found = json.loads(lines_of(other)[number - 1])
    assert {name: found[name] for name in changes} == changes


@pytest.mark.parametrize("n_rows", [1, 2, 7])
def test_rows_are_written_in_parts(store, monkeypatch, n_rows):
    monkeypatch.setattr(transfer, "_ROWS_PER_WRITE", n_rows)
    other, written = SQLiteStore(":memory:"), []
    store_part = transfer._Importer._store

    def note(self):
        written.append(len(self._decisions) + len(self._events))
        store_part(self)

    monkeypatch.setattr(transfer._Importer, "_store", note)
    import_lines(other, lines_of(store))
    assert lines_of(other) == lines_of(store)
    assert set(written[:-1]) == {n_rows}
    assert sum(written) == 41 + 26


def test_an_import_must_be_whole(store):
    lines = lines_of(store)
    with pytest.raises(StoreError, match="the file must have lines, got none"):
        import_lines(SQLiteStore(":memory:"), [])
    short = [line for line in lines if '"seq":26' not in line]
    with pytest.raises(StoreError, match="events must reach version 26, got 25"):
        import_lines(SQLiteStore(":memory:"), short)
    for wrong in ("[]", '{"type": 3}', '"x"', "{"):
        with pytest.raises(StoreError) as caught:
            import_lines(SQLiteStore(":memory:"), [*lines, wrong])
        assert str(caught.value) == (f"line {len(lines) + 1}: must be a JSON object with a type")


def test_a_copy_is_checked_row_by_row(store, monkeypatch):
    target = SQLiteStore(":memory:")
    assert copy(store, target, store.bandits()) == [("shop", 26, 41, 41)]
    rows = store.bandits()
    assert transfer._check_copy(store, rows[0], target, target.bandits()[0]).agree == 41
    sql(target, "UPDATE decisions SET shown = 3 - shown WHERE request_id = '7'")
    with pytest.raises(StoreError, match=r"the copy of shop must have .*, got "):
        transfer._check_copy(store, rows[0], target, target.bandits()[0])
    # Equal rows whose decisions do not come out alike, and states that are not alike.
    monkeypatch.setattr(transfer, "_content", lambda store, row: iter(()))
    with pytest.raises(StoreError) as caught:
        transfer._check_copy(store, rows[0], target, target.bandits()[0])
    assert str(caught.value).startswith(
        "41 decisions of shop agree in the original, got 40 in the copy ['decision "
    )
    sql(target, "UPDATE decisions SET shown = 3 - shown WHERE request_id = '7'")
    sql(target, "UPDATE events SET value = value / 2 WHERE seq = 26")
    sql(target, "DELETE FROM snapshots")
    with pytest.raises(StoreError) as caught:
        transfer._check_copy(store, rows[0], target, target.bandits()[0])
    assert str(caught.value) == "the state of shop must be the original's, got another"
