"""Models, environments and policies the simulator is tested on."""

import dataclasses
import math
from functools import cache

import numpy as np

from globalbandits._random import States
from globalbandits.compiling.engine import Engine
from globalbandits.environments import Environment
from globalbandits.policies import WAGP, Policy
from globalbandits.simulation.checkpoints import checkpoint_times
from globalbandits.simulation.play.arena import Arena
from globalbandits.simulation.play.job import empty_records, make_job
from tests.policies.families import model_of


@cache
def pricing(**parts):
    """The paper's pricing model at theta 0.4."""
    return Environment(model_of("pricing"), theta=0.4, **parts)


def records_of(
    env,
    policies,
    horizon,
    *,
    runs=1,
    seed=3,
    engine=None,
    block=None,
    times=20,
    first_run=0,
    evidence=False,
    batch=1,
):
    """Everything that is recorded, without threads."""
    named = {policy.label: policy for policy in policies}
    checkpoints = checkpoint_times(horizon, times)
    job = make_job(env, named, horizon, checkpoints, seed, evidence=evidence, batch=batch)
    arena = Arena(job, engine or Engine(), States(seed, first_run, runs), block)
    records = empty_records(job, runs)
    assert arena.play(first_run, runs, records, 0, lambda n_steps: True) == runs
    return records


def assert_same_bits(first, second):
    for name in first._fields:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)


def greedy_not_compilable(setup, stats, state, rng):
    """WAGP's choice, in Python that Numba cannot compile."""
    words = {"arm": WAGP.rules.select(setup, stats, state, rng)}
    return eval("words['arm']", {}, {"words": words})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wordy(Policy):
    """WAGP, not compilable."""

    rules = WAGP.rules._replace(select=greedy_not_compilable)

    def setup(self, model):
        return WAGP().setup(model)


def choose_missing_arm(setup, stats, state, rng):
    return 12 if stats.total[0] >= 5 else 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Astray(Policy):
    """An arm that exists five times, then one that does not."""

    rules = WAGP.rules._replace(select=choose_missing_arm)

    def setup(self, model):
        return WAGP().setup(model)


def always(arm):
    """A policy that always selects this arm, whether or not it exists."""

    def select(setup, stats, state, rng):
        return arm

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Always(Policy):
        rules = WAGP.rules._replace(select=select, estimate=no_estimate)

        def setup(self, model):
            return WAGP().setup(model)

    return Always()


def no_estimate(setup, stats, state):
    return math.nan
