"""Policies on models with a value make the choices of naive versions that search grids of means.

A grid of 20,001 means is as fine as the choices need: rewards are continuous, so that no two arms
are worth the same but where a peak lies in both intervals, and peaks are points of the grid.
"""

import numpy as np
import pytest

from globalbandits.model import RewardModel
from globalbandits.policies import IMED, KLUCB, MOSS, UCB1, UCBS, WAGP, ThompsonSampling
from tests.oracles.published_policies import Problem
from tests.oracles.values import ORACLES, Worths
from tests.policies.races import race, share_race

POLICIES = (UCB1(), MOSS(), KLUCB(), IMED(), UCBS(), WAGP())
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


def rising(mean, arm):
    """A price per unit, and a fixed cost."""
    return (1.0 + 0.2 * arm) * mean - 0.1 * arm


def problem_with(value):
    """A model with a value, its mean functions, and what means are worth."""
    functions = [lambda theta, x=x: 0.05 + 0.9 * theta * x / (x + 0.6) for x in XS]
    values = [lambda mean, arm=arm: value(mean, arm) for arm in range(len(XS))]
    model = RewardModel.from_functions(functions, values=values)
    return model, Problem(functions), Worths(value, len(XS))


@pytest.mark.parametrize("value", [target, peaks, falling], ids=lambda value: value.__name__)
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.kind)
def test_same_choices(policy, value):
    model, problem, worths = problem_with(value)
    oracle = ORACLES[policy.kind](problem, worths)
    *_, chosen = race(policy, oracle, model, problem.means(0.7), 250)
    # Where the curves leave no choice, UCB-S plays one arm only.
    assert len(np.unique(chosen)) > 1 or policy.kind == "ucb_s"


@pytest.mark.parametrize("n_rewards", [10, 200])
@pytest.mark.parametrize(
    "value", [target, peaks, falling, rising], ids=lambda value: value.__name__
)
def test_thompson_sampling_chooses_every_arm_as_often(value, n_rewards):
    model, problem, worths = problem_with(value)
    assert model.tables.affine_increasing == (value is rising)
    oracle = ORACLES["thompson_sampling"](problem, worths)
    found = share_race(ThompsonSampling(), oracle, model, problem.means(0.7), n_rewards, n=2000)
    assert np.count_nonzero(found) > 1
