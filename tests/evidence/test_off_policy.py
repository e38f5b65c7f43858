"""Estimates of a fixed policy's value without curves: their numbers, coverage and refusals."""

import math
import re

import numpy as np
import pytest

from globalbandits.errors import EvidenceError
from globalbandits.evidence import DecisionLog, off_policy
from globalbandits.evidence.off_policy import (
    _SHARES,
    OffPolicyEstimate,
    _require_support,
    _supported,
    as_policy,
    point_estimates,
    predictions,
    worth_ends,
)
from globalbandits.model import RewardModel, VectorModel
from globalbandits.model.catalogue import demand, dose
from globalbandits.policies import EpsilonGreedy, Learner, Uniform
from tests.oracles import off_policy as oracle
from tests.soak import length

SHOP = demand.exponential([4.0, 5.0, 6.0, 7.0], cost=1.5)


def write_log(policy, n, theta=0.2, seed=0, rows=False, model=SHOP):
    """A log of a learner that plays, with the probabilities of all arms or of the shown one."""
    rng = np.random.default_rng(seed)
    learner = Learner(policy, model, seed=seed, compiled=False)
    means = model.means(theta)
    arms, rewards, chances = [], [], []
    for _ in range(n):
        found = np.asarray(learner.probabilities())
        arm = int(rng.choice(model.n_arms, p=found / found.sum()))
        reward = float(rng.random() < means[arm])
        learner.update(arm, reward)
        arms.append(arm)
        rewards.append(reward)
        chances.append(found if rows else found[arm])
    return DecisionLog(model, arms=arms, rewards=rewards, probabilities=chances)


def part(log, start, stop):
    """Some decisions of a log."""
    some = slice(start, stop)
    return DecisionLog(
        log.model,
        arms=log.arms[some],
        rewards=log.rewards[some],
        probabilities=log.probabilities[some],
    )


def without_rows(log):
    """The log with the probability of the shown arm alone."""
    shown = log.probabilities[np.arange(len(log)), log.arms]
    return DecisionLog(log.model, arms=log.arms, rewards=log.rewards, probabilities=shown)


@pytest.fixture(scope="module")
def greedy():
    # The first four decisions try every arm once and have no choice.
    return part(write_log(EpsilonGreedy(epsilon=0.5), 604, rows=True), 4, 604)


PI = np.array([0.1, 0.2, 0.3, 0.4])


def test_estimates_are_those_of_the_definitions(greedy):
    found = off_policy(greedy, PI)
    arms = greedy.arms.tolist()
    worths = [r * (SHOP.arms[a] - 1.5) for a, r in zip(arms, greedy.rewards, strict=True)]
    weights = (PI[arms] / greedy.probabilities[np.arange(600), arms]).tolist()
    assert found.ips == pytest.approx(oracle.ips(worths, weights))
    assert found.snips == pytest.approx(oracle.snips(worths, weights))
    assert found.dr == pytest.approx(oracle.dr(arms, worths, weights, PI.tolist()))
    assert found.ips_se == pytest.approx(
        np.std(np.multiply(worths, weights), ddof=1) / math.sqrt(600)
    )
    assert found.amount == found.dr
    assert (found.n_used, found.n_decisions) == (600, 600)
    assert found.low < found.dr < found.high


def test_the_lower_bound_is_where_the_capital_reaches_the_limit(greedy):
    plain = without_rows(greedy)
    found = off_policy(plain, PI, confidence=0.9)
    gains = greedy.rewards * (np.array(SHOP.arms)[greedy.arms] - 1.5)
    weights = PI[greedy.arms] / plain.probabilities
    assert oracle.log_capital(gains, weights, found.low, _SHARES) == pytest.approx(
        math.log(20.0), abs=1e-3
    )


