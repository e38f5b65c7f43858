"""Means that are flat somewhere, or turn: monotone=False."""

import numpy as np
import pytest

import globalbandits as gb
from globalbandits import theory
from globalbandits.errors import ModelError
from globalbandits.model.tables import evaluate
from tests.model.families import PRICES, THREE_ARMS, pricing
from tests.model.test_value import shortfall

SHAPES = {
    "a hump and a line": [lambda t: 4 * t * (1 - t), lambda t: 0.3 + 0.5 * t],
    "flat parts": [lambda t: np.maximum(t, 0.25), lambda t: np.minimum(1 - t, 0.6)],
    "constant arms": [lambda t: 0.4 + 0 * t, lambda t: t, lambda t: 0.7 + 0 * t],
    "waves": [lambda t: 0.5 + 0.4 * np.sin(20 * t), lambda t: 0.5 + 0.3 * np.cos(33 * t)],
    "kinks": [lambda t: np.abs(t - 0.3), lambda t: 0.7 - np.abs(t - 0.6), lambda t: 0.2 + 0.1 * t],
    "narrow humps": [
        lambda t: 0.2 + 0.6 * np.exp(-(((t - 0.31) / 0.002) ** 2)),
        lambda t: 0.2 + 0.6 * np.exp(-(((t - 0.77) / 0.002) ** 2)),
        lambda t: 0.3 + 0.0 * t,
    ],
    "all the same on a part": [lambda t: np.minimum(t, 0.5), lambda t: np.clip(t, 0.2, 0.5)],
}


@pytest.mark.parametrize("name", SHAPES)
def test_regions_agree_with_a_million_points(name):
    model = gb.RewardModel.from_functions(SHAPES[name], monotone=False)
    assert shortfall(model, 1_000_001) <= 1e-12
    assert not model.monotone
    assert not model.tables.invertible
    for region in model.regions:
        middle = 0.5 * (region.low + region.high)
        assert model.gaps(middle)[list(region.arms)].max() <= 1e-12


@pytest.mark.parametrize("name", SHAPES)
def test_tables_follow_the_means(name):
    model = gb.RewardModel.from_functions(SHAPES[name], domain=(0.0, 1.0), monotone=False)
    thetas = np.linspace(0.0, 1.0, 2003)
    for arm, mean in enumerate(SHAPES[name]):
        found = [evaluate(model.tables.mean, arm, float(theta)) for theta in thetas]
        assert found == pytest.approx(mean(thetas), abs=2e-12)


def test_edges_of_a_hump_and_a_line():
    # 4 t (1 - t) = 0.3 + 0.5 t at (3.5 -+ sqrt(3.5^2 - 4.8)) / 8.
    model = gb.RewardModel.from_functions(SHAPES["a hump and a line"], monotone=False)
    root = np.sqrt(3.5**2 - 4.8)
    expected = [(3.5 - root) / 8, (3.5 + root) / 8]
    assert [region.arm for region in model.regions] == [1, 0, 1]
    assert [region.high for region in model.regions[:-1]] == pytest.approx(expected, abs=1e-12)
    assert model.best_arms(0.5) == (0,)
    assert model.suboptimality_gap(0.5) == pytest.approx(0.45)
    assert model.suboptimality_distance(0.5) == pytest.approx(expected[1] - 0.5, abs=1e-12)


def test_values_of_means_of_any_shape():
    model = gb.RewardModel.from_functions(
        [lambda t: 4 * t * (1 - t), lambda t: 0.5 + 0.4 * np.sin(9 * t)],
        domain=(0.0, 1.0),
        values=[lambda m: -np.abs(m - 0.6), lambda m: 0.1 - np.abs(m - 0.3)],
        monotone=False,
    )
    assert shortfall(model, 1_000_001) <= 1e-12
    low, high = model.worth_range
    thetas = np.linspace(0.0, 1.0, 1501)
    for arm in range(2):
        found = [evaluate(model.tables.worth, arm, float(theta)) for theta in thetas]
        expected = (model.worth(thetas)[:, arm] - low) / (high - low)
        assert found == pytest.approx(expected, abs=2e-12)


def test_monotone_means_may_be_declared_as_any():
    plain = gb.RewardModel(pricing, PRICES)
    loose = gb.RewardModel(pricing, PRICES, monotone=False)
    assert [r.arm for r in loose.regions] == [r.arm for r in plain.regions]
    assert [r.high for r in loose.regions] == pytest.approx(
        [r.high for r in plain.regions], abs=1e-12
    )
    assert loose.same_observed(plain.observed_samples())
    assert plain.monotone


def test_what_needs_an_inverse_is_refused():
    model = gb.RewardModel.from_functions(THREE_ARMS, monotone=False)
    why = "a mean that is flat or turns does not tell theta, got 'monotone=False'"
    with pytest.raises(ModelError, match=f"model must be monotone to be inverted: {why}"):
        model.invert(0, 0.5)
    for use in (
        lambda: model.holder,
        lambda: model.unit_holder,
        lambda: model.informativeness,
        lambda: theory.regimes(model, 0.5),
        lambda: theory.worst_case_regret(model, 10),
        lambda: theory.mean_squared_error(model, 10),
        lambda: theory.buw_regret(model, 0.5, 10),
        lambda: theory.average_regret_under_drift(model, 100.0),
        lambda: theory.bayes_risk_growth(model, 10),
    ):
        with pytest.raises(ModelError, match="monotone to be given constants of Assumption 1: a m"):
            use()


def test_arguments_about_inverses_are_refused():
    rule = "must not be given for means that cannot be inverted, got 'monotone=False'"
    with pytest.raises(ModelError, match=f"inverse {rule}"):
        gb.RewardModel.from_functions(THREE_ARMS, inverses=THREE_ARMS, monotone=False)
    with pytest.raises(ModelError, match=f"holder {rule}"):
        gb.RewardModel.from_functions(
            THREE_ARMS, holder=gb.Holder(1.0, 1.0, 1.0, 1.0), monotone=False
        )
    with pytest.raises(ModelError, match="monotone must be True or False, got 'no'"):
        gb.RewardModel.from_functions(THREE_ARMS, monotone="no")


@pytest.mark.parametrize(
    ("mean", "message"),
    [
        (lambda t: np.where(t > 0.7, np.nan, t), r"arm 0 must be finite, got nan at theta = 0\.70"),
        (lambda t: 2.0 * t * (1 - t) + 0.6, r"must lie in the reward range \[0, 1\], got 1\.0"),
        (lambda t: 0.3 * (t > 0.6) + 0.2, r"continuous enough to tabulate, jumps by 0\.3 .* 0\.6"),
    ],
)
def test_means_must_still_be_finite_in_range_and_continuous(mean, message):
    with pytest.raises(ModelError, match=message):
        gb.RewardModel.from_functions([mean], monotone=False)


def test_a_plain_model_refuses_them():
    with pytest.raises(ModelError, match="strictly monotone in theta, turns at theta = "):
        gb.RewardModel.from_functions(SHAPES["a hump and a line"])


def test_a_group_of_any_shape_makes_the_joint_tables_not_invertible():
    line = gb.RewardModel.from_functions([lambda t: t])
    hump = gb.RewardModel.from_functions(SHAPES["a hump and a line"], monotone=False)
    assert not gb.RegionalModel([line, hump]).joint_tables.invertible
    assert gb.RegionalModel([line, line]).joint_tables.invertible
    both = gb.RegionalModel([line, hump])
    assert both.same_observed(both.observed_samples())
    for wrong in ({}, {"groups": []}, [], gb.RegionalModel([line, line]).observed_samples()):
        assert not both.same_observed(wrong)
