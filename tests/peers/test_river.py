"""river: UCB is our UCB1, and its epsilon-greedy is ours without exploration.

Not compared: `ThompsonSampling`, which draws from Python's own generator and takes every reward
but 0 for a success; `LinUCBDisjoint`, which has coefficients per arm where ours are shared.
"""

from globalbandits.policies import UCB1, EpsilonGreedy
from tests.peers.together import MEANS, assert_same_choices, import_peer

bandit = import_peer("river", as_module="river.bandit")
ARMS = list(range(len(MEANS)))


def test_ucb1():
    peer = bandit.UCB(delta=1, burn_in=1)
    assert_same_choices(UCB1(), lambda: peer.pull(ARMS), peer.update)


def test_greedy():
    # With exploration the generators differ; what is left is the rule for the best arm.
    peer = bandit.EpsilonGreedy(epsilon=0.0, burn_in=1)
    assert_same_choices(EpsilonGreedy(epsilon=0), lambda: peer.pull(ARMS), peer.update)
