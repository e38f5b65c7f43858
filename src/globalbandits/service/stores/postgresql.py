"""The log in a PostgreSQL database, which several processes (replicas) may share.

Every process appends in the same way: it locks the rows of the bandits concerned, reads what other
processes have appended, appends and commits. The order of these locks is the order of a bandit's
events. There is no leader, and no state to hand over when a process ends.

The isolation level is *read committed*: a statement after the lock sees what the previous holder of
the lock has committed. A commit returns when the server has it on disk.
"""

import os
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from globalbandits.errors import StoreError, StoreUnavailable
from globalbandits.service.stores.migrations import (
    APPLICATION_ID,
    Migration,
    check_schema_number,
    migrations,
)
from globalbandits.service.stores.records import Decision
from globalbandits.service.stores.sql import ROWS_PER_FETCH, SQLStore, SQLTransaction, columns

Connection = psycopg.Connection[tuple[Any, ...]]

STATEMENT_SECONDS = 10.0
_SCHEMA = "globalbandits"  # the tables have a schema of their own in the database
_MAX_CONNECTIONS = 16
# How long a caller waits for a connection. While the server is down, every call takes this long.
_POOL_SECONDS = 2.0
# Parameters of a connection that the address may override.
_CONNECTION_DEFAULTS = {
    "application_name": "globalbandits",
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
# A migration waits this long for tables in use. Other statements queue up behind it meanwhile. The
# value is below the second after which the server starts to look for deadlocks.
_MIGRATION_LOCK_TIMEOUT = "300ms"
_MIGRATION_ATTEMPTS = 100
_ARRAY_TYPES: dict[Any, str] = {
    int: "bigint[]",
    float: "double precision[]",
    str: "text[]",
    int | None: "bigint[]",
    float | None: "double precision[]",
    str | None: "text[]",
}


class PostgreSQLStore(SQLStore):
    """A store in a PostgreSQL database. Missing tables are created.

    Args:
        address: ``postgresql://user@host/database``, with any parameters of libpq.
        read_only: open for reading only. Every read sees the database as it is now.
        statement_seconds: how long a statement may take, or wait for a lock, before the server
            counts as unavailable. The server ends a session that is idle for this long inside a
            transaction, so that a lost machine does not block the others.
        steps: the migrations; for tests.

    Raises:
        StoreUnavailable: if the server cannot be reached.
        StoreError: if the address is malformed, or the tables are newer than this version.
    """

    shared = True
    _arrival = "arrival"

    def __init__(
        self,
        address: str,
        *,
        read_only: bool = False,
        statement_seconds: float = STATEMENT_SECONDS,
        steps: Sequence[Migration] | None = None,
    ) -> None:
        try:
            given = conninfo_to_dict(address)
        except psycopg.Error as error:
            # The quoted part of the message may contain a password.
            text = str(error).partition('"')[0].strip(" :\n")
            raise StoreError(f"store must be a PostgreSQL address: {text}") from None
        self.path = _without_secrets(given)
        self._statement_seconds = statement_seconds
        self._read_only = read_only
        self._busy = threading.Lock()
        self._cursor_numbers = count()
        self._writer: Connection | None = None
        # The connection of a read-only store: one transaction for all reads.
        self._frozen: Connection | None = None
        self._watchdog = _Watchdog(2.0 * statement_seconds)
        parameters: dict[str, Any] = _CONNECTION_DEFAULTS | given
        parameters |= {"client_encoding": "UTF8", "autocommit": True}
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            kwargs=parameters,
            configure=self._configure,
            min_size=0,
            max_size=_MAX_CONNECTIONS,
            timeout=_POOL_SECONDS,
            reconnect_timeout=_POOL_SECONDS,
            name="globalbandits",
            open=False,
        )
        known = migrations("postgresql") if steps is None else list(steps)
        try:
            # A connection outside the pool: its error says why the server cannot be reached.
            with self._translated_errors("reached"):
                first = psycopg.connect(**parameters)
            with first, self._translated_errors("used"):
                self._configure(first)
                if not read_only:
                    migrate(first, self.path, known)
            self._pool.open()
            if read_only:
                self._frozen = self._begin_frozen(known)
        except BaseException:
            self.close()
            raise

    def _configure(self, connection: Connection) -> None:
        """Prepare a new connection."""
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise StoreError(f"the database's encoding must be UTF8, got {encoding}")
        milliseconds = round(1000 * self._statement_seconds)
        connection.execute(
            f"SET search_path = {_SCHEMA}; SET extra_float_digits = 1; "
            "SET default_transaction_isolation = 'read committed'; "
            f"SET lock_timeout = {milliseconds}; "
            f"SET idle_in_transaction_session_timeout = {milliseconds}; "
            "SELECT set_config('synchronous_commit', 'on', false) "
            "WHERE current_setting('synchronous_commit') IN ('off', 'local')"
        )

    def _begin_frozen(self, known: Sequence[Migration]) -> Connection:
        with self._translated_errors("read"):
            connection = self._pool.getconn()
            try:
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
                number = schema_number(connection)
                check_schema_number(self.path, number, known, read_only=True)
            except BaseException:
                self._discard(connection)
                raise
        return connection

    @contextmanager
    def _translated_errors(self, verb: str) -> Iterator[None]:
        """Turn errors of the driver into ours."""
        try:
            yield
        except (PoolTimeout, PoolClosed) as error:
            raise StoreUnavailable(f"{self.path} cannot be reached: {error}") from error
        except (psycopg.IntegrityError, psycopg.DataError) as error:
            raise StoreError(f"{self.path}: {_first_line(error)}") from error
        except psycopg.Error as error:
            text = _first_line(error)
            raise StoreUnavailable(f"{self.path} cannot be {verb} now: {text}") from error

    def _read(self, sql: str, *values: Any) -> list[Any]:
        if any(isinstance(value, str) and not value.isprintable() for value in values):
            return []  # PostgreSQL cannot store every such text, and no id of ours is one
        with self._translated_errors("read"):
            if self._frozen is not None:
                return self._frozen.execute(to_format_style(sql), values).fetchall()
            try:
                return self._read_once(sql, values)
            except PoolTimeout:
                raise
            except psycopg.OperationalError:
                # The connection may be older than the server's last restart.
                self._pool.drain()
                return self._read_once(sql, values)

    def _read_once(self, sql: str, values: Sequence[Any]) -> list[Any]:
        with self._pool.connection() as connection, self._watchdog.watch(connection):
            return connection.execute(to_format_style(sql), values).fetchall()

    def _working_connection(self) -> Connection:
        """Take a connection out of the pool and make sure that it works."""
        connection = self._pool.getconn()
        try:
            with self._watchdog.watch(connection):
                connection.execute("SELECT 1")
        except psycopg.OperationalError:
            # The connection may be older than the server's last restart.
            self._discard(connection)
            self._pool.drain()
            connection = self._pool.getconn()
        return connection

    def _stream(self, sql: str, *values: Any) -> Iterator[Sequence[Any]]:
        with self._translated_errors("read"):
            if self._frozen is not None:
                yield from self._fetch(self._frozen, sql, values)
                return
            connection = self._working_connection()
            try:
                with connection.transaction():
                    # The caller may take long between two rows. The transaction locks no rows.
                    connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
                    yield from self._fetch(connection, sql, values)
            finally:
                self._pool.putconn(connection)

    def _fetch(
        self, connection: Connection, sql: str, values: Sequence[Any]
    ) -> Iterator[Sequence[Any]]:
        with connection.cursor(f"stream_{next(self._cursor_numbers)}") as cursor:
            cursor.execute(to_format_style(sql), values)
            while rows := cursor.fetchmany(ROWS_PER_FETCH):
                yield from rows

    @contextmanager
    def transaction(self) -> Iterator["PostgreSQLTransaction"]:
        """Begin a transaction. The block's end returns when everything is on the server's disk.

        Raises:
            StoreUnavailable: if the server cannot be reached or the connection broke. The commit
                may or may not have succeeded. Repeat the call; it is idempotent.
        """
        if self._read_only:
            raise StoreError(f"{self.path} is open for reading only")
        with self._busy, self._translated_errors("written"):
            # The writer keeps its connection, and with it the prepared statements.
            if self._writer is None:
                self._writer = self._working_connection()
            writer = self._writer
            try:
                with self._watchdog.watch(writer):
                    # Plans of prepared statements are kept. One made while a table was small would
                    # scan the whole table when it is large.
                    writer.execute("BEGIN; SET LOCAL enable_seqscan = off")
                yield PostgreSQLTransaction(writer, self._watchdog)
                with self._watchdog.watch(writer):
                    writer.execute("COMMIT")
            except BaseException:
                self._roll_back(writer)
                raise

    def _roll_back(self, connection: Connection) -> None:
        """Roll back the writer's transaction; a connection that cannot do so is replaced."""
        try:
            with self._watchdog.watch(connection):
                connection.execute("ROLLBACK")
        except psycopg.Error:
            self._writer = None
            self._discard(connection)

    def _discard(self, connection: Connection) -> None:
        with suppress(psycopg.Error):
            connection.close()
        self._pool.putconn(connection)

    def check(self) -> None:
        """Do nothing: the PostgreSQL server checks its own pages."""

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()
        # A closed pool closes the connections that it gets back.
        for connection in (self._frozen, self._writer):
            if connection is not None:
                self._pool.putconn(connection)
        self._frozen = self._writer = None
        self._watchdog.stop()


