"""The log in a PostgreSQL database, for several processes at once (replicas).

Every process appends in the same way: it locks the rows of the bandits it tells about, reads what
others have appended, appends and commits. The order of a bandit's events is the order of these
locks. There is no leader, and nothing has to be given up or taken over when a process ends.

The level of isolation is *read committed*: a statement after the lock sees what the last holder of
the lock has committed. A commit returns when the server has it on its disk.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any

import psycopg

from globalbandits.errors import StoreAway, StoreError
from globalbandits.service.stores.migrations import Migration, check_number, migrations
from globalbandits.service.stores.postgresql_connections import (
    Connection,
    Connections,
    first_line,
)
from globalbandits.service.stores.postgresql_migrations import migrate, schema_number
from globalbandits.service.stores.postgresql_writing import PostgreSQLTransaction, in_dialect
from globalbandits.service.stores.reading import PIECE, Reading

PATIENCE = 10.0  # seconds


class PostgreSQLStore(Reading):
    """A store in a database; its tables are made if they are not there.

    Args:
        address: as ``postgresql://user@host/database``; what libpq knows may stand in it.
        read_only: only read, all of it as it is at this moment.
        patience: seconds that a statement may take before the server counts as away.
        steps: the migrations; for tests.

    Raises:
        StoreAway: if the server cannot be reached.
        StoreError: if the address is none, or the tables are newer.
    """

    shared = True
    _arrival = "arrival"

    def __init__(
        self,
        address: str,
        *,
        read_only: bool = False,
        patience: float = PATIENCE,
        steps: Sequence[Migration] | None = None,
    ) -> None:
        self._connections = Connections(address, patience)
        self.path = self._connections.shown
        self._busy = threading.Lock()
        self._names = count()
        self._writer: Connection | None = None
        self._moment: Connection | None = None  # everything is read as it was then
        self._read_only = read_only
        known = migrations("postgresql") if steps is None else list(steps)
        try:
            with self._turned():
                if read_only:
                    self._moment = self._begin_moment(known)
                else:
                    with self._connections.lent() as connection:
                        migrate(connection, self.path, known)
        except BaseException:
            self.close()
            raise

    def _begin_moment(self, steps: Sequence[Migration]) -> Connection:
        connection = self._connections.new()
        try:
            connection.execute("SET idle_in_transaction_session_timeout = 0")
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            number = schema_number(connection)
            check_number(self.path, number, steps)
            if number < steps[-1].number:
                raise StoreError(
                    f"{self.path} must have tables of number {steps[-1].number}, got {number}: "
                    "open it once with a command that writes, such as globalbandits serve"
                )
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _turned(self, doing: str = "used") -> Iterator[None]:
        """The driver's errors as ours."""
        try:
            yield
        except (psycopg.IntegrityError, psycopg.DataError) as error:
            raise StoreError(f"{self.path}: {first_line(error)}") from error
        except psycopg.Error as error:
            raise StoreAway(f"{self.path} cannot be {doing} now: {first_line(error)}") from error

    def _read(self, sql: str, *values: Any) -> list[Any]:
        if any(isinstance(value, str) and not value.isprintable() for value in values):
            return []  # PostgreSQL has no such texts
        with self._turned("read"):
            if self._moment is not None:
                return self._moment.execute(in_dialect(sql), values).fetchall()
            try:
                return self._read_once(sql, values)
            except psycopg.OperationalError:  # perhaps of a connection from before a restart
                self._connections.forget_idle()
                return self._read_once(sql, values)

    def _read_once(self, sql: str, values: Sequence[Any]) -> list[Any]:
        with self._connections.lent() as connection, self._connections.watched(connection):
            return connection.execute(in_dialect(sql), values).fetchall()

    def _stream(self, sql: str, *values: Any) -> Iterator[Sequence[Any]]:
        with self._turned("read"):
            if self._moment is not None:
                yield from self._pieces(self._moment, sql, values)
                return
            connection = self._connections.new()
            try:
                # Whoever learns from what is read may take long; no lock is held.
                connection.execute("SET idle_in_transaction_session_timeout = 0")
                with connection.transaction():
                    yield from self._pieces(connection, sql, values)
            finally:
                connection.close()

    def _pieces(
        self, connection: Connection, sql: str, values: Sequence[Any]
    ) -> Iterator[Sequence[Any]]:
        with connection.cursor(f"stream_{next(self._names)}") as cursor:
            cursor.execute(in_dialect(sql), values)
            while rows := cursor.fetchmany(PIECE):
                yield from rows

    @contextmanager
    def transaction(self) -> Iterator[PostgreSQLTransaction]:
        """Write; the block's end returns when everything is on the server's disk.

        Raises:
            StoreAway: if the server is away or the connection broke. What was written is stored or
                is not; who does it again finds out.
        """
        if self._read_only:
            raise StoreError(f"{self.path} is open for reading only")
        with self._busy, self._turned("written"):
            if self._writer is None or self._writer.closed:
                self._writer = self._connections.new()
                # Plans are kept, and those of a table that was small would read all of a large one.
                self._writer.execute("SET enable_seqscan = off")
            try:
                with self._connections.watched(self._writer):
                    self._writer.execute("BEGIN")
                yield PostgreSQLTransaction(self._writer, self._connections)
                with self._connections.watched(self._writer):
                    self._writer.execute("COMMIT")
            except BaseException:
                self._roll_back(self._writer)
                raise

    def _roll_back(self, connection: Connection) -> None:
        """A connection that is good goes on; of any other a new one takes the place."""
        try:
            with self._connections.watched(connection):
                connection.execute("ROLLBACK")
        except psycopg.Error:
            with suppress(psycopg.Error):
                connection.close()
            self._writer = None

    def check(self) -> None:
        """Nothing: a PostgreSQL server looks after its own pages."""

    def close(self) -> None:
        """Close every connection."""
        for connection in (self._moment, self._writer):
            if connection is not None:
                connection.close()
        self._moment = self._writer = None
        self._connections.close()
