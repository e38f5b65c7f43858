"""Policies on models with a value make the choices of naive versions that search grids of means.

A grid of 20,001 means is as fine as the choices need: rewards are not coins, so that no two arms
are worth the same but where a peak lies in both intervals, and peaks are points of the grid.
"""

import numpy as np
import pytest

from globalbandits.model import RewardModel
from globalbandits.policies import IMED, KLUCB, MOSS, UCB1, UCBS, WAGP, ThompsonSampling
from tests.oracles.published_policies import Problem
from tests.oracles.values import ORACLES, Worths
from tests.policies.races import race

POLICIES = (UCB1(), MOSS(), KLUCB(), IMED(), ThompsonSampling(), UCBS(), WAGP())
XS = (0.3, 0.6, 1.0, 1.5, 2.2)


def target(mean, arm):
    """A rate to hit."""
    return -np.abs(mean - 0.35)


def peaks(mean, arm):
    """Two peaks, the heights of which differ from arm to arm."""
    return np.maximum(0.2 - np.abs(mean - 0.2), 0.1 * arm - 2.0 * (mean - 0.75) ** 2)


def falling(mean, arm):
    """The less is observed the better, and arms cost something."""
    return 1.0 - mean**2 - 0.02 * arm


@pytest.mark.parametrize("value", [target, peaks, falling], ids=lambda value: value.__name__)
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.kind)
def test_same_choices(policy, value):
    functions = [lambda theta, x=x: 0.05 + 0.9 * theta * x / (x + 0.6) for x in XS]
    values = [lambda mean, arm=arm: value(mean, arm) for arm in range(len(XS))]
    model = RewardModel.from_functions(functions, values=values)
    problem, worths = Problem(functions), Worths(value, len(XS))
    oracle = ORACLES[policy.kind](problem, worths)
    *_, chosen = race(policy, oracle, model, problem.means(0.7), 250)
    # Where the curves leave no choice, UCB-S plays one arm only.
    assert len(np.unique(chosen)) > 1 or policy.kind == "ucb_s"
