"""Rewards that become known late: delays, losses, deadlines and batches, against a naive loop."""

import numpy as np
import pytest

import globalbandits as gb
from globalbandits._random import Stream, generator
from globalbandits.compiling.engine import Engine
from globalbandits.environments import BernoulliNoise, RandomWalk
from globalbandits.errors import ScenarioError, SimulationError
from globalbandits.policies import UCB1, WAGP
from globalbandits.simulation.checkpoints import checkpoint_times
from tests.simulation.naive import naive_records
from tests.simulation.worlds import assert_same_bits, pricing, records_of

# Every test uses the same two compiled loops: of a policy that draws numbers, and of one that
# counts decisions.
POLICIES = [WAGP(), gb.Limited(UCB1(), largest_step=None)]
DELAYS = {
    "fixed": gb.FixedDelay(7),
    "per arm": gb.FixedDelay(list(range(12))),
    "geometric": gb.GeometricDelay(9.5),
    "lost": gb.GeometricDelay(4, lost=0.3),
    "uniform": gb.UniformDelay(20.5),
    "sales only": gb.GeometricDelay(6, lost=0.1, deadline=15),
    "longer than the run": gb.FixedDelay(10_000),
}


@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize("kind", DELAYS)
def test_equals_a_naive_loop(kind, batch):
    env = pricing(delay=DELAYS[kind], noise=BernoulliNoise())
    options = {"runs": 1, "seed": 5, "evidence": True, "batch": batch}
    times = checkpoint_times(60, 10)
    naive = naive_records(env, POLICIES, 60, times.tolist(), **options)
    compiled = records_of(env, POLICIES, 60, times=10, **options)
    for name in ("pulls", "choice", "last_suboptimal"):
        np.testing.assert_array_equal(getattr(compiled, name), getattr(naive, name), err_msg=name)
    for name in ("regret", "estimate", "histograms"):
        np.testing.assert_allclose(getattr(compiled, name), getattr(naive, name), rtol=1e-9)


def test_blocks_and_plain_python_give_the_same_bits():
    env = pricing(delay=DELAYS["lost"], drift=RandomWalk(drift_time=50))
    options = {"runs": 2, "evidence": True, "batch": 13, "times": 5}
    whole = records_of(env, POLICIES[:1], 60, **options)
    assert_same_bits(whole, records_of(env, POLICIES[:1], 60, block=7, **options))
    plain = Engine(interpreted=True)
    assert_same_bits(whole, records_of(env, POLICIES[:1], 60, engine=plain, **options))


def test_no_delay_keeps_the_bits_of_a_run():
    options = {"runs": 2, "evidence": True, "times": 5}
    at_once = records_of(pricing(), POLICIES[:1], 120, **options)
    known = pricing(delay=gb.FixedDelay(0))
    assert_same_bits(at_once, records_of(known, POLICIES[:1], 120, **options))


def test_one_batch_is_decided_without_a_reward():
    options = {"evidence": True, "times": [49, 50], "batch": 50}
    played = records_of(pricing(), POLICIES, 50, **options)
    assert played.pulls[1, 0].tolist() == [50] + [0] * 11
    # The rewards become known after the last decision.
    assert np.isnan(played.estimate[0, 0, 0])
    assert 0.0 <= played.estimate[0, 0, 1] <= 1.0


def test_delays_have_their_distribution():
    u = generator(Stream.DELAY, 1).random(20_000)

    def drawn(delay, arm=0):
        parameters = delay.parameters(2)
        return np.array([delay.rules.draw(parameters, arm, value) for value in u])

    delay = gb.GeometricDelay([30.0, 3.0], lost=[0.0, 0.25])
    first, second = drawn(delay), drawn(delay, 1)
    error = np.sqrt(30.0 * 31.0 / len(u))
    assert abs(first.mean() - 30.0) < 4 * error
    assert abs((second == -1).mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / len(u))
    assert abs(second[second >= 0].mean() - 3.0) < 4 * np.sqrt(12.0 / (0.75 * len(u)))
    ages, tolerance = np.arange(12), 4 * 0.5 / np.sqrt(len(u))
    for arm, found in ((0, first), (1, second)):
        shares = [((found >= 0) & (found <= age)).mean() for age in ages]
        np.testing.assert_allclose(delay.chance(ages, arm), shares, atol=tolerance)
    even = drawn(gb.UniformDelay(10))
    shares = [(even < age).mean() for age in ages]
    np.testing.assert_allclose(gb.UniformDelay(10).chance(ages), shares, atol=tolerance)
    assert gb.GeometricDelay(1e4).longest >= drawn(gb.GeometricDelay(1e4)).max()


