"""Make every decision of a log again, from the log alone."""

import dataclasses
import json
from collections.abc import Iterator

from globalbandits._version import __version__
from globalbandits.errors import GlobalBanditsError, StoreError
from globalbandits.service.bandit import Bandit
from globalbandits.service.loading import fresh
from globalbandits.service.stores.base import Store
from globalbandits.service.stores.records import (
    BanditRow,
    Decision,
    Event,
    SettingRow,
    Snapshot,
)

_SHOWN = 20  # decisions that differ, in a report


@dataclasses.dataclass
class Replayed:
    """What a replay of one bandit found."""

    tenant: str
    name: str
    base: int  # the version it began at; 0 unless the log was pruned
    version: int = 0
    decisions: int = 0
    agree: int = 0
    gone: int = 0  # decisions from before the base, which cannot be made again
    foreign: int = 0  # decisions of other versions of the library that come out otherwise now
    differ: int = 0
    snapshots: int = 0  # that are what the log gives
    wrong: list[str] = dataclasses.field(default_factory=list)  # a line for each fault, but not all

    @property
    def good(self) -> bool:
        """Whether the log holds together, and every decision that could be made again agrees."""
        return self.differ == 0 and not self.wrong


def replay(store: Store, row: BanditRow, *, compiled: bool | None = None) -> Replayed:
    """Rebuild every state of a bandit, and make every decision again.

    Args:
        store: where the log is.
        row: the bandit.
        compiled: as in `Learner`.
    """
    settings = store.settings(row.id)
    bandit = fresh(store, row, settings, compiled=compiled)
    found = Replayed(row.tenant, row.name, base=bandit.version)
    mine = {writer.id for writer in store.writers() if writer.library == __version__}
    walk = _Walk(store, bandit, settings, found)
    for decision in store.decisions(row.id):
        found.decisions += 1
        if (decision.version, decision.settings) < (found.base, walk.first):
            found.gone += 1
            continue
        if not walk.to(decision.version, decision.settings):
            break
        choice = bandit.choose(decision.key)
        if (choice.chosen, choice.shown) == (decision.chosen, decision.shown):
            found.agree += 1
        elif decision.writer in mine:
            found.differ += 1
            if len(found.wrong) < _SHOWN:
                found.wrong.append(_difference(decision, choice.chosen, choice.shown))
        else:
            found.foreign += 1
    walk.to(row.version, settings[-1].number)
    found.version = bandit.version
    return found


class _Walk:
    """A bandit that goes through its log, and is held against the snapshots it passes."""

    def __init__(
        self, store: Store, bandit: Bandit, settings: list[SettingRow], found: Replayed
    ) -> None:
        self.first = bandit.number
        self._bandit = bandit
        self._found = found
        self._settings = settings[bandit.number :]
        self._events: Iterator[Event] = store.events(bandit.row.id, bandit.version)
        self._next = next(self._events, None)
        self._snapshots = [
            snapshot
            for snapshot in reversed(store.snapshot(bandit.row.id))
            if not snapshot.kept and snapshot.library == __version__
        ]

    def to(self, version: int, number: int) -> bool:
        """Learn up to a version and settings; False if the log does not lead there."""
        bandit = self._bandit
        try:
            while bandit.version < version or bandit.number < number:
                self._compare()
                due = self._settings and self._settings[0].from_version <= bandit.version
                if due and (bandit.number < number or bandit.version < version):
                    bandit.advance([], [self._settings.pop(0)])
                elif self._next is not None and bandit.version < version:
                    bandit.advance([self._next])
                    self._next = next(self._events, None)
                else:
                    raise StoreError(
                        f"the log must lead to version {version} under settings {number}, "
                        f"got {bandit.version} under {bandit.number}"
                    )
            self._compare()
            if (bandit.version, bandit.number) != (version, number):
                raise StoreError(
                    f"at version {version} settings {bandit.number} must hold, got {number}"
                )
        except GlobalBanditsError as error:
            self._found.wrong.append(str(error))
            return False
        return True

    def _compare(self) -> None:
        """Hold the state against the snapshot of this version and settings, if there is one."""
        here = self._bandit.version, self._bandit.number
        while self._snapshots and _place(self._snapshots[0]) <= here:
            snapshot = self._snapshots.pop(0)
            if _place(snapshot) == here:
                self._check(snapshot)

    def _check(self, snapshot: Snapshot) -> None:
        try:
            saved = json.loads(snapshot.state)
        except ValueError:
            saved = None
        if essence(saved) == essence(json.loads(self._bandit.snapshot().state)):
            self._found.snapshots += 1
        else:
            self._found.wrong.append(
                f"snapshot {snapshot.version} is not what the log gives; it is passed over"
                if essence(saved) is None
                else f"snapshot {snapshot.version} is not what the log gives"
            )


def essence(state: object) -> object:
    """What two states of one version must share: all but random marks of where they come from."""
    if not isinstance(state, dict) or not isinstance(state.get("learner"), dict):
        return None
    learner = {key: value for key, value in state["learner"].items() if key != "lineage"}
    return learner | {"anchor": state.get("anchor")}


def _place(snapshot: Snapshot) -> tuple[int, int]:
    return snapshot.version, snapshot.settings


def _difference(decision: Decision, chosen: int, shown: int) -> str:
    return (
        f"decision {decision.id} at version {decision.version}: stored arm {decision.chosen}, "
        f"shown {decision.shown}; made again arm {chosen}, shown {shown}"
    )
