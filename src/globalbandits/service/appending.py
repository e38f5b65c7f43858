"""One batch of the log: what is asked and told becomes rows, in one transaction.

The same steps for every store: store the decisions (a request id that is known keeps its first
one), lock the bandits' versions, read what memory has not seen, classify under that lock, append.
So the order of events is total and without a gap, and whoever comes second sees the first, in this
process or in another one. Settings that somebody else made hold before the next event does.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from globalbandits.service.stores.base import Transaction
from globalbandits.service.stores.outcomes import (
    Held,
    Outcome,
    Terms,
    classify,
    learned_from,
)
from globalbandits.service.stores.records import (
    DEFAULT,
    RETRACTION,
    Decision,
    Event,
    Refusal,
    SettingRow,
)


class Known(Protocol):
    """What a batch must know of a bandit in memory."""

    version: int
    number: int

    def late_rule(self, number: int) -> str:
        """What the settings of a decision say about a late reward."""

    def can_forget(self, arm: int, learned: Held) -> bool:
        """Whether a reward can be taken back."""

    def advance(self, events: Iterable[Event], settings: Iterable[SettingRow] = ()) -> None:
        """Go on in the log."""


class Ask(NamedTuple):
    """A decision that was made and is to be stored."""

    decision: Decision


class Tell(NamedTuple):
    """A reward, a default or a retraction that came."""

    bandit: int
    decision: str
    kind: str
    value: float
    at: int


class Decided(NamedTuple):
    """The stored decision; an earlier one where the request id was known."""

    decision: Decision
    replayed: bool


class Told(NamedTuple):
    """What became of it, the value that counts, and the version at which that was learned."""

    outcome: Outcome
    value: float
    version: int


class Appended(NamedTuple):
    """The answers in the order of the questions, and what memory has to learn."""

    decided: list[Decided]
    told: list[Told]
    events: dict[int, list[Event]]  # by bandit, in order


def append(
    rows: Transaction, asks: Sequence[Ask], tells: Sequence[Tell], bandits: Mapping[int, Known]
) -> Appended:
    """Store decisions and events of loaded bandits."""
    decided = _add_decisions(rows, asks)
    if not tells:
        return Appended(decided, [], {})
    versions = rows.lock(sorted({tell.bandit for tell in tells}))
    # No id of ours has signs that cannot be printed, and not every store could look for them.
    ids = list({tell.decision: None for tell in tells if tell.decision.isprintable()})
    found, held = rows.decisions_by_id(ids), rows.events_of(ids)
    events = catch_up(rows, versions, bandits)
    told, own, refusals = [], [], []
    for tell in tells:
        decision = found.get(tell.decision)
        if decision is not None and decision.bandit != tell.bandit:
            decision = None
        of_decision = held.setdefault(tell.decision, {})
        terms = _terms(tell, decision, of_decision, bandits[tell.bandit])
        outcome = classify(decision, of_decision, tell.kind, tell.value, tell.at, terms)
        if outcome is Outcome.LEARNED:
            assert decision is not None
            event = _event(tell, decision, versions[tell.bandit] + 1, of_decision)
            versions[tell.bandit] = event.seq
            of_decision[tell.kind] = Held(event.value, event.seq)
            own.append(event)
            events[tell.bandit].append(event)
        elif outcome in (Outcome.CONFLICT, Outcome.LATE) and tell.kind not in (DEFAULT, RETRACTION):
            refusals.append(Refusal(tell.bandit, tell.decision, outcome, tell.value, tell.at))
        told.append(_told(tell, outcome, of_decision))
    rows.add_events(own)
    rows.add_refusals(refusals)
    rows.set_versions({event.bandit: versions[event.bandit] for event in own})
    return Appended(decided, told, events)


def catch_up(
    rows: Transaction, versions: Mapping[int, int], bandits: Mapping[int, Known]
) -> dict[int, list[Event]]:
    """What loaded bandits have missed up to these versions: events to be learned.

    Settings that somebody else made are taken at once, with the events before them: they may
    change what becomes of a reward. All of this is committed, whatever becomes of this transaction.

    Events are read before settings. The settings before an event are stored before the event is,
    so that none is missing, whether the bandits are locked or not.
    """
    events = {
        bandit: rows.events_after(bandit, bandits[bandit].version)
        if version > bandits[bandit].version
        else []
        for bandit, version in versions.items()
    }
    unseen = rows.settings_after({bandit: bandits[bandit].number for bandit in versions})
    for bandit, settings in unseen.items():
        missed, known = events[bandit], bandits[bandit]
        reached = missed[-1].seq if missed else known.version
        due = [row for row in settings if row.from_version <= reached]
        if due:
            known.advance(missed, due)
            events[bandit] = []
    return events


def _terms(tell: Tell, decision: Decision | None, held: Mapping[str, Held], bandit: Known) -> Terms:
    """What the bandit says about an event of a decision."""
    if decision is None:
        return Terms("accept", False)
    first = learned_from(held)
    asked = tell.kind == RETRACTION and first is not None
    can_forget = asked and first is not None and bandit.can_forget(decision.shown, first)
    return Terms(bandit.late_rule(decision.settings), can_forget)


def _add_decisions(rows: Transaction, asks: Sequence[Ask]) -> list[Decided]:
    if not asks:
        return []
    new = [ask.decision for ask in asks]
    if rows.add_decisions(new) == len(new):
        return [Decided(row, False) for row in new]
    requests = [(row.bandit, row.request_id) for row in new if row.request_id is not None]
    first = rows.decisions_by_request(requests)
    decided = []
    for row in new:
        stored = row if row.request_id is None else first[row.bandit, row.request_id]
        decided.append(Decided(stored, stored.id != row.id))
    return decided


def _event(tell: Tell, decision: Decision, seq: int, held: Mapping[str, Held]) -> Event:
    """The event of something learned; a retraction takes back the value that was learned."""
    first = learned_from(held)
    value = first.value if tell.kind == RETRACTION and first is not None else tell.value
    return Event(tell.bandit, seq, tell.kind, tell.decision, decision.shown, value, tell.at)


def _told(tell: Tell, outcome: Outcome, held: Mapping[str, Held]) -> Told:
    last = held.get(RETRACTION) if tell.kind == RETRACTION else learned_from(held)
    known = last or learned_from(held)
    return Told(outcome, tell.value, 0) if known is None else Told(outcome, known.value, known.seq)
