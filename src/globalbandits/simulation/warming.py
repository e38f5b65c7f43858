"""Compiling ahead: many policies in several processes, which leave their code on disk."""

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from threading import Thread
from typing import Any

import numpy as np

from globalbandits._random import States
from globalbandits._registry import parameters_of, registered
from globalbandits.compiling.children import Child, ChildError
from globalbandits.compiling.engine import Engine
from globalbandits.environments import Environment, RandomWalk
from globalbandits.model import RewardModel
from globalbandits.policies import Uniform
from globalbandits.policies.base import Policy
from globalbandits.policies.learner.workshop import compile_live
from globalbandits.simulation.arena import Arena
from globalbandits.simulation.job import Job, make_job
from globalbandits.simulation.progress import say_compiling
from globalbandits.simulation.spreading import available_cores

# A process needs about a second to start, a policy one to five to compile.
_WORTH_A_PROCESS = 3  # policies
_MOST_PROCESSES = 8


def compiling_engine(job: Job, *, shown: bool = False) -> Engine:
    """An engine that says what it compiles, and lets other processes help if that is much."""
    return Engine(announce=partial(say_compiling, shown=shown), elsewhere=partial(share_out, job))


def share_out(job: Job, names: Sequence[str]) -> tuple[set[str], Callable[[], None]]:
    """Let other processes compile some of a job's policies, if there are many.

    Args:
        job: the job.
        names: names of the policies' classes.

    Returns:
        Names that this process should leave to the others, and a function that waits for them.
    """
    shares = split(names)[1:]
    jobs = [_job_of(job, set(share)) for share in shares]
    wait = _start(compile_job, jobs)
    return {name for share in shares for name in share}, wait


def _job_of(job: Job, names: set[str]) -> Job:
    """The part of a job that has these classes of policies."""
    places = [at for at, policy in enumerate(job.policies) if type(policy).__name__ in names]
    return dataclasses.replace(
        job,
        policies=tuple(job.policies[at] for at in places),
        setups=tuple(job.setups[at] for at in places),
        names=tuple(job.names[at] for at in places),
    )


def compile_job(job: Job) -> None:
    """Compile what a job needs, for other processes to find on disk."""
    Arena(job, Engine(quiet=True), States(0, 0, 1))


def split(items: Sequence[Any]) -> list[list[Any]]:
    """Shares of items for several processes, this one's first; one share if there are few.

    >>> split(["a", "b", "c"])
    [['a', 'b', 'c']]
    """
    n_shares = max(1, min(len(items) // _WORTH_A_PROCESS, available_cores(), _MOST_PROCESSES))
    return [list(items[first::n_shares]) for first in range(n_shares)]


def _start(function: Callable[[Any], None], arguments: Sequence[Any]) -> Callable[[], None]:
    """Call a function in other processes; returns a function that waits for them.

    What they cannot do, this process has to do itself, and then says why not.
    """
    threads = [Thread(target=_call, args=(function, one), daemon=True) for one in arguments]
    for thread in threads:
        thread.start()

    def wait() -> None:
        for thread in threads:
            thread.join()

    return wait


def _call(function: Callable[[Any], None], argument: Any) -> None:
    with contextlib.suppress(ChildError):
        Child(function, argument).wait()


def warm(policies: Sequence[Policy]) -> None:
    """Compile policies for the simulator and for live learners, and all noises."""
    shares = split(policies)
    say_compiling([policy.label for policy in policies])
    wait = _start(warm_policies, shares[1:])
    warm_policies(shares[0])
    warm_noises()
    wait()
    for share in shares[1:]:
        warm_policies(share)  # a moment where another process has done it


def warm_policies(policies: Sequence[Policy]) -> None:
    """Compile policies one by one."""
    model = _model()
    env = Environment(model, 0.5)
    for policy in policies:
        compile_job(make_job(env, {policy.label: policy}, 1, np.array([1]), 0))
        compile_live((policy, policy.setup(model)))


def warm_noises() -> None:
    """Compile what draws rewards, in fixed and in moving worlds."""
    noises = registered("noise").values()
    for noise in (noise() for noise in noises if not any(parameters_of(noise).values())):
        for drift in (None, RandomWalk(drift_time=100)):
            env = Environment(_model(), 0.5, noise=noise, drift=drift)
            compile_job(make_job(env, {"": Uniform()}, 1, np.array([1]), 0))


def _model() -> RewardModel:
    return RewardModel(lambda theta, price: price * (1.0 - price * theta) ** 2, [0.5, 0.7])
