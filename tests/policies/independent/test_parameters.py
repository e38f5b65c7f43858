"""Wrong parameters of the policies that do not use the model."""

import pytest

from globalbandits.errors import PolicyError
from globalbandits.policies import (
    IMED,
    KLUCB,
    DiscountedUCB,
    EpsilonGreedy,
    ExploreThenCommit,
    FixedArm,
    SlidingWindowUCB,
    ThompsonSampling,
)
from tests.policies.races import pricing


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: KLUCB(c=-1), "c must not be negative, got -1"),
        (lambda: SlidingWindowUCB(window=0), "window must be at least 1, got 0"),
        (lambda: SlidingWindowUCB(xi=0), "xi must be positive, got 0"),
        (lambda: DiscountedUCB(discount=1), "discount must lie strictly between 0 and 1, got 1"),
        (lambda: DiscountedUCB(xi=-1), "xi must be positive, got -1"),
        (lambda: EpsilonGreedy(epsilon=1.5), "epsilon must lie in [0, 1], got 1.5"),
        (lambda: ExploreThenCommit(plays=0), "plays must be at least 1, got 0"),
        (lambda: IMED(variance=0.1), "variance must be one of coin, learned, got 0.1"),
        (lambda: ThompsonSampling(variance="a"), "variance must be one of coin, learned, got 'a'"),
        (lambda: FixedArm(-1), "arm must be at least 0, got -1"),
        (lambda: FixedArm(12).setup(pricing()[0]), "arm must be at most 11, the last arm, got 12"),
    ],
)
def test_a_wrong_parameter_is_named_with_its_rule_and_value(build, message):
    with pytest.raises(PolicyError) as error:
        build()
    assert message in str(error.value)
