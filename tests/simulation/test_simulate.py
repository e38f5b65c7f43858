"""`simulate`: the same bits in every executor, and the numbers of an independent simulation."""

import json
import math
import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from globalbandits.compiling import engine
from globalbandits.compiling.engine import Engine
from globalbandits.environments import (
    BernoulliNoise,
    Environment,
    FixedBias,
    GivenPath,
    NoNoise,
    RandomWalk,
    UniformBias,
)
from globalbandits.errors import SimulationError
from globalbandits.model import RewardModel
from globalbandits.policies import UCB1, WAGP, NonStationaryWAGP, ThompsonSampling
from globalbandits.simulation import simulate
from tests.simulation.worlds import Astray, Wordy, always, pricing, records_of

STORED = Path(__file__).parent.parent / "lab" / "oracle_numbers.json"
POLICIES = [WAGP(), UCB1(), ThompsonSampling()]


def run(env=None, policies=POLICIES, **options):
    given = {"horizon": 300, "runs": 7, "seed": 5, "threads": 1, **options}
    return simulate(env or pricing(), policies, **given).dataset


@pytest.fixture(scope="module")
def reference():
    return run()


@pytest.mark.parametrize("threads", [2, 5, None])
def test_threads_do_not_matter(reference, threads):
    assert run(threads=threads).identical(reference)


def test_results_do_not_depend_on_the_other_policies_or_their_order(reference):
    order = [2, 0, 1]
    mixed = run(policies=[POLICIES[place] for place in order])
    assert mixed.identical(reference.isel(policy=order))
    for policy in POLICIES:
        assert run(policies=[policy]).identical(reference.sel(policy=[policy.label]))


def test_runs_can_be_continued(reference):
    second = run(runs=4, first_run=3)
    assert second.identical(reference.sel(run=slice(3, None)))


def test_another_executor_does_not_matter(reference):
    with ThreadPoolExecutor(3) as threads:
        assert run(executor=threads).identical(reference)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as processes:
        assert run(executor=processes).identical(reference)


def test_results_do_not_depend_on_the_blocks_of_slower_policies(monkeypatch):
    monkeypatch.setattr(engine, "_WARNED", {"Wordy"})
    alone = run(policies=[WAGP()], horizon=3_000, runs=2)
    together = run(policies=[WAGP(), Wordy()], horizon=3_000, runs=2)
    assert together.sel(policy=["WAGP"]).identical(alone)
    # The slow policy is WAGP, written so that it cannot be compiled.
    np.testing.assert_array_equal(together["regret"][1], together["regret"][0])


def test_seeds_matter(reference):
    assert not run(seed=6)["regret"].equals(reference["regret"])


def test_policies_share_their_rewards():
    # Two arms that coincide: whichever is played, the rewards are the same numbers.
    twins = RewardModel.from_functions([lambda t: t / 2, lambda t: t / 2 + 0.0])
    env = Environment(twins, theta=0.7)
    data = run(env, {"first": always(0), "second": always(1)}, horizon=50)
    assert data["pulls"].sel(policy="first").values[:, 0].tolist() == [50] * 7
    assert data["pulls"].sel(policy="second").values[:, 1].tolist() == [50] * 7


def test_names(reference):
    named = run(policies={"a": WAGP(), "b": WAGP()})
    assert named["policy"].values.tolist() == ["a", "b"]
    np.testing.assert_array_equal(named["regret"][0], named["regret"][1])
    np.testing.assert_array_equal(named["regret"][0], reference["regret"].sel(policy="WAGP"))


def test_shapes_and_axes(reference):
    assert dict(reference.sizes) == {"policy": 3, "run": 7, "time": 200, "arm": 12}
    assert reference["arm"].values.tolist() == list(pricing().model.arms)
    assert (reference["pulls"].sum("arm") == 300).all()
    assert (reference["regret"].diff("time") >= 0).all()
    assert "theta" not in reference
    assert "bias" not in reference
    named = RewardModel(lambda t, arm: t / 2 if arm == "low" else t, ["low", "high"])
    labels = run(Environment(named, 0.5), [UCB1()], horizon=5)["arm"].values.tolist()
    assert labels == ["low", "high"]


