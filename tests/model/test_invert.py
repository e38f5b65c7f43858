import numpy as np
import pytest

import globalbandits as gb
from globalbandits.compiling.compiler import compile_kernel
from globalbandits.compiling.views import View
from globalbandits.errors import ModelError
from globalbandits.model.analysis.curves import evaluate_many, fit, polynomial
from globalbandits.model.tables import DEGREE, evaluate
from tests.model.families import PRICES, SINGLE, pricing

# Dense inside, and ever closer to both ends, where slopes vanish or explode.
THETAS = np.unique(
    np.concatenate(
        [
            np.linspace(0.0, 1.0, 5001),
            np.logspace(-12, -1, 500),
            1.0 - np.logspace(-12, -1, 500),
            np.random.default_rng(0).random(2000),
        ]
    )
)


@pytest.mark.parametrize("name", SINGLE)
def test_inverse_is_accurate_to_1e10_of_the_domain(name):
    mean = SINGLE[name]
    model = gb.RewardModel.from_functions([mean])
    found = model.invert(0, mean(THETAS))
    assert np.abs(found - THETAS).max() <= 1e-10
    for theta in THETAS[::701]:
        assert abs(model.invert(0, float(mean(theta))) - theta) <= 1e-10


@pytest.mark.parametrize("domain", [(2.0, 10.0), (-3.0, 5.0), (0.0, 1e-3), (100.0, 101.0)])
def test_any_domain(domain):
    low, high = domain
    model = gb.RewardModel.from_functions(
        [lambda theta: ((theta - low) / (high - low)) ** 2], domain=domain
    )
    thetas = low + (high - low) * THETAS
    values = ((thetas - low) / (high - low)) ** 2
    assert np.abs(model.invert(0, values) - thetas).max() <= 1e-10 * (high - low)


def test_inverse_at_a_tiny_slope_is_limited_by_the_digits_of_the_mean():
    model = gb.RewardModel.from_functions([lambda theta: 1.0 - theta**7])
    thetas = np.linspace(0.0, 1.0, 2001)
    values = 1.0 - thetas**7
    found = np.asarray(model.invert(0, values))
    inexact = np.abs(found - thetas) > 1e-10
    assert np.abs(1.0 - found**7 - values)[inexact].max() <= 2e-15
    assert thetas[inexact].max() < 0.1


def test_values_out_of_range_go_to_the_nearer_end():
    model = gb.RewardModel(pricing, PRICES)
    for arm in range(model.n_arms):
        assert model.invert(arm, -1.0) == 1.0
        assert model.invert(arm, 2.0) == 0.0
        assert np.array_equal(model.invert(arm, [-1.0, 2.0]), [1.0, 0.0])


def test_shapes_follow_the_value():
    model = gb.RewardModel(pricing, PRICES)
    assert isinstance(model.invert(0, 0.3), float)
    assert np.shape(model.invert(0, np.full((2, 3), 0.3))) == (2, 3)


def test_closed_form_is_used_and_agrees_with_the_tables():
    def inverse(value, price):
        return (1.0 - np.sqrt(value / price)) / price

    model = gb.RewardModel(pricing, PRICES, inverse=inverse)
    plain = gb.RewardModel(pricing, PRICES)
    for arm, price in enumerate(PRICES):
        values = pricing(THETAS, price)
        exact = inverse(values[1:-1], price)
        assert np.array_equal(model.invert(arm, values[1:-1]), np.clip(exact, 0.0, 1.0))
        assert np.abs(plain.invert(arm, values) - model.invert(arm, values)).max() <= 1e-10


def test_closed_form_of_single_numbers_is_looped():
    import math

    model = gb.RewardModel.from_functions(
        [lambda theta: theta**2], inverses=[lambda value: math.sqrt(value)]
    )
    assert model.invert(0, [0.25, 0.81]) == pytest.approx([0.5, 0.9], abs=1e-15)


def test_wrong_closed_form_is_refused():
    with pytest.raises(
        ModelError, match=r"inverse of arm 0\.4 must undo its mean, got .* at theta"
    ):
        gb.RewardModel(pricing, PRICES, inverse=lambda value, price: (1 - value / price) / price)


@pytest.mark.parametrize(
    ("arm", "value", "message"),
    [
        (12, 0.3, "arm must be below 12, got 12"),
        (-1, 0.3, "arm must be at least 0, got -1"),
        (0.5, 0.3, "arm must be an integer, got 0.5"),
        (0, float("nan"), "value must be finite, got nan"),
    ],
)
def test_wrong_arguments_are_refused(arm, value, message):
    model = gb.RewardModel(pricing, PRICES)
    with pytest.raises(ModelError, match=message):
        model.invert(arm, value)


def test_interpreted_array_and_compiled_readers_agree_to_the_bit():
    model = gb.RewardModel.from_functions(list(SINGLE.values()))
    rng = np.random.default_rng(1)
    for curves in (model.tables.inverse, model.tables.mean):
        view = View(curves)
        compiled = compile_kernel(evaluate, view, 0, 0.5)
        for arm in range(model.n_arms):
            points = rng.uniform(-0.1, 1.1, 60)
            interpreted = np.array([evaluate(curves, arm, float(x)) for x in points])
            assert np.array_equal(interpreted, evaluate_many(curves, arm, points))
            assert np.array_equal(interpreted, [compiled(view, arm, float(x)) for x in points])


def test_mean_curves_follow_the_means():
    model = gb.RewardModel.from_functions(list(SINGLE.values()))
    for arm, mean in enumerate(SINGLE.values()):
        found = evaluate_many(model.tables.mean, arm, THETAS)
        assert np.abs(found - mean(THETAS)).max() <= 5e-12


def test_rounding_at_the_end_of_a_nearly_flat_curve_is_no_error():
    # At the end of the default domain the largest doses have means of 1 - 1e-9.
    for n_doses, step in ((17, 0.2), (20, 0.5), (21, 1.0)):
        doses = [1.0 + step * k for k in range(n_doses)]
        model = gb.dose.logistic(doses, target=0.3)
        assert model.n_arms == n_doses


@pytest.mark.parametrize("ends", [(0.2, 0.6), (0.6, 0.2)], ids=["rising", "falling"])
def test_a_segment_whose_nodes_coincide_becomes_a_line_between_its_ends(ends):
    x = np.array([[ends[0]] + [ends[1]] * DEGREE])
    y = np.linspace(1.0, 3.0, DEGREE + 1)[None]
    coefficients, argument = fit(x, y)
    assert polynomial(coefficients, argument(np.array([ends])))[0] == pytest.approx([1.0, 3.0])


def test_a_single_segment_is_fitted_as_one_of_many_and_stays_as_it_is():
    x = np.linspace(0.0, 1.0, DEGREE + 1) + np.array([[0.0], [0.5]])
    y = np.exp(-x)
    kept = y.copy()
    together, _ = fit(x, y)
    alone = np.concatenate([fit(x[[row]], y[row : row + 1])[0] for row in range(2)])
    assert np.array_equal(alone, together)
    assert np.array_equal(y, kept)
