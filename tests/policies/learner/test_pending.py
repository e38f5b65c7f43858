"""Outcomes that are awaited: the TITE-CRM, late sales in a shop, and what they must not touch."""

import json

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.environments.open_decisions import learned_chance
from globalbandits.errors import PolicyError, RewardError, StateError
from tests.oracles.tite import posterior_mean
from tests.soak import length

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
    for policy, model in (
        (gb.WAGP(), gb.demand.linear_power([0.4, 0.6])),
        (gb.GridThompson(likelihood="beta"), DOSES),
        (gb.Elastic(drift=True), DOSES),
    ):
        learner = gb.Learner(policy, model, seed=0)
        name = type(policy).__name__
        with pytest.raises(PolicyError, match=f"policy must be .* a grid policy .* got {name}"):
            learner.set_pending([0], [0.5])
        learner.set_pending()


# A shop that sells to about 3 % of its visitors, hours after they came.

PRICES = [4.0, 5.0, 6.0, 7.0, 8.0]
SHOP = gb.demand.exponential(PRICES, cost=2.0, domain=(0.2, 1.2))


@pytest.mark.parametrize("policy", [gb.GridGreedy(cells=400), gb.Elastic()])
def test_late_sales_bias_a_learner_that_ignores_open_decisions(policy):
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
    pending, ignoring = (gb.Learner(policy, SHOP, seed=1) for _ in range(2))
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


# Policies whose posterior is computed from counts and sums: an open outcome is a part of a 0.

LEVELS_AND_SLOPES = gb.demand.exponential(PRICES, cost=2.0, level=(0.02, 1.0))
EXACT_CURVES = gb.Elastic(prior=(1.0,) + (0.0,) * 8, exception=0.0, caution=0.0)


def rewards_and_open_outcomes(model, theta, seed=4):
    """300 outcomes: sales that are known, zeros that are known, and open ones with weights."""
    rng = np.random.default_rng(seed)
    arms, weights = rng.integers(0, 5, 300), rng.random(300)
    sold = rng.random(300) < model.means(np.array(theta))[arms]
    is_open = ~(sold & (rng.random(300) < weights)) & (rng.random(300) < 0.8)
    return arms, sold, weights, is_open


def learner_of(policy, model, outcomes, **settings):
    arms, sold, weights, is_open = outcomes
    learner = gb.Learner(policy, model, seed=0, **settings)
    learner.update(arms[~is_open], sold[~is_open].astype(float))
    learner.set_pending(arms[is_open], weights[is_open])
    return learner


def exact_posterior(model, points, outcomes):
    """Posterior mean and standard deviation from the exact likelihood at points of the domain."""
    arms, sold, weights, is_open = outcomes
    means = model.means(points)[:, arms]
    logs = np.log(means[:, sold & ~is_open]).sum(axis=1)
    logs += np.log1p(-means[:, ~sold & ~is_open]).sum(axis=1)
    logs += np.log1p(-weights[is_open] * means[:, is_open]).sum(axis=1)
    chances = np.exp(logs - logs.max())
    chances = (chances / chances.sum())[:, None]
    columns = points.reshape(len(points), -1)
    mean = (chances * columns).sum(axis=0)
    return mean, np.sqrt((chances * (columns - mean) ** 2).sum(axis=0))


@pytest.mark.parametrize("theta", [0.35, 0.58])
def test_elastic_with_exact_curves_has_the_exact_posterior_of_one_number(theta):
    outcomes = rewards_and_open_outcomes(SHOP, theta)
    low, high = SHOP.domain
    points = low + (high - low) * (np.arange(4_000) + 0.5) / 4_000
    (mean,), (deviation,) = exact_posterior(SHOP, points, outcomes)
    # The prior of Elastic reaches beyond the domain, so the edge of the domain is kept away from.
    assert low + 4 * deviation < mean < high - 4 * deviation
    found = learner_of(EXACT_CURVES, SHOP, outcomes).estimate
    assert abs(found - mean) < 0.1 * deviation


