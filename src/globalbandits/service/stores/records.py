"""The rows of the log. Fields stand in the order of the tables' columns.

Times are integers: microseconds since 1970 in UTC. No order ever depends on them: events are
ordered by ``seq``, settings by ``number``, and a decision by the version it was made at.
"""

from typing import NamedTuple

LAST = 2**63 - 1  # no version is above it
REWARD, DEFAULT, RETRACTION = "reward", "default", "retraction"


class BanditRow(NamedTuple):
    """A bandit. ``version`` is the number of its events; ``spec`` is what it was created with."""

    id: int
    tenant: str
    name: str
    spec: str  # JSON
    seed: int
    version: int
    at: int


class SettingRow(NamedTuple):
    """Settings that hold once ``from_version`` events are learned, until the next number."""

    bandit: int
    number: int
    from_version: int
    body: str  # JSON
    at: int


class Decision(NamedTuple):
    """A decision: what the policy chose, what was shown, and from which state.

    The choice is a function of the state after ``version`` events under settings ``settings``,
    and of the request id (the decision's own id where there is none).
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

    @property
    def key(self) -> str:
        """What the decision's randomness belongs to."""
        return f"d:{self.id}" if self.request_id is None else f"r:{self.request_id}"


class Event(NamedTuple):
    """Something learned: a reward, a default after the deadline, or one of them taken back."""

    bandit: int
    seq: int
    kind: str
    decision: str
    arm: int
    value: float
    at: int


class Refusal(NamedTuple):
    """A reward that was not learned, because it was late or contradicts an earlier one."""

    bandit: int
    decision: str
    reason: str
    value: float
    at: int


class Snapshot(NamedTuple):
    """The state after some events under some settings: a cache, unless it is kept.

    A kept one stands for the events before it, which are no longer there.
    """

    bandit: int
    version: int
    settings: int
    library: str
    kept: int
    digest: str  # of the state's text
    state: str  # JSON


class TokenRow(NamedTuple):
    """A token: what it opens, and a hash of its secret."""

    id: str
    tenant: str
    role: str
    sha256: str
    label: str
    at: int
    expires_at: int | None


class WriterRow(NamedTuple):
    """The process that made decisions: which code, on which machine."""

    id: int
    library: str
    python: str
    host: str
    at: int
