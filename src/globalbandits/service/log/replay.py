"""Recompute decisions from the log alone."""

import dataclasses
import json
from collections.abc import Iterator
from typing import NamedTuple

from globalbandits._version import __version__
from globalbandits.errors import GlobalBanditsError, StoreError
from globalbandits.policies.learner import Explanation, Probabilities
from globalbandits.service.log.bandit import Bandit, Choice
from globalbandits.service.log.load import load, load_start
from globalbandits.service.log.settings import Settings
from globalbandits.service.stores.records import (
    IMPORT_LIBRARY,
    BanditRow,
    Decision,
    Event,
    SettingRow,
    Snapshot,
)
from globalbandits.service.stores.store import Store

_MAX_FAULTS = 20  # lines of a report about decisions that differ


class Redecision(NamedTuple):
    """A past decision, recomputed from the state it was made in."""

    decision: Decision
    choice: Choice
    explanation: Explanation
    settings: Settings


def redecide(store: Store, bandit: Bandit, decision: Decision) -> Redecision:
    """Recompute one decision of a bandit from the state it was made in."""
    row = bandit.row._replace(version=max(decision.version, bandit.version))
    then = load(store, row, at=(decision.version, decision.settings), compiled=bandit.compiled)
    followed = None
    if decision.follows is not None:
        first = store.decision(decision.follows)
        followed = decision.shown if first is None else first.shown
    request = decision.context, allowed_of(decision)
    choice = then.choose(
        decision.key, decision.at, followed, context=request[0], allowed=request[1]
    )
    explanation = then.explain(decision.key, decision.at, *request)
    return Redecision(decision, choice, explanation, then.settings)


def allowed_of(decision: Decision) -> list[int] | None:
    """The arms that a stored decision's request allowed, by index; None for all.

    Raises:
        StoreError: if they are damaged.
    """
    if decision.allowed is None:
        return None
    try:
        found = json.loads(decision.allowed)
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(type(arm) is int for arm in found):
        raise StoreError(f"allowed must be a list of arms' indices, got {decision.allowed!r}")
    return found


@dataclasses.dataclass
class ReplayReport:
    """The result of replaying one bandit.

    Attributes:
        tenant: the bandit's tenant.
        name: the bandit's name.
        base: the version at which the replay started; 0 unless the log was pruned.
        version: the version that the replay reached.
        decisions: all stored decisions.
        agree: decisions whose recomputed arms are the stored ones.
        gone: decisions from before the base, which cannot be recomputed.
        foreign: decisions of other versions of the library whose recomputed arms differ.
        differ: decisions of this version of the library whose recomputed arms differ.
        imported: decisions that were imported, which no policy made.
        probabilities: the probabilities of all arms, by the id of each decision that agrees; empty
            unless they were requested.
        snapshots: snapshots that equal the recomputed state.
        wrong: one line per fault; at most twenty about decisions.
    """

    tenant: str
    name: str
    base: int
    version: int = 0
    decisions: int = 0
    agree: int = 0
    gone: int = 0
    foreign: int = 0
    differ: int = 0
    imported: int = 0
    snapshots: int = 0
    probabilities: dict[str, Probabilities] = dataclasses.field(default_factory=dict)
    wrong: list[str] = dataclasses.field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether the log is consistent and every recomputed decision agrees."""
        return self.differ == 0 and not self.wrong


def replay(
    store: Store,
    row: BanditRow,
    *,
    compiled: bool | None = None,
    probability_draws: int | None = None,
) -> ReplayReport:
    """Rebuild every state of a bandit and recompute every decision.

    Args:
        store: the store of the log.
        row: the bandit.
        compiled: as in `Learner`.
        probability_draws: derive the probabilities of the arms at each decision, with this many
            draws where they are not exact; None derives none.
    """
    settings = store.settings(row.id)
    bandit = load_start(store, row, settings, compiled=compiled)
    report = ReplayReport(row.tenant, row.name, base=bandit.version)
    writers = store.writers()
    same_library = {writer.id for writer in writers if writer.library == __version__}
    imports = {writer.id for writer in writers if writer.library == IMPORT_LIBRARY}
    walk = _Walk(store, bandit, settings, report)
    shown_to_units: dict[str, int] = {}  # arms of decisions that others may follow
    for decision in store.decisions(row.id):
        report.decisions += 1
        if (decision.version, decision.settings) < (report.base, walk.first):
            report.gone += 1
            continue
        if not walk.to(decision.version, decision.settings):
            break
        if decision.writer in imports:
            report.imported += 1
            continue
        if decision.unit is not None and decision.follows is None:
            shown_to_units[decision.id] = decision.shown
        followed = None
        if decision.follows is not None:
            # The decision that is followed may have been pruned.
            followed = shown_to_units.get(decision.follows, decision.shown)
        try:
            allowed = allowed_of(decision)
            choice = bandit.choose(
                decision.key, decision.at, followed, context=decision.context, allowed=allowed
            )
        except GlobalBanditsError as error:
            report.wrong.append(f"decision {decision.id}: {error}")
            continue
        if (choice.chosen, choice.shown) == (decision.chosen, decision.shown):
            report.agree += 1
            # An arm that follows the unit's earlier decision was not drawn.
            if probability_draws is not None and choice.why != "unit":
                found, _, _ = bandit.probabilities(probability_draws, decision.context, allowed)
                report.probabilities[decision.id] = found
        elif decision.writer in same_library:
            report.differ += 1
            if len(report.wrong) < _MAX_FAULTS:
                report.wrong.append(_difference(decision, choice.chosen, choice.shown))
        else:
            report.foreign += 1
    walk.to(row.version, settings[-1].number)
    report.version = bandit.version
    return report


class _Walk:
    """Moves a bandit forward through its log and compares it with the snapshots on the way."""

    def __init__(
        self, store: Store, bandit: Bandit, settings: list[SettingRow], report: ReplayReport
    ) -> None:
        self.first = bandit.number
        self._bandit = bandit
        self._report = report
        self._settings = settings[bandit.number :]
        self._events: Iterator[Event] = store.events(bandit.row.id, bandit.version)
        self._next = next(self._events, None)
        self._snapshots = [
            snapshot
            for snapshot in reversed(store.snapshots(bandit.row.id))
            if not snapshot.kept and snapshot.library == __version__
        ]

    def to(self, version: int, number: int) -> bool:
        """Move to a version and settings; False if the log does not contain them."""
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
            self._report.wrong.append(str(error))
            return False
        return True

    def _compare(self) -> None:
        """Compare the state with the snapshot of this version and settings, if there is one."""
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
        if comparable_state(saved) == comparable_state(json.loads(self._bandit.snapshot().state)):
            self._report.snapshots += 1
        else:
            self._report.wrong.append(
                f"snapshot {snapshot.version} is not what the log gives; it is skipped"
                if comparable_state(saved) is None
                else f"snapshot {snapshot.version} is not what the log gives"
            )


def comparable_state(state: object) -> object:
    """A bandit's state without the random mark of its origin; None if it is not a state."""
    if not isinstance(state, dict) or not isinstance(state.get("learner"), dict):
        return None
    learner = {key: value for key, value in state["learner"].items() if key != "lineage"}
    return learner | {"anchor": state.get("anchor"), "awaited": state.get("awaited")}


def _place(snapshot: Snapshot) -> tuple[int, int]:
    return snapshot.version, snapshot.settings


def _difference(decision: Decision, chosen: int, shown: int) -> str:
    return (
        f"decision {decision.id} at version {decision.version}: stored arm {decision.chosen}, "
        f"shown {decision.shown}; recomputed arm {chosen}, shown {shown}"
    )
