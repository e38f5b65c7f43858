"""Prune the log: delete old decisions and keep a snapshot in their place."""

import time
from functools import partial
from typing import NamedTuple

from globalbandits.service.log.load import kept_snapshot, load
from globalbandits.service.log.log import Log
from globalbandits.service.log.writer import Change
from globalbandits.service.stores.records import BanditRow, Snapshot
from globalbandits.service.stores.store import Store, Transaction

_PAGES_PER_STEP = 256  # given back in one commit: 1 MB, a few milliseconds
_PAUSE_SECONDS = 0.05  # between steps of a running server, so that requests are not delayed


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
    base = _base(store, row, before)
    with store.transaction() as rows:
        return _prune(rows, row, base, before)


def prune_deleted(store: Store, before: int) -> int:
    """Remove the rows of bandits that were deleted before a time, and return their number."""
    with store.transaction() as rows:
        return rows.drop_deleted(before)


def shrink(store: Store) -> None:
    """Give the free pages of a file back to the disk."""
    more = True
    while more:
        with store.transaction() as rows:
            more = rows.shrink(_PAGES_PER_STEP)


def prune_online(log: Log, before: int) -> list[PruneResult]:
    """Prune all bandits of a log in use, and give free pages back, in many small commits."""
    results = []
    for row in log.store.bandits():
        if not log.store.has_decisions(row.id, before):
            continue
        base = _base(log.store, row, before)
        change = Change(partial(_prune, row=row, base=base, before=before), lambda written: written)
        results.append(log.writer.submit(change).result())
        log.recount_loaded(row.id)
        time.sleep(_PAUSE_SECONDS)
    log.writer.submit(Change(lambda rows: rows.drop_deleted(before), lambda n: n)).result()
    more = True
    while more:
        step = Change(lambda rows: rows.shrink(_PAGES_PER_STEP), lambda written: written)
        more = log.writer.submit(step).result()
        time.sleep(_PAUSE_SECONDS)
    return results


def _base(store: Store, row: BanditRow, before: int) -> Snapshot:
    """The snapshot of the state before the first event that is not old."""
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
    return load(store, row, at=(version, number)).snapshot(kept=True)


def _prune(rows: Transaction, row: BanditRow, base: Snapshot, before: int) -> PruneResult:
    # A reward reported now finds its decision, or finds it deleted.
    rows.lock([row.id])
    rows.add_snapshot(base)
    n_decisions, n_events = rows.prune(row.id, base.version, before)
    return PruneResult(row.name, n_decisions, n_events, base.version)
