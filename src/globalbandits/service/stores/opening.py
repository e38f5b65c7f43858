"""The store of an address: a file, or a PostgreSQL database."""

from globalbandits.errors import StoreError
from globalbandits.service.stores.base import CheckedStore
from globalbandits.service.stores.sqlite import SQLiteStore

_SERVERS = ("postgresql://", "postgres://")


def open_store(address: str, *, read_only: bool = False) -> CheckedStore:
    """Open a store, which is made if it is not there.

    Args:
        address: the path of an SQLite file, or ``postgresql://user@host/database``.
        read_only: only read, beside those who write.

    Raises:
        StoreError: if it cannot be opened.
    """
    if not address.startswith(_SERVERS):
        return SQLiteStore(address, read_only=read_only)
    try:
        from globalbandits.service.stores.postgresql import PostgreSQLStore
    except ImportError:
        raise StoreError(
            "a PostgreSQL store needs the package psycopg: pip install 'globalbandits[postgres]'"
        ) from None
    return PostgreSQLStore(address, read_only=read_only)
