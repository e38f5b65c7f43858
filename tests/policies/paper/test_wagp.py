"""Small cases by hand."""

import math

import numpy as np
import pytest

from globalbandits.model import RewardModel
from globalbandits.policies import WAGP, Learner
from tests.policies.families import model_of

CROSS = RewardModel.from_functions([lambda theta: theta, lambda theta: 1.0 - theta])


def test_wagp_weighs_the_arms_estimates_by_their_pulls():
    learner = Learner(WAGP(), CROSS, seed=0)
    learner.update([0, 0, 1], [0.2, 0.4, 0.9])
    # theta_0 = 0.3 with weight 2/3, theta_1 = 0.1 with weight 1/3.
    assert learner.estimate == pytest.approx(0.2 + 0.1 / 3.0)
    assert learner.select() == 1


def test_wagp_inverts_beyond_the_range_to_the_nearer_end():
    learner = Learner(WAGP(), model_of("linear"), seed=0)
    learner.update(3, 1.0)  # its means lie in [0.44, 0.68]
    assert learner.estimate == 1.0
    learner.update(0, 1.0)  # falling from 0.91: theta_0 = 0
    assert learner.estimate == pytest.approx(0.5)


def test_wagp_breaks_a_tie_on_an_edge_at_random():
    learner = Learner(WAGP(), CROSS, seed=np.random.default_rng(3))
    learner.update(0, 0.5)
    chosen = [learner.select() for _ in range(2000)]
    # Four standard errors of the mean of Bernoulli(1/2) draws.
    assert np.mean(chosen) == pytest.approx(0.5, abs=4 * 0.5 / math.sqrt(2000))
    rng = np.random.default_rng(3)
    assert chosen == [int(rng.random() * 2) for _ in range(2000)]


def test_only_the_first_choice_is_random():
    learner = Learner(WAGP(), model_of("pricing"), seed=11)
    first = [learner.select() for _ in range(1200)]
    assert np.bincount(first, minlength=12).min() > 100 - 4 * math.sqrt(1200 * (1 / 12) * (11 / 12))
    learner.update(4, 0.3)
    before = learner.state()
    learner.select()
    assert learner.state() == before
