"""Policies that refit rarely: after forgetting, merging and restoring only the data count."""

import json
import math

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import StateError
from globalbandits.policies.shared.refits import (
    may_be_last_fit,
    next_fit,
)
from globalbandits.statistics import are_part, clear, copy, count, no_statistics, uncount
from tests.policies.families import model_of
from tests.policies.states import assert_close_state, assert_same_state

POLICIES = [gb.Elastic(), gb.RandomEffectsThompson(), gb.IndependentGittins()]
every_policy = pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.kind)

EXTRA = [(3, 0.2), (4, 0.7)] * 6


def fed(policy, n_rewards, seed=0):
    """A learner that has chosen its arms itself, and the rewards it was given."""
    learner = gb.Learner(policy, model_of("linear"), seed=7)
    rewards = np.random.default_rng(seed).random(n_rewards).tolist()
    log = []
    for reward in rewards:
        log.append((learner.select(), reward))
        learner.update(*log[-1])
    return learner, log


def fit_now(learner):
    learner.policy.rules.rebuild(learner._setup, learner._stats, learner._state)


def test_a_fit_is_due_every_round_then_after_a_twentieth_more():
    due = [next_fit(n, 1.05) for n in (0, 1, 19, 20, 21, 40, 1000)]
    assert due == [1, 2, 20, 21, 23, 42, 1050]
    assert next_fit(2**62, 1.05) > 2**62  # no overflow


@every_policy
@pytest.mark.parametrize("n_rewards", [0, 4, 15, 33])
def test_what_was_learned_and_forgotten_leaves_no_trace(policy, n_rewards):
    learner, _ = fed(policy, n_rewards)
    before = learner.estimate
    fit_now(learner)  # up to 20 rewards it is fitted already
    if n_rewards <= 20:
        assert learner.estimate == before
    expected, _ = fed(policy, n_rewards)
    fit_now(expected)
    for arm, reward in EXTRA:
        learner.update(arm, reward)
    for arm, reward in EXTRA:
        learner.forget(arm, reward)
    assert_close_state(learner._state, expected._state)
    if expected.estimate is not None:
        assert learner.estimate == pytest.approx(expected.estimate, rel=1e-12)


@pytest.mark.parametrize("policy", [gb.Elastic(), gb.RandomEffectsThompson()], ids=lambda p: p.kind)
def test_estimates_follow_from_the_statistics_although_the_last_fit_is_older(policy):
    learner, _ = fed(policy, 170)
    never, _ = fed(policy, 170)
    at_last_fit = policy.rules.estimate(*never.parts[1:])
    for arm, reward in EXTRA:
        learner.update(arm, reward)
        learner.explain()  # reading in between leaves no trace either
    for arm, reward in EXTRA:
        learner.forget(arm, reward)
    # Sums of rewards that were added and taken back differ in their last bits.
    assert learner.estimate == pytest.approx(never.estimate, rel=1e-12)
    assert abs(at_last_fit - never.estimate) > 1e-6
    mine, theirs = learner.explain(), never.explain()
    assert (mine.estimate, theirs.estimate) == (learner.estimate, never.estimate)
    expected = [row.model_mean for row in theirs.arms]
    assert [row.model_mean for row in mine.arms] == pytest.approx(expected, rel=1e-12)
    assert learner.recommend() == never.recommend()
    # Reading changes no decision.
    unread, _ = fed(policy, 170)
    assert_same_state(never._state, unread._state)


@every_policy
def test_the_order_of_rewards_leaves_no_trace(policy):
    learner, log = fed(policy, 50)
    other = gb.Learner(policy, learner.model, seed=1)
    for arm, reward in reversed(log):
        other.update(arm, reward)
    fit_now(learner)
    fit_now(other)
    assert_close_state(learner._state, other._state)


@every_policy
def test_merged_learners_equal_one_learner_of_all_rewards(policy):
    whole, log = fed(policy, 41)
    parts = [gb.Learner(policy, whole.model, seed=seed) for seed in range(3)]
    for number, (arm, reward) in enumerate(log):
        parts[number % 3].update(arm, reward)
    merged = parts[0].merge(*parts[1:])
    fit_now(whole)
    assert_close_state(merged._state, whole._state)


@every_policy
def test_without_rewards_it_is_as_at_the_start(policy):
    learner, _ = fed(policy, 30)
    clear(learner._stats)
    fit_now(learner)
    assert_same_state(learner._state, policy.rules.init(learner._setup))


@every_policy
@pytest.mark.parametrize("n_rewards", [0, 1, 19, 21, 22, 30, 46, 47, 170])
def test_a_learner_resumes_bit_for_bit(policy, n_rewards):
    learner, _ = fed(policy, n_rewards)
    saved = json.loads(json.dumps(learner.state()))
    assert tuple(saved["kept"]) == policy.rules.kept
    resumed = gb.Learner.restore(policy, learner.model, saved)
    assert_same_state(resumed._state, learner._state)
    for reward in (0.45, 0.1, 0.9, 0.3):
        arm = learner.select()
        assert resumed.select() == arm
        learner.update(arm, reward)
        resumed.update(arm, reward)
        assert_same_state(resumed._state, learner._state)


def _more_counts(fitted):
    fitted["counts"][0] += 100
    fitted["total"][0] += 100


def _too_old(fitted):
    for name in ("counts", "sums", "squares", "total"):
        fitted[name] = [0] * len(fitted[name])


def _not_a_number(fitted):
    fitted["sums"][0] = "nan"


def _another_sum(fitted):
    fitted["sums"][0] += 1e-6


@every_policy
@pytest.mark.parametrize("spoil", [_more_counts, _too_old, _not_a_number, _another_sum])
def test_an_impossible_last_fit_is_refused(policy, spoil):
    learner, _ = fed(policy, 30)
    learner.update([1, 2, 3], [0.5, 0.4, 0.3])
    saved = learner.state()
    spoil(saved["kept"]["fitted"])
    with pytest.raises(StateError, match="kept must be fields that these statistics can lead to"):
        gb.Learner.restore(policy, learner.model, saved)


def test_what_can_be_part_of_the_rewards():
    whole, part = no_statistics(2), no_statistics(2)
    for arm, reward in [(0, 0.2), (0, 0.9), (1, 0.5)]:
        count(whole, arm, reward)
    assert are_part(part, whole)
    count(part, 0, 0.9)
    assert are_part(part, whole)
    assert not are_part(whole, part)
    uncount(part, 0, 0.9)
    count(part, 0, 0.05)  # the other reward would have to be above 1
    assert not are_part(part, whole)
    all_but_rounding = copy(whole)
    all_but_rounding.sums[1] += 1e-15
    assert not are_part(all_but_rounding, whole)  # no reward has come, so no bit has changed
    endless = copy(whole)
    endless.squares[0] = math.inf
    assert not are_part(endless, whole)
    assert may_be_last_fit(no_statistics(2), no_statistics(2), 1.05)
    assert not may_be_last_fit(no_statistics(2), whole, 1.05)  # there is a fit after every reward
