"""Every policy on models with a value: profit, a target, and a wavy line."""

import dataclasses
from functools import cache

import numpy as np
import pytest

from globalbandits import simulate
from globalbandits.compiling.engine import Engine
from globalbandits.environments import BernoulliNoise, Environment
from globalbandits.errors import PolicyError
from globalbandits.model import RegionalModel, RewardModel
from globalbandits.policies import (
    IMED,
    KLUCB,
    MOSS,
    OFUL,
    UCB1,
    WAGP,
    Learner,
    LinUCB,
    NonStationaryWAGP,
    RegionalUCB,
    ThompsonSampling,
    UCBTuned,
    UncertaintyEllipsoid,
)
from globalbandits.statistics import count, no_statistics
from tests.policies.families import PRICES
from tests.policies.valued import EVERY, POLICIES, SLOW, WORLDS, shop
from tests.simulation.worlds import assert_same_bits, records_of


@cache
def pricing(value):
    """The paper's pricing example."""
    return RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, PRICES, value=value)


every_policy = pytest.mark.parametrize("policy", EVERY, ids=lambda policy: policy.kind)


@every_policy
def test_a_common_rising_line_changes_no_decision(policy):
    """Twice the mean plus three is worth nothing new: the unit scale of worth takes it back."""
    if getattr(policy, "features", ()) is None and policy.kind != "glm_ucb":
        # The usual features begin with another power of the price where there is a value.
        policy = dataclasses.replace(policy, features=[[p, p**2, p**3] for p in PRICES])
    plain, same = (
        records_of(Environment(model, 0.4), [policy], 300, runs=3)
        for model in (pricing(None), pricing(lambda mean, price: 2.0 * mean + 3.0))
    )
    np.testing.assert_array_equal(plain.pulls, same.pulls)
    np.testing.assert_array_equal(plain.estimate, same.estimate)
    np.testing.assert_allclose(same.regret, 2.0 * plain.regret, atol=1e-9)


@pytest.mark.parametrize(
    "policy", [WAGP(), NonStationaryWAGP(half_window=30), RegionalUCB()], ids=lambda p: p.kind
)
def test_profit_is_as_good_as_rewards_that_are_profits(policy):
    """Greedy play on the parameter does not see on which scale an arm is observed."""
    prices, cost = (0.4, 0.55, 0.7, 0.85), 0.25
    sales = RewardModel(
        lambda theta, p: (1 - p * theta) ** 2, prices, value=lambda sold, p: (p - cost) * sold
    )
    profits = RewardModel(lambda theta, p: (p - cost) * (1 - p * theta) ** 2, prices)
    one, other = Learner(policy, sales, seed=3), Learner(policy, profits, seed=3)
    means = sales.means(0.45)
    for u in np.random.default_rng(1).random(300):
        arm = one.select()
        assert arm == other.select()
        sold = float(u < means[arm])
        one.update(arm, sold)
        other.update(arm, (prices[arm] - cost) * sold)
    assert one.estimate == pytest.approx(other.estimate, abs=1e-8)


@pytest.mark.parametrize("world", ["shop", "trial"])
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.kind)
def test_regret_is_below_that_of_uniform_play(policy, world):
    model, theta = WORLDS[world]()
    horizon, runs = (2000, 40) if policy.compiled else (300, 20)
    gaps = model.gaps(theta)
    env = Environment(model, theta, noise=BernoulliNoise())
    result = simulate(env, [policy], horizon=horizon, runs=runs, seed=4)
    regrets = result.dataset.pulls.values.reshape(runs, model.n_arms) @ gaps
    assert result.dataset.regret.values[0, :, -1] == pytest.approx(regrets)
    error = regrets.std() / np.sqrt(runs)
    assert regrets.mean() + 3.0 * error < 0.9 * horizon * gaps.mean()


@every_policy
@pytest.mark.parametrize("world", ["shop", "trial", "wavy"])
def test_compiled_and_interpreted_play_the_same(policy, world):
    model, theta = WORLDS[world]()
    env = Environment(model, theta, noise=BernoulliNoise())
    horizon = 25 if policy.kind in SLOW else 60
    engine = Engine()
    compiled = records_of(env, [policy], horizon, engine=engine)
    assert not engine.slow
    assert_same_bits(compiled, records_of(env, [policy], horizon, engine=Engine(interpreted=True)))


