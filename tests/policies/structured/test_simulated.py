"""The structured policies have the regret to expect of them."""

import math

import pytest

from globalbandits.environments import Environment
from globalbandits.policies import TSC, UCBC, UCBS, GridGreedy, GridThompson
from globalbandits.simulation import simulate
from tests.policies.races import pricing

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")  # what cannot be compiled warns

# Regret on Experiment 1 (theta 0.4, T = 10,000) of an independent prototype, whose own error is
# not known; it printed two or three digits.
EXPECTED = [
    (GridGreedy(likelihood="beta"), 1.0),
    (GridThompson(likelihood="beta"), 1.6),
    (UCBC(alpha=1.0, variance=0.063), 10.0),
    (UCBS(), 27.0),
    (TSC(), 57.0),
]


@pytest.mark.parametrize(
    ("policy", "figure"), EXPECTED, ids=lambda value: getattr(value, "kind", "")
)
def test_regret_is_that_of_the_prototype(policy, figure):
    model, _, theta = pricing()
    env = Environment(model, theta=theta)
    result = simulate(env, [policy], horizon=10_000, runs=40, seed=2026)
    regret = result.dataset.regret.values[0, :, -1]
    error = regret.std(ddof=1) / math.sqrt(len(regret))
    # Three standard errors of ours, the same again for the prototype's, and its last digit.
    digit = 0.05 if figure < 2 else 0.5
    assert abs(regret.mean() - figure) < 3 * math.sqrt(2) * error + digit
