"""Append one batch of decisions and events to the log, in one transaction.

The steps are the same for every store: store the decisions (a known request id keeps its first
decision), lock the versions of the bandits, read what memory has not seen, classify the new events
under the lock, append. The order of events is therefore total and without gaps, and the second of
two equal requests sees the first, even in another process. Settings from another process take
effect before the next event.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from globalbandits.service.stores.records import (
    CORRECTION,
    DEFAULT,
    RETRACTION,
    REWARD,
    Decision,
    Event,
    Refusal,
    SettingRow,
    State,
    StoredEvent,
    decision_state,
    learned_event,
)
from globalbandits.service.stores.store import Transaction


class DecisionRequest(NamedTuple):
    """A request for a decision.

    Attributes:
        request_id: the id of the request; None if it is not repeated.
        unit: the visitor, or other unit, that the decision is for.
        context: the name of the context, for a model with contexts.
        allowed: the values of the arms that may be shown; None for all.
    """

    request_id: str | None = None
    unit: str | None = None
    context: str | None = None
    allowed: Sequence[Any] | None = None


class NewDecision(NamedTuple):
    """A decision to be stored."""

    decision: Decision

    @property
    def bandit(self) -> int:
        """The id of its bandit."""
        return self.decision.bandit


class NewEvent(NamedTuple):
    """A reported reward, default or retraction to be stored."""

    bandit: int
    decision: str
    kind: str
    value: float
    at: int
    n_rewards: int = 1


class DecisionResult(NamedTuple):
    """The stored decision. ``replayed`` says that it is the earlier one of the same request id."""

    decision: Decision
    replayed: bool


class Outcome(StrEnum):
    """The outcome of a reported event. Only `LEARNED` changes the bandit."""

    LEARNED = "learned"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    UNKNOWN = "unknown"
    LATE = "late"


class EventResult(NamedTuple):
    """The outcome of an event, the value that counts, and the version that learned that value."""

    outcome: Outcome
    value: float
    version: int


class AppendResult(NamedTuple):
    """The results in the order of the input, and the events that memory must learn."""

    decisions: list[DecisionResult]
    results: list[EventResult]
    events: dict[int, list[Event]]  # by bandit, in order


class EventRules(NamedTuple):
    """The rules for an event of one decision."""

    late: str  # accept or refuse
    can_forget: bool


class LoadedBandit(Protocol):
    """The part of a bandit in memory that a batch needs.

    Attributes:
        version: the number of events learned.
        number: the number of the settings in force.
    """

    version: int
    number: int

    def late_rule(self, number: int) -> str:
        """The rule for late rewards in the settings with this number."""

    def can_forget(self, arm: int, learned: StoredEvent, context: str | None = None) -> bool:
        """Whether a learned reward can be retracted."""

    def advance(self, events: Iterable[Event], settings: Iterable[SettingRow] = ()) -> None:
        """Learn events and take over settings."""


def append(
    rows: Transaction,
    new_decisions: Sequence[NewDecision],
    new_events: Sequence[NewEvent],
    bandits: Mapping[int, LoadedBandit],
) -> AppendResult:
    """Store decisions and events of loaded bandits."""
    decisions = _add_decisions(rows, new_decisions)
    if not new_events:
        return AppendResult(decisions, [], {})
    versions = rows.lock(sorted({new.bandit for new in new_events}))
    # Every id that we issue is printable, and PostgreSQL cannot compare all other texts.
    ids = list({new.decision: None for new in new_events if new.decision.isprintable()})
    known, stored = rows.decisions_by_id(ids), rows.events_by_decision(ids)
    events = catch_up(rows, versions, bandits)
    results, own, refusals = [], [], []
    for new in new_events:
        if new.bandit not in versions:
            # Another process has deleted the bandit.
            results.append(EventResult(Outcome.UNKNOWN, new.value, 0))
            continue
        decision = known.get(new.decision)
        if decision is not None and decision.bandit != new.bandit:
            decision = None
        of_decision = stored.setdefault(new.decision, [])
        rules = _event_rules(new, decision, of_decision, bandits[new.bandit])
        outcome = classify(decision, of_decision, new.kind, new.value, new.at, rules, new.n_rewards)
        if outcome is Outcome.LEARNED:
            assert decision is not None
            event = _event(new, decision, versions[new.bandit] + 1, of_decision)
            versions[new.bandit] = event.seq
            of_decision.append(StoredEvent(event.kind, event.value, event.seq, event.n_rewards))
            own.append(event)
            events[new.bandit].append(event)
        elif outcome in (Outcome.CONFLICT, Outcome.LATE) and new.kind not in (DEFAULT, RETRACTION):
            refusals.append(Refusal(new.bandit, new.decision, outcome, new.value, new.at))
        results.append(_event_result(new, outcome, of_decision))
    rows.add_events(own)
    rows.add_refusals(refusals)
    rows.set_versions({event.bandit: versions[event.bandit] for event in own})
    return AppendResult(decisions, results, events)


def catch_up(
    rows: Transaction, versions: Mapping[int, int], bandits: Mapping[int, LoadedBandit]
) -> dict[int, list[Event]]:
    """Read the events that loaded bandits have missed up to these versions.

    Settings of another process are taken over at once, with the events before them, because they
    may change the outcome of a reward. They are committed, even if this transaction fails.

    Events are read before settings. Settings that precede an event are stored before it, so that
    none can be missing, whether the bandits are locked or not.
    """
    events = {
        bandit: rows.events_after(bandit, bandits[bandit].version)
        if version > bandits[bandit].version
        else []
        for bandit, version in versions.items()
    }
    unseen = rows.settings_after({bandit: bandits[bandit].number for bandit in versions})
    for bandit, settings in unseen.items():
        missed, loaded = events[bandit], bandits[bandit]
        reached = missed[-1].seq if missed else loaded.version
        due = [row for row in settings if row.from_version <= reached]
        if due:
            loaded.advance(missed, due)
            events[bandit] = []
    return events


def classify(
    decision: Decision | None,
    events: Sequence[StoredEvent],
    kind: str,
    value: float,
    at: int,
    rules: EventRules,
    n_rewards: int = 1,
) -> Outcome:
    """The outcome of an event.

    After a retraction another value is learned: it is a correction, and never late. The retracted
    value itself is a duplicate, because it may be a retry of the first report.

    Args:
        decision: the decision that the event names, or None if the bandit does not have it.
        events: the decision's stored events, in order.
        kind: ``reward``, ``default`` or ``retraction``.
        value: the reward; ignored for a retraction.
        at: when the event was reported.
        rules: the rules for this decision.
        n_rewards: the number of rewards that the value is the sum of.
    """
    if decision is None:
        return Outcome.UNKNOWN
    learned = learned_event(events)
    retracted = decision_state(events) is State.RETRACTED
    if kind == RETRACTION:
        if retracted:
            return Outcome.DUPLICATE
        if learned is None:
            return Outcome.UNKNOWN
        return Outcome.LEARNED if rules.can_forget else Outcome.CONFLICT
    if kind == DEFAULT:
        due = decision.deadline is not None and decision.deadline <= at
        return Outcome.LEARNED if learned is None and due else Outcome.DUPLICATE
    if learned is not None:
        if (learned.value, learned.n_rewards) == (value, n_rewards):
            return Outcome.DUPLICATE
        return Outcome.LEARNED if retracted else Outcome.CONFLICT
    late = decision.deadline is not None and decision.deadline < at
    return Outcome.LATE if late and rules.late == "refuse" else Outcome.LEARNED


def _event_rules(
    new: NewEvent,
    decision: Decision | None,
    events: Sequence[StoredEvent],
    bandit: LoadedBandit,
) -> EventRules:
    if decision is None:
        return EventRules("accept", False)
    learned = learned_event(events)
    can_forget = (
        new.kind == RETRACTION
        and learned is not None
        and bandit.can_forget(decision.shown, learned, decision.context)
    )
    return EventRules(bandit.late_rule(decision.settings), can_forget)


def _add_decisions(rows: Transaction, new_decisions: Sequence[NewDecision]) -> list[DecisionResult]:
    if not new_decisions:
        return []
    new = [item.decision for item in new_decisions]
    if rows.add_decisions(new) == len(new):
        return [DecisionResult(row, False) for row in new]
    requests = [(row.bandit, row.request_id) for row in new if row.request_id is not None]
    first = rows.decisions_by_request(requests)
    results = []
    for row in new:
        stored = row if row.request_id is None else first[row.bandit, row.request_id]
        results.append(DecisionResult(stored, stored.id != row.id))
    return results


def _event(new: NewEvent, decision: Decision, seq: int, events: Sequence[StoredEvent]) -> Event:
    """The row of a learned event. A retraction has the value that it retracts."""
    learned = learned_event(events)
    value, n_rewards = new.value, new.n_rewards
    if new.kind == RETRACTION and learned is not None:
        value, n_rewards = learned.value, learned.n_rewards
    kind = CORRECTION if new.kind == REWARD and learned is not None else new.kind
    learned_from = (new.decision, decision.shown, value, new.at, n_rewards, decision.context)
    return Event(new.bandit, seq, kind, *learned_from)


def _event_result(new: NewEvent, outcome: Outcome, events: Sequence[StoredEvent]) -> EventResult:
    retracted = new.kind == RETRACTION and decision_state(events) is State.RETRACTED
    counts = events[-1] if retracted else learned_event(events)
    if counts is None:
        return EventResult(outcome, new.value, 0)
    return EventResult(outcome, counts.value, counts.seq)
