"""The log: creates bandits, makes decisions, learns rewards, and stores all of it."""

import itertools
import multiprocessing
import os
import platform
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, NamedTuple

from globalbandits._rewards import as_summary, as_unit
from globalbandits._validation import LARGEST_INTEGER, as_integer, require
from globalbandits._version import __version__
from globalbandits.compiling.cache import cache_directory
from globalbandits.errors import (
    ConflictError,
    GlobalBanditsError,
    ServiceError,
    StoreError,
    StoreUnavailable,
    UnknownError,
)
from globalbandits.model.vector_tables import VectorTables
from globalbandits.policies import Learner
from globalbandits.service.log.append import (
    DecisionRequest,
    DecisionResult,
    EventResult,
    NewDecision,
    NewEvent,
    Outcome,
    catch_up,
)
from globalbandits.service.log.bandit import Bandit
from globalbandits.service.log.clock import Clock
from globalbandits.service.log.follower import Follower
from globalbandits.service.log.identifiers import (
    DecisionIds,
    as_decision_id,
    as_request_id,
    check_name,
)
from globalbandits.service.log.load import load
from globalbandits.service.log.replay import Redecision, redecide
from globalbandits.service.log.settings import Settings, arm_index, canonical_json
from globalbandits.service.log.writer import Change, Notify, Writer, answer_all
from globalbandits.service.stores.records import (
    DECISION,
    DEFAULT,
    IMPORT_LIBRARY,
    RETRACTION,
    REWARD,
    BanditRow,
    Decision,
    Event,
    SettingRow,
    WriterRow,
)
from globalbandits.service.stores.store import Store, Transaction

TENANT = "main"
SNAPSHOT_EVENTS = 10_000  # events between snapshots
MAX_LOADED = 1_000  # bandits in memory
OPEN_SECONDS = 30 * 86_400.0  # a decision without a deadline counts as open for this time
_SAVED_PER_COMMIT = 50


class ImportResult(NamedTuple):
    """The outcome of an import, the number of its rewards, and the bandit's version."""

    outcome: Outcome
    rewards: int
    version: int


