"""Unavailable, silent, older and newer servers; two logs on one database; copies and backups."""

import sys
import threading
import time

import pytest

pytest.importorskip("psycopg", reason="the extra postgres is not installed")

import psycopg

from globalbandits.cli.program import main
from globalbandits.errors import (
    ConflictError,
    MissingExtraError,
    StoreError,
    StoreUnavailable,
    UnknownError,
)
from globalbandits.service.log import Log
from globalbandits.service.log.archive.retention import prune
from globalbandits.service.log.archive.transfer import copy, export_lines
from globalbandits.service.log.load import load
from globalbandits.service.log.replay import comparable_state, replay
from globalbandits.service.stores import SQLiteStore, open_store
from globalbandits.service.stores.migrations import Migration, migrations
from globalbandits.service.stores.postgresql import PostgreSQLStore
from globalbandits.service.stores.sqlite import SQLiteTransaction
from tests.service.postgresql import Line
from tests.service.test_replay import DAY, write
from tests.service.worlds import MODEL, SECOND, THOMPSON, WAGP, HandClock

NEXT = migrations("postgresql")[-1].number + 1


def steps(sql):
    return [*migrations("postgresql"), Migration(NEXT, sql)]


def tables(server):
    """Names and columns of all tables, in order."""
    sql = (
        "SELECT table_name, column_name FROM information_schema.columns "
        "WHERE table_schema = 'globalbandits' ORDER BY table_name, ordinal_position"
    )
    found = {}
    with psycopg.connect(server.address) as connection:
        for table, column in connection.execute(sql):
            found.setdefault(table, []).append(column)
    return found


@pytest.fixture
def pair(empty):
    """Two logs on one database without polling: each reads the other's events only when it must."""
    logs = [Log(PostgreSQLStore(empty.address), compiled=False) for _ in range(2)]
    for log in logs:
        log._follower.stop()
    yield logs
    for log in logs:
        log.close()


def all_agree(store):
    found = [replay(store, row, compiled=False) for row in store.bandits()]
    assert [report.wrong for report in found] == [[]] * len(found)
    return sum(report.agree for report in found)


# Two logs


def test_one_deletes_and_the_other_follows(pair):
    first, second = pair
    first.create("shop", THOMPSON)
    decision = second.decide("shop", "a").decision
    first.delete("shop")
    # The second has the bandit in memory and has not read the deletion yet.
    assert second.reward("shop", decision.id, 0.5).outcome == "unknown"
    second._find_others()
    assert (second.names(), second.loaded()) == ([], [])
    with pytest.raises(UnknownError):
        second.decide("shop", "b")
    bandit, new = second.create("shop", WAGP)
    assert (new, first.decide("shop", "a").decision.bandit) == (True, bandit.row.id)
    assert first.reward("shop", decision.id, 0.5).outcome == "unknown"


def test_a_deletion_reaches_other_logs_without_a_request(empty):
    logs = [Log(PostgreSQLStore(empty.address), compiled=False) for _ in range(2)]
    logs[0].create("shop", WAGP)
    logs[1].bandit("shop")
    logs[0].delete("shop")
    until = time.monotonic() + 30
    while logs[1].names() or logs[1].loaded():
        assert time.monotonic() < until
        time.sleep(0.02)
    for log in logs:
        log.close()


def test_one_decides_the_other_learns(pair):
    first, second = pair
    first.create("shop", THOMPSON)
    for n in range(10):
        one = second.decide("shop", f"{n}").decision  # which has not seen the bandit being made
        assert first.decide("shop", f"{n}").decision == one
        assert first.reward("shop", one.id, n / 10).outcome == "learned"
        assert second.reward("shop", one.id, n / 10) == ("duplicate", n / 10, n + 1)
        assert second.reward("shop", one.id, 0.95).outcome == "conflict"
        assert second.bandit("shop").version == n + 1  # a log catches up to report a duplicate
    states = [comparable_state(log.bandit("shop").state()) for log in pair]
    assert states[0] == states[1]
    assert all_agree(first.store) == 10


