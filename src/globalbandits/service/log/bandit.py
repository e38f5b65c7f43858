"""A bandit in memory: the state after a number of its events. It does not access the store."""

import dataclasses
import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from globalbandits._rewards import as_unit, nearest
from globalbandits._validation import require, show
from globalbandits._version import __version__
from globalbandits.errors import ServiceError, StoreError
from globalbandits.model import ContextModel
from globalbandits.policies.learner import Explanation, Learner, Probabilities, StopWhen
from globalbandits.service.log.request_rng import RequestGenerators
from globalbandits.service.log.settings import (
    Settings,
    allowed_arms,
    arm_index,
    canonical_json,
    plain_arm,
    withdrawn_arms,
)
from globalbandits.service.stores.records import (
    CORRECTION,
    DECISION,
    RETRACTION,
    BanditRow,
    Event,
    SettingRow,
    Snapshot,
    StoredEvent,
)
from globalbandits.statistics import may_hold

# With more open decisions their weights are rounded to 0.001.
MAX_EXACT_WEIGHTS = 200
_MAX_PROBABILITIES = 1_000  # kept for different requests at one version


class Choice(NamedTuple):
    """The arm that the policy chose, the arm to show, the reason, and the state it came from.

    ``why`` is ``policy``, ``limits``, ``step``, ``held back``, ``shadow``, or ``unit`` for the arm
    of an earlier decision of the same unit. ``probability`` is that of the arm to show, or None if
    it was not computed or the arm follows an earlier decision.
    """

    chosen: int
    shown: int
    why: str
    version: int
    settings: int
    probability: float | None = None


