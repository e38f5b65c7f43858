"""The copies that the search for drift keeps, its process, and the date of a change, naively."""

import math

import numpy as np
import pytest

from globalbandits.evidence import evidence_from_log
from globalbandits.evidence.drift_test import (
    ConstantTheta,
    constant_log_e,
    date_change,
    kept,
    no_snapshots,
    record,
    slots_of,
    times_kept,
)
from globalbandits.evidence.e_processes import Pooled
from tests.evidence.models import log_of, unit_means
from tests.evidence.test_e_processes import counts_of

N_SLOTS = 24


def halvings(number):
    """How often 2 divides a number, at most the last slot."""
    return min((number & -number).bit_length() - 1, N_SLOTS - 1)


NUMBERS = [1, 2, 3, 12, 40, 1 << 22, 3 << 22, 1 << 23, 3 << 23, 1 << 24, 5 << 24, (1 << 26) + 8]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("every", [1, 7])
def test_slots_are_those_of_the_definition(number, every):
    slot = halvings(number)
    # The last slot is permanent for its own power of two only.
    permanent = N_SLOTS + slot if number == 1 << slot else -1
    assert slots_of(number * every, every) == (slot, permanent)
    if every > 1:
        assert slots_of(number * every + 1, every) == (-1, -1)
        assert slots_of(number * every - 1, every) == (-1, -1)


@pytest.mark.parametrize("now", [0, 1, 2, 3, 255, 256, *(1 << k for k in range(21, 27)), 10**8 + 7])
@pytest.mark.parametrize("since", [0, 3, 1 << 22])
def test_times_kept_are_the_latest_of_each_slot_and_the_permanent_ones(since, now):
    expected = set()
    for slot in range(N_SLOTS):
        step = 1 << slot
        latest = now // step * step
        while latest > 0 and halvings(latest) != slot:
            latest -= step
        expected |= {latest, step}
    expected = sorted(time for time in expected if since < time <= now and time > 0)
    assert times_kept(since, now, 1) == expected
    # Between two copies nothing changes, and the last reward before a copy is not one.
    assert times_kept(5 * since, 5 * now + 4, 5) == [5 * time for time in expected]


def stretches(n, seed, theta=None, every=100):
    """Counts, copies and the counts at each time of a log of the prices."""
    model, arms, rewards = log_of("pricing", n, seed)
    if theta is not None:
        _, _, later = log_of("pricing", n, seed, theta=theta)
        rewards[n // 2 :] = later[n // 2 :]
    snapshots, at = no_snapshots(model.n_arms, 8), {}
    for time in range(every, n + 1, every):
        at[time] = counts_of(model, arms[:time], rewards[:time])
        record(snapshots, at[time], time, every)
    return model, counts_of(model, arms, rewards), snapshots, at


def test_the_process_is_the_weighted_sum_of_its_definition():
    model, counts, snapshots, at = stretches(1_150, seed=1)
    thetas = np.linspace(0.2, 0.6, 9)
    times = [100, 200, 400, 800, 1_000, 1_100]
    assert kept(snapshots, 1_150)[0].tolist() == times
    now = np.exp(Pooled(model, counts).at(thetas)) / 2
    for time in times:
        since = np.exp(Pooled(model, counts - at[time]).at(thetas))
        now += since / ((time / 100 + 1) * (time / 100 + 2))
    before = np.max([np.exp(Pooled(model, at[time]).at(thetas)) / 2 for time in times], axis=0)
    process = ConstantTheta(model, counts, snapshots, 1_150, 100)
    expected = np.log(np.maximum(now, before))
    np.testing.assert_allclose(process.at(thetas), expected, rtol=1e-9, atol=1e-9)
    values, bounds = process.survey(thetas[:-1], thetas[1:], 0.0)
    middles = 0.5 * (thetas[:-1] + thetas[1:])
    np.testing.assert_allclose(values, process.at(middles))
    assert (bounds <= np.minimum(expected[:-1], expected[1:]) + 1e-9).all()
    assert (bounds <= values + 1e-9).all()
    # One theta explains all rewards, so the search ends with the first value below 0.
    assert constant_log_e(model, counts, snapshots, 1_150, 100) <= 0.0


@pytest.mark.parametrize("theta", [0.55, 0.6])
def test_the_evidence_against_every_constant_is_that_of_a_dense_grid(theta):
    model, counts, snapshots, _ = stretches(1_150, seed=1, theta=theta)
    process = ConstantTheta(model, counts, snapshots, 1_150, 100)
    dense = process.at(np.linspace(0.3, 0.6, 4_001)).min()
    assert 0.5 < dense < 19.0
    assert (
        dense - 0.06 * max(1.0, dense / 10)
        <= constant_log_e(model, counts, snapshots, 1_150, 100)
        <= dense + 1e-3
    )


def test_without_copies_the_process_is_half_of_the_pooled_one():
    model, counts, snapshots, _ = stretches(90, seed=2)
    thetas = np.linspace(*model.domain, 5)
    process = ConstantTheta(model, counts, snapshots, 90, 100)
    np.testing.assert_allclose(
        process.at(thetas), Pooled(model, counts).at(thetas) - math.log(2.0), atol=1e-12
    )
    assert date_change(model, counts, snapshots, 90) is None


def test_a_copy_of_the_current_time_is_not_an_earlier_one():
    model, counts, snapshots, _ = stretches(400, seed=3)
    assert kept(snapshots, 400)[0].tolist() == [100, 200, 300]
    assert kept(snapshots, 401)[0].tolist() == [100, 200, 300, 400]
    assert date_change(model, counts, snapshots, 400)[2] <= 400


@pytest.mark.parametrize("seed", range(4))
def test_the_date_is_the_split_with_the_largest_likelihood(seed):
    model, counts, snapshots, at = stretches(1_400, seed, theta=0.75)
    times = kept(snapshots, 1_400)[0].tolist()
    thetas = np.linspace(*model.domain, 513)
    means = np.clip([unit_means(model, theta) for theta in thetas], 1e-9, 1 - 1e-9)
    knots = np.linspace(0.0, 1.0, 9)

    def fit(part):
        wins, losses = part @ knots, part @ (1.0 - knots)
        return (np.log(means) @ wins + np.log1p(-means) @ losses).max()

    fits = [fit(at[time]) + fit(counts - at[time]) for time in times]
    best = int(np.argmax(fits))
    around = [0, *times, 1_400]
    expected = (around[best], around[best + 1], around[best + 2])
    assert date_change(model, counts, snapshots, 1_400) == expected
    assert expected[0] < 700 < expected[2]


def test_drift_in_evidence_has_the_date_and_its_neighbours():
    model, arms, old = log_of("pricing", 1_400, 5)
    _, _, new = log_of("pricing", 1_400, 5, theta=0.9)
    rewards = np.where(np.arange(1_400) < 700, old, new)
    found = evidence_from_log(model, arms, rewards).drift()
    assert found.alarm
    assert found.between[0] < found.since < found.between[1]
    quiet = evidence_from_log(model, arms, old).drift()
    assert (quiet.alarm, quiet.since, quiet.between) == (False, None, None)