def test_a_log_that_only_reads_catches_up(empty):
    logs = [Log(PostgreSQLStore(empty.address), compiled=False) for _ in range(2)]
    logs[0].create("shop", WAGP)
    idle = logs[1].bandit("shop")
    logs[0].reward("shop", logs[0].decide("shop").decision.id, 0.3)
    logs[0].change("shop", {"limits": [0.5, 0.6]})
    logs[0].create("other", WAGP)
    until = time.monotonic() + 60
    while (idle.version, idle.number, len(logs[1].names())) != (1, 2, 2):
        assert time.monotonic() < until
        time.sleep(0.02)
    assert comparable_state(idle.state()) == comparable_state(logs[0].bandit("shop").state())
    for log in logs:
        log.close()


def test_both_at_once_decide_once_and_learn_once(pair):
    for log in pair:
        log.create("shop", THOMPSON)
    decided, told = [], []

    def play(log):
        for n in range(60):
            decision = log.decide("shop", f"{n}").decision
            decided.append(decision)
            told.append((decision.id, log.reward("shop", decision.id, n / 100)))

    threads = [threading.Thread(target=play, args=(log,)) for log in pair for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(decided) == 360
    assert len(set(decided)) == 60
    learned = [id for id, answer in told if answer.outcome == "learned"]
    assert len(learned) == len(set(learned)) == 60
    assert len({(id, answer.value, answer.version) for id, answer in told}) == 60
    assert all_agree(pair[0].store) == 60


def test_two_make_a_bandit_of_one_name(pair):
    made = []

    def create(log):
        made.append(log.create("shop", {key: WAGP[key] for key in ("model", "policy")}))

    for _ in range(2):
        threads = [threading.Thread(target=create, args=(log,)) for log in pair]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(new for _, new in made) == [False, False, False, True]
    assert len({bandit.row.seed for bandit, _ in made}) == 1
    with pytest.raises(ConflictError, match="exists with another spec"):
        pair[1].create("shop", WAGP | {"seed": 99})


def test_settings_hold_before_the_next_event_does(pair):
    first, second = pair
    first.create("shop", WAGP)
    ids = [second.decide("shop", f"{n}").decision.id for n in range(4)]
    first.reward("shop", ids[0], 0.3)
    assert first.change("shop", {"policy": {"policy": "thompson_sampling"}}) == 2
    late = {"late": "refuse", "deadline_seconds": 1e-6}
    assert first.change("shop", late) == 3
    third = first.decide("shop", "third").decision
    assert second.bandit("shop").number == 1
    # Under settings that the second has not seen, and too late by them.
    assert second.reward("shop", third.id, 0.3).outcome == "late"
    assert second.bandit("shop").number == 3
    assert second.reward("shop", ids[1], 0.3).version == 2
    assert second.decide("shop", "fourth").decision.settings == 3
    with pytest.raises(ConflictError, match="must still be number 2, got number 3"):
        second.change("shop", {"mode": "paused"}, expected=2)
    assert second.change("shop", {"mode": "paused"}, expected=3) == 4
    assert first.change("shop", {"mode": "live"}) == 5
    assert first.reward("shop", ids[2], 0.3).version == 3
    assert [row.number for row in first.store.settings(1)] == [1, 2, 3, 4, 5]
    assert all_agree(first.store) == 6


def test_a_default_of_two_sweepers_counts_once(pair):
    for log in pair:
        log.create("shop", WAGP | {"deadline_seconds": 1e-6, "default_reward": 0.0})
    for n in range(20):
        pair[n % 2].decide("shop")
    overdue = pair[0].store.overdue((0, ""), 2**62, 100)
    assert len(overdue) == 20
    futures = [log.submit_default(log.bandit("shop"), row) for row in overdue for log in pair]
    outcomes = [future.result().outcome for future in futures]
    assert sorted(outcomes) == ["duplicate"] * 20 + ["learned"] * 20
    assert pair[0].store.heads()[1] == (20, 1)


def test_pruned_while_another_learns(empty):
    clock = HandClock()
    write(PostgreSQLStore(empty.address), clock)
    log = Log(PostgreSQLStore(empty.address), clock=clock, compiled=False)
    version = log.bandit("shop").version
    open_one = log.decide("shop", "open").decision
    before = [
        comparable_state(load(log.store, row, compiled=False).state())
        for row in log.store.bandits()
    ]
    tool = PostgreSQLStore(empty.address)
    gone = [prune(tool, row, clock.now() - 5 * DAY * SECOND) for row in tool.bandits()]
    assert all(one.events >= 20 for one in gone)
    after = [comparable_state(load(tool, row, compiled=False).state()) for row in tool.bandits()]
    assert after == before
    tool.close()
    assert log.reward("shop", open_one.id, 0.3).version == version + 1
    assert all_agree(log.store) > 50
    log.close()


# A server that is not there


def test_a_malformed_address_and_an_unreachable_server():
    for address in ("me:secret@host/db?nonsense=1", "me:sec%ret@host/db", "me:secret@[::1/db"):
        with pytest.raises(StoreError, match=r"must be a PostgreSQL address: \w") as raised:
            open_store(f"postgresql://{address}")
        assert "sec" not in str(raised.value)
    with pytest.raises(
        StoreUnavailable, match=r"postgresql://me@127.0.0.1:1/shop cannot be"
    ) as raised:
        open_store("postgresql://me:secret@127.0.0.1:1/shop")
    assert "secret" not in str(raised.value)


def test_without_the_driver_the_error_names_the_extra(monkeypatch):
    monkeypatch.delitem(sys.modules, "globalbandits.service.stores.postgresql")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r'pip install "globalbandits\[postgres\]"'):
        open_store("postgresql://host/db")