def test_the_rows_of_probabilities_make_the_interval_of_rare_sales_narrower():
    """The predicted worth takes out the variance of the weights, which sales of 2 % do not have."""
    rare = RewardModel("0.05 * exp(-theta * arm)", [4.0, 6.0], value="arm * mean")
    rng = np.random.default_rng(5)
    arms = (rng.random(4_000) < 0.2).astype(int)
    rewards = (rng.random(4_000) < rare.means(0.2)[arms]).astype(float)
    rows = np.tile([0.8, 0.2], (4_000, 1))
    log = DecisionLog(rare, arms=arms, rewards=rewards, probabilities=rows)
    narrow, wide = off_policy(log, [0.0, 1.0]), off_policy(without_rows(log), [0.0, 1.0])
    assert rare.worth(0.2)[1] in narrow
    assert narrow.width < 0.6 * wide.width


@pytest.mark.parametrize("rows", [False, True])
def test_the_interval_misses_seldom_at_any_time(rows):
    """Adaptive logs, looked at after 150 and after 300 decisions: at most 10 % may miss."""
    n_missed = np.zeros(4, int)
    n_logs, allowed = length((10, 5), (25, 8))
    for seed in range(n_logs):
        log = write_log(EpsilonGreedy(epsilon=0.3), 300, seed=seed, rows=rows)
        for target in (0, 3):
            looks = [_holds(part(log, 0, n), target) for n in (150, 300)]
            n_missed[target] += not all(looks)
    # A rate of 10 % gives more than that with a probability of 0.05 %, or 0.01 % for 10 logs.
    assert n_missed.max() <= allowed


def _holds(log, target):
    """Whether the interval holds the truth; a refusal makes no wrong statement."""
    try:
        found = off_policy(log, np.eye(4)[target], confidence=0.9)
    except EvidenceError:
        return True
    return SHOP.worth(0.2)[target] in found


def test_a_lower_bound_holds_even_if_an_arm_had_no_chance():
    """Half of the time arm 3 is impossible, which the probability of the shown arm hides."""
    rng = np.random.default_rng(1)
    arms, chances = [], []
    for t in range(4_000):
        possible = [0, 1, 2] if t % 2 else [0, 1, 2, 3]
        arms.append(int(rng.choice(possible)))
        chances.append(1 / len(possible))
    rewards = (rng.random(4_000) < SHOP.means(0.2)[arms]).astype(float)
    log = DecisionLog(SHOP, arms=arms, rewards=rewards, probabilities=chances)
    with pytest.raises(
        EvidenceError, match=r"weights must average 1, got 0\.\d+: the log gives no"
    ):
        off_policy(log, {7.0: 1.0})
    assert SHOP.worth(0.2)[0] in off_policy(log, {4.0: 1.0})


def test_decisions_without_a_choice_are_left_out():
    """A log that always shows one arm gives an estimate for this arm only."""
    rng = np.random.default_rng(2)
    arms = np.array([1] * 500 + [2] * 500)
    rewards = (rng.random(1_000) < SHOP.means(0.2)[arms]).astype(float)
    log = DecisionLog(SHOP, arms=arms, rewards=rewards, probabilities=np.ones(1_000))
    found = off_policy(log, {5.0: 1.0})
    assert (found.n_used, found.n_decisions) == (500, 1_000)
    assert found.ips == pytest.approx(float(rewards[:500].mean()) * 3.5)
    with pytest.raises(
        EvidenceError, match=r"5\.0, which was shown 0 times in decisions that could"
    ):
        off_policy(log, {5.0: 0.5, 6.0: 0.5})


def test_a_log_that_explores_too_little_is_refused():
    log = write_log(Uniform(), 60)
    few = DecisionLog(SHOP, arms=log.arms, rewards=log.rewards, probabilities=log.probabilities)
    times = int(few.shown[2])
    with pytest.raises(
        EvidenceError, match=f"at least 30 times, got 6.0, which was shown {times} times"
    ):
        off_policy(few, {6.0: 1.0})


