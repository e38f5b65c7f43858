import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import globalbandits as gb
from globalbandits.errors import ModelError
from globalbandits.model.analysis.holder import (
    LEVELS,
    Holder,
    estimate_holder,
    limit_at_zero,
    snap,
    verify_holder,
)
from tests.model.families import PRICES, SINGLE, pricing


def logistic(theta):
    return 1.0 / (1.0 + np.exp(-theta))


def logistic_slope(theta):
    return logistic(theta) * (1.0 - logistic(theta))


def kinked(theta):
    return np.interp(theta, [0.0, 0.3, 0.30001, 0.7, 1.0], [0.0, 0.1, 0.2, 0.25, 1.0])


def cusp(theta):
    return 0.5 + np.sign(theta - 0.3) * np.sqrt(np.abs(theta - 0.3)) / 2.0


def one_sided_cusp(theta):
    return 0.2 + np.where(theta > 0.3, np.sqrt(np.maximum(theta - 0.3, 0.0)), 0.1 * (theta - 0.3))


def one_sided_flat(theta):
    return 0.3 + np.where(theta < 0.4, -((theta - 0.4) ** 2), np.abs(theta - 0.4) ** 3)


def case(mean, domain, *expected):
    """A mean with its D1, g1, D2, g2; None where there is no closed form."""
    return SimpleNamespace(mean=mean, domain=domain, expected=expected)


UNIT = (0.0, 1.0)
PI = math.pi
CASES = {
    "linear": case(lambda t: 0.2 + 0.5 * t, UNIT, 0.5, 1, 0.5, 1),
    "linear on [2, 10]": case(lambda t: 0.05 * t, (2.0, 10.0), 0.05, 1, 0.05, 1),
    **{
        f"price {p}": case(lambda t, p=p: pricing(t, p), UNIT, 2 * p**2 * (1 - p), 1, 2 * p**2, 1)
        for p in (0.4, 0.95, 0.999, 0.999999)
    },
    "price 1": case(lambda t: pricing(t, 1.0), UNIT, 1, 2, 2, 1),
    **{
        f"theta**{g}": case(lambda t, g=g: t**g, UNIT, 1, g, g, 1) for g in (1.1, 1.5, 2, 2.5, 3, 7)
    },
    **{f"1-theta**{g}": case(lambda t, g=g: 1 - t**g, UNIT, 1, g, g, 1) for g in (2, 3, 7)},
    **{f"(1-theta)**{g}": case(lambda t, g=g: (1 - t) ** g, UNIT, 1, g, g, 1) for g in (2, 7)},
    **{
        f"theta**(1/{g})": case(lambda t, g=g: t ** (1 / g), UNIT, 1 / g, 1, 1, 1 / g)
        for g in (2, 3, 7)
    },
    **{
        f"1-theta**(1/{g})": case(lambda t, g=g: 1 - t ** (1 / g), UNIT, 1 / g, 1, 1, 1 / g)
        for g in (2, 7)
    },
    "sqrt on [4, 9]": case(np.sqrt, (4.0, 9.0), 1 / 6, 1, 1 / 4, 1),
    "square on [-1, 1]": case(lambda t: (t + 1) ** 2, (-1.0, 1.0), 1, 2, 4, 1),
    "square far from 0": case(lambda t: (t - 1000) ** 2, (1000.0, 1001.0), 1, 2, 2, 1),
    "large values": case(lambda t: 1e6 * t**2, UNIT, 1e6, 2, 2e6, 1),
    "small change": case(lambda t: 0.5 + 1e-9 * t**2, UNIT, 1e-9, 2, 2e-9, 1),
    "exponential": case(lambda t: 0.1 * np.exp(2 * t), UNIT, 0.2, 1, 0.2 * math.exp(2), 1),
    "falling exponential on [-3, 5]": case(
        lambda t: 0.1 * np.exp(-t / 2),
        (-3.0, 5.0),
        0.05 * math.exp(-2.5),
        1,
        0.05 * math.exp(1.5),
        1,
    ),
    "logistic on [-3, 5]": case(logistic, (-3.0, 5.0), logistic_slope(5.0), 1, 0.25, 1),
    "logistic on [2, 10]": case(
        logistic, (2.0, 10.0), logistic_slope(10.0), 1, logistic_slope(2.0), 1
    ),
    "logistic with a thin tail": case(logistic, (-20.0, 3.0), logistic_slope(-20.0), 1, 0.25, 1),
    "piecewise linear": case(kinked, UNIT, 0.05 / 0.39999, 1, 1e4, 1),
    "inflection": case(lambda t: 0.5 + 4 * (t - 0.5) ** 3, UNIT, 1, 3, 3, 1),
    "inflection off the middle": case(lambda t: 0.5 + (t - 0.3) ** 3, UNIT, 0.25, 3, 1.47, 1),
    "inflection of order 7": case(lambda t: 0.5 + 64 * (t - 0.5) ** 7, UNIT, 1, 7, 7, 1),
    "inflection on [2, 10]": case(
        lambda t: 0.5 + (t - PI) ** 3 / 1000, (2.0, 10.0), 0.25e-3, 3, 3e-3 * (10 - PI) ** 2, 1
    ),
    "four inflections": case(
        lambda t: 0.5 * t - np.sin(8 * PI * t + 0.3) / (16 * PI), UNIT, None, 3, 1, 1
    ),
    "flat on one side": case(one_sided_flat, UNIT, None, 3, 1.08, 1),
    "flat at both ends": case(lambda t: 3 * t**2 - 2 * t**3, UNIT, 1, 2, 1.5, 1),
    "cusp": case(cusp, UNIT, 0.25 / math.sqrt(0.7), 1, 1 / math.sqrt(2), 0.5),
    "cusp on one side": case(one_sided_cusp, UNIT, 0.1, 1, 1, 0.5),
    "arcsine": case(lambda t: np.arcsin(t) / 2, (-1.0, 1.0), 0.5, 1, None, 0.5),
    "flat, with a higher term": case(lambda t: t**7 * (1 + t), UNIT, 1, 7, 15, 1),
    "slope with a half power": case(lambda t: 0.01 * t + t**1.5, UNIT, 0.01, 1, 1.51, 1),
    "steep, with a slope": case(lambda t: np.sqrt(t) + t, UNIT, 1.5, 1, 2, 0.5),
    "cancelling digits": case(
        lambda t: 1 - np.exp(-t * t), UNIT, 1 - math.exp(-1), 2, math.sqrt(2 / math.e), 1
    ),
}


