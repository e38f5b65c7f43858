"""Counting: the one place, against plain sums."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from globalbandits import statistics

REWARDS = st.lists(st.tuples(st.integers(0, 3), st.floats(0.0, 1.0)), max_size=40)


def counted(data):
    stats = statistics.no_statistics(4)
    for arm, reward in data:
        statistics.count(stats, arm, reward)
    return stats


@given(REWARDS)
def test_counts_and_sums_are_plain_sums(data):
    stats = counted(data)
    for arm in range(4):
        rewards = [reward for k, reward in data if k == arm]
        assert stats.counts[arm] == len(rewards)
        assert np.isclose(stats.sums[arm], sum(rewards))
        assert np.isclose(stats.squares[arm], sum(x * x for x in rewards))
    assert stats.total[0] == len(data)
    assert statistics.are_possible(stats)


@given(REWARDS, REWARDS)
def test_uncounted_rewards_leave_no_trace(kept, taken):
    stats = counted(kept + taken)
    for arm, reward in taken:
        statistics.uncount(stats, arm, reward)
    plain = counted(kept)
    assert np.array_equal(stats.counts, plain.counts)
    assert np.allclose(stats.sums, plain.sums, atol=1e-12)
    assert np.allclose(stats.squares, plain.squares, atol=1e-12)
    assert not stats.sums[stats.counts == 0].any()
    assert statistics.are_possible(stats)


@given(REWARDS, REWARDS)
def test_statistics_add_up(one, other):
    both, whole = counted(one), counted(one + other)
    statistics.add(both, counted(other), 1)
    assert np.array_equal(both.counts, whole.counts)
    assert np.allclose(both.sums, whole.sums)
    assert np.allclose(both.squares, whole.squares)
    assert both.total[0] == whole.total[0]
    statistics.add(both, counted(other), -1)
    assert np.array_equal(both.counts, counted(one).counts)


def test_assign_clear_and_copy():
    stats = counted([(0, 0.5), (2, 1.0)])
    twin = statistics.copy(stats)
    statistics.clear(stats)
    assert stats.total[0] == 0
    assert twin.total[0] == 2
    statistics.assign(stats, twin)
    assert all(np.array_equal(a, b) for a, b in zip(stats, twin, strict=True))
    statistics.count(stats, 1, 1.0)
    assert twin.counts[1] == 0


def test_impossible_statistics_are_seen():
    good = counted([(0, 0.5), (0, 0.7), (1, 1.0)])
    changes = {
        "counts": [-1, 0, 0, 0],
        "sums": [2.5, 1.0, 0.0, 0.0],
        "squares": [1.3, 1.0, 0.0, 0.0],
        "total": [4],
    }
    for field, values in changes.items():
        wrong = good._replace(**{field: np.array(values, getattr(good, field).dtype)})
        assert not statistics.are_possible(wrong)
    # Two rewards that sum to 1.2 have squares of at least 0.72.
    assert not statistics.are_possible(good._replace(squares=np.array([0.71, 1.0, 0.0, 0.0])))


def test_rounding_errors_may_grow_with_the_number_of_rewards():
    n = 999_999  # the tolerance is 1e-9 for each reward, so about 1e-3
    whole, part = (statistics.no_statistics(1) for _ in range(2))
    statistics.count_many(whole, np.zeros(n, np.int64), np.ones(n))
    statistics.count_many(part, np.zeros(n - 1, np.int64), np.ones(n - 1))
    for error, is_rounding in ((5e-4, True), (2e-3, False)):
        less = part._replace(sums=part.sums - error, squares=part.squares - error)
        assert statistics.are_part(less, whole) is is_rounding
        more = whole._replace(sums=whole.sums + error, squares=whole.squares + error)
        assert statistics.are_possible(more) is is_rounding


def of_sums(counts, sums, squares):
    counts = np.array(counts, np.int64)
    total = np.array([counts.sum()])
    return statistics.Statistics(counts, np.array(sums, float), np.array(squares, float), total)


def as_lists(stats):
    return [field.tolist() for field in stats]


def test_empty_statistics():
    assert as_lists(statistics.no_statistics(3)) == [[0, 0, 0], [0.0] * 3, [0.0] * 3, [0]]
    weighted = statistics.no_weighted_statistics(3)
    assert as_lists(weighted) == [[0.0] * 3, [0.0] * 3, [0.0] * 3, [0.0]]
    weighted.counts[1] += 0.5
    weighted.total[0] += 0.5
    assert as_lists(weighted)[::3] == [[0.0, 0.5, 0.0], [0.5]]


def test_many_rewards_are_counted_as_one_by_one():
    data = [(0, 0.5), (2, 0.25), (2, 1.0), (0, 0.0), (2, 0.7)]
    stats = counted(data[:2])
    arms, rewards = zip(*data[2:], strict=True)
    statistics.count_many(stats, np.array(arms), np.array(rewards))
    assert as_lists(stats) == as_lists(counted(data))


def test_one_arm_is_assigned_and_the_total_follows():
    stats, other = counted([(0, 0.5), (1, 1.0), (1, 0.25)]), counted([(1, 0.75), (2, 0.5)])
    statistics.assign_arm(stats, other, 1)
    assert as_lists(stats) == as_lists(counted([(0, 0.5), (1, 0.75)]))
    statistics.assign_arm(stats, other, 2)
    assert as_lists(stats) == as_lists(counted([(0, 0.5), (1, 0.75), (2, 0.5)]))
    statistics.assign_arm(stats, other, 0)
    assert as_lists(stats) == as_lists(other)


def test_cleared_statistics_are_empty_and_assigned_ones_equal():
    stats, full = counted([(0, 0.5), (2, 1.0), (2, 0.25)]), counted([(1, 0.75), (3, 0.5)])
    statistics.assign(stats, full)
    assert as_lists(stats) == as_lists(full)
    statistics.clear(stats)
    assert as_lists(stats) == as_lists(statistics.no_statistics(4))


@pytest.mark.parametrize(
    ("before", "reward", "after"),
    [
        ((3, 2.0, 1.5), 0.5, (2, 1.5, 1.25)),
        ((2, 1.5, 1.25), 1.0, (1, 0.5, 0.25)),
        # Rounding must not leave sums that no rewards in [0, 1] have.
        ((2, 0.25, 0.0625), 0.5, (1, 0.0, 0.0)),
        ((3, 2.75, 2.625), 0.25, (2, 2.0, 2.0)),
        ((1, 0.25, 0.125), 0.75, (0, 0.0, 0.0)),
    ],
)
def test_a_reward_is_removed(before, reward, after):
    stats = of_sums(*([number] for number in before))
    statistics.uncount(stats, 0, reward)
    assert as_lists(stats) == [[number] for number in (*after, after[0])]


def slack_of(count):
    """The tolerance for rounding errors of a sum of rewards: 1e-9, and 1e-9 for each reward."""
    return 1e-9 * (1.0 + count)


# Sums of three rewards, one of which is removed. The other two have the sum 1.5, so their squares
# have a sum between 1.125 (0.75 twice) and 1.25 (1 and 0.5).
@pytest.mark.parametrize(
    ("sums", "squares", "reward", "holds"),
    [
        ([0, 0.0, 0.0], None, 0.0, False),
        ([1, 0.5, 0.25], None, 0.5, True),
        ([1, 0.5, 0.25], None, 0.5 + 2e-9, False),
        ([1, 0.5, 0.25], None, 0.5 - 2e-9, False),
        ([1, 0.5, 0.25], None, 0.5 - 5e-10, True),
        ([2, 1.0, 0.52], None, 0.5, False),  # the other would have a square of 0.27, not 0.25
        ([2, 1.0, 0.48], None, 0.5, False),
        ([2, 1.0, 0.5], None, 0.5, True),
        ([2, 0.75, 0.5], None, 0.875, False),  # less than 0 remains
        ([3, 2.0, 1.375], None, 0.5, True),
        ([3, 2.0, 1.375 - 2e-9], None, 0.5, True),
        ([3, 2.0, 1.375 - 4e-9], None, 0.5, False),
        ([3, 2.0, 1.5], None, 0.5, True),
        ([3, 2.0, 1.5 + 2e-9], None, 0.5, True),
        ([3, 2.0, 1.5 + 4e-9], None, 0.5, False),
        ([3, 3.0, 3.0], None, 1.0, True),
        ([3, 3.0, 3.0], None, 0.75, False),  # more than 2 remains
        # Exactly at the tolerance, and beyond it.
        ([3, 0.0, 0.0], None, slack_of(2), True),
        ([3, 0.0, 0.0], None, 1.5 * slack_of(2), False),
        ([3, 2.0 + slack_of(2), 2.0], None, 0.0, True),
        ([3, 2.0 + 1.5 * slack_of(2), 2.0], None, 0.0, False),
        ([3, 0.0, -slack_of(2)], None, 0.0, True),
        ([3, 0.0, slack_of(2)], None, 0.0, True),
        ([3, 2.0, 2.0 + 1.5 * slack_of(2)], None, 0.0, False),
    ],
)
def test_a_reward_may_be_among_those_counted(sums, squares, reward, holds):
    stats = of_sums([7, sums[0]], [7.0, sums[1]], [7.0, sums[2]])
    assert statistics.may_hold(stats, 1, reward) is holds


@pytest.mark.parametrize(
    ("count", "total", "squares", "possible"),
    [
        (0, 0.0, 0.0, True),
        (0, slack_of(0), 0.0, True),
        (0, 1.5 * slack_of(0), 0.0, False),
        (3, -slack_of(3), 0.0, True),
        (3, -1.5 * slack_of(3), 0.0, False),
        (3, 3.0, 3.0, True),
        (3, 3.0 + slack_of(3) / 2, 3.0, True),
        (3, 3.0 + 1.5 * slack_of(3), 3.0 + slack_of(3), False),
        (3, 1.5, 1.5, True),
        (3, 1.0, 1.0 + slack_of(3), True),
        (3, 1.5, 1.5 + 1.5 * slack_of(3), False),
        (3, 1.5, 0.75, True),
        (3, 1.5, 0.75 - slack_of(3), True),
        (3, 1.5, 0.75 - 1.2 * slack_of(3), True),
        (3, 1.5, 0.75 - 1.5 * slack_of(3), False),
        (-1, 0.0, 0.0, False),
    ],
)
def test_sums_are_possible_up_to_rounding(count, total, squares, possible):
    stats = of_sums([2, count], [1.0, total], [0.5, squares])
    assert statistics.are_possible(stats) is possible


def test_counts_must_have_the_total():
    stats = of_sums([2, 1], [1.0, 0.5], [0.5, 0.25])
    for total, possible in ((3, True), (2, False), (4, False)):
        assert statistics.are_possible(stats._replace(total=np.array([total]))) is possible


@pytest.mark.parametrize(
    ("counts", "sums", "squares", "is_part"),
    [
        ([2, 1], [1.0, 0.5], [0.625, 0.25], True),  # all of them
        ([2, 0], [1.0, 0.0], [0.625, 0.0], True),
        ([0, 0], [0.0, 0.0], [0.0, 0.0], True),
        ([1, 1], [0.75, 0.5], [0.5625, 0.25], True),
        ([3, 0], [1.5, 0.0], [1.0, 0.0], False),  # more than there are
        ([2, 1], [1.0 + 1e-12, 0.5], [0.625, 0.25], False),
        ([2, 1], [1.0, 0.5], [0.625 - 1e-12, 0.25], False),
        ([1, 1], [0.25, 0.5], [0.0625, 0.25], True),
        ([1, 1], [0.0, 0.5], [0.0, 0.25], False),  # one reward with the square 0.625 has no sum 1
        # The other reward is 0.75, and two rewards have a tolerance of 3e-9.
        ([1, 1], [0.25, 0.5], [0.0625 + 5e-9, 0.25], True),
        ([1, 1], [0.25, 0.5], [0.0625 + 7e-9, 0.25], False),
        ([1, 1], [0.3, 0.5], [0.05, 0.25], False),  # 0.3 has the square 0.09
        ([2, 1], [3.0, 0.5], [0.625, 0.25], False),  # impossible itself
    ],
)
def test_a_part_has_sums_that_leave_possible_ones(counts, sums, squares, is_part):
    whole = of_sums([2, 1], [1.0, 0.5], [0.625, 0.25])
    assert statistics.are_part(of_sums(counts, sums, squares), whole) is is_part
