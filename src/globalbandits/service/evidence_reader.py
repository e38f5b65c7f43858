"""Compute the evidence of bandits in another process, because it takes tenths of a second.

A reading is the evidence at one version of a bandit. It is computed on request, at most every few
seconds per bandit.
"""

import logging
import math
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, NamedTuple

from globalbandits._plain_data import plain
from globalbandits.errors import ConflictError
from globalbandits.evidence import Evidence
from globalbandits.evidence.evidence import decode_statistics
from globalbandits.model import ContextModel, VectorModel
from globalbandits.policies import FixedArm, Learner
from globalbandits.policies.base import Policy
from globalbandits.service.log.bandit import Bandit
from globalbandits.service.log.settings import (
    Settings,
    arm_index,
    build_model,
    canonical_json,
    cells_of,
)
from globalbandits.statistics import no_statistics

READING_SECONDS = 5.0  # between two readings of a bandit
_MAX_CONTEXTS = 20  # whose contenders are computed
COMPARED_MARKETS = 100  # of a what-if
_LOGGER = logging.getLogger("globalbandits.service")


class EvidenceReading(NamedTuple):
    """The evidence at a version of a bandit, under the settings with a number."""

    version: int
    number: int
    at: float  # seconds of the monotonic clock
    evidence: dict[str, Any]


class EvidenceReader:
    """The latest readings of all bandits, and the process that computes new ones.

    Args:
        seconds: between two readings of a bandit.
        now: a monotonic clock.
        observe: called with every new reading, on another thread.
    """

    def __init__(
        self,
        seconds: float = READING_SECONDS,
        now: Callable[[], float] = time.monotonic,
        observe: "Callable[[Bandit, EvidenceReading], None]" = lambda bandit, reading: None,
    ) -> None:
        self._seconds = seconds
        self._now = now
        self._observe = observe
        self._starting = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._latest: dict[int, EvidenceReading] = {}
        self._running: dict[int, Future[dict[str, Any]]] = {}
        self._started_at: dict[int, float] = {}
        self._comparing = threading.Lock()
        # The arguments and the future of the comparison under way.
        self._comparison: tuple[Any, Future[dict[str, Any]]] | None = None

    def ask(self, bandit: Bandit) -> EvidenceReading | None:
        """The latest reading, or None. Starts a new reading if one is due."""
        id = bandit.row.id
        running = self._running.get(id)
        if running is not None and not running.done():
            return self._latest.get(id)
        latest = self._latest.get(id)
        old = self._now() - self._started_at.get(id, -math.inf) >= self._seconds
        # Settings are compared too, because a cost or an incumbent changes the evidence.
        now = bandit.version, bandit.number
        if old and (latest is None or (latest.version, latest.number) != now):
            self._start(bandit)
        return latest

    def _start(self, bandit: Bandit) -> None:
        with bandit.lock:
            version, number = bandit.version, bandit.number
            state = bandit.learner.state()
            model = canonical_json(bandit.settings.model)
            incumbent = arm_index(bandit.learner.model, bandit.settings.incumbent)
            errors = bandit.learner.curve_errors
        id, at = bandit.row.id, self._now()
        self._started_at[id] = at
        future = self.run(read, model, state, incumbent, errors)
        if future is None:
            return

        def done(finished: "Future[dict[str, Any]]") -> None:
            if succeeded(finished):
                reading = EvidenceReading(version, number, at, finished.result())
                self._latest[id] = reading
                self._observe(bandit, reading)

        self._running[id] = future
        future.add_done_callback(done)

    def compare(
        self, bandit: Bandit, always: list[Any], policies: list[dict[str, Any]], horizon: int
    ) -> dict[str, Any] | None:
        """What policies would earn, or None while it is being computed. Repeat the call.

        There is one comparison at a time, because it may compile policies and takes long.

        Raises:
            ConflictError: if another comparison is under way.
        """
        arguments = bandit.row.id, always, policies, horizon
        with self._comparing:
            if self._comparison is None or (
                self._comparison[0] != arguments and self._comparison[1].done()
            ):
                with bandit.lock:
                    settings, state = bandit.settings.to_dict(), bandit.learner.state()
                future = self.run(compare, settings, state, always, policies, horizon)
                self._comparison = None if future is None else (arguments, future)
                return None
            if self._comparison[0] != arguments:
                raise ConflictError("another comparison is under way")
            future = self._comparison[1]
            if not future.done():
                return None
            self._comparison = None
        found: dict[str, Any] = future.result()
        return found

    def latest(self, bandit: Bandit) -> EvidenceReading | None:
        """The latest reading, or None. Does not start a new one."""
        return self._latest.get(bandit.row.id)

    def wait(self, bandit: Bandit, seconds: float) -> None:
        """Wait until the reading under way is finished, at most some seconds."""
        running = self._running.get(bandit.row.id)
        if running is not None:
            wait([running], seconds)

    def run(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any] | None":
        """Run a function in the process; None if the process has just died. Then call it again."""
        with self._starting:
            if self._pool is None:
                context = multiprocessing.get_context("spawn")
                # The second process starts only if the first one is busy, as with a comparison.
                self._pool = ProcessPoolExecutor(2, context, initializer=_end_with_parent)
            try:
                return self._pool.submit(function, *arguments)
            except BrokenProcessPool:
                # The worker died. The next call starts a new one.
                self._pool = None
                return None

    def age(self, reading: EvidenceReading) -> float:
        """Seconds since a reading was started."""
        return self._now() - reading.at

    def close(self) -> None:
        """End the process."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


def succeeded(finished: "Future[Any]") -> bool:
    """Whether a computation succeeded. An error is logged, because no caller waits for it."""
    if finished.cancelled():
        return False
    error = finished.exception()
    if error is not None:
        _LOGGER.error("evidence cannot be computed: %r", error)
    return error is None


def _end_with_parent() -> None:
    """End this process when its parent ends, even if the parent is killed. Ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(0)

    threading.Thread(target=wait, name="parent", daemon=True).start()


