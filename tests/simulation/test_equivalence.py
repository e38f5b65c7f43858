"""Compiled and interpreted kernels give the same bits, and both those of a naive simulation."""

import numpy as np
import pytest

import globalbandits as gb
from globalbandits._random import Stream, generator, source
from globalbandits.compiling.engine import Engine
from globalbandits.environments import (
    BernoulliNoise,
    FixedBias,
    GivenPath,
    Jumps,
    LinearDrift,
    RandomWalk,
    SinusoidalDrift,
    TruncatedNormalNoise,
    UniformBias,
)
from globalbandits.policies import UCB1, WAGP, Learner, NonStationaryWAGP, Uniform
from globalbandits.simulation.checkpoints import checkpoint_times
from tests.environments.ours import our_noises
from tests.policies.ours import our_policies
from tests.simulation.naive import naive_records
from tests.simulation.worlds import assert_same_bits, pricing, records_of

OURS = our_policies({"sliding_window_ucb": {"window": 40}})


def both_ways(env, policies, horizon, **options):
    compiled_engine = Engine()
    compiled = records_of(env, policies, horizon, engine=compiled_engine, **options)
    assert not compiled_engine.slow
    plain = records_of(env, policies, horizon, engine=Engine(interpreted=True), **options)
    assert_same_bits(compiled, plain)
    return compiled


@pytest.mark.parametrize("kind", OURS)
def test_every_policy_in_a_fixed_world(kind):
    records = both_ways(pricing(), [OURS[kind]], 60, runs=2)
    assert (records.pulls.sum(axis=2) == 60).all()


@pytest.mark.parametrize("noise", our_noises().values(), ids=repr)
def test_every_noise(noise):
    both_ways(pricing(noise=noise), [WAGP()], 200)
    both_ways(pricing(noise=noise, bias=UniformBias(0.2)), [WAGP()], 100, runs=2)


DRIFTS = [
    RandomWalk(drift_time=50, up=0.6),
    LinearDrift(rate=-0.004, boundary="clip"),
    SinusoidalDrift(amplitude=0.7, period=77),
    Jumps(times=[2, 90], values=[0.9, 0.1]),
    GivenPath(values=np.linspace(0.4, 0.7, 150).tolist()),
]


@pytest.mark.parametrize("drift", DRIFTS, ids=lambda drift: type(drift).__name__)
def test_every_drift(drift):
    records = both_ways(pricing(drift=drift), [NonStationaryWAGP(half_window=25)], 150, runs=2)
    assert np.ptp(records.theta, axis=1).min() > 0.2


def test_drift_with_bias_and_several_policies():
    env = pricing(
        noise=TruncatedNormalNoise(sd=0.2),
        drift=RandomWalk(drift_time=50, up=0.6),
        bias=FixedBias(np.linspace(-0.3, 0.4, 12)),
    )
    both_ways(env, [WAGP(), UCB1()], 120, runs=2, evidence=True)


WORLDS = {
    "plain": {},
    "biased": {"bias": UniformBias(0.2)},
    "moving": {"drift": RandomWalk(drift_time=30, up=0.6)},
    "moving and biased": {
        "drift": RandomWalk(drift_time=30, up=0.6),
        "bias": UniformBias(0.1),
        "noise": BernoulliNoise(),
    },
}


def profits(**parts):
    """A shop with costs, in euros: what is worth something is not what is observed."""
    model = gb.RewardModel(
        lambda theta, price: 10 * (1 - price * theta / 10) ** 2,
        [4.0, 5.5, 7.0, 8.5, 10.0],
        reward_range=(0.0, 10.0),
        value=lambda sold, price: (price - 3.0) * sold,
    )
    return gb.Environment(model, theta=0.4, **parts)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("make", [pricing, profits], ids=["rewards", "profits"])
def test_the_naive_simulation_records_the_same(world, make):
    env = make(**WORLDS[world])
    policies, times = [WAGP(), UCB1(), Uniform()], checkpoint_times(45, 7)
    options = {"runs": 2, "seed": 4, "first_run": 5, "evidence": True}
    naive = naive_records(env, policies, 45, times.tolist(), **options)
    ours = records_of(env, policies, 45, times=7, **options)
    for name in ours._fields:
        # A moving world reads means from tables, exact to about 1e-10.
        exact = env.drift is None and name not in ("regret", "nominal_regret")
        compare = np.testing.assert_array_equal if exact else np.testing.assert_allclose
        slack = {} if exact else {"rtol": 1e-6, "atol": 1e-7}
        compare(getattr(ours, name), getattr(naive, name), err_msg=name, **slack)


@pytest.mark.parametrize("evidence", [False, True])
@pytest.mark.parametrize("drift", [None, RandomWalk(drift_time=50, up=0.6)], ids=str)
def test_blocks_do_not_matter(drift, evidence):
    env = pricing(drift=drift, bias=UniformBias(0.05))
    policies, options = [WAGP(), UCB1()], {"runs": 7, "evidence": evidence}
    whole = records_of(env, policies, 300, **options)
    for block in (1, 7, 299, 300, 950, 10**5):
        assert_same_bits(whole, records_of(env, policies, 300, block=block, **options))


def test_another_layout_of_generators_does_not_matter(monkeypatch):
    env = pricing(drift=RandomWalk(drift_time=50, up=0.6), bias=UniformBias(0.05))
    known = records_of(env, [WAGP(), Uniform()], 50, runs=7)
    monkeypatch.setattr(source, "KNOWN_LAYOUT", False)
    assert_same_bits(known, records_of(env, [WAGP(), Uniform()], 50, runs=7))


@pytest.mark.parametrize("policy", [WAGP(), UCB1(), NonStationaryWAGP(half_window=30)], ids=repr)
def test_the_learner_plays_the_same_game(policy):
    env, seed, horizon = pricing(), 3, 400
    rules, parameters = env.noise.rules, env.noise.parameters(env.model)
    means = env.model.means(env.theta)
    uniforms = generator(Stream.REWARD, seed).random(horizon)
    learner = Learner(policy, env.model, seed=generator(Stream.POLICY, seed))
    regret = 0.0
    for u in uniforms:
        arm = learner.select()
        shape = rules.prepare(parameters, arm, means[arm])
        learner.update(arm, rules.draw(parameters, arm, shape, u))
        regret += env.model.gaps(env.theta)[arm]
    records = records_of(env, [policy], horizon, seed=seed)
    assert records.pulls[0, 0].tolist() == learner.pulls.tolist()
    assert records.regret[0, 0, -1] == pytest.approx(regret, rel=1e-12)
    assert records.choice[0, 0] == learner.select()
    if learner.estimate is not None:
        assert records.estimate[0, 0, -1] == learner.estimate
