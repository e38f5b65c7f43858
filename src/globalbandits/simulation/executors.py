"""Workers by name: processes of this machine, joblib's, or a Dask cluster's.

All of them are executors of the standard library's kind. What differs is how they start, and what
it looks like when one of their processes dies.
"""

import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

from globalbandits._validation import did_you_mean, show
from globalbandits.errors import SimulationError
from globalbandits.simulation.spreading import available_cores

Pack = Callable[[Any], bytes]

NAMES = ("threads", "processes", "joblib", "dask", "dask://HOST:PORT")


class Workers:
    """An executor that can be made again when it is broken.

    Args:
        make: makes the executor.
        n_workers: how many of them work at once.
        name: what messages call it.
        pack: turns what is sent to workers into bytes, which `pickle.loads` reads.
        losses: errors of a call that say that its worker is lost, and not that the call failed.
    """

    def __init__(
        self,
        make: Callable[[], Executor],
        n_workers: int,
        name: str,
        pack: Pack = pickle.dumps,
        losses: tuple[type[BaseException], ...] = (BrokenExecutor,),
    ) -> None:
        self._make = make
        self._executor = make()
        self.n_workers = n_workers
        self.name = name
        self.pack = pack
        self.losses = losses

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Call a function somewhere; a broken executor is made again first."""
        try:
            return self._executor.submit(function, *arguments)
        except BrokenExecutor:
            self._executor.shutdown(wait=False)
            self._executor = self._make()
            return self._executor.submit(function, *arguments)

    def close(self) -> None:
        """Let go of the executor; nobody waits for what it still does."""
        self._executor.shutdown(wait=False)


def check_executor(name: object) -> str:
    """Return the name of an executor, or refuse it.

    >>> check_executor("dask://10.0.0.7:8786")
    'dask://10.0.0.7:8786'
    """
    if isinstance(name, str):
        place = name.removeprefix("dask://")
        host, _, port = place.rpartition(":")
        if name in NAMES[:4] or (place != name and host and port.isdigit()):
            return name
    rule = f"be one of {', '.join(NAMES)}"
    hint = did_you_mean(name, NAMES[:4])
    raise SimulationError(f"executor must {rule}, got {show(name)}{hint}")


@contextmanager
def open_workers(name: str, n_workers: int | None = None) -> Iterator[Workers]:
    """Workers of that name, as long as the block lasts; not for "threads".

    Args:
        name: one of `NAMES`.
        n_workers: how many; as many as there are cores, or as the cluster has, by default.
    """
    check_executor(name)
    if name.startswith("dask"):
        with _dask_workers(name, n_workers) as workers:
            yield workers
        return
    number = n_workers or available_cores()
    make, pack = _loky(number) if name == "joblib" else (_processes(number), pickle.dumps)
    workers = Workers(make, number, name, pack)
    try:
        yield workers
    finally:
        workers.close()


def _processes(n_workers: int) -> Callable[[], Executor]:
    # Not forked: a process with threads and compiled code must not be.
    context = multiprocessing.get_context("spawn")
    return lambda: ProcessPoolExecutor(n_workers, mp_context=context)


def _loky(n_workers: int) -> tuple[Callable[[], Executor], Pack]:
    try:
        from cloudpickle import dumps
        from joblib.externals.loky import get_reusable_executor
    except ImportError as error:
        raise _missing("joblib", "joblib") from error

    def make() -> Executor:
        executor: Executor = get_reusable_executor(max_workers=n_workers, timeout=300)
        return executor

    return make, dumps


@contextmanager
def _dask_workers(name: str, n_workers: int | None) -> Iterator[Workers]:
    try:
        from cloudpickle import dumps
        from distributed import Client, LocalCluster
        from distributed.scheduler import KilledWorker
    except ImportError as error:
        raise _missing(name, "distributed") from error
    cluster = None
    if name == "dask":
        cluster = LocalCluster(
            n_workers=n_workers or available_cores(),
            threads_per_worker=1,
            dashboard_address=None,
        )
    address = name.replace("dask://", "tcp://") if cluster is None else cluster
    try:
        client = Client(address, set_as_default=False, timeout="5s")
    except OSError as error:
        raise SimulationError(
            f"executor must be a running Dask cluster, got {name!r}: {error}"
        ) from error
    try:
        number = sum(client.nthreads().values()) or 1
        losses = (KilledWorker, CancelledError, BrokenExecutor)
        make = partial(client.get_executor, pure=False, retries=5)
        yield Workers(make, number, name, dumps, losses)
    finally:
        client.close()
        if cluster is not None:
            cluster.close()


def _missing(name: str, package: str) -> SimulationError:
    text = f"executor {name!r} needs {package}: pip install 'globalbandits[cluster]'"
    return SimulationError(text)
