"""`simulate`: policies in an environment, many runs of them, close to the cost of drawing."""

import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from importlib import import_module
from typing import Any

from globalbandits._random import States
from globalbandits._validation import as_integer, as_seed, require
from globalbandits._version import __version__
from globalbandits.environments import Environment
from globalbandits.errors import SimulationError
from globalbandits.policies import StopWhen
from globalbandits.policies.base import Policy
from globalbandits.simulation.arena import Arena
from globalbandits.simulation.checkpoints import MAX_HORIZON, MAX_RUNS, checkpoint_times
from globalbandits.simulation.job import Job, make_job
from globalbandits.simulation.progress import progress_bar
from globalbandits.simulation.result import SimulationResult, make_result
from globalbandits.simulation.spreading import available_cores, play_in_executor, play_in_threads
from globalbandits.simulation.warming import compiling_engine


def simulate(
    env: Environment,
    policies: Sequence[Policy] | Mapping[str, Policy],
    horizon: int,
    runs: int = 100,
    seed: int = 0,
    *,
    checkpoints: int | Sequence[int] = 200,
    spacing: str = "linear",
    executor: Executor | None = None,
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
        executor: where to play the runs, in shards; threads of this process by default. A
            process pool works for policies, noises and drifts that can be imported.
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
    named = _as_named(policies)
    require(isinstance(env, Environment), "env", "be an Environment", env, SimulationError)
    horizon = as_integer("horizon", horizon, 1, SimulationError, maximum=MAX_HORIZON)
    runs = as_integer("runs", runs, 1, SimulationError, maximum=MAX_RUNS)
    seed = as_seed(seed, SimulationError)
    first_run = as_integer("first_run", first_run, 0, SimulationError)
    if threads is not None:
        threads = as_integer("threads", threads, 1, SimulationError)
    if env.drift is not None:
        rule = f"be at most {env.drift.last_time}, where the drift's path ends"
        require(horizon <= env.drift.last_time, "horizon", rule, horizon, SimulationError)
    if stop is not None:
        require(isinstance(stop, StopWhen), "stop", "be a StopWhen", stop, SimulationError)
    times = checkpoint_times(horizon, checkpoints, spacing)
    job = make_job(env, named, horizon, times, seed, evidence=evidence, stop=stop)
    # This compiles everything, and warns of what cannot be compiled.
    arena = Arena(job, compiling_engine(job, shown=progress), States(seed, first_run, runs))
    import_module("xarray")  # which takes a second, and Ctrl-C may come when the runs are done
    with progress_bar(runs * horizon * len(named), progress) as report:
        if executor is not None:
            records, finished = play_in_executor(job, executor, first_run, runs, report)
        else:
            n_threads = threads or available_cores()
            records, finished = play_in_threads(arena, first_run, runs, n_threads, report)
    n_finished = int(finished.sum())
    if n_finished == 0:
        raise KeyboardInterrupt
    if n_finished < runs:
        text = f"interrupted: the result holds {n_finished} of {runs} runs"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    return make_result(job, env, records, finished, first_run, _description(env, job, runs, stop))


def _as_named(policies: Sequence[Policy] | Mapping[str, Policy]) -> dict[str, Policy]:
    if isinstance(policies, Mapping):
        named = dict(policies)
    else:
        is_list = isinstance(policies, Sequence) and not isinstance(policies, str)
        require(is_list, "policies", "be a list of policies", policies, SimulationError)
        named = {}
        for policy in policies:
            label = policy.label if isinstance(policy, Policy) else ""
            rule = "have different labels (give a mapping from names to policies)"
            require(label not in named, "policies", rule, label, SimulationError)
            named[label] = policy
    require(len(named) > 0, "policies", "be at least one", policies, SimulationError)
    for name, policy in named.items():
        is_policy = isinstance(policy, Policy)
        require(is_policy, "policies", "be policies such as WAGP()", policy, SimulationError)
        require(isinstance(name, str), "policies", "have texts as names", name, SimulationError)
    return named


def _description(env: Environment, job: Job, runs: int, stop: StopWhen | None) -> dict[str, Any]:
    """What was simulated, as plain values."""
    rule = {} if stop is None else {"stop": stop.to_dict()}
    return rule | {
        "environment": env.to_dict(),
        "policies": {
            name: policy.to_dict() if hasattr(policy, "kind") else repr(policy)  # not registered
            for name, policy in zip(job.names, job.policies, strict=True)
        },
        "horizon": job.horizon,
        "runs": runs,
        "seed": job.seed,
        "version": __version__,
    }
