"""UCB1 by hand."""

import math

from globalbandits.model import RewardModel
from globalbandits.policies import UCB1, Learner
from globalbandits.policies.independent.ucb1 import tabulated_bonuses, tabulated_widths
from tests.policies.families import model_of

CROSS = RewardModel.from_functions([lambda theta: theta, lambda theta: 1.0 - theta])


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


def test_bonuses_beyond_the_table_are_those_of_the_formula():
    n_tabulated = tabulated_bonuses().size
    for n_rewards in (n_tabulated - 1, n_tabulated, n_tabulated + 1):
        learner = Learner(UCB1(), CROSS, seed=0, compiled=False)
        learner.update([0] * (n_rewards - 1) + [1], [0.5] * n_rewards)
        index = 0.5 + math.sqrt(2.0 * math.log(n_rewards))
        assert f"{index:.6g}" in learner.explain().reason
        assert learner.select() == 1


def test_widths_in_the_table_and_beyond_it_are_those_of_the_formula():
    learner = Learner(UCB1(), CROSS, seed=0, compiled=False)
    for first in (0, tabulated_widths().size - 3):
        learner.update([0] * first, [0.5] * first)
        for _ in range(4):
            learner.update(0, 0.5)
            n_rewards = learner.pulls[0]
            assert learner.parts[-1].widths.tolist() == [1.0 / math.sqrt(n_rewards), 0.0]