class Bandit:
    """The state of one bandit after ``version`` events, and its settings.

    `choose` is a pure function of the state and a key. Threads may share a bandit.

    Args:
        row: the bandit's row.
        first: its first settings.
        compiled: as in `Learner`.

    Attributes:
        anchors: the arm of the last learned reward, by context; by None without contexts.
        n_open: open decisions. Those whose deadline has passed count until the next recount.
        n_counted: decisions made in this process since the bandit was loaded.
        oldest_open: the time of the oldest open decision at the last recount, in microseconds.
        last_event_at: the time of the last event but a decision; None before the first.
        recounted_at: when decisions were counted in the store, in seconds of the monotonic clock.
        contexts: the names of the contexts; None alone for a model without contexts.
        values: the values of the arms as JSON values.
    """

    def __init__(self, row: BanditRow, first: SettingRow, *, compiled: bool | None = None) -> None:
        self.row = row
        self.compiled = compiled
        self.lock = threading.Lock()
        self.version = 0
        self.anchors: dict[str | None, int] = {}
        # Arm, time and context of open decisions by id, if a law of the delay is set.
        self._awaited: dict[str, tuple[int, int, str | None]] = {}
        self.n_open = 0
        self.n_counted = 0
        self.oldest_open: int | None = None
        self.last_event_at: int | None = None
        self.recounted_at = time.monotonic()
        self._generators = RequestGenerators(row.seed)
        self._settings_by_number: dict[int, Settings] = {}
        settings = Settings.from_log(first.body)
        model, policy = settings.build()
        self.learner = Learner(policy, model, seed=row.seed, compiled=compiled)
        if settings.withdrawn:
            self.learner = with_settings(self.learner, settings, compiled)
        self.values: list[Any] = []
        self._shown: Counter[tuple[str | None, int]] = Counter()
        # Probabilities of the arms, by draws, context and allowed arms, of a version and settings.
        self._probabilities: dict[Any, Probabilities | None] = {}
        self._probabilities_of = (-1, -1)
        self._use_settings(first.number, settings)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._settings_by_number[self.number]

    def settings_at(self, number: int) -> Settings:
        """The settings with this number, which must be at most the present one."""
        return self._settings_by_number[number]

    def late_rule(self, number: int) -> str:
        """The rule for late rewards in the settings with this number."""
        return self._settings_by_number[number].late

    def can_forget(self, arm: int, learned: StoredEvent, context: str | None = None) -> bool:
        """Whether a learned reward can be retracted. Other retractions must not enter the log."""
        rules = self.learner.parts[0]
        if rules.rebuild is None and rules.decide is None:
            return False
        if learned.seq > self.version:
            # The reward is in the same batch and will have been learned by then.
            return True
        if learned.n_rewards > 1:
            return True
        unit = as_unit("reward", learned.value, self.learner.model.reward_range)
        return may_hold(self.learner.parts[2], self.cell(arm, context), unit)

    def cell(self, arm: int, context: str | None) -> int:
        """The number of an arm in a context, in the order of the learner's statistics."""
        return self.contexts.index(context) * len(self.values) + arm

    @property
    def shown(self) -> list[int]:
        """How often each arm was shown, for all arms of the first context first."""
        arms = range(len(self.values))
        return [self._shown[context, arm] for context in self.contexts for arm in arms]

    def offered(self, context: str | None, allowed: Sequence[Any] | None) -> list[int] | None:
        """Check the context and the allowed arms of a request, and return the arms by index.

        Args:
            context: the name of the context; None for a model without contexts.
            allowed: the values of the arms that may be shown; None for all.

        Raises:
            GlobalBanditsError: if the context is unknown, or an arm is unknown or withdrawn, or no
                arm is left.
        """
        with self.lock:
            model: Any = self.learner.model
            if isinstance(model, ContextModel):
                model.context_index(context)
            else:
                rule = "be left out for a model without contexts"
                require(context is None, "context", rule, context, ServiceError)
            if allowed is None:
                return None
            require(len(allowed) > 0, "allowed", "have at least one arm", allowed, ServiceError)
            places = {value: arm for arm, value in enumerate(self.values)}
            found = set()
            for value in allowed:
                known = not isinstance(value, bool) and value in places
                rule = f"have values among the arms {show(self.values)}"
                require(known, "allowed", rule, value, ServiceError)
                arm = places[value]
                if arm in self.learner.withdrawn:
                    raise ServiceError(
                        f"allowed must have arms that are shown, got {value!r}, which is withdrawn"
                    )
                found.add(arm)
            self._check_incumbent(found)
            rule = f"have an arm within the limits {self.settings.limits}"
            within = self._allowed is None or not found.isdisjoint(self._allowed)
            require(within, "allowed", rule, list(allowed), ServiceError)
            return sorted(found)

    def _check_incumbent(self, allowed: set[int]) -> None:
        """Raise an error in shadow mode if a request does not allow the incumbent."""
        if self.settings.mode == "shadow":
            rule = f"have the incumbent {self.settings.incumbent!r} in shadow mode"
            values = [self.values[arm] for arm in sorted(allowed)]
            require(self._incumbent in allowed, "allowed", rule, values, ServiceError)

    @property
    def counts_decisions(self) -> bool:
        """Whether decisions are events of this bandit.

        They are if its policy counts them, or if their age is evidence.
        """
        return self.learner.policy.rules.decide is not None or self.settings.delay is not None

    def choose(
        self,
        key: str,
        at: int = 0,
        followed: int | None = None,
        *,
        context: str | None = None,
        allowed: Sequence[int] | None = None,
    ) -> Choice:
        """The decision for a request. The bandit does not change.

        Args:
            key: the key of the request, see `Decision.key`.
            at: the time of the decision, in microseconds since 1970, for the ages of open ones.
            followed: the arm of the unit's earlier decision, if it is to be shown again.
            context: the context of the request.
            allowed: the arms that the request allows, by index; None for all.
        """
        with self.lock:
            self._use_awaited(at)
            rng = self._generators.request_rng(key)
            chosen = self.learner.select(context=context, allowed=allowed, rng=rng, record=False)
            if followed is not None and self._may_follow(followed, allowed):
                return Choice(chosen, followed, "unit", self.version, self.number)
            shown, why = self._show(chosen, key, context, allowed, rng)
            found = self._shown_probabilities(self.settings.probability_draws, context, allowed)
            probability = None if found is None else found.of_chosen(shown)
            return Choice(chosen, shown, why, self.version, self.number, probability)

    def probabilities(
        self,
        draws: int,
        context: str | None = None,
        allowed: Sequence[int] | None = None,
    ) -> tuple[Probabilities, int, int]:
        """The probability of each arm to be shown next, the version, and the settings' number.

        Args:
            draws: how often to draw from a policy whose probabilities are not exact.
            context: the context.
            allowed: the arms that may be shown, by index; None for all.
        """
        with self.lock:
            found = self._shown_probabilities(draws, context, allowed)
            assert found is not None
            return found, self.version, self.number

    def _shown_probabilities(
        self, draws: int | None, context: str | None, allowed: Sequence[int] | None
    ) -> Probabilities | None:
        """The probabilities of arms to be shown; None if they are not exact and ``draws`` is None.

        They depend on the state and the settings alone, so they are kept until either changes.
        """
        state = self.version, self.number
        # With a law of the delay they depend on the time as well.
        full = len(self._probabilities) >= _MAX_PROBABILITIES
        if full or self._probabilities_of != state or self.settings.delay_law is not None:
            self._probabilities, self._probabilities_of = {}, state
        wanted = draws, context, None if allowed is None else tuple(allowed)
        if wanted not in self._probabilities:
            self._probabilities[wanted] = self._compute_probabilities(draws, context, allowed)
        return self._probabilities[wanted]

    def _chosen_probabilities(
        self, draws: int | None, context: str | None, allowed: Sequence[int] | None
    ) -> Probabilities | None:
        """The probabilities of the policy's choice among some arms."""
        found = self.learner.exact_probabilities(context=context, allowed=allowed)
        if found is not None or draws is None:
            return found
        rng = self._generators.request_rng(f"v:{self.version}:{self.number}", "probabilities")
        return self.learner.probabilities(context=context, allowed=allowed, draws=draws, rng=rng)

    def _compute_probabilities(
        self, draws: int | None, context: str | None, allowed: Sequence[int] | None
    ) -> Probabilities | None:
        chosen = self._chosen_probabilities(draws, context, allowed)
        if chosen is None:
            return None
        within = self._within_limits(context, allowed)
        inside = np.isin(np.arange(len(chosen)), within)
        values, outside = chosen.values * inside, float(chosen.values[~inside].sum())
        if outside > 0.0:
            # If the choice is outside the limits, the policy chooses again among the arms inside.
            again = self._chosen_probabilities(draws, context, within)
            if again is None:
                return None
            values = values + outside * again.values
            chosen = dataclasses.replace(again, exact=again.exact and chosen.exact)
        shown = np.zeros(len(chosen))
        for arm in np.flatnonzero(values).tolist():
            shown[self._within_step(arm, context, within)] += values[arm]
        if self._incumbent is not None and (allowed is None or self._incumbent in allowed):
            settings = self.settings
            share = 1.0 if settings.mode == "shadow" else settings.held_back
            shown *= 1.0 - share
            shown[self._incumbent] += share
        exact = chosen.exact or self.settings.mode == "shadow"
        return dataclasses.replace(chosen, values=shown, exact=exact)

    def _may_follow(self, arm: int, allowed: Sequence[int] | None) -> bool:
        """Whether a unit may be shown its arm again."""
        within = all(arms is None or arm in arms for arms in (self._allowed, allowed))
        return within and self.settings.mode != "shadow"

    def counts(self, choice: Choice) -> bool:
        """Whether the policy counts this decision, if it counts any."""
        policy = self.learner.policy
        if choice.why in ("held back", "shadow"):
            return policy.counts_control
        return choice.why != "unit"

    def _use_awaited(self, at: int) -> None:
        """Give the learner the open decisions as evidence, if a law of the delay is set.

        The posterior is computed from the statistics, so that it depends on nothing else.
        """
        law = self.settings.delay_law
        if law is None:
            return
        arms = np.array([arm for arm, _, _ in self._awaited.values()], np.int64)
        times = np.array([decided for _, decided, _ in self._awaited.values()], np.int64)
        chances = law.chance((at - times) / 1e6, arms) if arms.size else np.zeros(0)
        if arms.size > MAX_EXACT_WEIGHTS:
            # Rounded weights are often equal, and equal ones are computed once.
            chances = np.round(chances, 3)
        known = chances > 0.0
        weights = np.minimum(chances[known], 1.0)
        contexts: Any = None
        if self.contexts != (None,):
            names = [context for _, _, context in self._awaited.values()]
            contexts = [name for name, use in zip(names, known.tolist(), strict=True) if use]
        self.learner.set_pending(arms[known], weights, context=contexts)

    def _show(
        self,
        chosen: int,
        key: str,
        context: str | None,
        allowed: Sequence[int] | None,
        rng: np.random.Generator,
    ) -> tuple[int, str]:
        """The arm to show for a choice, and the reason.

        A request that does not allow the incumbent is never in the control group.
        """
        settings = self.settings
        if self._incumbent is not None and (allowed is None or self._incumbent in allowed):
            if settings.mode == "shadow":
                return self._incumbent, "shadow"
            held_back = settings.held_back
            if held_back > 0.0:
                drawn = self._generators.request_rng(key, "held back").random()
                if drawn < held_back:
                    return self._incumbent, "held back"
        limits = self._within_limits(context, allowed)
        within = chosen
        if chosen not in limits:
            # The policy chooses again, among the arms that may be shown.
            within = self.learner.select(context=context, allowed=limits, rng=rng, record=False)
        shown = self._within_step(within, context, limits)
        if shown != within:
            return shown, "step"
        return shown, "policy" if shown == chosen else "limits"

    def _within_limits(self, context: str | None, requested: Sequence[int] | None) -> list[int]:
        """The arms that request and limits allow."""
        allowed = list(range(self.learner.model.n_arms)) if self._allowed is None else self._allowed
        if requested is not None:
            allowed = [arm for arm in allowed if arm in requested]
        limits = self.learner.admissible()
        if limits is None:
            return allowed
        # The settings can only restrict the policy's limits further. If nothing is left, the
        # policy's limits have priority.
        possible = [arm for arm in limits if requested is None or arm in requested]
        return [arm for arm in allowed if arm in possible] or possible

    def _within_step(self, chosen: int, context: str | None, allowed: Sequence[int]) -> int:
        """The allowed arm within the largest step that is nearest to the choice."""
        largest, here = self.settings.largest_step, self.anchors.get(context, self._incumbent)
        if largest is None or here is None:
            return chosen
        near = [arm for arm in allowed if abs(arm - here) <= largest]
        # Limits have priority: if no allowed arm is near enough, show the nearest allowed one.
        return nearest(chosen, near) if near else nearest(here, allowed)

    def closed(self) -> str:
        """Why the bandit makes no new decisions: "paused" or "stopped: <reason>"; "" if it does."""
        with self.lock:
            if self.settings.mode == "paused":
                return "paused"
            reason = None if self._stop is None else self.learner.should_stop(self._stop)
            return "" if reason is None else f"stopped: {reason}"

    def explain(
        self,
        key: str,
        at: int,
        context: str | None = None,
        allowed: Sequence[int] | None = None,
    ) -> Explanation:
        """Explain the policy's choice for a request at a time."""
        with self.lock:
            self._use_awaited(at)
            rng = self._generators.request_rng(key)
            return self.learner.explain(context=context, allowed=allowed, rng=rng)

    def advance(self, events: Iterable[Event], settings: Iterable[SettingRow] = ()) -> None:
        """Learn the next events of the log, and take over settings at their versions.

        Raises:
            StoreError: if an event or settings are missing, which means that the log is damaged.
        """
        waiting = sorted(settings, key=lambda row: row.number)
        with self.lock:
            for event in events:
                waiting = self._change_due(waiting)
                self._learn(event)
            waiting = self._change_due(waiting)
        if waiting:
            raise StoreError(
                f"settings {waiting[0].number} of {self.row.name} must hold from version "
                f"{self.version} or before, got {waiting[0].from_version}"
            )

    def count_shown(self, arm: int, context: str | None = None) -> None:
        """Count a stored decision."""
        with self.lock:
            self.n_open += 1
            self.n_counted += 1
            self._shown[context, arm] += 1

    def set_shown(
        self,
        shown: Mapping[tuple[str | None, int], int],
        n_open: int,
        oldest_open: int | None = None,
    ) -> None:
        """Replace the counts with those of the store."""
        with self.lock:
            self.n_open, self.oldest_open = n_open, oldest_open
            self.recounted_at = time.monotonic()
            self._shown = Counter(shown)

    def _change_due(self, waiting: list[SettingRow]) -> list[SettingRow]:
        """Take over the settings that are due, and return the rest."""
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
        context, count = event.context, _several(event)
        if event.kind == RETRACTION:
            self.learner.forget(
                event.arm, event.value, context=context, count=count, decision=event.decision
            )
        elif event.kind == DECISION:
            if event.n_rewards > 0:
                self.learner.decide(event.arm, context=context)
            self._await(event)
        else:
            self.learner.update(
                event.arm, event.value, context=context, count=count, decision=event.decision
            )
            self._awaited.pop(event.decision, None)
            self.anchors[context] = event.arm
            if event.kind != CORRECTION:
                # Another process may have made the decision; then it is not counted here yet.
                self.n_open = max(self.n_open - 1, 0)
        if event.kind != DECISION:
            self.last_event_at = event.at
        self.version += 1

    def _await(self, event: Event) -> None:
        """Note a decision whose reward is awaited, and drop those whose deadline has passed."""
        settings = self.settings
        if settings.delay is None or settings.deadline_seconds is None:
            return
        oldest = event.at - round(settings.deadline_seconds * 1e6)
        for id in [id for id, (_, at, _) in self._awaited.items() if at < oldest]:
            del self._awaited[id]
        self._awaited[event.decision] = event.arm, event.at, event.context

    def _change(self, row: SettingRow) -> None:
        if row.number != self.number + 1:
            raise StoreError(
                f"settings of {self.row.name} must follow each other, got {row.number} "
                f"after {self.number}"
            )
        settings = Settings.from_log(row.body)
        self.learner = with_settings(self.learner, settings, self.compiled)
        if settings.delay is None and self.settings.delay is not None:
            self._awaited = {}
            self.learner.set_pending()
        self._use_settings(row.number, settings)

    def _use_settings(self, number: int, settings: Settings) -> None:
        self.number = number
        self._settings_by_number[number] = settings
        model: Any = self.learner.model
        self.contexts: tuple[str | None, ...] = getattr(model, "contexts", (None,))
        self.values = [plain_arm(arm) for arm in model.arms]
        self._incumbent = arm_index(model, settings.incumbent)
        gone = withdrawn_arms(model, settings.withdrawn)
        within = allowed_arms(model, settings.limits)
        if gone:
            # Withdrawn arms are not shown, as those outside the limits.
            every = range(model.n_arms) if within is None else within
            within = [arm for arm in every if arm not in gone]
        self._allowed = within
        self._stop = None if settings.stop is None else StopWhen.from_dict(settings.stop)

    def check_change(self, changes: dict[str, Any]) -> Settings:
        """The settings after a change, if it keeps everything that was learned.

        Raises:
            GlobalBanditsError: if it does not.
        """
        with self.lock:
            settings = self.settings.changed(changes)
            with_settings(self.learner, settings, False)
            return settings

    def state(self) -> dict[str, Any]:
        """The state that a snapshot holds."""
        plain = self.contexts == (None,)
        state: dict[str, Any] = {"anchor": self.anchors.get(None) if plain else self.anchors.copy()}
        if self.settings.delay is not None:
            # Weights belong to a moment. The state belongs to a version.
            self.learner.set_pending()
            length = 2 if plain else 3
            state["awaited"] = {id: list(entry[:length]) for id, entry in self._awaited.items()}
        return state | {"learner": self.learner.state()}

    def snapshot(self, kept: bool = False) -> Snapshot:
        """The state as a row of the store."""
        with self.lock:
            text = canonical_json(self.state())
            return Snapshot(
                self.row.id,
                self.version,
                self.number,
                __version__,
                int(kept),
                _checksum(text),
                text,
            )

    def restore(self, snapshot: Snapshot, settings: Iterable[SettingRow]) -> None:
        """Take over the state of a snapshot.

        Raises:
            StoreError: if the snapshot is damaged or belongs to another bandit.
        """
        if _checksum(snapshot.state) != snapshot.digest:
            raise StoreError(f"snapshot {snapshot.version} of {self.row.name} is damaged")
        state = json.loads(snapshot.state)
        for row in settings:
            if row.number <= snapshot.settings:
                self._settings_by_number[row.number] = Settings.from_log(row.body)
        model, policy = self._settings_by_number[snapshot.settings].build()
        learner = Learner.restore(policy, model, state["learner"], compiled=self.compiled)
        with self.lock:
            self.learner = learner
            anchor = state["anchor"]
            self.anchors = anchor if isinstance(anchor, dict) else {None: anchor}
            if anchor is None:
                self.anchors = {}
            awaited = state.get("awaited", {}).items()
            self._awaited = {
                id: (arm, at, context[0] if context else None)
                for id, (arm, at, *context) in awaited
            }
            self.version = snapshot.version
            self._use_settings(snapshot.settings, self._settings_by_number[snapshot.settings])


