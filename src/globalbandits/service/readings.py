"""Evidence, computed in another process: it takes up to some tenths of a second.

A reading is begun only when somebody asks, and at most every few seconds for a bandit. Answers say
which version they are of.
"""

import logging
import math
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, NamedTuple

from globalbandits._encoding import plain
from globalbandits.service.bandit import Bandit
from globalbandits.service.settings import index_of
from globalbandits.service.texts import plain_json

SECONDS = 5.0  # between two readings of a bandit
_LOGGER = logging.getLogger("globalbandits.service")


class Reading(NamedTuple):
    """What the rewards said at a version, under settings of a number."""

    version: int
    number: int
    at: float  # seconds of a steady clock
    evidence: dict[str, Any]


class Readings:
    """The latest readings of all bandits, and the process that makes new ones.

    Args:
        seconds: between two readings of a bandit.
        now: a steady clock.
    """

    def __init__(self, seconds: float = SECONDS, now: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._now = now
        self._starting = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._latest: dict[int, Reading] = {}
        self._running: dict[int, Future[dict[str, Any]]] = {}
        self._begun: dict[int, float] = {}

    def ask(self, bandit: Bandit) -> Reading | None:
        """The latest reading, if there is one; a new one is begun if it is time for it."""
        id = bandit.row.id
        running = self._running.get(id)
        if running is not None and not running.done():
            return self._latest.get(id)
        latest = self._latest.get(id)
        old = self._now() - self._begun.get(id, -math.inf) >= self._seconds
        now = bandit.version, bandit.number  # a cost or an incumbent changes what rewards say
        if old and (latest is None or (latest.version, latest.number) != now):
            self._begin(bandit)
        return latest

    def _begin(self, bandit: Bandit) -> None:
        with bandit.lock:
            version, number = bandit.version, bandit.number
            state = bandit.learner.state()
            model = plain_json(bandit.settings.model)
            incumbent = index_of(bandit.learner.model, bandit.settings.incumbent)
        id, at = bandit.row.id, self._now()
        self._begun[id] = at
        future = self.run(read, model, state, incumbent)
        if future is None:
            return

        def done(finished: "Future[dict[str, Any]]") -> None:
            if worked(finished):
                self._latest[id] = Reading(version, number, at, finished.result())

        self._running[id] = future
        future.add_done_callback(done)

    def run(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any] | None":
        """Have something computed in the process; None if it has just ended: ask again."""
        with self._starting:
            if self._pool is None:
                context = multiprocessing.get_context("spawn")
                self._pool = ProcessPoolExecutor(1, context, initializer=_stay_with_parent)
            try:
                return self._pool.submit(function, *arguments)
            except BrokenProcessPool:  # it was killed: the next one asks a new one
                self._pool = None
                return None

    def age(self, reading: Reading) -> float:
        """Seconds since a reading was begun."""
        return self._now() - reading.at

    def close(self) -> None:
        """End the process."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


def worked(finished: "Future[Any]") -> bool:
    """Whether something was computed; a mistake is logged, as nobody waits for it."""
    if finished.cancelled():
        return False
    error = finished.exception()
    if error is not None:
        _LOGGER.error("evidence cannot be computed: %r", error)
    return error is None


def _stay_with_parent() -> None:
    """End with the process that asks, in whatever way it ends; Ctrl-C is for that one alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(0)

    threading.Thread(target=wait, name="parent", daemon=True).start()


def read(model: str, state: dict[str, Any], incumbent: int | None = None) -> dict[str, Any]:
    """What a learner's rewards say, as plain data.

    Args:
        model: as JSON.
        state: of the learner.
        incumbent: the arm that earnings are held against.
    """
    from globalbandits.evidence import Evidence
    from globalbandits.evidence.saving import decode_statistics
    from globalbandits.service.settings import build_model
    from globalbandits.statistics import no_statistics

    built = build_model(model)
    stats = decode_statistics(state["statistics"], no_statistics(built.n_arms))
    evidence = Evidence.restore(built, state["evidence"], statistics=stats)
    against = evidence.against_model()
    drift = evidence.drift()
    earnings = {} if incumbent is None else {"earnings": _said(evidence.earnings(incumbent))}
    return earnings | {
        "interval": _said(evidence.interval()),
        "model": _said(against) | {"refuted": bool(against.refuted())},
        "contenders": _said(evidence.contenders()),
        "drift": _said(drift) | {"alarm": drift.alarm},
    }


def _said(statement: Any) -> dict[str, Any]:
    """A statement's numbers and its sentence."""
    numbers: dict[str, Any] = plain(statement)
    return numbers | {"text": str(statement)}