@pytest.fixture(scope="module", params=[(0.9, 0.1), (0.5, 0.4)], ids=str)
def two_numbers(request):
    """Outcomes of a model of two numbers, and their exact posterior."""
    outcomes = rewards_and_open_outcomes(LEVELS_AND_SLOPES, request.param)
    n = length(200, 400)
    middles = (np.arange(n) + 0.5) / n
    grid = np.stack(np.meshgrid(middles, middles), axis=-1).reshape(-1, 2)
    points = LEVELS_AND_SLOPES.from_unit(grid)
    return outcomes, *exact_posterior(LEVELS_AND_SLOPES, points, outcomes)


@pytest.mark.parametrize("policy", [EXACT_CURVES, gb.IDS(), gb.GridThompson(), gb.GridGreedy()])
@pytest.mark.filterwarnings("ignore:GridGreedy")
def test_two_numbers_have_the_exact_posterior(policy, two_numbers):
    outcomes, mean, deviation = two_numbers
    found = np.array(list(learner_of(policy, LEVELS_AND_SLOPES, outcomes).estimate.values()))
    assert np.all(np.abs(found - mean) < 0.1 * deviation)


PARTS_OF_A_ZERO = [
    (gb.Elastic(), SHOP),
    (gb.Elastic(), LEVELS_AND_SLOPES),
    (gb.IDS(), LEVELS_AND_SLOPES),
]


# This test comes first: learners of the next one load the code that it leaves on disk.
@pytest.mark.parametrize(("policy", "model"), PARTS_OF_A_ZERO)
def test_compiled_learners_take_the_same_parts_of_a_zero(policy, model):
    outcomes = rewards_and_open_outcomes(model, 0.4 if model is SHOP else (0.5, 0.2))
    plain, compiled = (
        learner_of(policy, model, outcomes, compiled=compiled) for compiled in (False, True)
    )
    for _ in range(length(8, 40)):
        arm = plain.select()
        assert compiled.select() == arm
        for each in (plain, compiled):
            each.update(arm, 0.0)
    assert compiled.estimate == plain.estimate


@pytest.mark.parametrize(("policy", "model"), PARTS_OF_A_ZERO)
def test_parts_of_a_zero_are_saved_and_removed_like_other_evidence(policy, model):
    outcomes = rewards_and_open_outcomes(model, 0.4 if model is SHOP else (0.5, 0.2))
    learner = learner_of(policy, model, outcomes)
    twin = gb.Learner.restore(policy, model, json.loads(json.dumps(learner.state())))
    assert twin.estimate == learner.estimate
    arms, sold, _, is_open = outcomes
    for number in range(length(24, 60)):  # the same decisions after further rewards
        arm = learner.select()
        assert twin.select() == arm
        for each in (learner, twin):
            each.update(arm, float(number % 9 == 0))
        if number % length(8, 1) == 0:  # restoring takes much longer than deciding
            twin = gb.Learner.restore(policy, model, json.loads(json.dumps(twin.state())))
    assert twin.estimate == learner.estimate
    # A weight of 1 is a zero. Without open outcomes the rewards alone count.
    learner = learner_of(policy, model, outcomes)
    learner.set_pending(arms[is_open], np.ones(is_open.sum()))
    zeros = gb.Learner(policy, model, seed=0)
    zeros.update(arms, np.where(is_open, 0.0, sold))
    for found, expected in zip(numbers_of(learner), numbers_of(zeros), strict=True):
        assert found == pytest.approx(expected, rel=1e-6)
    learner.set_pending()
    alone = gb.Learner(policy, model, seed=0)
    alone.update(arms[~is_open], sold[~is_open].astype(float))
    assert learner.estimate == alone.estimate


def numbers_of(learner):
    found = learner.estimate
    return list(found.values()) if isinstance(found, dict) else [found]


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