def _several(event: Event) -> int | None:
    """The number of rewards of an event; None if it is a single one."""
    return event.n_rewards if event.n_rewards > 1 else None


def with_settings(learner: Learner, settings: Settings, compiled: bool | None) -> Learner:
    """A learner with the same data under other settings.

    Arms may be added behind the present ones, whose numbers are in the log, and withdrawn. Contexts
    may be added.

    Raises:
        StateError: if the arms or the curves differ.
        PolicyError: if the policy cannot take over the data.
    """
    model, policy = settings.build()
    if model is not learner.model and _has_more(model, learner.model):
        learner = learner.with_model(model)
    if model is not learner.model:
        learner = Learner.restore(learner.policy, model, learner.state(), compiled=compiled)
    gone = withdrawn_arms(model, settings.withdrawn)
    if gone != set(learner.withdrawn):
        learner = learner.with_model(withdraw=[model.arms[arm] for arm in sorted(gone)])
    return learner if policy == learner.policy else learner.with_policy(policy)


def _has_more(model: Any, old: Any) -> bool:
    """Whether a model has more arms, behind those of an old one, or more contexts."""
    new_contexts, contexts = (set(getattr(each, "contexts", ())) for each in (model, old))
    keeps = model.arms[: old.n_arms] == old.arms and new_contexts >= contexts
    return keeps and (model.n_arms > old.n_arms or new_contexts > contexts)


def _checksum(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
