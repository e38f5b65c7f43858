"""Compile ahead: what a job needs before it is played, and policies before they are used at all."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from globalbandits._random import States
from globalbandits.compiling.engine import Engine
from globalbandits.environments import (
    ArcsineBetaNoise,
    BernoulliNoise,
    BetaNoise,
    Environment,
    MirroredBetaNoise,
    NoNoise,
    RandomWalk,
    SaleNoise,
    ScaledCoinNoise,
    TruncatedNormalNoise,
)
from globalbandits.model import RewardModel
from globalbandits.policies import Learner, Uniform
from globalbandits.policies.base import Policy
from globalbandits.simulation.arena import Arena
from globalbandits.simulation.executors import open_workers
from globalbandits.simulation.job import Job, make_job
from globalbandits.simulation.progress import say_compiling
from globalbandits.simulation.spreading import available_cores

# Starting a process takes about a second, compiling a policy two to eight.
_POLICIES_PER_PROCESS = 3
_MAX_PROCESSES = 8

_NOISES = (
    BetaNoise(),
    BernoulliNoise(),
    NoNoise(),
    TruncatedNormalNoise(),
    MirroredBetaNoise(),
    ArcsineBetaNoise(),
    SaleNoise(),
    ScaledCoinNoise(),
)


def compiled_arena(job: Job, states: States | None = None, *, shown: bool = False) -> Arena:
    """Compile what a job needs, say so, and return an arena that plays it.

    Args:
        job: what to play.
        states: the random streams of its runs; those of one run by default.
        shown: say what is compiled even if standard error is no terminal.
    """
    states = States(job.seed, 0, 1) if states is None else states
    return Arena(job, Engine(announce=partial(say_compiling, shown=shown)), states)


def warm(policies: Sequence[Policy]) -> None:
    """Compile policies for simulations and live learners, and all noises.

    Many policies are compiled in several processes, which are started anew: call this from a main
    module that can be imported.
    """
    n_processes = min(len(policies) // _POLICIES_PER_PROCESS, available_cores(), _MAX_PROCESSES)
    if n_processes > 1:
        say_compiling([policy.label for policy in policies])
        with open_workers("processes", n_processes) as workers:
            futures = [workers.submit(warm_policy, policy) for policy in policies]
            for future in futures:
                # A policy that cannot be sent to another process is compiled below.
                future.exception()
    for policy in policies:
        warm_policy(policy)
    warm_noises()


def warm_policy(policy: Policy) -> None:
    """Compile a policy for simulations and for live learners."""
    model = _model()
    compiled_arena(_job(Environment(model, 0.5), policy))
    Learner(policy, model, seed=0, compiled=True)


def warm_noises() -> None:
    """Compile the functions that draw rewards, in fixed and in moving worlds."""
    for noise in _NOISES:
        for drift in (None, RandomWalk(drift_time=100)):
            compiled_arena(_job(Environment(_model(), 0.5, noise=noise, drift=drift), Uniform()))


def _job(env: Environment, policy: Policy) -> Job:
    return make_job(env, {policy.label: policy}, 1, np.array([1]), 0)


def _model() -> RewardModel:
    return RewardModel(lambda theta, price: price * (1.0 - price * theta) ** 2, [0.5, 0.7])
