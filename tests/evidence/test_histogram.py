import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from globalbandits.evidence.histogram import (
    MOST_BINS,
    Histogram,
    add,
    add_many,
    empty,
    holds,
    place,
)
from tests.evidence.compiled import compiled

UNIT = st.floats(0.0, 1.0)
REWARDS = st.lists(st.tuples(st.integers(0, 2), UNIT), max_size=40)


def filled(pairs, n_bins=8):
    histogram = empty(3, n_bins)
    for arm, reward in pairs:
        add(histogram, arm, reward, 1.0)
    return histogram.counts


@given(UNIT, st.integers(1, 16))
def test_a_reward_keeps_its_mean_and_counts_once(reward, n_bins):
    counts = filled([(1, reward)], n_bins)
    assert counts.sum() == 1.0
    assert np.count_nonzero(counts) <= 2
    assert counts.min() >= 0.0
    grain = 2.0**-27 / n_bins
    assert abs(counts[1] @ np.linspace(0, 1, n_bins + 1) - reward) <= grain + 1e-15


@given(REWARDS, st.randoms())
def test_the_order_of_rewards_does_not_matter_to_the_last_bit(pairs, random):
    shuffled = list(pairs)
    random.shuffle(shuffled)
    assert np.array_equal(filled(pairs), filled(shuffled))


@given(REWARDS, REWARDS)
def test_rewards_can_be_taken_back_to_the_last_bit(kept, dropped):
    histogram = Histogram(filled(kept + dropped))
    for arm, reward in dropped:
        add(histogram, arm, reward, -1.0)
    assert np.array_equal(histogram.counts, filled(kept))


@given(REWARDS, st.sampled_from([1, 8, 16]))
def test_many_at_once_are_many_one_by_one(pairs, n_bins):
    histogram = empty(3, n_bins)
    arms = np.array([arm for arm, _ in pairs], dtype=np.int64)
    add_many(histogram, arms, np.array([reward for _, reward in pairs], dtype=float))
    assert np.array_equal(histogram.counts, filled(pairs, n_bins))


@pytest.mark.parametrize(("reward", "knot"), [(0.0, 0), (0.125, 1), (0.5, 4), (1.0, 8)])
def test_a_reward_on_a_knot_is_not_shared(reward, knot):
    assert filled([(0, reward)])[0, knot] == 1.0


@pytest.mark.parametrize("function", [place, compiled(place)], ids=["interpreted", "compiled"])
def test_nothing_lands_outside_of_the_histogram(function):
    for n_bins in (1, 2, 8, 9, MOST_BINS):
        for reward in (math.nan, -math.inf, -1e308, -1e-300, -0.0, 0.0):
            assert function(reward, n_bins) == (0, 0.0)
        for reward in (1.0, 1.0 + 1e-12, 1e308, math.inf):
            assert function(reward, n_bins) == (n_bins - 1, 1.0)
        assert function(5e-324, n_bins) == (0, 0.0)


def test_the_last_reward_below_one_stays_in_the_last_cell():
    almost = math.nextafter(1.0, 0.0)
    assert all(place(almost, n_bins) == (n_bins - 1, 1.0) for n_bins in range(1, MOST_BINS + 1))


@given(REWARDS, UNIT)
def test_a_row_holds_what_was_added_to_it(pairs, reward):
    row = filled([*pairs, (1, reward)])[1]
    assert holds(row, reward)
    assert not holds(filled([])[0], reward)


def test_a_row_does_not_hold_what_it_has_no_room_for():
    row = filled([(0, 0.3)])[0]
    assert not holds(row, 0.31)
    assert not holds(row, 0.29)
    assert not holds(row, 0.9)


def test_compiled_and_interpreted_histograms_have_the_same_bits():
    rng = np.random.default_rng(5)
    quick = compiled(add)
    one, two = empty(4), empty(4)
    for arm, reward in zip(rng.integers(4, size=300).tolist(), rng.random(300), strict=True):
        add(one, arm, reward, 1.0)
        quick(two, arm, reward, 1.0)
    assert np.array_equal(one.counts, two.counts)
