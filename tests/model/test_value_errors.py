import itertools

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import ModelError
from tests.model.families import THREE_ARMS
from tests.model.valued import EXPONENTS, power

COUNTER = itertools.count()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (7, r"value must be a function of \(mean, arm\), or a text with a formula, got 7"),
        (lambda m, a: np.log(m), r"value of arm 0.5 must be finite, got -inf at mean = 0$"),
        (
            lambda m, a: np.where(m > 0.5, np.nan, m),
            r"arm 0.5 must be finite, got nan at mean = 0.5",
        ),
        (lambda m, a: m["x"], r"value of arm 0.5 must return a number, but raised .* at 0\.07"),
        (lambda m, a: None, r"value of arm 0.5 must return a number, got None at 0\.07"),
        (lambda m, a: "much", r"value of arm 0.5 must return a number, got 'much' at 0\.07"),
        (lambda m, a: [1.0, 2.0], r"value of arm 0.5 must return a number, got \[1.0, 2.0\] at 0"),
        (
            lambda m, a: m + 1e-3 * next(COUNTER),
            r"value of arm 0.5 must be the same at every call, got .* and then .* at mean = 0$",
        ),
        (
            lambda m, a: np.where(m > 0.3, 1.0, 0.0) + m,
            r"value of arm 0.5 must be continuous enough to tabulate, jumps by .* = 0\.3",
        ),
        (
            lambda m, a: np.modf(1e9 * m)[0] + m,
            r"value of arm 0.5 must be smooth enough to tabulate, fails near the unit mean = ",
        ),
        (lambda m: m, r"value of arm 0.5 must return a number, but raised TypeError"),
    ],
)
def test_a_wrong_value_is_refused_with_its_place(value, message):
    with pytest.raises(ModelError, match=message):
        gb.RewardModel(power, EXPONENTS, value=value)


def test_wrong_lists_of_values_are_refused():
    with pytest.raises(ModelError, match="values must have 3 functions, got 2"):
        gb.RewardModel.from_functions(THREE_ARMS, values=[abs, abs])
    with pytest.raises(ModelError, match=r"values\[1\] must be a function of \(mean\), or a text"):
        gb.RewardModel.from_functions(THREE_ARMS, values=[abs, 5, abs])


@pytest.mark.parametrize("mean", [-0.1, 1.1, np.nan, [0.5, np.inf]])
def test_worth_of_a_mean_outside_the_reward_range(mean):
    model = gb.RewardModel.from_functions(THREE_ARMS)
    with pytest.raises(ModelError, match=r"mean must lie in the reward range \[0, 1\], got "):
        model.worth_of(0, mean)
    with pytest.raises(ModelError, match="arm must be below 3, got 3"):
        model.worth_of(3, 0.5)


@pytest.mark.parametrize("target", [0.0, 1.0, -0.2, 1.5])
def test_a_target_outside_the_unit_interval(target):
    with pytest.raises(ModelError, match="target must lie strictly between 0 and 1, got"):
        gb.dose.emax([1.0, 2.0], target=target)


def test_costs_that_make_no_sense():
    with pytest.raises(ModelError, match=r"cost must be at least 0, got -1\.0"):
        gb.demand.linear([0.4, 0.5], cost=-1.0)
    with pytest.raises(ModelError, match="cost must be finite, got nan"):
        gb.demand.linear([0.4, 0.5], cost=float("nan"))
    with pytest.raises(ModelError, match="observe must be 'sales' where a cost is given, got 'rev"):
        gb.demand.linear([0.4, 0.5], cost=0.1, observe="revenue")


def test_functions_of_single_numbers_and_labels_may_be_values():
    def profit(sold, name):
        return (0.7 if name == "a" else 0.2) * sold if sold > 0.0 else 0.0

    model = gb.RewardModel(lambda t, name: t if name == "a" else 1.0 - t, ["a", "b"], value=profit)
    assert model.worth(0.25) == pytest.approx([0.175, 0.15])
    assert model.regions[0].high == pytest.approx(2.0 / 9.0, abs=1e-12)
    assert model.tables.affine_increasing
