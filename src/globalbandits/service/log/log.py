"""The log: creates bandits, makes decisions, learns rewards, and stores all of it."""

import platform
import secrets
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from globalbandits._rewards import as_unit
from globalbandits._validation import LARGEST_INTEGER, as_integer, require
from globalbandits._version import __version__
from globalbandits.errors import (
    ConflictError,
    ServiceError,
    StoreError,
    StoreUnavailable,
    UnknownError,
)
from globalbandits.policies import Learner
from globalbandits.service.log.append import (
    DecisionResult,
    EventResult,
    NewDecision,
    NewEvent,
    catch_up,
)
from globalbandits.service.log.bandit import Bandit
from globalbandits.service.log.clock import Clock
from globalbandits.service.log.follower import Follower
from globalbandits.service.log.identifiers import (
    DecisionIds,
    as_decision_id,
    as_name,
    as_request_id,
)
from globalbandits.service.log.load import load
from globalbandits.service.log.replay import Redecision, redecide
from globalbandits.service.log.settings import Settings, canonical_json
from globalbandits.service.log.writer import Change, Notify, Writer, answer_all
from globalbandits.service.stores.base import Store, Transaction
from globalbandits.service.stores.records import (
    DECISION,
    DEFAULT,
    RETRACTION,
    REWARD,
    BanditRow,
    Decision,
    Event,
    SettingRow,
    WriterRow,
)

