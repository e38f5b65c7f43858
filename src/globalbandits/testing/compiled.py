"""The rules of the contract that concern compiled code."""

import math

import numpy as np

from globalbandits import statistics
from globalbandits._random import States
from globalbandits.compiling.engine import Engine
from globalbandits.environments import BernoulliNoise, Environment
from globalbandits.errors import PolicyError
from globalbandits.simulation.arena import Arena
from globalbandits.simulation.checkpoints import checkpoint_times
from globalbandits.simulation.job import make_job
from globalbandits.simulation.records import Records, empty_records
from globalbandits.simulation.simulate import simulate
from globalbandits.testing import subject as ways
from globalbandits.testing.bounds import OutsideError, bounded
from globalbandits.testing.subject import Broken, Subject, can_play, expect, fresh_parts

_HOSTILE = (math.nan, math.inf, -math.inf, 1e308, -1e308, 2.0, -1.0, 0.5)
_HORIZON = 60


def compiled_is_interpreted(subject: Subject) -> None:
    """The simulator's compiled loop and the same functions in plain Python give the same bits."""
    engine = Engine(quiet=True)
    compiled = _records(subject, engine)
    expect(not engine.slow, "the rules cannot be compiled, so the simulator would be slow")
    plain = _records(subject, Engine(interpreted=True))
    for name in compiled._fields:
        mine, theirs = getattr(compiled, name), getattr(plain, name)
        same = np.array_equal(mine, theirs, equal_nan=True)
        expect(same, f"{name} differs between compiled and interpreted runs of {_HORIZON} steps")


def any_number_of_arms(subject: Subject) -> None:
    """One arm and ten thousand arms work, or are refused with a PolicyError that says why."""
    for model in (ways.one_arm(), ways.many_arms()):
        if can_play(subject.policy, model):
            market = Environment(model, theta=0.4)
            simulate(market, {"one": subject.policy}, horizon=8, runs=1, checkpoints=1)


def hostile_rewards_stay_inside(subject: Subject) -> None:
    """Whatever a reward is, no rule reads or writes outside of an array."""
    rules, setup, stats, state = fresh_parts(subject)
    seen = bounded(setup), bounded(stats), bounded(state)
    rng = np.random.default_rng(0)
    for round_number in range(60):
        reward = _HOSTILE[round_number % len(_HOSTILE)]
        arm = round_number * 7 % subject.model.n_arms
        try:
            with np.errstate(all="ignore"):
                statistics.count(stats, arm, reward)
                rules.update(*seen, arm, reward)
                chosen = rules.select(*seen, rng)
                if rules.rebuild is not None and round_number % 8 == 0:
                    rules.rebuild(*seen)
        except OutsideError as error:
            raise Broken(f"a reward of {reward} leads to {error}") from None
        except (ArithmeticError, ValueError) as error:
            expect(
                "to integer" not in str(error), f"a reward of {reward} becomes an index: {error}"
            )
            return  # a logarithm or a root of what no reward can give; compiled, it is nan
        arms = subject.model.n_arms
        expect(0 <= chosen < arms, f"select gave the arm {chosen} after a reward of {reward}")


def _records(subject: Subject, engine: Engine) -> Records:
    low, high = subject.model.domain
    market = Environment(subject.model, theta=0.6 * low + 0.4 * high, noise=BernoulliNoise())
    named = {"one": subject.policy}
    try:
        job = make_job(market, named, _HORIZON, checkpoint_times(_HORIZON, 6), 3, evidence=False)
    except PolicyError as error:
        raise Broken(f"the policy refuses the model: {error}") from None
    records = empty_records(job, 2)
    Arena(job, engine, States(3, 0, 2)).play(0, 2, records, 0, lambda n_steps: True)
    return records
