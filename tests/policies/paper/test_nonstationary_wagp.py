"""The window's schedule at its exact boundaries, with h = 100 as in Experiment 3."""

import json

import numpy as np
import pytest

from globalbandits.errors import PolicyError, StateError
from globalbandits.model import RewardModel
from globalbandits.policies import WAGP, Learner, NonStationaryWAGP
from globalbandits.policies.paper import nonstationary_wagp as rules
from globalbandits.statistics import count, no_statistics

LINE = RewardModel.from_functions([lambda theta: theta, lambda theta: 0.9 - 0.8 * theta])
H = 100


def after_rewards(half_window, arms, rewards):
    """Setup, statistics and state after some rewards."""
    setup = NonStationaryWAGP(half_window=half_window).setup(LINE)
    stats, state = no_statistics(2), rules.init(setup)
    for arm, reward in zip(arms, rewards, strict=True):
        count(stats, arm, reward)
        rules.update(setup, stats, state, arm, reward)
    return setup, stats, state


def first_and_last(t, h=H):
    """The observations, numbered from 1, that the decision at time t rests on."""
    rho = (t - 1) // h
    return max(0, (rho - 1) * h) + 1, t - 1


@pytest.mark.parametrize(
    ("t", "first"),
    [
        (2, 1),
        (H, 1),
        (H + 1, 1),
        (2 * H, 1),
        (2 * H + 1, H + 1),
        (3 * H, H + 1),
        (3 * H + 1, 2 * H + 1),
        (4 * H, 2 * H + 1),
        (4 * H + 1, 3 * H + 1),
        (9 * H + 1, 8 * H + 1),
    ],
)
def test_the_window_at_time_t(t, first):
    assert first_and_last(t) == (first, t - 1)
    # Reward s of arm 0 is s / 1000, so that count and sum name the observations exactly.
    setup, stats, state = after_rewards(H, [0] * (t - 1), [s / 1000.0 for s in range(1, t)])
    window = np.arange(first, t)
    assert state.window.counts.tolist() == [t - first, 0]
    assert state.window.total[0] == t - first
    assert state.window.sums[0] == pytest.approx(window.sum() / 1000.0, rel=1e-13)
    assert rules.estimate(setup, stats, state) == pytest.approx(window.mean() / 1000.0, abs=1e-10)


@pytest.mark.parametrize("h", [1, 2, 3, 10])
def test_every_window_of_a_short_schedule(h):
    rewards = np.random.default_rng(h).random(60)
    arms = np.random.default_rng(h + 1).integers(2, size=60)
    for t in range(2, 61):
        _, _, state = after_rewards(h, arms[: t - 1].tolist(), rewards[: t - 1].tolist())
        first, last = first_and_last(t, h)
        inside = slice(first - 1, last)
        assert state.window.counts.tolist() == np.bincount(arms[inside], minlength=2).tolist()
        expected = np.bincount(arms[inside], rewards[inside], minlength=2)
        np.testing.assert_allclose(state.window.sums, expected, rtol=1e-12, atol=1e-15)
        expected = np.bincount(arms[inside], rewards[inside] ** 2, minlength=2)
        np.testing.assert_allclose(state.window.squares, expected, rtol=1e-12, atol=1e-15)
        if t > 2 * h:
            assert h <= state.window.total[0] < 2 * h


def test_until_the_first_drop_it_is_wagp():
    model = LINE
    stationary = Learner(WAGP(), model, seed=9)
    window = Learner(NonStationaryWAGP(half_window=H), model, seed=9)
    for uniform in np.random.default_rng(1).random(2 * H - 1).tolist():
        arm = stationary.select()
        assert window.select() == arm
        stationary.update(arm, uniform)
        window.update(arm, uniform)
        assert window.estimate == pytest.approx(stationary.estimate, rel=1e-14)
    window.update(0, 0.123)
    stationary.update(0, 0.123)
    assert window.estimate != pytest.approx(stationary.estimate, rel=1e-6)


def test_it_follows_a_jump_that_wagp_cannot():
    learners = [Learner(NonStationaryWAGP(half_window=50), LINE, seed=2), Learner(WAGP(), LINE)]
    for learner in learners:
        learner.update([0] * 1000, [0.9] * 1000)
        learner.update([0] * 100, [0.1] * 100)
    assert learners[0].estimate == pytest.approx(0.1, abs=1e-10)
    assert learners[1].estimate == pytest.approx((900 + 10) / 1100, abs=1e-10)
    assert learners[0].pulls.tolist() == [1100, 0]  # all observations, not the window's


def test_reason_names_the_window():
    learner = Learner(NonStationaryWAGP(half_window=5), LINE, seed=0)
    assert learner.explain().reason == "no reward yet: any arm, at random"
    learner.update([0] * 12, [0.5] * 12)
    explained = learner.explain()
    assert explained.reason.endswith("of the last 7 rewards")
    assert "after 12 observations, of which 7 count now" in str(explained)


def fed(n, half_window=5):
    learner = Learner(NonStationaryWAGP(half_window=half_window), LINE, seed=0)
    rng = np.random.default_rng(4)
    learner.update(rng.integers(2, size=n), rng.random(n))
    return learner


@pytest.mark.parametrize("n", [0, 1, 4, 5, 6, 9, 10, 11, 23])
def test_a_restored_learner_resumes_bit_for_bit_at_every_phase_of_the_window(n):
    learner = fed(n)
    again = Learner.restore(learner.policy, LINE, json.loads(json.dumps(learner.state())))
    for reward in np.random.default_rng(n).random(30).tolist():
        arm = learner.select()
        assert again.select() == arm
        learner.update(arm, reward)
        again.update(arm, reward)
        assert again.estimate == learner.estimate


def test_windows_of_other_rewards_are_refused():
    good = fed(23).state()  # 8 rewards in the window, 3 of them in the next one
    changes = [
        ("window", "counts", lambda row: [row[0] + 1, row[1] - 1]),
        ("window", "sums", lambda row: [7.9, row[1]]),
        ("window", "total", lambda row: [9]),
        ("next", "counts", lambda row: [4, 0]),
        ("next", "sums", lambda row: ["nan", row[1]]),
        ("next", "total", lambda row: [2]),
    ]
    for name, field, change in changes:
        state = json.loads(json.dumps(good))
        state["kept"][name][field] = change(state["kept"][name][field])
        with pytest.raises(StateError, match="kept must be fields that these statistics can lead"):
            Learner.restore(NonStationaryWAGP(half_window=5), LINE, state)


def test_derived_fields_are_not_read_from_a_saved_state():
    learner = fed(23)
    state = json.loads(json.dumps(learner.state()))
    state["kept"]["inner"]["choice"] = [99]
    state["kept"]["inner"]["own"]["segments"] = [10**6, -7]
    state["kept"]["inner"]["own"]["weighted"] = [5, 5]
    state["kept"]["inner"]["own"]["parts"] = [[1, 2], [3, 4]]
    again = Learner.restore(learner.policy, LINE, state)
    assert (again.select(), again.estimate) == (learner.select(), learner.estimate)


def test_order_matters_so_it_neither_forgets_nor_merges():
    learner = fed(7)
    with pytest.raises(PolicyError, match="cannot forget: the order of rewards matters to it"):
        learner.forget(0, 0.5)
    with pytest.raises(PolicyError, match="cannot be merged: the order of rewards matters to it"):
        learner.merge(fed(7))
