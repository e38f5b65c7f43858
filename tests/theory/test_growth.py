import math

import numpy as np
import pytest

from globalbandits import theory
from globalbandits.model import Holder, RewardModel
from tests.theory.models import crossing_lines, pricing


def last_broken(factor):
    """The last integer that breaks t >= factor log(t), by search."""
    t = np.arange(1, 200_000)
    return int(t[t < factor * np.log(t)][-1])


def test_times_are_those_of_a_direct_search():
    model = crossing_lines().model
    c = theory.constants(model)
    distances = np.array([0.1, 0.2, 0.35])
    factors = (c.inverse_constant * c.n_arms / distances) ** (2.0 / c.inverse_exponent)
    first, second = (
        theory.logarithmic_time(model, distances),
        theory.bounded_time(model, distances),
    )
    assert first.tolist() == [last_broken(factor / 2) + 1 for factor in factors]
    assert second.tolist() == [last_broken(factor) + 1 for factor in factors]


def test_times_at_the_ends_of_the_scale():
    model = pricing().model
    assert theory.bounded_time(model, 0.0) == math.inf
    assert theory.bounded_time(model, 1e-200) == math.inf
    assert math.isfinite(theory.bounded_time(model, 1e-100))
    # A single arm that is never wrong can be so informative that no time has to pass.
    sure = RewardModel.from_functions([lambda x: x])
    assert theory.logarithmic_time(sure, 1.0) == 1.0


def test_pricing_needs_longer_than_the_paper_shows():
    # The value the project's notes give for BUW's switch at theta = 0.4.
    assert theory.buw_switch_time(pricing().model, 0.4) == pytest.approx(2.5e11, rel=0.02)


def test_bound_is_increasing_and_joins_the_regimes():
    found = theory.regimes(crossing_lines().model, 0.8)
    first, second = found.logarithmic_from, found.bounded_from
    times = np.array([1, first - 1, first, second - 1, second, 10 * second, 1e300])
    bound = found.bound(times)
    assert np.all(np.diff(bound) >= 0)
    early = found.offset + found.slope * first**found.power
    assert bound[2] == pytest.approx(early + 1.0)
    assert bound[3] == pytest.approx(early + 1.0 + 6.0 * math.log((second - 1) / first))
    late = early + 1.0 + 6.0 * math.log(second / first) + math.pi**2
    assert bound[4] == bound[5] == bound[6] == found.limit
    assert found.limit == pytest.approx(late)


def test_text_states_when_regret_stops_growing():
    found = theory.regimes(pricing().model, 0.4)
    text = str(found)
    assert "arm 0.85 is best" in text
    assert f"t = {found.bounded_from:.3g} (C2)" in text
    assert "After C2 it stops growing" in text


def test_text_states_where_the_number_exceeds_a_float():
    # Valid constants, only far from tight: lines change by at least |theta - theta'|**16.
    loose = Holder([1, 1], [16, 16], [1, 1], [1, 1])
    model = RewardModel.from_functions([lambda x: x, lambda x: 1 - x], holder=loose)
    found = theory.regimes(model, 0.5 + 1e-10)
    assert found.bounded_from == math.inf
    assert found.limit == math.inf
    assert "C2 exceeds every float" in str(found)
    assert np.all(np.isfinite(found.bound([1, 1e6])))


def test_tied_arms_are_named_together():
    tied = crossing_lines(0.5)
    found = theory.regimes(tied.model, 0.5)
    assert found.best_arms == (0, 1)
    assert "arm 0 and arm 1 are best" in str(found)