class PostgreSQLTransaction(SQLTransaction):
    """The open transaction of a PostgreSQL connection.

    Args:
        connection: the connection, in a transaction.
        watchdog: ends statements that the server does not answer.
    """

    def __init__(self, connection: Connection, watchdog: "_Watchdog") -> None:
        self._connection = connection
        self._watchdog = watchdog

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._watchdog.watch(self._connection):
            return self._connection.execute(to_format_style(sql), values).fetchall()

    def _run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run a statement without a time limit: pruning may delete the rows of years."""
        return self._connection.execute(to_format_style(sql), values).rowcount

    def _add(self, table: str, rows: Sequence[Any], rule: str = "") -> int:
        if not rows:
            return 0
        types = type(rows[0]).__annotations__.values()
        arrays = ", ".join(f"%s::{_ARRAY_TYPES[type_]}" for type_ in types)
        sql = f"INSERT INTO {table} ({columns(rows[0])}) SELECT * FROM unnest({arrays}) {rule}"
        values = [list(column) for column in zip(*rows, strict=True)]
        with self._watchdog.watch(self._connection):
            return self._connection.execute(sql, values).rowcount

    def _rows_in(self, sql: str, values: Sequence[Any]) -> list[Any]:
        return self._rows(f"{sql} = ANY(?)", [list(values)]) if values else []

    def add_decisions(self, rows: Sequence[Decision]) -> int:
        """Store decisions with new request ids.

        The insert waits for a request id that another process is storing. All processes insert in
        the same order, so that they cannot wait for each other.
        """
        return super().add_decisions(
            sorted(rows, key=lambda row: (row.bandit, row.request_id or ""))
        )

    def lock(self, bandits: Iterable[int]) -> dict[int, int]:
        sql = (
            "SELECT id, version FROM bandits WHERE id = ANY(?::bigint[]) AND deleted_at IS NULL "
            "ORDER BY id FOR NO KEY UPDATE"
        )
        ids = list(bandits)
        return dict(self._rows(sql, [ids])) if ids else {}

    def set_versions(self, versions: Mapping[int, int]) -> None:
        sql = (
            "UPDATE bandits SET version = new.version "
            "FROM unnest(?::bigint[], ?::bigint[]) AS new (id, version) WHERE bandits.id = new.id"
        )
        if versions:
            self._run(sql, [list(versions), list(versions.values())])

    def decisions_by_request(
        self, requests: Sequence[tuple[int, str]]
    ) -> dict[tuple[int, str], Decision]:
        names = ", ".join(f"decisions.{name}" for name in Decision._fields)
        sql = (
            f"SELECT {names} FROM unnest(?::bigint[], ?::text[]) AS requested (bandit, request_id) "
            "JOIN decisions USING (bandit, request_id)"
        )
        if not requests:
            return {}
        rows = self._rows(sql, [list(column) for column in zip(*requests, strict=True)])
        return {(row[1], row[2]): Decision(*row) for row in rows}


class _Watchdog:
    """Ends connections whose server does not answer in time.

    A server, or a proxy before it, may accept data and never answer. TCP does not notice that, and
    neither the driver nor its pool has a time limit for an answer.

    Args:
        seconds: the time limit of a watched statement.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._watched: dict[int, tuple[Connection, float]] = {}  # with their deadlines
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)
        self._thread.start()

    @contextmanager
    def watch(self, connection: Connection) -> Iterator[None]:
        """Fail if the block does not end in time."""
        self._watched[id(connection)] = connection, time.monotonic() + self._seconds
        try:
            yield
        finally:
            self._watched.pop(id(connection), None)

    def _run(self) -> None:
        while not self._stopped.wait(min(1.0, self._seconds / 4.0)):
            now = time.monotonic()
            for connection, deadline in list(self._watched.values()):
                if now > deadline:
                    with suppress(OSError, psycopg.Error):
                        _shut_down(connection)

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()