def test_regret_counts_the_gaps():
    env = pricing()
    gaps = env.model.gaps(env.theta)
    data = run(env, {"worst": always(0)}, horizon=40, checkpoints=4)
    assert data["time"].values.tolist() == [10, 20, 30, 40]
    expected = np.outer(np.ones(7), [10, 20, 30, 40]) * gaps[0]
    np.testing.assert_allclose(data["regret"][0], expected, rtol=1e-14)
    assert data["last_suboptimal"].values.tolist() == [[40] * 7]
    best = run(env, {"best": always(int(gaps.argmin()))}, horizon=40)
    assert best["regret"].max() == 0.0
    assert best["last_suboptimal"].max() == 0


def test_last_suboptimal_step():
    data = run(policies=[WAGP()], horizon=400, checkpoints=400, runs=20)
    per_step = data["regret"][0].diff("time").values > 1e-15
    for curve, first, last in zip(
        per_step, data["regret"].values[0, :, 0] > 0, data["last_suboptimal"].values[0], strict=True
    ):
        steps = np.flatnonzero(np.concatenate([[first], curve])) + 1
        assert last == steps[-1]


def test_regret_is_in_the_units_of_the_rewards():
    scaled = RewardModel(
        lambda theta, p: 200 * p * (1 - p * theta) ** 2 - 50,
        list(pricing().model.arms),
        reward_range=(-50, 150),
    )
    for drift in (None, RandomWalk(drift_time=100, up=0.6)):
        unit = run(pricing(drift=drift, bias=UniformBias(0.02)))
        wide = run(Environment(scaled, theta=0.4, drift=drift, bias=UniformBias(4.0)))
        np.testing.assert_allclose(wide["regret"], 200 * unit["regret"], rtol=1e-6)
        np.testing.assert_array_equal(wide["pulls"], unit["pulls"])
        np.testing.assert_allclose(wide["bias"], 200 * unit["bias"])


def test_bias_moves_the_means_that_pay():
    shifts = np.zeros(12)
    shifts[0] = 0.9  # raised beyond every other arm, and cut at 1
    env = pricing(bias=FixedBias(shifts), noise=NoNoise())
    data = run(env, {"raised": always(0), "best": always(9)}, horizon=10)
    gaps = env.model.gaps(0.4)
    means = env.model.means(0.4)
    final = data.isel(time=-1)
    assert final["regret"].values[0] == pytest.approx(0.0)
    assert final["nominal_regret"].values[0] == pytest.approx(10 * gaps[0])
    assert final["regret"].values[1] == pytest.approx(10 * (1.0 - means[9]))
    assert final["nominal_regret"].values[1] == pytest.approx(10 * gaps[9])
    assert (data["bias"] == shifts).all()


def test_drift_is_scored_by_the_means_of_the_moment():
    path = np.linspace(0.4, 0.9, 60)
    env = pricing(drift=GivenPath(values=path.tolist()), bias=FixedBias(np.linspace(0, 0.1, 12)))
    data = run(env, {"always 3": always(3)}, horizon=60, checkpoints=60, runs=2)
    np.testing.assert_array_equal(data["theta"], [path, path])
    nominal = env.model.means(path)
    paid = np.clip(nominal + np.linspace(0, 0.1, 12), 0, 1)
    for name, means in (("nominal_regret", nominal), ("regret", paid)):
        expected = np.cumsum(means.max(axis=1) - means[:, 3])
        np.testing.assert_allclose(data[name][0, 0], expected, rtol=1e-9)


@pytest.fixture(scope="module")
def oracle():
    return json.loads(STORED.read_text())


def assert_agrees(values, stored, runs):
    """Means of two independent simulations; four standard errors of their difference."""
    error = math.sqrt(values.var(ddof=1) / values.size + stored["sd"] ** 2 / runs)
    assert abs(values.mean() - stored["mean"]) <= 4 * error


def test_against_an_independent_simulation(oracle):
    data = simulate(pricing(), [WAGP(), UCB1()], oracle["horizon"], runs=2_000).dataset
    final = data["regret"].isel(time=-1)
    numbers = oracle["experiment_1"]
    assert_agrees(final.sel(policy="WAGP").values, numbers["wagp_regret"], oracle["runs"])
    assert_agrees(final.sel(policy="UCB1").values, numbers["ucb1_regret"], oracle["runs"])
    share = 100 * data["pulls"].sel(policy="WAGP").values[:, 9] / oracle["horizon"]
    assert_agrees(share, numbers["wagp_share_arm_10"], oracle["runs"])


