"""What arms are worth, and what knowing the group is."""

import numpy as np
import pytest

from globalbandits.errors import FitError
from globalbandits.fitting.assessment.value_of_information import arm_facts, value_of_information
from globalbandits.fitting.decision_value import Worth
from globalbandits.fitting.estimation.fitted_population import (
    GRID,
    FittedPopulation,
    Shrinkage,
    curve_table,
    draw_groups,
    normal_weights,
)

UNIT = (0.0, 1.0)


def population(a, c, rho=1e-6, phi=None):
    a, c = np.array(a, float), np.array(c, float)
    rho = np.full(a.size, rho)
    return FittedPopulation(
        a=a,
        c=c,
        rho=rho,
        phi=1 - rho if phi is None else np.full(a.size, phi),
        weights=normal_weights(GRID),
        grid=GRID,
        curves=curve_table(a, c, GRID),
        binary=phi is None,
        shrinkage=Shrinkage(1.0, 1.0),
        edf=1.0,
        n_steps=1,
    )


def test_an_arm_is_worth_its_mean_by_default():
    worth = Worth((1, 2), (-2.0, 6.0))
    assert worth.plain
    assert worth(np.array([[0.0, 0.5], [1.0, 0.25]])).tolist() == [[-2.0, 2.0], [6.0, 0.0]]


def test_value_cost_and_offset():
    means = np.array([0.5, 0.25])
    by_value = Worth((4.0, 9.0), UNIT, value=lambda sold, price: (price - 3.0) * sold)
    by_cost = Worth((4.0, 9.0), UNIT, cost=3.0)
    assert by_value(means).tolist() == by_cost(means).tolist() == [0.5, 1.5]
    assert Worth((1, 2), UNIT, offset=lambda arm: -0.1 * arm)(means) == pytest.approx([0.4, 0.05])
    assert Worth((1, 2), UNIT, offset={1: 1.0, 2: -1.0})(means).tolist() == [1.5, -0.75]
    assert Worth((1, 2), UNIT, offset=2.0)(means).tolist() == [2.5, 2.25]


def test_a_value_of_single_numbers_will_do():
    worth = Worth((1, 2), UNIT, value=lambda mean, arm: -abs(mean - 0.25) if arm == 1 else mean)
    single = Worth((1, 2), UNIT, value=lambda mean, arm: max(mean, 0.1 * arm))
    assert worth(np.array([[0.5, 0.5]])).tolist() == [[-0.25, 0.5]]
    assert single(np.array([[0.05, 0.5], [0.3, 0.1]])).tolist() == [[0.1, 0.5], [0.3, 0.2]]


def test_slopes_are_the_value_of_a_unit_of_the_mean():
    fitted = population([0.0, -1.0], [1.0, 1.0])
    worth = Worth((4.0, 1.0), (0.0, 10.0), cost=3.0)
    assert worth.slopes(fitted.curves, fitted.weights) == pytest.approx([10.0, 20.0])
    assert worth.falling() == [1.0]


@pytest.mark.parametrize(
    ("arms", "options", "message"),
    [
        ((3.1, 5.0), {"cost": 3.1},
         "value of arm 3.1 must not be 0: its profit would not depend on sales"),
        ((1, 2), {"value": lambda mean, arm: mean / (arm - 1)}, "value of arm 1 must be finite"),
        ((1, 2), {"value": 3.0}, "value must be a function or a formula, got 3.0"),
        (("a", "b"), {"cost": 1.0}, "arms must be numbers where cost is given, got 'a'"),
        ((1, 2), {"cost": 1.0, "value": max}, "value must be left out where cost is given"),
        ((1, 2), {"cost": "x"}, "cost must be a number, got 'x'"),
        ((1, 2), {"offset": {1: 0.0}}, "offset must have the arm 2, got [1]"),
        ((1, 2), {"offset": float("nan")}, "offset must be finite, got nan"),
        ((1, 2), {"offset": {1: 0.0, 2: None}}, "offset of arm 2 must be a number, got None"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_wrong_values_are_refused(arms, options, message):
    with pytest.raises(FitError) as caught:
        Worth(arms, UNIT, **options).check()
    assert str(caught.value).startswith(message)


def test_drawn_groups_have_the_population_s_moments():
    fitted = population([0.5, -1.0], [1.0, 0.4], rho=0.05)
    drawn = draw_groups(fitted, 40_000, np.random.default_rng(1))
    np.testing.assert_allclose(drawn.means.mean(axis=0), fitted.means, atol=0.005)
    np.testing.assert_allclose((drawn.means - drawn.curves).std(axis=0), fitted.bias, rtol=0.02)


def test_the_value_of_information_is_that_of_a_plain_integral():
    """Two arms that cross at z = 0, without errors: E max - max E on the grid."""
    fitted = population([0.0, 0.0], [1.0, -1.0])
    knowing = value_of_information(fitted, Worth((1, 2), UNIT))
    exact = float(fitted.weights @ fitted.curves.max(axis=1)) - 0.5
    spread = float(np.sqrt(fitted.weights @ (fitted.curves.max(axis=1) - 0.5) ** 2))
    assert knowing.total == pytest.approx(exact, abs=4 * spread / np.sqrt(4_000))
    assert knowing.through == pytest.approx(knowing.total, abs=1e-3)


def test_theta_has_no_value_where_only_errors_decide():
    knowing = value_of_information(
        population([0.0, 0.0], [0.5, 0.5], rho=0.05), Worth((1, 2), UNIT)
    )
    assert knowing.total > 0.03
    assert abs(knowing.through) < 0.01


def test_an_uninformative_arm_that_is_often_best_stalls_learning():
    fitted = population([0.4, 0.0, -2.0], [0.02, 1.5, 0.5])
    facts = arm_facts(fitted, Worth((1, 2, 3), UNIT))
    assert facts.stalls.tolist() == [True, False, False]
    assert facts.best.sum() == pytest.approx(1.0)
    assert facts.best[0] == pytest.approx(0.5, abs=0.15)
    # A Bernoulli reward of mean one half has the standard deviation one half.
    spread = np.sqrt(fitted.weights @ (fitted.curves[:, 1] - 0.5) ** 2)
    coin = np.sqrt(fitted.weights @ (fitted.curves[:, 1] * (1 - fitted.curves[:, 1])))
    assert facts.information[1] == pytest.approx(spread / coin, rel=1e-3)
