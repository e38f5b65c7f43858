"""What a fit states about single groups, and about groups that do not fit."""

import dataclasses

import numpy as np
import pytest

from globalbandits.fitting import histories
from globalbandits.fitting.estimation.factor_model import fit_independent, fit_shared
from globalbandits.fitting.estimation.fitted_population import draw_groups
from globalbandits.fitting.estimation.group_posterior import (
    arm_means,
    find_misfits,
    posterior_weights,
)
from globalbandits.fitting.estimation.offered_arms import arm_scale
from tests.fitting.panels import bernoulli_panel, panel_of


@pytest.fixture(scope="module")
def history():
    return histories.exponential_demand(80, 140, seed=3, rho=0.02)


@pytest.fixture(scope="module")
def fitted(history):
    panel = panel_of(history)
    return fit_shared(panel, arm_scale(panel.arms))


def test_expected_means_lie_between_the_curve_and_the_groups_own(history, fitted):
    panel = panel_of(history)
    posteriors = posterior_weights(panel, fitted)
    expected = arm_means(panel, fitted, posteriors)
    curve = posteriors @ fitted.curves
    low, high = np.minimum(curve, panel.means), np.maximum(curve, panel.means)
    assert ((low - 1e-12 <= expected) & (expected <= high + 1e-12)).all()


def test_expected_means_are_nearer_to_the_truth_than_either(history, fitted):
    panel = panel_of(history)
    alone = fit_independent(panel, arm_scale(panel.arms))

    def error(means):
        return float(np.sqrt(np.mean((means - history.means) ** 2)))

    posteriors = posterior_weights(panel, fitted)
    shared = error(arm_means(panel, fitted, posteriors))
    assert shared < error(panel.means)
    assert shared < error(posteriors @ fitted.curves)
    assert shared < error(arm_means(panel, alone, posterior_weights(panel, alone)))


def test_the_weight_of_the_curve_is_that_of_a_beta():
    """One arm for itself: the mean of a Beta posterior."""
    panel = bernoulli_panel([[10.0], [4.0]], [[7.0], [0.0]])
    alone = fit_independent(panel, arm_scale(panel.arms))._replace(
        rho=np.array([0.1]), phi=np.array([0.9])
    )
    f = float(alone.curves[0, 0])
    expected = [[(9 * f + 7) / (9 + 10)], [(9 * f) / (9 + 4)]]
    np.testing.assert_allclose(arm_means(panel, alone, np.ones((2, 1))), expected)


def test_groups_of_the_population_are_seldom_called_misfits(fitted):
    rng = np.random.default_rng(1)
    flagged, p_values = 0, []
    for _ in range(20):
        drawn = draw_groups(fitted, 100, rng)
        history = histories.draw(np.zeros(100), drawn.means, tuple(range(2, 9)), 140, rng)
        panel = panel_of(history)
        misfit = find_misfits(panel, fitted, posterior_weights(panel, fitted))
        flagged += int(misfit.groups.sum())
        p_values.append(misfit.p_values)
    # .05 per history of 100 groups would be one in all; Betas have longer tails than Normals.
    assert flagged <= 8
    assert np.mean(np.concatenate(p_values) < 0.05) < 0.06


def test_a_group_that_does_not_fit_is_found(history, fitted):
    panel = panel_of(history)
    sums = panel.sums.copy()
    sums[5] = panel.counts[5] * np.array([0, 1, 0, 1, 0, 1, 0])  # up and down over the prices
    changed = dataclasses.replace(panel, sums=sums, squares=sums)
    misfit = find_misfits(changed, fitted, posterior_weights(changed, fitted))
    assert misfit.groups[5]
    assert misfit.arms_off[5] >= 4
    assert misfit.p_values[5] < 1e-6
    assert misfit.arms_off.mean() < 1