def _shut_down(connection: Connection) -> None:
    """Shut down a connection's socket: the thread that waits for it gets an error."""
    with socket.socket(fileno=os.dup(connection.fileno())) as duplicate:
        duplicate.shutdown(socket.SHUT_RDWR)


def schema_number(connection: Connection) -> int:
    """The number of the last migration that was applied; 0 for a new database."""
    found = connection.execute(f"SELECT to_regclass('{_SCHEMA}.schema')").fetchone()
    if found is None or found[0] is None:
        return 0
    row = connection.execute("SELECT coalesce(max(number), 0) FROM schema").fetchone()
    return 0 if row is None else int(row[0])


def migrate(connection: Connection, path: str, known: Sequence[Migration]) -> None:
    """Apply the missing migrations, one process at a time.

    A migration waits only briefly for tables in use, then lets other statements pass and tries
    again. Otherwise one long read would make all writers wait behind the migration.
    """
    number = schema_number(connection)
    check_schema_number(path, number, known)
    for step in known:
        if step.number > number:
            _apply(connection, path, known, step)


def _apply(connection: Connection, path: str, known: Sequence[Migration], step: Migration) -> None:
    for _ in range(_MIGRATION_ATTEMPTS):
        try:
            with connection.transaction():
                connection.execute(f"SELECT pg_advisory_xact_lock({APPLICATION_ID})")
                connection.execute(f"SET LOCAL lock_timeout = '{_MIGRATION_LOCK_TIMEOUT}'")
                connection.execute(f"CREATE SCHEMA IF NOT EXISTS {_SCHEMA}")
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS schema (number BIGINT PRIMARY KEY, at BIGINT)"
                )
                number = schema_number(connection)
                check_schema_number(path, number, known)
                # Another process may have applied it while this one waited for the lock.
                if number < step.number:
                    connection.execute(step.sql)
                    at = time.time_ns() // 1000
                    connection.execute("INSERT INTO schema VALUES (%s, %s)", (step.number, at))
                return
        except psycopg.errors.LockNotAvailable:
            time.sleep(0.2)
    raise StoreUnavailable(
        f"{path} is in use by a long transaction: migration {step.number} could not lock its tables"
    )


def to_format_style(sql: str) -> str:
    """Rewrite a statement with ``?`` for its values in the driver's style.

    >>> to_format_style("version % ? <> 0")
    'version %% %s <> 0'
    """
    return sql.replace("%", "%%").replace("?", "%s")


def _without_secrets(given: dict[str, Any]) -> str:
    """An address without its password.

    >>> _without_secrets({"user": "me", "password": "x", "host": "db", "dbname": "shop"})
    'postgresql://me@db/shop'
    """
    user = f"{given['user']}@" if given.get("user") else ""
    port = f":{given['port']}" if given.get("port") else ""
    return f"postgresql://{user}{given.get('host') or ''}{port}/{given.get('dbname') or ''}"


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0] or type(error).__name__