class Log:
    """All bandits of one store. Threads may share a log.

    Every call returns when its rows are on disk, or raises `StoreUnavailable`. Then the commit may
    or may not have succeeded, and you can repeat the call: a decision with a request id, a reward
    and a retraction take effect once, however often they are sent.

    Args:
        store: the store of the log.
        clock: the clock.
        compiled: as in `Learner`.
        snapshot_events: events between snapshots.
        max_loaded: how many bandits stay in memory. The least recently used ones leave it, with a
            snapshot, and are loaded again when they are used.
        notify: sets the answers of the futures of `submit_...`; on the writer's thread by default.
        observe: called with the size and the seconds of every commit.

    >>> from globalbandits.service.stores import SQLiteStore
    >>> log = Log(SQLiteStore(":memory:"))
    >>> model = {"family": "demand.linear_power", "arms": [0.4, 0.6, 0.8]}
    >>> _ = log.create("shop", {"model": model, "policy": {"policy": "wagp"}, "seed": 7})
    >>> decision = log.decide("shop", "order-1").decision
    >>> log.reward("shop", decision.id, 0.3).outcome.value
    'learned'
    >>> log.reward("shop", decision.id, 0.3).outcome.value
    'duplicate'
    >>> log.close()
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock | None = None,
        compiled: bool | None = None,
        snapshot_events: int = SNAPSHOT_EVENTS,
        max_loaded: int = MAX_LOADED,
        notify: Notify = answer_all,
        observe: Callable[[int, float], None] = lambda size, seconds: None,
    ) -> None:
        self.store = store
        self.clock = Clock() if clock is None else clock
        self._compiled = compiled
        self._ids = DecisionIds()
        self._snapshot_events = snapshot_events
        self._max_loaded = max_loaded
        self._creating = threading.Lock()
        # Never held while waiting for the writer, which may have to load a bandit itself.
        self._loading = threading.Lock()
        self._rows: dict[tuple[str, str], BanditRow] = {}
        self._keys: dict[int, tuple[str, str]] = {}  # tenants and names by id
        self._read_rows()
        self._bandits: dict[int, Bandit] = {}
        self._uses = itertools.count()
        self._last_use: dict[int, int] = {}  # of the bandits in memory; higher is later
        self._evicting = False
        self._compiles_new = False
        self._compiled_kinds: set[str] = set()  # of policies and models, also those under way
        self._compiling = threading.Lock()  # one process compiles at a time
        self._snapshot_versions: dict[int, int] = {}  # of the newest snapshots, by bandit
        with store.transaction() as rows:
            host = platform.node()
            found = WriterRow(0, __version__, platform.python_version(), host, self.clock.now())
            self._writer_id = rows.add_writer(found)
        self.writer = Writer(store, self._bandits, self._load, notify=notify, observe=observe)
        self._follower: Follower | None = None
        if store.shared:
            self._follower = Follower(
                store, self._bandits, self.writer, self._find_others, self.recount
            )

    # Bandits

    def names(
        self, tenant: str = TENANT, *, search: str = "", after: str = "", limit: int | None = None
    ) -> list[str]:
        """The names of a tenant's bandits, sorted.

        Args:
            tenant: the owner of the bandits.
            search: only names that contain this text, in capital or small letters.
            after: only names behind this one, which may be the last one of the previous page.
            limit: how many names at most.
        """
        wanted = search.lower()
        names = [
            name
            for owner, name in list(self._rows)
            if owner == tenant and name > after and wanted in name.lower()
        ]
        return sorted(names)[:limit]

    def bandit(self, name: str, tenant: str = TENANT) -> Bandit:
        """The bandit of this name. It is loaded at the first call, which may take long.

        Raises:
            UnknownError: if there is no bandit of this name.
        """
        row = self._rows.get((tenant, name))
        if row is None and self.store.shared:
            row = self._read_rows().get((tenant, name))
        if row is None:
            raise UnknownError(f"bandit must be one of this store's, got {name!r}")
        found = self._bandits.get(row.id)
        if found is None:
            found = self._load(row.id)
        self._last_use[row.id] = next(self._uses)
        return found

    def _load(self, id: int) -> Bandit:
        with self._loading:
            found = self._bandits.get(id)
            if found is None:
                # A bandit that is not loaded gets no events from this process, so that the end of
                # its log does not move while it is loaded.
                row = self.store.bandit(id)
                if row is None:
                    raise UnknownError(f"bandit must be one of this store's, got number {id}")
                found = load(self.store, row, compiled=self._compiled)
                self.recount(found)
                if found.last_event_at is None and found.version > 0:
                    # The state is that of a snapshot. The event itself may have been pruned.
                    for event in list(self.store.events(id, found.version - 10)):
                        if event.kind != DECISION:
                            found.last_event_at = event.at
                self._keep(found)
        return found

    def recount(self, bandit: Bandit) -> None:
        """Count the decisions of a bandit in the store, and its open ones among them.

        An open decision stops counting at its deadline. If it has none, it counts for the present
        deadline of the bandit, or for `OPEN_SECONDS`.
        """
        now, seconds = self.clock.now(), bandit.settings.deadline_seconds
        since = now - round((OPEN_SECONDS if seconds is None else seconds) * 1e6)
        n_open, oldest = self.store.open_decisions(bandit.row.id, now, since)
        bandit.set_shown(self.store.shown_counts(bandit.row.id), n_open, oldest)

    def recount_loaded(self, id: int) -> None:
        """Count the decisions of a bandit if it is in memory."""
        bandit = self._bandits.get(id)
        if bandit is not None:
            self.recount(bandit)

    def _keep(self, bandit: Bandit) -> None:
        """Keep a bandit in memory; others leave it if there are too many."""
        id = bandit.row.id
        self._snapshot_versions[id] = bandit.version
        self._last_use[id] = next(self._uses)
        self._bandits[id] = bandit
        self._evict_surplus()

    def _evict_surplus(self) -> None:
        if len(self._bandits) > self._max_loaded and not self._evicting:
            self._evicting = True
            done = self.writer.submit(Change(self._save_oldest, self._evict))
            done.add_done_callback(self._end_eviction)

    def _end_eviction(self, done: Future[None]) -> None:
        self._evicting = False
        # More bandits may have been loaded meanwhile. After a fault the next load tries again.
        if done.exception() is None:
            with suppress(StoreUnavailable):
                self._evict_surplus()

    def _save_oldest(self, rows: Transaction) -> list[int]:
        """Save the least recently used bandits and return their ids.

        A tenth of the limit goes at once, so that not every load needs a commit of its own.
        """
        n_left = self._max_loaded - self._max_loaded // 10
        loaded = list(self._bandits)  # a copy, because other threads add bandits
        by_use = sorted(loaded, key=lambda id: self._last_use.get(id, 0))
        oldest = by_use[: max(len(by_use) - n_left, 0)]
        self._write_snapshots(rows, oldest)
        return oldest

    def _evict(self, ids: list[int]) -> None:
        # This is the writer's thread: no event was learned since the snapshots were committed.
        for id in ids:
            self._drop(id)

    def _drop(self, id: int) -> None:
        for known in (self._bandits, self._snapshot_versions, self._last_use):
            known.pop(id, None)

    def warm(self) -> None:
        """Compile the policies of all bandits, so that learners are quick from the first request.

        Code that is on disk is not compiled again. Bandits that differ only in numbers share their
        code, so one of them is compiled.
        """
        for row in self.store.bandits():
            settings = Settings.from_log(self.store.settings(row.id)[-1].body)
            if self._is_new_kind(settings):
                _compile(settings)

    def compile_new(self) -> None:
        """From now on, compile policies of several unknown numbers in a process of their own.

        A bandit whose code is not on disk when it is created starts in plain Python. With several
        unknown numbers this takes up to a second per round, with one number milliseconds. The
        bandit uses the code as soon as it is there.
        """
        self._compiles_new = cache_directory() is not None

    def _is_new_kind(self, settings: Settings) -> bool:
        """Whether no bandit had this policy on this kind of model. Marks it as known."""
        kind = canonical_json([_without_numbers(settings.model), dict(settings.policy)])
        with self._loading:
            is_new = kind not in self._compiled_kinds
            self._compiled_kinds.add(kind)
        return is_new

    def _compile_later(self, bandit: Bandit) -> None:
        if not self._compiles_new or bandit.learner.is_compiled:
            return
        several = isinstance(bandit.learner.parts[1].tables, VectorTables)
        if several and self._is_new_kind(bandit.settings):
            body = canonical_json(bandit.settings.to_dict())
            threading.Thread(
                target=self._compile_in_process, args=(body,), name="compiler", daemon=True
            ).start()

    def _compile_in_process(self, body: str) -> None:
        """Compile in another process, then let all bandits in memory use the code."""

        def load(written: None) -> None:
            for bandit in list(self._bandits.values()):
                if not bandit.learner.is_compiled:
                    bandit.learner.load_compiled()

        with self._compiling:
            process = multiprocessing.get_context("spawn").Process(
                target=_compile_body, args=(body,), daemon=True
            )
            process.start()
            process.join()
        with suppress(StoreUnavailable):
            self.writer.submit(Change(lambda rows: None, load))

    def bandit_of(self, id: int) -> Bandit | None:
        """The bandit with this id, or None. It is loaded if necessary."""
        key = self._keys.get(id)
        if key is None and self.store.shared:
            self._read_rows()
            key = self._keys.get(id)
        if key is None:
            return None
        tenant, name = key
        return self.bandit(name, tenant)

    def loaded(self) -> list[Bandit]:
        """The bandits that are in memory."""
        return list(self._bandits.values())

    def is_loaded(self, name: str, tenant: str = TENANT) -> bool:
        """Whether `bandit` answers at once: the bandit is in memory, or known not to exist."""
        row = self._rows.get((tenant, name))
        return not self.store.shared if row is None else row.id in self._bandits

    def _read_rows(self) -> dict[tuple[str, str], BanditRow]:
        """Read the bandits of the store, including those of other processes."""
        rows = self.store.bandits()
        self._rows = {(row.tenant, row.name): row for row in rows}
        self._keys = {row.id: (row.tenant, row.name) for row in rows}
        return self._rows

    def _find_others(self) -> None:
        """Read the bandits of the store, and drop those that another process has deleted."""
        self._read_rows()
        deleted = [id for id in list(self._bandits) if id not in self._keys]
        if deleted:
            self.writer.submit(Change(lambda rows: deleted, self._evict)).result()

    def create(
        self,
        name: str,
        spec: Mapping[str, Any],
        tenant: str = TENANT,
        defaults: Mapping[str, Any] | None = None,
    ) -> tuple[Bandit, bool]:
        """Create a bandit. A repeated call with the same specification changes nothing.

        Args:
            name: the name of the bandit, unique in its tenant.
            spec: the settings (see `Settings`), and optionally ``seed``.
            tenant: the owner of the bandit.
            defaults: settings of a new bandit that the specification does not name.

        Returns:
            The bandit, and whether it is new.

        Raises:
            ConflictError: if a bandit of this name exists with another specification.
        """
        check_name("name", name)
        check_name("tenant", tenant)
        require(isinstance(spec, Mapping), "spec", "be a dict", spec, ServiceError)
        given = dict(spec)
        text = canonical_json(given)
        with self._creating:
            if (tenant, name) not in self._rows:
                # An earlier call may have stored it without getting the answer of the commit.
                self._read_rows()
            if (tenant, name) in self._rows:
                return self._existing(name, tenant, text), False
            seed = given.pop("seed", None)
            if seed is None:
                seed = secrets.randbelow(LARGEST_INTEGER)
            as_integer("seed", seed, 0, ServiceError)
            settings = Settings.from_dict(dict(defaults or {}) | given)
            at = self.clock.now()
            new = BanditRow(0, tenant, name, text, seed, 0, at)
            first = SettingRow(0, 1, 0, canonical_json(settings.to_dict()), at)
            change = Change(lambda rows: _add(rows, new, first), lambda written: written)
            try:
                row, first = self.writer.submit(change).result()
            except StoreUnavailable:
                raise
            except StoreError:
                # Another process may have created it at the same time.
                if (tenant, name) not in self._read_rows():
                    raise
                return self._existing(name, tenant, text), False
            self._rows[tenant, name], self._keys[row.id] = row, (tenant, name)
            bandit = Bandit(row, first, compiled=self._compiled)
            with self._loading:
                self._keep(bandit)
            self._compile_later(bandit)
            return bandit, True

    def _existing(self, name: str, tenant: str, text: str) -> Bandit:
        if self._rows[tenant, name].spec != text:
            raise ConflictError(
                f"{name} exists with another spec: change its settings, or use another "
                "name; a bandit is never reset"
            )
        return self.bandit(name, tenant)

    def delete(self, name: str, tenant: str = TENANT) -> int:
        """Delete a bandit. A repeated call changes nothing.

        Its history stays in the log until it is pruned. Its name is free for a new bandit, which
        starts without data.

        Returns:
            When it was deleted, in microseconds since 1970.

        Raises:
            UnknownError: if no bandit ever had this name.
        """
        with self._creating:
            row = self._rows.get((tenant, name)) or self._read_rows().get((tenant, name))
            if row is not None:
                id = row.id

                def write(rows: Transaction) -> None:
                    rows.lock([id])
                    rows.delete_bandit(id, self.clock.now())

                self.writer.submit(Change(write, lambda _: self._drop(id))).result()
                self._read_rows()
        at = self.store.deleted_at(tenant, name)
        if at is None:
            raise UnknownError(f"bandit must be one of this store's, got {name!r}")
        return at

    def change(
        self,
        name: str,
        changes: Mapping[str, Any],
        tenant: str = TENANT,
        *,
        expected: int | None = None,
    ) -> int:
        """Change settings. Everything that was learned is kept.

        Args:
            name: the name of the bandit.
            changes: the settings to replace.
            tenant: the owner of the bandit.
            expected: the number of the settings to change. If it is given, settings with another
                number are not changed.

        Returns:
            The number of the new settings.

        Raises:
            ConflictError: if the present settings do not have the number ``expected``.
        """
        found = self.bandit(name, tenant)
        # Building a model may take long. Do it on this thread: the writer's thread, for which all
        # other requests wait, then finds the model in the cache.
        found.settings.changed(changes)
        id = found.row.id

        def write(rows: Transaction) -> SettingRow | None:
            # It may have left memory and come back since.
            bandit = self._bandits[id]
            versions = rows.lock([id])
            if not versions:
                raise UnknownError(f"bandit must be one of this store's, got {name!r}")
            # Another process, or a commit whose answer was lost, may have added events.
            bandit.advance(catch_up(rows, versions, self._bandits)[id])
            if expected is not None and expected != bandit.number:
                raise ConflictError(
                    f"settings must still be number {expected}, got number {bandit.number}"
                )
            settings = bandit.check_change(dict(changes))
            body = canonical_json(settings.to_dict())
            if body == canonical_json(bandit.settings.to_dict()):
                return None
            number, version = bandit.number + 1, bandit.version
            new = SettingRow(id, number, version, body, self.clock.now())
            rows.add_settings([new])
            return new

        def after(new: SettingRow | None) -> int:
            if new is not None:
                self._bandits[id].advance([], [new])
            return self._bandits[id].number

        number: int = self.writer.submit(Change(write, after, id)).result()
        self._compile_later(self._bandits.get(id, found))
        return number

    # Decisions and rewards

    def decide(
        self,
        name: str,
        request_id: str | None = None,
        tenant: str = TENANT,
        *,
        unit: str | None = None,
        context: str | None = None,
        allowed: Sequence[Any] | None = None,
    ) -> DecisionResult:
        """Make a decision, or return the earlier one of this request id.

        Args:
            name: the name of the bandit.
            request_id: your id of the request.
            tenant: the owner of the bandit.
            unit: the visitor, or other unit, that the decision is for. With the setting
                ``sticky_seconds`` a unit is shown the same arm for that time, in each context.
            context: the name of the context, for a model with contexts.
            allowed: the values of the arms that may be shown; None for all.

        Raises:
            ConflictError: if the bandit is paused or has stopped, and the request is new.
            GlobalBanditsError: if the context is unknown, or if an allowed arm is unknown or
                withdrawn.
        """
        bandit = self.bandit(name, tenant)
        request_id, unit = as_request_id(request_id), as_request_id(unit, "unit")
        if bandit.closed():
            return self.existing_decision(bandit, request_id)
        work = self.new_decision(bandit, DecisionRequest(request_id, unit, context, allowed))
        result: DecisionResult = self.writer.submit(work).result()
        return result

    def new_decision(self, bandit: Bandit, request: DecisionRequest) -> NewDecision | Change:
        """Make a decision. It must be submitted to the writer to be stored.

        If it depends on earlier decisions, because the policy counts them or the unit may have
        had one, the writer makes it after them.
        """
        sticky = request.unit and bandit.settings.sticky_seconds is not None
        if bandit.counts_decisions or sticky:
            return self._ordered_decision(bandit, request)
        try:
            return NewDecision(self._decision(bandit, request)[0])
        except StoreError:
            raise
        except GlobalBanditsError:
            # It may be a retry: an arm that was allowed then may have been withdrawn since.
            try:
                stored = self.existing_decision(bandit, request.request_id)
            except ConflictError:
                stored = None
            if stored is None:
                raise
            return Change(lambda rows: stored, lambda stored: stored, bandit.row.id)

    def _ordered_decision(self, bandit: Bandit, request: DecisionRequest) -> Change:
        """A decision that depends on earlier ones. They are made one after the other."""
        id, name = bandit.row.id, bandit.row.name
        request_id, unit = request.request_id, request.unit

        def write(rows: Transaction) -> tuple[DecisionResult, list[Event]]:
            versions = rows.lock([id])
            if id not in versions:
                raise UnknownError(f"bandit must be one of this store's, got {name!r}")
            # The bandit may have left memory since the request, and have been loaded again.
            loaded = self._bandits[id]
            loaded.advance(catch_up(rows, versions, self._bandits)[id])
            if request_id is not None:
                found = rows.decisions_by_request([(id, request_id)])
                if found:
                    return DecisionResult(found[id, request_id], True), []
            # A reward that arrived meanwhile may stop the bandit.
            closed = loaded.closed()
            if closed:
                raise ConflictError(f"{name} is {closed}; it makes no new decisions")
            at, first = self.clock.now(), None
            sticky = loaded.settings.sticky_seconds
            if unit is not None and sticky is not None:
                since = at - round(sticky * 1e6)
                first = rows.decision_of_unit(id, unit, since, request.context)
            new, is_counted = self._decision(loaded, request, first, at)
            rows.add_decisions([new])
            if not loaded.counts_decisions or not (is_counted or loaded.settings.delay):
                return DecisionResult(new, False), []
            fields = (new.id, new.shown, 0.0, new.at, int(is_counted), new.context)
            event = Event(id, loaded.version + 1, DECISION, *fields)
            rows.add_events([event])
            rows.set_versions({id: event.seq})
            return DecisionResult(new, False), [event]

        def after(written: tuple[DecisionResult, list[Event]]) -> DecisionResult:
            result, events = written
            loaded = self._bandits[id]
            loaded.advance(events)
            if not result.replayed:
                loaded.count_shown(result.decision.shown, result.decision.context)
            return result

        return Change(write, after, id)

    def _decision(
        self,
        bandit: Bandit,
        request: DecisionRequest,
        first: Decision | None = None,
        at: int | None = None,
    ) -> tuple[Decision, bool]:
        """The next decision of a bandit, and whether its policy counts it, if it counts any.

        Args:
            bandit: the bandit.
            request: what was asked for.
            first: the earlier decision whose arm the unit is shown again.
            at: the time; now by default.
        """
        at = self.clock.now() if at is None else at
        id = self._ids.new(at)
        request_id, unit, context, values = request
        allowed = bandit.offered(context, values)
        key = f"d:{id}" if request_id is None else f"r:{request_id}"
        followed = None if first is None else first.shown
        choice = bandit.choose(key, at, followed, context=context, allowed=allowed)
        follows = first.id if first is not None and choice.why == "unit" else None
        seconds = bandit.settings_at(choice.settings).deadline_seconds
        deadline = None if seconds is None else at + round(seconds * 1e6)
        chosen, shown, _, version, settings, probability = choice
        fields = (id, bandit.row.id, request_id, chosen, shown, version, settings)
        of_request = (context, None if allowed is None else canonical_json(allowed))
        row = Decision(
            *fields, self._writer_id, at, deadline, unit, follows, probability, *of_request
        )
        return row, bandit.counts(choice)

    def existing_decision(self, bandit: Bandit, request_id: str | None) -> DecisionResult:
        """The stored decision of a request to a bandit that is paused or has stopped.

        Raises:
            ConflictError: if there is none.
        """
        found = None
        if request_id is not None:
            found = self.store.decision_of_request(bandit.row.id, request_id)
        if found is None:
            closed = bandit.closed() or "full"
            raise ConflictError(f"{bandit.row.name} is {closed}; it makes no new decisions")
        return DecisionResult(found, True)

    def reward(
        self, name: str, decision: str, value: float, tenant: str = TENANT, *, count: int = 1
    ) -> EventResult:
        """Report the reward of a decision, in the model's units.

        Args:
            name: the name of the bandit.
            decision: the id of the decision.
            value: the reward; with ``count`` the sum of that many rewards.
            tenant: the owner of the bandit.
            count: how many rewards the decision has had, such as the visitors of a day. Each must
                be at one end of the model's reward range.

        Raises:
            RewardError: if the model cannot give such a reward.
        """
        bandit = self.bandit(name, tenant)
        result: EventResult = self.submit_reward(bandit, decision, value, count).result()
        self._save_if_due(bandit)
        return result

    def submit_reward(
        self, bandit: Bandit, decision: str, value: float, count: int = 1
    ) -> "Future[EventResult]":
        """Submit a reward. Its future is done when it is stored and learned."""
        return self.writer.submit(self.new_reward(bandit, decision, value, count))

    def new_reward(self, bandit: Bandit, decision: str, value: float, count: int = 1) -> NewEvent:
        """Check a reward. It must be submitted to the writer to be learned."""
        _check_reward(value, count, bandit.learner.model.reward_range)
        id = as_decision_id(decision)
        return NewEvent(bandit.row.id, id, REWARD, float(value), self.clock.now(), count)

    def retract(self, name: str, decision: str, tenant: str = TENANT) -> EventResult:
        """Retract the reward of a decision, for example after a return or a mistake."""
        bandit = self.bandit(name, tenant)
        result: EventResult = self.submit_retraction(bandit, decision).result()
        self._save_if_due(bandit)
        return result

    def submit_retraction(self, bandit: Bandit, decision: str) -> "Future[EventResult]":
        """Submit a retraction. Its future is done when it is stored and learned."""
        return self.writer.submit(self.new_retraction(bandit, decision))

    def new_retraction(self, bandit: Bandit, decision: str) -> NewEvent:
        """A retraction. It must be submitted to the writer to be learned."""
        id = as_decision_id(decision)
        return NewEvent(bandit.row.id, id, RETRACTION, 0.0, self.clock.now())

    def submit_default(self, bandit: Bandit, decision: Decision) -> "Future[EventResult] | None":
        """Submit the default of a decision after its deadline; None if its settings have none."""
        value = bandit.settings_at(decision.settings).default_reward
        if value is None:
            return None
        return self.writer.submit(
            NewEvent(bandit.row.id, decision.id, DEFAULT, float(value), self.clock.now())
        )

    def import_rewards(
        self,
        name: str,
        import_id: str,
        rewards: Sequence[tuple[Any, ...]],
        tenant: str = TENANT,
    ) -> ImportResult:
        """Learn past rewards before the bandit makes its first decision, all or none.

        Each becomes a decision of its own that no policy made, and its reward. A repeated call with
        the same id changes nothing.

        Args:
            name: the name of the bandit.
            import_id: your name of these rewards, for retries; 1 to 100 characters.
            rewards: pairs of an arm's value and a reward, in order. The name of the context may
                follow (None without contexts), and then the number of rewards that the reward is
                the sum of.
            tenant: the owner of the bandit.

        Raises:
            ConflictError: if the bandit has decided already, or the id is that of other rewards.
        """
        valid = isinstance(import_id, str) and 0 < len(import_id) <= 100 and import_id.isprintable()
        rule = "be a text of 1 to 100 printable characters"
        require(valid, "import_id", rule, import_id, ServiceError)
        require(len(rewards) > 0, "rewards", "not be empty", rewards, ServiceError)
        found = self.bandit(name, tenant)
        if found.counts_decisions:
            raise ConflictError(
                f"policy of {name} must not count decisions, got {found.learner.policy.label}: "
                "its past decisions are not known"
            )
        model, id, at = found.learner.model, found.row.id, self.clock.now()
        past: list[tuple[int, float, str | None, int]] = []
        for value, reward, *more in rewards:
            arm = arm_index(model, value, "arm")
            require(arm is not None, "arm", "be an arm", value, ServiceError)
            context = more[0] if more else None
            count = more[1] if len(more) > 1 else 1
            _check_reward(reward, count, model.reward_range)
            found.offered(context, None)  # raises an error for an unknown context
            past.append((int(arm or 0), float(reward), context, count))
        requests = [f"import:{import_id}:{place}" for place in range(len(past))]

        def write(rows: Transaction) -> list[Event]:
            bandit, versions = self._bandits[id], rows.lock([id])
            if not versions:
                raise UnknownError(f"bandit must be one of this store's, got {name!r}")
            bandit.advance(catch_up(rows, versions, self._bandits)[id])
            known = rows.decisions_by_request([(id, request) for request in requests])
            if known:
                events = rows.events_by_decision([row.id for row in known.values()])
                stored = [known.get((id, request)) for request in requests]
                firsts = [None if row is None else events[row.id][0] for row in stored]
                same = [
                    row and first and (row.shown, first.value, row.context, first.n_rewards)
                    for row, first in zip(stored, firsts, strict=True)
                ]
                after = rows.decisions_by_request([(id, f"import:{import_id}:{len(past)}")])
                if same != past or after:
                    raise ConflictError(f"import_id must be new, got {import_id!r}")
                return []
            if rows.has_own_decisions(id):
                raise ConflictError(
                    f"{name} has decided already: rewards are imported into a new bandit"
                )
            writer = rows.add_writer(WriterRow(0, IMPORT_LIBRARY, __version__, "", at))
            version, number = bandit.version, bandit.number
            decisions, events_new = [], []
            for place, (request, (arm, reward, context, count)) in enumerate(
                zip(requests, past, strict=True), start=1
            ):
                fields = (request, arm, arm, version, number, writer, at, None)
                row = Decision(self._ids.new(at), id, *fields, context=context)
                seq = version + place
                decisions.append(row)
                events_new.append(
                    Event(id, seq, REWARD, row.id, arm, reward, at, count, context=context)
                )
            rows.add_decisions(decisions)
            rows.add_events(events_new)
            rows.set_versions({id: version + len(past)})
            return events_new

        def after(events: list[Event]) -> ImportResult:
            bandit = self._bandits[id]
            for event in events:
                bandit.count_shown(event.arm, event.context)
            bandit.advance(events)
            outcome = Outcome.LEARNED if events else Outcome.DUPLICATE
            return ImportResult(outcome, len(past), bandit.version)

        result: ImportResult = self.writer.submit(Change(write, after, id)).result()
        self._save_if_due(found)
        return result

    def explain(self, name: str, decision: str, tenant: str = TENANT) -> Redecision:
        """Recompute and explain a past decision from the state it was made in.

        Raises:
            UnknownError: if the bandit has no such decision.
        """
        bandit = self.bandit(name, tenant)
        found = self.store.decision(decision)
        if found is None or found.bandit != bandit.row.id:
            raise UnknownError(f"decision must be one of {name}, got {decision!r}")
        return redecide(self.store, bandit, found)

    # Snapshots

    def _save_if_due(self, bandit: Bandit) -> None:
        saved = self._snapshot_versions.get(bandit.row.id, bandit.version)
        if bandit.version - saved >= self._snapshot_events:
            self.save([bandit])

    def save(self, bandits: Sequence[Bandit]) -> "Future[None] | None":
        """Submit snapshots, which make loading fast; None if all are up to date."""
        ids = [
            bandit.row.id
            for bandit in bandits
            if bandit.version != self._snapshot_versions.get(bandit.row.id, bandit.version)
        ]
        if not ids:
            return None

        def write(rows: Transaction) -> None:
            self._write_snapshots(rows, ids)

        return self.writer.submit(Change(write, lambda written: written))

    def _write_snapshots(self, rows: Transaction, ids: Sequence[int]) -> None:
        loaded = [self._bandits[id] for id in ids if id in self._bandits]
        changed = [
            bandit
            for bandit in loaded
            if bandit.version != self._snapshot_versions.get(bandit.row.id)
        ]
        # Other processes may store snapshots of the same bandits, or delete them.
        live = rows.lock(sorted(bandit.row.id for bandit in changed))
        for bandit in changed:
            if bandit.row.id in live:
                snapshot = bandit.snapshot()
                rows.add_snapshot(snapshot)
                rows.drop_snapshots(bandit.row.id, snapshot.version, self._snapshot_events)
                # If the commit fails, the next snapshot is later. A snapshot is only a cache.
                self._snapshot_versions[bandit.row.id] = snapshot.version

    def save_due(self) -> None:
        """Save the bandits that have learned enough events since their last snapshot."""
        for bandit in list(self._bandits.values()):
            self._save_if_due(bandit)

    def save_all(self) -> Iterator["Future[None]"]:
        """Submit snapshots of all bandits that have changed, some in each commit."""
        bandits = list(self._bandits.values())
        for start in range(0, len(bandits), _SAVED_PER_COMMIT):
            saved = self.save(bandits[start : start + _SAVED_PER_COMMIT])
            if saved is not None:
                yield saved

    def stop(self) -> None:
        """Store what is waiting, and save all bandits; the store stays open."""
        if self._follower is not None:
            self._follower.stop()
        list(self.save_all())
        self.writer.close()

    def close(self) -> None:
        """Stop, and close the store."""
        self.stop()
        self.store.close()


def _add(rows: Transaction, new: BanditRow, first: SettingRow) -> tuple[BanditRow, SettingRow]:
    id = rows.add_bandit(new)
    first = first._replace(bandit=id)
    rows.add_settings([first])
    return new._replace(id=id), first


def _compile(settings: Settings) -> None:
    """Compile the policy of a bandit, unless its code is on disk."""
    model, policy = settings.build()
    Learner(policy, model, seed=0, compiled=True)


def _compile_body(body: str) -> None:
    """Compile in a process of its own, with a lower priority than the server."""
    if hasattr(os, "nice"):
        os.nice(10)
    _compile(Settings.from_log(body))


def _without_numbers(spec: Any) -> Any:
    """A specification with the number 0 in place of every number, and one item per list."""
    if isinstance(spec, Mapping):
        return {key: _without_numbers(value) for key, value in spec.items()}
    if isinstance(spec, (list, tuple)):
        return [_without_numbers(value) for value in spec[:1]]
    return 0 if isinstance(spec, (int, float)) else spec


def _check_reward(value: float, count: int, reward_range: tuple[float, float]) -> None:
    """Raise an error if the model cannot give this reward, or this sum of ``count`` rewards."""
    if type(count) is int and count == 1:
        as_unit("reward", value, reward_range)
    else:
        as_summary(value, count, reward_range)
