"""Rewards from another family, from given means, from a function of time, from a population."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.compiling.engine import Engine
from tests.simulation.worlds import assert_same_bits, records_of

DOSES = [1.0, 2.0, 4.0, 6.0]
TARGET = 0.3


@pytest.fixture(scope="module")
def believed():
    return gb.dose.logistic(DOSES, target=TARGET)


@pytest.fixture(scope="module")
def other():
    return gb.dose.emax(DOSES)


def rising(time, arm):
    """A truth that can be sent to a process: all arms rise until time 50."""
    return arm / 10.0 + 0.004 * np.minimum(time, 50)


def bernoulli_environment(model, **parts):
    return gb.Environment(model, noise=gb.BernoulliNoise(), **parts)


def test_regret_is_computed_from_the_true_means(believed, other):
    env = bernoulli_environment(believed, theta=0.5, truth=other, truth_theta=4.0)
    data = gb.simulate(env, [gb.Uniform()], horizon=300, runs=20).dataset
    pulls = data["pulls"].values[0]
    true = -np.abs(np.array(DOSES) / (4.0 + np.array(DOSES)) - TARGET)
    by_hand = 1 / (1 + np.exp(3 - 0.5 * np.array(DOSES)))
    nominal = -np.abs(by_hand - TARGET)
    np.testing.assert_allclose(data["regret"].values[0, :, -1], pulls @ (true.max() - true))
    np.testing.assert_allclose(
        data["nominal_regret"].values[0, :, -1], pulls @ (nominal.max() - nominal)
    )


def test_rewards_have_the_means_of_the_truth(believed):
    means = [0.1, 0.9, 0.3, 0.6]
    result = gb.simulate(bernoulli_environment(believed, truth=means), [gb.UCB1()], 40, runs=2)
    assert np.isnan(result.dataset["nominal_regret"].values).all()
    records = records_of(
        bernoulli_environment(believed, truth=means), [gb.Uniform()], 4000, evidence=True
    )
    counts = records.histograms[0, 0, -1]
    observed = counts @ np.linspace(0, 1, counts.shape[1]) / counts.sum(axis=1)
    sem = np.sqrt(np.array(means) * (1 - np.array(means)) / counts.sum(axis=1))
    assert np.all(np.abs(observed - means) < 4 * sem)


def test_a_truth_of_means_is_the_model_at_theta_when_they_agree(believed):
    plain = records_of(bernoulli_environment(believed, theta=0.5), [gb.WAGP()], 200, runs=3)
    same = records_of(
        bernoulli_environment(believed, theta=0.5, truth=believed.means(0.5)),
        [gb.WAGP()],
        200,
        runs=3,
    )
    assert_same_bits(plain, same)


def test_a_bias_shifts_the_truth(believed):
    means = np.array([0.1, 0.25, 0.5, 0.95])
    env = bernoulli_environment(believed, truth=means, bias=gb.FixedBias([0.0, 0.0, -0.2, 0.2]))
    data = gb.simulate(env, [gb.Uniform()], horizon=100, runs=5).dataset
    worth = -np.abs(np.array([0.1, 0.25, 0.3, 1.0]) - TARGET)
    expected = data["pulls"].values[0] @ (worth.max() - worth)
    np.testing.assert_allclose(data["regret"].values[0, :, -1], expected, atol=1e-9)


def test_a_truth_that_moves_is_scored_step_by_step(believed):
    env = bernoulli_environment(believed, theta=0.5, truth=rising)
    horizon = 120
    result = gb.simulate(env, {"low": Always0()}, horizon, runs=2, checkpoints=horizon)
    times = np.arange(1, horizon + 1)
    worth = -np.abs(rising(times[:, None], np.array(DOSES)) - TARGET)
    gap = worth.max(axis=1) - worth[:, 0]
    for run in range(2):
        np.testing.assert_allclose(result.dataset["regret"].values[0, run], np.cumsum(gap))
    nominal = believed.gaps(0.5)[0]
    np.testing.assert_allclose(result.dataset["nominal_regret"].values[0, 0], nominal * times)


class Always0(gb.Policy):
    rules = gb.Uniform.rules._replace(select=lambda setup, stats, state, rng: 0)

    def setup(self, model):
        return gb.Uniform().setup(model)


@pytest.mark.parametrize("theta", [0.5, None])
def test_a_moving_truth_is_the_same_compiled_interpreted_and_in_blocks(believed, theta):
    env = bernoulli_environment(believed, theta=theta, truth=rising)
    whole = records_of(env, [gb.WAGP()], 150, runs=3)
    assert_same_bits(whole, records_of(env, [gb.WAGP()], 150, runs=3, block=64))
    plain = records_of(env, [gb.WAGP()], 150, runs=3, engine=Engine(interpreted=True))
    assert_same_bits(whole, plain)


def test_a_function_may_take_one_time_after_the_other(believed):
    env = bernoulli_environment(believed, truth=lambda time, arm: 0.2 if time <= 5 else arm / 10)
    data = gb.simulate(env, {"low": Always0()}, 10, runs=1, checkpoints=10).dataset
    late = 0.2 + np.zeros(5)  # dose 1 is worth -0.2; dose 4 or 2 is worth -0.1
    expected = np.concatenate([np.zeros(5), np.cumsum(late * 0.5)])
    np.testing.assert_allclose(data["regret"].values[0, 0], expected, atol=1e-12)


def test_each_run_has_its_own_theta(believed):
    env = bernoulli_environment(believed, theta=gb.Population(interval=(0.2, 0.9)))
    data = gb.simulate(env, [gb.Uniform()], horizon=60, runs=400).dataset
    thetas = data["theta"].values
    assert thetas.shape == (400,)
    assert 0.2 <= thetas.min() < thetas.max() <= 0.9
    assert abs(thetas.mean() - 0.55) < 4 * 0.7 / np.sqrt(12 * 400)
    expected = np.sum(data["pulls"].values[0] * believed.gaps(thetas), axis=1)
    np.testing.assert_allclose(data["regret"].values[0, :, -1], expected, rtol=1e-7, atol=1e-8)
    np.testing.assert_array_equal(data["regret"].values, data["nominal_regret"].values)


def test_members_may_be_off_the_curve(believed):
    rows = np.array([[0.0, 0.1, 0.0, -0.1], [0.2, 0.0, -0.3, 0.0]])
    people = gb.Population(samples=[0.3, 0.7], weights=[1, 3], shifts=rows)
    data = gb.simulate(
        bernoulli_environment(believed, theta=people), [gb.Uniform()], 50, runs=300
    ).dataset
    second = data["theta"].values == 0.7
    assert abs(second.mean() - 0.75) < 4 * np.sqrt(0.75 * 0.25 / 300)
    np.testing.assert_array_equal(data["bias"].values, rows[second.astype(int)])
    paid = np.clip(believed.means(data["theta"].values) + data["bias"].values, 0, 1)
    worth = -np.abs(paid - TARGET)
    gaps = worth.max(axis=1, keepdims=True) - worth
    expected = np.sum(data["pulls"].values[0] * gaps, axis=1)
    np.testing.assert_allclose(data["regret"].values[0, :, -1], expected, rtol=1e-7, atol=1e-7)


def test_a_population_of_one_is_that_theta(believed):
    one = records_of(bernoulli_environment(believed, theta=0.5), [gb.WAGP()], 200, runs=3)
    same = bernoulli_environment(believed, theta=gb.Population(samples=[0.5]))
    many = records_of(same, [gb.WAGP()], 200, runs=3)
    np.testing.assert_array_equal(one.pulls, many.pulls)
    np.testing.assert_allclose(one.regret, many.regret, atol=1e-7)


def test_members_depend_on_the_run_and_not_on_blocks_or_processes(believed):
    env = bernoulli_environment(believed, theta=gb.Population(samples=[0.2, 0.5, 0.8]))
    whole = records_of(env, [gb.WAGP()], 100, runs=6)
    assert_same_bits(whole, records_of(env, [gb.WAGP()], 100, runs=6, block=64))
    truth = bernoulli_environment(believed, truth=rising)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        for world in (env, truth):
            apart = gb.simulate(world, [gb.WAGP()], 40, runs=4, executor=pool).dataset
            here = gb.simulate(world, [gb.WAGP()], 40, runs=4).dataset
            assert apart.equals(here)


def test_the_mean_regret_is_the_bayes_risk(believed):
    people = gb.Population(quantile=lambda u: 0.2 + 0.6 * u**2)
    data = gb.simulate(
        bernoulli_environment(believed, theta=people), {"low": Always0()}, 1, runs=4000
    ).dataset
    u = (np.arange(10_000) + 0.5) / 10_000
    gaps = believed.gaps(0.2 + 0.6 * u**2)[:, 0]
    observed = data["regret"].values[0, :, -1]
    assert abs(observed.mean() - gaps.mean()) < 4 * gaps.std() / np.sqrt(4000)


def test_results_are_saved_joined_and_drawn(believed, tmp_path):
    env = bernoulli_environment(believed, theta=gb.Population())
    parts = [gb.simulate(env, [gb.WAGP()], 30, runs=3, first_run=n) for n in (0, 3)]
    whole = gb.concat(parts)
    whole.save(tmp_path / "result.nc")
    assert gb.SimulationResult.load(tmp_path / "result.nc").dataset.equals(whole.dataset)
    assert whole.plot_estimate().axes
    assert whole.plot_estimate(run=2).axes
    assert gb.simulate(
        bernoulli_environment(believed, truth=[0.1, 0.2, 0.3, 0.4]), [gb.WAGP()], 30, runs=3
    )


def test_another_truth_is_another_simulation(believed, other):
    worlds = [
        bernoulli_environment(believed, theta=0.5),
        bernoulli_environment(believed, theta=0.5, truth=other, truth_theta=4.0),
        bernoulli_environment(believed, theta=0.5, truth=other, truth_theta=3.0),
        bernoulli_environment(believed, theta=0.5, truth=[0.1, 0.2, 0.3, 0.4]),
        bernoulli_environment(believed, theta=0.5, truth=rising),
        bernoulli_environment(believed, theta=gb.Population()),
    ]
    specs = [env.to_dict() for env in worlds]
    assert all(one != two for at, one in enumerate(specs) for two in specs[:at])
    assert specs[1]["best_arms"] == [1]
    assert specs[4]["best_arms"] == specs[5]["best_arms"] == []
    result = gb.simulate(worlds[4], [gb.WAGP()], 5, runs=1)
    assert len(result.spec["own_code"]["truth"]) == 64
