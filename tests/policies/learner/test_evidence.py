"""A learner carries its evidence along: in updates, corrections, merges and saved states."""

import json

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.evidence import Evidence, evidence_from_log
from globalbandits.policies import NonStationaryWAGP
from tests.evidence.models import beta_rewards, log_of, model_of, unit_means


def played(n, seed, policy=None):
    """A learner after n rounds at theta 0.4, with its log."""
    model = model_of("pricing")
    learner = gb.Learner(policy or gb.WAGP(), model, seed=seed)
    rng = np.random.default_rng(seed)
    means = unit_means(model, 0.4)
    arms, rewards = [], []
    for _ in range(n):
        arms.append(learner.select())
        rewards.append(float(beta_rewards(rng, means[arms[-1] :])[0]))
        learner.update(arms[-1], rewards[-1])
    return learner, arms, rewards


def test_a_learner_makes_the_statements_of_its_log():
    learner, arms, rewards = played(650, 1)
    logged = evidence_from_log(learner.model, arms, rewards)
    assert learner.interval() == logged.interval()
    assert learner.interval(0.8) == logged.interval(0.8)
    assert learner.evidence_against_model() == logged.against_model()
    assert learner.contenders(0.9) == logged.contenders(0.9)
    assert learner.drift(0.1) == logged.drift(0.1)
    assert learner.evidence.state() == logged.state()
    assert 0.4 in learner.interval()
    assert learner.estimate in learner.interval()


def test_batches_are_counted_like_single_rewards():
    learner, arms, rewards = played(300, 2)
    batch = gb.Learner(gb.WAGP(), learner.model, seed=0)
    batch.update(arms, rewards)
    assert batch.evidence.state() == learner.evidence.state()


def test_policies_with_windows_have_evidence_from_all_rewards():
    learner, arms, rewards = played(300, 3, NonStationaryWAGP(half_window=20))
    assert learner.interval() == evidence_from_log(learner.model, arms, rewards).interval()


def test_merged_learners_have_the_evidence_of_both():
    one, arms, rewards = played(200, 4)
    two, more_arms, more_rewards = played(150, 5)
    one.merge(two)
    whole = evidence_from_log(one.model, arms + more_arms, rewards + more_rewards)
    assert np.array_equal(one.evidence.counts, whole.counts)
    assert one.interval() == whole.interval()


def test_forgotten_rewards_leave_no_evidence():
    learner, arms, rewards = played(120, 6)
    for arm, reward in zip(arms[60:], rewards[60:], strict=True):
        learner.forget(arm, reward)
    assert np.array_equal(
        learner.evidence.counts, evidence_from_log(learner.model, arms[:60], rewards[:60]).counts
    )


def test_a_reward_the_arm_never_had_is_not_forgotten():
    model = model_of("pricing")
    learner = gb.Learner(gb.WAGP(), model, seed=0)
    learner.update([2, 2], [0.1, 0.9])
    before = learner.state()
    with pytest.raises(gb.RewardError, match="reward must be one that arm 2 has had, got"):
        learner.forget(2, 0.5)
    assert learner.state() == before


def test_evidence_survives_json_bit_for_bit():
    learner, _, _ = played(450, 7)
    state = json.loads(json.dumps(learner.state()))
    again = gb.Learner.restore(gb.WAGP(), learner.model, state)
    assert again.state()["evidence"] == learner.state()["evidence"]
    assert again.drift() == learner.drift()


def test_evidence_of_other_rewards_is_refused():
    learner, _, _ = played(50, 8)
    other, _, _ = played(50, 9)
    state = learner.state() | {"evidence": other.state()["evidence"]}
    with pytest.raises(gb.StateError, match="evidence must agree with the statistics, got"):
        gb.Learner.restore(gb.WAGP(), learner.model, state)


def test_statistics_that_do_not_fit_the_evidence_are_refused():
    learner, arms, _ = played(50, 8)
    state = json.loads(json.dumps(learner.state()))
    state["statistics"]["sums"][arms[-1]] += 1e-6
    with pytest.raises(gb.StateError, match="evidence must agree with the statistics, got"):
        gb.Learner.restore(gb.WAGP(), learner.model, state)


def test_evidence_of_a_learner_is_a_copy():
    learner, _, _ = played(20, 8)
    learner.evidence.update(0, 0.5)
    assert learner.n_observations == learner.evidence.n_observations == 20
    alone = Evidence.restore(learner.model, learner.evidence.state())
    assert alone.interval() == learner.interval()


def test_a_refuted_model_shows_in_a_learner():
    model, arms, rewards = log_of("pricing", 4000, seed=10, bias=0.15)
    learner = gb.Learner(gb.WAGP(), model, seed=0)
    learner.update(arms, rewards)
    assert learner.evidence_against_model().refuted()
    assert learner.contenders().model_free
