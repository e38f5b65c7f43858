"""The history of a bandit's evidence, recomputed from its log in the reader's process."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from globalbandits._plain_data import plain
from globalbandits._rewards import as_summary
from globalbandits.evidence import Evidence
from globalbandits.model import VectorModel
from globalbandits.service.evidence_reader import EvidenceReader, succeeded
from globalbandits.service.log.bandit import Bandit
from globalbandits.service.log.settings import build_model, canonical_json, cells_of
from globalbandits.service.stores.store import Store

_MAX_POINTS = 200  # per history
MAX_EVENTS = 5_000  # longer logs are not replayed for a history


class EvidenceHistory:
    """The histories of the bandits that are displayed.

    Each point is computed once. A log of more than `MAX_EVENTS` events is not replayed; the latest
    readings are appended instead.

    Args:
        store: the store of the log.
        readings: the reader whose process computes the points.
        seconds: the time between two computations for a bandit.
        now: a monotonic clock.
    """

    def __init__(
        self,
        store: Store,
        readings: EvidenceReader,
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
        self._started_at: dict[int, float] = {}

    def ask(self, bandit: Bandit) -> list[dict[str, Any]] | None:
        """The points computed until now, or None. A later call may return more."""
        id, version = bandit.row.id, bandit.version
        model = canonical_json(bandit.settings.model)
        if self._models.get(id) != model:
            # The evidence depends on the curves, so a new model discards all points.
            self._models[id], self._points[id] = model, {}
        points = self._points[id]
        running = self._running.get(id)
        idle = running is None or running.done()
        old = self._now() - self._started_at.get(id, -math.inf) >= self._seconds
        due = 0 < version <= MAX_EVENTS and version not in points
        if idle and due and (old or not points):
            self._start(bandit, model, version)
        elif version > MAX_EVENTS:
            self._add_reading(bandit, points)
        if version == 0:
            return []
        # A copy, because another thread may change the points.
        known = dict(points)
        return [known[mark] for mark in sorted(known)][-_MAX_POINTS:] if known else None

    def _start(self, bandit: Bandit, model: str, version: int) -> None:
        id = bandit.row.id
        self._started_at[id] = self._now()
        rows = self._store.events(id, 0, version)
        events = [
            (row.kind, bandit.cell(row.arm, row.context), row.value, row.n_rewards) for row in rows
        ]
        if len(events) != version:
            # The first events were pruned.
            self._add_reading(bandit, self._points[id])
            return
        points = self._points[id]
        future = self._readings.run(trace, model, events, list(points))
        if future is None:
            return

        def done(finished: "Future[dict[int, dict[str, Any]]]") -> None:
            if not succeeded(finished):
                return
            lasting = set(marks(version))
            for mark in [mark for mark in points if mark not in lasting]:
                # The last point of a shorter history is not one of the permanent marks.
                del points[mark]
            points.update(finished.result())

        self._running[id] = future
        future.add_done_callback(done)

    def _add_reading(self, bandit: Bandit, points: dict[int, dict[str, Any]]) -> None:
        reading = self._readings.ask(bandit)
        if reading is None:
            return
        model = reading.evidence["model"]
        # Several unknown numbers have no interval.
        interval = reading.evidence.get("interval", {"low": None, "high": None})
        for mark in sorted(points)[: -_MAX_POINTS + 1]:
            points.pop(mark, None)
        points[reading.version] = {
            "version": reading.version,
            "theta": model["theta"],
            "low": interval["low"],
            "high": interval["high"],
            "log_e_value": model["log_e_value"],
        }


def marks(version: int) -> list[int]:
    """Versions at which a history is drawn, denser at the start. The last one is ``version``.

    All marks but the last are permanent: they are also the marks of longer logs.

    >>> marks(20)
    [1, 2, 3, 4, 5, 7, 9, 12, 15, 19, 20]
    """
    found, mark = [], 1
    while mark < version:
        found.append(mark)
        mark = max(mark + 1, math.ceil(mark * 1.25))
    return [*found, version] if version else []


def trace(
    model: str, events: Sequence[tuple[str, int, float, int]], known: Iterable[int]
) -> dict[int, dict[str, Any]]:
    """The evidence at each mark: least refuted theta, interval, e-value against the model.

    Args:
        model: the model as JSON.
        events: kind, arm (a cell, with contexts), value and count of all events, from the first.
        known: versions to skip, because their evidence is already known.
    """
    evidence = Evidence(cells_of(build_model(model)))
    wanted = set(marks(len(events))) - set(known)
    found = {}
    low, high = evidence.model.reward_range
    for version, (kind, arm, value, count) in enumerate(events, 1):
        rewards = [value]
        if count > 1:
            rewards = [low + (high - low) * unit for unit in as_summary(value, count, (low, high))]
        for reward in rewards if kind != "decision" else []:
            if kind == "retraction":
                evidence.forget(arm, reward)
            else:
                evidence.update(arm, reward)
        if version in wanted:
            against = evidence.against_model()
            # The bounds of several unknown numbers take seconds, so a history has none.
            bounds: tuple[float | None, float | None] = (None, None)
            if not isinstance(evidence.model, VectorModel):
                span = evidence.interval()
                bounds = span.low, span.high
            point = (version, against.theta, *bounds, against.log_e_value)
            names = ("version", "theta", "low", "high", "log_e_value")
            found[version] = dict(zip(names, plain(point), strict=True))
    return found
