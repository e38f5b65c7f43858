"""Outcomes that are awaited: the TITE-CRM, late sales in a shop, and what they must not touch."""

import json

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.environments.open_decisions import learned_chance
from globalbandits.errors import PolicyError, RewardError, StateError
from tests.oracles.tite import posterior_mean

SKELETON = [0.05, 0.10, 0.20, 0.35, 0.50, 0.70]
DOSES = gb.dose.power(SKELETON, target=0.2, domain=(-6.0, 6.0))
GRID_POLICIES = [gb.GridPlugIn, gb.GridGreedy, gb.GridThompson, gb.IDS]

# The example in the manual of dfcrm's titecrm, and the numbers of dfcrm 0.2-2.1 under R 4.
LEVELS = np.array([3, 3, 3, 4, 4, 3, 2, 2, 2, 3]) - 1
EVENTS = [0, 0, 1, 0, 1, 0, 0, 0, 0, 0]
FOLLOW_UP = [178, 181, 168, 181, 24, 181, 179, 102, 42, 3]
LINEAR = {
    "weights": np.minimum(np.array(FOLLOW_UP) / 180, 1.0),
    "estimate": -0.132786551431,
    "rates": [
        0.0725688949361,
        0.133152100275,
        0.244312412685,
        0.398806548415,
        0.545007512356,
        0.73174504823,
    ],
}
ADAPTIVE = {
    "weights": [17 / 18, 1, 1, 1, 1, 1, 35 / 36, 37 / 72, 0.375, 1 / 24],
    "estimate": -0.134518066505,
    "rates": [
        0.072898976457,
        0.133617368343,
        0.244908803808,
        0.399441302146,
        0.545580094571,
        0.732140534672,
    ],
}


def conduct(policy, levels, events, weights):
    """A learner with the patients whose outcome is known, and the others as pending."""
    learner = gb.Learner(policy, DOSES, seed=0)
    open_arms, open_weights = [], []
    for level, event, weight in zip(levels, events, weights, strict=True):
        if event or weight >= 1.0:
            learner.update(int(level), int(event))
        else:
            open_arms.append(int(level))
            open_weights.append(float(weight))
    learner.set_pending(open_arms, open_weights)
    return learner


@pytest.mark.parametrize("kind", GRID_POLICIES)
@pytest.mark.parametrize("example", [LINEAR, ADAPTIVE], ids=["linear", "adaptive"])
def test_the_example_of_dfcrm(kind, example):
    learner = conduct(kind(prior_variance=1.34), LEVELS, EVENTS, example["weights"])
    assert learner.estimate == pytest.approx(example["estimate"], abs=1e-9)
    assert DOSES.means(learner.estimate) == pytest.approx(example["rates"], abs=1e-9)
    if kind is gb.GridPlugIn:
        assert learner.select() == 2  # dfcrm recommends level 3


def test_random_trials_against_numerical_integration():
    rng = np.random.default_rng(5)
    for _ in range(6):
        n = int(rng.integers(1, 20))
        levels, events = rng.integers(0, 6, n), rng.random(n) < 0.3
        weights = np.where(events, 1.0, np.round(rng.uniform(0.05, 1.0, n), 3))
        events[0], weights[0] = False, 1.0  # an estimate needs one known outcome
        learner = conduct(gb.GridPlugIn(prior_variance=1.34), levels, events, weights)
        expected = posterior_mean(SKELETON, levels, events, weights)
        assert learner.estimate == pytest.approx(expected, abs=1e-7)


def test_a_weight_of_one_is_a_zero_and_none_is_no_evidence():
    known, awaited = (gb.Learner(gb.GridGreedy(cells=300), DOSES, seed=0) for _ in range(2))
    for learner in (known, awaited):
        learner.update([0, 1, 2], [0, 1, 0])
    before = awaited.estimate
    awaited.set_pending([3, 4], [1.0, 1.0])
    known.update([3, 4], [0, 0])
    assert awaited.estimate == pytest.approx(known.estimate, rel=1e-9)
    awaited.set_pending()
    assert awaited.estimate == before
    assert awaited.pending == []


def test_limited_and_hold_pass_them_on():
    for policy in (
        gb.Limited(gb.GridPlugIn(prior_variance=1.34), start=2),
        gb.Hold(gb.GridPlugIn(prior_variance=1.34), every=2),
    ):
        learner = conduct(policy, LEVELS, EVENTS, LINEAR["weights"])
        assert learner.estimate == pytest.approx(LINEAR["estimate"], abs=1e-9)
        twin = gb.Learner.restore(policy, DOSES, json.loads(json.dumps(learner.state())))
        assert twin.estimate == learner.estimate
        assert twin.pending == learner.pending