def when_reachable(read):
    """Repeat a read until the server answers: a pool of connections pauses between attempts."""
    while True:
        try:
            return read()
        except StoreUnavailable:
            continue


def test_a_server_that_was_restarted(empty):
    log = Log(PostgreSQLStore(empty.address), compiled=False)
    log.create("shop", WAGP)
    id = log.decide("shop", "a").decision.id
    assert log.store.open_decisions(1, 0, 0)[0] == 1
    empty.stop()
    with pytest.raises(StoreUnavailable, match="cannot be"):
        log.reward("shop", id, 0.3)
    with pytest.raises(StoreUnavailable, match="cannot be"):
        log.store.open_decisions(1, 0, 0)[0]
    empty.start()
    assert when_reachable(lambda: log.store.open_decisions(1, 0, 0)[0]) == 1
    assert log.reward("shop", id, 0.3).outcome == "learned"
    log.close()


def test_reads_after_a_restart_use_new_connections(empty):
    """A restart between two calls: every connection of the pool is stale, and no read fails."""
    store = PostgreSQLStore(empty.address)
    write(store, HandClock())
    store = PostgreSQLStore(empty.address)
    streams = [store.events(1) for _ in range(5)]
    assert [next(stream).seq for stream in streams] == [1] * 5  # five connections at once
    for stream in streams:
        stream.close()
    empty.stop()
    empty.start()
    assert len(list(store.events(1))) == 55
    assert len(store.bandits()) == 2
    with store.transaction() as rows:
        assert rows.lock([1]) == {1: 55}
    store.close()


def test_no_more_connections_than_the_pool_allows(empty):
    store = PostgreSQLStore(empty.address)
    write(store, HandClock())
    store = PostgreSQLStore(empty.address)
    found = []

    def read():
        for _ in range(20):
            found.append(len(list(store.events(1))))

    threads = [threading.Thread(target=read) for _ in range(24)]
    for thread in threads:
        thread.start()
    with psycopg.connect(empty.address) as connection:
        sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'globalbandits'"
        used = connection.execute(sql).fetchone()[0]
    for thread in threads:
        thread.join()
    assert found == [55] * 480
    assert used <= 16
    store.close()
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        store.bandits()


def test_a_silent_connection_does_not_block_other_clients(empty):
    line = Line(empty.port)
    near = Log(PostgreSQLStore(empty.address), compiled=False)
    near.create("shop", WAGP)
    id = near.decide("shop", "a").decision.id
    far = PostgreSQLStore(line.address, statement_seconds=0.3)

    def hold():
        with far.transaction() as rows:
            rows.lock([1])
            line.fall_silent()
            rows.events_after(1, 0)

    with pytest.raises(StoreUnavailable, match="cannot be written now"):
        hold()
    # The server has ended the session that held the lock.
    assert near.reward("shop", id, 0.3).outcome == "learned"
    line.cut()
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        far.bandits()
    line.restore()
    assert when_reachable(far.heads) == {1: (1, 1)}
    with far.transaction() as rows:
        assert rows.lock([1]) == {1: 1}
    far.close()
    near.close()
    line.close()