def test_costs_and_ranges_below_zero():
    rng = np.random.default_rng(3)
    model = RewardModel("arm * theta - 1", [1.0, 2.0], domain=(0.0, 1.0), reward_range=(-1.0, 1.0))
    arms = rng.integers(2, size=800)
    means = model.means(0.6)
    rewards = np.where(rng.random(800) < (means[arms] + 1) / 2, 1.0, -1.0)
    log = DecisionLog(model, arms=arms, rewards=rewards, probabilities=np.full(800, 0.5))
    found = off_policy(log, [1.0, 0.0])
    assert means[0] in found
    assert -1.0 <= found.low < found.high <= 1.0


def test_two_numbers():
    model = VectorModel(
        "level * exp(-slope * arm)",
        [2.0, 4.0],
        domain={"level": (0.1, 0.9), "slope": (0.05, 0.6)},
        value="arm * mean",
    )
    rng = np.random.default_rng(4)
    arms = rng.integers(2, size=500)
    rewards = (rng.random(500) < model.means({"level": 0.5, "slope": 0.2})[arms]).astype(float)
    log = DecisionLog(model, arms=arms, rewards=rewards, probabilities=np.full(500, 0.5))
    assert off_policy(log, [0.5, 0.5]).low > 0.1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"probabilities": [0.5]}, r"probabilities must have the shape \(2,\) or \(2, 4\)"),
        ({"probabilities": [0.5, 1.5]}, r"probabilities must lie in \[0, 1\], got 1.5"),
        ({"probabilities": [0.5, math.inf]}, r"probabilities must lie in \[0, 1\], got inf"),
        ({"probabilities": [0.5, 0.0]}, "probabilities must be above 0 for the arm"),
        ({"probabilities": [[0.5, 0.4, 0, 0]] * 2}, "probabilities must sum to 1 in each row"),
        ({"probabilities": ["a", "b"]}, "probabilities must be numbers"),
        ({"rewards": [1, 2]}, r"reward\[1\] must lie in \[0, 1\]"),
    ],
)
def test_a_wrong_log_is_refused(given, words):
    whole = {"arms": [0, 1], "rewards": [1, 0], "probabilities": [0.5, 0.5]} | given
    with pytest.raises(ValueError, match=words):
        DecisionLog(SHOP, **whole)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ([0.5, 0.5], "policy must be 4 probabilities"),
        ([0.5, 0.5, 0.5, -0.5], "policy must be probabilities of at least 0 that sum to 1"),
        ({8.0: 1.0}, "policy must name arms"),
        ({4.0: 0.7}, "policy must be probabilities of at least 0 that sum to 1"),
    ],
)
def test_a_wrong_policy_is_refused(greedy, policy, words):
    with pytest.raises(EvidenceError, match=words):
        off_policy(greedy, policy)


def test_decisions_of_unknown_probability_are_left_out(greedy):
    half = greedy.probabilities.copy()
    half[:300] = math.nan
    log = DecisionLog(SHOP, arms=greedy.arms, rewards=greedy.rewards, probabilities=half)
    found, later = off_policy(log, PI), off_policy(part(greedy, 300, 600), PI)
    assert (found.n_used, found.n_decisions) == (300, 600)
    assert (found.low, found.dr) == (later.low, later.dr)


def test_logs_that_cannot_be_used_are_named():
    log = DecisionLog(SHOP, arm_values=[4.0, 5.0], rewards=[1, 0])
    assert "without probabilities" in repr(log)
    with pytest.raises(EvidenceError, match="log must have probabilities"):
        off_policy(log, PI)
    drug = dose.emax([1.0, 2.0], target=0.25)
    trial = DecisionLog(drug, arms=[0] * 40, rewards=[0] * 40, probabilities=[0.5] * 40)
    with pytest.raises(EvidenceError, match="value must be linear in the reward"):
        off_policy(trial, [1.0, 0.0])


def test_an_estimate_prints_a_sentence_and_an_explanation(greedy):
    found = off_policy(greedy, {6.0: 1.0})
    assert str(found).startswith(f"{found.dr:.6g} per decision, between")
    assert "No curve is used" in found.explain()
    assert "<p>" in found._repr_html_()


