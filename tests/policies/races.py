"""Problems known twice, as a model and as plain functions, and a race of policy and oracle."""

import numpy as np

from globalbandits.model import RewardModel
from globalbandits.statistics import count, no_statistics
from tests.oracles.published_policies import Problem

PRICES = np.arange(8, 20) * 0.05


def pricing():
    """The paper's pricing example: a model, the same functions, and a parameter."""
    model = RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, tuple(PRICES.tolist()))
    return model, Problem([lambda x, p=p: p * (1 - p * x) ** 2 for p in PRICES]), 0.4


def tangents():
    """Rising and falling lines on another domain: tangents of a parabola, each best somewhere."""
    points = (0.05, 0.2, 0.38, 0.6, 0.75, 0.93)

    def mean(theta, x):
        return 0.4 + 0.3 * (x - 0.5) ** 2 + 0.6 * (x - 0.5) * (theta - 2.0 - x)

    model = RewardModel(mean, points, domain=(2.0, 3.0))
    return model, Problem([lambda t, x=x: mean(t, x) for x in points], 2.0, 3.0), 2.35


def doses():
    """Rising and falling hyperbolas: five arms, of which two are best somewhere."""
    values = (0.5, 1.0, 2.0, 4.0, 8.0)

    def mean(theta, dose):
        return 0.9 * dose / (theta + dose) if dose < 3 else 0.05 + 0.8 * theta / (theta + dose)

    model = RewardModel(mean, values, domain=(0.5, 6.0))
    return model, Problem([lambda x, d=d: mean(x, d) for d in values], 0.5, 6.0), 2.5


def scaled_pricing():
    """The pricing example with rewards in other units."""
    model = RewardModel(
        lambda theta, p: 50 * p * (1 - p * theta) ** 2 - 20,
        tuple(PRICES.tolist()),
        reward_range=(-20.0, 30.0),
    )
    return model, pricing()[1], 0.4


FAMILIES = {"pricing": pricing, "tangents": tangents}


def beta_reward(mean, u):
    return 1 - u ** (mean / (1 - mean))


def bernoulli_reward(mean, u):
    return float(u < mean)


def race(policy, oracle, model, means, horizon, reward=beta_reward, seed=0):
    """Run both on the same rewards, each with its own copy of the generator."""
    setup = policy.setup(model)
    stats, state = no_statistics(model.n_arms), policy.rules.init(setup)
    mine, theirs = np.random.default_rng(seed), np.random.default_rng(seed)
    draws = np.random.default_rng(seed + 1).random(horizon)
    chosen = np.zeros(horizon, int)
    for t in range(horizon):
        arm = policy.rules.select(setup, stats, state, mine)
        expected = oracle.select(theirs)
        assert arm == expected, f"round {t + 1}: policy {arm}, oracle {expected}"
        x = reward(means[arm], draws[t])
        count(stats, arm, x)
        policy.rules.update(setup, stats, state, arm, x)
        oracle.update(arm, x)
        chosen[t] = arm
    return setup, stats, state, chosen


def shares(choose, n_arms, n):
    """How often each arm is chosen."""
    return np.bincount([choose() for _ in range(n)], minlength=n_arms) / n


def assert_same_shares(found, expected, n):
    """Two shares of n draws each differ by less than five standard errors."""
    pooled = (found + expected) / 2
    errors = np.sqrt(2 * pooled * (1 - pooled) / n)
    assert (np.abs(found - expected) <= 5 * errors).all(), (found, expected)


def share_race(policy, oracle, model, means, n_rewards, reward=beta_reward, n=4000):
    """Teach both the same rewards of random arms, and compare how often they choose each arm."""
    setup = policy.setup(model)
    stats, state = no_statistics(model.n_arms), policy.rules.init(setup)
    rng = np.random.default_rng(1)
    for arm in rng.integers(model.n_arms, size=n_rewards):
        x = reward(means[arm], rng.random())
        count(stats, arm, x)
        policy.rules.update(setup, stats, state, arm, x)
        oracle.update(arm, x)
    found = shares(lambda: policy.rules.select(setup, stats, state, rng), model.n_arms, n)
    assert_same_shares(found, shares(lambda: oracle.select(rng), model.n_arms, n), n)
    return found