def test_chance_of_ages():
    assert gb.FixedDelay(3).chance([2, 3, 4]).tolist() == [0.0, 1.0, 1.0]
    assert gb.FixedDelay(3, lost=0.5, deadline=5).chance([4, 5]).tolist() == [0.5, 1.0]
    assert gb.FixedDelay([1, 9]).chance([5, 5], [0, 1]).tolist() == [1.0, 0.0]
    assert gb.UniformDelay(4).chance(-1.0) == 0.0
    assert gb.GeometricDelay(0).chance([0, 5]).tolist() == [1.0, 1.0]


WRONG = [
    (lambda: gb.FixedDelay(-1), "rounds must be at least 0, got -1"),
    (lambda: gb.FixedDelay(2.5), "rounds must be an integer"),
    (lambda: gb.GeometricDelay(float("nan")), "mean must be"),
    (lambda: gb.GeometricDelay(-2), "mean must lie between 0"),
    (lambda: gb.UniformDelay(0), "window must be above 0, got 0"),
    (lambda: gb.FixedDelay(1, lost=1.0), r"lost must lie in \[0, 1\), got 1.0"),
    (lambda: gb.FixedDelay(1, deadline=0), "deadline must be at least 1, got 0"),
    (lambda: pricing(delay=gb.FixedDelay([1, 2])), "rounds must be one number, or 12 numbers"),
    (lambda: pricing(delay=3), "delay must be a Delay, got 3"),
]


@pytest.mark.parametrize(("make", "text"), WRONG, ids=[text for _, text in WRONG])
def test_bad_delays(make, text):
    with pytest.raises(ScenarioError, match=text):
        make()


def test_bad_batches_and_a_page_of_late_rewards():
    with pytest.raises(SimulationError, match="batch must be at least 1, got 0"):
        gb.simulate(pricing(), [WAGP()], 10, batch=0)
    with pytest.raises(SimulationError, match="env must have no delay"):
        gb.watch(pricing(delay=gb.FixedDelay(1)), [WAGP()], 10)


def test_results_name_batch_and_delay(tmp_path):
    env = pricing(delay=gb.GeometricDelay(5))
    result = gb.simulate(env, [WAGP()], 30, runs=2, batch=3, seed=4)
    result.save(tmp_path / "late.nc")
    spec = gb.SimulationResult.load(tmp_path / "late.nc").spec
    assert spec["batch"] == 3
    assert gb.Delay.from_dict(spec["environment"]["delay"]) == gb.GeometricDelay(5)
    assert "batch" not in gb.simulate(pricing(), [WAGP()], 5, runs=1).spec


def test_a_spec_file_has_batch_and_delay(tmp_path):
    content = {
        "model": {"family": "demand.linear_power", "arms": [0.4, 0.6, 0.8]},
        "environment": {"theta": 0.4, "delay": {"kind": "fixed", "rounds": 3}},
        "policies": ["wagp"],
        "horizon": 40,
        "runs": 2,
        "sweep": {"batch": [1, 20]},
    }
    regret = gb.sweep(content, tmp_path / "sweep").summary()["regret_mean"]
    model = gb.demand.linear_power([0.4, 0.6, 0.8])
    env = gb.Environment(model, theta=0.4, delay=gb.FixedDelay(3))
    ours = [gb.simulate(env, [WAGP()], 40, runs=2, batch=size) for size in (1, 20)]
    assert regret.tolist() == [one.summary()["regret_mean"].iloc[0] for one in ours]