def capital_by_hand(log, worths, pi, value, unit, constants):
    """Log of the mean capital of all bets on gains, one decision after the other."""
    capitals = []
    for constant in constants:
        for share in _SHARES:
            capital, sums, counts = 0.0, [0.0] * len(pi), [0] * len(pi)
            for t, arm in enumerate(log.arms.tolist()):
                chances = log.probabilities[t]
                guessed = [s / n if n else 0.0 for s, n in zip(sums, counts, strict=True)]
                weight = pi[arm] / chances[arm]
                x = constant + weight * worths[t] / unit
                if constant > 0.0:
                    x -= min(weight * guessed[arm], constant)
                    x += sum(
                        min(p * g, constant * chance)
                        for p, g, chance in zip(pi, guessed, chances, strict=True)
                    )
                capital += math.log(1.0 - share + share * x / (constant + value))
                sums[arm] += worths[t] / unit
                counts[arm] += 1
            capitals.append(capital)
    return float(np.logaddexp.reduce(capitals)) - math.log(len(capitals))


def test_both_bounds_are_where_the_capital_of_all_bets_reaches_the_limit(greedy):
    some = part(greedy, 0, 400)
    found = off_policy(some, PI, confidence=0.8)
    most = np.array(SHOP.arms) - 1.5
    unit = float(PI @ most)
    gains = some.rewards * most[some.arms]
    for worths, bound in ((gains, found.low), (most[some.arms] - gains, unit - found.high)):
        capital = capital_by_hand(some, worths, PI, bound / unit, unit, (0.0, 1.0, 4.0, 16.0))
        assert capital == pytest.approx(math.log(10.0), abs=1e-5)


def test_standard_errors_are_those_of_the_definitions(greedy):
    some = part(greedy, 0, 400)
    found = off_policy(some, PI)
    arms, n = some.arms, 400
    worths = some.rewards * (np.array(SHOP.arms)[arms] - 1.5)
    weights = PI[arms] / some.probabilities[np.arange(n), arms]
    residuals = weights * (worths - found.snips) / weights.mean()
    assert found.snips_se == pytest.approx(math.sqrt((residuals**2).mean() / n))
    guessed = predictions(arms, worths, 4)
    terms = guessed @ PI + weights * (worths - guessed[np.arange(n), arms])
    assert found.dr_se == pytest.approx(np.std(terms, ddof=1) / math.sqrt(n))


def test_estimates_of_one_decision_and_of_no_weight():
    one = point_estimates(np.array([1]), np.array([3.0]), np.array([2.0]), np.array([0.5, 0.5]))
    expected = {"ips": 6.0, "snips": 3.0, "dr": 6.0}
    assert one == expected | dict.fromkeys(("ips_se", "snips_se", "dr_se"), 0.0)
    none = point_estimates(np.array([1, 1]), np.ones(2), np.zeros(2), np.array([1.0, 0.0]))
    assert math.isnan(none["snips"])
    assert none["ips"] == none["dr"] == none["snips_se"] == 0.0


def test_predictions_are_means_of_earlier_worths():
    found = predictions(np.array([0, 2, 0, 0, 2]), np.array([1.0, 4.0, 2.0, 9.0, 0.0]), 3)
    assert found.tolist() == [[0, 0, 0], [1, 0, 0], [1, 0, 4], [1.5, 0, 4], [4, 0, 4]]


def test_the_largest_and_the_smallest_value_are_their_own_bounds():
    always = DecisionLog(
        SHOP, arms=[0] * 900, rewards=[1.0] * 900, probabilities=[[1.0, 0.0, 0.0, 0.0]] * 900
    )
    found = off_policy(always, {4.0: 1.0})
    assert found.high == 2.5
    assert 2.4 < found.low < 2.5
    assert found.ips == found.snips == found.dr == 2.5
    never = DecisionLog(SHOP, arms=[0] * 900, rewards=[0.0] * 900, probabilities=[1.0] * 900)
    found = off_policy(never, {4.0: 1.0})
    assert found.low == 0.0
    assert 0.0 < found.high < 0.1
    # Weights of two show every sale twice, more than the largest possible value.
    twice = DecisionLog(SHOP, arms=[0] * 99, rewards=[1.0] * 99, probabilities=[0.5] * 99)
    assert off_policy(twice, {4.0: 1.0}).low == 2.5
    free = RewardModel("theta * arm", [1.0, 2.0], domain=(0.0, 0.5), value="0 * mean")
    worthless = DecisionLog(free, arms=[0] * 40, rewards=[1.0] * 40, probabilities=[0.9] * 40)
    found = off_policy(worthless, [1.0, 0.0])
    assert (found.low, found.high, found.dr) == (0.0, 0.0, 0.0)


