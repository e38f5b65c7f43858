"""Compiled and interpreted loops give the same bits, and both are the live learner's."""

import numpy as np
import pytest

from globalbandits._random import Stream, generator
from globalbandits.compiling.engine import Engine
from globalbandits.environments import (
    BernoulliNoise,
    BetaNoise,
    FixedBias,
    GivenPath,
    Jumps,
    LinearDrift,
    NoNoise,
    RandomWalk,
    SinusoidalDrift,
    TruncatedNormalNoise,
    UniformBias,
)
from globalbandits.policies import UCB1, WAGP, Learner, NonStationaryWAGP, registered
from tests.simulation.worlds import assert_same_bits, pricing, records_of

# Policies whose parameters have no defaults; all others are made without.
ARGUMENTS = {
    "nonstationary_wagp": {"half_window": 25},
    "sliding_window_ucb": {"window": 40},
}
OURS = {
    kind: policy
    for kind, policy in registered().items()
    if policy.__module__.startswith("globalbandits.")
}


def both_ways(env, policies, horizon, **options):
    compiled_engine = Engine()
    compiled = records_of(env, policies, horizon, engine=compiled_engine, **options)
    assert not compiled_engine.slow
    plain = records_of(env, policies, horizon, engine=Engine(interpreted=True), **options)
    assert_same_bits(compiled, plain)
    return compiled


@pytest.mark.parametrize("kind", OURS)
def test_every_policy_in_a_fixed_world(kind):
    policy = OURS[kind](**ARGUMENTS.get(kind, {}))
    records = both_ways(pricing(), [policy], 100)
    assert records.pulls.sum() == 100


NOISES = [BetaNoise(), BernoulliNoise(), NoNoise(), TruncatedNormalNoise(sd=0.1)]


@pytest.mark.parametrize("noise", NOISES, ids=repr)
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
    records = both_ways(pricing(drift=drift), [NonStationaryWAGP(half_window=25)], 150)
    assert np.ptp(records.theta) > 0.2


def test_drift_with_bias_and_several_policies():
    env = pricing(
        noise=TruncatedNormalNoise(sd=0.2),
        drift=RandomWalk(drift_time=50, up=0.6),
        bias=FixedBias(np.linspace(-0.3, 0.4, 12)),
    )
    both_ways(env, [WAGP(), UCB1()], 120, runs=2)


@pytest.mark.parametrize("drift", [None, RandomWalk(drift_time=50, up=0.6)], ids=str)
def test_blocks_do_not_matter(drift):
    env = pricing(drift=drift, bias=UniformBias(0.05))
    policies = [WAGP(), UCB1()]
    whole = records_of(env, policies, 1_000, runs=2)
    for block in (1, 7, 999):
        assert_same_bits(whole, records_of(env, policies, 1_000, runs=2, block=block))


@pytest.mark.parametrize("policy", [WAGP(), UCB1(), NonStationaryWAGP(half_window=30)], ids=repr)
def test_the_learner_plays_the_same_game(policy):
    env, seed, horizon = pricing(), 3, 400
    rules, parameters = env.noise.rules, env.noise.parameters(env.model)
    means = env.model.means(env.theta)
    uniforms = generator(seed, 0, Stream.REWARD).random(horizon)
    learner = Learner(policy, env.model, seed=generator(seed, 0, Stream.POLICY))
    regret = 0.0
    for u in uniforms:
        arm = learner.select()
        shape = rules.prepare(parameters, arm, means[arm])
        learner.update(arm, rules.draw(parameters, arm, shape, u))
        regret += env.model.gaps(env.theta)[arm]
    records = records_of(env, [policy], horizon, seed=seed)
    assert records.pulls[0, 0].tolist() == learner.pulls.tolist()
    assert records.regret[0, 0, -1] == pytest.approx(regret, rel=1e-12)
    if learner.estimate is not None:
        assert records.estimate[0, 0, -1] == learner.estimate
