"""Arms that a model offers: some of the history's, or new ones between them."""

from dataclasses import replace

import numpy as np
import pytest

from globalbandits.errors import FitError
from globalbandits.fitting import histories
from globalbandits.fitting.estimation.factor_model import fit_shared
from globalbandits.fitting.estimation.fitted_population import curve_table
from globalbandits.fitting.estimation.offered_arms import (
    arm_scale,
    check_offered_arms,
    interpolation_error,
    offer_arms,
)
from tests.fitting.panels import bernoulli_panel, panel_of


@pytest.fixture(scope="module")
def panel():
    return panel_of(histories.exponential_demand(50, 280, seed=2))


@pytest.fixture(scope="module")
def fitted(panel):
    return fit_shared(panel, arm_scale(panel.arms))


def test_arms_with_a_wide_span_are_compared_by_logarithms():
    assert arm_scale([0.5, 1, 2, 4]).logarithmic
    assert not arm_scale([2, 4, 8]).logarithmic
    assert not arm_scale([0, 1, 20]).logarithmic
    assert arm_scale([-1, 1, 20]).ordered
    for labels in (["a", "b"], [True, False], [1, "b"], [1.0, float("inf")]):
        assert not arm_scale(labels).ordered
    assert not arm_scale([1, 2, 3], labels=True).ordered


def test_what_is_straight_has_no_bend():
    scale = arm_scale([2.0, 3.0, 5.0, 7.5])
    assert scale.n_bends == 2
    np.testing.assert_allclose(scale.bends @ (3 - 2 * np.array([2.0, 3, 5, 7.5])), 0, atol=1e-12)
    assert np.linalg.matrix_rank(scale.bends) == 2
    labels = arm_scale(["a", "b", "c"])
    np.testing.assert_allclose(labels.bends @ np.ones(3), 0, atol=1e-12)
    assert labels.n_bends == np.linalg.matrix_rank(labels.bends) == 2


def test_offered_arms_of_the_history_keep_their_columns(panel, fitted):
    chosen = offer_arms(fitted, (8.0, 2.0), panel, arm_scale(panel.arms))
    np.testing.assert_array_equal(chosen.curves, fitted.curves[:, [6, 0]])
    np.testing.assert_array_equal(chosen.rho, fitted.rho[[6, 0]])
    assert offer_arms(fitted, panel.arms, panel, arm_scale(panel.arms)) is fitted


def test_a_new_arm_is_close_to_the_truth_and_less_sure(panel, fitted):
    """Leave the price 5 out of the history, then offer it."""
    fewer = panel.with_arms([2.0, 3.0, 4.0, 6.0, 7.0, 8.0])
    scale = arm_scale(fewer.arms)
    known = fit_shared(fewer, scale)
    arms = (4.0, 5.0, 6.0)
    offered = offer_arms(known, arms, fewer, scale)
    error = offered.curves[:, 1] - fitted.curves[:, 3]
    assert np.sqrt(fitted.weights @ error**2) < 0.03
    usual = interpolation_error(known, np.array(fewer.arms), np.arange(6))
    between = (known.bias[2] ** 2 + known.bias[3] ** 2) / 2
    assert offered.bias[1] ** 2 == pytest.approx(between + usual**2)
    assert offered.bias[1] > offered.bias[[0, 2]].min()


def test_a_new_dose_lies_between_by_its_logarithm():
    panel = panel_of(histories.emax(50, 280, seed=2))
    scale = arm_scale(panel.arms)
    fitted = fit_shared(panel, scale)
    offered = offer_arms(fitted, (2.0, np.sqrt(8.0), 4.0), panel, scale)
    assert offered.a[1] == pytest.approx((offered.a[0] + offered.a[2]) / 2)
    assert offered.phi[1] == pytest.approx(1 - offered.rho[1])


def test_the_error_of_neighbours_is_measured_where_it_is_known(fitted):
    straight = np.linspace(-1, 1, 7)
    exact = fitted._replace(
        a=straight, c=1 + straight, curves=curve_table(straight, 1 + straight, fitted.grid)
    )
    assert interpolation_error(exact, np.arange(7.0), np.arange(7)) == pytest.approx(0, abs=1e-12)
    bent = exact._replace(a=straight**2, curves=curve_table(straight**2, 1 + straight, exact.grid))
    assert interpolation_error(bent, np.arange(7.0), np.arange(7)) > 0.01
    two = exact._replace(a=exact.a[:2], c=exact.c[:2], curves=exact.curves[:, :2])
    apart = np.sqrt(two.weights @ (two.curves[:, 0] - two.curves[:, 1]) ** 2)
    assert interpolation_error(two, np.arange(2.0), np.arange(2)) == pytest.approx(apart / 2)


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        ([2.0, 12.0], "arm 12.0 lies outside of the history's prices [2, 8]: "
                      "fit does not extrapolate"),
        ([2.0, "a"], "arm 'a' must be one of the history's: 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0"),
        ([2.0], "arms must be at least two distinct arms, got (2.0,)"),
        ([2.0, 2.0], "arms must be at least two distinct arms, got (2.0, 2.0)"),
        ("label", "arms must be None, 'labels' or a list of arms, got 'label'"),
    ],
)  # fmt: skip
def test_arms_that_cannot_be_offered_are_refused(panel, arms, message):
    with pytest.raises(FitError) as caught:
        check_offered_arms(arms, replace(panel, arm_name="price"), arm_scale(panel.arms))
    assert str(caught.value) == message


def test_arms_may_be_named_by_their_texts(panel):
    assert check_offered_arms(["2", "4.5", "8.0"], panel, arm_scale(panel.arms)) == (2, 4.5, 8.0)
    codes = bernoulli_panel([[5, 5]] * 3, [[1, 4]] * 3, arms=("07", "12"))
    assert check_offered_arms(["12", "07"], codes, arm_scale(codes.arms)) == ("12", "07")


def test_labels_cannot_be_new():
    panel = bernoulli_panel([[5, 5]] * 3, [[1, 4]] * 3, arms=("a", "b"))
    scale = arm_scale(panel.arms)
    assert (
        check_offered_arms(None, panel, scale)
        == check_offered_arms("labels", panel, scale)
        == ("a", "b")
    )
    assert check_offered_arms(["b", "a"], panel, scale) == ("b", "a")
    with pytest.raises(FitError, match="arm 'c' must be one of the history's: 'a', 'b'"):
        check_offered_arms(["a", "c"], panel, scale)
