"""The one loop that plays simulations on workers, whatever the workers are.

Each request is cut into shards of runs. The loop keeps the workers busy, stores the shards that
come back, sends a shard again when its worker died, and keeps what is finished when it is
interrupted.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, wait
from typing import NamedTuple

from globalbandits._types import BoolArray
from globalbandits.errors import SimulationError
from globalbandits.simulation.executors import RequestInPlay, Workers
from globalbandits.simulation.records import Records
from globalbandits.simulation.requests import Request

POLL_SECONDS = 0.1  # an interrupt is noticed at once, also between polls
SHARDS_PER_WORKER = 8  # so that all workers end at about the same time
MAX_DEATHS_PER_SHARD = 5

OnSteps = Callable[[int], None]  # called with the number of steps played since the last call


class Shard(NamedTuple):
    """Some runs of one request."""

    key: int
    request: Request
    places: slice


class ShardLoop:
    """Plays requests on workers.

    Args:
        workers: the workers.
        on_finished: called with the key of a request and its records when all its runs are played.
        on_failed: called once for a request that fails. The other requests go on.
        on_steps: called with the number of steps that were played since the last call.
    """

    def __init__(
        self,
        workers: Workers,
        *,
        on_finished: Callable[[int, RequestInPlay], None],
        on_failed: Callable[[int, Exception], None],
        on_steps: OnSteps,
    ) -> None:
        self._workers = workers
        self._on_finished = on_finished
        self._on_failed = on_failed
        self._on_steps = on_steps
        self._pending: dict[Future[Records | None], Shard] = {}
        self._deaths: dict[tuple[int, int], int] = {}
        self._closed: set[int] = set()  # keys of requests that are finished or have failed
        self.in_play: dict[int, RequestInPlay] = {}

    def play(self, requests: Iterator[tuple[int, Request]], n_requests: int) -> None:
        """Play all requests.

        If it is interrupted, ``in_play`` holds the requests that are not complete.

        Args:
            requests: by a key. The next one is taken when workers are about to be free.
            n_requests: how many there are. Few requests are cut into more shards.
        """
        n_shards = math.ceil(SHARDS_PER_WORKER * self._workers.n_workers / max(n_requests, 1))
        shards = (
            Shard(key, request, places)
            for key, request in requests
            for places in self._workers.cut(request, n_shards)
        )
        try:
            while True:
                self._fill(shards)
                if not self._pending:
                    return
                done, _ = wait(self._pending, POLL_SECONDS, return_when="FIRST_COMPLETED")
                for future in done:
                    self._take(future)
        except BaseException:
            self._workers.stop(self._pending)
            self._keep_what_is_done()
            raise

    def _fill(self, shards: Iterator[Shard]) -> None:
        """Send shards until the workers have enough."""
        while len(self._pending) < self._workers.max_pending:
            shard = next(shards, None)
            if shard is None:
                return
            if shard.key not in self.in_play and shard.key not in self._closed:
                self._begin(shard)
            if shard.key not in self._closed:
                self._send(shard)

    def _begin(self, shard: Shard) -> None:
        request_in_play = RequestInPlay(shard.request)
        try:
            self._workers.prepare(request_in_play, self._on_steps)
        except Exception as error:
            self._fail(shard.key, error)
        else:
            self.in_play[shard.key] = request_in_play

    def _send(self, shard: Shard) -> None:
        future = self._workers.submit(self.in_play[shard.key], shard.places)
        self._pending[future] = shard

    def _take(self, future: Future[Records | None]) -> None:
        """Store the records of a shard that was played, or send it again if its worker died."""
        shard = self._pending.pop(future)
        try:
            part = future.result()
        except self._workers.losses as error:
            self._send_again(shard, error)
        except BrokenExecutor:  # it cannot be replaced: nothing more can be played
            raise
        except Exception as error:
            self._fail(shard.key, error)
        else:
            self._store(shard, part)

    def _send_again(self, shard: Shard, error: BaseException) -> None:
        place = shard.key, shard.places.start
        self._deaths[place] = self._deaths.get(place, 0) + 1
        if self._deaths[place] == MAX_DEATHS_PER_SHARD:
            self._fail(
                shard.key,
                SimulationError(
                    f"executor must keep its workers, but {MAX_DEATHS_PER_SHARD} died "
                    f"with the same runs: {error}"
                ),
            )
        elif shard.key not in self._closed:
            self._send(shard)

    def _store(self, shard: Shard, part: Records | None) -> None:
        request_in_play = self.in_play.get(shard.key)
        if request_in_play is not None:
            request_in_play.store(shard.places, part)
        if part is not None:
            n_runs = shard.places.stop - shard.places.start
            job = shard.request.job
            self._on_steps(n_runs * job.horizon * len(job.policies))
        if request_in_play is not None and request_in_play.finished.all():
            try:
                self._on_finished(shard.key, request_in_play)
            except Exception as error:
                self._fail(shard.key, error)
            else:
                self._closed.add(shard.key)
                del self.in_play[shard.key]

    def _fail(self, key: int, error: Exception) -> None:
        if key in self._closed:
            return
        self._closed.add(key)
        request_in_play = self.in_play.pop(key, None)
        if request_in_play is not None:
            self._workers.abandon(request_in_play)
        self._on_failed(key, error)

    def _keep_what_is_done(self) -> None:
        """Store the shards that have ended since the last poll."""
        for future, shard in self._pending.items():
            played = future.done() and not future.cancelled() and future.exception() is None
            if played and shard.key in self.in_play:
                self.in_play[shard.key].store(shard.places, future.result())


def play_request(
    workers: Workers, request: Request, on_steps: OnSteps
) -> tuple[Records, BoolArray]:
    """Play one request; returns its records and which of its runs are finished.

    A keyboard interrupt, or an executor of the user's that breaks, ends the runs that are not
    finished. Finished runs are kept.
    """
    finished: list[RequestInPlay] = []

    def fail(_key: int, error: Exception) -> None:
        raise error

    loop = ShardLoop(
        workers,
        on_finished=lambda _key, request_in_play: finished.append(request_in_play),
        on_failed=fail,
        on_steps=on_steps,
    )
    try:
        loop.play(iter([(0, request)]), 1)
    except (KeyboardInterrupt, BrokenExecutor) as error:
        finished += loop.in_play.values()
        if isinstance(error, BrokenExecutor):
            _report_dead_worker(error, any(played.finished.any() for played in finished))
        elif not finished:
            raise
    return finished[0].records, finished[0].finished


def _report_dead_worker(error: BrokenExecutor, is_any_finished: bool) -> None:
    """Warn that runs are lost with a worker that died. It is an error if no run is finished."""
    if not is_any_finished:
        text = "executor must keep its workers until a run is finished, but one died"
        raise SimulationError(f"{text}: {error}") from error
    text = f"a worker of the executor died, and the runs not finished are lost: {error}"
    warnings.warn(text, RuntimeWarning, stacklevel=4)
