"""Power of the evidence: figures close to those of the first experiments with the method."""

import math

import numpy as np
import pytest

from globalbandits.evidence import Evidence, evidence_from_log
from globalbandits.evidence.drift_test import (
    date_change,
    no_snapshots,
)
from tests.evidence.models import beta_rewards, log_of, model_of, unit_means
from tests.oracles import evidence as oracle
from tests.soak import length

ALPHA = 0.05


def alarm_rate(bias, runs, seed):
    """How often uniform play of 10,000 rounds refutes the pricing model."""
    alarms = 0
    for run in range(runs):
        log = log_of("pricing", 10_000, seed + run, bias=bias)
        alarms += evidence_from_log(*log).against_model().refuted(ALPHA)
    return alarms / runs


@pytest.mark.parametrize(
    ("bias", "runs", "low", "high"),
    # The first trials had .004, .28, .995 and 1.0 with UCB1, whose play is nearly uniform.
    [(0.0, 20, 0.0, 0.1), (0.02, 15, 0.1, 0.6), (0.05, 6, 0.8, 1.0), (0.1, 3, 1.0, 1.0)],
)
def test_a_biased_model_is_refuted(bias, runs, low, high):
    assert low <= alarm_rate(bias, length(1, 9) * runs, seed=100) <= high


def test_the_least_refuted_theta_and_the_shares_point_at_what_is_wrong():
    model, arms, rewards = log_of("pricing", 20_000, seed=5)
    rewards = np.where(arms == 4, rewards**1.6, rewards)
    found = evidence_from_log(model, arms, rewards).against_model()
    assert found.refuted()
    assert found.theta == pytest.approx(0.4, abs=0.02)
    assert int(np.argmax(found.shares)) == 4
    assert found.shares[4] > 0.7


def test_a_single_arm_never_refutes_and_the_explanation_states_it():
    model, _, rewards = log_of("pricing", 3000, seed=6, bias=0.1)
    found = evidence_from_log(model, np.full(3000, 5), rewards).against_model()
    assert not found.refuted(0.5)
    assert "single arm" in found.explain()


@pytest.mark.parametrize("seed", range(length(4, 12)))
def test_a_jump_of_theta_is_found_and_dated(seed):
    rng = np.random.default_rng(seed)
    model = model_of("pricing")
    evidence = Evidence(model)
    for theta, n in ((0.4, 2000), (0.5, 3000)):
        means = unit_means(model, theta)
        arms = rng.integers(12, size=n)
        rewards = beta_rewards(rng, means[arms])
        for start in range(0, n, 100):
            evidence.add_many(arms[start : start + 100], rewards[start : start + 100])
            if theta == 0.5 and (drift := evidence.drift(ALPHA)).alarm:
                break
    delay = drift.n_observations - 2000
    assert drift.alarm
    # First trials: median delay 400 to 600.
    assert 200 <= delay <= 1400
    assert drift.between[0] <= 2000 <= drift.between[1]
    assert abs(drift.since - 2000) <= 400


def test_an_old_jump_is_not_forgotten():
    # By now most rewards are of the new theta, and all of them together fit one in between.
    model, old_arms, old_rewards = log_of("pricing", 2000, seed=1, theta=0.4)
    _, new_arms, new_rewards = log_of("pricing", 10_000, seed=2, theta=0.5)
    arms, rewards = np.append(old_arms, new_arms), np.append(old_rewards, new_rewards)
    evidence = evidence_from_log(model, arms, rewards)
    drift = evidence.drift()
    assert drift.alarm
    assert drift.between[0] <= 2000 <= drift.between[1]


def test_no_jump_no_alarm():
    for seed in range(length(4, 15)):
        evidence = evidence_from_log(*log_of("pricing", 4000, seed))
        assert not evidence.drift().alarm


def width(n, seed, arms):
    rng = np.random.default_rng(seed)
    model = model_of("pricing")
    played = rng.choice(arms, size=n)
    rewards = beta_rewards(rng, unit_means(model, 0.4)[played])
    means = unit_means(model, 0.4)
    variances = means**2 * (1 - means) / (1 + means)  # of Beta(1, (1 - m) / m)
    fisher = oracle.fisher_width(model, 0.4, played, variances)
    stitched = oracle.stitched_interval(model, played, rewards)
    return evidence_from_log(model, played, rewards).interval(), fisher, stitched


@pytest.mark.parametrize(
    ("n", "low", "high"), [(100, 1.4, 3.2), (1000, 1.5, 3.2), (9000, 1.5, 3.2)]
)
@pytest.mark.parametrize("arms", [range(12), [9, 10]])
def test_widths_lie_between_an_oracle_and_a_bound_per_arm(arms, n, low, high):
    found = [width(n, seed, list(arms)) for seed in range(length(4, 8))]
    ours = np.mean([interval.width for interval, _, _ in found])
    fisher = np.mean([fisher for _, fisher, _ in found])
    stitched = np.mean([b - a for _, _, (a, b) in found])
    # The price of looking all the time, and the gain over treating arms one by one.
    assert low <= ours / fisher <= high
    assert stitched / ours >= 1.2


def test_widths_on_the_two_best_arms_are_near_the_first_trials():
    expected = {10: 0.656, 100: 0.198, 1000: 0.060, 10_000: 0.019}
    for n, value in expected.items():
        mean = np.mean([width(n, seed, [9, 10])[0].width for seed in range(length(5, 10))])
        assert mean == pytest.approx(value, rel=0.25)


def test_p_values_are_not_too_small_for_the_arm_that_is_best():
    # A p-value of the best arm below alpha has a chance of at most alpha.
    model = model_of("exponential")
    best = model.best_arms(0.6)[0]
    low = 0
    runs = length(20, 60)
    for seed in range(runs):
        contenders = evidence_from_log(*log_of("exponential", 3000, seed)).contenders(0.8)
        low += best not in contenders
        assert contenders.p_values[best] <= 1.0
    assert low <= 0.2 * runs + 3 * math.sqrt(0.16 * runs)


def test_without_the_model_the_best_arm_stays_in_the_race():
    for seed in range(length(3, 21)):
        rng = np.random.default_rng(seed)
        model, arms, rewards = log_of("pricing", 8000, seed)
        lucky = int(rng.integers(12))
        rewards = np.where(arms == lucky, rewards**0.5, rewards)
        contenders = evidence_from_log(model, arms, rewards).contenders()
        assert contenders.model_free
        assert lucky in contenders
        assert len(contenders) < 12
        means = model.means(0.4)
        inside = [a <= m <= b for (a, b), m in zip(contenders.bounds, means, strict=True)]
        assert all(inside[:lucky] + inside[lucky + 1 :])


def test_a_change_before_the_first_copy_has_no_date():
    model, arms, rewards = log_of("pricing", 50, seed=3)
    counts = evidence_from_log(model, arms, rewards).counts
    assert date_change(model, counts, no_snapshots(12, 8), 50) is None
