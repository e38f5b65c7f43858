"""The section "Can you trust it?": its statements are the ledger's own, and come out right."""

import math

import numpy as np
import pytest
from scipy import stats

from globalbandits.environments import BetaNoise, Environment
from globalbandits.errors import ScenarioError
from globalbandits.evidence import Evidence
from globalbandits.lab.paper import run_trust, runs_to_do
from globalbandits.lab.paper.batches import Size
from globalbandits.lab.paper.experiment_spec import load_model
from globalbandits.lab.paper.trust import changed_parameter
from globalbandits.lab.paper.trust.recorded_rewards import (
    decade_thirds,
    find_interval,
    log_e_value,
    median_of_runs,
    record_rewards,
    share_of_runs,
)
from globalbandits.policies import UCB1, WAGP
from globalbandits.simulation import simulate

RUNS = 12


@pytest.fixture(scope="module")
def ticks():
    return []


@pytest.fixture(scope="module")
def outcome(ticks):
    return run_trust(runs=RUNS, horizon=1_500, seed=1, tick=ticks.append)


def most(chance):
    """How many of the runs may be hit: more are, with a chance of one in a thousand."""
    return float(stats.binom.ppf(0.999, RUNS, chance))


def hits(outcome, key):
    return round(outcome.entries[key].value / 100.0 * RUNS)


def test_the_interval_holds_theta_and_closes(outcome):
    for time in (10, 100, 1_000, 1_500):
        assert RUNS - hits(outcome, f"coverage_{time}") <= most(0.05)
    widths = [outcome.entries[f"width_{time}"].value for time in (10, 100, 1_000)]
    # Wealth grows with the information, so widths fall like 1 / sqrt(t), up to a logarithm.
    assert 2.0 < widths[0] / widths[1] < 5.0
    assert 2.0 < widths[1] / widths[2] < 5.0
    left = [outcome.entries[f"contenders_{time}"].value for time in (10, 100, 1_000)]
    assert 12 >= left[0] > left[1] > left[2] >= 1


def test_a_right_curve_is_seldom_refuted_and_a_wrong_one_is(outcome):
    for policy in ("wagp", "guarded", "ucb1"):
        assert hits(outcome, f"alarm_{policy}_0_1500") <= most(0.05)
    # UCB1 plays every price: at the largest bias 92 % of the runs notice in 1,000 rounds.
    assert RUNS - hits(outcome, "alarm_ucb1_0.1_1500") <= most(0.1)


def test_alarms_never_decrease_over_time(outcome):
    for policy in ("wagp", "guarded", "ucb1"):
        for bias in ("0", "0.01", "0.05", "0.1"):
            early, late = (f"alarm_{policy}_{bias}_{time}" for time in (1_000, 1_500))
            assert outcome.entries[early].value <= outcome.entries[late].value


def test_settled_and_wavering_runs_make_up_the_alarms(outcome):
    for bias in ("0", "0.01", "0.05", "0.1"):
        parts = [hits(outcome, f"{kind}_alarm_{bias}") for kind in ("settled", "wavering")]
        assert sum(parts) == hits(outcome, f"alarm_wagp_{bias}_1500")
        assert parts[0] <= hits(outcome, f"settled_{bias}")


def test_a_fast_walk_is_noticed_and_a_slow_one_followed(outcome):
    assert hits(outcome, "change_alarm_250") == RUNS
    assert hits(outcome, "change_alarm_10000") <= most(0.05)
    followed = outcome.entries["walking_coverage_window"]
    behind = outcome.entries["walking_coverage_all"]
    # Theta moves by 0.04 within a window, a quarter of the interval's width: nearly constant.
    assert RUNS - hits(outcome, "walking_coverage_window") <= most(0.05)
    assert behind.high < followed.value


def test_everything_is_shown_below_a_chart_and_every_chart_can_be_drawn(outcome):
    assert outcome.key == "trust"
    assert outcome.heading == "Can you trust it?"
    shown = {key for grid in outcome.grids for _, keys in grid.rows for key in keys}
    assert outcome.entries.keys() == shown
    assert {grid.below for grid in outcome.grids} <= {chart.name for chart in outcome.charts}
    for chart in outcome.charts:
        assert chart.draw().axes[-1].get_xlabel()


def test_ticks_count_every_run_once(outcome, ticks):
    assert sum(ticks) == runs_to_do([], RUNS, trust=True)


