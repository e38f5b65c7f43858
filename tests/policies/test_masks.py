"""`select(allowed=)` plays the best allowed arm, by each policy's own ranking."""

import itertools
import math

import numpy as np
import pytest

import globalbandits as gb
from tests.policies.ours import our_policies

PRICES = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
MODEL = gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, PRICES)
SHOP = gb.RewardModel(
    lambda theta, p: (1 - p * theta) ** 2, PRICES, value=lambda sold, p: (p - 0.1) * sold
)
MASKS = [list(mask) for n in range(1, 7) for mask in itertools.combinations(range(6), n)]


def taught(policy, model, n, seed=0):
    """A learner with rewards of all arms but the last."""
    learner = gb.Learner(policy, model, seed=seed)
    rng = np.random.default_rng(seed)
    means = model.means(0.45)
    for arm in rng.integers(0, 5, n).tolist():
        learner.update(arm, float(rng.random() < means[arm]))
    return learner


def best_of(values, mask):
    return max(mask, key=lambda arm: (values[arm], -arm))


def first_unplayed(learner, mask):
    return next((arm for arm in mask if learner.pulls[arm] == 0), None)


@pytest.mark.parametrize("model", [MODEL, SHOP], ids=["rewards", "worth"])
@pytest.mark.parametrize(
    "policy", [gb.WAGP(), gb.OSSB(), gb.GridPlugIn(), gb.NonStationaryWAGP(half_window=500)]
)
def test_greedy_policies_play_the_best_allowed_arm_at_their_estimate(policy, model):
    learner = taught(policy, model, 60)
    worths = model.worth(learner.estimate)
    for mask in MASKS:
        assert learner.select(allowed=mask) == best_of(worths, mask)


@pytest.mark.parametrize("model", [MODEL, SHOP], ids=["rewards", "worth"])
def test_ucb1_plays_the_largest_bound_of_the_allowed_arms(model):
    learner = taught(gb.UCB1(), model, 60)
    counts, means = learner.pulls, learner.means
    bounds = np.full(6, math.nan)
    for arm in range(5):
        high = means[arm] + math.sqrt(2 * math.log(60) / counts[arm])
        slope = model.worth_of(arm, 1.0) - model.worth_of(arm, 0.0)
        bounds[arm] = model.worth_of(arm, 0.0) + slope * high
    for mask in MASKS:
        fresh = first_unplayed(learner, mask)
        assert learner.select(allowed=mask) == (best_of(bounds, mask) if fresh is None else fresh)


@pytest.mark.parametrize("policy", [gb.KLUCB(), gb.KLUCB(c=3.0)])
def test_kl_ucb_plays_the_largest_bound_of_the_allowed_arms(policy):
    learner = taught(policy, MODEL, 60)
    budget = math.log(61) + policy.c * math.log(math.log(61))
    bounds = np.zeros(6)
    for arm in range(5):
        low, high = learner.means[arm], 1.0
        for _ in range(60):
            q = (low + high) / 2
            m = learner.means[arm]
            kl = sum(a * math.log(a / b) for a, b in ((m, q), (1 - m, 1 - q)) if a > 0)
            low, high = (q, high) if learner.pulls[arm] * kl <= budget else (low, q)
        bounds[arm] = low
    for mask in MASKS:
        fresh = first_unplayed(learner, mask)
        assert learner.select(allowed=mask) == (best_of(bounds, mask) if fresh is None else fresh)


@pytest.mark.parametrize("model", [MODEL, SHOP], ids=["rewards", "worth"])
@pytest.mark.parametrize(
    "policy",
    [gb.Elastic(), gb.Elastic(horizon=500), gb.Elastic(drift=True), gb.Elastic(proved=True)],
)
def test_elastic_plays_the_largest_index_of_the_allowed_arms(policy, model):
    learner = taught(policy, model, 60)
    indices = learner.explain().details["indices"]
    for mask in MASKS:
        assert learner.select(allowed=mask) == best_of(indices, mask)


def test_imed_takes_the_best_of_the_allowed_arms_as_the_best_arm():
    learner = taught(gb.IMED(), MODEL, 60)
    counts, means = learner.pulls, learner.means
    for mask in MASKS:
        fresh = first_unplayed(learner, mask)
        if fresh is not None:
            assert learner.select(allowed=mask) == fresh
            continue
        top = max(means[arm] for arm in mask)
        costs = {}
        for arm in mask:
            m, kl = means[arm], 0.0
            if m < top:
                kl = sum(a * math.log(a / b) for a, b in ((m, top), (1 - m, 1 - top)) if a > 0)
            costs[arm] = counts[arm] * kl + math.log(counts[arm])
        chosen = learner.select(allowed=mask)
        assert costs[chosen] == pytest.approx(min(costs.values()), rel=1e-9)


@pytest.mark.parametrize("model", [MODEL, SHOP], ids=["rewards", "worth"])
def test_greedy_averages_over_the_posterior_rank_the_allowed_arms(model):
    learner = taught(gb.GridGreedy(), model, 60)
    thetas = (np.arange(2000) + 0.5) / 2000
    means = model.means(thetas)
    logs = np.zeros(2000)
    for arm in range(6):
        n, s = learner.pulls[arm], learner.pulls[arm] * np.nan_to_num(learner.means[arm])
        logs += s * np.log(means[:, arm]) + (n - s) * np.log1p(-means[:, arm])
    weights = np.exp(logs - logs.max())
    worths = weights @ model.worth(thetas)
    for mask in MASKS:
        assert learner.select(allowed=mask) == best_of(worths, mask)


