"""The log in plain dicts and lists: for tests, trials, and to say what the other stores must do."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from globalbandits.errors import StoreError
from globalbandits.service.stores.outcomes import Held, learned_from
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


class MemoryStore:
    """A store that ends with its process.

    Every change notes how to undo it, so that a block that fails leaves nothing behind.
    """

    shared = False

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._undo: list[Callable[[], Any]] = []
        self._bandits: dict[int, BanditRow] = {}
        self._settings: dict[int, list[SettingRow]] = {}
        self._decisions: dict[str, Decision] = {}
        self._requests: dict[tuple[int, str], str] = {}
        self._events: dict[int, dict[int, Event]] = {}
        self._held: dict[str, dict[str, Held]] = {}
        self._refusals: dict[tuple[int, str, str, float], Refusal] = {}
        self._snapshots: dict[tuple[int, int], Snapshot] = {}
        self._writers: list[WriterRow] = []
        self._tokens: dict[str, TokenRow] = {}

    @contextmanager
    def transaction(self) -> Iterator["MemoryStore"]:
        """Write; what fails half way is undone."""
        with self._lock:
            self._undo = []
            try:
                yield self
            except BaseException:
                for undo in reversed(self._undo):
                    undo()
                raise

    def close(self) -> None:
        """Nothing is held."""

    def _put(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        if key in table:
            old = table[key]
            self._undo.append(lambda: table.__setitem__(key, old))
        else:
            self._undo.append(lambda: table.pop(key))
        table[key] = value

    def _pop(self, table: dict[Any, Any], key: Any) -> None:
        old = table.pop(key)
        self._undo.append(lambda: table.__setitem__(key, old))

    # Writing

    def add_bandit(self, row: BanditRow) -> int:
        """Store a new bandit."""
        if any((row.tenant, row.name) == (old.tenant, old.name) for old in self._bandits.values()):
            raise StoreError(f"name must be new, got {row.name!r}")
        number = max(self._bandits, default=0) + 1
        self._put(self._bandits, number, row._replace(id=number))
        self._put(self._settings, number, [])
        self._put(self._events, number, {})
        return number

    def add_settings(self, rows: Sequence[SettingRow]) -> None:
        """Store settings."""
        for row in rows:
            self._put(self._settings, row.bandit, [*self._settings[row.bandit], row])

    def add_decisions(self, rows: Sequence[Decision]) -> int:
        """Store decisions with new request ids."""
        before = len(self._decisions)
        for row in rows:
            if row.request_id is not None:
                if (row.bandit, row.request_id) in self._requests:
                    continue
                self._put(self._requests, (row.bandit, row.request_id), row.id)
            self._put(self._decisions, row.id, row)
            self._put(self._held, row.id, {})
        return len(self._decisions) - before

    def decisions_by_request(
        self, requests: Sequence[tuple[int, str]]
    ) -> dict[tuple[int, str], Decision]:
        """Decisions of requests."""
        known = [request for request in requests if request in self._requests]
        return {request: self._decisions[self._requests[request]] for request in known}

    def decisions_by_id(self, ids: Sequence[str]) -> dict[str, Decision]:
        """Decisions with these ids."""
        return {id: self._decisions[id] for id in ids if id in self._decisions}

    def events_of(self, ids: Sequence[str]) -> dict[str, dict[str, Held]]:
        """Events of decisions."""
        return {id: dict(self._held[id]) for id in ids if self._held.get(id)}

    def lock(self, bandits: Iterable[int]) -> dict[int, int]:
        """Versions of bandits."""
        return {bandit: self._bandits[bandit].version for bandit in bandits}

    def events_after(self, bandit: int, version: int) -> list[Event]:
        """Events beyond a version."""
        return list(self.events(bandit, version))

    def settings_after(self, numbers: Mapping[int, int]) -> dict[int, list[SettingRow]]:
        """Settings beyond numbers."""
        found = {
            bandit: [row for row in self._settings[bandit] if row.number > number]
            for bandit, number in numbers.items()
        }
        return {bandit: rows for bandit, rows in found.items() if rows}

    def add_events(self, rows: Sequence[Event]) -> None:
        """Store events."""
        for row in rows:
            if row.seq in self._events[row.bandit] or row.kind in self._held[row.decision]:
                raise StoreError(f"event must be new, got {row}")
            self._put(self._events[row.bandit], row.seq, row)
            self._put(self._held[row.decision], row.kind, Held(row.value, row.seq))

    def set_versions(self, versions: Mapping[int, int]) -> None:
        """Store the bandits' new versions."""
        for bandit, version in versions.items():
            self._put(self._bandits, bandit, self._bandits[bandit]._replace(version=version))

    def add_refusals(self, rows: Sequence[Refusal]) -> None:
        """Store new refusals."""
        for row in rows:
            if row[:4] not in self._refusals:
                self._put(self._refusals, row[:4], row)

    def add_snapshot(self, row: Snapshot) -> None:
        """Store a snapshot."""
        self._put(self._snapshots, (row.bandit, row.version), row)

    def drop_snapshots(self, bandit: int, below: int, keep_every: int) -> None:
        """Drop old snapshots."""
        firsts: dict[int, int] = {}
        for key in sorted(self._snapshots):
            row = self._snapshots[key]
            if row.bandit != bandit:
                continue
            first = row.version + 1  # of no snapshot: all are dropped
            if keep_every > 0:
                first = firsts.setdefault(row.version // keep_every, row.version)
            if row.version < below and not row.kept and row.version != first:
                self._pop(self._snapshots, key)

    def prune(self, bandit: int, version: int, before: int) -> tuple[int, int]:
        """Remove what a kept snapshot stands for."""
        n_decisions = n_events = 0
        for row in [row for row in self._decisions.values() if row.bandit == bandit]:
            held = self._held[row.id]
            to_come = row.deadline is not None and row.deadline >= before
            if row.at >= before or to_come or any(event.seq > version for event in held.values()):
                continue
            for event in held.values():
                self._pop(self._events[bandit], event.seq)
                n_events += 1
            self._pop(self._held, row.id)
            self._pop(self._decisions, row.id)
            if row.request_id is not None:
                self._pop(self._requests, (bandit, row.request_id))
            n_decisions += 1
        for refusal in [row for row in self._refusals.values() if row.bandit == bandit]:
            if refusal.at < before:
                self._pop(self._refusals, refusal[:4])
        for key, snapshot in list(self._snapshots.items()):
            if snapshot.bandit == bandit and snapshot.version < version:
                self._pop(self._snapshots, key)
        return n_decisions, n_events

    def add_writer(self, row: WriterRow) -> int:
        """Store a writer."""
        self._writers.append(row._replace(id=len(self._writers) + 1))
        self._undo.append(self._writers.pop)
        return len(self._writers)

    def add_token(self, row: TokenRow) -> None:
        """Store a token."""
        self._put(self._tokens, row.id, row)

    def drop_token(self, id: str) -> None:
        """Remove a token."""
        if id in self._tokens:
            self._pop(self._tokens, id)

    # Reading

    def tokens(self) -> list[TokenRow]:
        """All tokens."""
        with self._lock:
            return sorted(self._tokens.values())

    def bandits(self) -> list[BanditRow]:
        """All bandits."""
        with self._lock:
            return list(self._bandits.values())

    def heads(self) -> dict[int, tuple[int, int]]:
        """How far each bandit has come."""
        with self._lock:
            return {
                id: (row.version, max(found.number for found in self._settings[id]))
                for id, row in self._bandits.items()
            }

    def settings(self, bandit: int) -> list[SettingRow]:
        """The bandit's settings."""
        with self._lock:
            return list(self._settings[bandit])

    def events(self, bandit: int, after: int = 0, upto: int = LAST) -> Iterator[Event]:
        """The bandit's events, in order."""
        with self._lock:
            found = [row for seq, row in self._events[bandit].items() if after < seq <= upto]
        return iter(sorted(found))

    def decisions(self, bandit: int) -> Iterator[Decision]:
        """The bandit's decisions, in order."""
        with self._lock:
            found = [row for row in self._decisions.values() if row.bandit == bandit]
        return iter(sorted(found, key=lambda row: (row.version, row.settings, row.at, row.id)))

    def latest(self, bandit: int, limit: int) -> list[Decision]:
        """The bandit's newest decisions."""
        with self._lock:
            found = [row for row in self._decisions.values() if row.bandit == bandit]
        return sorted(found, key=lambda row: row.id, reverse=True)[:limit]

    def decision(self, id: str) -> Decision | None:
        """One decision."""
        with self._lock:
            return self._decisions.get(id)

    def decision_of_request(self, bandit: int, request_id: str) -> Decision | None:
        """The decision of a request."""
        with self._lock:
            return self.decisions_by_request([(bandit, request_id)]).get((bandit, request_id))

    def held(self, id: str) -> dict[str, Held]:
        """The events of one decision."""
        with self._lock:
            return dict(self._held.get(id, {}))

    def refusals(self, bandit: int) -> list[Refusal]:
        """The bandit's refusals."""
        with self._lock:
            return [row for row in self._refusals.values() if row.bandit == bandit]

    def snapshot(self, bandit: int, upto: int = LAST, limit: int = LAST) -> list[Snapshot]:
        """The bandit's snapshots, the newest first."""
        with self._lock:
            found = [
                row
                for row in self._snapshots.values()
                if row.bandit == bandit and row.version <= upto
            ]
        return sorted(found, key=lambda row: -row.version)[:limit]

    def writers(self) -> list[WriterRow]:
        """All writers."""
        with self._lock:
            return list(self._writers)

    def overdue(self, after: tuple[int, str], upto: int, limit: int) -> list[Decision]:
        """Open decisions whose deadline has come."""
        with self._lock:
            found = [
                (row.deadline, row.id, row)
                for row in self._decisions.values()
                if row.deadline is not None
                and after < (row.deadline, row.id)
                and row.deadline <= upto
                and learned_from(self._held[row.id]) is None
            ]
        return [row for *_, row in sorted(found)][:limit]

    def n_open(self, bandit: int) -> int:
        """How many decisions are open."""
        with self._lock:
            return sum(
                learned_from(self._held[row.id]) is None
                for row in self._decisions.values()
                if row.bandit == bandit
            )

    def shown(self, bandit: int) -> dict[int, int]:
        """How often each arm was shown."""
        with self._lock:
            return dict(
                Counter(row.shown for row in self._decisions.values() if row.bandit == bandit)
            )
