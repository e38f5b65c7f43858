"""From one store to another, of whatever kind, and a check that nothing was lost on the way."""

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from globalbandits.errors import StoreError
from globalbandits.service.loading import load
from globalbandits.service.replay import essence, replay
from globalbandits.service.stores.base import Store
from globalbandits.service.stores.records import BanditRow
from globalbandits.service.transfer import export_lines, import_lines


class Copied(NamedTuple):
    """A bandit that was copied and made again from the copy."""

    name: str
    version: int
    decisions: int
    agree: int


def copy(source: Store, target: Store, bandits: Sequence[BanditRow]) -> list[Copied]:
    """Copy bandits with all of their history, all or none; then check the copy.

    Every row is read back and held against its original. Every decision is made again from the
    copy, and the states at the end are compared bit for bit.

    Args:
        source: read, and not changed; opened for reading only, so that it is of one moment.
        target: has no bandits of these names.
        bandits: of the source.

    Raises:
        StoreError: if the target has such a bandit already, or the copy is not the original.
    """
    import_lines(target, export_lines(source, bandits))
    copies = {(row.tenant, row.name): row for row in target.bandits()}
    return [_check(source, row, target, copies[row.tenant, row.name]) for row in bandits]


def _check(source: Store, row: BanditRow, target: Store, new: BanditRow) -> Copied:
    pairs = itertools.zip_longest(_content(source, row), _content(target, new))
    differing = next((pair for pair in pairs if pair[0] != pair[1]), None)
    if differing is not None:
        raise StoreError(f"the copy of {row.name} must have {differing[0]}, got {differing[1]}")
    first, second = replay(source, row), replay(target, new)
    if (first.agree, first.wrong) != (second.agree, second.wrong):
        raise StoreError(
            f"{first.agree} decisions of {row.name} agree in the original, got {second.agree} in "
            f"the copy {second.wrong}"
        )
    states = [essence(load(store, of).state()) for store, of in ((source, row), (target, new))]
    if states[0] != states[1]:
        raise StoreError(f"the state of {row.name} must be the original's, got another")
    return Copied(row.name, second.version, second.decisions, second.agree)


def _content(store: Store, row: BanditRow) -> Iterator[dict[str, object]]:
    """Every row of a bandit, without the numbers that a store gives."""
    for line in export_lines(store, [row]):
        data = json.loads(line)
        if data["type"] in ("log", "writer"):
            continue
        if data["type"] == "bandit":
            del data["id"]
        data.pop("bandit", None)
        data.pop("writer", None)
        yield data
