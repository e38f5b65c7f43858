"""Where the log is kept: in memory, in an SQLite file, or in a PostgreSQL database.

All stores give the same answers. `open_store` takes an address; the store of PostgreSQL is loaded
only for an address of one, and needs the extra ``postgres``.
"""

from globalbandits.service.stores.base import CheckedStore, Store, Transaction
from globalbandits.service.stores.memory import MemoryStore
from globalbandits.service.stores.opening import open_store
from globalbandits.service.stores.sqlite import SQLiteStore

__all__ = ["CheckedStore", "MemoryStore", "SQLiteStore", "Store", "Transaction", "open_store"]
