"""Arms in groups with a parameter each: the simulator, and the two ends of the regional bandit."""

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import ModelError, ScenarioError

PRICES = [0.4, 0.6, 0.8, 0.95]
PRICING = gb.demand.linear_power(PRICES)
THETA = 0.4
LINES = [gb.RewardModel(lambda theta, x: theta + 0 * x, [x]) for x in range(3)]
MEANS = (0.3, 0.5, 0.7)


def final(env, policy, **options):
    settings = {"horizon": 400, "runs": 6, "seed": 3} | options
    result = gb.simulate(env, [policy], **settings)
    return result.dataset.regret.values[0, :, -1], result.dataset.pulls.values[0]


def test_one_group_is_the_global_bandit():
    grouped = gb.Environment(gb.RegionalModel([PRICING]), theta=[THETA])
    regret, pulls = final(grouped, gb.RegionalUCB())
    expected, expected_pulls = final(gb.Environment(PRICING, theta=THETA), gb.WAGP())
    np.testing.assert_array_equal(pulls, expected_pulls)
    np.testing.assert_allclose(regret, expected, rtol=1e-12)


def test_one_arm_per_group_is_the_independent_bandit():
    grouped = gb.Environment(gb.RegionalModel(LINES), theta=MEANS)
    regret, _ = final(grouped, gb.RegionalUCB(alpha=2.0), horizon=2_000, runs=20)
    # The same three means as curves of one parameter, which UCB1 does not look at.
    curves = gb.RewardModel(lambda theta, m: m * theta, list(MEANS), domain=(0.5, 1.0))
    expected, _ = final(gb.Environment(curves, theta=1.0), gb.UCB1(), horizon=2_000, runs=20)
    error = np.hypot(regret.std(ddof=1), expected.std(ddof=1)) / np.sqrt(20)
    assert abs(regret.mean() - expected.mean()) < 4 * error


def test_regret_and_rewards_are_those_of_all_groups():
    both = gb.RegionalModel([PRICING, LINES[0]])
    env = gb.Environment(both, theta=(0.4, 0.9), noise=gb.NoNoise())
    assert env.to_dict()["theta"] == [0.4, 0.9]
    assert env.to_dict()["model"]["domain"] == [[0.0, 1.0], [0.0, 1.0]]
    assert env.to_dict()["best_arms"] == [4]
    regret, pulls = final(env, gb.RegionalUCB())
    np.testing.assert_allclose(regret, pulls @ both.gaps([0.4, 0.9]), rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"theta": 0.4}, "theta must be 2 parameters, one per group, got 0.4"),
        ({"theta": [0.4]}, r"theta must be 2 parameters, one per group, got \[0.4\]"),
        ({"theta": "ab"}, "theta must be 2 parameters, one per group, got 'ab'"),
        ({"theta": [0.4, 2]}, r"theta of group 1 must lie in the domain \[0, 1\], got 2"),
        (
            {"theta": [0.4, 0.5], "drift": gb.RandomWalk(drift_time=100)},
            "drift must be None for arms in groups, whose parameters stay, got RandomWalk",
        ),
        (
            {"theta": [0.4, 0.5], "noise": gb.SaleNoise()},
            "noise must have no amounts for arms in groups, got SaleNoise",
        ),
    ],
)
def test_wrong_worlds_are_named(options, message):
    with pytest.raises(ScenarioError, match=message):
        gb.Environment(gb.RegionalModel([PRICING, PRICING]), **options)


@pytest.mark.parametrize("options", [{"policies": [gb.WAGP()]}, {"evidence": True}])
def test_what_needs_one_parameter_is_refused(options):
    env = gb.Environment(gb.RegionalModel([PRICING, PRICING]), theta=(0.4, 0.5))
    policies = options.pop("policies", [gb.RegionalUCB()])
    with pytest.raises(ModelError, match="model must have one parameter, got a regional model"):
        gb.simulate(env, policies, horizon=5, runs=2, **options)
