"""How the evidence of a bandit came about, computed from its log in the reading process."""

import math
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from globalbandits.service.bandit import Bandit
from globalbandits.service.pictures import MOST_EVENTS, marks, trace
from globalbandits.service.readings import Readings, worked
from globalbandits.service.stores.base import Store
from globalbandits.service.texts import plain_json

_MOST = 200  # points of a history


class Histories:
    """The histories of bandits that somebody looks at.

    Marks of the past are computed once. Beyond some thousand events the log is not gone through
    again: the latest readings are added at the end.

    Args:
        store: where the log is.
        readings: whose process computes.
        seconds: between two histories of a bandit.
        now: a steady clock.
    """

    def __init__(
        self,
        store: Store,
        readings: Readings,
        seconds: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._readings = readings
        self._seconds = seconds
        self._now = now
        self._points: dict[int, dict[int, dict[str, Any]]] = {}
        self._models: dict[int, str] = {}
        self._running: dict[int, Future[dict[int, dict[str, Any]]]] = {}
        self._begun: dict[int, float] = {}

    def ask(self, bandit: Bandit) -> list[dict[str, Any]] | None:
        """The points that are known; None if there are none yet. More may be on their way."""
        id, version = bandit.row.id, bandit.version
        model = plain_json(bandit.settings.model)
        if self._models.get(id) != model:  # its curves count from now on, also for the past
            self._models[id], self._points[id] = model, {}
        points = self._points[id]
        running = self._running.get(id)
        idle = running is None or running.done()
        old = self._now() - self._begun.get(id, -math.inf) >= self._seconds
        due = 0 < version <= MOST_EVENTS and version not in points
        if idle and due and (old or not points):
            self._begin(bandit, model, version)
        elif version > MOST_EVENTS:
            self._add_reading(bandit, points)
        if version == 0:
            return []
        known = dict(points)  # as they are now: another thread may be about to change them
        return [known[mark] for mark in sorted(known)][-_MOST:] if known else None

    def _begin(self, bandit: Bandit, model: str, version: int) -> None:
        id = bandit.row.id
        self._begun[id] = self._now()
        rows = self._store.events(id, 0, version)
        events = [(row.kind, row.arm, row.value) for row in rows]
        if len(events) != version:  # the beginning was pruned
            self._add_reading(bandit, self._points[id])
            return
        points = self._points[id]
        future = self._readings.run(trace, model, events, list(points))
        if future is None:
            return

        def done(finished: "Future[dict[int, dict[str, Any]]]") -> None:
            if not worked(finished):
                return
            lasting = set(marks(version))
            for mark in [mark for mark in points if mark not in lasting]:
                del points[mark]  # the end of an earlier history
            points.update(finished.result())

        self._running[id] = future
        future.add_done_callback(done)

    def _add_reading(self, bandit: Bandit, points: dict[int, dict[str, Any]]) -> None:
        reading = self._readings.ask(bandit)
        if reading is None:
            return
        interval, model = reading.evidence["interval"], reading.evidence["model"]
        for mark in sorted(points)[: -_MOST + 1]:  # nobody is shown more of them
            points.pop(mark, None)
        points[reading.version] = {
            "version": reading.version,
            "theta": model["theta"],
            "low": interval["low"],
            "high": interval["high"],
            "log_e_value": model["log_e_value"],
        }
