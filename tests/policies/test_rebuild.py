"""State follows from statistics: rebuilding gives what updating gives, to the last bit."""

import numpy as np
import pytest

from globalbandits.model import RewardModel
from globalbandits.policies import (
    BUW,
    IMED,
    KLUCB,
    MOSS,
    UCB1,
    WAGP,
    DiscountedUCB,
    EpsilonGreedy,
    ExploreThenCommit,
    SlidingWindowUCB,
    ThompsonSampling,
    UCBTuned,
)
from globalbandits.statistics import count, no_statistics, uncount
from tests.policies.families import model_of

POLICIES = [
    WAGP(),
    BUW(scale=0.00025),
    UCB1(),
    UCBTuned(),
    KLUCB(c=1.0),
    MOSS(),
    IMED(),
    EpsilonGreedy(),
    ThompsonSampling(),
    IMED(variance="learned"),
    ThompsonSampling(variance="learned"),
]
every_policy = pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.label)
N_ARMS = 12


def feed(policy, pairs):
    setup = policy.setup(model_of("pricing"))
    stats, state = no_statistics(N_ARMS), policy.rules.init(setup)
    for arm, reward in pairs:
        count(stats, arm, reward)
        policy.rules.update(setup, stats, state, arm, reward)
    return setup, stats, state


def some_rewards(n, n_arms=N_ARMS, seed=0):
    rng = np.random.default_rng(seed)
    return [(int(rng.integers(n_arms)), float(rng.random())) for _ in range(n)]


def arrays_of(value):
    if isinstance(value, np.ndarray):
        return [value]
    return [array for field in value for array in arrays_of(field)]


def assert_same_bits(one, other):
    for mine, theirs in zip(arrays_of(one), arrays_of(other), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(("n", "n_arms"), [(0, N_ARMS), (7, N_ARMS), (500, 9), (500, N_ARMS)])
@every_policy
def test_rebuilding_is_updating(policy, n, n_arms):
    setup, stats, state = feed(policy, some_rewards(n, n_arms))
    # From nothing, from the state of other rewards, and from an impossible state.
    _, _, other = feed(policy, some_rewards(300, seed=1))
    _, _, broken = feed(policy, [])
    for array in arrays_of(broken):
        array[...] = 77
    for start in (policy.rules.init(setup), other, broken):
        policy.rules.rebuild(setup, stats, start)
        assert_same_bits(start, state)


@every_policy
def test_forgetting_everything_leaves_the_first_state(policy):
    pairs = some_rewards(300)
    setup, stats, state = feed(policy, pairs)
    for at in np.random.default_rng(2).permutation(300):
        uncount(stats, *pairs[at])
    policy.rules.rebuild(setup, stats, state)
    assert_same_bits(state, policy.rules.init(setup))
    assert_same_bits(stats, no_statistics(N_ARMS))


@every_policy
def test_one_arm_is_enough(policy):
    setup = policy.setup(RewardModel.from_functions([lambda theta: theta]))
    stats, state = no_statistics(1), policy.rules.init(setup)
    rng = np.random.default_rng(0)
    for reward in (0.1, 0.9, 0.4):
        assert policy.rules.select(setup, stats, state, rng) == 0
        count(stats, 0, reward)
        policy.rules.update(setup, stats, state, 0, reward)


ORDERED = [SlidingWindowUCB(window=15), DiscountedUCB(), ExploreThenCommit(plays=2)]
MODEL_FREE = [policy for policy in POLICIES if policy.kind not in ("wagp", "buw")]


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, -3.0, 1e300])
@pytest.mark.parametrize("policy", MODEL_FREE + ORDERED, ids=lambda policy: policy.kind)
def test_a_valid_arm_is_chosen_after_any_rewards(policy, wrong):
    rewards = [(step % N_ARMS, wrong if step % 5 == 2 else 0.4) for step in range(40)]
    with np.errstate(all="ignore"):
        setup, stats, state = feed(policy, rewards)
        for seed in range(5):
            arm = policy.rules.select(setup, stats, state, np.random.default_rng(seed))
            assert 0 <= arm < N_ARMS
