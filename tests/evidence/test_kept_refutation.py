"""A refuted model stays refuted: the largest e-value counts, by Ville's inequality."""

import json

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import StateError
from globalbandits.evidence import Evidence
from globalbandits.evidence.evidence import SMALLEST_PEAK
from globalbandits.evidence.inference import Inference

MODEL = gb.demand.exponential([2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], cost=1.0)


def two_stretches(seed=1):
    """Low prices while demand is low, high ones while it is high; then both at an average theta."""
    rng = np.random.default_rng(seed)
    arms = np.concatenate([np.repeat([0, 7], 150), np.tile([0, 7], 2_000)])
    theta = np.concatenate([np.repeat([0.28, 0.1], 150), np.full(4_000, 0.22)])
    means = np.exp(-theta * np.array(MODEL.arms)[arms])
    return arms, (rng.random(arms.size) < means).astype(float)


@pytest.fixture(scope="module")
def learner():
    arms, rewards = two_stretches()
    found = gb.Learner(gb.UCB1(), MODEL, seed=1)
    for arm, reward in zip(arms.tolist(), rewards.tolist(), strict=True):
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


def test_it_is_the_largest_over_the_times_of_the_copies(learner):
    arms, rewards = two_stretches()
    found = []
    for stop in range(100, arms.size + 1, 100):
        evidence = Evidence(MODEL)
        evidence._tally.note_many(arms[:stop], rewards[:stop])
        found.append(Inference(MODEL, evidence.counts).against.certified)
    # A search for a peak stops once its bounds are within .05; the usual one is more accurate.
    assert learner.evidence_against_model().peak_log_e_value == pytest.approx(max(found), abs=0.06)


def test_a_log_read_at_once_and_one_by_one_are_alike(learner):
    logged = gb.evidence_from_log(MODEL, *two_stretches())
    assert logged.against_model() == learner.evidence_against_model()


def test_it_is_saved_and_restored(learner):
    state = json.loads(json.dumps(learner.state()))
    again = gb.Learner.restore(gb.UCB1(), MODEL, state)
    assert again.evidence_against_model() == learner.evidence_against_model()
    state["evidence"]["peak"] = 0.1
    with pytest.raises(StateError, match=r"peak must be a number above 0\.69"):
        gb.Learner.restore(gb.UCB1(), MODEL, state)


def test_states_without_a_peak_are_as_before():
    quiet = Evidence(MODEL)
    quiet.add_many(np.zeros(250, np.int64), np.ones(250))
    assert "peak" not in quiet.state()
    assert Evidence.restore(MODEL, quiet.state()).against_model().peak_log_e_value < SMALLEST_PEAK


def test_a_merge_pays_for_the_second_chance(learner):
    peak = learner.evidence_against_model().peak_log_e_value
    both = learner.evidence
    other = Evidence(MODEL)
    other.add_many(np.zeros(50, np.int64), np.ones(50))
    both = gb.evidence_from_log(MODEL, *two_stretches()).merge(other)
    assert both.against_model().peak_log_e_value == pytest.approx(peak - np.log(2.0))


def test_forgotten_rewards_no_longer_refute():
    arms, rewards = (column[:300] for column in two_stretches())
    evidence = gb.evidence_from_log(MODEL, arms, rewards)
    assert evidence.against_model().refuted()
    for number in range(300, 150, -1):
        evidence.forget(int(arms[number - 1]), float(rewards[number - 1]), number)
    against = evidence.against_model()
    assert not against.refuted()
    assert against.peak_log_e_value == pytest.approx(against.log_e_value)


def test_a_right_model_is_refuted_as_rarely_as_promised():
    """12 logs of 2,000 rewards: at the level .05 more than 4 alarms have the probability .0002."""
    alarms = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        arms = rng.integers(0, 8, 2_000)
        means = MODEL.means(0.22)[arms]
        rewards = (rng.random(2_000) < means).astype(float)
        alarms += gb.evidence_from_log(MODEL, arms, rewards).against_model().refuted()
    assert alarms <= 4
