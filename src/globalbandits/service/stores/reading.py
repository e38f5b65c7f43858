"""What is read of a store of tables, by any thread: the same questions in every dialect of SQL."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from globalbandits.service.stores.outcomes import Held
from globalbandits.service.stores.records import (
    LAST,
    BanditRow,
    Decision,
    Event,
    Refusal,
    SettingRow,
    Snapshot,
    TokenRow,
    WriterRow,
)

PIECE = 1_000  # rows read at a time


def columns(kind: Any) -> str:
    """The columns of a kind of row.

    >>> columns(WriterRow)
    'id, library, python, host, at'
    """
    return ", ".join(kind._fields)


_BANDIT, _SETTING, _WRITER = columns(BanditRow), columns(SettingRow), columns(WriterRow)
_DECISION, _EVENT, _REFUSAL = columns(Decision), columns(Event), columns(Refusal)
_SNAPSHOT, _TOKEN = columns(Snapshot), columns(TokenRow)
_OPEN = (
    "NOT EXISTS (SELECT 1 FROM events "
    "WHERE decision = decisions.id AND kind IN ('reward', 'default'))"
)


class Reading:
    """Questions to the tables; each sees what is committed when it is asked.

    Columns are named, so that a table may get more of them while older programs read it.
    """

    _arrival: str  # the column by which rows of a table without a key are ordered

    @abstractmethod
    def _read(self, sql: str, *values: Any) -> list[Any]:
        """The rows of a short answer. Values stand for the question marks."""

    @abstractmethod
    def _stream(self, sql: str, *values: Any) -> Iterator[Sequence[Any]]:
        """The rows of a long answer, all of one moment."""

    def bandits(self) -> list[BanditRow]:
        """All bandits."""
        return [BanditRow(*row) for row in self._read(f"SELECT {_BANDIT} FROM bandits ORDER BY id")]

    def heads(self) -> dict[int, tuple[int, int]]:
        """How far each bandit has come."""
        newest = "SELECT max(number) FROM settings WHERE bandit = bandits.id"
        found = self._read(f"SELECT id, version, ({newest}) FROM bandits ORDER BY id")
        return {id: (version, number) for id, version, number in found}

    def settings(self, bandit: int) -> list[SettingRow]:
        """The bandit's settings."""
        sql = f"SELECT {_SETTING} FROM settings WHERE bandit = ? ORDER BY number"
        return [SettingRow(*row) for row in self._read(sql, bandit)]

    def events(self, bandit: int, after: int = 0, upto: int = LAST) -> Iterator[Event]:
        """The bandit's events, in order."""
        sql = f"SELECT {_EVENT} FROM events WHERE bandit = ? AND seq > ? AND seq <= ? ORDER BY seq"
        return (Event(*row) for row in self._stream(sql, bandit, after, upto))

    def decisions(self, bandit: int) -> Iterator[Decision]:
        """The bandit's decisions, in order."""
        sql = (
            f"SELECT {_DECISION} FROM decisions WHERE bandit = ? ORDER BY version, settings, at, id"
        )
        return (Decision(*row) for row in self._stream(sql, bandit))

    def latest(self, bandit: int, limit: int) -> list[Decision]:
        """The bandit's newest decisions."""
        sql = f"SELECT {_DECISION} FROM decisions WHERE bandit = ? ORDER BY id DESC LIMIT ?"
        return [Decision(*row) for row in self._read(sql, bandit, limit)]

    def decision(self, id: str) -> Decision | None:
        """One decision."""
        found = self._read(f"SELECT {_DECISION} FROM decisions WHERE id = ?", id)
        return Decision(*found[0]) if found else None

    def decision_of_request(self, bandit: int, request_id: str) -> Decision | None:
        """The decision of a request."""
        sql = f"SELECT {_DECISION} FROM decisions WHERE bandit = ? AND request_id = ?"
        found = self._read(sql, bandit, request_id)
        return Decision(*found[0]) if found else None

    def held(self, id: str) -> dict[str, Held]:
        """The events of one decision."""
        sql = "SELECT kind, value, seq FROM events WHERE decision = ?"
        return {kind: Held(value, seq) for kind, value, seq in self._read(sql, id)}

    def refusals(self, bandit: int) -> list[Refusal]:
        """The bandit's refusals."""
        sql = f"SELECT {_REFUSAL} FROM refusals WHERE bandit = ? ORDER BY {self._arrival}"
        return [Refusal(*row) for row in self._read(sql, bandit)]

    def snapshot(self, bandit: int, upto: int = LAST, limit: int = LAST) -> list[Snapshot]:
        """The bandit's snapshots, the newest first."""
        where = "bandit = ? AND version <= ? ORDER BY version DESC LIMIT ?"
        sql = f"SELECT {_SNAPSHOT} FROM snapshots WHERE {where}"
        return [Snapshot(*row) for row in self._read(sql, bandit, upto, limit)]

    def writers(self) -> list[WriterRow]:
        """All writers."""
        return [WriterRow(*row) for row in self._read(f"SELECT {_WRITER} FROM writers ORDER BY id")]

    def tokens(self) -> list[TokenRow]:
        """All tokens."""
        return [TokenRow(*row) for row in self._read(f"SELECT {_TOKEN} FROM tokens ORDER BY id")]

    def overdue(self, after: tuple[int, str], upto: int, limit: int) -> list[Decision]:
        """Open decisions whose deadline has come."""
        sql = (
            f"SELECT {_DECISION} FROM decisions WHERE deadline IS NOT NULL "
            f"AND (deadline, id) > (?, ?) AND deadline <= ? AND {_OPEN} "
            "ORDER BY deadline, id LIMIT ?"
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