def test_commits_wait_for_the_disk(empty):
    address = f"{empty.address}&options=-csynchronous_commit%3Doff%20-cextra_float_digits%3D0"
    store = PostgreSQLStore(address)
    with store.transaction() as rows:
        assert rows._rows("SHOW synchronous_commit") == [("on",)]
        assert rows._rows("SHOW fsync") == [("on",)]
        assert rows._rows("SELECT ?::float8", [0.1 + 0.2]) == [(0.1 + 0.2,)]
    store.close()


# Tables of other versions


def test_both_dialects_have_the_same_tables(empty, tmp_path):
    PostgreSQLStore(empty.address).close()
    store = SQLiteStore(tmp_path / "s")
    names = [name for (name,) in store._read("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    columns = {
        name: [row[1] for row in store._read(f"PRAGMA table_info({name})")] for name in names
    }
    store.close()
    found = tables(empty)
    found["refusals"].remove("arrival")  # a rowid, in SQLite
    assert found == columns
    assert [step.number for step in migrations("postgresql")] == [
        step.number for step in migrations()
    ]


def test_a_newer_database_is_refused_and_not_touched(empty):
    PostgreSQLStore(empty.address, steps=steps("CREATE TABLE later (x BIGINT)")).close()
    before = tables(empty)
    for read_only in (False, True):
        with pytest.raises(StoreError, match=f"number {NEXT - 1} or lower, got {NEXT}"):
            PostgreSQLStore(empty.address, read_only=read_only)
    assert tables(empty) == before


def test_a_database_that_is_empty_or_older_cannot_only_be_read(empty):
    with pytest.raises(StoreError, match=f"must have tables of number {NEXT - 1}, got 0"):
        open_store(empty.address, read_only=True)
    assert tables(empty) == {}


def test_many_begin_at_once(empty):
    errors = []

    def begin():
        try:
            PostgreSQLStore(empty.address).close()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=begin) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with psycopg.connect(empty.address) as connection:
        found = connection.execute("SELECT number FROM globalbandits.schema ORDER BY 1").fetchall()
    assert found == [(step.number,) for step in migrations("postgresql")]


def test_a_migration_that_fails_changes_nothing(empty):
    PostgreSQLStore(empty.address).close()
    before = tables(empty)
    bad = "CREATE TABLE later (x BIGINT); DROP TABLE refusals; INSERT INTO nowhere VALUES (1)"
    with pytest.raises(StoreUnavailable, match='relation "nowhere" does not exist'):
        PostgreSQLStore(empty.address, steps=steps(bad))
    assert tables(empty) == before


def test_a_migration_under_load(empty):
    """Columns are added while another process of the older version decides and learns."""
    log = Log(PostgreSQLStore(empty.address), compiled=False)
    log.create("shop", WAGP)
    reader = open_store(empty.address, read_only=True)
    reader.bandits()  # a reading that takes long: it holds what it reads
    stop, told = threading.Event(), []

    def play(client):
        while not stop.is_set():
            decision = log.decide("shop", f"{client}-{len(told)}").decision
            told.append(log.reward("shop", decision.id, 0.3))

    threads = [threading.Thread(target=play, args=(client,)) for client in range(3)]
    for thread in threads:
        thread.start()
    threading.Timer(1.5, reader.close).start()
    sql = "".join(
        f"ALTER TABLE {table} ADD COLUMN note TEXT; "
        for table in ("bandits", "decisions", "events", "refusals", "settings", "snapshots")
    )
    newer = PostgreSQLStore(empty.address, steps=steps(sql))
    before = len(told)
    while len(told) < before + 20 and all(thread.is_alive() for thread in threads):
        time.sleep(0.01)
    stop.set()
    for thread in threads:
        thread.join()
    assert "note" in tables(empty)["events"]
    assert all(answer.outcome == "learned" for answer in told)
    assert newer.heads() == {1: (len(told), 1)}
    assert all_agree(newer) == len(told)
    newer.close()
    log.close()


