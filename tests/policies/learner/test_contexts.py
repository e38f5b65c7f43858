"""Learners of models with contexts, and withdrawn arms."""

import json

import numpy as np
import pytest

import globalbandits as gb
from tests.model.test_context_model import FORMULA as MODEL
from tests.model.test_context_model import PRICES
from tests.soak import length

POLICIES = [gb.WAGP(), gb.Elastic(), gb.GridThompson(cells=200), gb.UCB1()]


def play(learner, n, seed=0, theta=1.5):
    """Play the two contexts by chance, and return the plays."""
    rng, plays = np.random.default_rng(seed), []
    for u, v in rng.random((n, 2)).tolist():
        name = "weekday" if u < 5 / 7 else "weekend"
        arm = learner.select(context=name)
        reward = float(v < learner.model.means(theta, context=name)[arm])
        learner.update(arm, reward, context=name)
        plays.append((name, arm, reward))
    return plays


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.label)
def test_contexts_share_what_they_learn(policy):
    learner = gb.Learner(policy, MODEL, seed=1)
    plays = play(learner, 60)
    counts = np.zeros((2, 3), int)
    for name, arm, _ in plays:
        counts[int(name == "weekend"), arm] += 1
    np.testing.assert_array_equal(learner.pulls, counts)
    state = json.loads(json.dumps(learner.state()))
    again = gb.Learner.restore(policy, MODEL, state)
    assert play(learner, 20, seed=2) == play(again, 20, seed=2)


def test_the_best_arm_of_each_context_is_played_at_the_estimate():
    learner = gb.Learner(gb.WAGP(), MODEL, seed=1)
    learner.update([0] * 40, [1, 0] * 20, context="weekday")
    for name in MODEL.contexts:
        best = MODEL.best_arms(learner.estimate, context=name)
        assert learner.select(context=name) in best
        assert learner.recommend(context=name) in best
        assert learner.explain(context=name).choice in best


def test_batches_have_a_context_per_reward_and_forgetting_undoes_them():
    one, other = (gb.Learner(gb.WAGP(), MODEL, seed=1) for _ in range(2))
    one.update([0, 1, 1], [1.0, 0.0, 1.0], context=["weekday", "weekend", "weekday"])
    other.update(0, 1.0, context="weekday")
    other.update(1, 0.0, context="weekend")
    other.update(1, 1.0, context="weekday")
    np.testing.assert_array_equal(one.pulls, [[1, 1, 0], [0, 1, 0]])
    assert one.estimate == other.estimate
    one.forget(1, 0.0, context="weekend")
    np.testing.assert_array_equal(one.pulls, [[1, 1, 0], [0, 0, 0]])
    with pytest.raises(gb.RewardError, match="arm must have a reward to forget"):
        one.forget(1, 0.0, context="weekend")


def test_learners_of_contexts_fork_and_merge():
    learner = gb.Learner(gb.Elastic(), MODEL, seed=1)
    play(learner, 20)
    left, right = learner.fork(2)
    play(left, 15, seed=3)
    play(right, 15, seed=4)
    left.merge(right)
    assert left.n_observations == 50


def test_evidence_is_pooled_over_contexts():
    learner = gb.Learner(gb.Uniform(), MODEL, seed=1)
    play(learner, 600)
    alone = gb.Learner(gb.Uniform(), MODEL, seed=1)
    for name, arm, reward in play(gb.Learner(gb.Uniform(), MODEL, seed=1), 600):
        if name == "weekend":
            alone.update(arm, reward, context=name)
    span, own = learner.interval(), alone.interval()
    assert span.low <= 1.5 <= span.high
    assert span.high - span.low < own.high - own.low
    assert not learner.evidence_against_model().refuted()
    for name in MODEL.contexts:
        found = learner.contenders(context=name)
        here = MODEL.in_context(name)
        within = {
            arm for r in here.regions if r.high >= span.low and r.low <= span.high for arm in r.arms
        }
        assert set(found.arms) == within
        assert found.values == here.arms


def test_earnings_are_the_sum_over_contexts():
    learner = gb.Learner(gb.Uniform(), MODEL, seed=1)
    play(learner, 600)
    found, baseline = learner.earnings(1), 1
    span = learner.interval()
    worth = MODEL.worth(np.linspace(span.low, span.high, 20_001))
    extra = ((worth - worth[..., [baseline]]) * learner.pulls).sum(axis=(1, 2))
    assert found.low == pytest.approx(extra.min(), rel=1e-4)
    assert found.high == pytest.approx(extra.max(), rel=1e-4)
    assert found.low <= found.amount <= found.high
    assert found.baseline == MODEL.arms[baseline]
    free, parts = found.model_free, 0.0
    for name in MODEL.contexts:
        cells = [learner.explain(context=name).arms[arm] for arm in range(MODEL.n_arms)]
        own = [MODEL.in_context(name).worth_of(cell.arm, cell.mean) for cell in cells]
        parts += sum(c.pulls * (w - own[baseline]) for c, w in zip(cells, own, strict=True))
    assert free.amount == pytest.approx(parts)
    assert free.n_baseline == learner.pulls[:, baseline].sum()


