"""Connections to a PostgreSQL server: made when needed, checked, and never waited on for ever."""

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from globalbandits.errors import StoreAway, StoreError

Connection = psycopg.Connection[tuple[Any, ...]]

NAMESPACE = "globalbandits"  # our tables have a namespace of their own in the database
_IDLE = 4  # connections for reading that are kept
# What an address may say otherwise.
_DEFAULTS = {
    "application_name": "globalbandits",
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}


class Connections:
    """The connections of one process to one database.

    Args:
        address: as ``postgresql://user@host/database``.
        patience: seconds that a statement may take, or a lock may be waited for. A session that
            says nothing for so long in the middle of a transaction is ended by the server, so that
            a machine that is gone holds up nobody.

    Raises:
        StoreError: if it is no address.
    """

    def __init__(self, address: str, patience: float) -> None:
        try:
            given = conninfo_to_dict(address)
        except psycopg.Error as error:
            # What stands in quotes after it may be a password.
            words = str(error).partition('"')[0].strip(" :\n")
            raise StoreError(f"store must be a PostgreSQL address: {words}") from None
        self._parameters: dict[str, Any] = _DEFAULTS | given | {"client_encoding": "UTF8"}
        self.shown = _without_secrets(given)
        self._patience = patience
        self._idle: list[Connection] = []
        self._busy: dict[int, tuple[Connection, float]] = {}  # by its number, until when
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._watch = threading.Thread(target=self._end_overdue, name="watch", daemon=True)
        self._watch.start()

    def new(self) -> Connection:
        """A new connection.

        Raises:
            StoreAway: if the server does not answer.
            StoreError: if it could never be a store.
        """
        if self._closed.is_set():
            raise StoreAway(f"{self.shown} is closed")
        try:
            connection = psycopg.connect(**self._parameters, autocommit=True)
        except psycopg.Error as error:
            raise StoreAway(f"{self.shown} cannot be reached: {first_line(error)}") from error
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: Connection) -> None:
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise StoreError(f"the database's encoding must be UTF8, got {encoding}")
        milliseconds = round(1000 * self._patience)
        try:
            connection.execute(
                f"SET search_path = {NAMESPACE}; SET extra_float_digits = 1; "
                "SET default_transaction_isolation = 'read committed'; "
                f"SET lock_timeout = {milliseconds}; "
                f"SET idle_in_transaction_session_timeout = {milliseconds}; "
                "SELECT set_config('synchronous_commit', 'on', false) "
                "WHERE current_setting('synchronous_commit') IN ('off', 'local')"
            )
        except psycopg.Error as error:
            raise StoreAway(f"{self.shown} cannot be used now: {first_line(error)}") from error

    @contextmanager
    def lent(self) -> Iterator[Connection]:
        """A connection to read with; one that fails is not used again."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        if connection is None or connection.closed:
            connection = self.new()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        with self._lock:
            if len(self._idle) < _IDLE and not self._closed.is_set():
                self._idle.append(connection)
                return
        connection.close()

    def forget_idle(self) -> None:
        """Drop connections that wait: the server they were made to is not the same any more."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def watched(self, connection: Connection) -> Iterator[None]:
        """A statement that fails if the server does not answer in time.

        The network may swallow everything without a word; nobody but us would notice.
        """
        number = id(connection)
        self._busy[number] = connection, time.monotonic() + 2.0 * self._patience
        try:
            yield
        finally:
            self._busy.pop(number, None)

    def _end_overdue(self) -> None:
        while not self._closed.wait(min(1.0, self._patience / 2.0)):
            now = time.monotonic()
            for connection, until in list(self._busy.values()):
                if now > until:
                    with suppress(OSError, psycopg.Error):
                        _hang_up(connection)

    def close(self) -> None:
        """Drop all that wait, and give no new ones."""
        self._closed.set()
        self._watch.join()
        self.forget_idle()


def _hang_up(connection: Connection) -> None:
    """End a connection under a thread that waits for it: it wakes up with an error."""
    with socket.socket(fileno=os.dup(connection.fileno())) as same:
        same.shutdown(socket.SHUT_RDWR)


def _without_secrets(given: dict[str, Any]) -> str:
    """An address as it may be shown.

    >>> _without_secrets({"user": "me", "password": "x", "host": "db", "dbname": "shop"})
    'postgresql://me@db/shop'
    """
    user = f"{given['user']}@" if given.get("user") else ""
    port = f":{given['port']}" if given.get("port") else ""
    return f"postgresql://{user}{given.get('host') or ''}{port}/{given.get('dbname') or ''}"


def first_line(error: Exception) -> str:
    """What went wrong, shortly."""
    return str(error).strip().split("\n")[0] or type(error).__name__
