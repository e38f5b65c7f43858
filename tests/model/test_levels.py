"""Families of the catalogue with a level, or an intercept, that is known or unknown."""

import json
import math

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import ModelError
from globalbandits.model.files import build_model

PRICES = [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
DOSES = [1.0, 2.5, 5.0, 10.0]
UNKNOWN = (0.02, 0.2)

# The formulas once more: demand at level 1, the name of the shape, and a value of it.
DEMAND = {
    "linear": (lambda t, p: 1 - t * p, "slope", 0.1),
    "linear_power": (lambda t, p: (1 - t * p) ** 2, "slope", 0.1),
    "exponential": (lambda t, p: np.exp(-t * p), "slope", 0.3),
    "isoelastic": (lambda t, p: (p / 1.0) ** -t, "elasticity", 1.3),
    "log_log": (
        lambda t, p: (p**-t - 16.0**-t) / (1 - 16.0**-t),
        "elasticity",
        1.3,
    ),
}


@pytest.mark.parametrize("name", DEMAND)
def test_both_unknown(name):
    curve, shape, theta = DEMAND[name]
    model = getattr(gb.demand, name)(PRICES, cost=1.5, level=UNKNOWN)
    assert isinstance(model, gb.VectorModel)
    assert model.parameters == ("level", shape)
    assert model.domain["level"] == UNKNOWN
    demand = 0.1 * curve(theta, np.array(PRICES))
    assert model.means({"level": 0.1, shape: theta}) == pytest.approx(demand)
    assert model.worth([0.1, theta]) == pytest.approx((np.array(PRICES) - 1.5) * demand)


@pytest.mark.parametrize("name", DEMAND)
def test_the_shape_as_a_pair(name):
    _, shape, theta = DEMAND[name]
    pair = (0.5 * theta, 1.2 * theta)
    build = getattr(gb.demand, name)
    assert build(PRICES, level=UNKNOWN, **{shape: pair}).domain[shape] == pair
    # With a known level of 1 the pair is the old domain, bit for bit.
    one, old = build(PRICES, cost=1.5, **{shape: pair}), build(PRICES, cost=1.5, domain=pair)
    assert one.to_dict() == old.to_dict()
    assert one.fingerprint == old.fingerprint
    assert build(PRICES, cost=1.5, level=1.0).to_dict() == build(PRICES, cost=1.5).to_dict()


@pytest.mark.parametrize("name", DEMAND)
def test_a_known_level(name):
    curve, shape, theta = DEMAND[name]
    model = getattr(gb.demand, name)(PRICES, level=0.4, observe="sales")
    assert isinstance(model, gb.RewardModel)
    assert model.resolution == 0.0
    assert model.means(theta) == pytest.approx(0.4 * curve(theta, np.array(PRICES)))
    assert model.to_dict()["level"] == 0.4
    assert model.to_dict()[shape] == list(model.domain)


@pytest.mark.parametrize("name", DEMAND)
def test_a_known_shape(name):
    curve, shape, theta = DEMAND[name]
    model = getattr(gb.demand, name)(PRICES, cost=1.5, level=UNKNOWN, **{shape: theta})
    assert isinstance(model, gb.RewardModel)
    assert model.domain == UNKNOWN
    assert model.means(0.1) == pytest.approx(0.1 * curve(theta, np.array(PRICES)))


MODELS = {
    **{f"{name}, both": getattr(gb.demand, name)(PRICES, level=UNKNOWN) for name in DEMAND},
    **{f"{name}, level known": getattr(gb.demand, name)(PRICES, level=0.4) for name in DEMAND},
    "shape known": gb.demand.exponential(PRICES, level=UNKNOWN, slope=0.3, cost=1.0),
    "level unknown": gb.demand.exponential(PRICES, level="unknown", cost=1.0),
    "logit, both": gb.demand.logit(PRICES, sensitivity=(0.2, 1.0), cost=1.0),
    "logit, level known": gb.demand.logit(PRICES, sensitivity=(0.2, 1.0), level=1.5),
    "anchored": gb.demand.anchored(PRICES, today=5.0, rate=0.03, cost=1.0),
    "anchored, both": gb.demand.anchored(PRICES, today=5.0, rate=(0.01, 0.05)),
    "dose.linear, both": gb.dose.linear(DOSES, intercept=(0.0, 0.2), penalty=0.02),
    "dose.linear, intercept known": gb.dose.linear(DOSES, intercept=0.1),
    "dose.logistic, both": gb.dose.logistic(DOSES, intercept=(-5, -1), target=0.25),
    "dose.logistic, slope known": gb.dose.logistic(DOSES, intercept=(-5, -1), slope=0.3),
    "dose.logistic, reference": gb.dose.logistic(
        DOSES, intercept=(-5, 1), slope=(0.2, 4), reference=5.0, target=0.25
    ),
    "dose.emax, both": gb.dose.emax(DOSES, level=(0.4, 1.0), penalty=0.02),
    "dose.emax, level known": gb.dose.emax(DOSES, hill=2.0, level=0.7),
}


@pytest.mark.parametrize("name", MODELS)
def test_descriptions_give_the_model_back(name):
    model = MODELS[name]
    again = build_model(json.loads(json.dumps(model.to_dict(), sort_keys=True)))
    assert type(again) is type(model)
    assert again.fingerprint == model.fingerprint
    assert again.remarks == model.remarks


@pytest.mark.parametrize("name", [*DEMAND, "logit"])
@pytest.mark.parametrize("prices", [[2.0, 5.0, 8.0], [250.0, 400.0, 1000.0], [0.4, 0.5, 0.9]])
def test_an_unknown_level_contains_shops_of_half_a_percent_and_of_60_percent(name, prices):
    model = getattr(gb.demand, name)(prices, level="unknown", observe="sales")
    assert model.n_parameters == 2
    means = model.means(model.from_unit([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]))
    assert means.min(axis=0).max() < 0.0055
    assert means.max() > 0.6


def test_a_level_of_1_is_remarked():
    shop = gb.demand.exponential([1.5, 2.0, 3.0], cost=0.5)
    assert shop.remarks == (
        "at least 37 % are assumed to buy at price 1.5, because the level is 1; if fewer may buy, "
        "give level=(low, high)",
    )
    few = gb.demand.exponential([1.5, 2.0, 3.0], cost=0.5, domain=(0.1, 3.0))
    assert few.remarks == gb.demand.exponential([1.5, 2.0, 3.0]).remarks == ()


def test_slopes_are_elasticities():
    for prices in ([2.0, 8.0], [9.99, 14.99, 19.99, 49.0], [250.0, 1000.0], [0.4, 0.9]):
        model = gb.demand.exponential(prices, level="unknown", observe="sales")
        # Elasticities, slope * price, are the same for all price lists.
        low, high = model.domain["slope"]
        assert low * max(prices) == pytest.approx(0.1)
        assert high * min(prices) == pytest.approx(2.0)


@pytest.mark.parametrize("name", ["exponential", "logit"])
@pytest.mark.parametrize("prices", [[2.0, 3.0, 5.0, 8.0], [20.0, 24.0, 30.0]])
def test_the_lowest_price_above_a_cost_is_best_somewhere(name, prices):
    family = getattr(gb.demand, name)
    for cost in (0.75 * min(prices), min(prices)):
        model = family(prices, level="unknown", cost=cost)
        above = next(arm for arm, price in enumerate(prices) if price > cost)
        assert model.regions().shares[above] > 0.05
    # Prices below the cost are best nowhere. Without such a limit nothing changes.
    free = family(prices, level="unknown", cost=0.0)
    assert free.domain == family(prices, level="unknown", observe="sales").domain
    for cost, rule in ((-1.0, "cost must be at least 0, got -1"), ("2", "cost must be a number")):
        with pytest.raises(ModelError, match=rule):
            family(prices, level="unknown", cost=cost)


def test_an_unknown_level_changes_the_best_price():
    # At level 0.5 the best price is 6, where the catalogue with level 1 is sure of another one.
    model = gb.demand.exponential(PRICES, cost=1.5, level=(0.02, 1.0), slope=(0.02, 0.6))
    theta = {"level": 0.5, "slope": 0.21}
    assert [model.arms[arm] for arm in model.best_arms(theta)] == [6.0]


# Logit demand: the level is the log-odds at price 0.


def test_logit_with_two_unknown_numbers():
    model = gb.demand.logit(PRICES, sensitivity=(0.2, 1.0), cost=1.5)
    assert model.parameters == ("level", "sensitivity")
    expected = [1 / (1 + math.exp(0.5 * price - 2.0)) for price in PRICES]
    assert model.means({"level": 2.0, "sensitivity": 0.5}) == pytest.approx(expected)
    # One in 200 buys at the lowest price somewhere in the box, and 95 % at the highest.
    corners = model.means(model.from_unit([[0, 0], [1, 1]]))
    assert corners[0, 0] == pytest.approx(0.005, rel=0.01)
    assert corners[1, -1] == pytest.approx(1 / (1 + math.exp(-3.0)))


def test_logit_level_is_the_old_domain():
    old = gb.demand.logit(PRICES, sensitivity=0.5, domain=(-1.0, 4.0))
    new = gb.demand.logit(PRICES, sensitivity=0.5, level=(-1.0, 4.0))
    assert new.to_dict() == old.to_dict()


# Anchored demand.


def test_anchored_demand_passes_through_today():
    model = gb.demand.anchored(PRICES, today=5.0, rate=0.03, cost=1.5)
    assert not model.monotone
    for theta in (0.0, 1.0, 2.5):
        expected = [0.03 * (price / 5.0) ** -theta for price in PRICES]
        assert model.means(theta) == pytest.approx(expected)
    assert model.remarks == (
        "arm 5 teaches nothing about the elasticity: its mean does not depend on it",
    )
    # The elasticity ends where all customers buy at the lowest price.
    assert model.means(model.domain[1])[0] <= 1.0 + 1e-12


def test_anchored_demand_without_todays_price():
    model = gb.demand.anchored([4.0, 6.0, 7.0], today=5.0, rate=0.03)
    assert model.monotone
    assert model.remarks == ()
    wide = gb.demand.anchored([4.0, 6.0, 7.0], today=5.0, rate=(0.01, 0.1), cost=1.0)
    assert wide.parameters == ("rate", "elasticity")


# Dose response.


def test_blrm_is_logistic_with_two_unknown_numbers():
    model = gb.dose.logistic(DOSES, intercept=(-6, 3), slope=(0.1, 5), reference=5.0, target=0.25)
    assert model.parameters == ("intercept", "slope")
    rates = [1 / (1 + math.exp(1.0 - 0.8 * math.log(dose / 5.0))) for dose in DOSES]
    assert model.means({"intercept": -1.0, "slope": 0.8}) == pytest.approx(rates)
    assert model.worth([-1.0, 0.8]) == pytest.approx([-abs(rate - 0.25) for rate in rates])
    assert model.remarks == (
        "arm 5 teaches nothing about the slope: its mean does not depend on it",
    )


def test_other_dose_families_with_two_numbers():
    line = gb.dose.linear(DOSES, intercept=(0.0, 0.2), penalty=0.01)
    assert line.means([0.1, 0.05]) == pytest.approx([0.1 + 0.05 * dose for dose in DOSES])
    assert line.means(line.from_unit([1.0, 1.0])).max() <= 1.0
    saturating = gb.dose.emax(DOSES, hill=2.0, level=(0.4, 1.0))
    expected = [0.5 * dose**2 / (9.0 + dose**2) for dose in DOSES]
    assert saturating.means({"level": 0.5, "ed50": 3.0}) == pytest.approx(expected)


# Bad input.


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: gb.demand.exponential(PRICES, level=(0.0, 0.5)), "level must lie in (0, 1]"),
        (lambda: gb.demand.exponential(PRICES, level=1.5), "level must lie in (0, 1], got 1.5"),
        (lambda: gb.demand.exponential(PRICES, level=(0.5, 0.5)), "level must have low < high"),
        (lambda: gb.demand.exponential(PRICES, level="x"), "a pair (low, high) or 'unknown'"),
        (lambda: gb.demand.exponential(PRICES, level=None), "level must be a number, got None"),
        (
            lambda: gb.demand.exponential(PRICES, level=0.5, slope=0.3),
            "level and slope must include a number that is unknown, given as a pair (low, high)",
        ),
        (
            lambda: gb.demand.exponential(PRICES, slope=(0, 1), domain=(0, 1)),
            "domain must not be given together with slope, which is the same number",
        ),
        (lambda: gb.demand.exponential(PRICES, domain=0.5), "domain must be a pair (low, high)"),
        (lambda: gb.demand.exponential(PRICES, slope=(-1, 1)), "slope must start at 0 or above"),
        (lambda: gb.demand.linear(PRICES, slope=(0, 1)), "slope must lie in [0, 1 / max(prices)]"),
        (lambda: gb.demand.logit(PRICES, sensitivity=(0, 1)), "sensitivity must be positive"),
        (lambda: gb.demand.anchored(PRICES), "today must be today's price, got None"),
        (lambda: gb.demand.anchored(PRICES, today=5.0), "rate must be the share that buys at"),
        (
            lambda: gb.demand.anchored(PRICES, today=5.0, rate=(0.0, 0.1)),
            "rate must lie strictly between 0 and 1, got 0.0",
        ),
        (
            lambda: gb.demand.anchored(PRICES, today=5.0, rate=0.1, elasticity=(0, 9), cost=1),
            "mean of arm 2.0 must lie in the reward range [0, 1]",
        ),
        (lambda: gb.dose.logistic(DOSES, reference=0.0), "reference must be positive, got 0.0"),
        (lambda: gb.dose.logistic(DOSES, slope=(0, 1), reference=2.0), "slope must be positive"),
        (lambda: gb.dose.emax(DOSES, level=(0, 1)), "level must lie in (0, 1], got (0, 1)"),
        (lambda: gb.dose.linear(DOSES, intercept=1.0), "intercept must lie in [0, 1), got 1.0"),
    ],
)
def test_bad_input_is_named(build, message):
    with pytest.raises(ModelError) as caught:
        build()
    assert message in str(caught.value)
