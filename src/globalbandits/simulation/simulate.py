"""`simulate`: policies in an environment, many runs of them, close to the cost of drawing."""

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
from globalbandits.simulation.executors import check_executor
from globalbandits.simulation.progress import progress_bar
from globalbandits.simulation.requests import prepare
from globalbandits.simulation.result import SimulationResult
from globalbandits.simulation.shards import play_request
from globalbandits.simulation.spreading import available_cores, play_in_executor, play_in_threads
from globalbandits.simulation.warming import compiled_arena


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
    progress: bool = False,
) -> SimulationResult:
    """Let policies act in an environment.

    All policies of a run see the same uniform numbers behind the rewards, the same path of
    the parameter and the same bias, so differences between them are paired. The result
    depends on nothing but the arguments up to ``spacing``, ``first_run`` and ``stop``: not on
    threads, executor, the order of policies or which other ones run beside.

    Ctrl-C ends the simulation within a second and returns the runs that are finished, with
    a warning; without a finished run the KeyboardInterrupt goes on.

    Args:
        env: the environment.
        policies: policies with different labels, or a mapping from names to policies.
        horizon: time steps of a run, at most 2**40.
        runs: number of runs, at most 2**31.
        seed: of all randomness, from 0 to 2**128 - 1.
        checkpoints: at most how many times to record, or the time steps themselves.
        spacing: "linear" or "log" between checkpoints.
        executor: where to play the runs, in shards; threads of this process by default.
            "processes", "joblib", "dask" (a cluster on this machine) or "dask://HOST:PORT", where
            a worker that dies loses nothing; or an executor of your own. Processes work for
            policies, noises and drifts that can be imported; means may be any functions.
        threads: how many threads; as many as there are cores by default.
        first_run: number of the first run, to continue an earlier simulation.
        stop: a rule that ends runs early. Their regret stays as it is from then on, and the
            result says when and why they were stopped.
        evidence: record at the checkpoints what the rewards say: the 95 % interval of the
            parameter, the e-value against the model, and which arms can still be best. Each
            checkpoint of a run then costs some milliseconds: choose few.
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
    if executor is not None and not hasattr(executor, "submit"):
        check_executor(executor)
    request = prepare(
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
    )
    job, runs, first_run = request.job, request.runs, request.first_run
    # This compiles everything, and warns of what cannot be compiled.
    arena = compiled_arena(job, States(job.seed, first_run, runs), shown=progress)
    import_module("xarray")  # which takes a second, and Ctrl-C may come when the runs are done
    played = None
    try:
        with progress_bar(request.n_steps, progress) as report:
            if isinstance(executor, str) and executor != "threads":
                played = play_request(request, executor, report)
            elif executor is not None and not isinstance(executor, str):
                played = play_in_executor(job, executor, first_run, runs, report)
            else:
                n_threads = threads or available_cores()
                played = play_in_threads(arena, first_run, runs, n_threads, report)
    except KeyboardInterrupt:  # too late to stop anything, if all has been played
        if played is None:
            raise
    records, finished = played
    n_finished = int(finished.sum())
    if n_finished == 0:
        raise KeyboardInterrupt
    if n_finished < runs:
        text = f"interrupted: the result holds {n_finished} of {runs} runs"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    return request.result(records, finished)


def whole(result: SimulationResult, runs: int) -> SimulationResult:
    """The result, for whom only all of the runs will do: else the interrupt goes on.

    Args:
        result: of `simulate`.
        runs: how many were asked for.
    """
    if result.dataset.sizes["run"] < runs:
        raise KeyboardInterrupt
    return result
