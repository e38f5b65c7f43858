"""How an SQLite store writes: values are bound, many rows to one statement."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from globalbandits.service.stores.reading import columns
from globalbandits.service.stores.records import Decision
from globalbandits.service.stores.writing import Writing

_MOST = 30_000  # values bound to one statement; SQLite allows 32,766


class SQLiteTransaction(Writing):
    """The open transaction of a connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._execute = connection.execute

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._execute(sql, values).fetchall()

    def _run(self, sql: str, values: Sequence[Any] = ()) -> int:
        return self._execute(sql, values).rowcount

    def _add(self, table: str, rows: Sequence[Any], rule: str = "") -> int:
        new = 0
        for part in _parts(rows, len(rows[0]) if rows else 1):
            marks = f"({', '.join('?' * len(part[0]))})"
            values = ", ".join([marks] * len(part))
            sql = f"INSERT INTO {table} ({columns(part[0])}) VALUES {values} {rule}"
            new += self._run(sql, [value for row in part for value in row])
        return new

    def _rows_in(self, sql: str, values: Sequence[Any]) -> list[Any]:
        found = []
        for part in _parts(values, 1):
            found += self._rows(f"{sql} IN ({', '.join('?' * len(part))})", part)
        return found

    def lock(self, bandits: Iterable[int]) -> dict[int, int]:
        """Versions of bandits; the transaction keeps all other writers out anyway."""
        return dict(self._rows_in("SELECT id, version FROM bandits WHERE id", list(bandits)))

    def set_versions(self, versions: Mapping[int, int]) -> None:
        """Store the bandits' new versions."""
        for bandit, version in versions.items():
            self._execute("UPDATE bandits SET version = ? WHERE id = ?", (version, bandit))

    def decisions_by_request(
        self, requests: Sequence[tuple[int, str]]
    ) -> dict[tuple[int, str], Decision]:
        """Decisions of requests."""
        found = {}
        for part in _parts(requests, 2):
            pairs = ", ".join(["(?, ?)"] * len(part))
            sql = (
                f"WITH asked (bandit, request_id) AS (VALUES {pairs}) "
                f"SELECT {columns(Decision)} "
                "FROM asked CROSS JOIN decisions USING (bandit, request_id)"
            )
            for row in self._rows(sql, [value for pair in part for value in pair]):
                decision = Decision(*row)
                found[decision.bandit, row[2]] = decision
        return found


def _parts(rows: Sequence[Any], width: int) -> list[Sequence[Any]]:
    """Rows in as many parts as one statement can take."""
    size = _MOST // width
    return [rows[start : start + size] for start in range(0, len(rows), size)]
