"""One spec of every policy of the field, with small grids and windows so that tests are quick."""

from globalbandits.policies import (
    IMED,
    KLUCB,
    MOSS,
    DiscountedUCB,
    EpsilonGreedy,
    ExploreThenCommit,
    SlidingWindowUCB,
    ThompsonSampling,
    UCBTuned,
    Uniform,
)

POLICIES = [
    UCBTuned(),
    KLUCB(c=1.0),
    MOSS(),
    ThompsonSampling(),
    IMED(),
    SlidingWindowUCB(window=40),
    DiscountedUCB(discount=0.95),
    EpsilonGreedy(epsilon=0.2),
    ExploreThenCommit(plays=3),
    Uniform(),
]
ADDITIVE = [policy for policy in POLICIES if policy.rules.additive]
