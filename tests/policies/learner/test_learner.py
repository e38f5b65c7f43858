"""The live learner: what it accepts, what it refuses, and what it reports."""

import decimal
import math

import numpy as np
import pytest

from globalbandits._random import Stream, generator
from globalbandits.errors import GlobalBanditsError, PolicyError, RewardError, StateError
from globalbandits.model import RewardModel
from globalbandits.policies import (
    BUW,
    UCB1,
    WAGP,
    Learner,
    NonStationaryWAGP,
    UncertaintyEllipsoid,
)
from globalbandits.testing.subject import plain_state
from tests.policies.families import beta_reward, model_of

POLICIES = [
    WAGP(),
    BUW(scale=0.00025),
    NonStationaryWAGP(half_window=30),
    UCB1(),
    UncertaintyEllipsoid(scale=0.005),
]
ADDITIVE = [policy for policy in POLICIES if policy.rules.rebuild is not None]
REVENUE = RewardModel(
    lambda theta, price: price * (1.0 - price * theta / 20.0) - 2.0,
    [4.0, 6.0, 8.0, 10.0],
    reward_range=(-2.0, 8.0),
)


def play(learner, n, seed=0, theta=0.4):
    truth = learner.model.means(theta).tolist()
    arms = []
    for uniform in np.random.default_rng(seed).random(n).tolist():
        arm = learner.select()
        learner.update(arm, beta_reward(truth[arm], uniform))
        arms.append(arm)
    return arms


def estimates_agree(one, other):
    if one.estimate is None:
        return other.estimate is None
    return one.estimate == pytest.approx(other.estimate, rel=1e-12)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.kind)
def test_select_changes_nothing_but_the_generator(policy):
    learner = Learner(policy, model_of("pricing"), seed=0)
    for n in (0, 1, 20, 100):
        play(learner, n)
        before = learner.state()
        for _ in range(5):
            learner.select()
        after = learner.state()
        assert before.pop("generator")
        assert after.pop("generator")
        assert after == before


@pytest.mark.parametrize("policy", ADDITIVE, ids=lambda policy: policy.kind)
def test_rewards_may_come_late_in_any_order_and_in_batches(policy):
    rng = np.random.default_rng(1)
    arms, rewards = rng.integers(12, size=400), rng.random(400)
    one_by_one = Learner(policy, model_of("pricing"), seed=5)
    for arm, reward in zip(arms, rewards, strict=True):
        one_by_one.update(arm, reward)
    batch = Learner(policy, model_of("pricing"), seed=5)
    batch.update(arms, rewards)
    assert plain_state(batch) == plain_state(one_by_one)
    late = Learner(policy, model_of("pricing"), seed=5)
    order = rng.permutation(400)
    late.update(arms[order].tolist(), rewards[order].tolist())
    assert late.pulls.tolist() == batch.pulls.tolist()
    np.testing.assert_allclose(late.means, batch.means, rtol=1e-13)
    assert estimates_agree(late, batch)
    assert late.select() == batch.select()


def test_an_empty_batch_is_no_observation():
    learner = Learner(WAGP(), REVENUE, seed=0)
    learner.update([], [])
    assert learner.n_observations == 0


def test_figures_are_in_the_models_units():
    learner = Learner(WAGP(), REVENUE, seed=0)
    assert learner.estimate is None
    assert np.isnan(learner.means).all()
    learner.update([1, 1, 3], [1.0, 3.0, -0.5])
    assert learner.n_observations == 3
    assert learner.pulls.tolist() == [0, 2, 0, 1]
    assert learner.means[[1, 3]].tolist() == pytest.approx([2.0, -0.5])
    assert np.isnan(learner.means[[0, 2]]).all()
    # Arm 1, 4 - 1.8 theta = 2, and arm 3, 8 - 5 theta = -0.5, both beyond the domain's end 1.
    assert learner.estimate == 1.0
    learner.update(1, 4.0)
    # Now arm 1 has the mean 8/3 and theta = (4 - 8/3) / 1.8, with three of four weights.
    assert learner.estimate == pytest.approx((3 * (4 - 8 / 3) / 1.8 + 1.0) / 4)


def test_figures_are_copies():
    learner = Learner(WAGP(), REVENUE, seed=0)
    learner.update(0, 1.0)
    learner.pulls[0] = 99
    learner.means[0] = 99.0
    assert learner.pulls[0] == 1
    assert learner.means[0] == pytest.approx(1.0)


@pytest.mark.parametrize("reward", [-2.0, 8.0, 8, np.float32(1.5), np.int64(3), decimal.Decimal(2)])
def test_rewards_of_any_kind_of_number(reward):
    learner = Learner(WAGP(), REVENUE, seed=0)
    learner.update(np.int32(2), reward)
    assert learner.means[2] == pytest.approx(float(reward))


