"""Counting: the one place, against plain sums."""

import numpy as np
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
def test_what_is_uncounted_is_as_if_never_counted(kept, taken):
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
