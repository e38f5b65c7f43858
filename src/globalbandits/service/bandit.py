"""A bandit in memory: the fold of its log up to a version. It reads and writes nothing."""

import json
import threading
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from globalbandits._rewards import as_unit, nearest
from globalbandits._version import __version__
from globalbandits.errors import StoreError
from globalbandits.policies.learner import Explanation, Learner
from globalbandits.service.draws import Draws
from globalbandits.service.settings import Settings, allowed_arms, index_of, plain_arm
from globalbandits.service.stores.outcomes import Held
from globalbandits.service.stores.records import (
    RETRACTION,
    BanditRow,
    Event,
    SettingRow,
    Snapshot,
)
from globalbandits.service.texts import digest_of, plain_json
from globalbandits.statistics import may_hold


class Choice(NamedTuple):
    """What was chosen, what is shown instead where they differ, why, and from which state."""

    chosen: int
    shown: int
    why: str  # policy, limits, step, held back or shadow
    version: int
    settings: int


class Bandit:
    """The state of one bandit after some of its events, and its settings.

    `choose` is a pure function of that state and a key. Threads may share a bandit.

    Args:
        row: the bandit.
        first: its first settings.
        compiled: as in `Learner`.
    """

    def __init__(self, row: BanditRow, first: SettingRow, *, compiled: bool | None = None) -> None:
        self.row = row
        self.compiled = compiled
        self.lock = threading.Lock()
        self.version = 0
        self.anchor: int | None = None  # the arm last learned from
        self.n_open = 0  # decisions without a reward or a default
        self._draws = Draws(row.seed)
        self._all: dict[int, Settings] = {}
        settings = Settings.from_log(first.body)
        model, policy = settings.build()
        self.learner = Learner(policy, model, seed=row.seed, compiled=compiled)
        self.values = [plain_arm(arm) for arm in model.arms]  # as JSON has them
        self.shown = [0] * model.n_arms  # how often each arm was shown
        self._take(first.number, settings)

    @property
    def settings(self) -> Settings:
        """The settings that hold now."""
        return self._all[self.number]

    def late_rule(self, number: int) -> str:
        """What the settings of a decision say about a late reward."""
        return self._all[number].late

    def can_forget(self, arm: int, learned: Held) -> bool:
        """Whether a reward can be taken back. What cannot be must not come into the log."""
        if self.learner.policy.rules.rebuild is None:
            return False
        if learned.seq > self.version:  # it is about to be learned, in the same batch
            return True
        unit = as_unit("reward", learned.value, self.learner.model.reward_range)
        return may_hold(self.learner.parts[2], arm, unit)

    def settings_at(self, number: int) -> Settings:
        """The settings of this number, one that held so far."""
        return self._all[number]

    def choose(self, key: str) -> Choice:
        """The decision of a request, by its key; nothing changes."""
        with self.lock:
            chosen = self.learner.select(rng=self._draws.at(key))
            shown, why = self._show(chosen, key)
            return Choice(chosen, shown, why, self.version, self.number)

    def _show(self, chosen: int, key: str) -> tuple[int, str]:
        """What is shown for a choice, and why."""
        settings = self.settings
        if self._incumbent is not None:
            if settings.mode == "shadow":
                return self._incumbent, "shadow"
            held_back = settings.held_back
            if held_back > 0.0 and self._draws.at(key, "held back").random() < held_back:
                return self._incumbent, "held back"
        allowed = range(self.learner.model.n_arms) if self._allowed is None else self._allowed
        within = nearest(chosen, allowed)
        here = self._incumbent if self.anchor is None else self.anchor
        if settings.largest_step is not None and here is not None:
            near = [arm for arm in allowed if abs(arm - here) <= settings.largest_step]
            # Limits come first: where no allowed arm is near enough, the nearest one is shown.
            shown = nearest(chosen, near) if near else nearest(here, allowed)
            if shown != within:
                return shown, "step"
        return within, "policy" if within == chosen else "limits"

    def explain(self, key: str) -> Explanation:
        """Why the policy chooses what it chooses for a request."""
        with self.lock:
            return self.learner.explain(rng=self._draws.at(key))

    def advance(self, events: Iterable[Event], settings: Iterable[SettingRow] = ()) -> None:
        """Go on in the log: learn events in order, and take settings where they hold from.

        Raises:
            StoreError: if the order has a gap; then the log is damaged.
        """
        waiting = sorted(settings, key=lambda row: row.number)
        with self.lock:
            for event in events:
                waiting = self._take_due(waiting)
                self._learn(event)
            waiting = self._take_due(waiting)
        if waiting:
            raise StoreError(
                f"settings {waiting[0].number} of {self.row.name} must hold from version "
                f"{self.version} or before, got {waiting[0].from_version}"
            )

    def note_shown(self, arm: int) -> None:
        """Count a stored decision."""
        with self.lock:
            self.n_open += 1
            self.shown[arm] += 1

    def set_shown(self, shown: Mapping[int, int], n_open: int) -> None:
        """Take the counts of the store."""
        with self.lock:
            self.n_open = n_open
            self.shown = [shown.get(arm, 0) for arm in range(len(self.shown))]

    def _take_due(self, waiting: list[SettingRow]) -> list[SettingRow]:
        while waiting and waiting[0].from_version <= self.version:
            self._change(waiting[0])
            waiting = waiting[1:]
        return waiting

    def _learn(self, event: Event) -> None:
        if event.seq != self.version + 1:
            raise StoreError(
                f"events of {self.row.name} must follow each other, got {event.seq} "
                f"after {self.version}"
            )
        if event.kind == RETRACTION:
            self.learner.forget(event.arm, event.value)
        else:
            self.learner.update(event.arm, event.value)
            self.anchor = event.arm
            self.n_open = max(self.n_open - 1, 0)  # another process may have counted the decision
        self.version += 1

    def _change(self, row: SettingRow) -> None:
        if row.number != self.number + 1:
            raise StoreError(
                f"settings of {self.row.name} must follow each other, got {row.number} "
                f"after {self.number}"
            )
        settings = Settings.from_log(row.body)
        self.learner = moved(self.learner, settings, self.compiled)
        self._take(row.number, settings)

    def _take(self, number: int, settings: Settings) -> None:
        self.number = number
        self._all[number] = settings
        model = self.learner.model
        self._incumbent = index_of(model, settings.incumbent)
        self._allowed = allowed_arms(model, settings.limits)

    def check_change(self, changes: dict[str, Any]) -> Settings:
        """The settings that a change would lead to, if it keeps everything that was learned."""
        with self.lock:
            settings = self.settings.changed(changes)
            moved(self.learner, settings, False)
            return settings

    def state(self) -> dict[str, Any]:
        """What a snapshot holds. Where the learner comes from is no part of it: it is random."""
        state = self.learner.state()
        return {"learner": state, "anchor": self.anchor}

    def snapshot(self, kept: bool = False) -> Snapshot:
        """The state as a row."""
        with self.lock:
            text = plain_json(self.state())
            return Snapshot(
                self.row.id,
                self.version,
                self.number,
                __version__,
                int(kept),
                digest_of(text),
                text,
            )

    def resume(self, snapshot: Snapshot, settings: Iterable[SettingRow]) -> None:
        """Become what a snapshot holds.

        Raises:
            StoreError: if it is damaged, or not of this bandit.
        """
        if digest_of(snapshot.state) != snapshot.digest:
            raise StoreError(f"snapshot {snapshot.version} of {self.row.name} is damaged")
        state = json.loads(snapshot.state)
        for row in settings:
            if row.number <= snapshot.settings:
                self._all[row.number] = Settings.from_log(row.body)
        model, policy = self._all[snapshot.settings].build()
        learner = Learner.restore(policy, model, state["learner"], compiled=self.compiled)
        with self.lock:
            self.learner = learner
            self.anchor = state["anchor"]
            self.version = snapshot.version
            self._take(snapshot.settings, self._all[snapshot.settings])


def moved(learner: Learner, settings: Settings, compiled: bool | None) -> Learner:
    """A learner under other settings, which knows all that it knew.

    Raises:
        StateError: if arms or curves differ; PolicyError if the policy cannot take data over.
    """
    model, policy = settings.build()
    if model is not learner.model:
        learner = Learner.restore(learner.policy, model, learner.state(), compiled=compiled)
    return learner if policy == learner.policy else learner.with_policy(policy)