def test_saving_forgetting_and_updating_keep_them():
    policy = gb.GridThompson(cells=300)
    learner = conduct(policy, LEVELS, EVENTS, LINEAR["weights"])
    twin = gb.Learner.restore(policy, DOSES, json.loads(json.dumps(learner.state())))
    assert [twin.select() for _ in range(20)] == [learner.select() for _ in range(20)]
    before = learner.estimate
    learner.update(2, 1)
    learner.forget(2, 1)
    assert learner.estimate == pytest.approx(before, abs=1e-12)
    assert "pending" not in gb.Learner(policy, DOSES, seed=0).state()
    state = learner.state()
    state["pending"] = [[1, 0.0]]
    with pytest.raises(StateError, match=r"weights\[0\] must be above 0 and at most 1"):
        gb.Learner.restore(policy, DOSES, state)


def test_statements_of_evidence_use_rewards_only():
    learner = gb.Learner(gb.IDS(cells=300), DOSES, seed=0)
    learner.update([0, 1, 2, 2], [0, 0, 1, 0])
    before = learner.interval(), learner.evidence.state()
    learner.set_pending([5] * 200, [0.9] * 200)
    after = learner.interval(), learner.evidence.state()
    assert (before[0].low, before[0].high) == (after[0].low, after[0].high)
    assert before[1] == after[1]


@pytest.mark.parametrize(
    ("arms", "weights", "text"),
    [
        ([0], [0.0], r"weights\[0\] must be above 0 and at most 1, got 0.0"),
        ([0, 1], [0.5, 1.5], r"weights\[1\] must be above 0 and at most 1, got 1.5"),
        ([0], [float("nan")], r"weights\[0\] must be"),
        ([6], [0.5], r"arms\[0\] must be an index below 6, got 6"),
        ([0, 1], [0.5], r"arms and weights must have one length, got \(2, 1\)"),
    ],
)
def test_bad_weights_change_nothing(arms, weights, text):
    learner = gb.Learner(gb.IDS(cells=300), DOSES, seed=0)
    learner.set_pending([1], [0.5])
    with pytest.raises(RewardError, match=text):
        learner.set_pending(arms, weights)
    assert learner.pending == [(1, 0.5)]


def test_a_policy_that_cannot_use_them_says_so():
    shop = gb.demand.exponential([2.0, 3.0], cost=1.0, level=(0.02, 0.2))
    for policy, model in (
        (gb.WAGP(), gb.demand.linear_power([0.4, 0.6])),
        (gb.GridThompson(likelihood="beta"), DOSES),
        (gb.IDS(), shop),
    ):
        learner = gb.Learner(policy, model, seed=0)
        name = type(policy).__name__
        with pytest.raises(PolicyError, match=f"policy must be .* a grid policy .* got {name}"):
            learner.set_pending([0], [0.5])
        learner.set_pending()


# A shop that sells to about 3 % of its visitors, hours after they came.

PRICES = [4.0, 5.0, 6.0, 7.0, 8.0]
SHOP = gb.demand.exponential(PRICES, cost=2.0, domain=(0.2, 1.2))


def test_late_sales_bias_a_learner_that_ignores_open_decisions():
    rng = np.random.default_rng(2)
    theta = 0.58  # 3 % at 6.0
    rates = SHOP.means(theta)
    n, window, law = 1_500, 800, gb.GeometricDelay(150, deadline=800)
    # Sales are known when they happen, the others are zeros only after the window.
    arms = rng.integers(0, 5, n)
    sold = rng.random(n) < rates[arms]
    delays = np.where(sold, rng.geometric(1 / 151, n) - 1, window)
    ages = n - np.arange(n)
    known = np.minimum(delays, window) < ages
    pending, ignoring = (gb.Learner(gb.GridGreedy(cells=400), SHOP, seed=1) for _ in range(2))
    for learner in (pending, ignoring):
        learner.update(arms[known], (sold & (delays <= window))[known].astype(float))
    chances = law.chance(ages[~known], arms[~known])
    pending.set_pending(arms[~known], chances)
    # The standard error of theta from 1,500 visitors, by the Fisher information of all of them.
    step = 1e-4
    slopes = (SHOP.means(theta + step) - SHOP.means(theta - step)) / (2 * step)
    error = 1.0 / np.sqrt((slopes[arms] ** 2 / (rates * (1 - rates))[arms]).sum())
    assert abs(pending.estimate - theta) < 4 * error
    # Without the open decisions sales are overrepresented, and demand looks higher.
    assert ignoring.estimate < theta - 4 * error