def read(
    model: str, state: dict[str, Any], incumbent: int | None = None, errors: float = 0.0
) -> dict[str, Any]:
    """The statements of a learner's evidence as JSON values.

    Several unknown numbers have a region instead of an interval, the worth of each arm with its
    bounds (``worths``), and no search for drift. With
    contexts, contenders are those of each of the first contexts, by name.

    Args:
        model: the model as JSON.
        state: the state of the learner.
        incumbent: the arm that earnings are compared with.
        errors: how wrong curves may be where the arms that can be best are computed.
    """
    built: Any = build_model(model)
    cells = cells_of(built)
    stats = decode_statistics(state["statistics"], no_statistics(cells.n_arms))
    evidence = Evidence.restore(cells, state["evidence"], statistics=stats)
    against = evidence.against_model()
    found: dict[str, Any] = {"model": _statement(against) | {"refuted": bool(against.refuted())}}
    if isinstance(built, ContextModel):
        found["contenders"] = {}
        for place, name in enumerate(built.contexts[:_MAX_CONTEXTS]):
            rows = slice(place * built.n_arms, (place + 1) * built.n_arms)
            left = evidence.contenders(ranked=built.in_context(name), rows=rows)
            found["contenders"][name] = _statement(left)
    else:
        found["contenders"] = _statement(evidence.contenders(errors=errors))
    if incumbent is not None:
        found["earnings"] = _statement(evidence.earnings(incumbent))
    found["observed_bounds"] = evidence.observed_bounds().tolist()
    if isinstance(cells, VectorModel):
        return found | {
            "region": _statement(evidence.region()),
            "worths": plain(evidence.worths()),
        }
    drift = evidence.drift()
    return found | {
        "interval": _statement(evidence.interval()),
        "drift": _statement(drift) | {"alarm": drift.alarm},
    }


def compare(
    settings: dict[str, Any],
    state: dict[str, Any],
    always: list[Any],
    policies: list[dict[str, Any]],
    horizon: int,
) -> dict[str, Any]:
    """What policies would earn in the markets that a learner's rewards allow, as JSON values.

    Args:
        settings: the settings of the bandit.
        state: the state of the learner.
        always: values of arms, each of which is a policy that always shows it.
        policies: specifications of further policies.
        horizon: decisions of each policy.
    """
    from globalbandits.counterfactuals import what_if

    model, policy = Settings(**settings).build()
    learner = Learner.restore(policy, model, state, compiled=False)
    named: dict[str, Policy] = {
        f"always {value}": FixedArm(arm=arm_index(model, value, "always") or 0) for value in always
    }
    built = [Policy.from_dict(spec) for spec in policies]
    named |= {policy.label: policy for policy in built}
    found = what_if(learner, named, horizon, markets=COMPARED_MARKETS)
    return {
        "n_rewards": found.n_observations,
        "policies": found.rows(),
        "notes": list(found.notes),
    }


def _statement(statement: Any) -> dict[str, Any]:
    """The numbers of a statement and its text."""
    numbers: dict[str, Any] = plain(statement)
    return numbers | {"text": str(statement)}
