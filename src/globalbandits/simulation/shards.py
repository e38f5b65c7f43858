"""Many simulations on workers, in shards of runs: none is lost when a worker dies."""

import math
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from globalbandits._types import BoolArray
from globalbandits.errors import SimulationError
from globalbandits.simulation.executors import Workers, open_workers
from globalbandits.simulation.records import Records, empty_records, keep
from globalbandits.simulation.requests import Request
from globalbandits.simulation.spreading import play_shard
from globalbandits.simulation.stopping import StopSign

_PATIENCE = 0.1  # seconds between looks at the workers; an interrupt is heard at once
_STEPS = 50_000_000  # of a shard: seconds of work, so that sending it costs nothing
_WAITING = 2  # shards per worker that wait for it
_SHARDS_PER_WORKER = 4  # of one simulation alone
_MOST_DEATHS = 5  # of workers that have the same shard

Report = Callable[[int], None]


class Shard(NamedTuple):
    """Some runs of one request."""

    key: int
    request: Request
    places: slice


class _Assembly:
    """What workers need for a request, and its records as the shards come in."""

    def __init__(self, request: Request, packed: bytes) -> None:
        self.packed = packed
        self.records = empty_records(request.job, request.runs)
        self.finished = np.zeros(request.runs, np.bool_)

    def keep(self, places: slice, part: Records) -> bool:
        """Put a shard's records into their place; whether all are there."""
        keep(self.records, places, part)
        self.finished[places] = True
        return bool(self.finished.all())


def cut(request: Request, n_shards: int) -> list[slice]:
    """Places of the runs of each shard: as many shards as asked for, and so that none is long.

    The records do not depend on it: every run draws from streams of its own.
    """
    n_shards = max(n_shards, math.ceil(request.n_steps / _STEPS))
    n_shards = min(n_shards, request.runs)
    edges = [request.runs * shard // n_shards for shard in range(n_shards + 1)]
    return [slice(low, high) for low, high in pairwise(edges)]


def play_requests(
    workers: Workers,
    requests: Iterator[tuple[int, Request]],
    n_shards: int,
    done: Callable[[int, Request, Records], None],
    failed: Callable[[int, Exception], None],
    report: Report,
    assemblies: dict[int, _Assembly] | None = None,
) -> None:
    """Play requests on workers.

    Args:
        workers: who plays.
        requests: by a key; the next is asked for when workers are about to be free.
        n_shards: into how many shards each is cut, at least.
        done: called with the records of a request when its last shard is in.
        failed: called once for a request that raises, which does not end the others.
        report: told how many steps came in.
        assemblies: what is in of requests that are not whole, for whoever catches an interrupt.
    """
    assemblies = {} if assemblies is None else assemblies
    sign = StopSign()
    queue = _shards(requests, n_shards)
    pending: dict[Future[Records], Shard] = {}
    deaths: dict[tuple[int, int], int] = {}
    given_up: set[int] = set()

    def send(shard: Shard) -> None:
        first = shard.request.first_run + shard.places.start
        n_runs = shard.places.stop - shard.places.start
        packed = assemblies[shard.key].packed
        pending[workers.submit(play_packed, packed, first, n_runs, sign.path)] = shard

    def begin(shard: Shard) -> None:
        try:
            packed = workers.pack(shard.request.job)
        except Exception as error:  # whatever a part of the user's raises, it cannot go
            text = f"executor {workers.name!r} must be sent what it plays, but that"
            give_up(shard.key, _cannot(text, error))
        else:
            assemblies[shard.key] = _Assembly(shard.request, packed)

    def take(future: Future[Records]) -> None:
        shard = pending.pop(future)
        try:
            part = future.result()
        except workers.losses as error:
            place = shard.key, shard.places.start
            deaths[place] = deaths.get(place, 0) + 1
            if deaths[place] < _MOST_DEATHS:
                if shard.key not in given_up:
                    send(shard)
                return
            text = f"executor must keep its workers, but {_MOST_DEATHS} died with the same runs"
            give_up(shard.key, SimulationError(f"{text}: {error}"))
        except Exception as error:
            give_up(shard.key, error)
        else:
            request = shard.request
            n_runs = shard.places.stop - shard.places.start
            assembly = assemblies.get(shard.key)  # none, if the request was given up
            whole = assembly is not None and assembly.keep(shard.places, part)
            report(n_runs * request.job.horizon * len(request.job.policies))
            if assembly is not None and whole:
                done(shard.key, request, assembly.records)
                del assemblies[shard.key]

    def give_up(key: int, error: Exception) -> None:
        if key not in given_up:
            given_up.add(key)
            assemblies.pop(key, None)
            failed(key, error)

    try:
        while True:
            while len(pending) < _WAITING * workers.n_workers:
                shard = next(queue, None)
                if shard is None:
                    break
                if shard.key not in assemblies and shard.key not in given_up:
                    begin(shard)
                if shard.key not in given_up:
                    send(shard)
            if not pending:
                break
            ended, _ = wait(pending, _PATIENCE, return_when="FIRST_COMPLETED")
            for future in ended:
                take(future)
        sign.remove()
    except BaseException:
        for future in pending:
            future.cancel()
        sign.raise_for(pending)
        raise


def play_packed(packed: bytes, first_run: int, n_runs: int, sign: str | None) -> Records:
    """Play some runs of a job that comes as bytes: one that cannot be read ends no worker."""
    try:
        job = pickle.loads(packed)
    except Exception as error:
        raise _cannot("workers must be able to import what they play, but one", error) from None
    return play_shard(job, first_run, n_runs, sign)


def _cannot(text: str, error: Exception) -> SimulationError:
    return SimulationError(f"{text} failed: {type(error).__name__}: {error}")


def _shards(requests: Iterator[tuple[int, Request]], n_shards: int) -> Iterator[Shard]:
    for key, request in requests:
        for places in cut(request, n_shards):
            yield Shard(key, request, places)


def play_request(request: Request, executor: str, report: Report) -> tuple[Records, BoolArray]:
    """Play one request on workers by name; its records, and which runs are in.

    A keyboard interrupt gives up the shards that are not finished.
    """
    found: list[Records] = []
    assemblies: dict[int, _Assembly] = {}
    total = 0

    def done(_key: int, _request: Request, records: Records) -> None:
        found.append(records)

    def failed(_key: int, error: Exception) -> None:
        raise error

    def count(n_steps: int) -> None:
        nonlocal total
        total += n_steps
        report(total)

    with open_workers(executor) as workers:
        n_shards = _SHARDS_PER_WORKER * workers.n_workers
        try:
            play_requests(workers, iter([(0, request)]), n_shards, done, failed, count, assemblies)
        except KeyboardInterrupt:
            if not found and 0 not in assemblies:
                raise
    if found:
        return found[0], np.ones(request.runs, np.bool_)
    return assemblies[0].records, assemblies[0].finished
