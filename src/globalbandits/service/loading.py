"""From the store to memory: a snapshot where there is a good one, then the events after it."""

from globalbandits._version import __version__
from globalbandits.errors import GlobalBanditsError, StoreError, UnknownError
from globalbandits.service.bandit import Bandit
from globalbandits.service.stores.base import Store
from globalbandits.service.stores.records import BanditRow, SettingRow, Snapshot


def load(
    store: Store,
    row: BanditRow,
    *,
    at: tuple[int, int] | None = None,
    compiled: bool | None = None,
) -> Bandit:
    """The bandit after all of its events, or as it was.

    A snapshot that is damaged, or of another version of the library, is passed over: it is only
    a cache. But a kept one stands for events that are gone, and is needed.

    Args:
        store: where the log is.
        row: the bandit.
        at: a version and the number of settings to stop at; the end of the log by default.
        compiled: as in `Learner`.

    Raises:
        StoreError: if the log cannot be followed.
        UnknownError: if the version was pruned.
    """
    settings = store.settings(row.id)
    # Others may have gone on since the row was read.
    newest = max(found.number for found in settings if found.from_version <= row.version)
    version, number = (row.version, newest) if at is None else at
    bandit = _start(store, row, settings, (version, number), compiled)
    waiting = [found for found in settings if bandit.number < found.number <= number]
    bandit.advance(store.events(row.id, bandit.version, version), waiting)
    if bandit.version < version:
        raise StoreError(f"{row.name} must have {version} events, got {bandit.version}")
    return bandit


def fresh(
    store: Store,
    row: BanditRow,
    settings: list[SettingRow],
    *,
    compiled: bool | None = None,
) -> Bandit:
    """The bandit where its log begins: without events, or at its kept snapshot."""
    bandit = Bandit(row, settings[0], compiled=compiled)
    base = kept_snapshot(store, row)
    if base is not None:
        bandit.resume(base, settings)
    return bandit


def kept_snapshot(store: Store, row: BanditRow) -> Snapshot | None:
    """The snapshot that stands for pruned events, if any were."""
    return next((found for found in store.snapshot(row.id) if found.kept), None)


def _start(
    store: Store,
    row: BanditRow,
    settings: list[SettingRow],
    upto: tuple[int, int],
    compiled: bool | None,
) -> Bandit:
    """The bandit at the newest snapshot that can be used."""
    version, number = upto
    below = version
    while found := store.snapshot(row.id, below, limit=1):  # there may be many, and they are long
        snapshot = found[0]
        if snapshot.kept:
            break
        below = snapshot.version - 1
        if snapshot.library != __version__ or snapshot.settings > number:
            continue
        bandit = Bandit(row, settings[0], compiled=compiled)
        try:
            bandit.resume(snapshot, settings)
        except (GlobalBanditsError, ValueError, KeyError):
            continue
        return bandit
    bandit = fresh(store, row, settings, compiled=compiled)
    if (bandit.version, bandit.number) > upto:
        raise UnknownError(
            f"version {version} of {row.name} is gone: it was pruned up to {bandit.version}"
        )
    return bandit
