"""Tokens of tenants, with roles. Secrets are random, and only their hashes are stored."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Iterable
from typing import NamedTuple

from globalbandits._validation import require, require_known
from globalbandits.errors import ServiceError
from globalbandits.service.log.identifiers import check_name
from globalbandits.service.stores.records import TokenRow

ROLES = ("read", "write", "admin")  # each includes the rights of those before it
MAIN = "main"  # the tenant of requests without a token, and of the operator's own token
_TOKEN = re.compile(r"gb_([0-9a-f]{12})_[A-Za-z0-9_-]{43}")
_MIN_CHARACTERS = 16
MAX_LABEL_CHARACTERS = 100


class Identity(NamedTuple):
    """The caller of a request."""

    token: str  # the id of the token
    tenant: str
    role: str

    def may(self, role: str) -> bool:
        """Whether the caller has at least this role.

        >>> Identity("x", "main", "write").may("read"), Identity("x", "main", "read").may("admin")
        (True, False)
        """
        return ROLES.index(self.role) >= ROLES.index(role)


def new_token(
    role: str, tenant: str, label: str, at: int, expires_at: int | None
) -> tuple[str, TokenRow]:
    """A new token: the secret text for its holder, and the row for the store."""
    require_known("role", role, ROLES, ServiceError)
    check_name("tenant", tenant)
    good = isinstance(label, str) and len(label) <= MAX_LABEL_CHARACTERS and label.isprintable()
    require(
        good,
        "label",
        f"be at most {MAX_LABEL_CHARACTERS} printable characters",
        label,
        ServiceError,
    )
    id = secrets.token_hex(6)
    token = f"gb_{id}_{secrets.token_urlsafe(32)}"
    return token, TokenRow(id, tenant, role, hash_of(token), label, at, expires_at)


def hash_of(token: str) -> str:
    """The hash of a token. Tokens are long and random, so a fast hash is safe."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def check_given(token: str | None) -> None:
    """Raise an error if the operator's token is too short. The message does not contain it."""
    if token is not None and len(token) < _MIN_CHARACTERS:
        raise ServiceError(
            f"token must have at least {_MIN_CHARACTERS} characters, got {len(token)}"
        )


class Tokens:
    """The tokens that are valid.

    Args:
        rows: the tokens of the store.
        now: returns microseconds since 1970.
        given: the operator's own token, an administrator of the main tenant.

    Attributes:
        needed: whether requests need a token. It stays true after all tokens are dropped, because
            other machines may then be able to reach the service.

    >>> token, row = new_token("read", "main", "", 0, None)
    >>> Tokens([row], lambda: 0).find(token).role
    'read'
    >>> Tokens([row], lambda: 0).find(token[:-1] + "!") is None
    True
    """

    def __init__(
        self, rows: Iterable[TokenRow], now: Callable[[], int], given: str | None = None
    ) -> None:
        self._rows = {row.id: row for row in rows}
        self._now = now
        self._given = None if given is None else hash_of(given)
        self.needed = bool(self._rows) or given is not None
        check_given(given)

    def find(self, token: str) -> Identity | None:
        """The identity of a token; None if it is not valid."""
        found = hash_of(token)
        if self._given is not None and hmac.compare_digest(found, self._given):
            return Identity("given", MAIN, "admin")
        parts = _TOKEN.fullmatch(token)
        row = None if parts is None else self._rows.get(parts[1])
        if row is None or not hmac.compare_digest(found, row.sha256):
            return None
        if row.expires_at is not None and row.expires_at <= self._now():
            return None
        return Identity(row.id, row.tenant, row.role)

    def add(self, row: TokenRow) -> None:
        """Add a token. From now on requests need one."""
        self._rows[row.id] = row
        self.needed = True

    def replace(self, rows: Iterable[TokenRow]) -> None:
        """Replace all tokens by those of the store, which other servers may have changed."""
        self._rows = {row.id: row for row in rows}
        self.needed |= bool(self._rows)

    def drop(self, id: str) -> None:
        """Remove a token."""
        self._rows.pop(id, None)

    def of(self, tenant: str) -> list[TokenRow]:
        """The tokens of a tenant."""
        return sorted(row for row in self._rows.values() if row.tenant == tenant)
