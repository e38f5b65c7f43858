import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import globalbandits as gb
from tests.model.families import PRICES, THREE_ARMS, pricing
from tests.model.valued import EXPONENTS, VALUED, power
from tests.soak import length


def shortfall(model, n):
    """How much the regions' arms miss the best worth, over n points of the domain."""
    grid = np.linspace(*model.domain, n)
    worst = 0.0
    edges = np.array([region.high for region in model.regions[:-1]])
    arms = np.array([region.arm for region in model.regions])
    for part in np.array_split(grid, 10):
        worth = model.worth(part)
        chosen = arms[np.searchsorted(edges, part, side="right")]
        worst = max(worst, float((worth.max(axis=1) - worth[np.arange(part.size), chosen]).max()))
    return worst / (model.worth_range[1] - model.worth_range[0])


@pytest.mark.parametrize("name", VALUED)
def test_regions_agree_with_a_million_points(name):
    model = VALUED[name]()
    assert shortfall(model, 1_000_001) <= 1e-12
    assert model.regions[0].low == model.domain[0]
    assert model.regions[-1].high == model.domain[1]
    for one, other in itertools.pairwise(model.regions):
        assert one.high == other.low
        assert one.arms != other.arms
    # Every region is needed: in its middle its arm is the best.
    for region in model.regions:
        middle = 0.5 * (region.low + region.high)
        assert model.gaps(middle)[list(region.arms)].max() <= 1e-12
        assert model.best_arms(middle) == region.arms


@pytest.mark.parametrize("name", VALUED)
def test_worth_is_the_value_of_the_mean(name):
    model = VALUED[name]()
    thetas = np.linspace(*model.domain, 7)
    means, worth = model.means(thetas), model.worth(thetas)
    assert worth.shape == means.shape
    for arm in range(model.n_arms):
        assert model.worth_of(arm, means[:, arm]) == pytest.approx(worth[:, arm], abs=1e-12)
    assert model.valued
    low, high = model.worth_range
    length = high - low
    assert ((worth >= low - 1e-9 * length) & (worth <= high + 1e-9 * length)).all()
    gaps = model.gaps(thetas)
    assert np.array_equal(gaps, worth.max(axis=1, keepdims=True) - worth)


@pytest.mark.parametrize("name", VALUED)
def test_the_worth_range_is_that_of_all_means(name):
    model = VALUED[name]()
    means = np.linspace(*model.reward_range, 200_001)
    every = np.stack([model.worth_of(arm, means) for arm in range(model.n_arms)])
    low, high = model.worth_range
    assert low <= every.min()
    assert high >= every.max()
    assert low == pytest.approx(every.min(), abs=1e-4 * (high - low))
    assert high == pytest.approx(every.max(), abs=1e-4 * (high - low))


def test_what_is_observed_does_not_change_with_the_value():
    plain, valued = (
        gb.RewardModel(pricing, PRICES, value=value)
        for value in (None, lambda m, p: -np.abs(m - 0.2 * p))
    )
    for arm in (0, 5, 11):
        assert valued.invert(arm, 0.11) == plain.invert(arm, 0.11)
    assert valued.informativeness == plain.informativeness
    assert np.array_equal(valued.holder.lower_constant, plain.holder.lower_constant)
    assert np.array_equal(valued.means(0.3), plain.means(0.3))
    assert np.array_equal(valued.tables.inverse.coefficients, plain.tables.inverse.coefficients)
    assert not plain.valued
    assert plain.worth_range == plain.reward_range
    assert plain.tables.worth is plain.tables.mean
    assert np.array_equal(plain.worth(0.3), plain.means(0.3))
    assert plain.worth_of(2, 0.25) == 0.25


def test_target_edges_are_where_two_doses_are_equally_far():
    # theta * dose is as far below the target at one dose as above it at the next.
    doses, target = np.array([1.0, 2.0, 3.0, 4.0]), 0.25
    model = gb.dose.linear(doses, target=target)
    found = [region.high for region in model.regions[:-1]]
    expected = 2.0 * target / (doses[1:] + doses[:-1])
    assert found == pytest.approx(sorted(expected), abs=1e-12)
    assert [model.arms[region.arm] for region in model.regions] == [4.0, 3.0, 2.0, 1.0]
    assert model.worth_range == (-0.75, 0.0)
    assert model.worth(0.25 / 3.0)[2] == pytest.approx(0.0, abs=1e-15)
    assert model.suboptimality_gap(0.1) == pytest.approx(0.1)
    # At 0.1 the means of doses 2 and 3 are 0.05 from the target: both are best, at the edge of
    # their regions.
    assert model.best_arms(0.1) == (1, 2)
    assert model.suboptimality_distance(0.1) == pytest.approx(0.1 - 0.5 / 7.0, abs=1e-12)


