import math

import numpy as np
import pytest

from globalbandits.errors import ModelError
from globalbandits.model.catalogue import dose

DOSES = {
    "linear": [1, 2, 5, 10],
    "logistic": [1, 2, 5, 10],
    "emax": [1, 2, 5, 10],
    "power": [0.05, 0.1, 0.2, 0.35, 0.5],
    "hyperbolic_tangent": [-2.0, -1.0, 0.0, 0.5],
    "skeleton_logistic": [0.05, 0.1, 0.2, 0.35, 0.5],
}

# The formulas once more, number by number.
FORMULAS = {
    "linear": lambda theta, level: theta * level,
    "logistic": lambda theta, level: 1 / (1 + math.exp(3 - theta * level)),
    "emax": lambda theta, level: level / (level + theta),
    "power": lambda theta, level: level ** math.exp(theta),
    "hyperbolic_tangent": lambda theta, level: ((math.tanh(level) + 1) / 2) ** theta,
    "skeleton_logistic": lambda theta, level: (
        1 / (1 + math.exp(-3 - math.exp(theta) * (math.log(level / (1 - level)) - 3)))
    ),
}


def test_the_catalogue_is_complete():
    assert sorted(dose.__all__) == sorted(FORMULAS)


@pytest.mark.parametrize("penalty", [0.0, 0.02])
@pytest.mark.parametrize("name", FORMULAS)
def test_means_follow_the_formula(name, penalty):
    model = getattr(dose, name)(DOSES[name], penalty=penalty)
    for theta in np.linspace(*model.domain, 41):
        expected = np.array([FORMULAS[name](theta, level) for level in DOSES[name]])
        assert model.means(theta) == pytest.approx(expected, rel=1e-11, abs=1e-15)
        costs = penalty * np.array(DOSES[name])
        assert model.worth(theta) == pytest.approx(expected - costs, rel=1e-11, abs=1e-15)


@pytest.mark.parametrize("name", FORMULAS)
def test_a_target_values_the_distance_from_it(name):
    model = getattr(dose, name)(DOSES[name], target=0.3, penalty=0.01)
    for theta in np.linspace(*model.domain, 41):
        expected = [
            -abs(FORMULAS[name](theta, level) - 0.3) - 0.01 * level for level in DOSES[name]
        ]
        assert model.worth(theta) == pytest.approx(expected, rel=1e-11, abs=1e-15)
        assert model.best_arms(theta)[0] in np.flatnonzero(np.isclose(expected, max(expected)))
    assert len(model.regions) > 1


@pytest.mark.parametrize("name", sorted(set(FORMULAS) - {"linear"}))
def test_default_domains_reach_far_on_both_sides_of_a_target(name):
    for target in (0.2, 0.3):
        model = getattr(dose, name)(DOSES[name], target=target)
        ends = model.means(np.array(model.domain))
        lowest, highest = ends[:, 0].max(), ends[:, -1].min()
        assert lowest > target + 0.04
        assert highest < 0.7 * target
        assert model.monotone


@pytest.mark.parametrize("name", ["power", "skeleton_logistic"])
def test_a_domain_for_the_whole_normal_prior_may_have_flat_ends(name):
    model = getattr(dose, name)(DOSES[name], target=0.25, domain=(-6.0, 6.0))
    assert not model.monotone
    assert model.best_arms(0.0) == getattr(dose, name)(DOSES[name], target=0.25).best_arms(0.0)


def test_remarks_name_likely_mistakes():
    assert dose.power([0.1, 0.2], target=0.25).remarks == ()
    remark, _ = dose.power([0.1, 0.2]).remarks
    assert remark.startswith("no target: the dose with the largest response is best")
    (remark,) = dose.power([0.4, 0.2, 0.1], target=0.25).remarks
    assert remark.startswith("the doses are in descending order")
    (remark,) = dose.emax([1.0, 4.0, 2.0], target=0.25).remarks
    assert remark.startswith("the doses are in mixed order")


@pytest.mark.parametrize("penalty", [0.0, 0.02])
@pytest.mark.parametrize("name", FORMULAS)
def test_inverses_undo_the_means(name, penalty):
    model = getattr(dose, name)(DOSES[name], penalty=penalty)
    low, high = model.domain
    thetas = np.linspace(low, high, 101)
    means = model.means(thetas)
    for arm in range(model.n_arms):
        assert model.invert(arm, means[:, arm]) == pytest.approx(thetas, abs=1e-8 * (high - low))


@pytest.mark.parametrize("name", FORMULAS)
def test_the_largest_dose_is_best_unless_doses_cost(name):
    model = getattr(dose, name)(DOSES[name])
    assert [model.arms[region.arm] for region in model.regions] == [max(DOSES[name])]
    assert model.reward_range == (0.0, 1.0)


