"""The statements that both SQL stores share.

Statements use ``?`` for values. A store overrides the few methods in which the dialects differ.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from globalbandits.service.stores.records import (
    IMPORT_LIBRARY,
    LAST,
    BanditRow,
    Decision,
    Event,
    Refusal,
    SettingRow,
    Snapshot,
    StoredEvent,
    TokenRow,
    WriterRow,
)

ROWS_PER_FETCH = 1_000


def columns(record: Any) -> str:
    """The column names of a record type, for a SELECT or an INSERT.

    Statements name their columns, so that a newer version may add columns to a table while an older
    one reads it.

    >>> columns(WriterRow)
    'id, library, python, host, at'
    """
    return ", ".join(record._fields)


_BANDIT, _SETTING, _WRITER = columns(BanditRow), columns(SettingRow), columns(WriterRow)
_DECISION, _EVENT, _REFUSAL = columns(Decision), columns(Event), columns(Refusal)
_SNAPSHOT, _TOKEN = columns(Snapshot), columns(TokenRow)
_OF_UNIT = (
    f"SELECT {_DECISION} FROM decisions WHERE bandit = ? AND unit = ? AND follows IS NULL "
    "AND at > ? AND coalesce(context, '') = ? ORDER BY at DESC, id DESC LIMIT 1"
)
_IS_OPEN = (
    "NOT EXISTS (SELECT 1 FROM events "
    "WHERE decision = decisions.id AND kind IN ('reward', 'default'))"
)
_SKIP_KNOWN_REQUESTS = "ON CONFLICT (bandit, request_id) WHERE request_id IS NOT NULL DO NOTHING"
_REPLACE_SNAPSHOT = ", ".join(f"{name} = excluded.{name}" for name in Snapshot._fields[2:])
_NOT_FIRST_OF_BLOCK = """EXISTS (
    SELECT 1 FROM snapshots AS first WHERE first.bandit = snapshots.bandit
    AND first.version < snapshots.version AND first.version / ? = snapshots.version / ?)
"""
_PRUNABLE = """
    SELECT id FROM decisions WHERE bandit = ? AND at < ?
    AND (deadline IS NULL OR deadline < ?) AND NOT EXISTS (
        SELECT 1 FROM events WHERE decision = decisions.id AND seq > ?)