# Copies


def test_a_copy_is_the_original(empty, tmp_path):
    write(SQLiteStore(tmp_path / "first.db"), HandClock())
    first = SQLiteStore(tmp_path / "first.db", read_only=True)
    lines = list(export_lines(first, first.bandits()))
    there = PostgreSQLStore(empty.address)
    back = SQLiteStore(tmp_path / "back.db")
    for source, target in ((first, there), (there, back)):
        found = copy(source, target, source.bandits())
        assert [(one.name, one.decisions, one.agree) for one in found] == [
            ("shop", 60, 60),
            ("dice", 60, 60),
        ]
        with pytest.raises(StoreError):
            copy(source, target, source.bandits())
        assert list(export_lines(target, target.bandits())) == lines
    for store in (first, there, back):
        store.close()


def test_a_copy_that_differs_is_noticed(tmp_path, monkeypatch):
    write(SQLiteStore(tmp_path / "source.db"), HandClock())
    source, target = SQLiteStore(tmp_path / "source.db"), SQLiteStore(":memory:")
    add_events = SQLiteTransaction.add_events

    def halve(self, rows):
        add_events(self, [row._replace(value=row.value / 2) for row in rows])

    monkeypatch.setattr(SQLiteTransaction, "add_events", halve)
    with pytest.raises(StoreError, match="the copy of shop must have"):
        copy(source, target, source.bandits())
    source.close()
    target.close()


def test_copies_and_more_on_the_command_line(empty, tmp_path, capsys):
    path = tmp_path / "log.db"
    write(SQLiteStore(path), HandClock())

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        return stop.value.code

    assert run("copy", path, empty.address, "--bandit", "shop") == 0
    assert run("copy", path, empty.address, "--bandit", "dice") == 0
    assert "dice: 50 events, 60 decisions copied, 60 recomputed" in capsys.readouterr().out
    assert run("copy", path, empty.address) == 2
    assert run("replay", empty.address) == 0
    assert run("export", empty.address, "--out", tmp_path / "out.ndjson") == 0
    assert run("import", tmp_path / "new.db", tmp_path / "out.ndjson") == 0
    assert run("prune", empty.address, "--older-than", "1d") == 0
    assert run("replay", empty.address, "--bandit", "shop") == 0
    assert "begins at version" in capsys.readouterr().out


def test_a_backup_taken_under_load_is_a_whole_log(empty):
    log = Log(PostgreSQLStore(empty.address), compiled=False)
    log.create("shop", THOMPSON | {"model": MODEL})
    stop = threading.Event()

    def play(client):
        n = 0
        while not stop.is_set():
            decision = log.decide("shop", f"{client}-{n}").decision
            log.reward("shop", decision.id, 0.3)
            n += 1

    threads = [threading.Thread(target=play, args=(client,)) for client in range(3)]
    for thread in threads:
        thread.start()
    while log.bandit("shop").version < 20 and all(thread.is_alive() for thread in threads):
        time.sleep(0.01)
    dump = empty.folder / "backup"
    empty.run("pg_dump", "--format=custom", f"--file={dump}", empty.address)
    stop.set()
    for thread in threads:
        thread.join()
    log.close()
    with psycopg.connect(empty.address, autocommit=True) as connection:
        connection.execute("DROP SCHEMA globalbandits CASCADE")
    empty.run("pg_restore", f"--dbname={empty.address}", str(dump))
    store = open_store(empty.address)
    version, _ = store.heads()[1]
    assert version >= 20
    assert all_agree(store) >= version
    log = Log(store, compiled=False)
    assert log.reward("shop", log.decide("shop", "after").decision.id, 0.3).version == version + 1
    log.close()


def test_a_long_answer_may_be_read_slowly(empty):
    store = PostgreSQLStore(empty.address, statement_seconds=0.2)
    write(store, HandClock())
    store = PostgreSQLStore(empty.address, statement_seconds=0.2)
    events = store.events(1)
    first = next(events)
    time.sleep(0.5)
    assert [first.seq, *(event.seq for event in events)] == list(range(1, 56))
    store.close()