def test_profit_edges_have_a_closed_form():
    # (p - c) exp(-p t) = (q - c) exp(-q t): t = log((q - c) / (p - c)) / (q - p).
    prices, cost = np.array([2.0, 3.0, 5.0, 8.0]), 1.0
    model = gb.demand.exponential(prices, cost=cost)
    expected = np.log((prices[1:] - cost) / (prices[:-1] - cost)) / np.diff(prices)
    inside = np.sort(expected[expected < model.domain[1]])
    assert [region.high for region in model.regions[:-1]] == pytest.approx(inside, abs=1e-12)
    assert model.worth_range == (0.0, 7.0)
    assert model.worth_lipschitz == 7.0
    assert model.tables.affine_increasing


@pytest.mark.parametrize("height", [1e-3, 1e-6, 1e-10])
def test_a_kink_that_barely_tops_another_arm_is_a_region(height):
    # The second arm's value peaks at mean 0.37, height above the flat first arm.
    model = gb.RewardModel.from_functions(
        [lambda t: 0.1 + 0.8 * t, lambda t: t],
        values=[lambda m: 0.5 + 0.0 * m, lambda m: 0.5 + height - np.abs(m - 0.37)],
    )
    assert [region.arm for region in model.regions] == [0, 1, 0]
    assert model.regions[1].low == pytest.approx(0.37 - height, abs=1e-12)
    assert model.regions[1].high == pytest.approx(0.37 + height, abs=1e-12)


def test_a_kink_that_dips_below_another_arm_is_a_region():
    model = gb.RewardModel.from_functions(
        [lambda t: 0.1 + 0.8 * t, lambda t: t],
        values=[lambda m: 0.5 + 0.0 * m, lambda m: 0.5 - 1e-6 + np.abs(m - 0.61)],
    )
    assert [region.arm for region in model.regions] == [1, 0, 1]
    assert model.regions[1].low == pytest.approx(0.61 - 1e-6, abs=1e-12)


def test_arms_of_equal_worth_share_regions():
    # Both arms are worth -|theta - 0.4|, computed from different means.
    model = gb.RewardModel(
        lambda t, a: t * a, [0.5, 0.8], value=lambda m, a: 0.0 - np.abs(m / a - 0.4)
    )
    assert [region.arms for region in model.regions] == [(0, 1)]
    assert model.suboptimality_gap(0.4) == np.inf
    # Equal below 0.4 only.
    model = gb.RewardModel(
        lambda t, a: t * a, [0.5, 0.8], value=lambda m, a: np.minimum(m / a, 0.4 + 0.2 * (a > 0.6))
    )
    assert [region.arms for region in model.regions] == [(0, 1), (1,)]
    assert model.regions[0].high == pytest.approx(0.4, abs=1e-12)


def test_a_constant_value_makes_every_arm_best():
    model = gb.RewardModel(power, EXPONENTS, value=lambda m, a: 3.0)
    assert model.worth_range == (3.0, 3.0)
    assert model.regions == ((0, 0.0, 1.0, (0, 1, 2, 3)),)
    assert model.worth(0.2).tolist() == [3.0] * 4
    assert model.remarks == (
        "value is 3 for every arm and every mean: all arms are best everywhere",
    )
    assert not model.tables.affine_increasing


def test_suspicious_values_get_a_remark():
    assert gb.demand.exponential([2.0, 3.0], cost=4.0).remarks[:2] == (
        "cost 4 is above every price: each sale loses money",
        "value falls with the mean for every arm: the less is observed, the better",
    )
    assert gb.demand.exponential([1.5, 2.0, 3.0], cost=0.5, domain=(0.0, 2.0)).remarks == ()
    # The prices of a shop with a high cost: the default domain ends before any other is best.
    shop = gb.demand.exponential([20.0, 22.0, 24.0, 26.0, 28.0, 30.0], cost=12.0)
    assert shop.remarks[0] == (
        "arm 30.0 is best for every theta in [0, 0.05]: rewards cannot change the decision; "
        "offer other arms, or widen the domain"
    )
    assert gb.RewardModel.from_functions(THREE_ARMS).remarks == ()


