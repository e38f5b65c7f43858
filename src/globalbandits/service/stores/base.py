"""What a store must do. What the rows mean is decided above it, in one place for all stores.

A process has one writer: `transaction` is used by one thread at a time. Everything else reads what
is committed, and may be called by any thread. Where a store is `shared`, other processes write too.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

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


class Transaction(Protocol):
    """All of it is stored when the block ends well, else nothing of it."""

    def add_bandit(self, row: BanditRow) -> int:
        """Store a new bandit; its id is given by the store."""

    def add_settings(self, rows: Sequence[SettingRow]) -> None:
        """Store settings."""

    def add_decisions(self, rows: Sequence[Decision]) -> int:
        """Store decisions, but for those whose request id the bandit has; how many were stored."""

    def decisions_by_request(
        self, requests: Sequence[tuple[int, str]]
    ) -> dict[tuple[int, str], Decision]:
        """The decisions of these (bandit, request id), as far as there are any."""

    def decisions_by_id(self, ids: Sequence[str]) -> dict[str, Decision]:
        """The decisions with these ids, as far as there are any."""

    def events_of(self, ids: Sequence[str]) -> dict[str, dict[str, Held]]:
        """The events of these decisions, by kind."""

    def lock(self, bandits: Iterable[int]) -> dict[int, int]:
        """Versions of bandits, which nobody else changes until the transaction ends.

        Whatever is read after it is as the last one who held the lock left it.
        """

    def events_after(self, bandit: int, version: int) -> list[Event]:
        """The bandit's events beyond a version, in order."""

    def settings_after(self, numbers: Mapping[int, int]) -> dict[int, list[SettingRow]]:
        """For each bandit its settings beyond a number, in order; only where there are any."""

    def add_events(self, rows: Sequence[Event]) -> None:
        """Store events."""

    def set_versions(self, versions: Mapping[int, int]) -> None:
        """Store the bandits' new versions."""

    def add_refusals(self, rows: Sequence[Refusal]) -> None:
        """Store refusals; the same decision, reason and value once."""

    def add_snapshot(self, row: Snapshot) -> None:
        """Store a snapshot in the place of one of the same version."""

    def drop_snapshots(self, bandit: int, below: int, keep_every: int) -> None:
        """Drop snapshots below a version that are not kept, but for some, for states of the past.

        Args:
            bandit: whose.
            below: the version.
            keep_every: of every so many versions the first snapshot stays; 0 drops all.
        """

    def prune(self, bandit: int, version: int, before: int) -> tuple[int, int]:
        """Remove what a kept snapshot at this version stands for; numbers of decisions, events.

        Decisions made before a time go, with their events, if all of these are at or below the
        version and no deadline is to come. So no reward that is stored can be learned twice.
        """

    def add_writer(self, row: WriterRow) -> int:
        """Store a writer; its id is given by the store."""

    def add_token(self, row: TokenRow) -> None:
        """Store a token."""

    def drop_token(self, id: str) -> None:
        """Remove a token, if there is one."""


class Store(Protocol):
    """The log of all bandits."""

    shared: bool  # whether other processes may write to it

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Write, by one thread at a time."""

    def bandits(self) -> list[BanditRow]:
        """All bandits, by id."""

    def heads(self) -> dict[int, tuple[int, int]]:
        """For each bandit its version and the number of its newest settings, of one moment."""

    def settings(self, bandit: int) -> list[SettingRow]:
        """The bandit's settings, by number."""

    def events(self, bandit: int, after: int = 0, upto: int = LAST) -> Iterator[Event]:
        """The bandit's events with ``after < seq <= upto``, in order."""

    def decisions(self, bandit: int) -> Iterator[Decision]:
        """The bandit's decisions by version, settings, time and id."""

    def latest(self, bandit: int, limit: int) -> list[Decision]:
        """The bandit's newest decisions, the newest first; ids rise with time."""

    def decision(self, id: str) -> Decision | None:
        """One decision."""

    def decision_of_request(self, bandit: int, request_id: str) -> Decision | None:
        """The decision of a request."""

    def held(self, id: str) -> dict[str, Held]:
        """The events of one decision, by kind."""

    def refusals(self, bandit: int) -> list[Refusal]:
        """The bandit's refusals, in the order they came."""

    def snapshot(self, bandit: int, upto: int = LAST, limit: int = LAST) -> list[Snapshot]:
        """The bandit's snapshots at or below a version, the newest first, some or all."""

    def writers(self) -> list[WriterRow]:
        """All writers, by id."""

    def tokens(self) -> list[TokenRow]:
        """All tokens, by id."""

    def overdue(self, after: tuple[int, str], upto: int, limit: int) -> list[Decision]:
        """Open decisions with ``after < (deadline, id)`` up to a deadline, in that order."""

    def n_open(self, bandit: int) -> int:
        """How many of the bandit's decisions have no reward and no default yet."""

    def shown(self, bandit: int) -> dict[int, int]:
        """How often each arm was shown."""

    def close(self) -> None:
        """Release everything; the store is not used any more."""


class CheckedStore(Store, Protocol):
    """A store outside of this process, which may be damaged."""

    @property
    def path(self) -> object:
        """Where it is, as it may be shown."""

    def check(self) -> None:
        """Look at all of it.

        Raises:
            StoreError: if it is damaged.
        """
