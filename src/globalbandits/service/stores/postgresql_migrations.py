"""The tables of a PostgreSQL store, brought forward while other processes use them."""

import time
from collections.abc import Sequence

import psycopg

from globalbandits.errors import StoreAway
from globalbandits.service.stores.files import APPLICATION
from globalbandits.service.stores.migrations import Migration, check_number
from globalbandits.service.stores.postgresql_connections import NAMESPACE, Connection

# How long tables that are in use are waited for. Whoever comes meanwhile waits behind us; and it is
# less than the second after which a server looks for those who wait for each other.
_WAIT = "300ms"
_TRIES = 100


def schema_number(connection: Connection) -> int:
    """The number of the last step that was taken; 0 for a new database."""
    found = connection.execute(f"SELECT to_regclass('{NAMESPACE}.schema')").fetchone()
    if found is None or found[0] is None:
        return 0
    row = connection.execute("SELECT coalesce(max(number), 0) FROM schema").fetchone()
    return 0 if row is None else int(row[0])


def migrate(connection: Connection, path: str, steps: Sequence[Migration]) -> None:
    """Take the steps that are left, one process at a time; each whole or not at all.

    A step waits a moment at most for tables that others use, lets them pass, and tries again: a
    long reading must not make everybody who writes wait behind a migration that waits for it.
    """
    number = schema_number(connection)
    check_number(path, number, steps)
    for step in steps:
        if step.number > number:
            _take(connection, path, steps, step)


def _take(connection: Connection, path: str, steps: Sequence[Migration], step: Migration) -> None:
    for _ in range(_TRIES):
        try:
            with connection.transaction():
                connection.execute(f"SELECT pg_advisory_xact_lock({APPLICATION})")
                connection.execute(f"SET LOCAL lock_timeout = '{_WAIT}'")
                connection.execute(f"CREATE SCHEMA IF NOT EXISTS {NAMESPACE}")
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS schema (number BIGINT PRIMARY KEY, at BIGINT)"
                )
                number = schema_number(connection)
                check_number(path, number, steps)
                if number < step.number:  # else another process was quicker
                    connection.execute(step.sql)
                    at = time.time_ns() // 1000
                    connection.execute("INSERT INTO schema VALUES (%s, %s)", (step.number, at))
                return
        except psycopg.errors.LockNotAvailable:
            time.sleep(0.2)
    raise StoreAway(f"{path} is in use by something long: migration {step.number} must wait")
