"""``globalbandits replay | export | import | copy | prune``: the log of a decision service."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from globalbandits.service.log.replay import ReplayReport
    from globalbandits.service.stores import Store
    from globalbandits.service.stores.records import BanditRow

_HELP = "SQLite file of the service, or postgresql://user@host/database."
Database = Annotated[str, typer.Argument(metavar="DB", help=_HELP)]
OneBandit = Annotated[
    str | None, typer.Option("--bandit", help="Only the bandits of this name; all by default.")
]


def replay(
    db: Database,
    bandit: OneBandit = None,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities", help="Derive and store the probabilities of decisions without one."
        ),
    ] = False,
    draws: Annotated[
        int, typer.Option(min=1, help="Draws for a probability that is not exact.")
    ] = 2_000,
) -> None:
    """Rebuild every state from the log, recompute every decision, and count how many agree.

    The exit code is 1 if a decision differs or the log is inconsistent. A server may be running,
    but not on an SQLite file with --probabilities, which writes.

    [bold]Examples[/bold]

      globalbandits replay shop.db

      globalbandits replay shop.db --bandit shop

      globalbandits replay shop.db --probabilities
    """
    from globalbandits.service.log.replay import replay as replay_one
    from globalbandits.service.stores import open_store

    store = open_store(db, read_only=not probabilities)
    good = True
    try:
        store.check()
        for row in _chosen(store, bandit):
            found = replay_one(store, row, probability_draws=draws if probabilities else None)
            good &= found.good
            print(
                f"{found.name}: {found.version} events, {found.decisions} decisions, "
                f"{found.agree} agree, {found.differ} differ"
            )
            if found.base:
                print(f"  begins at version {found.base}; {found.gone} decisions are older")
            if found.imported:
                print(f"  {found.imported} decisions were imported with their rewards")
            if found.foreign:
                print(f"  {found.foreign} decisions of other versions of globalbandits differ")
            for line in found.wrong:
                print(f"  {line}")
            if probabilities:
                print(f"  {_store_probabilities(store, row, found)} probabilities were derived")
    finally:
        store.close()
    if not good:
        raise typer.Exit(1)


def _store_probabilities(store: "Store", row: "BanditRow", found: "ReplayReport") -> int:
    """Store the probabilities of decisions that have none, and return their number."""
    missing = {
        decision.id: found.probabilities[decision.id].of_chosen(decision.shown)
        for decision in store.decisions(row.id)
        if decision.probability is None and decision.id in found.probabilities
    }
    with store.transaction() as rows:
        rows.set_probabilities(missing)
    return len(missing)


def export(
    db: Database,
    bandit: OneBandit = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write; standard output by default.")
    ] = None,
) -> None:
    """Write the log as lines of JSON: settings, events, decisions and refusals.

    To a file that ends with .parquet or .arrow, write one table with a row for each decision.

    [bold]Examples[/bold]

      globalbandits export shop.db --out shop.ndjson

      globalbandits export shop.db --out shop.parquet

      globalbandits export shop.db --bandit shop | head
    """
    import sys

    from globalbandits._arrow_files import is_arrow_file, write_tables
    from globalbandits._files import replacing
    from globalbandits.service.log.archive.decision_table import decision_tables
    from globalbandits.service.log.archive.transfer import export_lines
    from globalbandits.service.stores import open_store

    store = open_store(db, read_only=True)
    try:
        chosen = _chosen(store, bandit)
        if out is not None and is_arrow_file(out):
            write_tables(out, decision_tables(store, chosen))
            return
        lines = export_lines(store, chosen)
        if out is None:
            sys.stdout.writelines(lines)
        else:
            with replacing(out, durable=True) as temporary, open(temporary, "w") as file:
                file.writelines(lines)
    finally:
        store.close()


def import_log(
    db: Database,
    file: Annotated[Path, typer.Argument(help="What `globalbandits export` wrote.")],
) -> None:
    """Import exported bandits into a store, all or none; the store is created if it is missing.

    [bold]Example[/bold]

      globalbandits import new.db shop.ndjson
    """
    from globalbandits.service.log.archive.transfer import import_lines
    from globalbandits.service.stores import open_store

    with open(file, encoding="utf-8") as lines:
        store = open_store(db)
        try:
            names = import_lines(store, lines)
        finally:
            store.close()
    print(f"{len(names)} bandits: {', '.join(names)}")


def copy(
    source: Annotated[str, typer.Argument(metavar="DB_A", help=_HELP)],
    target: Annotated[
        str, typer.Argument(metavar="DB_B", help="Target store; created if it is missing.")
    ],
    bandit: OneBandit = None,
) -> None:
    """Copy bandits with all of their history from one store to another, all or none.

    Every row of the copy is compared with its original, and every decision is recomputed from it.
    A server may write to DB_A during the copy; its new rows are not copied.

    [bold]Example[/bold]

      globalbandits copy shop.db postgresql://service@db.example/bandits
    """
    from globalbandits.service.log.archive.transfer import copy as copy_all
    from globalbandits.service.stores import open_store

    store = open_store(source, read_only=True)
    try:
        new = open_store(target)
        try:
            for found in copy_all(store, new, _chosen(store, bandit)):
                print(
                    f"{found.name}: {found.version} events, {found.decisions} decisions copied, "
                    f"{found.agree} recomputed"
                )
        finally:
            new.close()
    finally:
        store.close()


def prune(
    db: Database,
    older_than: Annotated[str, typer.Option(help="Age, such as 90d, 36h or 30m.")],
    bandit: OneBandit = None,
) -> None:
    """Remove old decisions and their rewards; a snapshot keeps what was learned.

    An SQLite file shrinks. Its server must not be running: use globalbandits serve --keep instead.
    Servers of a PostgreSQL database may run. Bandits that were deleted before are removed.

    [bold]Example[/bold]

      globalbandits prune shop.db --older-than 400d
    """
    import time

    from globalbandits.cli.arguments import as_seconds
    from globalbandits.service.log.archive.retention import prune as prune_one
    from globalbandits.service.log.archive.retention import prune_deleted, shrink
    from globalbandits.service.stores import open_store

    before = time.time_ns() // 1000 - 10**6 * as_seconds("older-than", older_than)
    store = open_store(db)
    try:
        for row in _chosen(store, bandit):
            gone = prune_one(store, row, before)
            print(
                f"{gone.name}: {gone.decisions} decisions and {gone.events} events removed; "
                f"the log begins at version {gone.base}"
            )
        if bandit is None:
            print(f"{prune_deleted(store, before)} deleted bandits removed")
        shrink(store)
    finally:
        store.close()


def _chosen(store: "Store", name: str | None) -> list["BanditRow"]:
    from globalbandits.errors import UnknownError

    rows = [row for row in store.bandits() if name is None or row.name == name]
    if name is not None and not rows:
        raise UnknownError(f"bandit must be one of this store's, got {name!r}")
    return rows