def single(mean):
    return lambda arms, thetas: mean(thetas)


def dense_pairs(domain, seed=0):
    """Pairs at all distances: a grid's, random ones, tiny ones, and ones close to the ends."""
    low, high = domain
    rng = np.random.default_rng(seed)
    n = 30_000
    place = low + (high - low) * rng.random(n)
    place = np.where(rng.random(n) < 0.3, low, np.where(rng.random(n) < 0.4, high, place))
    first = place + rng.choice([-1, 0, 1], n) * (high - low) * 10.0 ** rng.uniform(-9, 0, n)
    first = np.clip(first, low, high)
    second = first + rng.choice([-1, 1], n) * (high - low) * 10.0 ** rng.uniform(-9, 0, n)
    grid = np.linspace(low, high, 201)
    first = np.concatenate([first, np.repeat(grid, grid.size)])
    second = np.concatenate([np.clip(second, low, high), np.tile(grid, grid.size)])
    apart = first != second
    return first[apart], second[apart]


def worst_violation(holder, mean, domain):
    """By how much, relatively, the two inequalities fail on dense pairs; rounding is granted."""
    first, second = dense_pairs(domain)
    change, distance = np.abs(mean(first) - mean(second)), np.abs(first - second)
    rounding = 4e-16 * np.abs(mean(np.linspace(*domain, 101))).max()
    lower = holder.lower_constant[0] * distance ** holder.lower_exponent[0]
    upper = holder.upper_constant[0] * distance ** holder.upper_exponent[0]
    too_low = (lower - change - rounding) / np.maximum(lower, 1e-300)
    too_high = (change - upper - rounding) / upper
    return max(too_low.max(), too_high.max())


@pytest.mark.parametrize("name", CASES)
def test_constants_are_tight_and_never_on_the_wrong_side(name):
    mean, domain = CASES[name].mean, CASES[name].domain
    holder = estimate_holder(single(mean), 1, domain)
    found = (
        holder.lower_constant[0],
        holder.lower_exponent[0],
        holder.upper_constant[0],
        holder.upper_exponent[0],
    )
    d1, g1, d2, g2 = CASES[name].expected
    assert found[1] == pytest.approx(g1, abs=1e-12)
    assert found[3] == pytest.approx(g2, abs=1e-12)
    if d1 is not None:
        assert 0.99 * d1 <= found[0] <= d1 * (1 + 1e-6)
    if d2 is not None:
        assert d2 * (1 - 1e-6) <= found[2] <= 1.01 * d2


