"""MABWiser: UCB1, Thompson sampling on rewards 0 and 1, and greedy.

Not compared: its `LinUCB`, which has coefficients per arm where ours are shared.
"""

import numpy as np

from globalbandits.policies import UCB1, EpsilonGreedy, ThompsonSampling
from tests.peers.together import MEANS, assert_same_choices, coin, import_peer

mab = import_peer("mabwiser", as_module="mabwiser.mab")
ARMS = list(range(len(MEANS)))


def play(policy, theirs, **options):
    """Its policies must be fitted before they choose: the first plays are forced."""
    peer = mab.MAB(ARMS, theirs, seed=17)

    def learn(arm, reward):
        fit = peer.partial_fit if peer._is_initial_fit else peer.fit
        fit([arm], [reward])

    assert_same_choices(policy, peer.predict, learn, forced=len(ARMS), **options)


def test_ucb1():
    play(UCB1(), mab.LearningPolicy.UCB1(alpha=1.0))


def test_greedy():
    play(EpsilonGreedy(epsilon=0), mab.LearningPolicy.EpsilonGreedy(epsilon=0.0))


def test_thompson_sampling_draws_the_same_numbers():
    # Both draw one Beta number per arm in order, from the same generator with the same seed.
    theirs = mab.LearningPolicy.ThompsonSampling()
    play(ThompsonSampling(), theirs, reward=coin, rng=np.random.default_rng(17))
