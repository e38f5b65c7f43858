"""Stores of the log: an SQLite file, an SQLite database in memory, or a PostgreSQL database.

All stores give the same answers. `open_store` chooses one by its address. The PostgreSQL store is
imported only when it is used, because it needs the extra ``postgres``.
"""

from globalbandits._extras import needs_extra
from globalbandits.service.stores.sqlite import SQLiteStore
from globalbandits.service.stores.store import Store, Transaction

__all__ = ["SQLiteStore", "Store", "Transaction", "open_store"]

_POSTGRESQL_SCHEMES = ("postgresql://", "postgres://")


def open_store(address: str, *, read_only: bool = False) -> Store:
    """Open a store. A missing file, or missing tables in a database, are created.

    Args:
        address: the path of an SQLite file, ``:memory:``, or
            ``postgresql://user@host/database``.
        read_only: open for reading only. Other processes may write meanwhile; every read sees the
            store as it was when it was opened.

    Raises:
        StoreError: if the store cannot be opened.
        MissingExtraError: if the packages for PostgreSQL are not installed.
    """
    if not address.startswith(_POSTGRESQL_SCHEMES):
        return SQLiteStore(address, read_only=read_only)
    with needs_extra("postgres"):
        from globalbandits.service.stores.postgresql import PostgreSQLStore
    return PostgreSQLStore(address, read_only=read_only)
