"""Do groups differ? The test has its level, also where cells are small."""

import itertools

import numpy as np
import pytest
from scipy import stats

from globalbandits.fitting import histories
from globalbandits.fitting.assessment.homogeneity import (
    Homogeneity,
    bernoulli_moments,
    check_homogeneity,
)
from tests.fitting.panels import bernoulli_panel, panel_of
from tests.oracles import fitting as oracle
from tests.soak import length


def test_the_statistic_is_that_of_contingency_tables():
    panel = panel_of(histories.exponential_demand(12, 70, seed=5, uneven=True))
    found = check_homogeneity(panel)
    assert (found.statistic, found.freedom) == pytest.approx(
        oracle.homogeneity(panel.sums.tolist(), panel.counts.tolist())
    )


@pytest.mark.parametrize("rewards", [3_500, 35_000], ids=["exact moments", "large"])
def test_with_large_cells_it_is_pearsons_test(rewards):
    panel = panel_of(histories.identical_groups(30, rewards, seed=3))
    found = check_homogeneity(panel)
    expected = stats.chi2.sf(found.statistic, found.freedom)
    assert found.p_value == pytest.approx(expected, rel=0.02)


def test_the_moments_are_those_of_all_ways_to_place_the_ones():
    counts, ones = [1, 2, 3, 1], 3
    owners = np.repeat(np.arange(4), counts)
    found = []
    for places in itertools.combinations(range(7), ones):
        x = np.bincount(owners[list(places)], minlength=4)
        expected = np.array(counts) * ones / 7
        found.append(np.sum((x - expected) ** 2 / expected / (1 - ones / 7)))
    mean, variance = bernoulli_moments(np.array(counts, float), ones)
    assert mean == pytest.approx(np.mean(found))
    assert variance == pytest.approx(np.var(found))


@pytest.mark.parametrize(
    "how", [{}, {"uneven": True}, {"concentration": 5.0}], ids=["coins", "sparse", "continuous"]
)
def test_identical_groups_are_rarely_found_to_differ(how):
    rewards = 20 if how.get("uneven") else 140
    n = length(60, 200)
    alike = [
        not check_homogeneity(
            panel_of(histories.identical_groups(20, rewards, seed=seed, **how), (0.0, 1.0))
        ).differ()
        for seed in range(n)
    ]
    # At the level .05, 200 histories give .95 with an error of .015.
    assert abs(np.mean(alike) - 0.95) < 3 * np.sqrt(0.95 * 0.05 / n)


def test_different_groups_are_found_to_differ():
    for world in (
        histories.exponential_demand,
        histories.emax,
        histories.unstructured,
        histories.two_segments,
    ):
        assert check_homogeneity(panel_of(world(20, 140, seed=2))).p_value < 1e-3


def test_rewards_without_any_variation_do_not_differ():
    assert check_homogeneity(bernoulli_panel([[5, 5]] * 3, [[0, 5]] * 3)) == Homogeneity(
        0.0, 0, 1.0
    )


def test_single_bernoulli_rewards_with_mean_one_half_cannot_differ():
    found = check_homogeneity(bernoulli_panel([[1, 1]] * 4, [[0, 1], [1, 0], [0, 1], [1, 0]]))
    assert found.p_value == 1.0


def test_one_reward_per_cell_gives_no_p_value():
    rows = {"group": [1, 1, 2, 2], "arm": [1, 2, 1, 2], "reward": [0.1, 0.5, 0.7, 0.2]}
    found = check_homogeneity(panel_of(rows, (0.0, 1.0)))
    assert np.isnan(found.p_value)
    assert found.differ()
