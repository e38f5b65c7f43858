"""Numbered migrations of the tables. They only go forward, and each is applied as a whole.

The SQL files are in ``schema`` (SQLite) and ``schema/postgresql``. Each store applies them in its
own way: `SQLiteStore` keeps a copy of the file before each one, `PostgreSQLStore` applies them
while other processes use the tables.
"""

import re
import sqlite3
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from globalbandits.errors import StoreError

# Identifies our stores: SQLite keeps it in the file's header, PostgreSQL uses it as a lock's key.
APPLICATION_ID = 0x676C6F62  # "glob" in ASCII
_FILE_NAME = re.compile(r"(\d{4})_[a-z_]+\.sql")


class Migration(NamedTuple):
    """A migration: its number and its SQL script."""

    number: int
    sql: str


def migrations(dialect: str = ".") -> list[Migration]:
    """All migrations that this version of the library knows, by number.

    Args:
        dialect: the subfolder of ``schema``; SQLite's files are in ``schema`` itself.
    """
    found = []
    for entry in files("globalbandits.service.stores").joinpath("schema", dialect).iterdir():
        name = _FILE_NAME.fullmatch(entry.name)
        if name:
            found.append(Migration(int(name[1]), entry.read_text(encoding="utf-8")))
    return sorted(found)


def check_schema_number(
    path: Path | str, number: int, known: Sequence[Migration], *, read_only: bool = False
) -> None:
    """Refuse tables that are newer than this version; to a reader also older ones.

    Args:
        path: the store's address, for the message.
        number: the number of the last migration applied to the store.
        known: the migrations of this version.
        read_only: whether the store is opened for reading only, and so cannot be migrated.

    Raises:
        StoreError: if the tables cannot be used.
    """
    newest = known[-1].number
    if number > newest:
        raise StoreError(
            f"{path} must have tables of number {newest} or lower, got {number}: "
            "it was written by a newer version of globalbandits and is unchanged"
        )
    if read_only and number < newest:
        raise StoreError(
            f"{path} must have tables of number {newest}, got {number}: "
            "open it once with a command that writes, such as globalbandits serve"
        )


def statements(sql: str) -> list[str]:
    """Split a script into statements. Each must begin on a line of its own.

    >>> len(statements(migrations()[0].sql))
    10
    """
    found, text = [], ""
    for line in sql.splitlines():
        text = f"{text}\n{line}" if text else line
        if sqlite3.complete_statement(text):
            found.append(text)
            text = ""
    return found
