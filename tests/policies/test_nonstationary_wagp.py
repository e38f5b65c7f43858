"""The window's schedule at its exact boundaries, with h = 100 as in Experiment 3."""

import numpy as np
import pytest

from globalbandits.model import RewardModel
from globalbandits.policies import WAGP, Learner, NonStationaryWAGP
from globalbandits.policies import nonstationary_wagp as rules

LINE = RewardModel.from_functions([lambda theta: theta, lambda theta: 0.9 - 0.8 * theta])
H = 100


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
    setup = NonStationaryWAGP(half_window=H).setup(LINE)
    state = rules.init(setup)
    for s in range(1, t):
        rules.update(setup, state, 0, s / 1000.0)
    window = np.arange(first, t)
    assert state.counts.tolist() == [t - first, 0]
    assert state.total[0] == t - first
    assert state.sums[0] == pytest.approx(window.sum() / 1000.0, rel=1e-13)
    assert rules.estimate(setup, state) == pytest.approx(window.mean() / 1000.0, abs=1e-10)


@pytest.mark.parametrize("h", [1, 2, 3, 10])
def test_every_window_of_a_short_schedule(h):
    setup = NonStationaryWAGP(half_window=h).setup(LINE)
    state = rules.init(setup)
    rewards = np.random.default_rng(h).random(60)
    arms = np.random.default_rng(h + 1).integers(2, size=60)
    for t in range(2, 61):
        rules.update(setup, state, int(arms[t - 2]), float(rewards[t - 2]))
        first, last = first_and_last(t, h)
        inside = slice(first - 1, last)
        assert state.counts.tolist() == np.bincount(arms[inside], minlength=2).tolist()
        expected = np.bincount(arms[inside], rewards[inside], minlength=2)
        np.testing.assert_allclose(state.sums, expected, rtol=1e-12, atol=1e-15)
        if t > 2 * h:
            assert h <= state.total[0] < 2 * h


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