@pytest.mark.parametrize("name", [*CASES, *SINGLE])
def test_inequalities_hold_on_dense_pairs(name):
    mean = CASES[name].mean if name in CASES else SINGLE[name]
    domain = CASES[name].domain if name in CASES else UNIT
    holder = estimate_holder(single(mean), 1, domain)
    assert worst_violation(holder, mean, domain) <= 1e-6


# Curves without a simple exponent, or flatter than any power: still valid.
HARD = {
    "logarithm": case(lambda t: -t * np.log(np.maximum(t, 1e-300)), (0.0, 0.3)),
    "flatter than powers": case(lambda t: np.exp(-1 / np.maximum(t, 1e-3)), (0.01, 1.0)),
    "two odd powers": case(lambda t: t**2.31 + 0.4 * t**2.07, UNIT),
}


@pytest.mark.parametrize("name", HARD)
def test_hard_curves_get_valid_constants(name):
    mean, domain = HARD[name].mean, HARD[name].domain
    holder = estimate_holder(single(mean), 1, domain)
    assert worst_violation(holder, mean, domain) <= 1e-6


def test_the_check_itself_sees_wrong_constants():
    tight = estimate_holder(single(lambda t: t**2), 1, UNIT)
    for wrong in (
        Holder(1.001 * tight.lower_constant, 2.0, 2.0, 1.0),
        Holder(1.0, 1.9, 2.0, 1.0),
        Holder(1.0, 2.0, 0.999 * tight.upper_constant, 1.0),
    ):
        assert worst_violation(wrong, lambda t: t**2, UNIT) > 1e-4


steps = st.lists(st.floats(0.01, 1.0), min_size=2, max_size=9)


@given(
    widths=steps,
    heights=steps,
    falling=st.booleans(),
    low=st.floats(-100.0, 100.0),
    length=st.floats(0.01, 100.0),
)
@example(widths=[1.0, 1.0], heights=[1.0, 0.125], falling=False, low=0.0, length=1.0)
def test_piecewise_linear_curves_have_their_extreme_slopes(widths, heights, falling, low, length):
    n = min(len(widths), len(heights))
    knots = low + length * np.concatenate([[0.0], np.cumsum(widths[:n]) / sum(widths[:n])])
    levels = np.concatenate([[0.0], np.cumsum(heights[:n])]) * (-1 if falling else 1)
    domain = float(knots[0]), float(knots[-1])
    slopes = np.abs(np.diff(levels) / np.diff(knots))
    holder = estimate_holder(single(lambda t: np.interp(t, knots, levels)), 1, domain)
    assert holder.lower_exponent[0] == holder.upper_exponent[0] == 1.0
    # Slopes between points of a grid that a knot lies between are a little off.
    assert holder.lower_constant[0] == pytest.approx(slopes.min(), rel=1e-3)
    assert holder.upper_constant[0] == pytest.approx(slopes.max(), rel=1e-3)


@given(
    exponent=st.floats(1.1, 6.0),
    weight=st.floats(0.0, 1.0),
    slope=st.floats(0.01, 1.0),
    falling=st.booleans(),
)
def test_a_slope_always_gives_exponent_one(exponent, weight, slope, falling):
    def mean(theta):
        return (-1 if falling else 1) * (slope * theta + weight * theta**exponent)

    holder = estimate_holder(single(mean), 1, UNIT)
    assert holder.lower_exponent[0] == 1.0
    assert slope * 0.99 <= holder.lower_constant[0] <= slope * (1 + 1e-6)
    steepest = slope + weight * exponent
    assert steepest * (1 - 1e-6) <= holder.upper_constant[0] <= steepest * 1.01


def test_the_papers_pricing_instance():
    holder = gb.RewardModel(pricing, PRICES).holder
    assert holder.lower_constant == pytest.approx(2 * PRICES**2 * (1 - PRICES), rel=1e-5)
    assert holder.upper_constant == pytest.approx(2 * PRICES**2, rel=1e-6)
    assert holder.inverse_constant == pytest.approx(11.080, abs=1e-3)
    assert holder.constant == pytest.approx(1.805, abs=1e-6)
    assert (holder.inverse_exponent, holder.exponent, holder.informativeness) == (1.0, 1.0, 1.0)


