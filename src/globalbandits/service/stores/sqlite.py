"""The log in one SQLite file.

One connection writes; it holds a lock file, so that no second process does. Every thread that
reads has a connection of its own that cannot write. A commit returns when its bytes are on the
disk (``synchronous=FULL``). Each kind of row of a batch is one statement, whose values are bound,
not written as text: SQLite's own reading of decimal numbers is not exact in every version.
"""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from globalbandits.errors import StoreAway, StoreError
from globalbandits.service.stores.files import APPLICATION, FileLock, check_file
from globalbandits.service.stores.migrations import (
    Migration,
    check_number,
    migrate,
    migrations,
    schema_number,
)
from globalbandits.service.stores.reading import PIECE, Reading
from globalbandits.service.stores.sqlite_writing import SQLiteTransaction

_SECONDS = 10.0  # to wait for a reader that holds things up
_STATEMENTS = 512  # kept ready
_OLDEST = (3, 37, 0)  # the first SQLite with strict tables


class SQLiteStore(Reading):
    """A store in a file, made if it is not there.

    Args:
        path: the file.
        read_only: only read, beside a process that writes, all of it as it is at this moment;
            the tables must be of this version.
        steps: the migrations; for tests.

    Raises:
        StoreError: if the file is something else, damaged, newer, or in use.
    """

    shared = False  # one process writes
    _arrival = "rowid"

    def __init__(
        self, path: str | Path, *, read_only: bool = False, steps: Sequence[Migration] | None = None
    ) -> None:
        if sqlite3.sqlite_version_info < _OLDEST:
            raise StoreError(f"SQLite must be 3.37 or newer, got {sqlite3.sqlite_version}")
        self.path = Path(path)
        self._read_only = read_only
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._busy = threading.Lock()
        self._lock: FileLock | None = None
        self._writer: sqlite3.Connection | None = None
        known = migrations() if steps is None else list(steps)
        try:
            exists = check_file(self.path)
            if read_only and not exists:
                raise StoreError(f"store must be an existing file, got {self.path}")
            if not read_only:
                self._lock = FileLock(self.path.with_name(f"{self.path.name}.lock"))
            if exists:
                number = schema_number(self._reader())
                check_number(self.path, number, known)
                if read_only and number < known[-1].number:
                    raise StoreError(
                        f"{self.path} must have tables of number {known[-1].number}, got {number}: "
                        "open it once with a command that writes, such as globalbandits serve"
                    )
            if not read_only:
                self._writer = self._open_writer(known)
        except (sqlite3.Error, OSError) as error:
            self.close()
            words = error.strerror if isinstance(error, OSError) else error
            raise StoreError(f"{self.path} cannot be opened: {words}") from error
        except BaseException:
            self.close()
            raise

    def _open_writer(self, steps: Sequence[Migration]) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path,
            timeout=_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=_STATEMENTS,
        )
        self._connections.append(connection)
        # Before the write-ahead log, so that it stands in the file itself from the start.
        if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        migrate(connection, self.path, steps)
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    def _reader(self) -> sqlite3.Connection:
        """This thread's connection for reading."""
        found: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if found is None:
            found = sqlite3.connect(
                f"file:{quote(str(self.path.absolute()))}?mode=ro",
                uri=True,
                timeout=_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
            if self._read_only:
                found.execute("BEGIN")  # all that is read is of one moment
            self._local.connection = found
            self._connections.append(found)
        return found

    def _read(self, sql: str, *values: Any) -> list[Any]:
        try:
            return self._reader().execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise StoreAway(f"{self.path} cannot be read now: {error}") from error

    def _stream(self, sql: str, *values: Any) -> Iterator[Sequence[Any]]:
        try:
            cursor = self._reader().execute(sql, values)
            while rows := cursor.fetchmany(PIECE):
                yield from rows
        except sqlite3.Error as error:
            raise StoreAway(f"{self.path} cannot be read now: {error}") from error

    @contextmanager
    def transaction(self) -> Iterator[SQLiteTransaction]:
        """Write; the block's end returns when everything is on the disk.

        Raises:
            StoreAway: if the file cannot be written: a full disk, say. It may be later.
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
                raise StoreAway(f"{self.path} cannot be written now: {error}") from error
            except BaseException:
                self._roll_back()
                raise

    def _roll_back(self) -> None:
        assert self._writer is not None
        if self._writer.in_transaction:
            with suppress(sqlite3.Error):
                self._writer.execute("ROLLBACK")

    def check(self) -> None:
        """Look at every page.

        Raises:
            StoreError: if the file is damaged.
        """
        try:
            found = self._reader().execute("PRAGMA quick_check(1)").fetchone()[0]
        except sqlite3.Error as error:
            raise StoreError(f"{self.path} is damaged: {error}") from error
        if found != "ok":
            raise StoreError(f"{self.path} is damaged: {found}")

    def close(self) -> None:
        """Close every connection and let others have the file."""
        for connection in reversed(self._connections):  # readers first
            with suppress(sqlite3.Error):
                connection.close()
        self._connections.clear()
        self._writer = None
        self._local = threading.local()
        if self._lock is not None:
            self._lock.release()
            self._lock = None
