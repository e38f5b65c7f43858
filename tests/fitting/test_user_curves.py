"""The user's own curves, tested against the history."""

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import FitError
from globalbandits.fitting import fit, histories
from globalbandits.fitting.assessment.forecast import (
    ForecastSettings,
    forecast_regret,
    groups_environment,
)
from globalbandits.fitting.estimation.factor_model import read_curves
from globalbandits.fitting.estimation.fitted_population import draw_groups
from tests.fitting.panels import COLUMNS, panel_of

PRICES = [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]


def right_curves():
    return gb.RewardModel(lambda theta, price: np.exp(-theta * price), PRICES, (0.02, 1.0))


def wrong_curves():
    return gb.RewardModel(lambda theta, price: 0.1 + 0.8 * theta - 0.01 * price, PRICES, (0.0, 1.0))


def test_right_curves_are_kept_and_named():
    found = fit(
        histories.exponential_demand(8, 140, seed=5),
        **COLUMNS,
        curves=right_curves(),
        verdict=False,
    )
    assert found.chosen == "given"
    assert found.model.fingerprint == right_curves().fingerprint
    assert any(note.startswith("your curves are kept") for note in found.notes)
    assert found.bias_scale < 0.06
    assert ("held-out groups", "given - independent") in found.scores.index
    np.testing.assert_allclose(
        found.curves.means, right_curves().means(found.curves.theta), atol=1e-12
    )


def test_theta_of_groups_is_the_model_s_own():
    history = histories.exponential_demand(30, 700, seed=6)
    rows = {**history, "day": np.arange(30 * 700) % 10}
    found = fit(rows, **COLUMNS, curves=right_curves(), time="day", verdict=False)
    assert ("last third", "given - independent") in found.scores.index
    assert found.chosen == "given"
    inside = (found.groups["low"] <= history.theta) & (history.theta <= found.groups["high"])
    assert inside.mean() > 0.7
    assert np.corrcoef(found.groups["theta"], history.theta)[0, 1] > 0.97


def test_wrong_curves_are_not_kept():
    found = fit(
        histories.exponential_demand(40, 280, seed=5),
        **COLUMNS,
        curves=wrong_curves(),
        verdict=False,
    )
    assert found.chosen == "shared"
    assert any(note.startswith("your curves are not kept") for note in found.notes)
    assert found.model.domain == (0.0, 1.0)


def test_a_policy_for_given_curves_takes_their_bias():
    history = histories.exponential_demand(20, 140, seed=5, rho=0.02)
    found = fit(history, **COLUMNS, curves=right_curves(), verdict=False)
    assert (found.chosen, found.verdict.action) == ("given", "elastic")
    weights = np.array(found.policy.prior)
    scales = np.array([0, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32])
    assert np.log(scales[weights.argmax()] / found.bias_scale) == pytest.approx(0, abs=0.5)


def test_given_curves_take_the_requested_value():
    """The user's model stays as it is, or keeps its means with another worth."""
    history = histories.exponential_demand(8, 140, seed=5)
    plain = fit(history, **COLUMNS, curves=right_curves(), cost=1.0, verdict=False)
    assert plain.chosen == "given"
    np.testing.assert_allclose(plain.model.means(0.2), right_curves().means(0.2))
    expected = (np.array(PRICES) - 1.0) * right_curves().means(0.2)
    np.testing.assert_allclose(plain.model.worth(0.2), expected)
    assert plain.model.to_table(5).to_dict()["cost"] == 1.0
    own = gb.RewardModel(
        lambda theta, price: np.exp(-theta * price), PRICES, (0.02, 1.0),
        value=lambda sold, price: (price - 1.0) * sold,
    )  # fmt: skip
    valued = fit(history, **COLUMNS, curves=own, verdict=False)
    assert valued.model is own
    assert valued.value_of_information == plain.value_of_information


def test_groups_of_given_curves_are_drawn_in_the_models_order():
    history = histories.exponential_demand(8, 140, seed=5)
    turned = gb.RewardModel(
        lambda theta, price: np.exp(-theta * price), [*PRICES[::-1], 9.0], (0.02, 1.0)
    )
    found = fit(history, **COLUMNS, curves=turned, verdict=False)
    assert found.model is turned
    drawn = draw_groups(found.fitted, 3, np.random.default_rng(0))
    env = groups_environment(drawn, found.fitted, turned, found.offered, found.theta_scale)
    shifts = np.array(env.theta.shifts)
    means = turned.means(np.array(env.theta.samples)) + shifts
    np.testing.assert_allclose(means[:, :7][:, ::-1], drawn.means, atol=1e-9)
    assert not shifts[:, 7].any()


def test_a_fixed_arm_is_compared_with_arms_that_have_no_history_too():
    curves = gb.RewardModel(
        lambda theta, price: np.exp(-theta * price), [9.0, *PRICES], (0.02, 1.0),
        value=lambda sold, price: price**3 * sold,
    )  # fmt: skip
    found = fit(
        histories.exponential_demand(8, 140, seed=5), **COLUMNS, curves=curves, verdict=False
    )
    assert found.model is curves
    fixed = found.value_of_information.fixed
    got = forecast_regret(
        found.fitted, curves, found.worth, found.theta_scale,
        {"IndependentGittins": gb.FixedArm(curves.arms.index(found.offered[fixed]))},
        ForecastSettings(horizon=5, runs=300),
    )  # fmt: skip
    exact, simulated = got.means[got.fixed][-1], got.means["IndependentGittins"][-1]
    assert abs(exact - simulated) < 4 * got.errors["IndependentGittins"][-1]
    assert exact > 1.2 * 5 * found.value_of_information.total


def test_curves_that_do_not_fit_the_history_are_refused():
    panel = panel_of(histories.exponential_demand(5, 70, seed=1))
    fewer = gb.RewardModel(lambda theta, price: np.exp(-theta * price), PRICES[:3], (0.02, 1.0))
    with pytest.raises(FitError, match=r"curves must have the history's arm 5.0, has: 2.0, 3.0"):
        read_curves(fewer, panel)
    revenue = gb.RewardModel(
        lambda theta, price: price * np.exp(-theta * price), PRICES, (0.02, 0.12),
        reward_range=(0, 8),
    )  # fmt: skip
    with pytest.raises(FitError, match=r"curves must lie in the history's reward_range \[0, 1\]"):
        read_curves(revenue, panel)
    with pytest.raises(FitError, match="arms must be left out where curves are kept"):
        fit(
            histories.exponential_demand(8, 140, seed=5), **COLUMNS, curves=right_curves(),
            arms=[2.0, 3.0], verdict=False,
        )  # fmt: skip
