"""Theta is the share of groups below."""

import numpy as np
import pytest
from scipy import stats

from globalbandits.fitting import histories
from globalbandits.fitting.decision_value import Worth
from globalbandits.fitting.estimation.curve_model import (
    MIN_RISE,
    below_edges,
    build_model,
    quantile_scale,
    tabulate,
    z_at,
)
from globalbandits.fitting.estimation.factor_model import fit_shared
from globalbandits.fitting.estimation.fitted_population import GRID, curve_table, draw_groups
from globalbandits.fitting.estimation.group_posterior import posterior_weights
from globalbandits.fitting.estimation.offered_arms import arm_scale
from tests.fitting.panels import panel_of


@pytest.fixture(scope="module")
def fitted():
    panel = panel_of(histories.two_segments(40, 140, seed=3))
    return fit_shared(panel, arm_scale(panel.arms))


def test_theta_of_simulated_groups_is_uniform(fitted):
    """Groups drawn from the population, each with many rewards, placed by their rewards."""
    rng = np.random.default_rng(4)
    exact = fitted._replace(rho=np.full(7, 1e-6), phi=np.full(7, 1.0))
    drawn = draw_groups(exact, 2_000, rng)
    history = histories.draw(np.zeros(2_000), drawn.curves, (2, 3, 4, 5, 6, 7, 8), 1_400, rng)
    posteriors = posterior_weights(panel_of(history), exact)
    # One draw from every posterior: the middle would pull groups together.
    theta = np.array(
        [
            np.interp(level, np.append(0.0, np.cumsum(row)), quantile_scale(exact).edges)
            for level, row in zip(rng.random(2_000), posteriors, strict=True)
        ]
    )
    assert stats.kstest(theta, "uniform").pvalue > 0.001


def test_quantiles_and_z_are_inverses(fitted):
    theta = np.linspace(0.0, 1.0, 33)
    step = GRID[1] - GRID[0]
    edges = np.append(GRID - step / 2, GRID[-1] + step / 2)
    back = np.interp(z_at(fitted, theta), edges, below_edges(fitted))
    np.testing.assert_allclose(0.005 + 0.99 * theta, back, atol=2e-3)


def test_intervals_cover_the_true_number():
    history = histories.exponential_demand(200, 140, seed=11)
    panel = panel_of(history)
    fitted = fit_shared(panel, arm_scale(panel.arms))
    scale = quantile_scale(fitted)
    found = scale.quantiles(posterior_weights(panel, fitted), np.array([0.05, 0.5, 0.95]))
    # Fewer customers buy where theta is large: the order is turned.
    true = 1 - stats.norm.cdf((np.log(history.theta) - np.log(0.22)) / 0.35)
    covered = np.mean((found[:, 0] <= true) & (true <= found[:, 2]))
    assert abs(covered - 0.9) < 3 * np.sqrt(0.09 / 200) + 0.02
    assert stats.spearmanr(found[:, 1], true).statistic > 0.9


def test_a_group_without_rewards_has_the_population(fitted):
    scale = quantile_scale(fitted)
    found = scale.quantiles(fitted.weights[None], np.array([0.25, 0.5, 0.75]))
    np.testing.assert_allclose(found, [[0.25, 0.5, 0.75]], atol=0.005)
    assert (scale.edges[0], scale.edges[-1]) == (0.0, 1.0)


def with_curves(fitted, a, c):
    a, c = np.array(a), np.array(c)
    n = a.size
    return fitted._replace(
        a=a, c=c, curves=curve_table(a, c, GRID), rho=np.full(n, 0.01), phi=np.full(n, 0.99)
    )


def test_a_flat_arm_is_given_a_small_rise_and_flagged(fitted):
    table = tabulate(with_curves(fitted, [0.0, -1.0, 1.0], [1.0, 1e-6, -1e-6]))
    assert table.flat == (False, True, True)
    rises = table.means[-1] - table.means[0]
    assert rises[1:] == pytest.approx([MIN_RISE, -MIN_RISE])
    assert table.means[32, 1] == pytest.approx(1 / (1 + np.e), abs=1e-6)


@pytest.mark.parametrize(
    "slopes", [[1.0, 0.0, -1.0], [9.0, 5.0, 0.5], [12.0, -12.0, 1e-3]], ids=str
)
def test_every_table_makes_a_model(fitted, slopes):
    """Flat arms, and arms that are 0 and 1 to the last digit at their ends."""
    table = tabulate(with_curves(fitted, [-9.0, 0.0, 9.0], slopes))
    steps = np.diff(table.means, axis=0)
    assert (np.abs(steps) > 0).all()
    assert (np.sign(steps) == np.sign(steps[0])).all()
    arms = ("a", "b", "c")
    model = build_model(table, arms, Worth(arms, (0.0, 1.0)))
    np.testing.assert_allclose(model.means(table.theta), table.means, atol=1e-12)
