"""How a PostgreSQL store writes: arrays to one statement, and a lock on the bandits' rows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from globalbandits.service.stores.postgresql_connections import Connection, Connections
from globalbandits.service.stores.reading import columns
from globalbandits.service.stores.records import Decision
from globalbandits.service.stores.writing import Writing

_ARRAYS: dict[Any, str] = {
    int: "bigint[]",
    float: "double precision[]",
    str: "text[]",
    int | None: "bigint[]",
    str | None: "text[]",
}


class PostgreSQLTransaction(Writing):
    """The open transaction of a connection.

    Args:
        connection: in a transaction.
        connections: where it comes from.
    """

    def __init__(self, connection: Connection, connections: Connections) -> None:
        self._connection = connection
        self._connections = connections

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._connections.watched(self._connection):
            return self._connection.execute(in_dialect(sql), values).fetchall()

    def _run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Not watched: old rows of years may be removed in one statement."""
        return self._connection.execute(in_dialect(sql), values).rowcount

    def _add(self, table: str, rows: Sequence[Any], rule: str = "") -> int:
        if not rows:
            return 0
        kinds = type(rows[0]).__annotations__.values()
        arrays = ", ".join(f"%s::{_ARRAYS[kind]}" for kind in kinds)
        sql = f"INSERT INTO {table} ({columns(rows[0])}) SELECT * FROM unnest({arrays}) {rule}"
        given = [list(column) for column in zip(*rows, strict=True)]
        with self._connections.watched(self._connection):
            return self._connection.execute(sql, given).rowcount

    def _rows_in(self, sql: str, values: Sequence[Any]) -> list[Any]:
        return self._rows(f"{sql} = ANY(?)", [list(values)]) if values else []

    def add_decisions(self, rows: Sequence[Decision]) -> int:
        """Store decisions with new request ids.

        One that another process is about to store is waited for: in one order for all.
        """
        return super().add_decisions(
            sorted(rows, key=lambda row: (row.bandit, row.request_id or ""))
        )

    def lock(self, bandits: Iterable[int]) -> dict[int, int]:
        """Versions of bandits; other processes wait until this transaction ends."""
        sql = (
            "SELECT id, version FROM bandits WHERE id = ANY(?::bigint[]) "
            "ORDER BY id FOR NO KEY UPDATE"
        )
        wanted = list(bandits)
        return dict(self._rows(sql, [wanted])) if wanted else {}

    def set_versions(self, versions: Mapping[int, int]) -> None:
        """Store the bandits' new versions."""
        sql = (
            "UPDATE bandits SET version = new.version "
            "FROM unnest(?::bigint[], ?::bigint[]) AS new (id, version) WHERE bandits.id = new.id"
        )
        if versions:
            self._run(sql, [list(versions), list(versions.values())])

    def decisions_by_request(
        self, requests: Sequence[tuple[int, str]]
    ) -> dict[tuple[int, str], Decision]:
        """Decisions of requests."""
        names = ", ".join(f"decisions.{name}" for name in Decision._fields)
        sql = (
            f"SELECT {names} FROM unnest(?::bigint[], ?::text[]) AS wanted (bandit, request_id) "
            "JOIN decisions USING (bandit, request_id)"
        )
        if not requests:
            return {}
        rows = self._rows(sql, [list(column) for column in zip(*requests, strict=True)])
        return {(row[1], row[2]): Decision(*row) for row in rows}


def in_dialect(sql: str) -> str:
    """A statement with question marks as the driver wants it; ``%`` is a sign of its own there.

    >>> in_dialect("version % ? <> 0")
    'version %% %s <> 0'
    """
    return sql.replace("%", "%%").replace("?", "%s")