def test_a_ledger_learns_the_law_from_truncated_delays():
    rng = np.random.default_rng(3)
    n, now, mean = 6_000, 1_000.0, 200.0
    decided = rng.uniform(0.0, now, n)
    delays = rng.exponential(mean, n)
    limits = now - decided
    seen = delays <= limits
    ages = np.array([50.0, 150.0, 300.0, 600.0])
    chances = learned_chance(delays[seen], limits[seen], ages)
    # The law is identified up to its value at the longest age.
    expected = -np.expm1(-ages / mean) / -np.expm1(-now / mean)
    assert np.abs(chances - expected).max() < 0.04
    naive = [(delays[seen] <= age).mean() for age in ages]
    assert max(np.array(naive) - expected) > 0.06  # what truncation does without the correction


def test_a_ledger_of_decisions():
    ledger = gb.Pending(window=10.0)
    for number in range(60):
        ledger.add(number, arm=number % 3, at=float(number))
    assert ledger.weights(64.0)[1].tolist() == [1.0] * 55  # too few delays: a 0 after the window
    for number in range(50):
        ledger.close(number, at=number + 1.0 + number % 4, happened=number % 2 == 0)
    assert len(ledger) == 10
    arms, weights = ledger.weights(61.0)
    assert set(arms.tolist()) <= {0, 1, 2}
    assert ((weights > 0.0) & (weights <= 1.0)).all()
    with pytest.raises(RewardError, match="key must be new, got 55"):
        ledger.add(55, arm=0, at=1.0)
    with pytest.raises(RewardError, match="key must be one that waits, got 3"):
        ledger.close(3, at=9.0)
    with pytest.raises(RewardError, match=r"at must be at least 55, the decision.s, got 2\.0"):
        ledger.close(55, at=2.0)
    with pytest.raises(RewardError, match="delay must be a Delay"):
        gb.Pending(28)
    with pytest.raises(RewardError, match="window must be given to learn the law"):
        gb.Pending()


# Summaries: one price for many visitors.


@pytest.mark.parametrize("policy", [gb.WAGP(), gb.Limited(gb.UCB1()), gb.GridThompson(cells=200)])
def test_a_summary_equals_its_single_rewards(policy):
    day, single = (gb.Learner(policy, SHOP, seed=4) for _ in range(2))
    day.update(2, 15, count=500)
    rewards = [(place + 1) * 15 // 500 - place * 15 // 500 for place in range(500)]
    assert sum(rewards) == 15
    for reward in rewards:
        single.update(2, reward)
    left, right = day.state(), single.state()
    for key in left.keys() - {"lineage"}:
        assert left[key] == right[key], key
    day.update(arm_value=7.0, reward=2, count=40)
    day.forget(arm_value=7.0, reward=2, count=40)
    assert day.n_observations == 500
    assert day.means[2] == pytest.approx(0.03)
    assert day.estimate == single.estimate or day.estimate == pytest.approx(single.estimate)


@pytest.mark.parametrize(
    ("reward", "count", "text"),
    [
        (2.5, 10, "reward must be the sum of 10 rewards that are 0 or 1, got 2.5"),
        (11, 10, "reward must be the sum of 10 rewards"),
        (-1, 10, "reward must be the sum of 10 rewards"),
        (1, 0, "count must be at least 1, got 0"),
        (1, 10**7, "count must be"),
        (1, 2.5, "count must be an integer"),
    ],
)
def test_bad_summaries_change_nothing(reward, count, text):
    learner = gb.Learner(gb.WAGP(), SHOP, seed=0)
    with pytest.raises(RewardError, match=text):
        learner.update(0, reward, count=count)
    assert learner.n_observations == 0


def test_a_summary_in_other_units():
    model = gb.RewardModel(lambda theta, p: 2 + 3 * theta * p, [0.3, 0.9], reward_range=(2, 5))
    learner = gb.Learner(gb.WAGP(), model, seed=0)
    learner.update(1, 2 * 7 + 5 * 3, count=10)
    assert learner.means[1] == pytest.approx(2.9)
