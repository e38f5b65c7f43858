"""What a transaction of a store of tables writes, and reads on the way, in any dialect of SQL."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from globalbandits.service.stores.outcomes import Held
from globalbandits.service.stores.reading import columns
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

_KNOWN = "ON CONFLICT (bandit, request_id) WHERE request_id IS NOT NULL DO NOTHING"
_REPLACE = ", ".join(f"{name} = excluded.{name}" for name in Snapshot._fields[2:])
_LATER = """EXISTS (
    SELECT 1 FROM snapshots AS first WHERE first.bandit = snapshots.bandit
    AND first.version < snapshots.version AND first.version / ? = snapshots.version / ?)
"""
_GONE = """
    SELECT id FROM decisions WHERE bandit = ? AND at < ?
    AND (deadline IS NULL OR deadline < ?) AND NOT EXISTS (
        SELECT 1 FROM events WHERE decision = decisions.id AND seq > ?)
"""


class Writing:
    """An open transaction."""

    @abstractmethod
    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """The rows a statement gives. Values stand for the question marks."""

    @abstractmethod
    def _run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run a statement; the number of rows it changed."""

    @abstractmethod
    def _add(self, table: str, rows: Sequence[Any], rule: str = "") -> int:
        """Insert rows, in one statement if they are not very many; how many were new."""

    @abstractmethod
    def _rows_in(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """The rows of a statement that ends in a column, which must be one of the values."""

    @abstractmethod
    def lock(self, bandits: Iterable[int]) -> dict[int, int]:
        """Versions of bandits."""

    @abstractmethod
    def set_versions(self, versions: Mapping[int, int]) -> None:
        """Store the bandits' new versions."""

    @abstractmethod
    def decisions_by_request(
        self, requests: Sequence[tuple[int, str]]
    ) -> dict[tuple[int, str], Decision]:
        """Decisions of requests."""

    def add_bandit(self, row: BanditRow) -> int:
        """Store a new bandit."""
        return self._add_one("bandits", row)

    def add_writer(self, row: WriterRow) -> int:
        """Store a writer."""
        return self._add_one("writers", row)

    def _add_one(self, table: str, row: Any) -> int:
        """Insert a row whose id the store gives."""
        names, marks = ", ".join(row._fields[1:]), ", ".join("?" * (len(row) - 1))
        sql = f"INSERT INTO {table} ({names}) VALUES ({marks}) RETURNING id"
        return int(self._rows(sql, row[1:])[0][0])

    def add_settings(self, rows: Sequence[SettingRow]) -> None:
        """Store settings."""
        self._add("settings", rows)

    def add_decisions(self, rows: Sequence[Decision]) -> int:
        """Store decisions with new request ids; how many there were."""
        return self._add("decisions", rows, _KNOWN)

    def add_events(self, rows: Sequence[Event]) -> None:
        """Store events."""
        self._add("events", rows)

    def add_refusals(self, rows: Sequence[Refusal]) -> None:
        """Store new refusals."""
        self._add("refusals", rows, "ON CONFLICT DO NOTHING")

    def add_snapshot(self, row: Snapshot) -> None:
        """Store a snapshot in the place of an older one."""
        self._add("snapshots", [row], f"ON CONFLICT (bandit, version) DO UPDATE SET {_REPLACE}")

    def add_token(self, row: TokenRow) -> None:
        """Store a token."""
        self._add("tokens", [row])

    def drop_token(self, id: str) -> None:
        """Remove a token."""
        self._run("DELETE FROM tokens WHERE id = ?", (id,))

    def decisions_by_id(self, ids: Sequence[str]) -> dict[str, Decision]:
        """Decisions with these ids."""
        rows = self._rows_in(f"SELECT {columns(Decision)} FROM decisions WHERE id", ids)
        return {row[0]: Decision(*row) for row in rows}

    def events_of(self, ids: Sequence[str]) -> dict[str, dict[str, Held]]:
        """Events of decisions."""
        found: dict[str, dict[str, Held]] = {}
        sql = "SELECT decision, kind, value, seq FROM events WHERE decision"
        for decision, kind, value, seq in self._rows_in(sql, ids):
            found.setdefault(decision, {})[kind] = Held(value, seq)
        return found

    def events_after(self, bandit: int, version: int) -> list[Event]:
        """Events beyond a version."""
        sql = f"SELECT {columns(Event)} FROM events WHERE bandit = ? AND seq > ? ORDER BY seq"
        return [Event(*row) for row in self._rows(sql, (bandit, version))]

    def settings_after(self, numbers: Mapping[int, int]) -> dict[int, list[SettingRow]]:
        """Settings beyond numbers."""
        if not numbers:
            return {}
        beyond = " OR ".join(["(bandit = ? AND number > ?)"] * len(numbers))
        sql = f"SELECT {columns(SettingRow)} FROM settings WHERE {beyond} ORDER BY number"
        found: dict[int, list[SettingRow]] = {}
        for row in self._rows(sql, [value for pair in numbers.items() for value in pair]):
            found.setdefault(row[0], []).append(SettingRow(*row))
        return found

    def drop_snapshots(self, bandit: int, below: int, keep_every: int) -> None:
        """Drop old snapshots."""
        sql = "DELETE FROM snapshots WHERE bandit = ? AND version < ? AND kept = 0"
        if keep_every == 0:
            self._run(sql, (bandit, below))
        else:
            self._run(f"{sql} AND {_LATER}", (bandit, below, keep_every, keep_every))

    def prune(self, bandit: int, version: int, before: int) -> tuple[int, int]:
        """Remove what a kept snapshot stands for."""
        gone = (bandit, before, before, version)
        n_events = self._run(f"DELETE FROM events WHERE decision IN ({_GONE})", gone)
        n_decisions = self._run(f"DELETE FROM decisions WHERE id IN ({_GONE})", gone)
        self._run("DELETE FROM refusals WHERE bandit = ? AND at < ?", (bandit, before))
        self._run("DELETE FROM snapshots WHERE bandit = ? AND version < ?", (bandit, version))
        return n_decisions, n_events