@pytest.mark.parametrize("policy", [gb.ThompsonSampling(), gb.GridThompson()])
def test_thompson_plays_an_allowed_arm_with_the_probability_that_it_is_the_best_of_them(policy):
    learner, mask, n = taught(policy, MODEL, 60), [1, 3, 4], 1000
    played = np.zeros(6)
    for seed in range(n):
        played[learner.select(allowed=mask, rng=np.random.default_rng(seed))] += 1
    rng = np.random.default_rng(99)
    counts, sums = learner.pulls, learner.pulls * np.nan_to_num(learner.means)
    if policy == gb.ThompsonSampling():
        draws = rng.beta(1 + sums[mask], 1 + (counts - sums)[mask], (n, 3))
    else:
        thetas = (np.arange(2000) + 0.5) / 2000
        means = MODEL.means(thetas)
        logs = sums @ np.log(means).T + (counts - sums) @ np.log1p(-means).T
        weights = np.exp(logs - logs.max())
        draws = means[rng.choice(2000, n, p=weights / weights.sum())][:, mask]
    expected = np.bincount(draws.argmax(axis=1), minlength=3) / n
    # Two samples of 1,000: four standard errors of a difference of shares.
    np.testing.assert_allclose(played[mask] / n, expected, atol=4 * math.sqrt(0.5 / n))


def mixture_ratio(regret, gain, chance, one, other):
    mixed = chance * regret[one] + (1 - chance) * regret[other]
    learned = chance * gain[one] + (1 - chance) * gain[other]
    return math.inf if learned <= 0 else mixed**2 / learned


def test_ids_mixes_two_allowed_arms_with_the_least_ratio():
    learner = taught(gb.IDS(cells=200), MODEL, 12)
    thetas = (np.arange(200) + 0.5) / 200
    means = MODEL.means(thetas)
    counts, sums = learner.pulls, learner.pulls * np.nan_to_num(learner.means)
    logs = sums @ np.log(means).T + (counts - sums) @ np.log1p(-means).T
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    winner = means.argmax(axis=1)
    expected = weights @ means
    gain = np.zeros(6)
    for best in range(6):
        share = weights[winner == best].sum()
        if share > 0:
            inside = weights[winner == best] @ means[winner == best] / share
            gain += share * (inside - expected) ** 2
    for mask in ([0, 1, 2], [0, 2, 4], [1, 5], [0, 1, 2, 3, 4]):
        regret = weights @ means[:, mask].max(axis=1) - expected
        ratios = [
            mixture_ratio(regret, gain, c, one, other)
            for one, other in itertools.product(mask, mask)
            for c in np.linspace(0, 1, 51)
        ]
        played = [learner.select(allowed=mask, rng=np.random.default_rng(s)) for s in range(400)]
        shares = np.bincount(played, minlength=6) / 400
        assert (shares > 0).sum() <= 2
        ratio = (shares @ regret) ** 2 / (shares @ gain)
        # The shares of 400 plays have standard errors of up to 2.5 %.
        assert ratio <= min(ratios) * 1.3 + 1e-12


@pytest.mark.parametrize("kind", sorted(our_policies()))
def test_an_allowed_arm_is_played_and_all_arms_allowed_change_nothing(kind):
    policy = our_policies()[kind]
    model = gb.RegionalModel([MODEL]) if kind == "regional_ucb" else MODEL
    learner = gb.Learner(policy, model, seed=3)
    rng = np.random.default_rng(5)
    for _ in range(40):
        mask = MASKS[int(rng.integers(len(MASKS)))]
        admissible = learner.admissible()
        if admissible is not None and not set(mask) & set(admissible):
            with pytest.raises(gb.RewardError, match="within the limits"):
                learner.select(allowed=mask)
            mask = admissible
        arm = learner.select(allowed=mask)
        assert arm in mask
        learner.update(arm, float(rng.random() < 0.4))
    seeds = range(20)
    free = [learner.select(rng=np.random.default_rng(s), record=False) for s in seeds]
    every = [
        learner.select(rng=np.random.default_rng(s), allowed=range(6), record=False) for s in seeds
    ]
    assert free == every


def test_the_choice_is_not_the_nearest_index():
    # The best arm at this estimate is the last one, and the first allowed one is second best.
    model = gb.RewardModel(lambda theta, mean: mean + 0.1 * theta, [0.8, 0.1, 0.2, 0.3, 0.9])
    learner = gb.Learner(gb.WAGP(), model, seed=0)
    learner.update(4, 0.95)
    assert learner.select() == 4
    assert learner.select(allowed=[0, 1, 2, 3]) == 0


def test_a_policy_without_the_rule_refuses_by_name():
    from tests.policies.wrappers.test_limited import Eager

    class Stubborn(Eager):
        rules = Eager.rules._replace(select_among=None)

    learner = gb.Learner(Stubborn(), MODEL, seed=0)
    with pytest.raises(gb.PolicyError, match=r"Stubborn cannot choose among some of the arms"):
        learner.select(allowed=[0, 1])
    for wrapper in (gb.Safe, gb.Limited, gb.Guarded):
        with pytest.raises(gb.PolicyError, match="cannot choose among some of the arms"):
            gb.Learner(wrapper(Stubborn()), MODEL, seed=0).select(allowed=[0, 1])