@pytest.mark.parametrize(
    ("value", "constant"),
    [
        (lambda m, a: (a - 1.2) * m, 1.8),
        (lambda m, a: -np.abs(m - 0.25), 1.0),
        (lambda m, a: np.sin(9.0 * m), 9.0),
        (lambda m, a: m**1.5, 1.5),
        (lambda m, a: np.exp(-(((m - 0.3) / 1e-3) ** 2)), 1e3 * np.sqrt(2.0 / np.e)),
        (lambda m, a: np.sqrt(m), np.inf),
        (lambda m, a: np.sqrt(1.0 - m), np.inf),
        (lambda m, a: np.cbrt(m - 0.5), np.inf),
        (lambda m, a: 7.0, 0.0),
    ],
)
def test_the_lipschitz_constant_of_a_value(value, constant):
    model = gb.RewardModel(power, EXPONENTS, value=value)
    assert model.worth_lipschitz == pytest.approx(constant, rel=1e-5)
    assert model.worth_lipschitz >= constant * (1.0 - 1e-12)


def test_a_lipschitz_constant_is_in_units_of_worth_per_reward():
    model = gb.RewardModel(
        lambda t, a: 50.0 * t * a, [1.0, 2.0], reward_range=(0.0, 100.0), value=lambda m, a: a * m
    )
    assert model.worth_lipschitz == 2.0
    assert gb.RewardModel(pricing, PRICES).worth_lipschitz == 1.0


shapes = st.tuples(
    st.sampled_from(["target", "cap", "wave", "line", "parabola"]),
    st.floats(0.05, 0.95),
    st.floats(-1.0, 1.0),
    st.floats(0.2, 3.0),
)


def make_value(shape):
    kind, place, slope, size = shape
    return {
        "target": lambda m: -size * np.abs(m - place) + slope,
        "cap": lambda m: size * np.minimum(m, place) + slope * m,
        "wave": lambda m: np.cos(4.0 * size * (m - place)) + slope,
        "line": lambda m: slope * m + place * size,
        "parabola": lambda m: slope - size * (m - place) ** 2,
    }[kind]


@settings(max_examples=length(15, 60), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(shapes, st.floats(0.3, 3.0), st.booleans()), min_size=1, max_size=6))
def test_any_values_agree_with_brute_force(arms):
    model = gb.RewardModel.from_functions(
        [(lambda t, g=g, falls=falls: (1.0 - t) ** g if falls else t**g) for _, g, falls in arms],
        values=[make_value(shape) for shape, _, _ in arms],
    )
    if model.worth_range[0] < model.worth_range[1]:
        assert shortfall(model, 20_001) <= 1e-12
    for region in model.regions:
        middle = 0.5 * (region.low + region.high)
        assert model.gaps(middle)[region.arm] <= 1e-12


def test_groups_of_valued_models_are_compared_by_worth():
    city = gb.demand.exponential([2.0, 3.0], cost=1.0)
    land = gb.demand.exponential([2.0, 4.0, 6.0], cost=1.5)
    model = gb.RegionalModel([city, land])
    thetas = [0.2, 0.1]
    worth = np.concatenate([city.worth(0.2), land.worth(0.1)])
    assert np.array_equal(model.worth(thetas), worth)
    assert model.best_arms(thetas) == (int(worth.argmax()),)
    assert model.valued
    assert model.worth_range == (0.0, 4.5)
    tables = model.joint_tables
    from globalbandits.model.tables import evaluate, largest_value, value_of

    for arm, theta in enumerate([0.2, 0.2, 0.1, 0.1, 0.1]):
        mean = float(model.means(thetas)[arm])
        assert evaluate(tables.worth, arm, theta) == pytest.approx(worth[arm] / 4.5, abs=1e-12)
        assert value_of(tables, arm, mean) == pytest.approx(worth[arm] / 4.5, abs=1e-12)
        line = tables.value_slope[arm] * mean + tables.value_offset[arm]
        assert line == pytest.approx(worth[arm] / 4.5, abs=1e-12)
        assert largest_value(tables, arm, 0.0, mean) == pytest.approx(worth[arm] / 4.5, abs=1e-12)
    assert tables.affine_increasing
    plain = gb.RegionalModel([gb.RewardModel(pricing, PRICES)] * 2)
    assert not plain.valued
    assert plain.joint_tables.worth is plain.joint_tables.mean
