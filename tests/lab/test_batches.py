import tracemalloc

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.lab.paper import batches
from globalbandits.lab.paper.batches import Size, gather, trace
from globalbandits.lab.paper.experiment_spec import load_model


@pytest.fixture
def world():
    return gb.Environment(load_model("pricing"), theta=0.4, noise=gb.BetaNoise())


def test_batches_are_the_runs_of_one_simulation(world, monkeypatch):
    monkeypatch.setattr(batches, "BATCH", 3)
    policies = {"greedy": gb.WAGP(), "optimist": gb.UCB1()}
    ticks = []
    found = gather(world, policies, Size(runs=7, horizon=60, seed=4, tick=ticks.append))
    whole = gb.simulate(world, policies, horizon=60, runs=7, seed=4).dataset
    assert ticks == [3, 3, 1]
    assert found.policies == ("greedy", "optimist")
    for name in policies:
        one = whole.sel(policy=name)
        np.testing.assert_array_equal(found.final[name], one["regret"][:, -1])
        np.testing.assert_array_equal(found.final_nominal[name], one["nominal_regret"][:, -1])
        np.testing.assert_array_equal(found.last_suboptimal[name], one["last_suboptimal"])
        mean, low, high = found.curve(name)
        np.testing.assert_allclose(mean, one["regret"].mean("run"), atol=1e-12)
        assert np.all(low <= mean)
        assert np.all(mean <= high)
    error = abs(whole.sel(policy="greedy")["estimate"] - 0.4).mean("time")
    np.testing.assert_allclose(found.error["greedy"], error)
    np.testing.assert_allclose(
        found.shares.mean, whole["pulls"].transpose("policy", "run", "arm").mean("run") / 60
    )


def test_shares_of_groups_are_sums(world):
    size = Size(runs=4, horizon=50, seed=1)
    single = gather(world, {"ucb": gb.UCB1()}, size).shares.mean[0]
    grouped = gather(world, {"ucb": gb.UCB1()}, size, groups=[[0], [3, 5, 11]]).shares.mean[0]
    np.testing.assert_allclose(grouped, [single[0], single[3] + single[5] + single[11]])


def test_memory_does_not_grow_with_the_runs(world, monkeypatch):
    monkeypatch.setattr(batches, "BATCH", 20)

    def peak(runs):
        tracemalloc.start()
        gather(world, {"ucb": gb.UCB1()}, Size(runs=runs, horizon=400, seed=0))
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak(20)  # what is loaded once
    assert peak(400) < 1.5 * peak(40)


def test_an_interrupted_simulation_interrupts(world, monkeypatch):
    real = gb.simulate

    def interrupted(*args, runs, **options):
        return real(*args, runs=runs - 1, **options)

    monkeypatch.setattr("globalbandits.lab.paper.batches.simulate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        gather(world, {"ucb": gb.UCB1()}, Size(runs=5, horizon=20, seed=0))


def test_a_trace_is_one_run_in_every_round():
    walk = gb.RandomWalk(drift_time=100, up=0.6)
    world = gb.Environment(load_model("pricing"), theta=0.5, drift=walk)
    size = Size(runs=50, horizon=300, seed=2)
    rounds, truth, estimates = trace(world, {"greedy": gb.WAGP()}, size)
    assert rounds.tolist() == list(range(1, 301))
    assert truth.shape == estimates["greedy"].shape == (300,)
    np.testing.assert_allclose(np.abs(np.diff(truth)), 0.01)
    assert truth[0] == 0.5
