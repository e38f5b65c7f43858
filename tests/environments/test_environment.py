"""Environments: their parts fit the model, or an error names the part that does not."""

import numpy as np
import pytest

from globalbandits.environments import (
    BernoulliNoise,
    BetaNoise,
    Bias,
    Environment,
    FixedBias,
    GivenPath,
    Jumps,
    Noise,
    TruncatedNormalNoise,
    UniformBias,
)
from globalbandits.errors import ScenarioError
from globalbandits.model import RewardModel, demand


@pytest.fixture(scope="module")
def model():
    return RewardModel(
        lambda theta, p: 100 * p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8], reward_range=(0, 100)
    )


def test_shifted_means_stay_in_the_reward_range(model):
    env = Environment(model, theta=0.4, bias=FixedBias([1.0, -50.0, 90.0]))
    means = model.means(0.4)
    shifted = env.true_means(env.shifts(np.random.default_rng(0)))
    assert shifted == pytest.approx([means[0] + 1.0, 0.0, 100.0])
    assert Environment(model, theta=0.4).true_means() == pytest.approx(means)


def test_uniform_bias_is_uniform():
    draws = UniformBias(0.1).shifts(20_000, np.random.default_rng(3))
    assert np.abs(draws).max() <= 0.1
    assert abs(draws.mean()) <= 4 * 0.1 / np.sqrt(3 * draws.size)
    assert draws.var() == pytest.approx(0.1**2 / 3, rel=0.03)


def test_equal_specs_are_equal():
    assert UniformBias(0.1) == UniformBias(0.1)
    assert BetaNoise() != BernoulliNoise()
    assert repr(TruncatedNormalNoise(sd=0.2)) == "TruncatedNormalNoise(sd=0.2)"


def test_plain_values(model):
    env = Environment(model, theta=0.4, bias=UniformBias(0.1))
    spec = env.to_dict()
    assert spec["theta"] == 0.4
    assert spec["noise"] == {"kind": "beta"}
    assert spec["drift"] is None
    assert spec["bias"] == {"kind": "uniform", "size": 0.1}
    assert spec["model"]["arms"] == [0.4, 0.6, 0.8]
    assert spec["best_arms"] == []  # the bias decides
    assert Environment(model, theta=0.4).to_dict()["best_arms"] == [2]


def test_parts_from_dicts():
    assert Bias.from_dict({"kind": "fixed", "values": [0.1]}) == FixedBias([0.1])
    assert Noise.from_dict("bernoulli") == BernoulliNoise()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"theta": 1.5}, r"theta must lie in the domain \[0, 1\], got 1.5"),
        ({"theta": "x"}, "theta must be a number, got 'x'"),
        ({"noise": "beta"}, "noise must be a Noise, got 'beta'"),
        ({"drift": 1}, "drift must be a Drift, got 1"),
        ({"bias": 0.1}, "bias must be a Bias, got 0.1"),
        ({"bias": FixedBias([0.1])}, r"values must be 3, one per arm, got \(0.1,\)"),
        ({"drift": Jumps(times=[3], values=[2])}, "values must lie in the domain"),
        ({"drift": GivenPath(values=[0.1])}, "values must start with the environment's theta"),
        ({"noise": TruncatedNormalNoise(sd=5000)}, "sd must be at most 1000, ten lengths"),
    ],
)
def test_wrong_parts(model, change, message):
    with pytest.raises(ScenarioError, match=message):
        Environment(model, **{"theta": 0.4, **change})


def test_wrong_model():
    with pytest.raises(ScenarioError, match="model must be a RewardModel, got None"):
        Environment(None, theta=0.4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: UniformBias(-1), "size must be at least 0, got -1"),
        (lambda: FixedBias(["a"]), "values must be a number, got 'a'"),
        (
            lambda: Noise.from_dict({}),
            r"a noise spec must be a dict with the key 'kind', or a name, got {}",
        ),
        (
            lambda: Noise.from_dict("cauchy"),
            "noise must be one of arcsine-.*, bernoulli, .*, none, sale, .*-normal, .*got 'cauchy'",
        ),
        (
            lambda: Noise.from_dict({"kind": "beta", "sd": 1}),
            "parameter of beta must be one of none, got 'sd'",
        ),
        (
            lambda: Noise.from_dict({"kind": "beta", "none": 1}),
            "parameter of beta must be one of none, got 'none'",
        ),
    ],
)
def test_wrong_specs(make, message):
    with pytest.raises(ScenarioError, match=message):
        make()


@pytest.mark.parametrize(
    ("options", "noise"),
    [
        ({"cost": 0.2}, BernoulliNoise()),
        ({"observe": "sales"}, BernoulliNoise()),
        ({}, BetaNoise()),
    ],
)
def test_a_customer_of_a_sales_model_buys_or_does_not(options, noise):
    model = demand.linear([0.4, 0.6, 0.8], **options)
    assert Environment(model, theta=0.4).noise == noise
    assert Environment(model, 0.4, BetaNoise()).noise == BetaNoise()
