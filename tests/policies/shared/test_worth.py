"""What arms are worth by what is known of their means."""

import math

import numpy as np
import pytest

from globalbandits.model import RewardModel
from globalbandits.model.catalogue import (
    demand,
    dose,
)
from globalbandits.policies.shared.worth import (
    TIE_BREAKER,
    choose_by_worth,
    nearest_above,
    nearest_below,
    worth_of,
    worth_within,
)

FINE = np.linspace(0.0, 1.0, 100_001)


def waves(mean, arm):
    """Several peaks and valleys, and a kink."""
    return np.sin(9.0 * mean + arm) + np.abs(mean - 0.37)


@pytest.fixture(scope="module")
def wavy():
    return RewardModel(lambda theta, x: theta * x, [0.4, 0.7, 1.0], value=waves)


def unit_waves(model, arm):
    low, high = model.worth_range
    return (waves(FINE, model.arms[arm]) - low) / (high - low)


def test_without_a_value_every_bit_stays():
    tables = RewardModel(lambda theta, x: theta * x, [0.4, 1.0]).tables
    for x in (0.1, 1.7, -0.3, 1.0 / 3.0):
        assert worth_of(tables, 1, x) == x
        assert worth_within(tables, 1, x - 0.2, x) == x


def test_an_increasing_linear_value_extends_beyond_the_reward_range():
    tables = demand.linear([0.4, 0.8], cost=0.3).tables  # worth 0.2 and 1 of a sale
    assert worth_of(tables, 0, 2.0) == pytest.approx(0.4)
    assert worth_within(tables, 1, -1.0, 1.5) == pytest.approx(1.5)
    assert worth_of(tables, 1, -0.5) == pytest.approx(-0.5)


def test_any_other_value_is_constant_beyond_the_reward_range():
    tables = dose.linear([0.5, 1.0], target=0.25).tables
    assert worth_of(tables, 0, -3.0) == worth_of(tables, 0, 0.0)
    assert worth_of(tables, 0, 1.5) == worth_of(tables, 0, 1.0)
    assert worth_of(tables, 0, math.nan) == worth_of(tables, 0, 0.0)


def test_the_most_within_an_interval_is_that_of_a_fine_grid(wavy):
    rng = np.random.default_rng(0)
    for arm in range(3):
        values = unit_waves(wavy, arm)
        for low, high in np.sort(rng.random((50, 2)), axis=1):
            inside = values[(low <= FINE) & (high >= FINE)].max()
            middle = np.interp(0.5 * (low + high), FINE, values)
            found = worth_within(wavy.tables, arm, low, high)
            assert found - TIE_BREAKER * middle == pytest.approx(inside, abs=1e-4)


def test_the_nearest_means_that_are_worth_enough_are_those_of_a_fine_grid(wavy):
    rng = np.random.default_rng(1)
    n_found = 0
    for arm in range(3):
        values = unit_waves(wavy, arm)
        for mean in rng.random(60):
            own = worth_of(wavy.tables, arm, mean)
            for worth in own + (1.02 - own) * rng.random(4):
                good = FINE[values >= worth]
                below, above = good[good <= mean], good[good >= mean]
                expected = below.max(initial=-1.0), above.min(initial=2.0)
                found = (
                    nearest_below(wavy.tables, arm, mean, worth),
                    nearest_above(wavy.tables, arm, mean, worth),
                )
                assert found[0] == pytest.approx(expected[0], abs=2e-3)
                assert (2.0 if found[1] < 0.0 else found[1]) == pytest.approx(expected[1], abs=2e-3)
                n_found += found[0] >= 0.0
    assert n_found > 50


def test_a_rising_line_is_inverted_in_closed_form():
    tables = demand.linear([0.4, 0.8], cost=0.3).tables
    assert nearest_above(tables, 0, 0.1, 0.15) == pytest.approx(0.75)
    assert nearest_above(tables, 0, 0.1, 0.5) == -1.0  # no share of sales earns so much
    assert nearest_below(tables, 0, 0.1, 0.15) == -1.0


def test_equal_arms_are_chosen_at_random_and_the_likely_one_goes_first():
    tables = dose.power([0.1, 0.2, 0.3], target=0.25).tables
    widths = np.ones(3)
    rng = np.random.default_rng(2)
    means = np.array([0.9, 0.3, 0.3])  # all three may hit the target
    chosen = [choose_by_worth(tables, means, 0.0, widths, 0.8, rng) for _ in range(2000)]
    shares = np.bincount(chosen, minlength=3) / 2000
    assert shares[0] == 0.0
    # Four standard errors of a share of 1/2 among 2,000 draws.
    assert abs(shares[1] - 0.5) < 4 * math.sqrt(0.25 / 2000)


def test_means_may_be_shifted():
    tables = dose.power([0.1, 0.2], target=0.25).tables
    means, widths = np.array([0.75, 0.6]), np.full(2, 0.01)
    rng = np.random.default_rng(0)
    assert choose_by_worth(tables, means, 0.5, widths, 1.0, rng) == 0
    assert choose_by_worth(tables, means, 0.0, widths, 1.0, rng) == 1
