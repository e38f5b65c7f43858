"""Compile policies and noises before their first use."""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from typing import TypeVar

import numpy as np

from globalbandits._registry import parameters_of, registered
from globalbandits.environments import Environment, RandomWalk
from globalbandits.model import RewardModel
from globalbandits.policies import Learner, Uniform
from globalbandits.policies.base import Policy
from globalbandits.simulation.play.arena import compiled_arena
from globalbandits.simulation.play.job import Job, make_job
from globalbandits.simulation.progress import say_compiling
from globalbandits.simulation.workers import available_cores

# Starting a process takes about one second. Compiling a policy takes two to eight seconds.
_POLICIES_PER_PROCESS = 3
_MAX_PROCESSES = 8

Item = TypeVar("Item")


def warm(policies: Sequence[Policy]) -> None:
    """Compile policies for simulations and live learners, and all noises.

    Many policies are compiled in several spawned processes. Call this from a main module that can
    be imported.
    """
    n_processes = min(len(policies) // _POLICIES_PER_PROCESS, available_cores(), _MAX_PROCESSES)
    if n_processes > 1:
        say_compiling([policy.label for policy in policies])
        for _, future in call_in_processes(warm_policy, policies, n_processes):
            # Errors are ignored: a policy that cannot be pickled is compiled below.
            future.exception()
    for policy in policies:
        warm_policy(policy)
    warm_noises()


def call_in_processes(
    function: Callable[[Item], None], items: Sequence[Item], n_processes: int
) -> Iterator[tuple[Item, Future[None]]]:
    """Call a function that compiles for each item in spawned processes.

    The code is stored on disk, where this process finds it. Yields each item with its future when
    the call has ended.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_processes, mp_context=context) as workers:
        futures = {workers.submit(function, item): item for item in items}
        for future in as_completed(futures):
            yield futures[future], future


def warm_policy(policy: Policy) -> None:
    """Compile a policy for simulations and for live learners."""
    model = _model()
    compiled_arena(_job(Environment(model, 0.5), policy))
    Learner(policy, model, seed=0, compiled=True)


def warm_noises() -> None:
    """Compile the functions that draw rewards, with and without drift."""
    noises = registered("noise").values()
    for noise in (noise() for noise in noises if not any(parameters_of(noise).values())):
        for drift in (None, RandomWalk(drift_time=100)):
            compiled_arena(_job(Environment(_model(), 0.5, noise=noise, drift=drift), Uniform()))


def _job(env: Environment, policy: Policy) -> Job:
    return make_job(env, {policy.label: policy}, 1, np.array([1]), 0)


def _model() -> RewardModel:
    return RewardModel(lambda theta, price: price * (1.0 - price * theta) ** 2, [0.5, 0.7])
