"""Joined shards: the result of one simulation, or an error with the reason."""

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import ResultError
from globalbandits.simulation import SimulationResult
from tests.simulation.worlds import pricing

POLICIES = [gb.WAGP(), gb.UCB1()]


def shard(first_run, runs, env=None, policies=POLICIES, **options):
    given = {"horizon": 60, "seed": 2, "checkpoints": 5, **options}
    return gb.simulate(env or pricing(), policies, runs=runs, first_run=first_run, **given)


@pytest.fixture(scope="module")
def whole():
    return shard(0, 9)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_joined_shards_equal_the_whole_simulation(whole, order):
    parts = [shard(0, 4), shard(4, 2), shard(6, 3)]
    joined = gb.concat([parts[at] for at in order])
    assert joined.dataset.identical(whole.dataset)
    for name in whole.dataset.variables:
        assert joined.dataset[name].dtype == whole.dataset[name].dtype
        assert joined.dataset[name].dims == whole.dataset[name].dims
    assert joined.spec == whole.spec
    assert joined.summary().equals(whole.summary())


def test_paths_biases_and_evidence_are_joined_too(tmp_path):
    env = pricing(drift=gb.RandomWalk(drift_time=50, up=0.6), bias=gb.UniformBias(0.01))
    options = {"env": env, "policies": [gb.WAGP()], "evidence": True, "checkpoints": 2}
    whole = shard(0, 3, **options)
    joined = gb.concat([shard(1, 2, **options), shard(0, 1, **options)])
    assert joined.dataset.identical(whole.dataset)
    joined.save(tmp_path / "joined.nc")
    assert SimulationResult.load(tmp_path / "joined.nc").spec == whole.spec


def test_one_result_and_runs_with_a_gap(whole):
    assert gb.concat([whole]).dataset.identical(whole.dataset)
    apart = gb.concat([shard(20, 2), shard(3, 1)])
    assert apart.dataset["run"].values.tolist() == [3, 20, 21]
    assert (apart.spec["first_run"], apart.spec["runs"]) == (3, 3)


def test_an_interrupted_shard_counts_the_runs_it_has(whole):
    cut = SimulationResult(whole.dataset.isel(run=slice(0, 5)), whole.spec)
    joined = gb.concat([cut, shard(9, 1)])
    assert joined.spec["runs"] == 6
    assert joined.dataset["run"].values.tolist() == [0, 1, 2, 3, 4, 9]


def test_other_machines_are_listed(whole):
    there = {"python": "3.99.0", "numpy": "9.9", "numba": "9.9", "platform": "elsewhere"}
    later = shard(9, 1)
    other = SimulationResult(later.dataset, later.spec | {"made_with": [there]})
    joined = gb.concat([whole, other, shard(10, 1)])
    assert joined.spec["made_with"] == [*whole.spec["made_with"], there]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: shard(8, 2), r"runs of the results must differ, got 'run \[8\] twice'"),
        (lambda: shard(9, 1, seed=3), "seed of the results must agree .* first one's 2, got 3"),
        (lambda: shard(9, 1, horizon=61), "horizon of the results must agree .* 60, got 61"),
        (lambda: shard(9, 1, policies=[gb.WAGP()]), "policies UCB1 of the results must agree"),
        (
            lambda: shard(9, 1, policies=POLICIES[::-1]),
            r"policies of the results must agree .* \['WAGP', 'UCB1'\], got \['UCB1', 'WAGP'\]",
        ),
        (
            lambda: shard(9, 1, policies={"WAGP": gb.WAGP(), "UCB1": gb.MOSS()}),
            "policies UCB1 policy of the results must agree with the first one's 'ucb1', got 'moss",
        ),
        (lambda: shard(9, 1, checkpoints=4), "checkpoints of the results must agree"),
        (
            lambda: shard(9, 1, env=pricing(noise=gb.BernoulliNoise())),
            "environment noise kind of the results must agree .* 'beta', got 'bernoulli'",
        ),
        (
            lambda: shard(9, 1, evidence=True, policies=POLICIES, checkpoints=5),
            "variables of the results must agree",
        ),
    ],
)
def test_shards_of_different_simulations_are_refused(whole, make, message):
    with pytest.raises(ResultError, match=message):
        gb.concat([whole, make()])


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ([], r"results must be at least one, got \[\]"),
        (5, "results must be a list of results, got 5"),
        ([5], "results must be simulation results, got 5"),
        ("ab", "results must be a list of results, got 'ab'"),
    ],
)
def test_what_is_no_result(results, message):
    with pytest.raises(ResultError, match=message):
        gb.concat(results)


def test_a_single_shard_is_copied(whole):
    joined = gb.concat([whole])
    joined.dataset["regret"].values[:] = np.nan
    assert not np.isnan(whole.dataset["regret"]).any()
