"""`ThompsonSampling` draws means above a floor exactly in law, for every posterior."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats as distributions

from globalbandits._types import FloatArray
from globalbandits.compiling.engine import Engine
from globalbandits.policies.independent.thompson_sampling import (
    State,
    bound_posterior,
    draw_above,
    log_gamma,
    posterior,
)
from globalbandits.statistics import Statistics

N = 40_000
# Sums of rewards, and counts. The posterior is Beta(1 + sum, 1 + count - sum).
REWARDS = [
    (0.0, 0),
    (0.0, 1),
    (1.0, 1),
    (0.5, 1),
    (0.1, 3),
    (2.9, 3),
    (0.0, 12),
    (12.0, 12),
    (11.5, 12),
    (30.0, 100),
    (0.3, 10**4),
    (10**4 - 0.3, 10**4),
    (0.0, 10**6),
    (5.0, 10**6),
    (10.0**6 - 5.0, 10**6),
    (10.0**6, 2 * 10**6),
]


class Arm(NamedTuple):
    """The posterior of one arm, and draws from it."""

    stats: Statistics
    state: State
    rng: Any
    draws: FloatArray


def fill(arm: Arm, floor: float) -> None:
    for i in range(arm.draws.shape[0]):
        arm.draws[i] = draw_above(arm.stats, arm.state, 0, floor, arm.rng)


def draw(total, count, floor, n=N, *, interpreted=False):
    """Draw n means above a floor from the posterior after some rewards."""
    stats = Statistics(np.array([count]), np.array([total]), np.array([total]), np.array([count]))
    state = State(np.zeros(1), np.zeros(1), np.zeros(1))
    bound_posterior(stats, state, 0)
    arm = Arm(stats, state, np.random.default_rng(7), np.zeros(n))
    Engine(interpreted=interpreted).bind(fill, "draws", (arm,), 0.0)(floor)
    return arm


@pytest.mark.parametrize("quantile", [0.0, 0.3, 0.7, 0.95, 0.999])
@pytest.mark.parametrize(("total", "count"), REWARDS)
def test_draws_above_a_floor_have_the_law_of_the_posterior(total, count, quantile):
    law = distributions.beta(1.0 + total, 1.0 + count - total)
    floor = float(law.ppf(quantile))
    arm = draw(total, count, floor)
    above = arm.draws[arm.draws > floor]
    assert (arm.draws[arm.draws <= floor] == floor).all()
    # 80 cases: five standard errors of a share, and a probability of a thousandth in all.
    chance = law.sf(floor)
    assert abs(len(above) / N - chance) <= 5 * math.sqrt(chance * (1 - chance) / N)
    ranks = 1.0 - law.sf(above) / chance
    assert distributions.kstest(ranks, "uniform").pvalue > 1e-3 / 80


def test_most_floors_above_the_mean_need_no_direct_draw():
    used = []
    for total, count in REWARDS:
        law = distributions.beta(1.0 + total, 1.0 + count - total)
        used.append(draw(total, count, 0.5, 1).state.starts[0] < law.ppf(0.7))
    # Not for uniform posteriors, and not after rewards of 1 alone, whose density rises up to 1.
    without = [rewards for rewards, is_used in zip(REWARDS, used, strict=True) if not is_used]
    assert set(without) <= {
        (0.0, 0),
        (1.0, 1),
        (12.0, 12),
        (2.9, 3),
        (11.5, 12),
        (10**4 - 0.3, 10**4),
    }


@pytest.mark.parametrize(("total", "count"), [(0.0, 0), (30.0, 100), (5.0, 10**6)])
def test_plain_and_compiled_draws_are_equal(total, count):
    floor = float(distributions.beta(1.0 + total, 1.0 + count - total).ppf(0.8))
    plain, compiled = (draw(total, count, floor, 500, interpreted=how) for how in (True, False))
    assert np.array_equal(plain.draws, compiled.draws)
    assert plain.rng.random() == compiled.rng.random()


def test_floors_outside_of_the_unit_interval():
    assert (draw(30.0, 100, 1.5, 100).draws == 1.5).all()
    assert (draw(30.0, 100, -0.5, 100).draws > 0.0).all()
    assert ((draw(30.0, 100, math.nan, 100).draws) > 0.0).all()


def test_sums_with_rounding_errors():
    stats = Statistics(
        np.array([3] * 3), np.array([3.1, -0.1, math.nan]), np.zeros(3), np.array([9])
    )
    assert [posterior(stats, arm) for arm in range(3)] == [(4.0, 1.0), (1.0, 4.0), (1.0, 4.0)]


@pytest.mark.parametrize("x", [1.0, 1.5, 2.0, 9.999, 10.0, 123.4, 1e6])
def test_log_gamma(x):
    assert math.isclose(log_gamma(x), math.lgamma(x), rel_tol=1e-14, abs_tol=2e-12)
