import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from globalbandits.errors import EvidenceError, StateError
from globalbandits.evidence import drift_test
from globalbandits.evidence.histogram import (
    MOST_BINS,
    Histogram,
    TimedHistogram,
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


@pytest.mark.parametrize("n_bins", [1, 3, 8])
def test_weights_are_rounded_to_the_nearest_grain(n_bins):
    rng = np.random.default_rng(0)
    for reward in [*rng.random(40).tolist(), 2.0**-27, 2.0**-28, 0.75 * 2.0**-26, 1 - 2.0**-40]:
        knot, share = place(reward, n_bins)
        position = Fraction(reward * n_bins)
        expected = math.floor((position - math.floor(position)) * 2**26 + Fraction(1, 2))
        assert (knot, share * 2**26) == (math.floor(position), expected)


def test_a_row_holds_a_reward_with_exactly_enough_room():
    # Of a reward of 0.3125 three quarters are at the knot 1/4, and one quarter at 1/2.
    assert holds(np.array([0.0, 0.75, 0.25, 0.0, 0.0]), 0.3125)
    for row in ([0.0, 0.74, 0.26, 0.0, 0.0], [0.0, 0.76, 0.24, 0.0, 0.0]):
        assert not holds(np.array(row), 0.3125)


def clocked(rewards, every=10, n_arms=2):
    tally = TimedHistogram(n_arms, 4, every)
    for number, reward in enumerate(rewards):
        tally.note(number % n_arms, reward)
    return tally


def rewards_of(n, seed=0):
    return (np.random.default_rng(seed).integers(0, 17, n) / 16).tolist()


def everything(tally):
    times, copies = drift_test.kept(tally.snapshots, tally.clock + 1)
    return (
        tally.bins,
        tally.every,
        tally.clock,
        tally.since,
        tally.counts.tolist(),
        times.tolist(),
        copies.tolist(),
        [part.tolist() for part in tally.history()],
    )


@pytest.mark.parametrize("n_first", [0, 1, 9, 10, 11, 25])
@pytest.mark.parametrize("n_more", [0, 1, 5, 9, 10, 11, 40])
def test_many_rewards_are_noted_as_one_by_one(n_first, n_more):
    rewards = rewards_of(n_first + n_more)
    tally = clocked(rewards[:n_first])
    arms = np.arange(n_first, n_first + n_more) % 2
    tally.note_many(arms, np.array(rewards[n_first:], float))
    assert everything(tally) == everything(clocked(rewards))
    soft = clocked(rewards[:n_first])
    for arm, reward in zip(arms.tolist(), rewards[n_first:], strict=True):
        add(soft.soft_counts, arm, reward, 1.0)
        soft.tick()
    assert everything(soft) == everything(tally)


@pytest.mark.parametrize("number", [1, 10, 11, 20, 21, 40, 41, 45])
def test_a_numbered_reward_is_taken_out_of_exactly_the_copies_that_hold_it(number):
    rewards = rewards_of(45)
    tally = clocked(rewards)
    tally.mark()
    tally.take_back((number - 1) % 2, rewards[number - 1], number)
    times, copies = tally.history()
    assert times.tolist() == [10, 20, 30, 40, 45]
    for time, copy in zip(times.tolist(), copies, strict=True):
        expected = empty(2, 4)
        for before, reward in enumerate(rewards[:time]):
            if before != number - 1:
                add(expected, before % 2, reward, 1.0)
        assert np.array_equal(copy, expected.counts)
    assert (tally.clock, tally.since) == (45, 0)


def test_a_number_is_in_the_stretch_that_ends_with_it():
    # Reward 20 is the last one before the copy of that time, and reward 21 the first after it.
    tally = clocked([0.0] * 20 + [1.0] * 20)
    for number in (1, 20):
        with pytest.raises(EvidenceError, match=f"with this reward, got {number}"):
            tally.take_back(0, 1.0, number)
    for number in (21, 40):
        with pytest.raises(EvidenceError, match=f"with this reward, got {number}"):
            tally.take_back(0, 0.0, number)
    before = everything(tally)
    with pytest.raises(EvidenceError, match="number must be at most 40, got 41"):
        tally.take_back(0, 1.0, 41)
    assert everything(tally) == before
    tally.take_back(0, 1.0, 40)
    tally.take_back(0, 0.0, 20)
    tally.take_back(1, 1.0, 21)
    assert tally.counts.sum() == 37


def test_merging_adds_clocks_and_drops_copies():
    one, two = clocked(rewards_of(25)), clocked(rewards_of(13, seed=1))
    one.mark()
    counts = one.counts + two.counts
    one.merge(two, None)
    assert (one.clock, one.since) == (38, 38)
    assert np.array_equal(one.counts, counts)
    assert [part.tolist() for part in one.history()] == [[38], [counts.tolist()]]
    # Without the common past nothing may be left, and less than nothing is an error.
    past = one.counts.copy()
    other = one.copy()
    other.merge(one.copy(), past)
    assert (other.clock, other.since) == (38, 38)
    assert np.array_equal(other.counts, past)
    emptied = one.copy()
    emptied.merge(clocked([]), past)
    assert (emptied.clock, emptied.counts.any()) == (0, False)
    message = "evidence to merge must still hold the common past, got some that has forgotten the"
    with pytest.raises(StateError, match=message):
        clocked([]).merge(clocked([]), past)


def test_copies_are_independent():
    tally = clocked(rewards_of(45))
    tally.mark()
    tally.take_back(0, rewards_of(45)[44], None)
    for reward in rewards_of(21, seed=2):
        tally.note(1, reward)
    tally.mark()
    expected = everything(tally)
    assert expected[2:4] == (66, 45)
    for twin in (tally.copy(), pickle.loads(pickle.dumps(tally))):
        assert everything(twin) == expected
        for reward in rewards_of(30, seed=3):
            twin.note(0, reward)
        twin.mark()
        assert twin.counts.sum() == tally.counts.sum() + 30
        assert everything(tally) == expected


def test_rewards_move_to_a_new_list_of_arms():
    tally = clocked(rewards_of(45), n_arms=3)
    moved = tally.moved([2, None, 0, None])
    assert (moved.bins, moved.every, moved.clock, moved.since) == (4, 10, 45, 0)
    for old, new in (
        (tally.counts, moved.counts),
        *zip(
            drift_test.kept(tally.snapshots, 46)[1],
            drift_test.kept(moved.snapshots, 46)[1],
            strict=True,
        ),
    ):
        assert np.array_equal(new, np.stack([old[2], 0 * old[0], old[0], 0 * old[0]]))
    assert drift_test.kept(moved.snapshots, 46)[0].tolist() == [10, 20, 30, 40]


def test_the_largest_parameters_are_accepted():
    tally = TimedHistogram(1, MOST_BINS, drift_test.MAX_EVERY)
    assert (tally.bins, tally.every) == (1_024, 1_000_000_000)
    too_large = {"bins": (MOST_BINS + 1, 1), "every": (1, drift_test.MAX_EVERY + 1)}
    for name, parameters in too_large.items():
        with pytest.raises(EvidenceError, match=f"{name} must be at most "):
            TimedHistogram(1, *parameters)
    assert empty(3).counts.shape == (3, 9)
