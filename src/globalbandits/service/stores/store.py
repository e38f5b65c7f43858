"""The interface of a store. `globalbandits.service.log` decides what the rows mean.

A process has one writer: only one thread at a time uses `Store.transaction`. All other methods of a
store read committed rows and may be called by any thread. If a store is `shared`, other processes
write to it, too.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from globalbandits.service.stores.records import (
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


class Transaction(Protocol):
    """An open transaction: everything in the block is committed together, or rolled back."""

    def add_bandit(self, row: BanditRow) -> int:
        """Store a new bandit and return the id that the store assigns; ``row.id`` is ignored."""

    def delete_bandit(self, id: int, at: int) -> None:
        """Mark a bandit as deleted. Its rows stay, and its name is free."""

    def drop_deleted(self, before: int) -> int:
        """Remove all rows of bandits that were deleted before a time; return their number."""

    def shrink(self, pages: int) -> bool:
        """Give pages of the file that are free back to the disk.

        Returns:
            Whether there are more free pages. False for stores that reuse them by themselves.
        """

    def add_settings(self, rows: Sequence[SettingRow]) -> None:
        """Store settings."""

    def add_decisions(self, rows: Sequence[Decision]) -> int:
        """Store decisions and return how many were new.

        A decision whose request id the bandit already has is skipped.
        """

    def set_probabilities(self, probabilities: Mapping[str, float]) -> None:
        """Store derived probabilities of decisions, by id, where there are none yet."""

    def decisions_by_request(
        self, requests: Sequence[tuple[int, str]]
    ) -> dict[tuple[int, str], Decision]:
        """The stored decisions of (bandit, request id) pairs. Unknown pairs are left out."""

    def has_own_decisions(self, bandit: int) -> bool:
        """Whether the bandit has decisions that were not imported."""

    def decision_of_unit(
        self, bandit: int, unit: str, after: int, context: str | None = None
    ) -> Decision | None:
        """The newest decision of a unit in a context after a time, whose arm was chosen anew."""

    def decisions_by_id(self, ids: Sequence[str]) -> dict[str, Decision]:
        """The stored decisions with these ids. Unknown ids are left out."""

    def events_by_decision(self, ids: Sequence[str]) -> dict[str, list[StoredEvent]]:
        """The events of these decisions, in order. Decisions without events are left out."""

    def lock(self, bandits: Iterable[int]) -> dict[int, int]:
        """Lock bandits until the transaction ends, and return their versions.

        Deleted bandits are left out.

        Reads after the lock see everything that its previous holder committed.
        """

    def events_after(self, bandit: int, version: int) -> list[Event]:
        """The bandit's events with ``seq > version``, in order."""

    def settings_after(self, numbers: Mapping[int, int]) -> dict[int, list[SettingRow]]:
        """For each bandit its settings above a number, in order. Empty lists are left out."""

    def add_events(self, rows: Sequence[Event]) -> None:
        """Store events."""

    def set_versions(self, versions: Mapping[int, int]) -> None:
        """Set the versions of bandits."""

    def add_refusals(self, rows: Sequence[Refusal]) -> None:
        """Store refusals. One with the same decision, reason and value is stored once."""

    def add_snapshot(self, row: Snapshot) -> None:
        """Store a snapshot. It replaces one of the same version."""

    def drop_snapshots(self, bandit: int, below: int, keep_every: int) -> None:
        """Delete old snapshots. Those with ``kept`` set are never deleted.

        Args:
            bandit: the id of the bandit.
            below: delete only snapshots with a lower version.
            keep_every: from every block of this many versions the first snapshot stays, so that
                past states can be rebuilt quickly; 0 keeps none.
        """

    def prune(self, bandit: int, version: int, before: int) -> tuple[int, int]:
        """Delete history that a kept snapshot at this version replaces.

        A decision made before a time is deleted with its events if all of these have at most this
        version and its deadline has passed. No stored reward can then be learned twice.

        Returns:
            The numbers of deleted decisions and events.
        """

    def add_writer(self, row: WriterRow) -> int:
        """Store a writer and return the id that the store assigns; ``row.id`` is ignored."""

    def add_token(self, row: TokenRow) -> None:
        """Store a token."""

    def drop_token(self, id: str) -> None:
        """Delete a token if it exists."""


class Store(Protocol):
    """The log of all bandits.

    Attributes:
        shared: whether other processes may write to the store.
    """

    shared: bool

    @property
    def path(self) -> object:
        """The store's address without passwords, for messages."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction. The block's end returns when the rows are on disk.

        Raises:
            StoreUnavailable: if the store cannot be written now. The commit may or may not have
                succeeded; the log's operations can be repeated because they are idempotent.
        """

    def bandits(self) -> list[BanditRow]:
        """All bandits that were not deleted, by id."""

    def bandit(self, id: int) -> BanditRow | None:
        """The bandit with this id; None if it was deleted."""

    def deleted_at(self, tenant: str, name: str) -> int | None:
        """When the last deleted bandit of this name was deleted; None if there is none."""

    def heads(self) -> dict[int, tuple[int, int]]:
        """For each bandit its version and the number of its newest settings, read together.

        Deleted bandits are left out.
        """

    def settings(self, bandit: int) -> list[SettingRow]:
        """The bandit's settings, by number."""

    def events(self, bandit: int, after: int = 0, upto: int = LAST) -> Iterator[Event]:
        """The bandit's events with ``after < seq <= upto``, in order."""

    def decisions(self, bandit: int) -> Iterator[Decision]:
        """The bandit's decisions, ordered by version, settings, time and id."""

    def latest(self, bandit: int, limit: int) -> list[Decision]:
        """The bandit's newest decisions, newest first. Ids increase with time."""

    def decision(self, id: str) -> Decision | None:
        """The decision with this id."""

    def decision_of_request(self, bandit: int, request_id: str) -> Decision | None:
        """The decision of a request."""

    def stored_events(self, decision: str) -> list[StoredEvent]:
        """The events of one decision, in order."""

    def refusals(self, bandit: int) -> list[Refusal]:
        """The bandit's refusals in order of arrival."""

    def snapshots(self, bandit: int, upto: int = LAST, limit: int = LAST) -> list[Snapshot]:
        """The bandit's snapshots with ``version <= upto``, newest first."""

    def writers(self) -> list[WriterRow]:
        """All writers, by id."""

    def tokens(self) -> list[TokenRow]:
        """All tokens, by id."""

    def overdue(self, after: tuple[int, str], upto: int, limit: int) -> list[Decision]:
        """Open decisions with ``after < (deadline, id)`` and ``deadline <= upto``, in order."""

    def open_decisions(self, bandit: int, at: int, since: int) -> tuple[int, int | None]:
        """The number of the bandit's open decisions, and the time of the oldest.

        A decision is open if it has neither a reward nor a default, and its deadline is later than
        ``at``; without a deadline, if it was made after ``since``.
        """

    def has_decisions(self, bandit: int, before: int) -> bool:
        """Whether the bandit has decisions made before a time."""

    def shown_counts(self, bandit: int) -> dict[tuple[str | None, int], int]:
        """How often each arm was shown, by context. Arms that were never shown are left out."""

    def check(self) -> None:
        """Look for damage in the whole store.

        Raises:
            StoreError: if the store is damaged.
        """

    def close(self) -> None:
        """Close all connections and release the store."""
