"""UCB1 by hand."""

import math

from globalbandits.model import RewardModel
from globalbandits.policies import UCB1, Learner
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