TENANT = "main"
SNAPSHOT_EVENTS = 10_000  # events between snapshots


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
        notify: Notify = answer_all,
        observe: Callable[[int, float], None] = lambda size, seconds: None,
    ) -> None:
        self.store = store
        self.clock = Clock() if clock is None else clock
        self._compiled = compiled
        self._ids = DecisionIds()
        self._snapshot_events = snapshot_events
        self._loading = threading.RLock()
        self._rows = {(row.tenant, row.name): row for row in store.bandits()}
        self._bandits: dict[int, Bandit] = {}
        self._snapshot_versions: dict[int, int] = {}  # of the newest snapshots, by bandit
        with store.transaction() as rows:
            host = platform.node()
            found = WriterRow(0, __version__, platform.python_version(), host, self.clock.now())
            self._writer_id = rows.add_writer(found)
        self.writer = Writer(store, self._bandits, notify=notify, observe=observe)
        self._follower: Follower | None = None
        if store.shared:
            self._follower = Follower(store, self._bandits, self.writer, self._read_rows)

    # Bandits

    def names(self, tenant: str = TENANT) -> list[str]:
        """The names of a tenant's bandits, sorted."""
        return sorted(name for owner, name in list(self._rows) if owner == tenant)

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
            with self._loading:
                found = self._bandits.get(row.id)
                if found is None:
                    # A bandit that is not loaded gets no events from this process, so that the
                    # end of its log does not move while it is loaded.
                    newest = {known.id: known for known in self.store.bandits()}[row.id]
                    found = load(self.store, newest, compiled=self._compiled)
                    found.set_shown(self.store.shown_counts(row.id), self.store.n_open(row.id))
                    self._snapshot_versions[row.id] = found.version
                    self._bandits[row.id] = found
        return found

    def warm(self) -> None:
        """Compile the policies of all bandits, so that learners are quick from the first request.

        Code that is on disk is not compiled again.
        """
        for row in self.store.bandits():
            model, policy = Settings.from_log(self.store.settings(row.id)[-1].body).build()
            Learner(policy, model, seed=0, compiled=True)

    def bandit_of(self, id: int) -> Bandit | None:
        """The bandit with this id, or None. It is loaded at the first call."""
        for (tenant, name), row in list(self._rows.items()):
            if row.id == id:
                return self.bandit(name, tenant)
        return None

    def loaded(self) -> list[Bandit]:
        """The bandits that are in memory."""
        return list(self._bandits.values())

    def is_loaded(self, name: str, tenant: str = TENANT) -> bool:
        """Whether `bandit` answers at once: the bandit is in memory, or known not to exist."""
        row = self._rows.get((tenant, name))
        return not self.store.shared if row is None else row.id in self._bandits

    def _read_rows(self) -> dict[tuple[str, str], BanditRow]:
        """Read the bandits of the store, including those of other processes."""
        self._rows |= {(row.tenant, row.name): row for row in self.store.bandits()}
        return self._rows

    def create(
        self, name: str, spec: Mapping[str, Any], tenant: str = TENANT
    ) -> tuple[Bandit, bool]:
        """Create a bandit. A repeated call with the same specification changes nothing.

        Args:
            name: the name of the bandit, unique in its tenant.
            spec: the settings (see `Settings`), and optionally ``seed``.
            tenant: the owner of the bandit.

        Returns:
            The bandit, and whether it is new.

        Raises:
            ConflictError: if a bandit of this name exists with another specification.
        """
        as_name("name", name)
        as_name("tenant", tenant)
        require(isinstance(spec, Mapping), "spec", "be a dict", spec, ServiceError)
        given = dict(spec)
        text = canonical_json(given)
        with self._loading:
            if (tenant, name) not in self._rows:
                # An earlier call may have stored it without getting the answer of the commit.
                self._read_rows()
            if (tenant, name) in self._rows:
                return self._existing(name, tenant, text), False
            seed = given.pop("seed", None)
            if seed is None:
                seed = secrets.randbelow(LARGEST_INTEGER)
            as_integer("seed", seed, 0, ServiceError)
            settings = Settings.from_dict(given)
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
            self._rows[tenant, name] = row
            self._bandits[row.id] = Bandit(row, first, compiled=self._compiled)
            self._snapshot_versions[row.id] = 0
            return self._bandits[row.id], True

    def _existing(self, name: str, tenant: str, text: str) -> Bandit:
        if self._rows[tenant, name].spec != text:
            raise ConflictError(
                f"{name} exists with another spec: change its settings, or use another "
                "name; a bandit is never reset"
            )
        return self.bandit(name, tenant)

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
        bandit = self.bandit(name, tenant)
        # Building a model may take long. Do it on this thread: the writer's thread, for which all
        # other requests wait, then finds the model in the cache.
        bandit.settings.changed(changes)

        def write(rows: Transaction) -> SettingRow | None:
            versions = rows.lock([bandit.row.id])
            # Another process, or a commit whose answer was lost, may have added events.
            bandit.advance(catch_up(rows, versions, self._bandits)[bandit.row.id])
            if expected is not None and expected != bandit.number:
                raise ConflictError(
                    f"settings must still be number {expected}, got number {bandit.number}"
                )
            settings = bandit.check_change(dict(changes))
            body = canonical_json(settings.to_dict())
            if body == canonical_json(bandit.settings.to_dict()):
                return None
            number, version = bandit.number + 1, bandit.version
            new = SettingRow(bandit.row.id, number, version, body, self.clock.now())
            rows.add_settings([new])
            return new

        def after(new: SettingRow | None) -> int:
            if new is not None:
                bandit.advance([], [new])
            return bandit.number

        number: int = self.writer.submit(Change(write, after)).result()
        return number

    # Decisions and rewards

    def decide(
        self, name: str, request_id: str | None = None, tenant: str = TENANT
    ) -> DecisionResult:
        """Make a decision, or return the earlier one of this request id.

        Raises:
            ConflictError: if the bandit is paused and the request is new.
        """
        result: DecisionResult = self.submit_decide(self.bandit(name, tenant), request_id).result()
        return result

    def submit_decide(self, bandit: Bandit, request_id: str | None) -> "Future[DecisionResult]":
        """Submit a decision. Its future is done when it is stored."""
        request_id = as_request_id(request_id)
        if bandit.settings.mode == "paused":
            future: Future[DecisionResult] = Future()
            future.set_result(self.existing_decision(bandit, request_id))
            return future
        return self.writer.submit(self.new_decision(bandit, request_id))

    def new_decision(self, bandit: Bandit, request_id: str | None) -> NewDecision | Change:
        """Make a decision. It must be submitted to the writer to be stored.

        If the policy counts decisions, the writer makes it, after all earlier decisions.
        """
        if bandit.counts_decisions:
            return self._counted_decision(bandit, request_id)
        return NewDecision(self._decision(bandit, request_id))

    def _counted_decision(self, bandit: Bandit, request_id: str | None) -> Change:
        """A decision that is also an event. Decisions of a bandit are made one after the other."""
        id = bandit.row.id

        def write(rows: Transaction) -> tuple[DecisionResult, list[Event]]:
            versions = rows.lock([id])
            bandit.advance(catch_up(rows, versions, self._bandits)[id])
            if request_id is not None:
                found = rows.decisions_by_request([(id, request_id)])
                if found:
                    return DecisionResult(found[id, request_id], True), []
            new = self._decision(bandit, request_id)
            event = Event(id, bandit.version + 1, DECISION, new.id, new.shown, 0.0, new.at)
            rows.add_decisions([new])
            rows.add_events([event])
            rows.set_versions({id: event.seq})
            return DecisionResult(new, False), [event]

        def after(written: tuple[DecisionResult, list[Event]]) -> DecisionResult:
            result, events = written
            bandit.advance(events)
            if not result.replayed:
                bandit.count_shown(result.decision.shown)
            return result

        return Change(write, after)

    def _decision(self, bandit: Bandit, request_id: str | None) -> Decision:
        """The next decision of a bandit."""
        at = self.clock.now()
        id = self._ids.new(at)
        choice = bandit.choose(f"d:{id}" if request_id is None else f"r:{request_id}")
        seconds = bandit.settings_at(choice.settings).deadline_seconds
        deadline = None if seconds is None else at + round(seconds * 1e6)
        chosen, shown, _, version, settings = choice
        made = (id, bandit.row.id, request_id, chosen, shown, version, settings)
        return Decision(*made, self._writer_id, at, deadline)

    def existing_decision(self, bandit: Bandit, request_id: str | None) -> DecisionResult:
        """The stored decision of a request to a paused bandit.

        Raises:
            ConflictError: if there is none.
        """
        found = None
        if request_id is not None:
            found = self.store.decision_of_request(bandit.row.id, request_id)
        if found is None:
            raise ConflictError(f"{bandit.row.name} is paused: it makes no new decisions")
        return DecisionResult(found, True)

    def reward(self, name: str, decision: str, value: float, tenant: str = TENANT) -> EventResult:
        """Report the reward of a decision, in the model's units.

        Raises:
            RewardError: if the model cannot give such a reward.
        """
        bandit = self.bandit(name, tenant)
        result: EventResult = self.submit_reward(bandit, decision, value).result()
        self._save_if_due(bandit)
        return result

    def submit_reward(self, bandit: Bandit, decision: str, value: float) -> "Future[EventResult]":
        """Submit a reward. Its future is done when it is stored and learned."""
        return self.writer.submit(self.new_reward(bandit, decision, value))

    def new_reward(self, bandit: Bandit, decision: str, value: float) -> NewEvent:
        """Check a reward. It must be submitted to the writer to be learned."""
        as_unit("reward", value, bandit.learner.model.reward_range)
        id = as_decision_id(decision)
        return NewEvent(bandit.row.id, id, REWARD, float(value), self.clock.now())

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
        if bandit.version - self._snapshot_versions[bandit.row.id] >= self._snapshot_events:
            self.save(bandit)

    def save(self, bandit: Bandit) -> "Future[None] | None":
        """Submit a snapshot of a bandit, which makes loading it fast; None if it is up to date."""
        if bandit.version == self._snapshot_versions[bandit.row.id]:
            return None
        self._snapshot_versions[bandit.row.id] = bandit.version

        def write(rows: Transaction) -> None:
            # Other processes may store snapshots of the same bandit.
            rows.lock([bandit.row.id])
            snapshot = bandit.snapshot()
            rows.add_snapshot(snapshot)
            rows.drop_snapshots(bandit.row.id, snapshot.version, self._snapshot_events)

        return self.writer.submit(Change(write, lambda written: written))

    def save_due(self) -> None:
        """Save the bandits that have learned enough events since their last snapshot."""
        for bandit in list(self._bandits.values()):
            self._save_if_due(bandit)

    def stop(self) -> None:
        """Store what is waiting, and save all bandits; the store stays open."""
        if self._follower is not None:
            self._follower.stop()
        for bandit in list(self._bandits.values()):
            self.save(bandit)
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
