"""Sales: an arm pays its own amount or nothing, and a shop's regret is that of real sales."""

import math

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.environments import Noise, SaleNoise
from globalbandits.errors import ScenarioError
from tests.oracles.simulation import PRICES, PRICING, Ucb1, Wagp
from tests.simulation.worlds import pricing


@pytest.fixture(scope="module")
def shop():
    """Prices from 2 to 5, rewards from -1 to 9."""
    return gb.RewardModel(
        lambda theta, price: price * (1 - price * theta), [2.0, 3.0, 5.0], (0.0, 0.2),
        reward_range=(-1, 9),
    )  # fmt: skip


def rewards(noise, model, arm, mean, uniforms):
    """In the units of the rewards."""
    low, high = model.reward_range
    parameters = noise.parameters(model)
    shape = noise.rules.prepare(parameters, arm, (mean - low) / (high - low))
    draws = [noise.rules.draw(parameters, arm, shape, u) for u in uniforms]
    return low + (high - low) * np.array(draws)


@pytest.mark.parametrize("arm", [0, 1, 2])
@pytest.mark.parametrize("share", [0.0, 1e-9, 0.2, 0.5, 1.0])
def test_an_arm_pays_its_amount_or_nothing(shop, arm, share):
    price = shop.arms[arm]
    if 0 < share < 1:
        uniforms = [share * (1 - 1e-6), share * (1 + 1e-6)]
        paid = rewards(SaleNoise(), shop, arm, share * price, uniforms)
        assert paid == pytest.approx([price, 0.0], abs=1e-15)
    paid = rewards(SaleNoise(), shop, arm, share * price, (np.arange(1000) + 0.5) / 1000)
    assert set(paid.round(12)) <= {0.0, price}
    assert paid.mean() == pytest.approx(share * price, abs=price / 2000)


@pytest.mark.parametrize(("mean", "values"), [(7.0, {5.0, 9.0}), (-0.4, {0.0, -1.0})])
def test_a_bias_beyond_the_amount_leaves_the_mean_right(shop, mean, values):
    paid = rewards(SaleNoise(), shop, 2, mean, (np.arange(10_000) + 0.5) / 10_000)
    assert set(paid.round(12)) == values
    assert paid.mean() == pytest.approx(mean, abs=1e-3)


def test_amounts_may_be_given(shop):
    noise = SaleNoise(amounts=[2, 4, 8.5])
    assert noise.amounts == (2.0, 4.0, 8.5)
    assert set(rewards(noise, shop, 2, 1.7, [0.19, 0.21])) == {8.5, 0.0}
    assert Noise.from_dict(noise.to_dict()) == noise
    assert Noise.from_dict("sale") == SaleNoise()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda m: SaleNoise(amounts=[1, 0]), "amounts must be positive, got 0.0"),
        (lambda m: SaleNoise(amounts=5), "amounts must be a list of numbers, got 5"),
        (lambda m: SaleNoise(amounts={2, 3}), "amounts must be a list of numbers, got {2, 3}"),
        (
            lambda m: gb.Environment(m, 0.1, SaleNoise(amounts=[2, 3])),
            r"amounts must be 3, one per arm, got \(2.0, 3.0\)",
        ),
        (
            lambda m: gb.Environment(m, 0.1, SaleNoise(amounts=[2, 3, 4.5])),
            "amount of arm 5.0 must be at least its largest mean 5, got 4.5",
        ),
        (
            lambda m: gb.Environment(m, 0.1, SaleNoise(amounts=[2, 3, 9.5])),
            "amount of arm 5.0 must be at most 9, where rewards end, got 9.5",
        ),
        (
            lambda m: gb.Environment(
                gb.RewardModel(lambda t, arm: t, ["low", "high"]), 0.1, SaleNoise()
            ),
            r"amounts must be given where arms are not prices: SaleNoise\(.*\), got 'low'",
        ),
        (
            lambda m: gb.Environment(
                gb.RewardModel(lambda t, arm: 1 + t, [2.0], reward_range=(1, 2)), 0.1, SaleNoise()
            ),
            r"reward_range must be 0 or less at its lower end, .*, got \(1.0, 2.0\)",
        ),
        (
            lambda m: gb.Environment(
                gb.RewardModel(lambda t, arm: t - 0.5, [1.0], reward_range=(-1, 1)),
                0.1,
                SaleNoise(),
            ),
            "mean of arm 1.0 must be at least 0, as a sale pays something or nothing, got -0.5",
        ),
    ],
)
def test_wrong_amounts(shop, make, message):
    with pytest.raises(ScenarioError, match=message):
        make(shop)


def test_a_model_of_sales_themselves_is_refused():
    sales = gb.demand.linear([0.4, 0.8], observe="sales")
    with pytest.raises(ScenarioError, match=r"amount of arm 0\.4 must be at least its largest"):
        gb.Environment(sales, 0.5, noise=SaleNoise())


def real_sales(policy, theta, horizon, rng):
    """Regret of a policy of the oracles in a shop where customers buy or do not: (runs,)."""
    rows, regret = policy.rows, np.zeros(len(policy.rows))
    means = PRICES * (1 - PRICES * theta) ** 2
    for t in range(1, horizon + 1):
        arm = policy.select(t)
        sold = rng.random(len(rows)) < (1 - PRICES[arm] * theta) ** 2
        policy.update(arm, PRICES[arm] * sold)
        regret += means.max() - means[arm]
    return regret


def test_a_shops_regret_is_that_of_real_sales():
    runs, horizon, rng = 1_500, 600, np.random.default_rng(4)
    env = pricing(noise=SaleNoise())
    data = gb.simulate(env, [gb.WAGP(), gb.UCB1()], horizon, runs, checkpoints=1).dataset
    coins = pricing(noise=gb.BernoulliNoise())
    wrong = gb.simulate(coins, [gb.WAGP()], horizon, runs, checkpoints=1).dataset
    for place, policy in enumerate([Wagp, Ucb1]):
        ours = data["regret"].values[place, :, -1]
        theirs = real_sales(policy(PRICING, runs, rng), 0.4, horizon, rng)
        error = math.sqrt((ours.var() + theirs.var()) / runs)
        assert abs(ours.mean() - theirs.mean()) <= 4 * error
        if policy is Wagp:  # Bernoulli rewards at the ends of the range vary more, and cost more
            assert wrong["regret"].values.mean() > ours.mean() + 4 * error