def test_which_decisions_could_have_shown_all_arms_of_the_policy():
    nan = math.nan
    arms = np.array([0, 0, 0, 1, 1])
    shown = np.array([1.0, 1.0 - 1e-13, 0.5, 1.0, nan])
    both, first = np.array([0.5, 0.5, 0.0]), np.array([1.0, 0.0, 0.0])
    assert _supported(shown, arms, both).tolist() == [False, False, True, False, False]
    assert _supported(shown, arms, first).tolist() == [True, True, True, False, False]
    assert _supported(np.array([1.0 - 1e-11]), np.array([1]), first).tolist() == [True]
    rows = np.array([[0.5, 0.5, 0], [1.0, 0, 0], [nan, nan, nan], [0, 0.2, 0.8]])
    assert _supported(rows, arms[:4], both).tolist() == [True, False, False, False]
    assert _supported(rows, arms[:4], first).tolist() == [True, True, False, False]


def test_an_arm_of_the_policy_must_be_shown_thirty_times():
    def shown(times, of=60):
        arms = [2] * times + [0] * (of - times)
        return DecisionLog(SHOP, arms=arms, rewards=[1.0] * of, probabilities=[0.5] * of)

    assert off_policy(shown(30), {6.0: 1.0}).n_used == 60
    with pytest.raises(EvidenceError) as caught:
        off_policy(shown(29), {6.0: 1.0})
    assert str(caught.value) == (
        "log must show each arm of the policy at least 30 times, got 6.0, which was shown 29 times"
    )
    # Arms without a share in the policy need not be shown.
    assert off_policy(shown(60), {6.0: 1.0, 7.0: 0.0}).dr > 0.0


def test_a_mean_weight_four_standard_errors_below_one_is_refused():
    # Three in four decisions weigh nothing: the mean is 1 - 4 standard errors for weights of w.
    def weights(number, weight):
        return np.array([0.0, 0.0, 0.0, weight] * number)

    for number in (25, 100):
        root = math.sqrt(4 * number)
        limit = 1.0 / (0.25 + 4.0 * math.sqrt(0.1875) / root)
        _require_support(weights(number, limit * (1 + 1e-9)))
        with pytest.raises(EvidenceError) as caught:
            _require_support(weights(number, limit * (1 - 1e-9)))
        mean = 0.25 * limit
        assert str(caught.value) == (
            f"weights must average 1, got {mean:.3g}: the log gives no chance to arms of the "
            f"policy in about {1.0 - mean:.0%} of the decisions"
        )


@pytest.mark.parametrize(
    ("probabilities", "good"),
    [
        ([1.0, 1.0 + 0.9e-6], True),
        ([1.0, 1.0 + 1.1e-6], False),
        ([math.nan, 1e-300], True),
        ([-1e-300, 0.5], False),
        ([[0.25, 0.25, 0.25, 0.25 + 3.9e-6]] * 2, True),
        ([[0.25, 0.25, 0.25, 0.25 - 4.1e-6]] * 2, False),
        ([[0.25, 0.25, 0.25, 0.25 + 4.1e-6]] * 2, False),
        ([[math.nan] * 4, [0.5, 0.5, 0.0, 0.0]], True),
        ([[0.0, 1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]], False),
    ],
)
def test_probabilities_may_be_rounded(probabilities, good):
    given = {"arms": [0, 1], "rewards": [1, 0], "probabilities": probabilities}
    if good:
        assert DecisionLog(SHOP, **given).probabilities.shape == np.shape(probabilities)
        return
    with pytest.raises(EvidenceError, match="probabilities must"):
        DecisionLog(SHOP, **given)


