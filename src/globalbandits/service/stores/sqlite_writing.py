"""What a transaction of an SQLite store writes, and reads on the way."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from globalbandits.service.stores.outcomes import Held
from globalbandits.service.stores.records import (
    BanditRow,
    Decision,
    Event,
    Refusal,
    SettingRow,
    Snapshot,
    TokenRow,
    WriterRow,
)

_MOST = 30_000  # values bound to one statement; SQLite allows 32,766


class SQLiteTransaction:
    """The open transaction of a connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._execute = connection.execute

    def add_bandit(self, row: BanditRow) -> int:
        """Store a new bandit."""
        return self._add_one("bandits (tenant, name, spec, seed, version, at)", row[1:])

    def add_writer(self, row: WriterRow) -> int:
        """Store a writer."""
        return self._add_one("writers (library, python, host, at)", row[1:])

    def add_settings(self, rows: Sequence[SettingRow]) -> None:
        """Store settings."""
        self._add("settings", rows)

    def add_decisions(self, rows: Sequence[Decision]) -> int:
        """Store decisions with new request ids."""
        known = "ON CONFLICT (bandit, request_id) WHERE request_id IS NOT NULL DO NOTHING"
        return self._add("decisions", rows, known)

    def add_events(self, rows: Sequence[Event]) -> None:
        """Store events."""
        self._add("events", rows)

    def add_refusals(self, rows: Sequence[Refusal]) -> None:
        """Store new refusals."""
        self._add("refusals", rows, "ON CONFLICT DO NOTHING")

    def add_snapshot(self, row: Snapshot) -> None:
        """Store a snapshot in the place of an older one."""
        self._execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def add_token(self, row: TokenRow) -> None:
        """Store a token."""
        self._add("tokens", [row])

    def drop_token(self, id: str) -> None:
        """Remove a token."""
        self._execute("DELETE FROM tokens WHERE id = ?", (id,))

    def decisions_by_request(
        self, requests: Sequence[tuple[int, str]]
    ) -> dict[tuple[int, str], Decision]:
        """Decisions of requests."""
        found = {}
        for part in _parts(requests, 2):
            pairs = ", ".join(["(?, ?)"] * len(part))
            sql = (
                f"WITH asked (bandit, request_id) AS (VALUES {pairs}) "
                "SELECT decisions.* FROM asked CROSS JOIN decisions USING (bandit, request_id)"
            )
            for row in self._execute(sql, [value for pair in part for value in pair]):
                decision = Decision(*row)
                found[decision.bandit, row[2]] = decision
        return found

    def decisions_by_id(self, ids: Sequence[str]) -> dict[str, Decision]:
        """Decisions with these ids."""
        rows = self._select_in("SELECT * FROM decisions WHERE id IN", ids)
        return {row[0]: Decision(*row) for row in rows}

    def events_of(self, ids: Sequence[str]) -> dict[str, dict[str, Held]]:
        """Events of decisions."""
        found: dict[str, dict[str, Held]] = {}
        sql = "SELECT decision, kind, value, seq FROM events WHERE decision IN"
        for decision, kind, value, seq in self._select_in(sql, ids):
            found.setdefault(decision, {})[kind] = Held(value, seq)
        return found

    def lock(self, bandits: Iterable[int]) -> dict[int, int]:
        """Versions of bandits; the transaction keeps all other writers out anyway."""
        return dict(self._select_in("SELECT id, version FROM bandits WHERE id IN", list(bandits)))

    def events_after(self, bandit: int, version: int) -> list[Event]:
        """Events beyond a version."""
        sql = "SELECT * FROM events WHERE bandit = ? AND seq > ? ORDER BY seq"
        return [Event(*row) for row in self._execute(sql, (bandit, version))]

    def settings_after(self, bandit: int, number: int) -> list[SettingRow]:
        """Settings beyond a number."""
        sql = "SELECT * FROM settings WHERE bandit = ? AND number > ? ORDER BY number"
        return [SettingRow(*row) for row in self._execute(sql, (bandit, number))]

    def set_versions(self, versions: Mapping[int, int]) -> None:
        """Store the bandits' new versions."""
        for bandit, version in versions.items():
            self._execute("UPDATE bandits SET version = ? WHERE id = ?", (version, bandit))

    def drop_snapshots(self, bandit: int, below: int, keep_every: int) -> None:
        """Drop old snapshots."""
        self._execute(
            "DELETE FROM snapshots WHERE bandit = ?1 AND version < ?2 AND NOT kept "
            "AND (?3 = 0 OR version % ?3)",
            (bandit, below, keep_every),
        )

    def prune(self, bandit: int, version: int, before: int) -> tuple[int, int]:
        """Remove what a kept snapshot stands for."""
        gone = """
            SELECT id FROM decisions WHERE bandit = :bandit AND at < :before
            AND (deadline IS NULL OR deadline < :before) AND NOT EXISTS (
                SELECT 1 FROM events WHERE decision = decisions.id AND seq > :version)
        """
        given = {"bandit": bandit, "version": version, "before": before}
        self._execute("CREATE TEMP TABLE IF NOT EXISTS gone (id TEXT PRIMARY KEY)")
        self._execute("DELETE FROM temp.gone")
        self._execute(f"INSERT INTO temp.gone {gone}", given)
        of_gone = "IN (SELECT id FROM temp.gone)"
        n_events = self._execute(f"DELETE FROM events WHERE decision {of_gone}").rowcount
        n_decisions = self._execute(f"DELETE FROM decisions WHERE id {of_gone}").rowcount
        self._execute("DELETE FROM refusals WHERE bandit = :bandit AND at < :before", given)
        self._execute("DELETE FROM snapshots WHERE bandit = :bandit AND version < :version", given)
        return n_decisions, n_events

    def _add_one(self, into: str, values: Sequence[Any]) -> int:
        marks = ", ".join("?" * len(values))
        done = self._execute(f"INSERT INTO {into} VALUES ({marks})", values)
        assert done.lastrowid is not None
        return done.lastrowid

    def _add(self, table: str, rows: Sequence[tuple[Any, ...]], rule: str = "") -> int:
        """Many rows in one statement; how many of them are new."""
        stored = 0
        for part in _parts(rows, len(rows[0]) if rows else 1):
            marks = f"({', '.join('?' * len(part[0]))})"
            sql = f"INSERT INTO {table} VALUES {', '.join([marks] * len(part))} {rule}"
            stored += self._execute(sql, [value for row in part for value in row]).rowcount
        return stored

    def _select_in(self, sql: str, values: Sequence[Any]) -> list[Any]:
        found = []
        for part in _parts(values, 1):
            found += self._execute(f"{sql} ({', '.join('?' * len(part))})", part).fetchall()
        return found


def _parts(rows: Sequence[Any], width: int) -> list[Sequence[Any]]:
    """Rows in as many parts as one statement can take."""
    size = _MOST // width
    return [rows[start : start + size] for start in range(0, len(rows), size)]
