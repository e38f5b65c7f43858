"""The log at work: bandits are created, decide, learn and change, and all of it is kept."""

import platform
import secrets
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from globalbandits._rewards import as_unit
from globalbandits._validation import LARGEST_INTEGER, as_integer, require
from globalbandits._version import __version__
from globalbandits.errors import ConflictError, ServiceError, StoreAway, StoreError, UnknownError
from globalbandits.policies import Learner
from globalbandits.service.appending import Ask, Decided, Tell, Told, catch_up
from globalbandits.service.bandit import Bandit
from globalbandits.service.clock import Clock
from globalbandits.service.following import Follower
from globalbandits.service.ids import Ids
from globalbandits.service.loading import load
from globalbandits.service.past import Past, make_again
from globalbandits.service.settings import Settings
from globalbandits.service.stores.base import Store, Transaction
from globalbandits.service.stores.records import (
    DEFAULT,
    RETRACTION,
    REWARD,
    BanditRow,
    Decision,
    SettingRow,
    WriterRow,
)
from globalbandits.service.texts import as_decision_id, as_name, as_request_id, plain_json
from globalbandits.service.writer import Change, Notify, Writer, answer_all

TENANT = "main"
EVERY = 10_000  # events between snapshots


class Log:
    """All bandits of one store, for any number of threads of one process.

    Every call returns when what it stored is on the disk, or raises `StoreAway`; then the same
    call may be made again. A decision with a request id, a reward and a retraction may be repeated
    as often as one likes: each has its effect once.

    Args:
        store: where the log is.
        clock: what time it is.
        compiled: as in `Learner`.
        every: events between snapshots.
        notify: how the futures of `submit_...` are answered; by the writer's thread by default.
        observe: is told the size and the seconds of every commit.

    >>> from globalbandits.service.stores import MemoryStore
    >>> log = Log(MemoryStore())
    >>> model = {"family": "demand.linear_power", "arms": [0.4, 0.6, 0.8]}
    >>> _ = log.create("shop", {"model": model, "policy": {"policy": "wagp"}, "seed": 7})
    >>> decided = log.decide("shop", "order-1")
    >>> log.reward("shop", decided.decision.id, 0.3).outcome.value
    'learned'
    >>> log.reward("shop", decided.decision.id, 0.3).outcome.value
    'duplicate'
    >>> log.close()
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock | None = None,
        compiled: bool | None = None,
        every: int = EVERY,
        notify: Notify = answer_all,
        observe: Callable[[int, float], None] = lambda size, seconds: None,
    ) -> None:
        self.store = store
        self.clock = Clock() if clock is None else clock
        self._compiled = compiled
        self._ids = Ids()
        self._every = every
        self._loading = threading.RLock()
        self._rows = {(row.tenant, row.name): row for row in store.bandits()}
        self._bandits: dict[int, Bandit] = {}
        self._saved: dict[int, int] = {}  # versions of the newest snapshots
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
        """The names of a tenant's bandits."""
        return sorted(name for owner, name in list(self._rows) if owner == tenant)

    def bandit(self, name: str, tenant: str = TENANT) -> Bandit:
        """A bandit, loaded if it is not yet.

        Raises:
            UnknownError: if there is none of this name.
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
                    # Nobody is told anything about a bandit that is not loaded: this is its end.
                    newest = {known.id: known for known in self.store.bandits()}[row.id]
                    found = load(self.store, newest, compiled=self._compiled)
                    found.set_shown(self.store.shown(row.id), self.store.n_open(row.id))
                    self._saved[row.id] = found.version
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
        """A bandit by its id, loaded if it is not yet; None if there is none."""
        for (tenant, name), row in list(self._rows.items()):
            if row.id == id:
                return self.bandit(name, tenant)
        return None

    def loaded(self) -> list[Bandit]:
        """The bandits that are in memory."""
        return list(self._bandits.values())

    def is_loaded(self, name: str, tenant: str = TENANT) -> bool:
        """Whether a bandit is there, or known not to be, without waiting."""
        row = self._rows.get((tenant, name))
        return not self.store.shared if row is None else row.id in self._bandits

    def _read_rows(self) -> dict[tuple[str, str], BanditRow]:
        """The bandits of the store, also those that others have made."""
        self._rows |= {(row.tenant, row.name): row for row in self.store.bandits()}
        return self._rows

    def create(
        self, name: str, spec: Mapping[str, Any], tenant: str = TENANT
    ) -> tuple[Bandit, bool]:
        """A new bandit; whether it is new. The same spec again changes nothing.

        Args:
            name: of the bandit, in the tenant.
            spec: settings (see `Settings`), and perhaps a seed.
            tenant: who owns it.

        Raises:
            ConflictError: if there is one of this name with another spec.
        """
        as_name("name", name)
        as_name("tenant", tenant)
        require(isinstance(spec, Mapping), "spec", "be a dict", spec, ServiceError)
        given = dict(spec)
        text = plain_json(given)
        with self._loading:
            if (tenant, name) not in self._rows:  # but one may be stored whose maker was not told
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
            first = SettingRow(0, 1, 0, plain_json(settings.to_dict()), at)
            change = Change(lambda rows: _add(rows, new, first), lambda written: written)
            try:
                row, first = self.writer.submit(change).result()
            except StoreAway:
                raise
            except StoreError:  # somebody else was quicker
                if (tenant, name) not in self._read_rows():
                    raise
                return self._existing(name, tenant, text), False
            self._rows[tenant, name] = row
            self._bandits[row.id] = Bandit(row, first, compiled=self._compiled)
            self._saved[row.id] = 0
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
        """Change settings; the number of the new ones. All that was learned is kept.

        Args:
            name: of the bandit.
            changes: the settings that change.
            tenant: who owns it.
            expected: the number of the settings that are changed; others are refused.

        Raises:
            ConflictError: if somebody else has changed them since.
        """
        bandit = self.bandit(name, tenant)
        # Models are built here, in the caller's time, and found again where everybody waits.
        bandit.settings.changed(changes)

        def write(rows: Transaction) -> SettingRow | None:
            versions = rows.lock([bandit.row.id])
            # Others, or one of us who was not told, may have gone on.
            bandit.advance(catch_up(rows, versions, self._bandits)[bandit.row.id])
            if expected is not None and expected != bandit.number:
                raise ConflictError(
                    f"settings must still be number {expected}, got number {bandit.number}"
                )
            settings = bandit.check_change(dict(changes))
            body = plain_json(settings.to_dict())
            if body == plain_json(bandit.settings.to_dict()):
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

    def decide(self, name: str, request_id: str | None = None, tenant: str = TENANT) -> Decided:
        """Make a decision, or find the one that was made for this request id.

        Raises:
            ConflictError: if the bandit is paused and the request is new.
        """
        decided: Decided = self.submit_decide(self.bandit(name, tenant), request_id).result()
        return decided

    def submit_decide(self, bandit: Bandit, request_id: str | None) -> "Future[Decided]":
        """A decision to come."""
        request_id = as_request_id(request_id)
        if bandit.settings.mode == "paused":
            future: Future[Decided] = Future()
            future.set_result(self.made_before(bandit, request_id))
            return future
        return self.writer.submit(self.ask(bandit, request_id))

    def ask(self, bandit: Bandit, request_id: str | None) -> Ask:
        """A decision that is made, and to be stored."""
        at = self.clock.now()
        id = self._ids.new(at)
        choice = bandit.choose(f"d:{id}" if request_id is None else f"r:{request_id}")
        seconds = bandit.settings_at(choice.settings).deadline_seconds
        deadline = None if seconds is None else at + round(seconds * 1e6)
        chosen, shown, _, version, settings = choice
        made = (id, bandit.row.id, request_id, chosen, shown, version, settings)
        return Ask(Decision(*made, self._writer_id, at, deadline))

    def made_before(self, bandit: Bandit, request_id: str | None) -> Decided:
        """The decision of a request, where no new ones are made.

        Raises:
            ConflictError: if there is none.
        """
        found = None
        if request_id is not None:
            found = self.store.decision_of_request(bandit.row.id, request_id)
        if found is None:
            raise ConflictError(f"{bandit.row.name} is paused: it makes no new decisions")
        return Decided(found, True)

    def reward(self, name: str, decision: str, value: float, tenant: str = TENANT) -> Told:
        """Tell the reward of a decision, in the model's units.

        Raises:
            RewardError: if it cannot be a reward of this bandit.
        """
        told: Told = self.submit_reward(self.bandit(name, tenant), decision, value).result()
        return self._after(name, tenant, told)

    def submit_reward(self, bandit: Bandit, decision: str, value: float) -> "Future[Told]":
        """A reward to be learned."""
        return self.writer.submit(self.tell(bandit, decision, value))

    def tell(self, bandit: Bandit, decision: str, value: float) -> Tell:
        """A reward that is checked, and to be learned."""
        as_unit("reward", value, bandit.learner.model.reward_range)
        id = as_decision_id(decision)
        return Tell(bandit.row.id, id, REWARD, float(value), self.clock.now())

    def retract(self, name: str, decision: str, tenant: str = TENANT) -> Told:
        """Take back what was learned from a decision: a return, or a mistake."""
        told: Told = self.submit_retraction(self.bandit(name, tenant), decision).result()
        return self._after(name, tenant, told)

    def submit_retraction(self, bandit: Bandit, decision: str) -> "Future[Told]":
        """A reward to be taken back."""
        return self.writer.submit(self.retraction(bandit, decision))

    def retraction(self, bandit: Bandit, decision: str) -> Tell:
        """What takes a reward back."""
        id = as_decision_id(decision)
        return Tell(bandit.row.id, id, RETRACTION, 0.0, self.clock.now())

    def submit_default(self, bandit: Bandit, decision: Decision) -> "Future[Told] | None":
        """The default of a decision whose deadline has passed; None if its settings have none."""
        value = bandit.settings_at(decision.settings).default_reward
        if value is None:
            return None
        return self.writer.submit(
            Tell(bandit.row.id, decision.id, DEFAULT, float(value), self.clock.now())
        )

    def explain(self, name: str, decision: str, tenant: str = TENANT) -> Past:
        """A past decision with its reasons, from the state it was made in.

        Raises:
            UnknownError: if the bandit has no such decision.
        """
        bandit = self.bandit(name, tenant)
        found = self.store.decision(decision)
        if found is None or found.bandit != bandit.row.id:
            raise UnknownError(f"decision must be one of {name}, got {decision!r}")
        return make_again(self.store, bandit, found)

    # Snapshots

    def _after(self, name: str, tenant: str, told: Told) -> Told:
        bandit = self.bandit(name, tenant)
        if bandit.version - self._saved[bandit.row.id] >= self._every:
            self.save(bandit)
        return told

    def save(self, bandit: Bandit) -> "Future[None] | None":
        """Keep a snapshot of a bandit, so that loading it is quick; None if there is a good one."""
        if bandit.version == self._saved[bandit.row.id]:
            return None
        self._saved[bandit.row.id] = bandit.version

        def write(rows: Transaction) -> None:
            rows.lock([bandit.row.id])  # others may keep snapshots of it, too
            snapshot = bandit.snapshot()
            rows.add_snapshot(snapshot)
            rows.drop_snapshots(bandit.row.id, snapshot.version, self._every)

        return self.writer.submit(Change(write, lambda written: written))

    def save_due(self) -> None:
        """Keep snapshots of the bandits that have learned enough since the last one."""
        for bandit in list(self._bandits.values()):
            if bandit.version - self._saved[bandit.row.id] >= self._every:
                self.save(bandit)

    def stop(self) -> None:
        """Store what waits, and keep snapshots; the store stays open."""
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


__all__ = ["EVERY", "TENANT", "Log"]
