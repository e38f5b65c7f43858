import numpy as np
import pytest

from globalbandits import theory
from globalbandits.errors import ScenarioError
from globalbandits.model import RewardModel
from tests.theory.models import pricing


def test_constants_of_the_pricing_model():
    found = theory.constants(pricing().model)
    p = np.array(pricing().model.arms)
    assert found.inverse_constant == pytest.approx(np.max(1 / (2 * p**2 * (1 - p))), rel=1e-6)
    assert found.inverse_constant == pytest.approx(11.080, abs=5e-4)
    assert found.constant == pytest.approx(1.805, rel=1e-6)
    assert (found.n_arms, found.informativeness) == (12, pytest.approx(1.0))


def test_bounds_are_in_the_units_of_the_model():
    unit = RewardModel.from_functions([lambda x: x, lambda x: 1 - x])
    scaled = RewardModel.from_functions(
        [lambda x: 50 + 2 * x, lambda x: 250 - 2 * x], domain=(0, 100), reward_range=(50, 250)
    )
    times = [1, 10, 1_000]
    for bound in (theory.worst_case_regret, theory.one_step_regret, theory.buw_worst_case_regret):
        np.testing.assert_allclose(bound(scaled, times), 200 * bound(unit, times), rtol=1e-6)
    np.testing.assert_allclose(
        theory.mean_squared_error(scaled, times),
        100**2 * theory.mean_squared_error(unit, times),
        rtol=1e-6,
    )
    here, there = theory.regimes(unit, 0.7), theory.regimes(scaled, 70.0)
    assert there.bounded_from == pytest.approx(here.bounded_from, abs=1)
    assert there.distance == pytest.approx(100 * here.distance)
    np.testing.assert_allclose(there.bound(times), 200 * here.bound(times), rtol=1e-6)
    np.testing.assert_allclose(
        theory.buw_regret(scaled, 70.0, times), 200 * theory.buw_regret(unit, 0.7, times), rtol=1e-6
    )
    np.testing.assert_allclose(
        theory.average_regret_under_drift(scaled, 10.0),
        200 * theory.average_regret_under_drift(unit, 1_000.0),
        rtol=1e-6,
    )


def test_times_before_the_first_are_refused():
    with pytest.raises(ScenarioError, match=r"times must be at least 1, got \[0, 5\]"):
        theory.worst_case_regret(pricing().model, [0, 5])
