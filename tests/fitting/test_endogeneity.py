"""Arms that were chosen by what was expected of them, and rewards that change over time."""

import numpy as np
import pytest

from benchmarks._fit_endogenous import PRICES, draw_rows, three_prices, usual_price
from globalbandits.fitting import fit, histories
from globalbandits.fitting.assessment import forecast, held_out_scores
from globalbandits.fitting.assessment.endogeneity import (
    check_endogeneity,
    expected_direction,
    wrong_direction,
)
from globalbandits.fitting.assessment.forecast import candidate_policies
from globalbandits.fitting.assessment.time_change import check_time_change
from globalbandits.fitting.decision_value import Worth
from globalbandits.fitting.estimation.factor_model import fit_independent, fit_shared
from globalbandits.fitting.estimation.fitted_population import GRID, normal_weights, shifted
from globalbandits.fitting.estimation.offered_arms import arm_scale
from tests.fitting.panels import COLUMNS, bernoulli_panel, panel_of
from tests.soak import length


@pytest.fixture(autouse=True)
def _fast(monkeypatch):
    names = ("Elastic(history)", "IndependentGittins", "WAGP")

    def few(*which):
        return {n: p for n, p in candidate_policies(*which).items() if n in names}

    monkeypatch.setattr(held_out_scores, "N_FOLDS", 2)
    monkeypatch.setattr(forecast, "candidate_policies", few)


def examined(history):
    panel = panel_of(history)
    scale = arm_scale(panel.arms)
    return check_endogeneity(panel, scale, fit_independent(panel, scale)), panel, scale


@pytest.mark.parametrize("world", [three_prices, usual_price])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_curves_come_from_differences_inside_groups(world, seed):
    history, fresh = world(seed)
    found, panel, scale = examined(history)
    assert found.found
    assert found.choice.rises
    assert found.within.falls
    truth = fresh.mean(axis=0)
    fitted = fit_shared(panel, scale, within=True).means
    # 60 groups give the mean of a population whose groups differ by about .35 up to .045.
    assert np.abs(fitted - truth).max() < 2 * 0.045 + 0.03
    assert (np.diff(fitted) < 0).all()


def test_before_the_correction_demand_rises_with_the_price():
    """The history of the test above is hard: the usual fit gets it wrong."""
    history, fresh = usual_price(0)
    _, panel, scale = examined(history)
    wrong = fit_shared(panel, scale).means
    assert wrong[-1] - fresh.mean(axis=0)[-1] > 0.2


def test_the_verdict_states_it_first_and_offers_no_fixed_arm():
    history, fresh = three_prices(0)
    found = fit(history, **COLUMNS, cost=1.0, runs=20, horizon=200)
    assert found.verdict.sentences[0].startswith("Arms were chosen by what was expected of them")
    assert found.verdict.action == "elastic"
    assert not any(name.startswith("always") for name in found.forecast.means)
    assert min(means[-1] for means in found.forecast.means.values()) > 0
    assert "Arms were chosen" in str(found)
    assert found.to_dict()["endogeneity"]["found"]
    profit = (PRICES - 1.0) * fresh.mean(axis=0)
    chosen = (PRICES - 1.0) * found.fitted.means
    assert profit[chosen.argmax()] > 0.97 * profit.max()


def test_groups_that_choose_at_random_are_rarely_reported():
    """At the level .01, more than two of 15 histories have the probability .0004."""
    accused = [
        examined(histories.exponential_demand(20, 140, seed=seed, rho=0.02, uneven=True))[0].found
        for seed in range(15)
    ]
    assert sum(accused) <= 2


def test_the_slopes_are_those_of_a_regression_with_dummies():
    rng = np.random.default_rng(5)
    counts = rng.integers(1, 30, (12, 4)) * (rng.random((12, 4)) < 0.8)
    panel = bernoulli_panel(counts, rng.binomial(counts, 0.4), arms=(1, 2, 3, 4))
    scale = arm_scale(panel.arms)
    fitted = fit_independent(panel, scale)
    found = check_endogeneity(panel, scale, fitted)
    weights = panel.counts / (fitted.phi + panel.counts * fitted.rho)
    group, arm = np.nonzero(panel.tried)
    weight, y = weights[group, arm], panel.means[group, arm]
    average = panel.counts @ scale.places / panel.counts.sum(axis=1)

    def slope(dummies, x):
        design = np.column_stack([dummies, x]) * np.sqrt(weight)[:, None]
        return np.linalg.lstsq(design, y * np.sqrt(weight), rcond=None)[0][-1]

    assert found.within.value == pytest.approx(slope(np.eye(12)[group], scale.places[arm]))
    assert found.choice.value == pytest.approx(slope(np.eye(4)[arm], average[group]))