@pytest.mark.parametrize("size", [0.05, 0.1])
def test_bias_against_an_independent_simulation(oracle, size):
    env = pricing(bias=UniformBias(size))
    data = simulate(env, [WAGP()], oracle["horizon"], runs=2_000).dataset.isel(time=-1, policy=0)
    numbers = oracle["experiment_4"]
    assert_agrees(data["regret"].values, numbers[f"wagp_true_{size}"], oracle["runs"])
    assert_agrees(data["nominal_regret"].values, numbers[f"wagp_nominal_{size}"], oracle["runs"])


def test_drift_against_an_independent_simulation(oracle):
    walk = RandomWalk(drift_time=1000, up=0.6)
    env = Environment(pricing().model, theta=0.5, drift=walk)
    policies = {"tracking": NonStationaryWAGP(half_window=100), "wagp": WAGP()}
    data = simulate(env, policies, oracle["horizon"], runs=2_000).dataset.isel(time=-1)
    for name in policies:
        average = 1000 * data["regret"].sel(policy=name).values / oracle["horizon"]
        assert_agrees(average, oracle["experiment_3"][f"{name}_regret_1000"], oracle["runs"])


def test_a_policy_that_cannot_be_compiled_is_reported_once(monkeypatch):
    monkeypatch.setattr(engine, "_WARNED", set())
    with pytest.warns(RuntimeWarning, match="Wordy cannot be compiled and runs in plain Python"):
        slow = run(policies=[Wordy()], horizon=50)
    again = run(policies=[Wordy()], horizon=50)  # a second warning would be an error
    assert again.identical(slow)
    np.testing.assert_array_equal(slow["pulls"], run(policies=[WAGP()], horizon=50)["pulls"])


@pytest.mark.parametrize("drift", [None, RandomWalk(drift_time=99)], ids=str)
@pytest.mark.parametrize("arm", [-1, 12])
def test_an_arm_that_does_not_exist(arm, drift):
    message = f"odd must select an arm from 0 to 11, got {arm}"
    with pytest.raises(SimulationError, match=message):
        run(pricing(drift=drift), policies={"odd": always(arm)})


@pytest.mark.parametrize("interpreted", [True, False])
def test_an_arm_that_does_not_exist_later_on(interpreted):
    message = r"Astray must select an arm from 0 to 11, got 12"
    with pytest.raises(SimulationError, match=message):
        records_of(pricing(), [Astray()], 50, engine=Engine(interpreted=interpreted))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"env": 3}, "env must be an Environment, got 3"),
        ({"policies": []}, r"policies must be at least one, got \[\]"),
        ({"policies": "wagp"}, "policies must be a list of policies, got 'wagp'"),
        ({"policies": ["wagp"]}, "policies must be policies such as WAGP\\(\\), got 'wagp'"),
        ({"policies": {1: WAGP()}}, "policies must have texts as names, got 1"),
        (
            {"policies": [WAGP(), WAGP()]},
            r"policies must have different labels \(give a mapping .*\), got 'WAGP'",
        ),
        ({"horizon": 0}, "horizon must be at least 1, got 0"),
        ({"horizon": 10**18}, f"horizon must be at most {2**40}, got {10**18}"),
        ({"horizon": 10**400}, f"horizon must be at most {2**40}, got 1000"),
        ({"runs": 0}, "runs must be at least 1, got 0"),
        ({"runs": 10**18}, f"runs must be at most {2**31}, got {10**18}"),
        ({"seed": 2**128}, f"seed must be at most {2**128 - 1}, got {2**128}"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"seed": 1.5}, "seed must be an integer, got 1.5"),
        ({"threads": 0}, "threads must be at least 1, got 0"),
        ({"first_run": -1}, "first_run must be at least 0, got -1"),
        ({"checkpoints": 0}, "checkpoints must be at least 1, got 0"),
    ],
)
def test_wrong_arguments(change, message):
    with pytest.raises(SimulationError, match=message):
        simulate(**{"env": pricing(), "policies": [WAGP()], "horizon": 10, "runs": 1, **change})


def test_a_path_that_is_too_short():
    env = pricing(drift=GivenPath(values=[0.4, 0.5]))
    with pytest.raises(SimulationError, match="horizon must be at most 2, where the drift's path"):
        run(env, horizon=3)


def test_progress_is_shown(capsys):
    run(policies=[WAGP()], progress=True)
    shown = capsys.readouterr().err
    assert "simulating" in shown
    assert "steps/s" in shown


def test_noise_of_two_values():
    data = run(pricing(noise=BernoulliNoise()), horizon=200)
    assert (data["pulls"].sum("arm") == 200).all()
