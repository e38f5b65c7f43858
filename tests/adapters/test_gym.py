"""Our worlds in Gymnasium: the real checker, and the same rewards as in the simulator."""

import copy
import math
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import globalbandits as gb
from globalbandits.adapters.gym import BanditEnv
from globalbandits.adapters.live_world import LiveWorld
from globalbandits.errors import ScenarioError

PRICES = [0.4, 0.6, 0.8]


@pytest.mark.parametrize("name", ["Pricing", "Dose"])
def test_environments_pass_gymnasiums_own_check(name):
    env = gymnasium.make(f"globalbandits/{name}-v0", horizon=50)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        check_env(env.unwrapped, skip_render_check=True)
    # The only warnings are advice: that other values of a parameter could be checked, too.
    texts = [str(warning.message) for warning in said]
    assert all("assert" not in text.lower() and "failed" not in text.lower() for text in texts)


def test_an_episode_is_a_run_of_the_simulator():
    model = gb.demand.linear_power(PRICES)
    environment = gb.Environment(model, theta=0.4)
    result = gb.simulate(environment, [gb.WAGP()], horizon=60, runs=3, seed=5).dataset
    env = BanditEnv(environment, horizon=60)
    for run in range(3):
        observation, info = env.reset(seed=5 if run == 0 else None)
        assert info == {"time": 0, "run": run}
        assert not observation.any()
        rng = gb._random.generator(gb._random.Stream.POLICY, 5, run)
        rules, setup, stats, state = gb.Learner(gb.WAGP(), model).parts
        regret, truncated = 0.0, False
        while not truncated:
            arm = int(rules.select(setup, stats, state, rng))
            observation, reward, terminated, truncated, info = env.step(arm)
            assert not terminated
            gb.statistics.count(stats, arm, reward)
            rules.update(setup, stats, state, arm, reward)
            regret += info["regret"]
        assert info["time"] == 60
        pulls = result["pulls"].sel(run=run).values[0]
        assert (observation[:3] * 60).round().tolist() == pulls.tolist()
        assert regret == pytest.approx(float(result["regret"].sel(run=run).values[0, -1]))


@pytest.mark.parametrize(
    "world",
    [
        {"theta": 0.4, "drift": gb.RandomWalk(drift_time=20.0)},
        {"theta": 0.4, "bias": gb.UniformBias(0.1)},
        {"theta": gb.Population(interval=(0.2, 0.6))},
        {"theta": 0.4, "noise": gb.BernoulliNoise(), "truth": [0.1, 0.3, 0.2]},
        {"truth": lambda time, arm: 0.2 + 0.1 * arm + 0.1 * math.sin(time / 10)},
    ],
    ids=["drift", "bias", "population", "truth", "moving truth"],
)
def test_every_kind_of_world_pays_what_the_simulator_pays(world):
    environment = gb.Environment(gb.demand.linear_power(PRICES), **world)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a function of the user's is not compiled
        data = gb.simulate(environment, [gb.FixedArm(1)], 40, 2, seed=3, checkpoints=40).dataset
    for run in range(2):
        live = LiveWorld(environment, seed=3, run=run)
        gaps = []
        for _ in range(40):
            live.pay(1)
            gaps.append(live.gap)
        assert np.cumsum(gaps) == pytest.approx(data["regret"].values[0, run], abs=1e-12)


def test_what_a_profit_is_worth_is_the_reward():
    model = gb.demand.exponential([2.0, 4.0], cost=1.5)
    env = BanditEnv(gb.Environment(model, theta=0.2, noise=gb.BernoulliNoise()), horizon=5)
    env.reset(seed=0)
    rewards = {env.step(1)[1] for _ in range(5)}
    assert rewards == {0.0, 2.5}
    with pytest.raises(ScenarioError, match="have a value that is a straight line in the mean"):
        BanditEnv(gb.Environment(gb.dose.emax([1.0, 2.0], target=0.25), theta=1.0))
    with pytest.raises(ScenarioError, match="environment must be an Environment, got 3"):
        BanditEnv(3)
    with pytest.raises(ScenarioError, match="reset must come before step"):
        BanditEnv(gb.Environment(model, theta=0.2)).step(0)


def test_copies_continue_identically():
    env = gymnasium.make("globalbandits/Pricing-v0", horizon=30)
    env.reset(seed=2)
    env.step(3)
    other = copy.deepcopy(env)
    assert [env.step(k % 12)[1] for k in range(9)] == [other.step(k % 12)[1] for k in range(9)]
