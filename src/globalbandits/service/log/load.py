"""Load a bandit from the store: restore the newest usable snapshot, then learn the later events."""

from globalbandits._version import __version__
from globalbandits.errors import GlobalBanditsError, StoreError, UnknownError
from globalbandits.service.log.bandit import Bandit
from globalbandits.service.stores.records import BanditRow, SettingRow, Snapshot
from globalbandits.service.stores.store import Store


def load(
    store: Store,
    row: BanditRow,
    *,
    at: tuple[int, int] | None = None,
    compiled: bool | None = None,
) -> Bandit:
    """Load a bandit at the end of its log or at an earlier version.

    A snapshot is a cache: one that is damaged, or of another version of the library, is skipped. A
    kept snapshot is always used, because the events before it were pruned.

    Args:
        store: the store of the log.
        row: the bandit.
        at: the version and the number of settings to stop at; the end of the log by default.
        compiled: as in `Learner`.

    Raises:
        StoreError: if events or settings are missing.
        UnknownError: if the version was pruned.
    """
    settings = store.settings(row.id)
    # Another process may have added settings since the row was read.
    newest = max(found.number for found in settings if found.from_version <= row.version)
    version, number = (row.version, newest) if at is None else at
    bandit = _load_snapshot(store, row, settings, (version, number), compiled)
    waiting = [found for found in settings if bandit.number < found.number <= number]
    bandit.advance(store.events(row.id, bandit.version, version), waiting)
    if bandit.version < version:
        raise StoreError(f"{row.name} must have {version} events, got {bandit.version}")
    return bandit


def load_start(
    store: Store,
    row: BanditRow,
    settings: list[SettingRow],
    *,
    compiled: bool | None = None,
) -> Bandit:
    """Load a bandit at the start of its log: without events, or at its kept snapshot."""
    bandit = Bandit(row, settings[0], compiled=compiled)
    base = kept_snapshot(store, row)
    if base is not None:
        bandit.restore(base, settings)
    return bandit


def kept_snapshot(store: Store, row: BanditRow) -> Snapshot | None:
    """The snapshot that replaces pruned events; None if the log was never pruned."""
    return next((found for found in store.snapshots(row.id) if found.kept), None)


def _load_snapshot(
    store: Store,
    row: BanditRow,
    settings: list[SettingRow],
    upto: tuple[int, int],
    compiled: bool | None,
) -> Bandit:
    """Load the bandit at the newest usable snapshot, or at the start of its log."""
    version, number = upto
    below = version
    # One at a time: there may be many snapshots, and they are large.
    while found := store.snapshots(row.id, below, limit=1):
        snapshot = found[0]
        if snapshot.kept:
            break
        below = snapshot.version - 1
        if snapshot.library != __version__ or snapshot.settings > number:
            continue
        bandit = Bandit(row, settings[0], compiled=compiled)
        try:
            bandit.restore(snapshot, settings)
        except (GlobalBanditsError, ValueError, KeyError):
            continue
        return bandit
    bandit = load_start(store, row, settings, compiled=compiled)
    if (bandit.version, bandit.number) > upto:
        raise UnknownError(
            f"version {version} of {row.name} is gone: it was pruned up to {bandit.version}"
        )
    return bandit
