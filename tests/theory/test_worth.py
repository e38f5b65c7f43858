"""Bounds where a decision is worth a value of its mean reward."""

import numpy as np
import pytest

import globalbandits as gb
from globalbandits import theory
from globalbandits.errors import ModelError

PRICES = [0.4, 0.6, 0.8]


def demand(theta, price):
    return (1.0 - 0.9 * price * theta) ** 2


def model(value):
    return gb.RewardModel(demand, PRICES, value=value)


PLAIN = model(None)
BOUNDS = {
    "one step": lambda m: theory.one_step_regret(m, [1, 2, 100]),
    "worst case": lambda m: theory.worst_case_regret(m, [1, 2, 100]),
    "BUW": lambda m: theory.buw_regret(m, 0.3, [1, 100, 10**9]),
    "BUW, worst case": lambda m: theory.buw_worst_case_regret(m, [1, 100]),
    "drift": lambda m: theory.average_regret_under_drift(m, [1e3, 1e6]),
    "drift, own window": lambda m: theory.average_regret_under_drift(m, [1e3, 1e6], 50),
    "regimes": lambda m: theory.regimes(m, 0.3).bound([1, 100, 10**9]),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_a_value_in_another_currency_changes_the_unit_only(name):
    plain, tenfold = BOUNDS[name](PLAIN), BOUNDS[name](model(lambda m, p: 10.0 * m - 3.0))
    assert tenfold == pytest.approx(10.0 * plain, rel=1e-9)


def test_what_is_about_the_parameter_does_not_change():
    other = model(lambda m, p: np.sin(m) * p)
    assert theory.mean_squared_error(other, [5]) == theory.mean_squared_error(PLAIN, [5])
    assert theory.bounded_time(other, 0.1) == theory.bounded_time(PLAIN, 0.1)
    assert theory.bayes_risk_growth(other, 50) == theory.bayes_risk_growth(PLAIN, 50)


@pytest.mark.parametrize(
    "value",
    [
        lambda m, p: (p - 0.3) * m,
        lambda m, p: -np.abs(m - 0.25),
        lambda m, p: np.sin(9.0 * m) + p,
        lambda m, p: (p - 0.2) * np.minimum(m, 0.5),
    ],
)
def test_a_wrong_parameter_costs_no_more_than_the_constants_say(value):
    # The step of Theorem 2 that a value enters: regret <= 2 L D2 |estimate - theta|**g2.
    valued = model(value)
    c = theory.constants(valued)
    rng = np.random.default_rng(3)
    thetas, estimates = rng.random((2, 4000))
    estimates[:2000] = np.clip(thetas[:2000] + 0.01 * rng.standard_normal(2000), 0.0, 1.0)
    chosen = valued.worth(estimates).argmax(axis=1)
    regret = valued.gaps(thetas)[np.arange(4000), chosen]
    bound = 2.0 * c.value_length * c.constant * np.abs(estimates - thetas) ** c.exponent
    assert (regret <= bound * (1.0 + 1e-9)).all()
    assert regret.max() <= c.worth_length
    assert regret.max() > 0.0
    # And it is no empty bound: without the value's slope it would be broken or idle.
    assert c.value_length == pytest.approx(valued.worth_lipschitz)


@pytest.mark.parametrize("name", BOUNDS)
def test_a_value_without_a_lipschitz_constant_is_refused(name):
    steep = model(lambda m, p: np.sqrt(m) * p)
    message = "value must have a Lipschitz constant in the mean for regret to be bounded, got inf"
    with pytest.raises(ModelError, match=message):
        BOUNDS[name](steep)
    with pytest.raises(ModelError, match=message):
        theory.bayes_risk_growth(steep, 10)
