"""pymab: KL-UCB, MOSS, sliding window, discount, Thompson sampling, LinUCB and greedy.

Its clock counts rewards where ours counts rounds, so `step` is put forward while it chooses; the
Python version of its policies allows that. Not compared: its `UCBPolicy`, which takes log(t)
where UCB1 takes log(t - 1).
"""

import numpy as np

from globalbandits.policies import (
    KLUCB,
    MOSS,
    DiscountedUCB,
    EpsilonGreedy,
    LinUCB,
    SlidingWindowUCB,
    ThompsonSampling,
)
from tests.peers.together import (
    MEANS,
    assert_chosen_as_often,
    assert_same_choices,
    import_peer,
    model,
)

import_peer("pymab")
ucb = import_peer("pymab", as_module="pymab._reference.policies.ucb")
changing = import_peer("pymab", as_module="pymab._reference.policies.nonstationary")
thompson = import_peer("pymab", as_module="pymab._reference.policies.thompson_sampling")
contextual = import_peer("pymab", as_module="pymab._reference.policies.contextual_bandits")
greedy = import_peer("pymab", as_module="pymab._reference.policies.greedy")
N = len(MEANS)


def play(policy, peer, *, ahead=1, **options):
    rng = np.random.default_rng(0)

    def choose():
        peer.step += ahead
        arm = peer.select_action(rng=rng)
        peer.step -= ahead
        return arm

    def learn(arm, reward):
        peer.update(action=arm, reward=reward)

    assert_same_choices(policy, choose, learn, **options)


def test_kl_ucb():
    # Its `update` accepts rewards 0 and 1 only; its estimates are correct for others, too.
    peer = ucb.KLUCBPolicy(n_arms=N, c=3.0, tolerance=1e-15, max_iterations=100)

    def choose():
        peer.step += 1
        arm = peer.select_action(rng=np.random.default_rng(0))
        peer.step -= 1
        return arm

    def learn(arm, reward):
        super(ucb.KLUCBPolicy, peer).update(action=arm, reward=reward)

    assert_same_choices(KLUCB(c=3), choose, learn)


def test_moss_with_the_current_round_for_its_horizon():
    peer = ucb.MOSSPolicy(n_arms=N, horizon=N)

    def choose():
        peer.horizon = peer.step + 1
        return peer.select_action(rng=np.random.default_rng(0))

    def learn(arm, reward):
        peer.update(action=arm, reward=reward)

    assert_same_choices(MOSS(), choose, learn)


def test_sliding_window_ucb():
    peer = changing.SlidingWindowUCBPolicy(n_arms=N, c=0.6, window_size=100)
    play(SlidingWindowUCB(window=100), peer)


def test_discounted_ucb():
    # Its bonus is sqrt(c log n / N), ours 2 sqrt(xi log n / N).
    peer = changing.DiscountedUCBPolicy(n_arms=N, c=2.4, discount_factor=0.98)
    play(DiscountedUCB(discount=0.98), peer, ahead=0)


def test_thompson_sampling_chooses_every_arm_as_often():
    peer = thompson.BernoulliThompsonSamplingPolicy(n_arms=N)
    rng = np.random.default_rng(0)

    def learn(arm, reward):
        peer.update(action=arm, reward=reward)

    assert_chosen_as_often(ThompsonSampling(), lambda: peer.select_action(rng=rng), learn)


def test_lin_ucb_where_shared_and_separate_coefficients_are_the_same():
    features = np.eye(N)
    policy = LinUCB(features=features.tolist())
    width = policy.setup(model()).width
    peer = contextual.LinUCBPolicy(n_arms=N, n_features=N, alpha=width)

    def choose():
        return peer.select_action(context=features, rng=np.random.default_rng(0))

    def learn(arm, reward):
        peer.update(action=arm, reward=reward, context=features)

    # While arms are unplayed they tie, and each side breaks ties by its own draws.
    assert_same_choices(policy, choose, learn, forced=N)


def test_greedy():
    peer = greedy.GreedyPolicy(n_arms=N)
    play(EpsilonGreedy(epsilon=0), peer, ahead=0, forced=N)
