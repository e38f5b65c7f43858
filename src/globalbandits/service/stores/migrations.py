"""Numbered steps from one form of the tables to the next: forward only, each whole or not."""

import re
import sqlite3
import time
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from globalbandits.errors import StoreError

_NAME = re.compile(r"(\d{4})_[a-z_]+\.sql")


class Migration(NamedTuple):
    """One step: its number, and its statements."""

    number: int
    sql: str


def migrations(dialect: str = ".") -> list[Migration]:
    """All steps this version of the program knows, by number.

    Args:
        dialect: the folder of the steps; those of SQLite by default.
    """
    found = []
    for entry in files("globalbandits.service.stores").joinpath("schema", dialect).iterdir():
        name = _NAME.fullmatch(entry.name)
        if name:
            found.append(Migration(int(name[1]), entry.read_text(encoding="utf-8")))
    return sorted(found)


def schema_number(connection: sqlite3.Connection) -> int:
    """The number of the last step that was taken; 0 for a new file."""
    named = "SELECT count(*) FROM sqlite_schema WHERE name = 'schema'"
    if connection.execute(named).fetchone()[0] == 0:
        return 0
    number: int = connection.execute("SELECT coalesce(max(number), 0) FROM schema").fetchone()[0]
    return number


def check_number(path: Path | str, number: int, steps: Sequence[Migration]) -> None:
    """Refuse a file that a newer version of the program has written."""
    if number > steps[-1].number:
        raise StoreError(
            f"{path} must have tables of number {steps[-1].number} or lower, got {number}: "
            "it was written by a newer version of globalbandits; it is left as it was"
        )


def migrate(connection: sqlite3.Connection, path: Path, steps: Sequence[Migration]) -> None:
    """Take the steps that are left. A copy of an older file is left beside it, once per step.

    A process that dies half way leaves the form before or the form after a step.
    """
    begun = schema_number(connection)
    check_number(path, begun, steps)
    for step in steps:
        if step.number <= begun:
            continue
        if begun > 0:
            _keep_copy(connection, path.with_name(f"{path.name}.before-{step.number}"))
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.execute("CREATE TABLE IF NOT EXISTS schema (number INTEGER, at INTEGER)")
            for statement in statements(step.sql):
                connection.execute(statement)
            at = time.time_ns() // 1000
            connection.execute("INSERT INTO schema VALUES (?, ?)", (step.number, at))
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise


def statements(sql: str) -> list[str]:
    """The statements of a script, each of which begins on a line of its own.

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


def _keep_copy(connection: sqlite3.Connection, copy: Path) -> None:
    """The whole file under another name, as it is before a step."""
    temporary = copy.with_name(f"{copy.name}.part")
    temporary.unlink(missing_ok=True)
    connection.execute("VACUUM INTO ?", (str(temporary),))
    temporary.replace(copy)
