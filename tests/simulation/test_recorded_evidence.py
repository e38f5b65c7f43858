"""Evidence recorded by the simulator is that of the rewards, and watching changes nothing."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from globalbandits.environments import BetaNoise, Jumps, UniformBias
from globalbandits.errors import SimulationError
from globalbandits.evidence import Evidence
from globalbandits.evidence.inference import infer_many
from globalbandits.policies import UCB1, WAGP, Guarded
from globalbandits.simulation import SimulationResult, simulate
from tests.simulation.worlds import pricing, records_of

TIMES = [1, 5, 40, 300]


@pytest.fixture(scope="module")
def watched():
    env = pricing(noise=BetaNoise(), bias=UniformBias(0.1))
    return simulate(
        env, [WAGP(), UCB1()], horizon=300, runs=3, seed=4, checkpoints=TIMES, evidence=True
    )


def test_watching_changes_nothing(watched):
    env = pricing(noise=BetaNoise(), bias=UniformBias(0.1))
    plain = simulate(env, [WAGP(), UCB1()], horizon=300, runs=3, seed=4, checkpoints=TIMES)
    assert watched.spec == plain.spec
    for name, variable in plain.dataset.items():
        np.testing.assert_array_equal(watched.dataset[name], variable)
    assert "interval_low" not in plain.dataset


def test_contenders_are_those_of_the_ledger(watched):
    for bias in (0.0, 0.4):
        rng = np.random.default_rng(5)
        model = pricing().model
        evidence = Evidence(model)
        arms = rng.integers(12, size=2000)
        means = model.means(0.4) + bias * np.where(np.arange(12) % 2, 1, -0.5)
        evidence.add_many(arms, (rng.random(2000) < means[arms]).astype(float))
        contenders = evidence.contenders()
        assert contenders.model_free == (bias > 0)
        found = infer_many(model, evidence.counts)
        assert tuple(np.flatnonzero(found.contenders)) == contenders.arms
    data = watched.dataset
    assert set(np.unique(data["contender"])) == {0, 1}
    assert np.all(data["contender"].sum("arm") >= 1)


def test_intervals_close_and_the_biased_model_is_doubted(watched):
    data = watched.dataset
    widths = data["interval_high"] - data["interval_low"]
    assert np.all(widths.sel(time=300) < 0.5 * widths.sel(time=1))
    assert data["log_e_value"].sel(policy="UCB1", time=300).max() > math.log(2)


def test_evidence_is_saved_and_read_again(watched, tmp_path):
    watched.save(tmp_path / "watched.nc")
    assert SimulationResult.load(tmp_path / "watched.nc").dataset.equals(watched.dataset)


def test_evidence_in_shards_and_under_drift():
    env = pricing(drift=Jumps(times=[150], values=[0.8]))
    options = {"horizon": 300, "runs": 3, "seed": 1, "checkpoints": TIMES, "evidence": True}
    threads = simulate(env, [WAGP()], **options)
    with ThreadPoolExecutor(2) as pool:
        shards = simulate(env, [WAGP()], executor=pool, **options)
    assert threads.dataset.equals(shards.dataset)


def test_a_policy_with_policies_inside_can_be_watched():
    records = records_of(pricing(), [Guarded(WAGP())], 20, times=1, evidence=True)
    assert records.histograms.shape == (1, 1, 1, 12, 9)
    assert records.histograms.sum() == 20


def test_a_result_draws_its_evidence(watched):
    figure = watched.plot_evidence("UCB1", run=2)
    interval, _, race = figure.axes
    one = watched.dataset.sel(policy="UCB1", run=2)
    assert np.array_equal(interval.lines[0].get_ydata(), one["interval_low"])
    assert figure.get_suptitle() == "UCB1"
    assert race.get_xlabel() == "time step"
    assert watched.plot_evidence().get_suptitle() == "WAGP"


def test_evidence_that_is_not_there_is_not_drawn(watched):
    plain = simulate(pricing(), [WAGP()], horizon=20, runs=1)
    with pytest.raises(SimulationError, match="result must be one with evidence"):
        plain.plot_evidence()
    with pytest.raises(SimulationError, match="policy must be one of WAGP, UCB1, got 'BUW'"):
        watched.plot_evidence("BUW")
    with pytest.raises(SimulationError, match="run must be one of the runs 0 to 2, got 7"):
        watched.plot_evidence("WAGP", run=7)
