"""Small cases by hand, and rules that undo and rebuild each other."""

import math

import numpy as np
import pytest

from globalbandits.model import RewardModel
from globalbandits.policies import UCB1, WAGP, Learner
from globalbandits.policies import ucb1 as ucb1_rules
from globalbandits.policies import wagp as wagp_rules
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
    learner = Learner(WAGP(), CROSS, seed=3)
    learner.update(0, 0.5)
    chosen = [learner.select() for _ in range(2000)]
    # Four standard errors of a fair coin's mean.
    assert np.mean(chosen) == pytest.approx(0.5, abs=4 * 0.5 / math.sqrt(2000))
    rng = np.random.default_rng(3)
    assert chosen == [int(rng.random() * 2) for _ in range(2000)]


def test_the_first_arm_is_random_and_the_rest_draws_nothing():
    learner = Learner(WAGP(), model_of("pricing"), seed=11)
    first = [learner.select() for _ in range(1200)]
    assert np.bincount(first, minlength=12).min() > 100 - 4 * math.sqrt(1200 * (1 / 12) * (11 / 12))
    learner.update(4, 0.3)
    before = learner.state()
    learner.select()
    assert learner.state() == before


def test_ucb1_by_hand():
    learner = Learner(UCB1(), CROSS, seed=0)
    assert learner.select() == 0
    learner.update(0, 0.9)
    assert learner.select() == 1
    learner.update(1, 0.2)
    assert learner.select() == 0
    learner.update([0] * 5, [0.2] * 5)
    # Means 0.31667 and 0.2; widths sqrt(2 log 7 / 6) and sqrt(2 log 7).
    assert learner.select() == 1
    assert learner.estimate is None
    index = 0.2 + math.sqrt(2.0 * math.log(7.0))
    assert f"{index:.6g}" in learner.explain().reason


def test_ucb1_breaks_equal_indices_at_random():
    learner = Learner(UCB1(), model_of("linear"), seed=8)
    learner.update(list(range(6)), [0.0, 1.0, 0.0, 1.0, 1.0, 0.0])
    chosen = {learner.select() for _ in range(200)}
    assert chosen == {1, 3, 4}


@pytest.mark.parametrize("rules", [wagp_rules, ucb1_rules], ids=["wagp", "ucb1"])
def test_forgetting_everything_leaves_the_first_state(rules):
    policy = WAGP() if rules is wagp_rules else UCB1()
    setup = policy.setup(model_of("pricing"))
    state = rules.init(setup)
    rng = np.random.default_rng(0)
    pairs = [(int(rng.integers(12)), float(rng.random())) for _ in range(300)]
    for arm, reward in pairs:
        rules.update(setup, state, arm, reward)
    rng.shuffle(pairs)
    for arm, reward in pairs:
        rules.forget(setup, state, int(arm), reward)
    for ours, fresh in zip(state, rules.init(setup), strict=True):
        np.testing.assert_allclose(ours, fresh, rtol=0, atol=1e-11)
    assert state.sums.tolist() == [0.0] * 12


@pytest.mark.parametrize("rules", [wagp_rules, ucb1_rules], ids=["wagp", "ucb1"])
def test_refresh_rebuilds_what_updates_keep(rules):
    policy = WAGP() if rules is wagp_rules else UCB1()
    setup = policy.setup(model_of("pricing"))
    state = rules.init(setup)
    rng = np.random.default_rng(0)
    for _ in range(500):
        rules.update(setup, state, int(rng.integers(9)), float(rng.random()))
    rebuilt = type(state)(*(array.copy() for array in state))
    rules.refresh(setup, rebuilt)
    for ours, theirs in zip(state, rebuilt, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_one_arm_is_enough():
    model = RewardModel.from_functions([lambda theta: theta])
    for policy in (WAGP(), UCB1()):
        learner = Learner(policy, model, seed=0)
        for reward in (0.1, 0.9, 0.4):
            assert learner.select() == 0
            learner.update(0, reward)
