"""JSON of one form, and names that may stand in a path."""

import hashlib
import json
import re
from typing import Any

from globalbandits._validation import require, show
from globalbandits.errors import ServiceError, UnknownError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")
LONGEST_REQUEST_ID = 200


def plain_json(value: Any) -> str:
    """JSON with sorted keys and nothing JSON has not, so that equal values are equal texts.

    >>> plain_json({"b": 1, "a": [0.5]})
    '{"a":[0.5],"b":1}'
    """
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise ServiceError("settings must be plain JSON with finite numbers") from None


def digest_of(text: str) -> str:
    """A short check sum of a text."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def as_name(name: str, value: Any) -> str:
    """A value as the name of a bandit or a tenant."""
    rule = "be 1 to 64 letters, digits, '.', '_' or '-', the first a letter or digit"
    good = isinstance(value, str) and _NAME.fullmatch(value) is not None
    require(good, name, rule, value, ServiceError)
    return str(value)


def as_decision_id(value: Any) -> str:
    """A value as the id of a decision; what cannot be one is unknown."""
    if not isinstance(value, str) or _ID.fullmatch(value) is None:
        raise UnknownError(f"decision must be the id of a decision, got {show(value)}")
    return value


def as_request_id(value: Any) -> str | None:
    """A value as the id of a request; None where there is none."""
    if value is None:
        return None
    rule = f"be a text of 1 to {LONGEST_REQUEST_ID} printable characters"
    good = isinstance(value, str) and 0 < len(value) <= LONGEST_REQUEST_ID and value.isprintable()
    require(good, "request_id", rule, value, ServiceError)
    return str(value)