def test_labels_and_equal_designs_are_not_tested():
    panel = panel_of(histories.exponential_demand(20, 140, seed=1))
    scale = arm_scale(panel.arms, labels=True)
    assert not check_endogeneity(panel, scale, fit_independent(panel, scale)).found
    found, _, _ = examined(histories.exponential_demand(20, 140, seed=1))
    assert np.isnan(found.p_value)


@pytest.mark.parametrize(
    ("options", "name", "direction"),
    [
        ({"cost": 1.0}, "arm", -1),
        ({"value": "(arm - 1) * mean"}, "arm", -1),
        ({"value": lambda mean, arm: arm * mean}, "level", -1),
        ({}, "price", -1),
        ({}, "Dose_mg", 1),
        ({}, "arm", 0),
        ({"offset": lambda arm: -0.1 * arm}, "arm", 0),
    ],
)
def test_prices_and_doses_have_a_direction(options, name, direction):
    worth = Worth((2.0, 3.0, 4.0), (0.0, 1.0), **options)
    assert expected_direction(worth, name, True) == direction
    assert expected_direction(worth, name, False) == 0


@pytest.mark.parametrize(
    ("direction", "text"),
    [(-1, "Fitted demand rises with the price, from 0."), (1, ""), (0, "")],
)
def test_demand_that_rises_with_the_price_is_reported(direction, text):
    rng = np.random.default_rng(2)
    rising = 1 / (1 + np.exp(-(rng.normal(0, 0.7, (30, 1)) + 0.3 * (PRICES - 5))))
    history = draw_rows(np.full((30, 7), 20), rising, rng)
    found, panel, scale = examined(history)
    said = wrong_direction(found, fit_shared(panel, scale), panel.arms, direction)
    assert said.startswith(text)
    assert bool(said) == bool(text)
    if direction == -1:
        sentences = fit(history, **COLUMNS, cost=1.0, verdict=False).verdict.sentences
        assert sentences[0].startswith(text)


def test_a_response_that_falls_with_the_dose_is_reported():
    found, panel, scale = examined(histories.exponential_demand(30, 140, seed=2))
    said = wrong_direction(found, fit_shared(panel, scale), panel.arms, 1)
    assert said.startswith("The fitted response falls with the dose, from 0.")


def with_times(history, change, seed):
    """Rewards of the last third are replaced by 1 with this probability."""
    rng = np.random.default_rng(seed)
    time = rng.random(history["reward"].size)
    late = (time > 2 / 3) & (rng.random(time.size) < change)
    return {**history, "reward": np.where(late, 1.0, history["reward"]), "time": time}


def test_rewards_that_change_over_time_change_the_verdict():
    history = histories.exponential_demand(30, 280, seed=4)
    steady, moving = (with_times(history, change, seed=1) for change in (0.0, 0.2))
    found = fit(moving, **COLUMNS, cost=1.0, time="time", verdict=False)
    assert found.verdict.sentences[0].startswith("Rewards change over time")
    # A fifth of the rewards that were 0 become 1: about .13 more for means of about .35.
    assert abs(found.change.mean - 0.13) < 3 * found.change.se
    assert found.to_dict()["change_over_time"]["p_value"] < 1e-6
    quiet = fit(steady, **COLUMNS, cost=1.0, time="time", verdict=False)
    assert "change over time" not in str(quiet.verdict)


def test_the_test_of_change_has_its_level():
    """P-values of steady histories are uniform: the mean of n is .5 ± 1 / sqrt(12 n)."""
    values = []
    n = length(15, 40)
    for seed in range(n):
        history = with_times(histories.exponential_demand(20, 280, seed=seed), 0.0, seed)
        panel = panel_of(history)
        late_rows = history["time"] > 2 / 3
        late = panel_of({name: column[late_rows] for name, column in history.items()})
        values.append(check_time_change(panel, late).p_value)
    assert abs(np.mean(values) - 0.5) < 3.5 / np.sqrt(12 * n)


def test_a_distribution_is_moved_along_the_grid():
    weights = normal_weights(2 * GRID)
    moved = shifted(weights, GRID, np.array([0.0, 0.5, -1.25]))
    np.testing.assert_allclose(moved @ GRID, [0.0, 0.5, -1.25], atol=2e-3)
    np.testing.assert_allclose(moved.sum(axis=1), 1.0)
    np.testing.assert_allclose(moved[0], weights, atol=1e-10)