@pytest.mark.parametrize(
    ("name", "penalty"), [("linear", 0.05), ("logistic", 0.05), ("emax", 0.03), ("power", 0.6)]
)
def test_a_penalty_makes_theta_matter(name, penalty):
    model = getattr(dose, name)(DOSES[name], penalty=penalty)
    assert len(model.regions) > 1
    assert model.reward_range == (0.0, 1.0)
    low, high = model.worth_range
    assert low == pytest.approx(-penalty * max(DOSES[name]))
    assert high == pytest.approx(1.0 - penalty * min(DOSES[name]))
    for region in model.regions:
        middle = (region.low + region.high) / 2
        assert int(np.argmax(model.worth(middle))) == region.arm


def test_a_negative_dose_may_be_worth_more_than_one():
    model = dose.hyperbolic_tangent([-2.0, 0.0, 1.0], penalty=0.1)
    assert model.worth_range == pytest.approx((-0.1, 1.2))


@pytest.mark.parametrize("name", FORMULAS)
def test_more_effect_at_every_theta_for_a_larger_dose(name):
    model = getattr(dose, name)(DOSES[name])
    inner = np.linspace(*model.domain, 13)[1:-1]
    assert (np.diff(model.means(inner), axis=1) > 0).all()


def test_milligrams_or_grams():
    grams = dose.emax([0.25, 0.5, 1.0])
    milligrams = dose.emax([250.0, 500.0, 1000.0])
    assert milligrams.domain == (125.0, 2000.0)
    assert milligrams.means(300.0) == pytest.approx(grams.means(0.3))


def test_half_the_effect_at_the_ed50():
    for hill in (0.5, 1.0, 3.0):
        model = dose.emax([2.0, 4.0], hill=hill)
        assert model.means(2.0)[0] == pytest.approx(0.5)
        assert model.means(2.0)[1] == pytest.approx(2**hill / (1 + 2**hill))


def test_the_skeleton_is_the_guess_at_zero():
    model = dose.power([0.05, 0.1, 0.2])
    assert model.means(0.0) == pytest.approx([0.05, 0.1, 0.2])
    assert (model.means(-0.5) > model.means(0.0)).all()


def test_the_intercept_is_the_response_without_a_dose():
    model = dose.logistic([1.0], intercept=-1.0)
    assert model.means(0.0) == pytest.approx([1 / (1 + math.e)])


@pytest.mark.parametrize("name", ["linear", "logistic", "emax"])
def test_dose_zero_is_refused(name):
    with pytest.raises(ModelError) as error:
        getattr(dose, name)([0.0, 1.0])
    assert str(error.value) == "doses[0] must be positive, got 0.0"


@pytest.mark.parametrize("name", FORMULAS)
def test_wrong_doses_are_refused(name):
    parameter = "skeleton" if name in ("power", "skeleton_logistic") else "doses"
    for doses, message in [
        ([], f"{parameter} must have at least one value, got []"),
        (1.0, f"{parameter} must be a sequence of numbers, got 1.0"),
        ([0.5, math.nan], f"{parameter}[1] must be finite, got nan"),
        ([0.5, "high"], f"{parameter}[1] must be a number, got 'high'"),
        ([0.5, 0.2, 0.5], f"{parameter}[2] must differ from {parameter}[0], got 0.5"),
    ]:
        with pytest.raises(ModelError) as error:
            getattr(dose, name)(doses)
        assert str(error.value) == message


@pytest.mark.parametrize("name", FORMULAS)
def test_wrong_options_are_refused(name):
    build, doses = getattr(dose, name), DOSES[name]
    with pytest.raises(ModelError) as error:
        build(doses, penalty=-0.1)
    assert str(error.value) == "penalty must be at least 0, got -0.1"
    with pytest.raises(ModelError) as error:
        build(doses, domain=(1.0, 1.0))
    assert str(error.value) == "domain must have low < high, got (1.0, 1.0)"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: dose.linear([1.0, 4.0], domain=(0.0, 0.5)),
            "domain must lie in [0, 1 / max(doses)] = [0, 0.25], where the response is 1, "
            "got (0.0, 0.5)",
        ),
        (lambda: dose.logistic([1.0], intercept=math.nan), "intercept must be finite, got nan"),
        (lambda: dose.emax([1.0], hill=0.0), "hill must be positive, got 0.0"),
        (
            lambda: dose.emax([1.0], domain=(0.0, 1.0)),
            "domain must start above 0, got (0.0, 1.0)",
        ),
        (lambda: dose.power([0.1, 1.0]), "skeleton[1] must lie strictly between 0 and 1, got 1.0"),
        (
            lambda: dose.hyperbolic_tangent([0.0, 10.0]),
            "doses[1] must lie between -3 and 3, on a standardised scale, got 10.0",
        ),
        (
            lambda: dose.hyperbolic_tangent([0.0], domain=(-1.0, 1.0)),
            "domain must start at 0 or above, got (-1.0, 1.0)",
        ),
    ],
)
def test_wrong_parameters_are_refused(call, message):
    with pytest.raises(ModelError) as error:
        call()
    assert str(error.value) == message
