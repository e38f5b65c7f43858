"""Every policy plays as its naive version does, on the same rewards and random numbers.

No tolerance is needed: choices could differ only where an estimate falls within the inverses'
error (about 1e-12) of a region's edge, or two indices within rounding (1e-15) of each other
without being equal, and that happens in none of these runs. Exact ties of UCB1's indices do
happen, with Bernoulli rewards, and are broken alike. (The ellipsoid is tested with continuous
rewards: after equal rewards of the first arms their indices are equal up to rounding.)
"""

import numpy as np
import pytest

import globalbandits.policies as gb
from tests.oracles import policies as oracles
from tests.policies.families import (
    FAMILIES,
    TRUTH,
    bernoulli_reward,
    beta_reward,
    means_of,
    model_of,
)
from tests.soak import length

N_STEPS = length(2_000, 10_000)

# With these BUW leaves UCB1 after some hundred to some thousand steps.
SWITCHING_SCALE = {
    "pricing": 0.00025,
    "illustration": 0.04,
    "linear": 0.034,
    "logistic": 0.0012,
    "exponential": 0.006,
}


def play_both(policy, oracle, name, draw, n_steps=N_STEPS, seed=3):
    """Run both side by side; return the choices. Any difference fails at its step."""
    learner = gb.Learner(policy, model_of(name), seed=np.random.default_rng(seed))
    oracle_rng = np.random.default_rng(seed)
    uniforms = np.random.default_rng(seed + 1).random(n_steps).tolist()
    truth = [mean(TRUTH[name]) for mean in means_of(name)]
    arms = []
    for step, uniform in enumerate(uniforms):
        arm = learner.select()
        assert arm == oracle.select(oracle_rng), f"step {step}"
        reward = draw(truth[arm], uniform)
        learner.update(arm, reward)
        oracle.update(arm, reward)
        arms.append(arm)
    # Both have drawn the same random numbers, ties and all.
    assert learner.state()["generator"] == oracle_rng.bit_generator.state
    return learner, arms


def draws(name):
    return bernoulli_reward if name in ("linear", "logistic") else beta_reward


@pytest.mark.parametrize("name", FAMILIES)
def test_wagp(name):
    oracle = oracles.WAGP(means_of(name), (0.0, 1.0))
    learner, _ = play_both(gb.WAGP(), oracle, name, draws(name))
    assert learner.estimate == pytest.approx(oracle.estimate(), abs=1e-10)


@pytest.mark.parametrize("name", FAMILIES)
def test_ucb1(name):
    _, arms = play_both(gb.UCB1(), oracles.UCB1(means_of(name), (0.0, 1.0)), name, draws(name))
    assert arms[: len(means_of(name))] == list(range(len(means_of(name))))


@pytest.mark.parametrize("half_window", [1, 7, 100])
@pytest.mark.parametrize("name", FAMILIES)
def test_nonstationary_wagp(name, half_window):
    oracle = oracles.NonStationaryWAGP(means_of(name), (0.0, 1.0), half_window)
    policy = gb.NonStationaryWAGP(half_window=half_window)
    n_steps = N_STEPS if half_window == 100 else 1000
    learner, _ = play_both(policy, oracle, name, draws(name), n_steps)
    assert learner.estimate == pytest.approx(oracle.estimate(), abs=1e-10)


@pytest.mark.parametrize("name", FAMILIES)
def test_buw_with_a_scale_that_makes_it_switch(name):
    oracle = play_buw(name, SWITCHING_SCALE[name], length(4_000, 10_000))
    n_greedy = oracle.phases.count("WAGP")
    assert 100 < n_greedy < len(oracle.phases) - 100


@pytest.mark.parametrize("name", FAMILIES)
def test_buw_with_the_papers_constants(name):
    oracle = play_buw(name, 1.0, length(500, 2_000))
    assert oracle.phases.count("WAGP") == 0


def play_buw(name, scale, n_steps):
    holder = model_of(name).holder
    constant = scale * holder.inverse_constant
    oracle = oracles.BUW(means_of(name), (0.0, 1.0), constant, holder.inverse_exponent)
    play_both(gb.BUW(scale=scale), oracle, name, draws(name), n_steps)
    return oracle


@pytest.mark.parametrize(("scale", "n_steps"), [(1.0, N_STEPS), (0.002, length(500, 2_000))])
@pytest.mark.parametrize("name", FAMILIES)
def test_uncertainty_ellipsoid(name, scale, n_steps):
    model = model_of(name)
    features = None if name == "pricing" else vectors(model.n_arms)
    policy = gb.UncertaintyEllipsoid(features=features, scale=scale)
    raw = [[p, p**2, p**3] for p in model.arms] if features is None else features
    oracle = oracles.UncertaintyEllipsoid(raw, policy.setup(model).start.tolist(), scale)
    play_both(policy, oracle, name, beta_reward, n_steps)
    setup = policy.setup(model)
    assert setup.alpha == pytest.approx(oracle.alpha, rel=1e-9)


def vectors(n_arms):
    """Two features for each arm: a constant and a trend."""
    return [[1.0, (arm + 1.0) / n_arms] for arm in range(n_arms)]
