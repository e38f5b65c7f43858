"""Export the log as lines of JSON (NDJSON), import it, and copy it from store to store.

The lines are, in this order: a header and the writers; then for each bandit its row, its settings,
its kept snapshot if it was pruned, and for every version the event and the decisions made after it.
"""

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from globalbandits._rewards import as_arm, as_summary, as_unit
from globalbandits._validation import LARGEST_INTEGER, show
from globalbandits._version import __version__
from globalbandits.errors import GlobalBanditsError, StoreError
from globalbandits.model import AnyModel
from globalbandits.service.log.identifiers import check_name
from globalbandits.service.log.load import kept_snapshot, load
from globalbandits.service.log.replay import allowed_of, comparable_state, replay
from globalbandits.service.log.settings import Settings
from globalbandits.service.stores.records import (
    DECISION,
    BanditRow,
    Decision,
    Event,
    Refusal,
    SettingRow,
    Snapshot,
    WriterRow,
)
from globalbandits.service.stores.store import Store, Transaction

FORMAT = "globalbandits.log"
VERSION = 1
_ROWS_PER_WRITE = 5_000
_RECORDS: dict[str, Any] = {
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
    """The lines of the log of some bandits."""
    yield _line({"type": "log", "format": FORMAT, "version": VERSION, "library": __version__})
    for writer in store.writers():
        # The name of a machine may identify its owner, and no reader needs it.
        yield _line({"type": "writer"} | writer._replace(host="")._asdict())
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
    """Events and decisions, in an order in which every decision follows the events it knew."""
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
    """Import exported bandits into a store, all or none, and return their names.

    Raises:
        StoreError: if a line is malformed or contradicts the others (the message has its number),
            or if the store already has a bandit of the same name.
    """
    taken = {(row.tenant, row.name) for row in store.bandits()}
    with store.transaction() as rows:
        importer = _Importer(rows, taken)
        for number, line in enumerate(lines, 1):
            try:
                importer.take(line)
            except (GlobalBanditsError, ValueError, TypeError) as error:
                raise StoreError(f"line {number}: {error}") from None
        return importer.finish()


class _Importer:
    """Checks exported rows and writes them to a store, which assigns new ids.

    Args:
        rows: the open transaction.
        taken: the (tenant, name) pairs that the store already has.
    """

    def __init__(self, rows: Transaction, taken: set[tuple[str, str]]) -> None:
        self._rows = rows
        self._taken = taken
        self._has_header = False
        self._writers: dict[int, int] = {}  # new ids by exported ids
        self._bandits: dict[int, int] = {}
        self._names: list[str] = []
        self._models: dict[int, AnyModel] = {}
        self._versions: dict[int, int] = {}  # according to the rows of the bandits
        self._reached: dict[int, int] = {}  # according to the events
        self._decisions: list[Decision] = []
        self._events: list[Event] = []
        self._refusals: list[Refusal] = []

    def take(self, line: str) -> None:
        """Check and store one line."""
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict) or not isinstance(data.get("type"), str):
            raise StoreError("must be a JSON object with a type")
        kind = data.pop("type")
        if not self._has_header:
            if kind != "log" or data.get("format") != FORMAT or data.get("version") != VERSION:
                raise StoreError(f"must be the heading of a {FORMAT} of version {VERSION}")
            self._has_header = True
            return
        if kind not in _RECORDS:
            raise StoreError(f"type must be one of {', '.join(_RECORDS)}, got {kind!r}")
        row = _as_row(_RECORDS[kind], data)
        if kind not in ("writer", "bandit"):
            if row.bandit not in self._bandits:
                raise StoreError(f"bandit must be one of those above, got {row.bandit}")
            row = row._replace(bandit=self._bandits[row.bandit])
        getattr(self, f"_take_{kind}")(row)
        if len(self._decisions) + len(self._events) >= _ROWS_PER_WRITE:
            self._store()

    def finish(self) -> list[str]:
        """Store the remaining rows and check that no events are missing."""
        if not self._has_header:
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
        check_name("name", row.name)
        check_name("tenant", row.tenant)
        if (row.tenant, row.name) in self._taken:
            raise StoreError(f"bandit must be new in this store, got {row.name!r}")
        self._taken.add((row.tenant, row.name))
        new = self._rows.add_bandit(row._replace(version=0))
        self._bandits[row.id] = new
        self._versions[new], self._reached[new] = row.version, 0
        self._names.append(row.name)

    def _take_settings(self, row: SettingRow) -> None:
        # Stored settings are not checked again, so they are checked here like new ones.
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
        self._check_context(row.bandit, row.context)
        for arm in allowed_of(row) or ():
            self._check_arm(row.bandit, arm)
        if row.probability is not None and not 0.0 < row.probability <= 1.0:
            raise StoreError(f"probability must lie in (0, 1], got {row.probability!r}")
        self._decisions.append(row._replace(writer=self._writers[row.writer]))

    def _take_event(self, row: Event) -> None:
        self._check_arm(row.bandit, row.arm)
        self._check_context(row.bandit, row.context)
        reward_range = self._models[row.bandit].reward_range
        if row.kind == DECISION:
            pass
        elif row.n_rewards == 1:
            as_unit("value", row.value, reward_range)
        else:
            as_summary(row.value, row.n_rewards, reward_range)
        reached = self._reached[row.bandit]
        if row.seq > reached + 1:
            raise StoreError(f"seq must be {reached + 1}, got {row.seq}")
        self._reached[row.bandit] = max(reached, row.seq)
        self._events.append(row)

    def _check_arm(self, bandit: int, arm: int) -> None:
        if bandit not in self._models:
            raise StoreError("settings of the bandit must come first")
        as_arm("arm", arm, self._models[bandit].n_arms)

    def _check_context(self, bandit: int, context: str | None) -> None:
        known = getattr(self._models[bandit], "contexts", (None,))
        if context not in known:
            raise StoreError(f"context must be one of {show(list(known))}, got {show(context)}")

    def _take_refusal(self, row: Refusal) -> None:
        self._refusals.append(row)

    def _store(self) -> None:
        """Write the collected rows. Decisions come first because events refer to them."""
        self._rows.add_decisions(self._decisions)
        self._rows.add_events(self._events)
        self._rows.add_refusals(self._refusals)
        self._decisions, self._events, self._refusals = [], [], []


