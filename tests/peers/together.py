"""A policy of ours and a peer's policy play the same game, reward by reward."""

import importlib
import warnings

import numpy as np
import pytest

from globalbandits.model import RewardModel
from globalbandits.statistics import count, no_statistics
from tests.policies.races import assert_same_shares, shares

HORIZON = 1000
MEANS = (0.22, 0.3, 0.27, 0.34, 0.31)


def import_peer(name, *, as_module=None):
    """A peer's module, or skip the tests that need it; warnings of its import are ignored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(as_module or name)
        except ImportError as error:
            pytest.skip(f"{name} is not installed: {error}", allow_module_level=True)


def model():
    """Five arms; the policies with a peer read nothing of it but their number."""
    return RewardModel(lambda theta, x: x * theta, MEANS)


def moderate(arm, u):
    """Rewards in (0, 0.7): no upper bound comes so close to 1 that a peer's floats end."""
    return 2 * MEANS[arm] * u


def bernoulli_reward(arm, u):
    return float(u < MEANS[arm])


def assert_same_choices(policy, choose, learn, *, forced=0):
    """Let both choose; the rewards depend on the arm and the round only.

    Args:
        policy: ours.
        choose: the peer's choice, a function of nothing.
        learn: passes an arm and a reward to the peer.
        forced: number of first plays, arm after arm, that neither of them chooses.
    """
    setup, stats = policy.setup(model()), no_statistics(len(MEANS))
    state = policy.rules.init(setup)
    rng = np.random.default_rng(99)
    draws = np.random.default_rng(3).random(HORIZON)
    played = np.zeros(len(MEANS), int)
    for t in range(HORIZON):
        if t < forced:
            arm = t % len(MEANS)
        else:
            arm, theirs = int(policy.rules.select(setup, stats, state, rng)), int(choose())
            assert arm == theirs, f"round {t + 1}: ours {arm}, the peer's {theirs}"
        x = moderate(arm, draws[t])
        count(stats, arm, x)
        policy.rules.update(setup, stats, state, arm, x)
        learn(arm, x)
        played[arm] += 1
    assert played.min() >= 1


def assert_chosen_as_often(policy, choose, learn, *, n_rewards=60, n=2000):
    """Teach both the same Bernoulli rewards of all arms, and compare the shares of n choices."""
    setup, stats = policy.setup(model()), no_statistics(len(MEANS))
    state = policy.rules.init(setup)
    rng = np.random.default_rng(3)
    for t in range(n_rewards):
        arm = t % len(MEANS)
        x = bernoulli_reward(arm, rng.random())
        count(stats, arm, x)
        policy.rules.update(setup, stats, state, arm, x)
        learn(arm, x)
    ours = shares(lambda: policy.rules.select(setup, stats, state, rng), len(MEANS), n)
    assert_same_shares(ours, shares(choose, len(MEANS), n), n)