def test_policies_may_be_rounded():
    assert as_policy([0.5, 0.5 + 3.9e-6, 0, 0], SHOP).sum() == pytest.approx(1.0, abs=1e-15)
    assert as_policy({4.0: 0.25, 7.0: 0.75}, SHOP).tolist() == [0.25, 0.0, 0.0, 0.75]
    for wrong in ([0.5, 0.5 + 4.1e-6, 0, 0], [0.5, 0.5 - 4.1e-6, 0, 0], [1.0, 1e-7, -1e-7, 0]):
        with pytest.raises(EvidenceError, match="policy must be probabilities of at least 0"):
            as_policy(wrong, SHOP)


def test_worth_may_bend_by_rounding_alone():
    def bent(bend):
        return RewardModel(
            lambda theta, arm: theta * arm,
            [0.5, 1.0],
            value=lambda mean, arm: 2.0 * mean - arm + bend * mean * (1.0 - mean),
        )

    least, most = worth_ends(bent(0.0))
    assert (least.tolist(), most.tolist()) == ([-0.5, -1.0], [1.5, 1.0])
    # The bend in the middle is a quarter; the largest worth is 1.5.
    assert worth_ends(bent(5.9e-9))[1][0] == pytest.approx(1.5)
    for bend in (6.1e-9, -6.1e-9, 0.1):
        with pytest.raises(EvidenceError) as caught:
            worth_ends(bent(bend))
        rule = r"value must be linear in the reward, as a price less a cost is \(arm (0.5|1.0), "
        assert re.match(rule + r"rewards 0, 0.5 and 1\), got \[", str(caught.value))
    twice = RewardModel("theta * arm", [0.5], value="mean * mean")
    with pytest.raises(EvidenceError, match=re.escape("got [0.0, 0.25, 1.0]")):
        worth_ends(twice)
    falling = RewardModel("theta * arm", [0.5, 1.0], value="arm - 2 * mean")
    assert [ends.tolist() for ends in worth_ends(falling)] == [[-1.5, -1.0], [0.5, 1.0]]


def test_estimates_print_all_their_numbers():
    found = OffPolicyEstimate(
        probabilities=(1.0,),
        ips=1.5,
        ips_se=0.25,
        snips=1.25,
        snips_se=0.125,
        dr=1.375,
        dr_se=0.0625,
        low=1.0,
        high=2.0,
        confidence=0.9,
        n_decisions=2_000,
        n_used=1_500,
    )
    sentence = "1.375 per decision, between 1 and 2 (confidence 0.9, 1,500 of 2,000 decisions)"
    assert str(found) == sentence
    assert found.explain() == (
        f"{sentence}. No curve is used. Inverse propensity gives 1.5 (standard error 0.25), "
        "self-normalised 1.25 (0.12), doubly robust 1.375 (0.062). The interval holds at all times "
        "at once if the logged probabilities are right, rewards lie in the declared range, and the "
        "arms' means do not change."
    )
    assert (found.amount, found.width) == (1.375, 1.0)
    assert (1.0 in found, 2.0 in found, 0.999 in found, 2.001 in found) == (
        True,
        True,
        False,
        False,
    )


def test_a_log_prints_its_size_and_counts_its_arms():
    log = DecisionLog(SHOP, arms=[0, 2, 2], rewards=[1, 0, 1], probabilities=[0.5] * 3)
    assert repr(log) == "DecisionLog(4 arms, 3 decisions with probabilities)"
    assert log.shown.tolist() == [1, 0, 2, 0]
    currency = RewardModel("arm * theta", [1.0, 2.0], reward_range=(-1.0, 3.0))
    assert DecisionLog(currency, arms=[0, 1], rewards=[-1.0, 2.5]).rewards.tolist() == [-1.0, 2.5]
