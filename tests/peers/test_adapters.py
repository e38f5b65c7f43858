"""Other libraries' policies in our simulator, and ours in theirs: with the real libraries."""

import gymnasium
import numpy as np
import pytest
from mabwiser.mab import MAB, LearningPolicy
from river import bandit

import globalbandits as gb
import globalbandits.adapters.gym
from benchmarks.adapters.mabwiser import MABWiserPolicy, from_mabwiser
from benchmarks.adapters.peer import Peer
from benchmarks.adapters.river import RiverPolicy, from_river
from globalbandits.errors import PolicyError, RewardError

PRICES = [0.4, 0.6, 0.8]
MODEL = gb.demand.linear_power(PRICES)
MARKET = gb.Environment(MODEL, theta=0.4)


def test_a_policy_of_river_plays_in_our_simulator():
    # river's UCB with delta=1 and a burn-in of one is UCB1: same worlds, same choices.
    theirs = from_river(lambda seed: bandit.UCB(delta=1, burn_in=1, seed=seed), "river UCB")
    data = gb.simulate(MARKET, [theirs, gb.UCB1()], horizon=200, runs=4, seed=1).dataset
    pulls = data["pulls"].values
    assert data["policy"].values.tolist() == ["river UCB", "UCB1"]
    assert (pulls.sum(axis=-1) == 200).all()
    assert np.abs(pulls[0] - pulls[1]).max() <= 2  # ties are broken otherwise
    assert data["regret"].values[0] == pytest.approx(data["regret"].values[1], abs=1.0)
    again = gb.simulate(MARKET, [theirs], horizon=200, runs=2, first_run=2, seed=1, threads=1)
    assert again.dataset["pulls"].values.tolist() == pulls[:1, 2:].tolist()


def test_a_policy_of_mabwiser_plays_in_our_simulator():
    theirs = from_mabwiser(LearningPolicy.EpsilonGreedy(epsilon=0.0), 3, "MABWiser greedy")
    data = gb.simulate(MARKET, [theirs], horizon=30, runs=2, seed=1).dataset
    for run in range(2):
        world = gb.adapters.live_world.LiveWorld(MARKET, 1, run)
        arms, rewards = [0, 1, 2], [world.pay(arm) for arm in range(3)]
        mab = MAB([0, 1, 2], LearningPolicy.EpsilonGreedy(epsilon=0.0))
        mab.fit(arms, rewards)
        for _ in range(27):
            arm = mab.predict()
            reward = world.pay(arm)
            mab.partial_fit([arm], [reward])
            arms.append(arm)
        counts = np.bincount(arms, minlength=3)
        assert data["pulls"].values[0, run].tolist() == counts.tolist()


def test_our_policies_play_in_rivers_evaluation():
    env = gymnasium.make("globalbandits/Pricing-v0", horizon=60)
    model = env.unwrapped.environment.model
    ours = RiverPolicy(gb.WAGP(), model, seed=1)
    rows = list(bandit.evaluate([ours, bandit.RandomPolicy(seed=1)], env, n_episodes=2, seed=3))
    assert len(rows) == 2 * 2 * 60
    sums = [row["reward_stat"] for row in rows if row["step"] == 59]
    ours_mean, random_mean = np.mean(sums[0::2]), np.mean(sums[1::2])
    assert ours_mean > random_mean
    assert ours.learner.n_observations == 0  # river plays copies
    ours.update(ours.pull([1, 2]), 0.4)
    assert ours.learner.n_observations == 1


def test_our_policies_have_mabwisers_methods():
    ours = MABWiserPolicy(gb.WAGP(), MODEL, seed=1)
    theirs = MAB(PRICES, LearningPolicy.UCB1())
    decisions, rewards = [0.4, 0.6, 0.8, 0.8], [0.3, 0.35, 0.4, 0.2]
    for mab in (ours, theirs):  # one code for both
        mab.fit(decisions, rewards)
        mab.partial_fit([mab.predict()], [0.3])
        assert mab.predict() in PRICES
        assert set(mab.predict_expectations()) == set(PRICES)
    learner = gb.Learner(gb.WAGP(), MODEL, seed=1)
    learner.update([0, 1, 2, 2], rewards)
    ours.fit(decisions, rewards)
    assert ours.predict() == PRICES[learner.select()]
    assert list(ours.predict_expectations().values()) == MODEL.means(learner.estimate).tolist()
    with pytest.raises(RewardError, match=r"decisions must be arms of the model, got 0\.5"):
        ours.partial_fit([0.5], [0.1])
    plain = MABWiserPolicy(gb.UCB1(), MODEL)
    plain.fit([0.4, 0.6, 0.8], [0.1, 0.2, 0.3])
    assert list(plain.predict_expectations().values()) == pytest.approx([0.1, 0.2, 0.3])


def test_functions_of_a_peer_are_checked():
    with pytest.raises(PolicyError, match="make must be a function, got 3"):
        Peer(make=3)
    with pytest.raises(PolicyError, match="pull must be a function, got 'x'"):
        Peer(make=list, pull="x")
    assert repr(Peer(make=list, name="a list")) == "Peer('a list')"