def test_no_more_runs_than_the_spec_has():
    assert runs_to_do([], 10**6, trust=True) == runs_to_do([], None, trust=True)
    with pytest.raises(ScenarioError, match="runs must be at least 2, got 1"):
        run_trust(runs=1)


@pytest.fixture(scope="module")
def log():
    """Rewards of all arms, theta half way another one: (arms, rewards)."""
    model, rng = load_model("pricing"), np.random.default_rng(5)
    arms = rng.integers(12, size=1_000)
    thetas = np.where(np.arange(1_000) < 500, 0.3, 0.7)
    means = model.means(thetas)[np.arange(1_000), arms]
    return arms, (rng.random(1_000) < means).astype(np.float64)


def ledgers(log, times):
    """A ledger for each of the times, of the rewards up to it."""
    for time in times:
        ledger = Evidence(load_model("pricing"))
        ledger.add_many(log[0][:time], log[1][:time])
        yield ledger


def test_statements_are_those_of_the_ledger(log):
    model, times = load_model("pricing"), np.arange(50, 1_001, 50)
    found = list(ledgers(log, times))
    histograms = np.stack([ledger.counts for ledger in found])
    for at in (1, 9, 12, 19):
        ledger = found[at]
        interval = ledger.interval(0.9)
        assert find_interval(model, histograms[at], 0.9) == pytest.approx(
            (interval.low, interval.high), nan_ok=True, abs=0.0
        )
        change = changed_parameter.change_log_e(model, times, histograms, at)
        assert change == ledger.drift().log_e_value
        # Both are lower bounds: of a value below 1, or within their tolerances of each other.
        full, quick = ledger.against_model().log_e_value, log_e_value(model, histograms[at])
        assert max(quick, full) <= 0.0 or quick == pytest.approx(full, abs=0.05 + 0.005 * full)
    assert changed_parameter.change_log_e(model, times, histograms, 9) < math.log(20.0)
    assert changed_parameter.change_log_e(model, times, histograms, 19) > math.log(20.0)


def test_the_last_rewards_are_a_difference_of_histograms(log):
    times = np.arange(50, 1_001, 50)
    histograms = np.stack([ledger.counts for ledger in ledgers(log, times)])
    recent = Evidence(load_model("pricing"))
    recent.add_many(log[0][500:700], log[1][500:700])
    at = times.tolist().index(700)
    np.testing.assert_array_equal(
        changed_parameter.window_counts(times, histograms, at), recent.counts
    )
    np.testing.assert_array_equal(
        changed_parameter.window_counts(times, histograms, 2), histograms[2]
    )


def test_recorded_rewards_are_those_of_simulate():
    world = Environment(load_model("pricing"), theta=0.4, noise=BetaNoise())
    policies, times = {"wagp": WAGP(), "ucb1": UCB1()}, [20, 90]
    seen = record_rewards(world, policies, Size(runs=2, horizon=90, seed=4), times)
    result = simulate(
        world, policies, horizon=90, runs=2, seed=4, checkpoints=times, evidence=True
    ).dataset
    np.testing.assert_array_equal(seen.regret, result["regret"].values[:, :, -1])
    np.testing.assert_array_equal(seen.histograms[:, :, -1].sum(axis=3), result["pulls"])
    ends = find_interval(world.model, seen.histograms[1, 0, 0], 0.95)
    assert ends == (result["interval_low"].values[1, 0, 0], result["interval_high"].values[1, 0, 0])


def test_times():
    assert decade_thirds(10_000)[::3] == [1, 10, 100, 1_000, 10_000]
    assert decade_thirds(1) == [1]
    assert decade_thirds(20) == [1, 2, 5, 10, 20]


def test_errors_of_shares_and_medians():
    rng = np.random.default_rng(3)
    # Over many repetitions the reported error is the observed spread.
    shares = [share_of_runs(rng.random(60) < 0.3, label="x") for _ in range(2_000)]
    spread = np.std([entry.value for entry in shares])
    assert np.mean([entry.sem for entry in shares]) == pytest.approx(spread, rel=0.1)
    medians = [median_of_runs(rng.exponential(size=60), label="x") for _ in range(2_000)]
    spread = np.std([entry.value for entry in medians])
    assert np.mean([entry.sem for entry in medians]) == pytest.approx(spread, rel=0.15)
    sure = share_of_runs(np.ones(60, np.bool_), label="x")
    assert (sure.value, sure.runs) == (100.0, 60)
    assert 1.0 < sure.sem < 3.0
