"""The log as lines of JSON (NDJSON): for audit, for other programs, and back into a store.

Order: a heading, the writers, then for each bandit the bandit, its settings, the snapshot it
begins at if it was pruned, and for every version its event and the decisions made after it.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from globalbandits._rewards import as_arm, as_unit
from globalbandits._validation import LARGEST_INTEGER, show
from globalbandits._version import __version__
from globalbandits.errors import GlobalBanditsError, StoreError
from globalbandits.model import RewardModel
from globalbandits.service.loading import kept_snapshot
from globalbandits.service.settings import Settings
from globalbandits.service.stores.base import Store, Transaction
from globalbandits.service.stores.records import (
    BanditRow,
    Decision,
    Event,
    Refusal,
    SettingRow,
    Snapshot,
    WriterRow,
)
from globalbandits.service.texts import as_name

FORMAT = "globalbandits.log"
VERSION = 1
_LARGEST = 5_000  # rows held before they are stored
_KINDS: dict[str, Any] = {
    "writer": WriterRow,
    "bandit": BanditRow,
    "settings": SettingRow,
    "base": Snapshot,
    "decision": Decision,
    "event": Event,
    "refusal": Refusal,
}
_Row = TypeVar("_Row")


def export_lines(store: Store, bandits: Sequence[BanditRow]) -> Iterator[str]:
    """The log of some bandits, line by line."""
    yield _line({"type": "log", "format": FORMAT, "version": VERSION, "library": __version__})
    for writer in store.writers():
        yield _line({"type": "writer"} | writer._asdict())
    for bandit in bandits:
        yield _line({"type": "bandit"} | bandit._asdict())
        for setting in store.settings(bandit.id):
            yield _line({"type": "settings"} | setting._asdict())
        base = kept_snapshot(store, bandit)
        if base is not None:
            yield _line({"type": "base"} | base._asdict())
        yield from _history(store, bandit)
        for refusal in store.refusals(bandit.id):
            yield _line({"type": "refusal"} | refusal._asdict())


def _history(store: Store, bandit: BanditRow) -> Iterator[str]:
    """Events and decisions: a decision stands after the events it knew."""
    events = store.events(bandit.id, upto=bandit.version)
    event = next(events, None)
    for decision in store.decisions(bandit.id):
        while event is not None and event.seq <= decision.version:
            yield _line({"type": "event"} | event._asdict())
            event = next(events, None)
        yield _line({"type": "decision"} | decision._asdict())
    while event is not None:
        yield _line({"type": "event"} | event._asdict())
        event = next(events, None)


def import_lines(store: Store, lines: Iterable[str]) -> list[str]:
    """Put exported bandits into a store, all or none; their names.

    Raises:
        StoreError: with the line, if it is no line of an export, or does not fit the others; or
            if the store has a bandit of that name.
    """
    there = {(row.tenant, row.name) for row in store.bandits()}
    with store.transaction() as rows:
        reader = _Reader(rows, there)
        for number, line in enumerate(lines, 1):
            try:
                reader.take(line)
            except (GlobalBanditsError, ValueError, TypeError) as error:
                raise StoreError(f"line {number}: {error}") from None
        return reader.finish()


class _Reader:
    """Rows of an export on their way into a store, which gives some of them other numbers."""

    def __init__(self, rows: Transaction, there: set[tuple[str, str]]) -> None:
        self._rows = rows
        self._there = there  # tenants and names that are taken
        self._begun = False
        self._writers: dict[int, int] = {}
        self._bandits: dict[int, int] = {}
        self._names: list[str] = []
        self._models: dict[int, RewardModel] = {}
        self._versions: dict[int, int] = {}  # as the bandits say
        self._reached: dict[int, int] = {}  # as the events say
        self._decisions: list[Decision] = []
        self._events: list[Event] = []
        self._refusals: list[Refusal] = []

    def take(self, line: str) -> None:
        """One line."""
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict) or not isinstance(data.get("type"), str):
            raise StoreError("must be a JSON object with a type")
        kind = data.pop("type")
        if not self._begun:
            if kind != "log" or data.get("format") != FORMAT or data.get("version") != VERSION:
                raise StoreError(f"must be the heading of a {FORMAT} of version {VERSION}")
            self._begun = True
            return
        if kind not in _KINDS:
            raise StoreError(f"type must be one of {', '.join(_KINDS)}, got {kind!r}")
        row = _as_row(_KINDS[kind], data)
        if kind not in ("writer", "bandit"):
            if row.bandit not in self._bandits:
                raise StoreError(f"bandit must be one of those above, got {row.bandit}")
            row = row._replace(bandit=self._bandits[row.bandit])
        getattr(self, f"_take_{kind}")(row)
        if len(self._decisions) + len(self._events) >= _LARGEST:
            self._store()

    def finish(self) -> list[str]:
        """Store what is left, and check that nothing is missing."""
        if not self._begun:
            raise StoreError("the file must have lines, got none")
        self._store()
        for bandit, version in self._versions.items():
            if self._reached[bandit] != version:
                raise StoreError(
                    f"events must reach version {version}, got {self._reached[bandit]}"
                )
        self._rows.set_versions(self._versions)
        return self._names

    def _take_writer(self, row: WriterRow) -> None:
        self._writers[row.id] = self._rows.add_writer(row)

    def _take_bandit(self, row: BanditRow) -> None:
        as_name("name", row.name)
        as_name("tenant", row.tenant)
        if (row.tenant, row.name) in self._there:
            raise StoreError(f"bandit must be new in this store, got {row.name!r}")
        self._there.add((row.tenant, row.name))
        new = self._rows.add_bandit(row._replace(version=0))
        self._bandits[row.id] = new
        self._versions[new], self._reached[new] = row.version, 0
        self._names.append(row.name)

    def _take_settings(self, row: SettingRow) -> None:
        # What is stored is believed from then on, so it is checked here as if it were new.
        self._models[row.bandit], _ = Settings.from_dict(json.loads(row.body)).build()
        self._rows.add_settings([row])

    def _take_base(self, row: Snapshot) -> None:
        self._rows.add_snapshot(row)
        self._reached[row.bandit] = row.version

    def _take_decision(self, row: Decision) -> None:
        if row.writer not in self._writers:
            raise StoreError(f"writer must be one of those above, got {row.writer}")
        for arm in (row.chosen, row.shown):
            self._check_arm(row.bandit, arm)
        self._decisions.append(row._replace(writer=self._writers[row.writer]))

    def _take_event(self, row: Event) -> None:
        self._check_arm(row.bandit, row.arm)
        as_unit("value", row.value, self._models[row.bandit].reward_range)
        reached = self._reached[row.bandit]
        if row.seq > reached + 1:
            raise StoreError(f"seq must be {reached + 1}, got {row.seq}")
        self._reached[row.bandit] = max(reached, row.seq)
        self._events.append(row)

    def _check_arm(self, bandit: int, arm: int) -> None:
        if bandit not in self._models:
            raise StoreError("settings of the bandit must come first")
        as_arm("arm", arm, self._models[bandit].n_arms)

    def _take_refusal(self, row: Refusal) -> None:
        self._refusals.append(row)

    def _store(self) -> None:
        """Decisions first: events are about them."""
        self._rows.add_decisions(self._decisions)
        self._rows.add_events(self._events)
        self._rows.add_refusals(self._refusals)
        self._decisions, self._events, self._refusals = [], [], []


def _as_row(kind: type[_Row], data: dict[str, Any]) -> _Row:
    """A dict as a row, every field checked for its type."""
    types = kind.__annotations__
    if list(data) != list(types):
        raise StoreError(f"must have the fields {', '.join(types)}, got {', '.join(data)}")
    for name, wanted in types.items():
        value = data[name]
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise StoreError(f"{name} must be of type {wanted}, got {show(value)}")
        if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
            raise StoreError(f"{name} must fit into 64 bits, got {show(value)}")
        if isinstance(value, str) and not _is_text(value):
            raise StoreError(f"{name} must be a text that stores can hold, got {show(value)}")
    return kind(**data)


def _is_text(value: str) -> bool:
    """Whether every store can hold it: half a character or a zero has no place in all of them."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in value


def _line(data: dict[str, Any]) -> str:
    return json.dumps(data, separators=(",", ":"), allow_nan=False) + "\n"
