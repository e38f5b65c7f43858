"""A refuted model stays refuted: the largest e-value counts, by Ville's inequality."""

import json

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import StateError
from globalbandits.evidence import Evidence
from globalbandits.evidence.evidence import SMALLEST_PEAK

PRICES = [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
MODEL = gb.demand.exponential(PRICES, cost=1.0)
SHOP = gb.demand.exponential(PRICES, cost=1.0, level=(0.2, 1.0))


def two_stretches(seed=1):
    """Low prices while demand is low, high ones while it is high; then both at an average theta."""
    rng = np.random.default_rng(seed)
    arms = np.concatenate([np.repeat([0, 7], 150), np.tile([0, 7], 2_000)])
    theta = np.concatenate([np.repeat([0.28, 0.1], 150), np.full(4_000, 0.22)])
    means = np.exp(-theta * np.array(MODEL.arms)[arms])
    return arms, (rng.random(arms.size) < means).astype(float)


def bent_demand(seed=1):
    """Three prices that no level and slope explain, then the same prices with exact curves."""
    rng = np.random.default_rng(seed)
    arms = np.concatenate([np.repeat([0, 3, 7], 150), np.tile([0, 3, 7], 1_000)])
    slope = np.concatenate([np.repeat([0.3, 0.1, 0.3], 150), np.full(3_000, 0.22)])
    means = 0.8 * np.exp(-slope * np.array(PRICES)[arms])
    return arms, (rng.random(arms.size) < means).astype(float)


WORLDS = {"one number": (MODEL, two_stretches), "two numbers": (SHOP, bent_demand)}


@pytest.fixture(scope="module", params=WORLDS)
def world(request):
    return WORLDS[request.param]


@pytest.fixture(scope="module")
def learner(world):
    model, log = world
    found = gb.Learner(gb.UCB1(), model, seed=1)
    for arm, reward in zip(*(column.tolist() for column in log()), strict=True):
        found.update(arm, reward)
    return found


def test_the_largest_e_value_counts_and_both_are_shown(learner):
    against = learner.evidence_against_model()
    assert against.log_e_value < np.log(20.0) < against.peak_log_e_value
    assert against.refuted()
    assert against.p_value == pytest.approx(1 / against.peak_e_value)
    text = str(against)
    assert f"e-value {against.e_value:.3g} against the model" in text
    assert f"at its largest {against.peak_e_value:.3g}" in text
    assert "The largest e-value counts" in against.explain()
    assert learner.contenders().model_free


def test_it_is_the_largest_over_the_times_of_the_copies(learner, world):
    model, log = world
    arms, rewards = log()
    found = []
    for stop in [*range(100, 800, 100), 1_600, 3_200]:
        evidence = Evidence(model)
        evidence.add_many(arms[:stop], rewards[:stop])
        found.append(evidence.against_model().log_e_value)
    # A search for a peak stops once its bounds are within .05; the usual one is more accurate.
    assert learner.evidence_against_model().peak_log_e_value == pytest.approx(max(found), abs=0.06)


def test_a_log_read_at_once_and_one_by_one_are_alike(learner, world):
    model, log = world
    logged = gb.evidence_from_log(model, *log())
    assert logged.against_model() == learner.evidence_against_model()


def test_it_is_saved_and_restored(learner):
    model = learner.model
    state = json.loads(json.dumps(learner.state()))
    again = gb.Learner.restore(gb.UCB1(), model, state)
    assert again.evidence_against_model() == learner.evidence_against_model()
    state["evidence"]["peak"] = 0.1
    with pytest.raises(StateError, match=r"peak must be a number above 0\.69"):
        gb.Learner.restore(gb.UCB1(), model, state)


@pytest.mark.parametrize("model", [MODEL, SHOP])
def test_states_without_a_peak_are_as_before(model):
    quiet = Evidence(model)
    quiet.add_many(np.zeros(250, np.int64), np.arange(250) % 2.0)
    assert "peak" not in quiet.state()
    assert Evidence.restore(model, quiet.state()).against_model().peak_log_e_value < SMALLEST_PEAK


def test_a_merge_halves_the_largest_e_value(learner, world):
    model, log = world
    peak = learner.evidence_against_model().peak_log_e_value
    other = Evidence(model)
    other.add_many(np.zeros(50, np.int64), np.ones(50))
    both = gb.evidence_from_log(model, *log()).merge(other)
    assert both.against_model().peak_log_e_value == pytest.approx(peak - np.log(2.0))


def test_forgotten_rewards_no_longer_refute(world):
    model, log = world
    n = 450 if model is SHOP else 300
    arms, rewards = (column[:n] for column in log())
    evidence = gb.evidence_from_log(model, arms, rewards)
    assert evidence.against_model().refuted()
    for number in range(n, n - 150, -1):
        evidence.forget(int(arms[number - 1]), float(rewards[number - 1]), number)
    against = evidence.against_model()
    assert not against.refuted()
    assert against.peak_log_e_value == pytest.approx(against.log_e_value)


def test_earnings_of_a_refuted_shop_follow_its_rewards(learner):
    earnings = learner.earnings(0)
    assert np.isnan(earnings.low)
    assert np.isnan(earnings.high)
    assert earnings.model_free is not None


@pytest.mark.parametrize(("model", "theta"), [(MODEL, 0.22), (SHOP, (0.4, 0.22))])
def test_a_right_model_is_refuted_as_rarely_as_promised(model, theta):
    """12 logs of 2,000 rewards: at the level .05 more than 4 alarms have the probability .0002."""
    alarms = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        arms = rng.integers(0, 8, 2_000)
        means = model.means(np.array(theta))[arms]
        rewards = (rng.random(2_000) < means).astype(float)
        alarms += gb.evidence_from_log(model, arms, rewards).against_model().refuted()
    assert alarms <= 4