def test_rounding_at_the_ends_of_the_range_is_forgiven():
    learner = Learner(UCB1(), model_of("linear"), seed=0)
    learner.update([0, 1], [1.0 + 1e-13, -1e-13])
    assert learner.means[:2].tolist() == [1.0, 0.0]


WRONG = [
    (0, 8.5, r"reward must lie in \[-2, 8\], got 8.5"),
    (0, -2.001, r"reward must lie in \[-2, 8\], got -2.001"),
    (0, math.nan, "reward must be finite, got nan"),
    (0, math.inf, "reward must be finite, got inf"),
    (0, np.float64("-inf"), r"reward must be finite, got np.float64\(-inf\)"),
    (0, True, "reward must be a number, got True"),
    (0, np.bool_(True), r"reward must be a number, got np.True_"),
    (0, "3", "reward must be a number, got '3'"),
    (0, None, "reward must be a number, got None"),
    (0, 1j, "reward must be a number, got 1j"),
    (4, 1.0, "arm must be an index below 4, got 4"),
    (-1, 1.0, "arm must be at least 0, got -1"),
    (1.0, 1.0, "arm must be an integer, got 1.0"),
    (True, 1.0, "arm must be an integer, got True"),
    ("1", 1.0, "arm must be an integer, got '1'"),
    (None, 1.0, "arm must be an integer, got None"),
    ([0, 1], [1.0, 9.0], r"reward\[1\] must lie in \[-2, 8\], got 9.0"),
    ([0, 1, 1], [1.0, 2.0, math.nan], r"reward\[2\] must be finite, got nan"),
    ([0, 7], [1.0, 1.0], r"arm\[1\] must be an index below 4, got 7"),
    ([0, 1], [1.0, True], r"reward\[1\] must be a number, got True"),
    ([0, True], [1.0, 1.0], r"arm\[1\] must be an integer, got True"),
    (np.array([0.0, 1.0]), [1.0, 1.0], r"arm\[0\] must be an integer, got 0.0"),
    ([0, 1], np.array([True, False]), r"reward\[0\] must be a number, got np.True_"),
    ([0, 1], [1.0], r"arm and reward must have one length, got \(2, 1\)"),
    ([0, 1], 1.0, r"arm and reward must be two numbers or two batches, got \(\[0, 1\], 1.0\)"),
    (0, [1.0], r"arm and reward must be two numbers or two batches, got \(0, \[1.0\]\)"),
    ([[0]], [[1.0]], r"arm must have one dimension, got 'shape \(1, 1\)'"),
    ([0, [1]], [1.0, 1.0], "arm must be a sequence of numbers, got"),
    ({0, 1}, [1.0, 1.0], "arm and reward must be two numbers or two batches"),
    ({0: 1}, {0: 1.0}, "arm must be an integer, got {0: 1}"),
    (b"\x00", [1.0], "arm and reward must be two numbers or two batches"),
    (0, 10**400, "reward must be finite, got 10000"),
    ([0, 1], [1.0, 10**400], r"reward\[1\] must be finite, got 10000"),
    ([0, 10**400], [1.0, 1.0], r"arm\[1\] must be at most"),
    (0, {1.0}, r"reward must be a number, got {1.0}"),
    (0, b"1", "reward must be a number, got b'1'"),
]


@pytest.mark.parametrize(("arm", "reward", "message"), WRONG)
@pytest.mark.parametrize("policy", [WAGP(), UCB1()], ids=lambda policy: policy.kind)
def test_wrong_observations_are_refused_and_change_nothing(policy, arm, reward, message):
    learner = Learner(policy, REVENUE, seed=0)
    learner.update([0, 2, 3], [1.0, 2.0, 0.0])
    before = learner.state()
    with pytest.raises(RewardError, match=message):
        learner.update(arm, reward)
    assert learner.state() == before
    assert issubclass(RewardError, (GlobalBanditsError, ValueError))


@pytest.mark.parametrize("policy", ADDITIVE, ids=lambda policy: policy.kind)
def test_forget_undoes_an_update(policy):
    learner = Learner(policy, model_of("pricing"), seed=2)
    play(learner, 150)
    before, means, estimate = learner.pulls, learner.means, learner.estimate
    learner.update(3, 0.77)
    learner.update(9, 0.11)
    assert learner.pulls.tolist() != before.tolist()
    learner.forget(3, 0.77)
    learner.forget(9, 0.11)
    assert learner.n_observations == 150
    assert learner.pulls.tolist() == before.tolist()
    np.testing.assert_allclose(learner.means, means, rtol=1e-12)
    assert learner.estimate == (None if estimate is None else pytest.approx(estimate, rel=1e-11))


