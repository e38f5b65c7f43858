import math

import numpy as np
import pytest

from globalbandits.errors import ModelError
from globalbandits.model.catalogue import demand
from globalbandits.model.inputs import as_levels

PRICES = [0.05 * step for step in range(8, 20)]

# The formulas once more, number by number.
FORMULAS = {
    "linear": lambda theta, price: 1 - theta * price,
    "linear_power": lambda theta, price: (1 - theta * price) ** 2,
    "exponential": lambda theta, price: math.exp(-theta * price),
    "logit": lambda theta, price: 1 / (1 + math.exp(6 / 0.95 * price - theta)),
    "isoelastic": lambda theta, price: (price / 0.2) ** -theta,
    "log_log": lambda theta, price: (
        ((price / 0.2) ** -theta - 9.5**-theta) / (1 - 9.5**-theta)
        if theta
        else math.log(1.9 / price) / math.log(9.5)
    ),
}


def test_the_catalogue_is_complete():
    assert sorted(demand.__all__) == sorted([*FORMULAS, "anchored"])


@pytest.mark.parametrize("observe", ["revenue", "sales"])
@pytest.mark.parametrize("name", FORMULAS)
def test_means_follow_the_formula(name, observe):
    model = getattr(demand, name)(PRICES, observe=observe)
    for theta in np.linspace(*model.domain, 41):
        factors = PRICES if observe == "revenue" else [1.0] * len(PRICES)
        expected = [
            factor * FORMULAS[name](theta, price)
            for factor, price in zip(factors, PRICES, strict=True)
        ]
        assert model.means(theta) == pytest.approx(expected, rel=1e-11, abs=1e-15)


@pytest.mark.parametrize("observe", ["revenue", "sales"])
@pytest.mark.parametrize("name", FORMULAS)
def test_inverses_undo_the_means(name, observe):
    model = getattr(demand, name)(PRICES, observe=observe)
    low, high = model.domain
    thetas = np.linspace(low, high, 101)
    means = model.means(thetas)
    for arm in range(model.n_arms):
        assert model.invert(arm, means[:, arm]) == pytest.approx(thetas, abs=1e-9 * (high - low))


@pytest.mark.parametrize("name", FORMULAS)
def test_regions_hold_the_best_price(name):
    model = getattr(demand, name)(PRICES)
    for region in model.regions:
        middle = (region.low + region.high) / 2
        assert int(np.argmax(model.means(middle))) == region.arm


@pytest.mark.parametrize("name", FORMULAS)
def test_the_lowest_price_sells_most(name):
    model = getattr(demand, name)(PRICES, observe="sales")
    assert [region.arm for region in model.regions] == [0]
    assert model.reward_range == (0.0, 1.0)


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("prices", [[9.99, 14.99, 19.99, 49.0], [250, 100, 1000], [5.0], [1.0]])
def test_any_currency(name, prices):
    model = getattr(demand, name)(prices)
    assert model.arms == tuple(prices)
    assert model.reward_range == (0.0, float(max(prices)))
    low, high = model.domain
    assert model.means(np.linspace(low, high, 11)).min() >= 0.0


def test_the_papers_instance():
    model = demand.linear_power(PRICES)
    assert model.domain == (0.0, 1.0)
    assert model.reward_range == (0.0, 1.0)
    assert model.best_arms(0.4) == (9,)
    assert model.suboptimality_distance(0.2) == pytest.approx(0.160, abs=1e-3)
    assert model.holder.inverse_constant == pytest.approx(11.080, abs=1e-3)
    assert model.holder.constant == pytest.approx(1.805, abs=1e-4)
    assert model.informativeness == 1.0


def test_linear_power_of_one_is_linear():
    assert demand.linear_power(PRICES, power=1).fingerprint == demand.linear(PRICES).fingerprint


def test_the_power_is_used():
    model = demand.linear_power([0.5], power=3, observe="sales")
    assert model.means(0.4) == pytest.approx([0.8**3])


def test_exponential_demand_is_best_sold_at_the_inverse_of_theta():
    prices = np.linspace(1.0, 4.0, 31)
    model = demand.exponential(prices)
    for theta in (0.3, 0.5, 0.8):
        best = model.arms[model.best_arms(theta)[0]]
        assert best == pytest.approx(1 / theta, abs=0.051)


def test_demand_is_one_half_where_the_logit_is_zero():
    model = demand.logit([2.0, 4.0], sensitivity=0.5, observe="sales")
    assert model.domain == (-4.3, 5.0)
    assert model.means(-4.3)[0] == pytest.approx(0.005, rel=0.01)
    assert model.means(1.0)[0] == pytest.approx(0.5)
    assert model.means(2.0)[1] == pytest.approx(0.5)


def test_isoelastic_demand_has_the_elasticity_theta():
    model = demand.isoelastic([1.0, 1.01], reference=0.5, observe="sales")
    at, above = model.means(1.7)
    assert above / at == pytest.approx(1.01**-1.7)


def test_all_prices_earn_the_same_at_elasticity_one():
    model = demand.isoelastic([1.0, 2.0, 3.0], reference=0.25)
    assert model.means(1.0) == pytest.approx([0.25, 0.25, 0.25])
    assert model.best_arms(1.0) == (0, 1, 2)


