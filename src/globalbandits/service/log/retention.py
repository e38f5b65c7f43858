"""Prune the log: delete old decisions and keep a snapshot in their place."""

from typing import NamedTuple

from globalbandits.service.log.load import kept_snapshot, load
from globalbandits.service.stores.base import Store
from globalbandits.service.stores.records import BanditRow


class PruneResult(NamedTuple):
    """The numbers of deleted rows, and the version at which a replay starts from now on."""

    name: str
    decisions: int
    events: int
    base: int


def prune(store: Store, row: BanditRow, before: int) -> PruneResult:
    """Delete decisions older than a time, and keep a snapshot of that time.

    A decision is deleted with its events once all of them are older. A reward reported for it later
    is unknown, so that it cannot be learned twice.

    Args:
        store: the store of the log.
        row: the bandit.
        before: microseconds since 1970.
    """
    base = kept_snapshot(store, row)
    start = 0 if base is None else base.version
    version = row.version
    for event in store.events(row.id, start):
        if event.at >= before:
            version = event.seq - 1
            break
    settings = store.settings(row.id)
    # Settings in force from this version on are taken over after the snapshot, so that decisions
    # under the old and under the new settings can be replayed.
    number = max([s.number for s in settings if s.from_version < version], default=1)
    bandit = load(store, row, at=(version, number))
    with store.transaction() as rows:
        # A reward reported now finds its decision, or finds it deleted.
        rows.lock([row.id])
        rows.add_snapshot(bandit.snapshot(kept=True))
        n_decisions, n_events = rows.prune(row.id, version, before)
    return PruneResult(row.name, n_decisions, n_events, version)
