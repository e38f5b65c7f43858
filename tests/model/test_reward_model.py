import math

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import GlobalBanditsError, ModelError
from tests.model.families import PRICES, pricing


def from_one(mean, **options):
    return gb.RewardModel.from_functions([lambda t: 0.1 + 0.1 * t, mean], **options)


@pytest.mark.parametrize(
    ("mean", "message"),
    [
        (lambda t: np.log(t) + 0.5, r"mean of arm 1 must be finite, got -inf at theta = 0$"),
        (lambda t: np.where(t > 0.7, np.nan, t), r"arm 1 must be finite, got nan at theta = 0\.70"),
        (lambda t: 2.0 * t, r"arm 1 must lie in the reward range \[0, 1\], got 1.00\d* at theta"),
        (lambda t: t - 0.5, r"arm 1 must lie in the reward range \[0, 1\], got -0.5 at theta = 0$"),
        (lambda t: 4 * (t - 0.3) ** 2 / 2, r"strictly monotone in theta, turns at theta = 0\.3$"),
        (lambda t: np.sin(4 * t) / 2 + 0.5, r"turns at theta = 0\.392699$"),
        (
            lambda t: np.full_like(t, 0.5),
            r"strictly monotone in theta, is flat from theta = 0 to 1$",
        ),
        (lambda t: 0.5 + 0 * t, r"is flat from theta = 0 to 1$"),
        (lambda t: np.maximum(t, 0.25), r"is flat from theta = 0 to 0\.25$"),
        (lambda t: np.clip(t, 0.4, 0.41) * 0.5 + t * 0.0, r"is flat from theta = 0 to 0\.4$"),
        (
            lambda t: np.interp(t, [0, 0.5, 0.51, 1], [0, 0.5, 0.5, 1]),
            r"is flat from theta = 0\.5 to 0\.51$",
        ),
        (
            lambda t: 0.3 * t + 0.5 * (t > 0.6),
            r"continuous enough to tabulate, jumps by 0.5 .* 0\.6",
        ),
        (lambda t: t["x"], r"mean of arm 1 must return a number, but raised .* at 0\.07"),
    ],
)
def test_a_wrong_mean_is_refused_with_its_place(mean, message):
    with pytest.raises(ModelError, match=message):
        from_one(mean)


def test_division_by_zero_in_scalar_functions_is_reported_as_not_finite():
    def mean(theta):
        if theta > 2:
            return 0.0
        return 0.5 / (theta / theta) * theta

    with pytest.raises(ModelError, match=r"must be finite, got nan at theta = 0$"):
        from_one(mean)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"arms": []}, r"arms must have at least one value, got \(\)"),
        ({"arms": [0.4, 0.5, 0.4]}, "arms must be distinct, got 0.4"),
        ({"arms": 7}, "arms must be a sequence of values, got 7"),
        ({"arms": [[1], [2]]}, r"arms must be hashable values, got \[1\]"),
        ({"domain": (1.0, 0.0)}, r"domain must have low < high, got \(1.0, 0.0\)"),
        ({"domain": (0.0, math.inf)}, "domain high must be finite, got inf"),
        ({"domain": 3}, r"domain must be a pair \(low, high\), got 3"),
        ({"reward_range": (0.0, 0.0)}, r"reward_range must have low < high, got \(0.0, 0.0\)"),
        (
            {"mean": 5},
            r"mean must be a function of \(theta, arm\), or a text with a formula, got 5",
        ),
    ],
)
def test_bad_arguments(arguments, message):
    given = {"mean": pricing, "arms": PRICES} | arguments
    with pytest.raises(ModelError, match=message):
        gb.RewardModel(**given)


def test_bad_lists_of_functions():
    with pytest.raises(
        ModelError, match=r"functions\[1\] must be a function of \(theta\), or a text"
    ):
        gb.RewardModel.from_functions([lambda t: t, 3])
    with pytest.raises(ModelError, match="arms must have 2 values, one per function, got 1"):
        gb.RewardModel.from_functions([lambda t: t, lambda t: 1 - t], arms=["a"])
    with pytest.raises(ModelError, match="inverses must have 1 functions, got 2"):
        gb.RewardModel.from_functions([lambda t: t], inverses=[lambda x: x, lambda x: x])
    with pytest.raises(GlobalBanditsError):
        gb.RewardModel.from_functions([])


