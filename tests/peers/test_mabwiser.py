"""MABWiser: UCB1, Thompson sampling on rewards 0 and 1, and greedy.

Not compared: its `LinUCB`, which has coefficients per arm where ours are shared.
"""

from globalbandits.policies import UCB1, EpsilonGreedy, ThompsonSampling
from tests.peers.together import MEANS, assert_chosen_as_often, assert_same_choices, import_peer

mab = import_peer("mabwiser", as_module="mabwiser.mab")
ARMS = list(range(len(MEANS)))


def start(theirs):
    """The functions that choose an arm, and that learn a reward."""
    peer = mab.MAB(ARMS, theirs, seed=17)

    def learn(arm, reward):
        fit = peer.partial_fit if peer._is_initial_fit else peer.fit
        fit([arm], [reward])

    return peer.predict, learn


def play(policy, theirs):
    """Its policies must be fitted before they choose: the first plays are forced."""
    assert_same_choices(policy, *start(theirs), forced=len(ARMS))


def test_ucb1():
    play(UCB1(), mab.LearningPolicy.UCB1(alpha=1.0))


def test_greedy():
    play(EpsilonGreedy(epsilon=0), mab.LearningPolicy.EpsilonGreedy(epsilon=0.0))


def test_thompson_sampling_chooses_every_arm_as_often():
    theirs = mab.LearningPolicy.ThompsonSampling()
    assert_chosen_as_often(ThompsonSampling(), *start(theirs))
