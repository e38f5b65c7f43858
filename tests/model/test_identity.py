import json
import math

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import ModelError
from tests.model.families import PRICES, THREE_ARMS, pricing


def test_formulas_that_differ_in_the_last_bit_are_the_same_model():
    one = gb.RewardModel(lambda t, q: q * (1 - q * t), PRICES)
    other = gb.RewardModel(lambda t, q: q - q * q * t, PRICES)
    assert not np.array_equal(one.means(0.3), other.means(0.3))
    samples = json.loads(json.dumps(other.observed_samples()))
    assert one.same_observed(samples)
    assert len(samples["means"]) == 12
    assert {len(row) for row in samples["means"]} == {33}


def test_samples_identify_the_observed_means_only():
    samples = gb.demand.exponential([2.0, 3.0], cost=1.0).observed_samples()
    assert gb.demand.exponential([2.0, 3.0], cost=1.7).same_observed(samples)
    assert gb.demand.exponential([2.0, 3.0], observe="sales").same_observed(samples)


@pytest.mark.parametrize(
    "other",
    [
        gb.RewardModel(pricing, PRICES[:-1]),
        gb.RewardModel(pricing, PRICES[::-1]),
        gb.RewardModel(pricing, PRICES, domain=(0.0, 0.9)),
        gb.RewardModel(pricing, PRICES, reward_range=(0.0, 2.0)),
        gb.RewardModel(lambda t, p: pricing(t, p) * (1 - 1e-6), PRICES),
    ],
)
def test_other_curves_are_another_model(other):
    assert not gb.RewardModel(pricing, PRICES).same_observed(other.observed_samples())


def test_the_same_change_of_scale_on_both_axes_is_another_model():
    model = gb.RewardModel(lambda t, a: a * t, [0.5, 1.0])
    other = gb.RewardModel(lambda t, a: a * t / 2, [0.5, 1.0], domain=(0.0, 2.0))
    assert model.observed_samples()["means"] == other.observed_samples()["means"]
    assert not model.same_observed(other.observed_samples())


def test_arms_may_be_matched_by_hand():
    few, many = gb.RewardModel(pricing, PRICES[2:5]), gb.RewardModel(pricing, PRICES)
    samples = few.observed_samples()
    rows = [None, None, 0, 1, 2, *[None] * 7]
    assert many.same_observed(samples, rows)
    assert not many.same_observed(samples, [0, *[None] * 11])
    assert many.same_observed(samples, [None] * 12)
    for wrong in ([0], [3, *[None] * 11], [-1, *[None] * 11]):
        with pytest.raises(ModelError, match="rows must name a row of the samples, or None, for e"):
            many.same_observed(samples, wrong)


@pytest.mark.parametrize(
    "change",
    [
        lambda s: None,
        lambda s: 7,
        lambda s: {},
        lambda s: s | {"means": s["means"][0]},
        lambda s: s | {"means": [[0.5] * 32] * 12},
        lambda s: s | {"means": [["x"] * 33] * 12},
        lambda s: s | {"means": [[math.nan] * 33] * 12},
        lambda s: s | {"means": [[10**400] * 33] * 12},
        lambda s: s | {"domain": [0.0]},
        lambda s: s | {"domain": [math.nan, 1.0]},
        lambda s: {key: s[key] for key in ("domain", "means")},
    ],
)
def test_damaged_samples_match_no_model(change):
    model = gb.RewardModel(pricing, PRICES)
    assert model.same_observed(change(model.observed_samples())) is False


def test_a_function_that_changes_after_the_model_was_built():
    slope = {"mean": 1.0, "value": 2.0}
    model = gb.RewardModel(
        lambda t, a: slope["mean"] * a * t,
        [0.3, 0.5],
        value=lambda m, a: slope["value"] * m,
    )
    before = model.means(0.5), model.worth(0.5)
    slope["value"] = 3.0
    with pytest.raises(
        ModelError,
        match=r"value of arm 0\.3 must not change after the model was built, got .*, was .* at",
    ):
        model.worth(0.5)
    with pytest.raises(ModelError, match=r"value of arm 0\.3 must not change"):
        model.gaps(0.5)
    slope.update(mean=0.9, value=2.0)
    for use in (
        lambda: model.means(0.5),
        lambda: model.worth(0.5),
        lambda: model.worth_of(0, 0.1),
        lambda: model.suboptimality_gap(0.5),
        lambda: model.holder,
        model.observed_samples,
        lambda: model.fingerprint,
    ):
        with pytest.raises(ModelError, match=r"mean of arm 0\.3 must not change after the model"):
            use()
    slope["mean"] = 1.0
    assert np.array_equal(model.means(0.5), before[0])
    assert np.array_equal(model.worth(0.5), before[1])


def test_whole_numbers_as_arms_do_not_overflow():
    # 6e9 squared is beyond 64-bit integers; the arm is not among those tried one by one.
    arms = [*range(1, 40), 6_000_000_000]
    model = gb.RewardModel(lambda t, n: t * (1 + 0 * n) / (1 + n * n), arms)
    expected = [0.5 / (1 + arm * arm) for arm in arms]
    assert model.means(0.5) == pytest.approx(expected, rel=1e-12)
    assert model.arms[-1] == 6_000_000_000
    huge = gb.RewardModel(lambda t, n: t / float(len(str(n))), [1, 10**400])
    assert huge.means(0.5) == pytest.approx([0.5, 0.5 / 401])


def test_whole_numbers_that_are_used_as_such_stay_whole():
    table = [0.2, 0.5, 0.9]
    model = gb.RewardModel(lambda t, k: table[k] * t, range(3))
    assert model.means(1.0).tolist() == table


@pytest.mark.parametrize("huge", [10**400, "x", object(), [[1.0], [2.0, 3.0]]])
def test_what_is_no_number_is_named(huge):
    model = gb.RewardModel.from_functions(THREE_ARMS)
    with pytest.raises(ModelError, match="theta must be a number or numbers, got "):
        model.means(huge)
    with pytest.raises(ModelError, match="value must be a number or numbers, got "):
        model.invert(0, huge)
    with pytest.raises(ModelError, match="mean must be a number or numbers, got "):
        model.worth_of(0, huge)


@pytest.mark.parametrize("name", ["domain", "reward_range"])
@pytest.mark.parametrize(
    ("span", "rule"),
    [
        ((-1e308, 1e308), "have a finite length"),
        ((0.0, 1e-320), "have a length between 1e-290 and 1e"),
        ((1.0, 1.0 + 1e-15), "be wider than the rounding errors of its ends"),
        ((0.0, math.inf), "be finite"),
        ((-math.inf, 1.0), "be finite"),
    ],
)
def test_intervals_that_cannot_be_computed_with(name, span, rule):
    with pytest.raises(ModelError, match=rf"{name}.* must {rule}.*, got "):
        gb.RewardModel(pricing, PRICES, **{name: span})


def test_values_of_infinite_extent_are_refused():
    with pytest.raises(ModelError, match=r"value must have a range of at most 1e\+300, got \(-5"):
        gb.RewardModel(pricing, PRICES, value=lambda m, p: 1e308 * (m - 0.5))