def _as_row(kind: type[_Row], data: dict[str, Any]) -> _Row:
    """Build a row from a dict and check the type of every field.

    Exports of older versions lack the fields that have a default.
    """
    types = kind.__annotations__
    defaults: dict[str, Any] = getattr(kind, "_field_defaults", {})
    if set(data) <= set(types):
        data = {name: (defaults | data)[name] for name in types if name in data or name in defaults}
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
    """Whether every store can hold a text: lone surrogates and NUL characters are refused."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in value


def _line(data: dict[str, Any]) -> str:
    return json.dumps(data, separators=(",", ":"), allow_nan=False) + "\n"


class CopyResult(NamedTuple):
    """A bandit that was copied, and how many of its decisions the copy reproduces."""

    name: str
    version: int
    decisions: int
    agree: int


def copy(source: Store, target: Store, bandits: Sequence[BanditRow]) -> list[CopyResult]:
    """Copy bandits with their whole history, all or none; then check the copy.

    Every row is read back and compared with the original. Every decision is recomputed from the
    copy, and the final states are compared bit for bit.

    Args:
        source: the original; open it read-only, so that all reads see the same rows.
        target: the store to copy to. It must not have bandits of these names.
        bandits: the bandits of the source.

    Raises:
        StoreError: if the target has such a bandit, or the copy differs from the original.
    """
    import_lines(target, export_lines(source, bandits))
    copies = {(row.tenant, row.name): row for row in target.bandits()}
    return [_check_copy(source, row, target, copies[row.tenant, row.name]) for row in bandits]


def _check_copy(source: Store, row: BanditRow, target: Store, new: BanditRow) -> CopyResult:
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
    original = comparable_state(load(source, row).state())
    if original != comparable_state(load(target, new).state()):
        raise StoreError(f"the state of {row.name} must be the original's, got another")
    return CopyResult(row.name, second.version, second.decisions, second.agree)


def _content(store: Store, row: BanditRow) -> Iterator[dict[str, object]]:
    """Every row of a bandit, without the ids that a store assigns."""
    for line in export_lines(store, [row]):
        data = json.loads(line)
        if data["type"] in ("log", "writer"):
            continue
        if data["type"] == "bandit":
            del data["id"]
        data.pop("bandit", None)
        data.pop("writer", None)
        yield data
