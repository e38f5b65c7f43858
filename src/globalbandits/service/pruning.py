"""Old decisions leave the log; a snapshot that is kept stands for them."""

from typing import NamedTuple

from globalbandits.service.loading import kept_snapshot, load
from globalbandits.service.stores.base import Store
from globalbandits.service.stores.records import BanditRow


class Pruned(NamedTuple):
    """What left, and the version a replay begins at from now on."""

    name: str
    decisions: int
    events: int
    base: int


def prune(store: Store, row: BanditRow, before: int) -> Pruned:
    """Remove what is older than a time, behind a snapshot of just that time.

    A decision goes with all of its events, once all of them are older. A reward that comes for it
    afterwards is unknown: it cannot be learned twice.

    Args:
        store: where the log is.
        row: the bandit.
        before: microseconds since 1970.
    """
    base = kept_snapshot(store, row)
    begin = 0 if base is None else base.version
    version = row.version
    for event in store.events(row.id, begin):
        if event.at >= before:
            version = event.seq - 1
            break
    settings = store.settings(row.id)
    # Settings that hold from this version on are taken after it, so that decisions of both stay.
    number = max([s.number for s in settings if s.from_version < version], default=1)
    bandit = load(store, row, at=(version, number))
    with store.transaction() as rows:
        rows.lock([row.id])  # a reward that is on its way finds the decision, or finds it gone
        rows.add_snapshot(bandit.snapshot(kept=True))
        n_decisions, n_events = rows.prune(row.id, version, before)
    return Pruned(row.name, n_decisions, n_events, version)
