"""Who may do what: tokens of tenants, with roles. Secrets are random and only hashes are kept."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Iterable
from typing import NamedTuple

from globalbandits._validation import require, require_known
from globalbandits.errors import ServiceError
from globalbandits.service.log.identifiers import as_name
from globalbandits.service.stores.records import TokenRow

ROLES = ("read", "write", "admin")  # each may do what those before it may
MAIN = "main"  # the tenant of whoever needs no token, or was given one at the start
_TOKEN = re.compile(r"gb_([0-9a-f]{12})_[A-Za-z0-9_-]{43}")
_SHORTEST = 16
LONGEST_LABEL = 100


class Identity(NamedTuple):
    """Who asks."""

    token: str  # its id
    tenant: str
    role: str

    def may(self, role: str) -> bool:
        """Whether this role is enough for what needs that one.

        >>> Identity("x", "main", "write").may("read"), Identity("x", "main", "read").may("admin")
        (True, False)
        """
        return ROLES.index(self.role) >= ROLES.index(role)


def new_token(
    role: str, tenant: str, label: str, at: int, expires_at: int | None
) -> tuple[str, TokenRow]:
    """A new token as its holder has it, and as the store has it."""
    require_known("role", role, ROLES, ServiceError)
    as_name("tenant", tenant)
    good = isinstance(label, str) and len(label) <= LONGEST_LABEL and label.isprintable()
    require(good, "label", f"be at most {LONGEST_LABEL} printable characters", label, ServiceError)
    id = secrets.token_hex(6)
    token = f"gb_{id}_{secrets.token_urlsafe(32)}"
    return token, TokenRow(id, tenant, role, hash_of(token), label, at, expires_at)


def hash_of(token: str) -> str:
    """What is kept of a token. It is random and long, so a quick hash is enough."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def check_given(token: str | None) -> None:
    """Refuse a token of the operator's own that is too short; the message does not show it."""
    if token is not None and len(token) < _SHORTEST:
        raise ServiceError(f"token must have at least {_SHORTEST} characters, got {len(token)}")


class Tokens:
    """The tokens that are valid.

    Args:
        rows: of the store.
        now: microseconds since 1970.
        given: a token that opens everything of the main tenant, given at the start.

    Attributes:
        needed: whether a token is needed. Once it is, it stays so, even if all are taken back:
            who could reach the service with one must not be able to without.

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
        """Whose token it is; None for nobody's."""
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
        """Know one more; from now on one is needed."""
        self._rows[row.id] = row
        self.needed = True

    def replace(self, rows: Iterable[TokenRow]) -> None:
        """Know these, and no others: some were made or taken back elsewhere."""
        self._rows = {row.id: row for row in rows}
        self.needed |= bool(self._rows)

    def drop(self, id: str) -> None:
        """Know one less."""
        self._rows.pop(id, None)

    def of(self, tenant: str) -> list[TokenRow]:
        """A tenant's tokens."""
        return sorted(row for row in self._rows.values() if row.tenant == tenant)
