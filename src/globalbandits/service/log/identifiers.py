"""Names and ids: which ones are valid, and how new ones are made."""

import itertools
import re
import secrets
from typing import Any

from globalbandits._validation import require, show
from globalbandits.errors import ServiceError, UnknownError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_DECISION_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")
MAX_REQUEST_ID_CHARACTERS = 200


def check_name(name: str, value: Any) -> None:
    """Check the name of a bandit or a tenant."""
    rule = "be 1 to 64 letters, digits, '.', '_' or '-', the first a letter or digit"
    valid = isinstance(value, str) and _NAME.fullmatch(value) is not None
    require(valid, name, rule, value, ServiceError)


def as_decision_id(value: Any) -> str:
    """Check the id of a decision.

    Raises:
        UnknownError: if it is malformed, because no decision can have it.
    """
    if not isinstance(value, str) or _DECISION_ID.fullmatch(value) is None:
        raise UnknownError(f"decision must be the id of a decision, got {show(value)}")
    return value


def as_request_id(value: Any, name: str = "request_id") -> str | None:
    """Check a request id, or the name of a unit; None is allowed."""
    if value is None:
        return None
    limit = MAX_REQUEST_ID_CHARACTERS
    rule = f"be a text of 1 to {limit} printable characters"
    valid = isinstance(value, str) and 0 < len(value) <= limit and value.isprintable()
    require(valid, name, rule, value, ServiceError)
    return str(value)


class DecisionIds:
    """New ids of decisions: the time, a random mark of the process, and a counter.

    Ids of the same time are close together, which keeps the store's index small. The mark is drawn
    once per process: a system call per id would let other threads run in between.

    >>> ids = DecisionIds()
    >>> ids.new(1_700_000_000_000_000)[:13], len(ids.new(0)), ids.new(0) == ids.new(0)
    ('60a24181e4000', 33, False)
    """

    def __init__(self) -> None:
        self._mark = secrets.token_hex(7)
        self._numbers = itertools.count()

    def new(self, at: int) -> str:
        """A unique id for a decision made at this time, in microseconds since 1970."""
        return f"{at:013x}{self._mark}{next(self._numbers) & 0xFFFFFF:06x}"