@pytest.mark.parametrize("size", [1e-14, 1e-16, 1e-20])
def test_means_that_are_lost_in_a_wide_range_are_named(size):
    with pytest.raises(ModelError, match=r"mean of arm 0.2 must change by at least 7.1e-15 of the"):
        gb.RewardModel(lambda theta, x: size * x * (1 + theta), [0.2, 0.4], reward_range=(-1, 1))


def test_small_means_near_the_end_of_the_range_are_not_lost():
    model = gb.RewardModel(lambda theta, x: 1e-20 * x * (1 + theta), [0.2, 0.4])
    assert model.invert(0, 3e-21) == pytest.approx(0.5, abs=1e-9)


def test_slopes_that_vanish_in_floating_point_are_not_flat():
    for exponent in (3, 5, 7):
        model = gb.RewardModel.from_functions(
            [lambda t, g=exponent: t**g, lambda t, g=exponent: 1.0 - t**g]
        )
        assert model.regions[0].high == pytest.approx(0.5 ** (1.0 / exponent), abs=1e-12)


def test_functions_written_for_arrays_numbers_or_labels_give_the_same_model():
    joint = gb.RewardModel(pricing, PRICES)

    def for_numbers(theta, price):
        if theta < 0:
            raise AssertionError
        return price * math.pow(1.0 - price * theta, 2)

    table = {f"p{index}": price for index, price in enumerate(PRICES.tolist())}
    labelled = gb.RewardModel(lambda theta, name: pricing(theta, table[name]), list(table))
    for other in (gb.RewardModel(for_numbers, PRICES), labelled):
        assert other.means(0.37) == pytest.approx(joint.means(0.37), abs=1e-15)
        assert [r.arm for r in other.regions] == [r.arm for r in joint.regions]
        assert [r.high for r in other.regions] == pytest.approx(
            [r.high for r in joint.regions], abs=1e-12
        )
    assert labelled.arms[3] == "p3"


def test_a_function_that_ignores_the_shape_of_its_arguments_is_looped():
    model = gb.RewardModel(lambda theta, arm: float(np.mean(theta)) * arm, [0.2, 0.5, 0.9])
    assert model.means([0.1, 0.3])[:, 2] == pytest.approx([0.09, 0.27])


def test_rewards_in_currency():
    cents = gb.RewardModel(
        lambda theta, price: 100 * pricing(theta, price), PRICES, reward_range=(0.0, 100.0)
    )
    unit = gb.RewardModel(pricing, PRICES)
    assert cents.invert(3, 25.0) == pytest.approx(unit.invert(3, 0.25), abs=1e-12)
    assert cents.means(0.4) == pytest.approx(100 * unit.means(0.4))
    assert cents.suboptimality_gap(0.4) == pytest.approx(100 * unit.suboptimality_gap(0.4))
    assert np.allclose(cents.tables.inverse.low, unit.tables.inverse.low, atol=1e-14)
    assert cents.unit_holder.inverse_constant == pytest.approx(unit.holder.inverse_constant)


def test_fingerprint_distinguishes_models():
    model = gb.RewardModel(pricing, PRICES)
    assert model.fingerprint == gb.RewardModel(pricing, PRICES.tolist()).fingerprint
    others = [
        gb.RewardModel(pricing, PRICES[:-1]),
        gb.RewardModel(pricing, PRICES, domain=(0.0, 0.9)),
        gb.RewardModel(pricing, PRICES, reward_range=(0.0, 2.0)),
        gb.RewardModel(lambda t, p: pricing(t, p) * 0.999, PRICES),
    ]
    assert len({other.fingerprint for other in [model, *others]}) == 5


def test_it_prints():
    assert repr(gb.RewardModel(pricing, PRICES)) == (
        "RewardModel(12 arms: 0.4, 0.45, 0.5, 0.55, ...; theta in [0, 1]; 12 regions)"
    )
