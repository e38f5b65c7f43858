"""Policies that learn the variance of rewards: the contract, and what it is for."""

import math

import numpy as np
import pytest
from scipy import stats as laws

import globalbandits as gb
from globalbandits.policies.shared.noise_variance import (
    degrees_of_freedom,
    draw_student,
    learn_variances,
    student_radius,
    surprise,
)
from globalbandits.statistics import count, no_statistics
from tests.policies import contract
from tests.simulation import worlds

LEARNED = [gb.ThompsonSampling(variance="learned"), gb.IMED(variance="learned"), gb.UCBC()]
TEXTBOOK = [gb.ThompsonSampling(), gb.IMED(), gb.UCBC(alpha=3.0, variance=0.25)]
PRICES = gb.demand.linear_power([0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
DOSES = gb.dose.emax([0.5, 1.0, 2.0, 4.0], target=0.4)
EVERY = pytest.mark.parametrize("policy", LEARNED, ids=lambda policy: policy.label)


def some_statistics():
    stats = no_statistics(2)
    for reward in (0.2, 0.5, 0.3, 0.6, 0.45):
        count(stats, 1, reward)
    return stats


@EVERY
@pytest.mark.parametrize("model", [PRICES, DOSES], ids=["prices", "doses with a target"])
def test_the_contract(policy, model):
    contract.check_spec(policy)
    contract.check_select_changes_nothing(policy, model)
    contract.check_forgotten(policy, model)
    contract.check_merged(policy, model)
    contract.check_restored(policy, model)
    contract.check_reasons(policy, model)


@pytest.mark.parametrize("policy", LEARNED[:2], ids=lambda policy: policy.label)
def test_compiled_and_interpreted_give_the_same_bits(policy):
    contract.check_same_bits(policy, worlds.pricing(), 300)


@pytest.mark.parametrize("reward", [0.0, 1.0])
@EVERY
def test_rewards_that_never_vary_break_nothing(policy, reward):
    contract.check_extremes(policy, "one arm", reward)
    contract.check_extremes(policy, "vanishing slopes", reward)


def test_rewards_that_vary_little_are_learned_faster():
    """Less than half the regret of the textbook form; measured, it is a sixth to a fiftieth."""
    world = gb.Environment(PRICES, theta=0.4, noise=gb.TruncatedNormalNoise(0.05))
    result = gb.simulate(world, [*LEARNED, *TEXTBOOK], horizon=2_000, runs=10, seed=0)
    learned, textbook = np.split(result.summary().regret_mean.to_numpy(), 2)
    assert (learned < 0.5 * textbook).all()


def test_a_radius_has_the_given_surprise():
    stats = some_statistics()
    for budget in (0.1, 3.0, 50.0):
        radius = student_radius(stats, 0.03, 1, budget)
        assert surprise(stats, 0.03, 1, radius) == pytest.approx(budget)
    assert math.isfinite(student_radius(stats, 0.25, 1, 1e9))


def test_draws_are_those_of_students_distribution():
    stats, rng = some_statistics(), np.random.default_rng(0)
    draws = [draw_student(stats, 0.03, 1, rng) for _ in range(4_000)]
    law = laws.t(degrees_of_freedom(stats, 1), loc=0.41, scale=math.sqrt(0.03 / 5))
    # Kolmogorov's distance of 4,000 draws is below 0.0327 with a probability of 0.9996.
    assert laws.kstest(draws, law.cdf).statistic < 0.0327


def test_imed_looks_for_the_nearest_mean_that_is_worth_enough():
    """On both sides of an arm's own mean, against a search over a million means."""
    policy, rng = gb.IMED(variance="learned"), np.random.default_rng(0)
    setup, means = policy.setup(DOSES), np.linspace(0.0, 1.0, 1_000_001)
    worths = -np.abs(means - 0.4)
    for _ in range(20):
        stats, state = no_statistics(4), policy.rules.init(setup)
        for arm in [0, 1, 2, 3, *rng.integers(4, size=30)]:
            count(stats, int(arm), float(rng.random()))
        policy.rules.rebuild(setup, stats, state)
        own, variances = stats.sums / stats.counts, learn_variances(stats)
        top = -np.abs(own - 0.4).min()
        for arm in range(4):
            gap = np.abs(means[worths >= top - 1e-12] - own[arm]).min()
            loss = surprise(stats, variances[arm], arm, gap)
            assert -state.indices[arm] == pytest.approx(
                loss + math.log(stats.counts[arm]), abs=1e-4
            )
