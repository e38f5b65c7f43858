import math

import numpy as np
import pytest

from globalbandits import theory
from globalbandits.errors import ScenarioError
from globalbandits.model import RewardModel
from tests.theory.models import crossing_lines, power, pricing


def test_buw_bound_has_the_printed_constants():
    case = crossing_lines(0.7)
    gaps = np.array([0.4, 0.14])
    expected = 8 * math.log(500) * np.sum(1 / gaps) + 3 * (1 + math.pi**2)
    assert theory.buw_regret(case.model, 0.7, 500).item() == pytest.approx(expected)
    switch = theory.buw_switch_time(case.model, 0.7)
    after = 8 * math.log(switch) * np.sum(1 / gaps) + 3 * (1 + 2 * math.pi**2)
    np.testing.assert_allclose(theory.buw_regret(case.model, 0.7, [switch, 1e30]), after)


def test_buw_worst_case_covers_every_gap():
    times = np.array([10.0, 1e3, 1e6])
    for gap in np.geomspace(1e-6, 1.0, 40):
        # K - 1 arms at one gap: the smaller of what the theorem and the gap itself allow.
        k = 12
        one = np.minimum(times * gap, 8 * (k - 1) * np.log(times) / gap + k * (1 + 2 * math.pi**2))
        model = pricing().model
        assert np.all(one <= theory.buw_worst_case_regret(model, times))


def test_drift_bound_has_the_printed_constants():
    model = pricing().model
    tau, d1, d2 = 1_000.0, 11.080332, 1.805
    expected = tau ** (-2 / 3) + 2 * d2 * d1 * (math.sqrt(12 * math.pi) + 2 * d2) * tau ** (-1 / 3)
    assert theory.average_regret_under_drift(model, tau).item() == pytest.approx(expected, rel=1e-5)


def test_drift_bound_of_the_proof_exceeds_the_printed_one_at_the_theorems_window():
    model = pricing().model
    for tau, half_window in [(1e3, 100), (1e6, 10_000), (1e9, 1_000_000)]:
        proof = theory.average_regret_under_drift(model, tau, half_window)
        assert proof > theory.average_regret_under_drift(model, tau)


def test_drift_bound_falls_with_slower_drift():
    bound = theory.average_regret_under_drift(power().model, np.geomspace(10, 1e12, 20))
    assert np.all(np.diff(bound) < 0)


def test_drift_bound_refuses_what_makes_no_sense():
    model = pricing().model
    with pytest.raises(ScenarioError, match="drift_time must be positive, got 0"):
        theory.average_regret_under_drift(model, 0)
    with pytest.raises(ScenarioError, match="half_window must be at least 1, got 0"):
        theory.average_regret_under_drift(model, 10.0, half_window=0)


def test_bayes_risk_grows_with_the_informativeness():
    times = np.array([10.0, 1e4])
    np.testing.assert_allclose(theory.bayes_risk_growth(pricing().model, times), np.log(times))
    root = RewardModel.from_functions([lambda x: x**2, lambda x: 1 - x**2])
    np.testing.assert_allclose(theory.bayes_risk_growth(root, times), times**0.5, rtol=1e-6)


def test_lower_bound_instance_has_a_theta_on_each_side_of_the_crossing():
    found = theory.lower_bound_instance(exponent=3, distance=0.05)
    below, above = found.thetas
    assert found.model.best_arms(below) == (1,)
    assert found.model.best_arms(above) == (0,)
    assert (below + above) / 2 == pytest.approx(2 ** (-1 / 3))


def test_lower_bound_grows_like_the_root_of_the_horizon():
    horizons = np.array([1e3, 1e4, 1e5, 1e6])
    bounds = [
        theory.lower_bound_instance(exponent=3, distance=t**-0.5).bound(t).item() for t in horizons
    ]
    ratios = np.array(bounds) / np.sqrt(horizons)
    np.testing.assert_allclose(ratios, ratios[-1], rtol=0.15)


def test_lower_bound_is_the_documented_sum():
    found = theory.lower_bound_instance(exponent=1, distance=0.1)
    information = 0.4 * math.log(0.4 / 0.6) + 0.6 * math.log(0.6 / 0.4)
    expected = 0.1 * sum(math.exp(-t * information) for t in range(50))
    assert found.bound(50).item() == pytest.approx(expected)


def test_printed_lower_bound_is_the_papers_line():
    found = theory.lower_bound_instance(exponent=1, distance=0.1)
    a2 = (1 - math.exp(-4 * 0.01 * 1_000 / 0.24)) * 0.24
    assert found.printed_bound(1_000).item() == pytest.approx(2 * 0.1 * a2 / (4 * 0.01))


def test_printed_lower_bound_exceeds_what_a_constant_policy_loses():
    # Always playing one arm costs nothing in one world and the gap in the other.
    found = theory.lower_bound_instance(exponent=3, distance=0.01)
    largest_gap = max(found.model.suboptimality_gap(theta) for theta in found.thetas)
    assert found.printed_bound(8) > 8 * largest_gap
    assert found.bound(8) < 8 * largest_gap


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"exponent": 2, "distance": 0.1}, "exponent must be odd, got 2"),
        ({"exponent": 0, "distance": 0.1}, "exponent must be at least 1, got 0"),
        ({"exponent": 1, "distance": 0.5}, "distance must lie strictly between 0 and 0.5"),
        ({"exponent": 1, "distance": -0.1}, "distance must lie strictly between 0 and 0.5"),
    ],
)
def test_lower_bound_refuses_what_is_no_instance(arguments, message):
    with pytest.raises(ScenarioError, match=message):
        theory.lower_bound_instance(**arguments)
