"""What holds for every policy of the field: specs, state, snapshots, forgetting, merging."""

import copy
import json

import numpy as np
import pytest

from globalbandits.errors import PolicyError
from globalbandits.model import RewardModel
from globalbandits.policies import (
    KLUCB,
    DiscountedUCB,
    EpsilonGreedy,
    ExploreThenCommit,
    Learner,
    Policy,
    SlidingWindowUCB,
)
from tests.policies.field.field_policies import ADDITIVE, POLICIES
from tests.policies.field.side_by_side import beta_reward, pricing

every_policy = pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.kind)
additive_policy = pytest.mark.parametrize("policy", ADDITIVE, ids=lambda policy: policy.kind)


@pytest.fixture(scope="module")
def model():
    return pricing()[0]


def play(learner, n, seed=0, theta=0.4):
    means = learner.model.means(theta)
    arms = []
    for u in np.random.default_rng(seed).random(n):
        arms.append(learner.select())
        learner.update(arms[-1], float(beta_reward(means[arms[-1]], u)))
    return arms


def observe(learner, n, seed=0):
    """Rewards of arms chosen by nobody."""
    rng = np.random.default_rng(seed)
    data = [(int(rng.integers(learner.model.n_arms)), float(rng.random())) for _ in range(n)]
    for arm, reward in data:
        learner.update(arm, reward)
    return data


@every_policy
def test_a_spec_survives_a_dict_and_json(policy):
    assert Policy.from_dict(json.loads(json.dumps(policy.to_dict()))) == policy


@every_policy
def test_select_leaves_the_state_alone(policy, model):
    learner = Learner(policy, model, seed=1)
    for n in (0, 1, 15, 40):
        play(learner, n, seed=n)
        before = copy.deepcopy(learner._state)
        for _ in range(3):
            assert 0 <= learner.select() < model.n_arms
        for mine, old in zip(learner._state, before, strict=True):
            np.testing.assert_array_equal(mine, old)


@every_policy
def test_a_restored_learner_goes_on_bit_for_bit(policy, model):
    learner = Learner(policy, model, seed=2)
    play(learner, 60)
    saved = json.loads(json.dumps(learner.state()))
    restored = Learner.restore(policy, model, saved)
    assert play(learner, 40, seed=5) == play(restored, 40, seed=5)
    assert learner.state() == restored.state()


@every_policy
def test_a_reason_is_given_at_every_stage(policy, model):
    learner = Learner(policy, model, seed=3)
    reasons = {learner.explain().reason}
    for _ in range(4):
        play(learner, 12)
        reasons.add(learner.explain().reason)
    assert all(len(reason) >= 10 for reason in reasons)


EDGES = {
    "one arm": RewardModel(lambda theta, x: 0.2 + 0.5 * theta * x, [1.0]),
    "vanishing slopes": RewardModel.from_functions(
        [lambda t: 1 - t**0.5, lambda t: 0.8 * t, lambda t: t**2]
    ),
}


@pytest.mark.parametrize("reward", [0.0, 1.0])
@pytest.mark.parametrize("edge", EDGES)
@every_policy
def test_rewards_at_the_ends_of_their_range_break_nothing(policy, edge, reward):
    learner = Learner(policy, EDGES[edge], seed=6)
    for _ in range(40):
        learner.update(learner.select(), reward)
    assert not any(np.isnan(values).any() for values in learner._state)


@additive_policy
def test_merged_learners_know_what_one_learner_would(policy, model):
    parts = [Learner(policy, model, seed=4) for _ in range(2)]
    whole = Learner(policy, model, seed=4)
    for seed, part in enumerate(parts):
        for arm, reward in observe(part, 70, seed=seed):
            whole.update(arm, reward)
    merged = parts[0].merge(parts[1])
    assert_same_knowledge(policy, merged, whole)


@additive_policy
def test_what_is_forgotten_leaves_no_trace(policy, model):
    kept, changed = Learner(policy, model, seed=5), Learner(policy, model, seed=5)
    observe(kept, 70)
    data = observe(changed, 70)
    extra = observe(changed, 9, seed=8)
    for arm, reward in extra:
        changed.forget(arm, reward)
    assert_same_knowledge(policy, changed, kept)
    for arm, reward in data:
        changed.forget(arm, reward)
    assert_same_knowledge(policy, changed, Learner(policy, model, seed=5))


def assert_same_knowledge(policy, one, other):
    """Same statistics up to rounding, same estimate, same next choices from the same generator."""
    for field in policy.rules.additive:
        np.testing.assert_allclose(
            getattr(one._state, field), getattr(other._state, field), atol=1e-9
        )
    if other.estimate is None:
        assert one.estimate is None
    else:
        assert one.estimate == pytest.approx(other.estimate, abs=1e-6)
    choices = [
        [
            policy.rules.select(learner._setup, learner._state, np.random.default_rng(seed))
            for seed in range(10)
        ]
        for learner in (one, other)
    ]
    assert choices[0] == choices[1]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: KLUCB(c=-1), "c must not be negative, got -1"),
        (lambda: SlidingWindowUCB(window=0), "window must be at least 1, got 0"),
        (lambda: SlidingWindowUCB(xi=0), "xi must be positive, got 0"),
        (lambda: DiscountedUCB(discount=1), "discount must lie strictly between 0 and 1, got 1"),
        (lambda: DiscountedUCB(xi=-1), "xi must be positive, got -1"),
        (lambda: EpsilonGreedy(epsilon=1.5), "epsilon must lie in [0, 1], got 1.5"),
        (lambda: ExploreThenCommit(plays=0), "plays must be at least 1, got 0"),
    ],
)
def test_a_wrong_parameter_is_named_with_its_rule_and_value(build, message):
    with pytest.raises(PolicyError) as error:
        build()
    assert message in str(error.value)


def test_windows_and_discounts_refuse_to_forget_or_merge(model):
    for policy in (SlidingWindowUCB(), DiscountedUCB(), ExploreThenCommit()):
        learner = Learner(policy, model, seed=0)
        learner.update(0, 0.5)
        with pytest.raises(PolicyError, match="cannot forget: its state is not additive"):
            learner.forget(0, 0.5)
        with pytest.raises(PolicyError, match="cannot be merged: its state is not additive"):
            learner.merge(Learner(policy, model, seed=1))