"""


class SQLStore:
    """The reading half of a store: every read sees the rows committed when it starts."""

    _arrival: str  # the column that orders rows of a table without a key by arrival

    @abstractmethod
    def _read(self, sql: str, *values: Any) -> list[Any]:
        """All rows of a short result."""

    @abstractmethod
    def _stream(self, sql: str, *values: Any) -> Iterator[Sequence[Any]]:
        """The rows of a long result, as they were when it started."""

    def bandits(self) -> list[BanditRow]:
        sql = f"SELECT {_BANDIT} FROM bandits WHERE deleted_at IS NULL ORDER BY id"
        return [BanditRow(*row) for row in self._read(sql)]

    def bandit(self, id: int) -> BanditRow | None:
        sql = f"SELECT {_BANDIT} FROM bandits WHERE id = ? AND deleted_at IS NULL"
        found = self._read(sql, id)
        return BanditRow(*found[0]) if found else None

    def deleted_at(self, tenant: str, name: str) -> int | None:
        sql = "SELECT max(deleted_at) FROM bandits WHERE tenant = ? AND name = ?"
        found = self._read(sql, tenant, name)
        return found[0][0] if found else None

    def heads(self) -> dict[int, tuple[int, int]]:
        newest = "SELECT max(number) FROM settings WHERE bandit = bandits.id"
        sql = f"SELECT id, version, ({newest}) FROM bandits WHERE deleted_at IS NULL ORDER BY id"
        found = self._read(sql)
        return {id: (version, number) for id, version, number in found}

    def settings(self, bandit: int) -> list[SettingRow]:
        sql = f"SELECT {_SETTING} FROM settings WHERE bandit = ? ORDER BY number"
        return [SettingRow(*row) for row in self._read(sql, bandit)]

    def events(self, bandit: int, after: int = 0, upto: int = LAST) -> Iterator[Event]:
        sql = f"SELECT {_EVENT} FROM events WHERE bandit = ? AND seq > ? AND seq <= ? ORDER BY seq"
        return (Event(*row) for row in self._stream(sql, bandit, after, upto))

    def decisions(self, bandit: int) -> Iterator[Decision]:
        sql = (
            f"SELECT {_DECISION} FROM decisions WHERE bandit = ? ORDER BY version, settings, at, id"
        )
        return (Decision(*row) for row in self._stream(sql, bandit))

    def latest(self, bandit: int, limit: int) -> list[Decision]:
        sql = f"SELECT {_DECISION} FROM decisions WHERE bandit = ? ORDER BY id DESC LIMIT ?"
        return [Decision(*row) for row in self._read(sql, bandit, limit)]

    def decision(self, id: str) -> Decision | None:
        found = self._read(f"SELECT {_DECISION} FROM decisions WHERE id = ?", id)
        return Decision(*found[0]) if found else None

    def decision_of_request(self, bandit: int, request_id: str) -> Decision | None:
        sql = f"SELECT {_DECISION} FROM decisions WHERE bandit = ? AND request_id = ?"
        found = self._read(sql, bandit, request_id)
        return Decision(*found[0]) if found else None

    def stored_events(self, decision: str) -> list[StoredEvent]:
        sql = f"SELECT {columns(StoredEvent)} FROM events WHERE decision = ? ORDER BY seq"
        return [StoredEvent(*row) for row in self._read(sql, decision)]

    def refusals(self, bandit: int) -> list[Refusal]:
        sql = f"SELECT {_REFUSAL} FROM refusals WHERE bandit = ? ORDER BY {self._arrival}"
        return [Refusal(*row) for row in self._read(sql, bandit)]

    def snapshots(self, bandit: int, upto: int = LAST, limit: int = LAST) -> list[Snapshot]:
        where = "bandit = ? AND version <= ? ORDER BY version DESC LIMIT ?"
        sql = f"SELECT {_SNAPSHOT} FROM snapshots WHERE {where}"
        return [Snapshot(*row) for row in self._read(sql, bandit, upto, limit)]

    def writers(self) -> list[WriterRow]:
        return [WriterRow(*row) for row in self._read(f"SELECT {_WRITER} FROM writers ORDER BY id")]

    def tokens(self) -> list[TokenRow]:
        return [TokenRow(*row) for row in self._read(f"SELECT {_TOKEN} FROM tokens ORDER BY id")]

    def overdue(self, after: tuple[int, str], upto: int, limit: int) -> list[Decision]:
        sql = (
            f"SELECT {_DECISION} FROM decisions WHERE deadline IS NOT NULL "
            f"AND (deadline, id) > (?, ?) AND deadline <= ? AND {_IS_OPEN} "
            "ORDER BY deadline, id LIMIT ?"
        )
        return [Decision(*row) for row in self._read(sql, *after, upto, limit)]

    def open_decisions(self, bandit: int, at: int, since: int) -> tuple[int, int | None]:
        sql = (
            f"SELECT count(*), min(at) FROM decisions WHERE bandit = ? AND {_IS_OPEN} "
            "AND (deadline > ? OR (deadline IS NULL AND at > ?))"
        )
        n_open, oldest = self._read(sql, bandit, at, since)[0]
        return int(n_open), oldest

    def has_decisions(self, bandit: int, before: int) -> bool:
        sql = "SELECT 1 FROM decisions WHERE bandit = ? AND at < ? LIMIT 1"
        return bool(self._read(sql, bandit, before))

    def shown_counts(self, bandit: int) -> dict[tuple[str | None, int], int]:
        sql = (
            "SELECT context, shown, count(*) FROM decisions WHERE bandit = ? "
            "GROUP BY context, shown"
        )
        return {(context, shown): n for context, shown, n in self._read(sql, bandit)}


class SQLTransaction:
    """The writing half of a store: an open transaction, and the reads that it needs."""

    @abstractmethod
    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """The rows that a statement returns."""

    @abstractmethod
    def _run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run a statement and return the number of rows that it changed."""

    @abstractmethod
    def _add(self, table: str, rows: Sequence[Any], rule: str = "") -> int:
        """Insert rows, in one statement if possible, and return how many were new."""

    @abstractmethod
    def _rows_in(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """The rows of a statement that ends in a column, restricted to these values of it."""

    @abstractmethod
    def lock(self, bandits: Iterable[int]) -> dict[int, int]: ...

    @abstractmethod
    def set_versions(self, versions: Mapping[int, int]) -> None: ...

    @abstractmethod
    def decisions_by_request(
        self, requests: Sequence[tuple[int, str]]
    ) -> dict[tuple[int, str], Decision]: ...

    def add_bandit(self, row: BanditRow) -> int:
        return self._add_one("bandits", row)

    def add_writer(self, row: WriterRow) -> int:
        return self._add_one("writers", row)

    def _add_one(self, table: str, row: Any) -> int:
        """Insert a row whose first column, the id, is assigned by the store."""
        names, marks = ", ".join(row._fields[1:]), ", ".join("?" * (len(row) - 1))
        sql = f"INSERT INTO {table} ({names}) VALUES ({marks}) RETURNING id"
        return int(self._rows(sql, row[1:])[0][0])

    def delete_bandit(self, id: int, at: int) -> None:
        self._run("UPDATE bandits SET deleted_at = ? WHERE id = ? AND deleted_at IS NULL", (at, id))

    def drop_deleted(self, before: int) -> int:
        deleted = "SELECT id FROM bandits WHERE deleted_at < ?"
        for table in ("events", "decisions", "refusals", "snapshots", "settings"):
            self._run(f"DELETE FROM {table} WHERE bandit IN ({deleted})", (before,))
        return self._run("DELETE FROM bandits WHERE deleted_at < ?", (before,))

    def shrink(self, pages: int) -> bool:
        return False

    def add_settings(self, rows: Sequence[SettingRow]) -> None:
        self._add("settings", rows)

    def add_decisions(self, rows: Sequence[Decision]) -> int:
        return self._add("decisions", rows, _SKIP_KNOWN_REQUESTS)

    def set_probabilities(self, probabilities: Mapping[str, float]) -> None:
        sql = "UPDATE decisions SET probability = ? WHERE id = ? AND probability IS NULL"
        for id, probability in probabilities.items():
            self._run(sql, (probability, id))

    def add_events(self, rows: Sequence[Event]) -> None:
        self._add("events", rows)

    def add_refusals(self, rows: Sequence[Refusal]) -> None:
        self._add("refusals", rows, "ON CONFLICT DO NOTHING")

    def add_snapshot(self, row: Snapshot) -> None:
        self._add(
            "snapshots", [row], f"ON CONFLICT (bandit, version) DO UPDATE SET {_REPLACE_SNAPSHOT}"
        )

    def add_token(self, row: TokenRow) -> None:
        self._add("tokens", [row])

    def drop_token(self, id: str) -> None:
        self._run("DELETE FROM tokens WHERE id = ?", (id,))

    def has_own_decisions(self, bandit: int) -> bool:
        sql = (
            "SELECT 1 FROM decisions WHERE bandit = ? "
            "AND writer NOT IN (SELECT id FROM writers WHERE library = ?) LIMIT 1"
        )
        return bool(self._rows(sql, (bandit, IMPORT_LIBRARY)))

    def decisions_by_id(self, ids: Sequence[str]) -> dict[str, Decision]:
        rows = self._rows_in(f"SELECT {columns(Decision)} FROM decisions WHERE id", ids)
        return {row[0]: Decision(*row) for row in rows}

    def decision_of_unit(
        self, bandit: int, unit: str, after: int, context: str | None = None
    ) -> Decision | None:
        found = self._rows(_OF_UNIT, (bandit, unit, after, context or ""))
        return Decision(*found[0]) if found else None

    def events_by_decision(self, ids: Sequence[str]) -> dict[str, list[StoredEvent]]:
        found: dict[str, list[StoredEvent]] = {}
        sql = f"SELECT decision, {columns(StoredEvent)} FROM events WHERE decision"
        for decision, *row in self._rows_in(sql, ids):
            found.setdefault(decision, []).append(StoredEvent(*row))
        for events in found.values():
            events.sort(key=lambda event: event.seq)
        return found

    def events_after(self, bandit: int, version: int) -> list[Event]:
        sql = f"SELECT {columns(Event)} FROM events WHERE bandit = ? AND seq > ? ORDER BY seq"
        return [Event(*row) for row in self._rows(sql, (bandit, version))]

    def settings_after(self, numbers: Mapping[int, int]) -> dict[int, list[SettingRow]]:
        if not numbers:
            return {}
        beyond = " OR ".join(["(bandit = ? AND number > ?)"] * len(numbers))
        sql = f"SELECT {columns(SettingRow)} FROM settings WHERE {beyond} ORDER BY number"
        found: dict[int, list[SettingRow]] = {}
        for row in self._rows(sql, [value for pair in numbers.items() for value in pair]):
            found.setdefault(row[0], []).append(SettingRow(*row))
        return found

    def drop_snapshots(self, bandit: int, below: int, keep_every: int) -> None:
        sql = "DELETE FROM snapshots WHERE bandit = ? AND version < ? AND kept = 0"
        if keep_every == 0:
            self._run(sql, (bandit, below))
        else:
            self._run(f"{sql} AND {_NOT_FIRST_OF_BLOCK}", (bandit, below, keep_every, keep_every))

    def prune(self, bandit: int, version: int, before: int) -> tuple[int, int]:
        prunable = (bandit, before, before, version)
        n_events = self._run(f"DELETE FROM events WHERE decision IN ({_PRUNABLE})", prunable)
        n_decisions = self._run(f"DELETE FROM decisions WHERE id IN ({_PRUNABLE})", prunable)
        self._run("DELETE FROM refusals WHERE bandit = ? AND at < ?", (bandit, before))
        self._run("DELETE FROM snapshots WHERE bandit = ? AND version < ?", (bandit, version))
        return n_decisions, n_events
