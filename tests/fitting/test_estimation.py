"""The steps of the fit against plain loops, closed forms and a general optimiser."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from globalbandits.fitting import histories
from globalbandits.fitting.estimation import factor_model
from globalbandits.fitting.estimation.factor_model import (
    initial_independent,
    initial_population,
    initial_populations,
)
from globalbandits.fitting.estimation.fitted_population import GRID, Shrinkage
from globalbandits.fitting.estimation.offered_arms import arm_scale
from tests.fitting.panels import bernoulli_panel, panel_of
from tests.oracles import fitting as oracle


def arguments(panel, fitted, scale):
    """The arguments of the oracle, as plain lists."""
    places = [np.nan] * panel.n_arms if scale.places is None else scale.places.tolist()
    return (
        panel.counts.tolist(),
        panel.means.tolist(),
        fitted.rho.tolist(),
        fitted.phi.tolist(),
        fitted.grid.tolist(),
        fitted.weights.tolist(),
        oracle.bend_matrix(places),
        fitted.shrinkage.tau_a,
        fitted.shrinkage.tau_c,
    )


def one_step(panel, fitted, scale):
    """New curves with everything else as it was."""
    posteriors = factor_model.responsibilities(panel, fitted)
    counts = factor_model.effective_counts(panel, fitted.rho, fitted.phi)
    found = factor_model.improve_curves(
        posteriors.T @ counts, posteriors.T @ (counts * panel.means), fitted, scale
    )
    return found._replace(shrinkage=fitted.shrinkage)


@st.composite
def panels(draw):
    """Bernoulli rewards in random cells, some of them empty."""
    n_groups, n_arms = draw(st.integers(2, 6)), draw(st.integers(2, 4))
    counts = draw(
        st.lists(
            st.lists(st.integers(0, 12), min_size=n_arms, max_size=n_arms),
            min_size=n_groups,
            max_size=n_groups,
        )
    )
    shares = draw(st.lists(st.floats(0, 1), min_size=n_groups, max_size=n_groups))
    successes = [[round(share * n) for n in row] for share, row in zip(shares, counts, strict=True)]
    return bernoulli_panel(counts, successes)


@given(panels(), st.floats(0.001, 0.4), st.floats(0.05, 20), st.booleans())
def test_a_step_raises_the_penalised_likelihood(panel, rho, tau, labels):
    scale = arm_scale(panel.arms, labels=labels)
    a, c = np.linspace(-2, 1, panel.n_arms), np.linspace(0.3, 2.5, panel.n_arms)
    start = initial_population(panel, a, c, GRID[::6])._replace(
        rho=np.full(panel.n_arms, rho),
        phi=np.full(panel.n_arms, 1 - rho),
        shrinkage=Shrinkage(tau, 2 * tau),
    )
    after = one_step(panel, start, scale)
    known = arguments(panel, start, scale)
    before_height = oracle.penalised_log_likelihood(np.concatenate([a, c]), *known)
    height = oracle.penalised_log_likelihood(np.concatenate([after.a, after.c]), *known)
    assert height >= before_height - 1e-9 * (1 + abs(before_height))


def test_responsibilities_are_those_of_the_plain_loop():
    panel = panel_of(histories.exponential_demand(6, 30, seed=4, uneven=True))
    fitted = initial_populations(panel, 1)[0]
    expected = oracle.responsibilities(
        panel.counts, panel.means, fitted.a, fitted.c, fitted.rho, fitted.phi, fitted.grid,
        fitted.weights,
    )  # fmt: skip
    np.testing.assert_allclose(factor_model.responsibilities(panel, fitted), expected, atol=1e-13)


@pytest.mark.parametrize("labels", [False, True])
def test_steps_end_where_a_general_optimiser_does(labels):
    counts = [[9, 4, 7], [3, 8, 0], [12, 5, 6], [0, 9, 9], [6, 6, 6], [10, 2, 8]]
    successes = [[7, 2, 1], [1, 1, 0], [11, 4, 3], [0, 7, 6], [2, 1, 0], [8, 1, 4]]
    panel = bernoulli_panel(counts, successes)
    scale = arm_scale(panel.arms, labels=labels)
    start = initial_populations(panel, 1)[0]._replace(grid=GRID[::6], weights=np.full(11, 1 / 11))
    fitted = start.with_curves(start.a, start.c)._replace(shrinkage=Shrinkage(0.3, 0.5))
    for _ in range(600):
        fitted = one_step(panel, fitted, scale)
    found = np.concatenate([fitted.a, fitted.c])
    known = arguments(panel, fitted, scale)
    best, height = oracle.best_curves(found + 0.1, *known)
    np.testing.assert_allclose(found, best, atol=1e-4)
    assert oracle.penalised_log_likelihood(found, *known) == pytest.approx(height, abs=1e-8)


def test_rho_is_the_likeliest_random_effect_on_a_balanced_panel():
    rng = np.random.default_rng(8)
    n, centre, phi = 12, 0.4, 0.3
    means = centre + 0.15 * rng.standard_normal(40)
    expected = oracle.random_effect(means.tolist(), n, centre, phi)
    panel = bernoulli_panel(np.full((40, 1), n), n * means[:, None])
    panel = dataclasses.replace(panel, binary=False)
    cells = factor_model.Residuals(
        (panel.means - centre) ** 2, np.full((40, 1), centre * (1 - centre))
    )
    above, below = factor_model.rho_moments(panel, cells, np.array([0.1]), np.array([phi]), edf=0.0)
    assert above[0] / below[0] == pytest.approx(expected, abs=1e-7)


def test_rho_of_bernoulli_rewards_excludes_their_noise():
    """E (y - f)² is f (1 - f) (1/n + rho (1 - 1/n)): put in exactly, rho comes out."""
    rho, f = 0.07, 0.3
    counts = np.array([[2.0], [5.0], [40.0], [1.0]])
    variance = np.full((4, 1), f * (1 - f))
    squared = variance * (1 / counts + rho * (1 - 1 / counts))
    panel = bernoulli_panel(counts, counts * f)
    above, below = factor_model.rho_moments(
        panel, factor_model.Residuals(squared, variance), np.array([0.2]), np.array([0.8]), edf=0.0
    )
    assert above[0] / below[0] == pytest.approx(rho, abs=1e-12)


def test_single_bernoulli_rewards_carry_no_information_about_errors():
    panel = bernoulli_panel([[1, 1], [1, 1], [1, 1]], [[1, 0], [1, 1], [0, 0]])
    cells = factor_model.residuals(panel, np.ones((3, 1)), np.array([[0.5, 0.5]]))
    rho = factor_model.update_rho(panel, cells, np.full(2, 0.1), np.full(2, 0.9), 1.0)
    assert rho.tolist() == [factor_model.MIN_RHO] * 2


def test_rho_is_pooled_with_the_weight_of_thirty_groups_and_never_zero():
    panel = bernoulli_panel(np.full((10, 2), 50), np.full((10, 2), 25))
    variance = np.full((10, 2), 0.25)
    squared = np.column_stack([np.full(10, 0.25 / 50), np.full(10, 0.25 / 50 + 0.05)])
    own = np.array([0.0, 0.05 / (0.25 * 0.98)])
    cells = factor_model.Residuals(squared, variance)
    rho = factor_model.update_rho(panel, cells, np.full(2, 0.1), np.full(2, 0.9), 0.0)
    everywhere = own.mean()
    expected = np.maximum((10 * own + 30 * everywhere) / 40, everywhere / 4)
    np.testing.assert_allclose(rho, expected, rtol=1e-9)


def test_phi_is_the_noise_within_cells():
    history = histories.exponential_demand(200, 42, seed=2, concentration=5.0)
    panel = panel_of(history, (0.0, 1.0))
    start = initial_independent(panel)
    posteriors = np.ones((200, 1))
    cells = factor_model.residuals(panel, posteriors, start.curves)
    phi = factor_model.update_phi(
        panel, factor_model.Residuals(cells.squared, history.means * (1 - history.means))
    )
    # A Beta with parameters that sum to 5 has a sixth of the Bernoulli variance.
    assert phi == pytest.approx(np.full(7, 1 / 6), rel=0.1)


def test_the_population_keeps_its_variance_when_it_is_smoothed():
    rng = np.random.default_rng(0)
    posteriors = rng.dirichlet(np.full(GRID.size, 0.05), 5_000)
    average = posteriors.mean(axis=0)
    panel = bernoulli_panel([[1, 1]] * 2, [[1, 0]] * 2)
    fitted = initial_population(panel, np.zeros(2), np.ones(2), GRID)
    weights = factor_model.update_weights(posteriors, fitted)
    assert weights.sum() == pytest.approx(1.0)

    def variance(w):
        return w @ GRID**2 - (w @ GRID) ** 2

    # Kernels at the ends of the grid are cut off there: a percent or two.
    assert variance(weights) == pytest.approx(variance(average), rel=0.03)


def test_edf_of_free_arms_is_two_and_of_a_straight_line_less():
    panel = panel_of(histories.exponential_demand(60, 700, seed=3))
    scale = arm_scale(panel.arms)
    start = initial_populations(panel, 1)[0]
    free = one_step(panel, start._replace(shrinkage=Shrinkage(1e4, 1e4)), scale)
    tight = one_step(panel, start._replace(shrinkage=Shrinkage(1e-4, 1e-4)), scale)
    assert free.edf == pytest.approx(2.0, abs=0.01)
    # Two numbers for all seven arms' a, and two for all c.
    assert tight.edf == pytest.approx(4 / 7, abs=0.1)