def test_the_papers_three_arms():
    functions = [lambda t: 1 - np.sqrt(t), lambda t: 0.8 * t, lambda t: t**2]
    model = gb.RewardModel.from_functions(functions)
    assert model.holder.lower_exponent.tolist() == [1.0, 1.0, 2.0]
    assert model.holder.upper_exponent.tolist() == [0.5, 1.0, 1.0]
    assert model.informativeness == 0.25
    assert model.holder.inverse_constant == pytest.approx(2.0, rel=1e-6)


def test_ten_thousand_arms_at_a_bounded_number_of_evaluations():
    prices = np.linspace(0.1, 0.99, 10_000)
    counts = np.zeros(10_000, dtype=int)
    largest = 0

    def evaluate(arms, thetas):
        nonlocal largest
        assert arms.shape == thetas.shape
        assert thetas.min() >= 0.0
        assert thetas.max() <= 1.0
        largest = max(largest, thetas.size)
        np.add.at(counts, arms.ravel(), 1)
        return pricing(thetas, prices[arms])

    holder = estimate_holder(evaluate, 10_000, UNIT)
    exact = 2 * prices**2 * (1 - prices)
    assert (holder.lower_constant <= exact).all()
    assert holder.lower_constant == pytest.approx(exact, rel=1e-4)
    assert holder.upper_constant == pytest.approx(2 * prices**2, rel=1e-5)
    assert counts.max() <= 600  # which keeps the time to about a second
    assert largest <= 200_000  # and the memory to a few megabytes


def test_many_arms_of_different_kinds_keep_their_order():
    exponents = np.tile([1.0, 2.0, 0.5, 3.0], 700)

    def evaluate(arms, thetas):
        return thetas ** exponents[arms]

    holder = estimate_holder(evaluate, exponents.size, UNIT)
    assert np.array_equal(holder.lower_exponent, np.maximum(exponents, 1.0))
    assert np.array_equal(holder.upper_exponent, np.minimum(exponents, 1.0))
    assert holder.lower_constant == pytest.approx(np.minimum(exponents, 1.0), rel=1e-5)
    assert holder.upper_constant == pytest.approx(np.maximum(exponents, 1.0), rel=1e-5)


def test_aggregates():
    holder = Holder([0.5, 4.0], [1.0, 2.0], [1.0, 3.0], [0.5, 1.0])
    assert holder.n_arms == 2
    assert holder.inverse_constant == 2.0
    assert holder.inverse_exponent == 0.5
    assert holder.constant == 3.0
    assert holder.exponent == 0.5
    assert holder.informativeness == 0.25


def test_scaling_touches_the_constants_only():
    holder = Holder([0.5, 4.0], [1.0, 2.0], 1.0, 0.5)
    scaled = holder.scaled(0.25)
    assert scaled.lower_constant.tolist() == [0.125, 1.0]
    assert scaled.upper_constant.tolist() == [0.25, 0.25]
    assert scaled.lower_exponent.tolist() == [1.0, 2.0]
    assert scaled.upper_exponent.tolist() == [0.5, 0.5]


def test_constants_of_a_model_on_the_unit_scale():
    model = gb.RewardModel.from_functions([lambda t: 40.0 * t], reward_range=(0.0, 50.0))
    assert model.holder.constant == pytest.approx(40.0)
    assert model.unit_holder.constant == pytest.approx(0.8)


def test_arrays_cannot_be_changed():
    holder = Holder([0.5], [1.0], [1.0], [1.0])
    with pytest.raises(ValueError, match="read-only"):
        holder.lower_constant[0] = 2.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 1.0, 1.0, 1.0), "lower_constant[0] must be positive, got 0.0"),
        (([1.0, math.nan], 1.0, 1.0, 1.0), "lower_constant[1] must be positive, got nan"),
        ((1.0, 0.9, 1.0, 1.0), "lower_exponent[0] must be at least 1, got 0.9"),
        ((1.0, 1.0, -1.0, 1.0), "upper_constant[0] must be positive, got -1.0"),
        ((1.0, 1.0, 1.0, [1.0, 1.1]), "upper_exponent[1] must lie in (0, 1], got 1.1"),
        ((1.0, 1.0, 1.0, 0.0), "upper_exponent[0] must lie in (0, 1], got 0.0"),
        (
            ("one", 1.0, 1.0, 1.0),
            "lower_constant must be a number or one number per arm, got 'one'",
        ),
        (([], 1.0, 1.0, 1.0), "lower_constant must be a number or one number per arm, got []"),
        (
            ([1.0, 1.0], [1.0, 1.0, 1.0], 1.0, 1.0),
            "holder constants and exponents must have one entry per arm, the same number in each, "
            "got [2, 3]",
        ),
    ],
)
def test_wrong_constants_are_refused(arguments, message):
    with pytest.raises(ModelError) as error:
        Holder(*arguments)
    assert str(error.value) == message