@every_policy
def test_an_explanation_names_its_scale(policy):
    for name in ("shop", "trial", "wavy"):
        learner = Learner(policy, WORLDS[name]()[0], seed=0, compiled=False)
        for arm in range(learner.model.n_arms):
            learner.update([arm, arm], [0.0, 1.0])
        assert "unit reward scale" not in learner.explain().reason


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, -3.0, 1e300])
@every_policy
def test_a_valid_arm_is_chosen_after_any_rewards(policy, wrong):
    model, _ = WORLDS["wavy"]()
    setup = policy.setup(model)
    stats, state = no_statistics(model.n_arms), policy.rules.init(setup)
    with np.errstate(all="ignore"):
        for step in range(24):
            reward = wrong if step % 5 == 2 else 0.4
            count(stats, step % model.n_arms, reward)
            policy.rules.update(setup, stats, state, step % model.n_arms, reward)
        for seed in range(3):
            rng = np.random.default_rng(seed)
            assert 0 <= policy.rules.select(setup, stats, state, rng) < model.n_arms


def test_a_lower_cost_changes_what_is_chosen_and_not_what_is_known():
    model, theta = shop()
    dear = RewardModel(
        lambda theta, p: np.exp(-theta * p),
        model.arms,
        model.domain,
        value=lambda m, p: (p - 4) * m,
    )
    learner = Learner(WAGP(), model, seed=0)
    learner.update(list(range(6)) * 50, [float(u) for u in np.tile(model.means(theta), 50)])
    moved = learner.with_model(dear)
    assert moved.estimate == learner.estimate
    assert dear.arms[moved.select()] > model.arms[learner.select()]


def test_groups_with_values_of_different_size_are_compared_on_one_scale():
    """The group whose profits are ten times those of the other one gets the plays."""

    def group(size):
        return RewardModel(
            lambda theta, p: 1 - p * theta, [0.5, 0.8], value=lambda m, p: size * p * m
        )

    joint = RegionalModel([group(0.1), group(1.0)])
    learner = Learner(RegionalUCB(alpha=0.01), joint, seed=1)
    means = joint.means([0.2, 0.9])
    draws = np.random.default_rng(2).random(300)
    for u in draws:
        arm = learner.select()
        learner.update(arm, float(u < means[arm]))
    assert learner.pulls[2:].sum() > 250
    assert joint.best_arms([0.2, 0.9]) == (3,) or joint.best_arms([0.2, 0.9]) == (2,)


def test_groups_need_a_value_with_finite_slopes():
    steep = RewardModel(
        lambda theta, p: 1 - p * theta, [0.5, 0.8], value=lambda m, p: p * np.sqrt(m)
    )
    with pytest.raises(PolicyError, match=r"model must have a value with finite slopes .* got \["):
        RegionalUCB().setup(RegionalModel([steep, steep]))
    assert RegionalUCB().setup(steep).tables.valued  # one group has no rival


def test_values_need_not_rise():
    """The less is observed the better: index policies find the arm with the smallest mean."""
    model = RewardModel(
        lambda theta, x: theta * x, [0.2, 0.5, 0.9], value=lambda mean, x: 1.0 - mean
    )
    env = Environment(model, 0.8, noise=BernoulliNoise())
    for policy in (UCB1(), UCBTuned(), MOSS(), KLUCB(), IMED(), ThompsonSampling()):
        result = simulate(env, [policy], horizon=2000, runs=3, seed=0)
        pulls = result.dataset.pulls.values.reshape(3, 3).sum(axis=0)
        assert pulls.argmax() == 0


@pytest.mark.parametrize("policy", [LinUCB(), OFUL(), UncertaintyEllipsoid(scale=0.01)])
def test_the_usual_features_suit_what_a_shop_observes(policy):
    """Sales (1 - theta p)**2 are linear in 1, p and p**2, and not in p, p**2 and p**3."""
    prices = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    model = RewardModel(
        lambda theta, p: (1 - theta * p) ** 2, prices, value=lambda sold, p: (p - 0.3) * sold
    )
    own = dataclasses.replace(policy, features=[[1.0, p, p**2] for p in prices])
    env = Environment(model, 0.5, noise=BernoulliNoise())
    assert_same_bits(records_of(env, [policy], 200), records_of(env, [own], 200))


ODD = {
    "constant": lambda mean, price: 0.0 * mean,
    "below cost": lambda mean, price: (price - 9.0) * mean,
    "some below cost": lambda mean, price: (price - 3.0) * mean,
    "steep": lambda mean, price: np.sqrt(mean) - 0.1 * price,
}


@cache
def odd_shop(name):
    return RewardModel(lambda theta, p: np.exp(-theta * p), [2.0, 3.0, 4.0], value=ODD[name])


@pytest.mark.parametrize("name", ODD)
@every_policy
def test_suspicious_values_are_harmless(policy, name):
    learner = Learner(policy, odd_shop(name), seed=1)
    means = learner.model.means(0.4)
    for u in np.random.default_rng(0).random(25):
        arm = learner.select()
        learner.update(arm, float(u < means[arm]))
    assert 0 <= learner.explain().choice < 3
    again = Learner.restore(policy, learner.model, learner.state())
    assert [again.select() for _ in range(5)] == [learner.select() for _ in range(5)]
