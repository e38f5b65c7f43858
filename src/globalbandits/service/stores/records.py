"""The rows of the log. The fields have the order of the tables' columns.

Times are integers: microseconds since 1970 in UTC. The order of rows never depends on them: events
are ordered by ``seq``, settings by ``number``, and decisions by the version they were made at.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

LAST = 2**63 - 1  # the highest possible version
REWARD, DEFAULT = "reward", "default"
# A correction is the reward that is reported after a retraction. A decision is an event only for a
# policy that counts decisions.
RETRACTION, CORRECTION, DECISION = "retraction", "correction", "decision"
# The library of a writer whose decisions were imported. No policy made them.
IMPORT_LIBRARY = "import"


class BanditRow(NamedTuple):
    """A bandit.

    ``version`` is the number of its events; ``spec`` is the argument of `Log.create` as JSON.
    """

    id: int
    tenant: str
    name: str
    spec: str
    seed: int
    version: int
    at: int


class SettingRow(NamedTuple):
    """Settings in force from version ``from_version`` until the next number. ``body`` is JSON."""

    bandit: int
    number: int
    from_version: int
    body: str
    at: int


class Decision(NamedTuple):
    """A decision: the arm that the policy chose and the arm that was shown.

    The choice is a function of the state after ``version`` events, the settings with the number
    ``settings``, and the request id (the decision's own id if there is no request id). ``unit`` is
    the visitor, or other unit, that the decision is for. ``follows`` is the unit's earlier decision
    whose arm is shown again; None if the policy chose the arm. ``context`` is the name of the
    context, and ``allowed`` a JSON list of the arms that the request allowed; None for all.
    """

    id: str
    bandit: int
    request_id: str | None
    chosen: int
    shown: int
    version: int
    settings: int
    writer: int
    at: int
    deadline: int | None
    unit: str | None = None
    follows: str | None = None
    probability: float | None = None  # of the shown arm; None if it was not computed
    context: str | None = None
    allowed: str | None = None

    @property
    def key(self) -> str:
        """The key of the decision's random generator."""
        return f"d:{self.id}" if self.request_id is None else f"r:{self.request_id}"


class Event(NamedTuple):
    """An event that was learned.

    ``kind`` is ``reward``, ``default`` (after the deadline), ``retraction``, ``correction`` (a
    reward after a retraction) or ``decision``. ``n_rewards`` is the number of rewards that
    ``value`` is the sum of; 0 for a decision that the policy does not count. ``context`` is that of
    the decision.
    """

    bandit: int
    seq: int
    kind: str
    decision: str
    arm: int
    value: float
    at: int
    n_rewards: int = 1
    context: str | None = None


class StoredEvent(NamedTuple):
    """The kind and value of a decision's event, and its place in the bandit's order."""

    kind: str
    value: float
    seq: int
    n_rewards: int = 1


class Refusal(NamedTuple):
    """A reward that was refused because it was late or contradicts an earlier one."""

    bandit: int
    decision: str
    reason: str
    value: float
    at: int


class Snapshot(NamedTuple):
    """A bandit's state after ``version`` events: a cache, unless ``kept`` is 1.

    A kept snapshot replaces the events before it, which were pruned.
    """

    bandit: int
    version: int
    settings: int
    library: str
    kept: int
    digest: str  # checksum of ``state``
    state: str  # JSON


class TokenRow(NamedTuple):
    """A token: its tenant, its role, and a hash of its secret."""

    id: str
    tenant: str
    role: str
    sha256: str
    label: str
    at: int
    expires_at: int | None


class WriterRow(NamedTuple):
    """A process that made decisions: its version of the library and of Python, and its host."""

    id: int
    library: str
    python: str
    host: str
    at: int


class State(StrEnum):
    """The state of a decision."""

    OPEN = "open"
    REWARDED = "rewarded"
    DEFAULTED = "defaulted"
    RETRACTED = "retracted"


def decision_state(events: Sequence[StoredEvent]) -> State:
    """The state of a decision with these events, in order.

    >>> decision_state([StoredEvent(REWARD, 0.5, 1), StoredEvent(RETRACTION, 0.5, 2)]).value
    'retracted'
    """
    last = learned_event(events)
    if last is None:
        return State.OPEN
    if events[-1].kind == RETRACTION:
        return State.RETRACTED
    return State.DEFAULTED if last.kind == DEFAULT else State.REWARDED


def learned_event(events: Sequence[StoredEvent]) -> StoredEvent | None:
    """The last reward, default or correction of a decision, even if it was retracted."""
    learned = (event for event in reversed(events) if event.kind not in (RETRACTION, DECISION))
    return next(learned, None)
