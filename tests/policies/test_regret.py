"""The field's policies have the regret to expect of them."""

import math

import pytest

from globalbandits.environments import Environment
from globalbandits.policies import (
    IMED,
    KLUCB,
    MOSS,
    ThompsonSampling,
    UCBTuned,
)
from globalbandits.simulation import simulate
from tests.policies.races import pricing

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")  # what cannot be compiled warns


@pytest.fixture(scope="module")
def env():
    model, _, theta = pricing()
    return Environment(model, theta=theta)


# Regret on Experiment 1 (theta 0.4, T = 10,000) of an independent prototype, whose own error is
# not known; it printed two or three digits.
EXPECTED = [
    (ThompsonSampling(), 94.0),
    (IMED(), 98.0),
    (UCBTuned(), 105.0),
    (MOSS(), 109.0),
    (KLUCB(), 119.0),
]


@pytest.mark.parametrize(
    ("policy", "figure"), EXPECTED, ids=lambda value: getattr(value, "kind", "")
)
def test_regret_is_that_of_the_prototype(policy, figure, env):
    result = simulate(env, [policy], horizon=10_000, runs=40, seed=2026)
    regret = result.dataset.regret.values[0, :, -1]
    error = regret.std(ddof=1) / math.sqrt(len(regret))
    # Three standard errors of ours, the same again for the prototype's, and its last digit.
    digit = 0.05 if figure < 2 else 0.5
    assert abs(regret.mean() - figure) < 3 * math.sqrt(2) * error + digit
