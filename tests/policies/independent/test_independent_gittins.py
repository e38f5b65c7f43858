"""The closed forms of the index, how noise is learned, and the policy without a model."""

import json
import math

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.compiling.engine import Engine
from globalbandits.errors import PolicyError
from globalbandits.policies.base import Policy
from globalbandits.policies.independent import independent_gittins
from globalbandits.policies.independent.independent_gittins import IndependentGittins
from globalbandits.policies.shared.gittins import (
    BREZZI_LAI,
    LOG,
    psi,
)
from globalbandits.statistics import count, no_statistics
from tests.oracles.elastic import psi_brezzi_lai, psi_log
from tests.policies.families import beta_reward, model_of
from tests.simulation.worlds import assert_same_bits, pricing, records_of


@pytest.mark.parametrize(
    ("x", "value"),
    [  # by hand from the five pieces
        (0.0, 0.0),
        (0.08, 0.2),
        (0.2, math.sqrt(0.1)),
        (0.25, 0.27),
        (1.0, 0.38),
        (4.0, 0.5),
        (9.0, 0.77 - 0.58 / 3),
        (math.e**4, math.sqrt(8 - math.log(4) - math.log(16 * math.pi))),
    ],
)
def test_brezzi_and_lai(x, value):
    assert psi(x, BREZZI_LAI) == pytest.approx(value, rel=1e-12)


def test_both_forms_equal_the_oracles_everywhere():
    for x in np.geomspace(1e-6, 1e9, 400).tolist():
        assert psi(x, BREZZI_LAI) == pytest.approx(psi_brezzi_lai(x), rel=1e-12)
        assert psi(x, LOG) == pytest.approx(psi_log(x), rel=1e-12)


def test_both_forms_grow_like_the_root_of_twice_the_logarithm():
    for form in (BREZZI_LAI, LOG):
        ratio = psi(1e150, form) / math.sqrt(2.0 * math.log(1e150))
        assert ratio == pytest.approx(1.0, abs=0.02)


def naive_index(rewards, prior_variance, expected, most, doubt, rounds):
    """The index of one arm from its rewards, term by term."""
    n = len(rewards)
    if n == 0:
        variance, mean, rest = expected, 0.5, prior_variance
    else:
        mean, variance = np.mean(rewards), expected
        if n >= 2:
            own = np.sum((rewards - mean) ** 2)
            share = (doubt + own) / (doubt + (n - 1) * mean * (1 - mean))
            coins = (20 * most + n * mean * (1 - mean)) / (19 + n)
            variance = max((20 * expected + own) / (19 + n), min(1.0, share) * coins)
        precision = 1 / prior_variance + n / variance
        mean, rest = (0.5 / prior_variance + n * mean / variance) / precision, 1 / precision
    return mean + math.sqrt(rest) * psi_brezzi_lai(3 * rounds * rest / variance)


def test_independent_gittins_plays_its_formula():
    policy, model = IndependentGittins(), model_of("pricing")
    setup = policy.setup(model)
    stats, state = no_statistics(model.n_arms), independent_gittins.init(setup)
    rng = np.random.default_rng(3)
    means = model.means(0.4)
    rewards = [[] for _ in means]
    for _ in range(300):
        rounds = state.horizon[0] / 3
        expected = [
            naive_index(np.array(x), 0.0625, v, most, 0.03 * math.log(rounds), rounds)
            for x, v, most in zip(rewards, state.noise.expected, state.noise.bounds, strict=True)
        ]
        assert state.indices == pytest.approx(np.array(expected), rel=1e-9)
        arm = policy.rules.select(setup, stats, state, rng)
        reward = beta_reward(means[arm], rng.random())
        rewards[arm].append(reward)
        count(stats, arm, reward)
        independent_gittins.update(setup, stats, state, arm, reward)
    assert min(map(len, rewards)) > 0


def test_compiled_and_interpreted_rules_give_the_same_bits():
    engine = Engine()
    compiled = records_of(pricing(), [IndependentGittins()], 400, runs=2, engine=engine)
    assert not engine.slow
    plain = records_of(
        pricing(), [IndependentGittins()], 400, runs=2, engine=Engine(interpreted=True)
    )
    assert_same_bits(compiled, plain)


def test_noise_is_learned():
    model = model_of("linear")
    coins, steady = (gb.Learner(IndependentGittins(), model, seed=1) for _ in range(2))
    for arm in range(6):
        coins.update([arm] * 40, [0.0, 1.0] * 20)
        steady.update([arm] * 40, [0.49, 0.51] * 20)
    # Bernoulli rewards have variance 1/4. The other arms vary by 1e-4, of a possible 1/4 each;
    # what is left of the prior share 0.5/0.5 is 0.5/(0.5 + 6 * 20/4).
    assert coins._state.noise.variances == pytest.approx(np.full(6, 0.25), rel=0.03)
    weight = 20 / 39  # of at most 20 rewards per arm
    share = (0.5 + weight * 240e-4) / (0.5 + weight * 6 * 39 / 4)
    assert steady._state.noise.expected == pytest.approx(np.full(6, share / 4), rel=0.06)


def test_independent_gittins_reaches_its_figure():
    # 51 at T = 10,000 on the paper's pricing problem (prototype); 4 standard errors of both.
    env = gb.Environment(model_of("pricing"), theta=0.4)
    result = gb.simulate(env, [IndependentGittins()], 10_000, 60, seed=3, checkpoints=[10_000])
    regret = result.dataset["regret"].values.ravel()
    error = regret.std(ddof=1) / len(regret) ** 0.5
    assert error < 3.0
    assert abs(regret.mean() - 51.0) < 4.0 * math.hypot(error, 1.0)


def test_spec():
    spec = IndependentGittins(variance=0.1, psi="log")
    assert Policy.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec
    learner = gb.Learner(spec, model_of("linear"), seed=1)
    assert learner.explain().reason.startswith("largest index: ")
    assert learner.estimate is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"variance": 0.0}, "variance must be positive, got 0.0"),
        ({"patience": -1}, "patience must be positive, got -1"),
        ({"psi": "sqrt"}, "psi must be one of brezzi-lai, log, got 'sqrt'"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(PolicyError, match=message):
        IndependentGittins(**arguments)
