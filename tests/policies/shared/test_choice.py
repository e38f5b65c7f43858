import numpy as np
import pytest

from globalbandits.policies.shared.worth import (
    choose_largest,
    choose_upper_bound,
)


class NoRandomness:
    """Fails the test if a random number is drawn."""

    def random(self):
        raise AssertionError("a random number was drawn without a tie")


class Fixed:
    def __init__(self, value):
        self.value = value

    def random(self):
        return self.value


CHOOSERS = {
    "largest": lambda values, rng: choose_largest(np.array(values), rng),
    "upper bound": lambda values, rng: choose_upper_bound(
        np.array(values) - 3.0, np.full(len(values), 1.5), 2.0, rng
    ),
}


@pytest.mark.parametrize("choose", CHOOSERS.values(), ids=CHOOSERS)
@pytest.mark.parametrize(
    ("values", "expected"), [([7.0], 0), ([1.0, 3.0, 2.0], 1), ([1.0, 1.0, 2.0], 2)]
)
def test_no_tie_no_random_number(choose, values, expected):
    assert choose(values, NoRandomness()) == expected


@pytest.mark.parametrize("choose", CHOOSERS.values(), ids=CHOOSERS)
def test_ties_are_broken_by_one_draw_over_the_tied_arms(choose):
    values = [0.0, 4.0, 2.0, 4.0, 4.0, 1.0]
    picked = [choose(values, Fixed(draw)) for draw in (0.0, 0.33, 0.34, 0.66, 0.67, 0.999)]
    assert picked == [1, 1, 3, 3, 4, 4]


@pytest.mark.parametrize("choose", CHOOSERS.values(), ids=CHOOSERS)
def test_ties_are_broken_evenly(choose):
    rng = np.random.default_rng(5)
    n = 6000
    counts = np.bincount([choose([1.0, 0.0, 1.0, 1.0], rng) for _ in range(n)], minlength=4)
    assert counts[1] == 0
    # Four standard errors of a binomial count with p = 1/3.
    assert np.abs(counts[[0, 2, 3]] - n / 3).max() < 4.0 * np.sqrt(n * 2.0 / 9.0)
