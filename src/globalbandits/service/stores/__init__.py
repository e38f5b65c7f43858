"""Where the log is kept: in memory, or in an SQLite file. All stores give the same answers."""

from globalbandits.service.stores.base import Store, Transaction
from globalbandits.service.stores.memory import MemoryStore
from globalbandits.service.stores.sqlite import SQLiteStore

__all__ = ["MemoryStore", "SQLiteStore", "Store", "Transaction"]
