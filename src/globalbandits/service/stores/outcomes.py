"""What becomes of a reward, a default or a retraction: one pure function for all stores."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from globalbandits.service.stores.records import DEFAULT, RETRACTION, REWARD, Decision


class Outcome(StrEnum):
    """What became of it; only `LEARNED` changes anything."""

    LEARNED = "learned"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    UNKNOWN = "unknown"
    LATE = "late"


class State(StrEnum):
    """How far a decision has come."""

    OPEN = "open"
    REWARDED = "rewarded"
    DEFAULTED = "defaulted"
    RETRACTED = "retracted"


class Held(NamedTuple):
    """An event of a decision: its value, and its place in the bandit's order."""

    value: float
    seq: int


class Terms(NamedTuple):
    """What the settings of a decision say about its reward, and whether it can be taken back."""

    late: str  # accept or refuse
    can_forget: bool


def state_of(held: Mapping[str, Held]) -> State:
    """How far a decision with these events, by kind, has come.

    >>> state_of({REWARD: Held(0.5, 1), RETRACTION: Held(0.5, 2)}).value
    'retracted'
    """
    if RETRACTION in held:
        return State.RETRACTED
    if REWARD in held:
        return State.REWARDED
    return State.DEFAULTED if DEFAULT in held else State.OPEN


def learned_from(held: Mapping[str, Held]) -> Held | None:
    """The event that told the learner about a decision, if one has."""
    return held.get(REWARD) or held.get(DEFAULT)


def classify(
    decision: Decision | None,
    held: Mapping[str, Held],
    kind: str,
    value: float,
    at: int,
    terms: Terms,
) -> Outcome:
    """What becomes of an event of this kind and value that comes now.

    Args:
        decision: the decision it names, if there is one in this bandit.
        held: the decision's events by kind.
        kind: reward, default or retraction.
        value: the reward; of no meaning for a retraction.
        at: when it came.
        terms: of the settings the decision was made under.
    """
    if decision is None:
        return Outcome.UNKNOWN
    first = learned_from(held)
    if kind == RETRACTION:
        if RETRACTION in held:
            return Outcome.DUPLICATE
        if first is None:
            return Outcome.UNKNOWN
        return Outcome.LEARNED if terms.can_forget else Outcome.CONFLICT
    if kind == DEFAULT:
        due = decision.deadline is not None and decision.deadline <= at
        return Outcome.LEARNED if first is None and due else Outcome.DUPLICATE
    if first is not None:
        return Outcome.DUPLICATE if first.value == value else Outcome.CONFLICT
    late = decision.deadline is not None and decision.deadline < at
    return Outcome.LATE if late and terms.late == "refuse" else Outcome.LEARNED