def test_what_was_never_observed_cannot_be_forgotten():
    learner = Learner(WAGP(), REVENUE, seed=0)
    learner.update([1, 1], [8.0, 8.0])
    before = learner.state()
    with pytest.raises(RewardError, match="arm must have a reward to forget, got 0 with none"):
        learner.forget(0, 1.0)
    with pytest.raises(RewardError, match=r"reward must be one that arm 1 has had, got -2\.0: the"):
        learner.forget(1, -2.0)
    with pytest.raises(RewardError, match="arm must be an index below 4, got 9"):
        learner.forget(9, 1.0)
    with pytest.raises(RewardError, match="reward must be finite, got nan"):
        learner.forget(1, math.nan)
    assert learner.state() == before


def test_windows_neither_forget_nor_merge():
    learners = [Learner(NonStationaryWAGP(half_window=5), REVENUE, seed=i) for i in (0, 1)]
    learners[0].update(0, 1.0)
    name = r"NonStationaryWAGP\(half_window=5\)"
    with pytest.raises(
        PolicyError, match=f"{name} cannot forget: the order of rewards matters to it"
    ):
        learners[0].forget(0, 1.0)
    with pytest.raises(
        PolicyError, match=f"{name} cannot be merged: the order of rewards matters to it"
    ):
        learners[0].merge(learners[1])


@pytest.mark.parametrize("policy", ADDITIVE, ids=lambda policy: policy.kind)
def test_merged_learners_equal_one_that_saw_all(policy):
    model = model_of("pricing")
    rng = np.random.default_rng(3)
    arms, rewards = rng.integers(12, size=900), rng.random(900)
    whole = Learner(policy, model, seed=7)
    whole.update(arms, rewards)
    shards = [Learner(policy, model, seed=7 + i) for i in range(3)]
    for shard, part in zip(shards, np.split(np.arange(900), [200, 700]), strict=True):
        shard.update(arms[part], rewards[part])
    others = [plain_state(shard) for shard in shards[1:]]
    assert shards[0].merge(*shards[1:]) is shards[0]
    merged = shards[0]
    assert [plain_state(shard) for shard in shards[1:]] == others
    assert merged.pulls.tolist() == whole.pulls.tolist()
    np.testing.assert_allclose(merged.means, whole.means, rtol=1e-13)
    assert estimates_agree(merged, whole)
    # From here on both go the same way.
    assert play(merged, 300, seed=9) == play(whole, 300, seed=9)


def test_merge_refuses_other_models_and_duplicates():
    model = model_of("pricing")
    learner, twin = Learner(WAGP(), model, seed=0), Learner(WAGP(), model, seed=1)
    learner.update(0, 0.5)
    before = learner.state()
    with pytest.raises(StateError, match=r"state must be of WAGP\(\), got one of UCB1\(\)"):
        learner.merge(twin, Learner(UCB1(), model))
    with pytest.raises(StateError, match="state must be of a model with the arms"):
        learner.merge(twin, Learner(WAGP(), model_of("linear")))
    with pytest.raises(StateError, match="learners to merge must be different ones"):
        learner.merge(learner)
    with pytest.raises(StateError, match="learners to merge must be different ones"):
        learner.merge(twin, twin)
    assert learner.state() == before
    assert learner.merge().state() == before


def test_seeds():
    model = model_of("pricing")
    same = [Learner(WAGP(), model, seed=7).select() for _ in range(3)]
    assert len(set(same)) == 1
    rng = generator(Stream.LEARNER, 7)
    assert Learner(WAGP(), model, seed=rng).select() == same[0]
    fresh = {Learner(WAGP(), model).select() for _ in range(100)}
    assert len(fresh) > 1
    for seed in (-1, 1.5, True, "7"):
        with pytest.raises(PolicyError, match="seed must be"):
            Learner(WAGP(), model, seed=seed)


def test_a_class_is_not_a_policy():
    with pytest.raises(PolicyError, match=r"policy must be a policy such as WAGP\(\), got <class"):
        Learner(WAGP, model_of("pricing"))


def test_printing_a_learner():
    learner = Learner(BUW(scale=0.5), REVENUE, seed=0)
    assert repr(learner) == "Learner(BUW(scale=0.5), 4 arms, 0 observations)"
    learner.update(3, 4.5)
    assert repr(learner) == "Learner(BUW(scale=0.5), 4 arms, 1 observations, estimate 0.7)"
    assert (learner.policy, learner.model) == (BUW(scale=0.5), REVENUE)