def test_model_free_earnings_of_contexts_hold():
    """The truth lies in the interval in every run; 95 % is guaranteed."""
    worth = MODEL.worth(1.5)
    for seed in range(20):
        learner = gb.Learner(gb.Uniform(), MODEL, seed=seed)
        play(learner, 400, seed=seed)
        truth = ((worth - worth[:, [0]]) * learner.pulls).sum()
        free = learner.earnings(0).model_free
        assert free.low <= truth <= free.high
        assert free.high - free.low < learner.n_observations * np.ptp(worth) * 4


def test_without_the_baseline_in_every_context_there_is_no_model_free_amount():
    learner = gb.Learner(gb.Uniform(), MODEL, seed=1)
    learner.update([0, 1, 1], [1, 0, 1], context=["weekday", "weekday", "weekend"])
    assert learner.earnings(0).model_free is None
    assert learner.earnings(1).model_free is not None


def test_the_worth_of_one_context_is_drawn():
    learner = gb.Learner(gb.Uniform(), MODEL, seed=1)
    play(learner, 50)
    (axes,) = learner.plot_worth(context="weekend", baseline=1).axes
    texts = [text.get_text() for text in axes.findobj() if hasattr(text, "get_text")]
    assert any(f"{learner.pulls[1].sum()} decisions" in text for text in texts)
    with pytest.raises(gb.ModelError, match="context must be one of"):
        learner.plot_worth()


def test_a_context_with_another_parameter_refutes_the_model():
    learner = gb.Learner(gb.Uniform(), MODEL, seed=1)
    rng = np.random.default_rng(5)
    for i in range(1500):
        name, theta = (("weekday", 0.8), ("weekend", 2.2))[i % 2]
        arm = learner.select(context=name)
        reward = float(rng.random() < MODEL.means(theta, context=name)[arm])
        learner.update(arm, reward, context=name)
    assert learner.evidence_against_model().refuted()
    assert learner.contenders(context="weekday").model_free


@pytest.mark.parametrize("context", [None, "holiday", 3])
def test_unknown_contexts_are_refused_and_nothing_is_learned(context):
    learner = gb.Learner(gb.WAGP(), MODEL, seed=1)
    before = learner.state()
    for call in (
        lambda: learner.select(context=context),
        lambda: learner.update(0, 1.0, context=context),
        lambda: learner.update([0, 1], [1.0, 0.0], context=["weekday", "holiday"]),
        lambda: learner.explain(context=context),
        lambda: learner.probabilities(context=context),
    ):
        with pytest.raises(gb.ModelError, match="context must be one of 'weekday', 'weekend', got"):
            call()
    assert learner.state() == before


def test_bad_contexts_of_batches_and_of_plain_models():
    learner = gb.Learner(gb.WAGP(), MODEL, seed=1)
    with pytest.raises(gb.RewardError, match="context must have 2 names, got 1"):
        learner.update([0, 1], [1.0, 0.0], context=["weekday"])
    plain = gb.Learner(gb.WAGP(), gb.demand.linear_power([0.4, 0.6]), seed=1)
    for call in (
        lambda: plain.select(context="weekday"),
        lambda: plain.update(0, 0.5, context="weekday"),
    ):
        with pytest.raises(gb.RewardError, match="context must be None for a model without conte"):
            call()


def test_masks_apply_within_a_context():
    learner = gb.Learner(gb.WAGP(), MODEL, seed=1)
    learner.update(0, 1.0, context="weekday")
    for name in MODEL.contexts:
        for mask in ([0, 1], [1, 2], [2]):
            worth = MODEL.worth(learner.estimate, context=name)
            assert learner.select(context=name, allowed=mask) == max(mask, key=lambda k: worth[k])
    chances = learner.probabilities(context="weekend", allowed=[2])
    assert chances[:] == [0.0, 0.0, 1.0]


# Arms that come and go.

FEW = gb.demand.linear_power([0.5, 0.6, 0.9])
MORE = gb.demand.linear_power([0.5, 0.6, 0.7, 0.8, 0.9])