def test_a_factor_must_be_positive():
    with pytest.raises(ModelError) as error:
        Holder(1.0, 1.0, 1.0, 1.0).scaled(0.0)
    assert str(error.value) == "factor must be positive, got 0.0"


EXACT = {name: CASES[name] for name in CASES if None not in CASES[name].expected}


@pytest.mark.parametrize("name", EXACT)
def test_exact_constants_are_verified(name):
    holder = Holder(*EXACT[name].expected)
    verify_holder(holder, single(EXACT[name].mean), 1, EXACT[name].domain)


def test_estimated_constants_are_verified():
    prices = np.linspace(0.05, 1.0, 2500)

    def evaluate(arms, thetas):
        return pricing(thetas, prices[arms])

    verify_holder(estimate_holder(evaluate, 2500, UNIT), evaluate, 2500, UNIT)


def two_curves(arms, thetas):
    return np.where(arms == 0, 0.5 * thetas, thetas**2)


@pytest.mark.parametrize(
    ("holder", "start", "end"),
    [
        (
            Holder([0.6, 1.0], [1.0, 2.0], [0.5, 2.0], 1.0),
            "lower_constant[0] must be at most 0.5, as the means of this arm at theta = ",
            " show, got 0.6",
        ),
        (
            Holder([0.5, 1.0], 1.0, [0.5, 2.0], 1.0),
            "lower_constant[1] must be at most ",
            ", as the means of this arm at theta = 0 and 2.384185791e-07 show, got 1.0",
        ),
        (
            Holder([0.5, 1.1], [1.0, 2.0], [0.5, 2.0], 1.0),
            "lower_constant[1] must be at most 1 with exponent 2, as the means of this arm at ",
            " show, got 1.1",
        ),
        (
            Holder([0.5, 1.0], [1.0, 2.0], [0.5, 1.9], 1.0),
            "upper_constant[1] must be at least 2, as the means of this arm at theta = ",
            "and 1 show, got 1.9",
        ),
    ],
)
def test_constants_that_fail_are_named_with_the_place(holder, start, end):
    with pytest.raises(ModelError) as error:
        verify_holder(holder, two_curves, 2, UNIT)
    assert str(error.value).startswith(start)
    assert str(error.value).endswith(end)


def test_the_named_place_is_a_counterexample():
    with pytest.raises(ModelError) as error:
        verify_holder(Holder(1.0, 3.0, 3.0, 1.0), single(lambda t: t**3 / 2), 1, UNIT)
    words = str(error.value).replace(",", " ").split()
    left, right = float(words[words.index("=") + 1]), float(words[words.index("=") + 3])
    assert abs(right**3 - left**3) / 2 < abs(right - left) ** 3


def test_one_entry_per_arm():
    with pytest.raises(ModelError) as error:
        verify_holder(Holder(1.0, 1.0, 1.0, 1.0), two_curves, 2, UNIT)
    assert str(error.value) == "holder must have one entry per arm, 2 in all, got 1"


def test_a_model_verifies_what_it_is_given():
    given_by_user = Holder([0.5, 1.0], [1.0, 2.0], [0.5, 2.0], 1.0)
    functions = [lambda t: 0.5 * t, lambda t: t**2]
    model = gb.RewardModel.from_functions(functions, holder=given_by_user)
    assert model.holder is given_by_user
    with pytest.raises(ModelError, match=r"upper_constant\[1\] must be at least 2"):
        gb.RewardModel.from_functions(functions, holder=Holder([0.1, 0.1], 2.0, 1.0, 1.0))


def test_a_missing_limit_has_infinite_uncertainty():
    distance = 0.5 ** np.arange(LEVELS)[None, :]
    limit, doubt = limit_at_zero(distance**-0.5, 1e-15 / distance)
    assert np.isinf(doubt[0])
    assert limit[0] > 1e3


@given(order=st.floats(0.05, 8.0))
def test_snapping_moves_an_order_by_at_most_1e_6(order):
    found = snap(np.array([order]), np.zeros(1))[0]
    assert abs(found - order) <= 1e-6
