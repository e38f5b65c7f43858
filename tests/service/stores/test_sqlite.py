"""Files that are foreign, damaged, newer, in use, full, or half way through a migration."""

import contextlib
import hashlib
import itertools
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from globalbandits.errors import StoreError, StoreUnavailable
from globalbandits.service.log import Log
from globalbandits.service.stores import SQLiteStore
from globalbandits.service.stores.migrations import APPLICATION_ID, Migration, migrations
from globalbandits.service.stores.records import Event, StoredEvent, WriterRow
from globalbandits.service.stores.sqlite import FileLock
from tests.service.worlds import WAGP

ROOT = Path(__file__).parents[3]


@pytest.fixture
def path(tmp_path):
    """A store with some decisions."""
    path = tmp_path / "log.db"
    log = Log(SQLiteStore(path), compiled=False)
    log.create("shop", WAGP)
    for n in range(20):
        log.reward("shop", log.decide("shop", f"{n}").decision.id, 0.3)
    log.close()
    return path


def content(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def refused(path, words, **options):
    before = content(path)
    with pytest.raises(StoreError, match=words):
        SQLiteStore(path, **options)
    assert content(path) == before


def test_commits_wait_for_the_disk(path):
    store = SQLiteStore(path)
    assert store._writer.execute("PRAGMA synchronous").fetchone() == (2,)
    assert store._writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert store._writer.execute("PRAGMA foreign_keys").fetchone() == (1,)
    store.close()


def test_a_step_frees_the_requested_number_of_pages(path):
    store = SQLiteStore(path)

    def n_free():
        return store._writer.execute("PRAGMA freelist_count").fetchone()[0]

    store._writer.execute("CREATE TABLE filler (text)")
    store._writer.executemany("INSERT INTO filler VALUES (?)", [("x" * 3_000,)] * 60)
    store._writer.execute("DROP TABLE filler")
    n_before = n_free()
    assert n_before >= 60
    with store.transaction() as rows:
        assert rows.shrink(20)
    assert n_free() == n_before - 20
    with store.transaction() as rows:
        assert not rows.shrink(n_before - 20)
    assert n_free() == 0
    with store.transaction() as rows:
        assert not rows.shrink(20)
    store.close()


def test_a_closed_file_is_whole_without_its_write_ahead_log(path, tmp_path):
    """A stopped service can be backed up by copying one file, also one that was opened again."""
    log = Log(SQLiteStore(path), compiled=False)
    log.reward("shop", log.decide("shop", "later").decision.id, 0.3)
    log.close()
    assert not path.with_name("log.db-wal").exists()
    copy = shutil.copy(path, tmp_path / "copy.db")
    store = SQLiteStore(copy, read_only=True)
    assert store.bandits()[0].version == 21
    store.close()


def test_a_database_in_memory_leaves_no_file_and_ends_with_close(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = SQLiteStore(":memory:"), SQLiteStore(":memory:")
    with first.transaction() as rows:
        rows.add_writer(WriterRow(0, "1.0", "3.13", "here", 5))
    assert (len(first.writers()), len(second.writers())) == (1, 0)
    first.check()
    first.close()
    with pytest.raises(StoreUnavailable, match=":memory: is closed"):
        first.writers()
    second.close()
    with pytest.raises(StoreError, match="must be an existing file, got :memory:"):
        SQLiteStore(":memory:", read_only=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("read_only", [False, True])
def test_a_foreign_file_is_refused_and_not_touched(tmp_path, read_only):
    noise = tmp_path / "noise"
    noise.write_bytes(bytes(range(256)) * 40)
    refused(noise, "must be an SQLite file of globalbandits.*not SQLite", read_only=read_only)
    short = tmp_path / "short"
    short.write_bytes(b"SQLite format 3\x00")
    refused(short, "not SQLite", read_only=read_only)
    other = tmp_path / "other"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE bandits (x)")
    connection.close()
    refused(other, "of another program", read_only=read_only)
    with pytest.raises(StoreError, match="must be a file, got the folder"):
        SQLiteStore(tmp_path, read_only=read_only)


def test_a_file_without_its_end_is_refused_and_not_touched(path):
    with open(path, "rb+") as file:
        file.truncate(path.stat().st_size - 5_000)
    refused(path, "its end is missing")


def test_a_page_of_noise_is_found(path):
    size = path.stat().st_size
    with open(path, "rb+") as file:
        file.seek(4096)
        file.write(os.urandom(size - 4096))

    def look():
        with contextlib.closing(SQLiteStore(path, read_only=True)) as store:
            store.check()

    with pytest.raises(StoreError, match=r"log\.db"):
        look()


def test_a_file_that_is_not_there_cannot_be_read(tmp_path):
    with pytest.raises(StoreError, match="must be an existing file"):
        SQLiteStore(tmp_path / "nowhere.db", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_second_writer_is_refused_readers_are_not(path):
    store = SQLiteStore(path)
    with pytest.raises(StoreError, match=f"in use by process {os.getpid()}: one process"):
        SQLiteStore(path)
    reader = SQLiteStore(path, read_only=True)
    assert reader.bandits()[0].version == 20
    with pytest.raises(StoreError, match="for reading only"), reader.transaction():
        pass
    reader.close()
    store.close()
    SQLiteStore(path).close()


def test_a_lock_ends_with_its_process(tmp_path):
    code = f"""
import time
from pathlib import Path
from globalbandits.service.stores.sqlite import FileLock
lock = FileLock(Path({str(tmp_path / "x.lock")!r}))
print("held", flush=True)
time.sleep(60)
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "held\n"
    with pytest.raises(StoreError, match=f"in use by process {child.pid}"):
        FileLock(tmp_path / "x.lock")
    child.kill()
    child.communicate()
    FileLock(tmp_path / "x.lock").release()


def test_a_newer_file_is_refused_and_not_touched(path):
    next_number = migrations()[-1].number + 1
    newer = [*migrations(), Migration(next_number, "CREATE TABLE later (x INTEGER);")]
    SQLiteStore(path, steps=newer).close()
    refused(path, f"must have tables of number {next_number - 1} or lower, got {next_number}")
    refused(path, "written by a newer version", read_only=True)


def test_a_new_file_leaves_no_copy_of_itself(path):
    assert sorted(found.name for found in path.parent.iterdir()) == ["log.db", "log.db.lock"]


def test_an_older_file_is_migrated_and_a_copy_is_kept(path):
    number = migrations()[-1].number + 1
    newer = [*migrations(), Migration(number, "CREATE TABLE later (x INTEGER);")]
    with pytest.raises(StoreError, match=f"must have tables of number {number}"):
        SQLiteStore(path, read_only=True, steps=newer)
    SQLiteStore(path, steps=newer).close()
    SQLiteStore(path, steps=newer).close()
    copy = path.with_name(f"log.db.before-{number}")
    before = SQLiteStore(copy, read_only=True)
    assert before.bandits()[0].version == 20
    before.close()
    after = SQLiteStore(path, steps=newer)
    assert len(list(after.events(1))) == 20
    after.close()


def test_a_migration_that_fails_changes_nothing(path):
    number = migrations()[-1].number + 1
    bad = "CREATE TABLE later (x INTEGER);\nINSERT INTO nowhere VALUES (1);"
    with pytest.raises(StoreError, match="cannot be opened: no such table"):
        SQLiteStore(path, steps=[*migrations(), Migration(number, bad)])
    store = SQLiteStore(path)  # the lock is free, and the tables are as they were
    assert store.bandits()[0].version == 20
    store.close()


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL on Windows")
def test_a_migration_killed_half_way_leaves_one_form_or_the_other(path):
    code = f"""
import sqlite3, sys
from globalbandits.service.stores import SQLiteStore
from globalbandits.service.stores import sqlite as module
from globalbandits.service.stores.migrations import Migration, migrations

def stopping(sql):
    for number, statement in enumerate(module_statements(sql)):
        if number == 2:
            print("half way", flush=True)
            sys.stdin.read()
        yield statement

module_statements, module.statements = module.statements, stopping
new = Migration(migrations()[-1].number + 1, '''
CREATE TABLE later (x INTEGER);
INSERT INTO later SELECT seq FROM events;
DROP TABLE refusals;
''')
SQLiteStore({str(path)!r}, steps=[*migrations(), new])
"""
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "half way\n"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    store = SQLiteStore(path)
    tables = store._writer.execute("SELECT name FROM sqlite_schema").fetchall()
    assert ("later",) not in tables
    assert ("refusals",) in tables
    assert len(list(store.events(1))) == 20
    store.check()
    store.close()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 400 kB, and how to make it larger."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.name == "nt":
        pytest.skip("no mount")
    options = ["-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)]
    if subprocess.run([mount, *options], capture_output=True).returncode != 0:
        pytest.skip("mounting a small file system needs root")
    yield folder, lambda: subprocess.run([mount, "-o", "remount,size=8m", str(folder)], check=True)
    # Lazily: a test that failed may not have closed its files.
    subprocess.run(["umount", "-l", str(folder)], check=True)


def _fill(path):
    """Take what room is left."""
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(512))


def test_a_full_disk_is_reported_and_writing_resumes_with_room(small_disk):
    folder, enlarge = small_disk
    log = Log(SQLiteStore(folder / "log.db"), compiled=False)
    log.create("shop", WAGP)
    told, refused = {}, []
    for n in range(5_000):
        try:
            id = log.decide("shop", f"{n}").decision.id
            told[id] = log.reward("shop", id, 0.3).version
        except StoreUnavailable as error:
            refused.append((n, str(error)))
            _fill(folder / "ballast")
            if len(refused) == 3:
                break
    assert len(refused) == 3
    assert {"cannot be written now: database or disk is full" in text for _, text in refused} == {
        True
    }
    enlarge()
    for n, _ in refused:  # the same requests again
        id = log.decide("shop", f"{n}").decision.id
        told[id] = log.reward("shop", id, 0.3).version
    assert sorted(told.values()) == list(range(1, len(told) + 1))
    assert log.bandit("shop").version == len(told)
    log.store.check()
    events = list(log.store.events(1))
    assert {event.decision: event.seq for event in events} == told
    log.close()


STRACE = shutil.which("strace")


def test_writes_reach_the_disk_before_they_are_acknowledged(tmp_path):
    """Write, then fdatasync, then the answer: seen from outside the process."""
    if STRACE is None:
        pytest.skip("no strace")
    code = f"""
import os
from globalbandits.service.log import Log
from globalbandits.service.stores import SQLiteStore
from tests.service.worlds import WAGP
log = Log(SQLiteStore({str(tmp_path / "log.db")!r}), compiled=False)
log.create("shop", WAGP)
os.write(1, b"BEGIN")
for n in range(5):
    id = log.decide("shop").decision.id
    os.write(1, b"DECIDED")
    log.reward("shop", id, 0.3)
    os.write(1, b"LEARNED")
log.close()
"""
    trace = tmp_path / "trace"
    command = [STRACE, "-f", "-y", "-e", "trace=write,pwrite64,fdatasync,fsync", "-o", str(trace)]
    done = subprocess.run(
        [*command, sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode != 0 and "ptrace" in done.stderr.lower():
        pytest.skip("ptrace is forbidden")
    assert done.returncode == 0, done.stderr
    order = []
    for line in trace.read_text().splitlines():
        if "log.db-wal" in line:
            order.append("sync" if "sync(" in line else "write")
        elif '"BEGIN"' in line:
            order = []
        elif '"DECIDED"' in line or '"LEARNED"' in line:
            order.append("told")
    told = [place for place, word in enumerate(order) if word == "told"]
    assert len(told) == 10
    for before, place in itertools.pairwise([-1, *told]):
        between = order[before + 1 : place]
        assert "write" in between
        assert between[-1] == "sync"


def test_no_query_of_a_request_scans_a_whole_table(path, monkeypatch):
    """Queries that every request makes must not take longer as the log grows."""
    store = SQLiteStore(path)
    plans = []

    class Watched:
        def __init__(self, connection):
            self._connection = connection

        def execute(self, sql, values=()):
            if not sql.startswith(("BEGIN", "COMMIT", "PRAGMA")):
                rows = self._connection.execute(f"EXPLAIN QUERY PLAN {sql}", values).fetchall()
                plans.extend((sql, row[3]) for row in rows)
            return self._connection.execute(sql, values)

    with store.transaction() as rows:
        watched = type(rows)(Watched(store._writer))
        row = next(iter(store.decisions(1)))
        watched.add_decisions([row._replace(id="new", request_id="new")])
        watched.decisions_by_request([(1, "1"), (1, "2"), (1, "3")])
        watched.decisions_by_id(["a", "b"])
        watched.events_by_decision(["a", "b"])
        watched.lock([1, 2])
        watched.events_after(1, 15)
        watched.settings_after({1: 0, 2: 0})
        watched.set_versions({1: 20})
    reader = Watched(store._reader())
    monkeypatch.setattr(store, "_reader", lambda: reader)
    store.decision("a")
    store.decision_of_request(1, "1")
    store.stored_events("a")
    list(store.events(1, 10, 15))
    store.overdue((0, ""), 10**18, 10)
    assert len(plans) >= 12
    scans = [plan for plan in plans if "SCAN" in plan[1] and "requested" not in plan[1]]
    assert [plan for plan in scans if "CONSTANT" not in plan[1]] == []
    store.close()


def test_a_file_of_the_second_schema_keeps_every_row(tmp_path):
    path = tmp_path / "old.db"
    old = sqlite3.connect(path)
    old.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    old.execute("CREATE TABLE schema (number INTEGER, at INTEGER)")
    for step in migrations()[:2]:
        old.executescript(step.sql)
        old.execute("INSERT INTO schema VALUES (?, 0)", (step.number,))
    old.execute("INSERT INTO writers VALUES (1, 'x', '3', 'host', 1)")
    for bandit in (3, 8):
        old.execute(f"INSERT INTO bandits VALUES ({bandit}, 'main', 'b{bandit}', '{{}}', 1, 2, 5)")
        old.execute(f"INSERT INTO settings VALUES ({bandit}, 1, 0, '{{}}', 5)")
        old.execute(
            f"INSERT INTO decisions VALUES ('d{bandit}', {bandit}, 'r', 0, 1, 0, 1, 1, 6, NULL)"
        )
        for seq, kind in enumerate(("reward", "retraction"), 1):
            row = (bandit, seq, kind, f"d{bandit}", 1, 1 / 3, 7)
            old.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    old.commit()
    old.close()
    store = SQLiteStore(path)
    assert [(row.id, row.name, row.version) for row in store.bandits()] == [
        (3, "b3", 2),
        (8, "b8", 2),
    ]
    expected = [StoredEvent("reward", 1 / 3, 1), StoredEvent("retraction", 1 / 3, 2)]
    assert store.stored_events("d8") == expected
    with store.transaction() as rows:
        rows.add_events([Event(8, 3, "correction", "d8", 1, 0.5, 9)])
        rows.delete_bandit(3, 10)
        rows.add_bandit(store.bandit(8)._replace(name="b3"))
    for pragma, value in (("auto_vacuum", [(2,)]), ("foreign_key_check", [])):
        assert store._writer.execute(f"PRAGMA {pragma}").fetchall() == value
    store.check()
    store.close()
