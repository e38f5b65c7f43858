"""The log in an SQLite database: a file, or memory.

One connection writes. It holds a lock file, so that only one process writes to a file. Each thread
that reads has its own read-only connection. A commit returns when its bytes are on the disk
(``synchronous=FULL``). The rows of one kind in a batch are one statement. Values are bound
parameters, never SQL text: SQLite parses decimal numbers inexactly in some versions.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

from globalbandits.errors import StoreError, StoreUnavailable
from globalbandits.service.stores.migrations import (
    APPLICATION_ID,
    Migration,
    check_schema_number,
    migrations,
    statements,
)
from globalbandits.service.stores.records import Decision
from globalbandits.service.stores.sql import ROWS_PER_FETCH, SQLStore, SQLTransaction, columns

MEMORY = ":memory:"
_LOCK_SECONDS = 10.0  # how long a statement waits for a lock
_CACHED_STATEMENTS = 512
_MIN_SQLITE_VERSION = (3, 37, 0)  # the first with strict tables
_MAX_BOUND_VALUES = 30_000  # in one statement; SQLite allows 32,766
_FILE_MAGIC = b"SQLite format 3\x00"
_FILE_HEADER_BYTES = 100


class SQLiteStore(SQLStore):
    """A store in an SQLite database. A missing file is created.

    Args:
        path: the file, or ``:memory:`` for a database that ends with `close`.
        read_only: open an existing file for reading only. Another process may write meanwhile;
            every read sees the file as it was at the first read of its thread.
        steps: the migrations; for tests.

    Raises:
        StoreError: if the file is not a store, is damaged, newer than this version, or in use.
    """

    shared = False
    _arrival = "rowid"

    def __init__(
        self, path: str | Path, *, read_only: bool = False, steps: Sequence[Migration] | None = None
    ) -> None:
        if sqlite3.sqlite_version_info < _MIN_SQLITE_VERSION:
            raise StoreError(f"SQLite must be 3.37 or newer, got {sqlite3.sqlite_version}")
        self.path = Path(path)
        self._in_memory = str(path) == MEMORY
        self._read_only = read_only
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        # Reentrant: in memory a thread may read inside its own transaction.
        self._busy = threading.RLock()
        self._file_lock: FileLock | None = None
        self._writer: sqlite3.Connection | None = None
        known = migrations() if steps is None else list(steps)
        try:
            exists = not self._in_memory and check_file(self.path)
            if read_only and not exists:
                raise StoreError(f"store must be an existing file, got {self.path}")
            if not read_only and not self._in_memory:
                self._file_lock = FileLock(self.path.with_name(f"{self.path.name}.lock"))
            if exists:
                number = schema_number(self._reader())
                check_schema_number(self.path, number, known, read_only=read_only)
            if not read_only:
                self._writer = self._open_writer(known)
        except (sqlite3.Error, OSError) as error:
            self.close()
            text = error.strerror if isinstance(error, OSError) else error
            raise StoreError(f"{self.path} cannot be opened: {text}") from error
        except BaseException:
            self.close()
            raise

    def _open_writer(self, known: Sequence[Migration]) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path,
            timeout=_LOCK_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=_CACHED_STATEMENTS,
        )
        self._connections.append(connection)
        # Set before the journal mode, so that the id is in the file, not in the write-ahead log.
        if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        if not self._in_memory and connection.execute("PRAGMA auto_vacuum").fetchone()[0] != 2:
            # Free pages can then be given back in small steps. A file of an earlier version is
            # rewritten once.
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            # A disk without room for the new file is no reason to refuse the old one.
            with suppress(sqlite3.OperationalError):
                connection.execute("VACUUM")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        migrate(connection, self.path, known)
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    def _reader(self) -> sqlite3.Connection:
        """This thread's connection for reading."""
        found: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if found is None:
            found = sqlite3.connect(
                f"file:{quote(str(self.path.absolute()))}?mode=ro",
                uri=True,
                timeout=_LOCK_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
            if self._read_only:
                # One transaction for all reads, so that they see the same rows.
                found.execute("BEGIN")
            self._local.connection = found
            self._connections.append(found)
        return found

    def _read(self, sql: str, *values: Any) -> list[Any]:
        try:
            if not self._in_memory:
                return self._reader().execute(sql, values).fetchall()
            # A database in memory has one connection, which is shared by all threads.
            with self._busy:
                if self._writer is None:
                    raise StoreUnavailable(f"{self.path} is closed")
                return self._writer.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise StoreUnavailable(f"{self.path} cannot be read now: {error}") from error

    def _stream(self, sql: str, *values: Any) -> Iterator[Sequence[Any]]:
        if self._in_memory:
            yield from self._read(sql, *values)
            return
        try:
            cursor = self._reader().execute(sql, values)
            while rows := cursor.fetchmany(ROWS_PER_FETCH):
                yield from rows
        except sqlite3.Error as error:
            raise StoreUnavailable(f"{self.path} cannot be read now: {error}") from error

    @contextmanager
    def transaction(self) -> Iterator["SQLiteTransaction"]:
        """Begin a transaction. The block's end returns when everything is on the disk.

        Raises:
            StoreUnavailable: if the file cannot be written now, for example on a full disk.
        """
        if self._writer is None:
            raise StoreError(f"{self.path} is open for reading only")
        with self._busy:
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                yield SQLiteTransaction(self._writer)
                self._writer.execute("COMMIT")
            except sqlite3.IntegrityError as error:
                self._roll_back()
                raise StoreError(f"{self.path}: {error}") from error
            except sqlite3.Error as error:
                self._roll_back()
                raise StoreUnavailable(f"{self.path} cannot be written now: {error}") from error
            except BaseException:
                self._roll_back()
                raise

    def _roll_back(self) -> None:
        assert self._writer is not None
        if self._writer.in_transaction:
            with suppress(sqlite3.Error):
                self._writer.execute("ROLLBACK")

    def check(self) -> None:
        """Check every page of the file.

        Raises:
            StoreError: if the file is damaged.
        """
        if self._in_memory:
            return
        try:
            found = self._reader().execute("PRAGMA quick_check(1)").fetchone()[0]
        except sqlite3.Error as error:
            raise StoreError(f"{self.path} is damaged: {error}") from error
        if found != "ok":
            raise StoreError(f"{self.path} is damaged: {found}")

    def close(self) -> None:
        """Close every connection and release the file."""
        # The writer comes last: only then SQLite moves the write-ahead log into the file.
        for connection in sorted(self._connections, key=lambda each: each is self._writer):
            with suppress(sqlite3.Error):
                connection.close()
        self._connections.clear()
        self._writer = None
        self._local = threading.local()
        if self._file_lock is not None:
            self._file_lock.release()
            self._file_lock = None


class SQLiteTransaction(SQLTransaction):
    """The open transaction of an SQLite connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._execute = connection.execute

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._execute(sql, values).fetchall()

    def _run(self, sql: str, values: Sequence[Any] = ()) -> int:
        return self._execute(sql, values).rowcount

    def _add(self, table: str, rows: Sequence[Any], rule: str = "") -> int:
        n_new = 0
        for part in _parts(rows, len(rows[0]) if rows else 1):
            marks = f"({', '.join('?' * len(part[0]))})"
            values = ", ".join([marks] * len(part))
            sql = f"INSERT INTO {table} ({columns(part[0])}) VALUES {values} {rule}"
            n_new += self._run(sql, [value for row in part for value in row])
        return n_new

    def _rows_in(self, sql: str, values: Sequence[Any]) -> list[Any]:
        found = []
        for part in _parts(values, 1):
            found += self._rows(f"{sql} IN ({', '.join('?' * len(part))})", part)
        return found

    def lock(self, bandits: Iterable[int]) -> dict[int, int]:
        """Read the versions. BEGIN IMMEDIATE has locked out all other writers already."""
        live = "SELECT id, version FROM bandits WHERE deleted_at IS NULL AND id"
        return dict(self._rows_in(live, list(bandits)))

    def shrink(self, pages: int) -> bool:
        n_free = int(self._rows("PRAGMA freelist_count")[0][0])
        # The pragma returns a row per page, and the module sqlite3 takes one step of a statement
        # without columns. So it frees one page however many are asked for.
        for _ in range(min(pages, n_free)):
            self._rows("PRAGMA incremental_vacuum(1)")
        return n_free > pages

    def set_versions(self, versions: Mapping[int, int]) -> None:
        for bandit, version in versions.items():
            self._execute("UPDATE bandits SET version = ? WHERE id = ?", (version, bandit))

    def decisions_by_request(
        self, requests: Sequence[tuple[int, str]]
    ) -> dict[tuple[int, str], Decision]:
        found = {}
        for part in _parts(requests, 2):
            pairs = ", ".join(["(?, ?)"] * len(part))
            sql = (
                f"WITH requested (bandit, request_id) AS (VALUES {pairs}) "
                f"SELECT {columns(Decision)} "
                "FROM requested CROSS JOIN decisions USING (bandit, request_id)"
            )
            for row in self._rows(sql, [value for pair in part for value in pair]):
                decision = Decision(*row)
                found[decision.bandit, row[2]] = decision
        return found


def _parts(rows: Sequence[Any], width: int) -> list[Sequence[Any]]:
    """Split rows into parts that fit into one statement each."""
    size = _MAX_BOUND_VALUES // width
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def schema_number(connection: sqlite3.Connection) -> int:
    """The number of the last migration that was applied; 0 for a new file."""
    named = "SELECT count(*) FROM sqlite_schema WHERE name = 'schema'"
    if connection.execute(named).fetchone()[0] == 0:
        return 0
    number: int = connection.execute("SELECT coalesce(max(number), 0) FROM schema").fetchone()[0]
    return number


def migrate(connection: sqlite3.Connection, path: Path, known: Sequence[Migration]) -> None:
    """Apply the missing migrations.

    Before each one, an existing file is copied to ``<name>.before-<number>``. A process that is
    killed leaves the tables as they were before or after a migration.
    """
    applied = schema_number(connection)
    check_schema_number(path, applied, known)
    for step in known:
        if step.number <= applied:
            continue
        if applied > 0:
            _copy_file(connection, path.with_name(f"{path.name}.before-{step.number}"))
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.execute("CREATE TABLE IF NOT EXISTS schema (number INTEGER, at INTEGER)")
            for statement in statements(step.sql):
                connection.execute(statement)
            at = time.time_ns() // 1000
            connection.execute("INSERT INTO schema VALUES (?, ?)", (step.number, at))
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise


def _copy_file(connection: sqlite3.Connection, copy: Path) -> None:
    """Copy the database to another file, which appears only when it is complete."""
    temporary = copy.with_name(f"{copy.name}.part")
    temporary.unlink(missing_ok=True)
    connection.execute("VACUUM INTO ?", (str(temporary),))
    temporary.replace(copy)


def check_file(path: Path) -> bool:
    """Check a file before SQLite opens it; a file that is refused is left unchanged.

    Returns:
        Whether the file exists and is not empty.

    Raises:
        StoreError: if the file is not a store of this library, or is truncated.
    """
    if path.is_dir():
        raise StoreError(f"store must be a file, got the folder {path}")
    if not path.exists() or path.stat().st_size == 0:
        return False
    with open(path, "rb") as file:
        header = file.read(_FILE_HEADER_BYTES)
    if len(header) < _FILE_HEADER_BYTES or not header.startswith(_FILE_MAGIC):
        raise StoreError(f"store must be an SQLite file of globalbandits, got {path}: not SQLite")
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise StoreError(
            f"store must be an SQLite file of globalbandits, got {path}: of another program"
        )
    # Bytes 16 to 17 are the page size (1 means 65,536), bytes 28 to 31 the number of pages.
    page = int.from_bytes(header[16:18], "big")
    expected = (65536 if page == 1 else page) * int.from_bytes(header[28:32], "big")
    wal = path.with_name(f"{path.name}-wal")
    # While the write-ahead log has content, the last pages may be there and not yet in the file.
    checkpointed = not wal.exists() or wal.stat().st_size == 0
    if checkpointed and path.stat().st_size < expected:
        raise StoreError(
            f"{path} must have {expected} bytes, got {path.stat().st_size}: its end is missing; "
            "restore a backup"
        )
    return True


class FileLock:
    """A lock that one process holds until it releases it or ends, even if it is killed.

    Args:
        path: the file to lock. The file itself stays; only the lock on it matters.

    Raises:
        StoreError: if another process holds the lock.
    """

    def __init__(self, path: Path) -> None:
        file = open(path, "ab+")  # noqa: SIM115 (it stays open while the lock is held)
        try:
            _lock(file)
        except OSError:
            file.seek(0)
            holder = file.read(20).decode("ascii", "replace").strip()
            file.close()
            raise StoreError(
                f"{path.with_suffix('')} is in use by process {holder or 'unknown'}: one process "
                "writes to a store at a time"
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n".encode("ascii"))
        file.flush()
        self._file = file

    def release(self) -> None:
        """Release the lock."""
        self._file.close()


def _lock(file: BinaryIO) -> None:
    """Lock a file, or raise OSError at once if it is locked."""
    if os.name == "nt":
        import msvcrt

        # Beyond the process id at the start, which others must be able to read.
        file.seek(1024)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    else:
        import fcntl

        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