def test_the_cutoff_is_where_demand_ends():
    model = demand.log_log([1.0, 4.0 - 1e-9], reference=0.5, cutoff=4.0, observe="sales")
    assert model.means(0.7)[1] == pytest.approx(0.0, abs=1e-9)
    far = demand.log_log([1.0, 2.0], reference=0.5, cutoff=1e12, observe="sales")
    assert far.means(1.5) == pytest.approx([2**-1.5, 4**-1.5], rel=1e-9)


def test_log_log_is_smooth_where_the_exponent_vanishes():
    model = demand.log_log([1.0, 2.0])
    assert model.means(1e-12) == pytest.approx(model.means(0.0), rel=1e-11)


@pytest.mark.parametrize("name", FORMULAS)
def test_wrong_prices_are_refused(name):
    build = getattr(demand, name)
    for prices, message in [
        ([], "prices must have at least one value, got []"),
        (3.0, "prices must be a sequence of numbers, got 3.0"),
        ([1.0, 0.0], "prices[1] must be positive, got 0.0"),
        ([-1.0], "prices[0] must be positive, got -1.0"),
        ([1.0, math.nan], "prices[1] must be finite, got nan"),
        ([1.0, math.inf], "prices[1] must be finite, got inf"),
        (["a"], "prices[0] must be a number, got 'a'"),
        ([1.0, 2.0, 1.0], "prices[2] must differ from prices[0], got 1.0"),
    ]:
        with pytest.raises(ModelError) as error:
            build(prices)
        assert str(error.value) == message


@pytest.mark.parametrize("name", FORMULAS)
def test_wrong_options_are_refused(name):
    build = getattr(demand, name)
    with pytest.raises(ModelError) as error:
        build([0.5, 1.0], observe="profit")
    assert str(error.value) == "observe must be 'revenue' or 'sales', got 'profit'"
    with pytest.raises(ModelError) as error:
        build([0.5, 1.0], domain=(1.0, 0.0))
    assert str(error.value) == "domain must have low < high, got (1.0, 0.0)"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: demand.linear([1.0, 2.0], domain=(0.0, 0.6)),
            "domain must lie in [0, 1 / max(prices)] = [0, 0.5], where demand ends, got (0.0, 0.6)",
        ),
        (
            lambda: demand.linear_power([1.0, 2.0], domain=(-0.1, 0.4)),
            "domain must lie in [0, 1 / max(prices)] = [0, 0.5], where demand ends, "
            "got (-0.1, 0.4)",
        ),
        (lambda: demand.linear_power([1.0], power=0.0), "power must be positive, got 0.0"),
        (
            lambda: demand.exponential([1.0], domain=(-1.0, 1.0)),
            "domain must start at 0 or above, got (-1.0, 1.0)",
        ),
        (
            lambda: demand.isoelastic([1.0], domain=(-1.0, 1.0)),
            "domain must start at 0 or above, got (-1.0, 1.0)",
        ),
        (
            lambda: demand.log_log([1.0], domain=(-1.0, 1.0)),
            "domain must start at 0 or above, got (-1.0, 1.0)",
        ),
        (lambda: demand.logit([1.0], sensitivity=-1.0), "sensitivity must be positive, got -1.0"),
        (
            lambda: demand.isoelastic([1.0, 2.0], reference=1.0),
            "reference must be below all prices, the lowest of which is 1, got 1.0",
        ),
        (
            lambda: demand.log_log([1.0, 2.0], reference=0.0),
            "reference must be positive, got 0.0",
        ),
        (
            lambda: demand.log_log([1.0, 2.0], cutoff=2.0),
            "cutoff must be above all prices, the highest of which is 2, got 2.0",
        ),
        (
            lambda: demand.log_log([1.0, 2.0], cutoff=math.inf),
            "cutoff must be finite, got inf",
        ),
    ],
)
def test_wrong_parameters_are_refused(call, message):
    with pytest.raises(ModelError) as error:
        call()
    assert str(error.value) == message


def test_levels_keep_their_order():
    assert as_levels("prices", np.array([3, 1, 2])) == (3.0, 1.0, 2.0)


@pytest.mark.parametrize("cost", [0.0, 0.7])
@pytest.mark.parametrize("name", FORMULAS)
def test_with_a_cost_sales_are_observed_and_profit_counts(name, cost):
    model = getattr(demand, name)(PRICES, cost=cost)
    sales = getattr(demand, name)(PRICES, observe="sales")
    assert model.reward_range == (0.0, 1.0)
    assert np.array_equal(model.tables.inverse.coefficients, sales.tables.inverse.coefficients)
    for theta in np.linspace(*model.domain, 11):
        sold = model.means(theta)
        assert np.array_equal(sold, sales.means(theta))
        assert model.worth(theta) == pytest.approx((np.array(PRICES) - cost) * sold, abs=1e-15)


def test_without_a_cost_profit_is_revenue():
    revenue = demand.exponential([1.0, 2.0, 4.0])
    profit = demand.exponential([1.0, 2.0, 4.0], cost=0.0)
    assert profit.worth(0.3) == pytest.approx(revenue.means(0.3), abs=1e-15)
    assert [r.arm for r in profit.regions] == [r.arm for r in revenue.regions]
    assert [r.high for r in profit.regions] == pytest.approx([r.high for r in revenue.regions])
