"""What is read of an SQLite store, by any thread."""

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from globalbandits.errors import StoreAway
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

_PIECE = 1_000  # rows read at a time
_OPEN = (
    "NOT EXISTS (SELECT 1 FROM events "
    "WHERE decision = decisions.id AND kind IN ('reward', 'default'))"
)


class Reading:
    """Questions to the tables; each sees what is committed when it is asked."""

    path: Path

    def _reader(self) -> sqlite3.Connection:
        raise NotImplementedError

    def bandits(self) -> list[BanditRow]:
        """All bandits."""
        return [BanditRow(*row) for row in self._read("SELECT * FROM bandits ORDER BY id")]

    def settings(self, bandit: int) -> list[SettingRow]:
        """The bandit's settings."""
        sql = "SELECT * FROM settings WHERE bandit = ? ORDER BY number"
        return [SettingRow(*row) for row in self._read(sql, bandit)]

    def events(self, bandit: int, after: int = 0, upto: int | None = None) -> Iterator[Event]:
        """The bandit's events, in order."""
        last = 2**63 - 1 if upto is None else upto
        sql = "SELECT * FROM events WHERE bandit = ? AND seq > ? AND seq <= ? ORDER BY seq"
        return (Event(*row) for row in self._stream(sql, bandit, after, last))

    def decisions(self, bandit: int) -> Iterator[Decision]:
        """The bandit's decisions, in order."""
        sql = "SELECT * FROM decisions WHERE bandit = ? ORDER BY version, settings, at, id"
        return (Decision(*row) for row in self._stream(sql, bandit))

    def decision(self, id: str) -> Decision | None:
        """One decision."""
        found = self._read("SELECT * FROM decisions WHERE id = ?", id)
        return Decision(*found[0]) if found else None

    def decision_of_request(self, bandit: int, request_id: str) -> Decision | None:
        """The decision of a request."""
        sql = "SELECT * FROM decisions WHERE bandit = ? AND request_id = ?"
        found = self._read(sql, bandit, request_id)
        return Decision(*found[0]) if found else None

    def held(self, id: str) -> dict[str, Held]:
        """The events of one decision."""
        sql = "SELECT kind, value, seq FROM events WHERE decision = ?"
        return {kind: Held(value, seq) for kind, value, seq in self._read(sql, id)}

    def refusals(self, bandit: int) -> list[Refusal]:
        """The bandit's refusals."""
        sql = "SELECT * FROM refusals WHERE bandit = ? ORDER BY rowid"
        return [Refusal(*row) for row in self._read(sql, bandit)]

    def snapshot(self, bandit: int, upto: int | None = None) -> list[Snapshot]:
        """The bandit's snapshots, the newest first."""
        last = 2**63 - 1 if upto is None else upto
        sql = "SELECT * FROM snapshots WHERE bandit = ? AND version <= ? ORDER BY version DESC"
        return [Snapshot(*row) for row in self._read(sql, bandit, last)]

    def writers(self) -> list[WriterRow]:
        """All writers."""
        return [WriterRow(*row) for row in self._read("SELECT * FROM writers ORDER BY id")]

    def tokens(self) -> list[TokenRow]:
        """All tokens."""
        return [TokenRow(*row) for row in self._read("SELECT * FROM tokens ORDER BY id")]

    def overdue(self, after: tuple[int, str], upto: int, limit: int) -> list[Decision]:
        """Open decisions whose deadline has come."""
        sql = (
            "SELECT * FROM decisions WHERE deadline IS NOT NULL AND (deadline, id) > (?, ?) "
            f"AND deadline <= ? AND {_OPEN} ORDER BY deadline, id LIMIT ?"
        )
        return [Decision(*row) for row in self._read(sql, *after, upto, limit)]

    def n_open(self, bandit: int) -> int:
        """How many decisions are open."""
        sql = f"SELECT count(*) FROM decisions WHERE bandit = ? AND {_OPEN}"
        return int(self._read(sql, bandit)[0][0])

    def shown(self, bandit: int) -> dict[int, int]:
        """How often each arm was shown."""
        sql = "SELECT shown, count(*) FROM decisions WHERE bandit = ? GROUP BY shown"
        return dict(self._read(sql, bandit))

    def _read(self, sql: str, *values: Any) -> list[Any]:
        try:
            return self._reader().execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise StoreAway(f"{self.path} cannot be read now: {error}") from error

    def _stream(self, sql: str, *values: Any) -> Iterator[Sequence[Any]]:
        """Rows of a long answer, all of one moment."""
        try:
            cursor = self._reader().execute(sql, values)
            while rows := cursor.fetchmany(_PIECE):
                yield from rows
        except sqlite3.Error as error:
            raise StoreAway(f"{self.path} cannot be read now: {error}") from error
