"""`simulate`: play many runs of policies in an environment."""

import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from importlib import import_module

from globalbandits._random import States
from globalbandits._validation import as_integer
from globalbandits.environments import Environment
from globalbandits.errors import SimulationError
from globalbandits.policies import StopWhen
from globalbandits.policies.base import Policy
from globalbandits.simulation.play.arena import compiled_arena
from globalbandits.simulation.progress import progress_bar
from globalbandits.simulation.result import SimulationResult
from globalbandits.simulation.simulation_request import make_request
from globalbandits.simulation.workers import check_executor, open_workers, play_request


def simulate(
    env: Environment,
    policies: Sequence[Policy] | Mapping[str, Policy],
    horizon: int,
    runs: int = 100,
    seed: int = 0,
    *,
    checkpoints: int | Sequence[int] = 200,
    spacing: str = "linear",
    executor: Executor | str | None = None,
    threads: int | None = None,
    first_run: int = 0,
    stop: StopWhen | None = None,
    evidence: bool = False,
    batch: int = 1,
    progress: bool = False,
) -> SimulationResult:
    """Play policies in an environment.

    In each run all policies share the uniform numbers behind the rewards, the path of the parameter
    and the bias, so differences between policies are paired. The result depends only on the
    arguments up to ``spacing``, ``first_run``, ``stop`` and ``batch``. The numbers of a policy do
    not depend on threads, the executor or the other policies.

    Ctrl-C ends the simulation within a second and returns the finished runs with a warning. If no
    run is finished, it raises KeyboardInterrupt.

    Args:
        env: the environment.
        policies: policies with different labels, or a mapping from names to policies.
        horizon: time steps of a run, at most 2**40.
        runs: number of runs, at most 2**31.
        seed: seed of all randomness, from 0 to 2**128 - 1.
        checkpoints: the time steps to record, or their maximum number.
        spacing: "linear" or "log", for a number of checkpoints.
        executor: where to play the runs: "threads" of this process (the default), "processes",
            "joblib", "dask" (a cluster on this machine), "dask://HOST:PORT" or your own executor.
            If a worker dies, its runs are played again, except on your own executor. Processes
            need policies, noises and drifts that can be imported; means may be any functions.
        threads: number of threads; the number of cores by default.
        first_run: number of the first run, to continue an earlier simulation.
        stop: a rule that ends runs early. Regret is constant after the stop, and the result holds
            the time and the reason.
        evidence: record the evidence at the checkpoints: the 95 % interval of the parameter, the
            e-value against the model, and which arms can still be best. Each checkpoint of a run
            then takes some milliseconds, so choose few.
        batch: number of decisions that are made without each other's rewards, as for a price that
            is set for a day. The rewards of a batch become known together after its last decision.
        progress: show a progress bar.

    >>> import globalbandits as gb
    >>> model = gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8])
    >>> env = Environment(model, theta=0.4)
    >>> result = simulate(env, [gb.WAGP(), gb.UCB1()], horizon=1_000, runs=20)
    >>> result.summary()["regret_mean"].round(1).to_dict()
    {'WAGP': 0.4, 'UCB1': 25.4}
    """
    if threads is not None:
        threads = as_integer("threads", threads, 1, SimulationError)
    if executor is None:
        executor = "threads"
    if not hasattr(executor, "submit"):
        check_executor(executor)
    request = make_request(
        env,
        policies,
        horizon,
        runs,
        seed,
        checkpoints=checkpoints,
        spacing=spacing,
        first_run=first_run,
        stop=stop,
        evidence=evidence,
        batch=batch,
    )
    job = request.job
    # The first arena compiles everything and warns about rules that cannot be compiled.
    states = States(job.seed, request.first_run, request.runs)
    arena = compiled_arena(job, states, shown=progress)
    # The result needs xarray, whose import takes a second. An interrupt after the runs must not
    # wait for it.
    import_module("xarray")
    played = None
    try:
        with (
            progress_bar(request.n_steps, progress) as on_steps,
            open_workers(executor, threads if executor == "threads" else None, arena) as workers,
        ):
            played = play_request(workers, request, on_steps)
    except KeyboardInterrupt:
        if played is None:
            raise
    records, finished = played
    n_finished = int(finished.sum())
    if n_finished == 0:
        raise KeyboardInterrupt
    if n_finished < request.runs:
        text = f"interrupted: the result holds {n_finished} of {request.runs} runs"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    return request.result(records, finished)


def require_all_runs(result: SimulationResult, runs: int) -> SimulationResult:
    """Return a result; raise KeyboardInterrupt if it has fewer runs.

    Use it where an interrupted simulation is an error.
    """
    if result.dataset.sizes["run"] < runs:
        raise KeyboardInterrupt
    return result