@pytest.mark.parametrize("policy", [gb.WAGP(), gb.Elastic(), gb.UCB1(), gb.Safe(gb.WAGP())])
def test_a_withdrawn_arm_is_never_played_and_keeps_its_rewards(policy):
    learner = gb.Learner(policy, FEW, seed=1)
    for arm, reward in [(0, 0.4), (1, 0.5), (2, 0.3), (2, 0.2)]:
        learner.update(arm, reward)
    changed = learner.with_model(MORE, withdraw=[0.9])
    assert changed.withdrawn == (4,)
    assert changed.n_observations == 4
    if learner.estimate is not None:
        assert changed.estimate == pytest.approx(learner.estimate, rel=1e-2)
    for _ in range(30):
        arm = changed.select()
        assert arm != 4
        changed.update(arm, 0.3)
    changed.update(4, 0.2)  # a late reward of a decision before
    assert changed.pulls[4] == 3
    again = gb.Learner.restore(policy, MORE, json.loads(json.dumps(changed.state())))
    assert again.withdrawn == (4,)
    assert again.select() != 4
    assert changed.with_model(withdraw=[]).withdrawn == ()
    assert changed.with_policy(gb.Elastic(horizon=99)).withdrawn == (4,)
    assert changed.fork(1)[0].withdrawn == (4,)


def test_bad_withdrawals_are_refused():
    learner = gb.Learner(gb.WAGP(), FEW, seed=1)
    learner.update(2, 0.3)
    with pytest.raises(gb.RewardError, match=r"withdraw must be one of the arms 0\.5, 0\.6, 0\.9"):
        learner.with_model(withdraw=[0.7])
    with pytest.raises(gb.PolicyError, match="withdraw must leave an arm to play"):
        learner.with_model(withdraw=[0.5, 0.6, 0.9])
    gone = learner.with_model(withdraw=[0.9])
    with pytest.raises(gb.RewardError, match=r"no withdrawn arm, which \[2\] are"):
        gone.select(allowed=[1, 2])
    with pytest.raises(gb.StateError, match=r"model must keep the arms that have rewards"):
        learner.with_model(gb.demand.linear_power([0.5, 0.6]))
    broken = gone.state() | {"withdrawn": [7]}
    with pytest.raises(gb.StateError, match="withdrawn must be indices of some of the arms"):
        gb.Learner.restore(gb.WAGP(), FEW, broken)


def test_a_price_withdrawn_in_all_contexts():
    learner = gb.Learner(gb.UCB1(), MODEL, seed=1)
    play(learner, 30)
    gone = learner.with_model(withdraw=[PRICES[0]])
    assert {gone.select(context=name) for name in MODEL.contexts} <= {1, 2}
    np.testing.assert_array_equal(gone.pulls, learner.pulls)


@pytest.mark.parametrize("policy", [gb.WAGP(), gb.Elastic(horizon=3000)])
def test_a_new_best_price_costs_little(policy):
    # The best of twelve prices is missing for 1,000 rounds.
    prices = [round(0.4 + 0.05 * k, 2) for k in range(12)]
    whole = gb.demand.linear_power(prices)
    best = int(whole.gaps(0.4).argmin())
    before = gb.demand.linear_power(prices[:best] + prices[best + 1 :])
    means, gaps = whole.means(0.4), whole.gaps(0.4)
    losses = []
    # A learner that begins anew loses 3.6 in the mean, one that keeps its data 0.4.
    for seed in range(length(3, 6)):
        rng = np.random.default_rng(seed)
        learner = gb.Learner(policy, before, seed=seed)
        for arm in (learner.select() for _ in range(1000)):
            place = arm + (arm >= best)
            learner.update(arm, float(rng.random() < means[place]))
        after = learner.with_model(whole)
        lost = 0.0
        for arm in (after.select() for _ in range(1000)):
            after.update(arm, float(rng.random() < means[arm]))
            lost += gaps[arm]
        losses.append(lost)
    assert np.mean(losses) <= 2.0


def test_limits_of_one_sequence_of_arms_refuse_contexts():
    with pytest.raises(gb.PolicyError, match="model must have no contexts for Limited"):
        gb.Learner(gb.Limited(gb.WAGP()), MODEL, seed=1)


def test_a_fixed_arm_is_the_same_in_every_context():
    learner = gb.Learner(gb.FixedArm(2), MODEL, seed=1)
    assert [learner.select(context=name) for name in MODEL.contexts] == [2, 2]
    assert learner.select(context="weekend", allowed=[0, 1]) == 1
