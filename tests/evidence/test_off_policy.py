"""Estimates of a fixed policy's value without curves: their numbers, coverage and refusals."""

import math

import numpy as np
import pytest

from globalbandits.errors import EvidenceError
from globalbandits.evidence import DecisionLog, off_policy
from globalbandits.evidence.off_policy import _SHARES
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
    """A log that always shows one arm for certain says something about this arm alone."""
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


def test_what_cannot_be_estimated_is_said():
    log = DecisionLog(SHOP, arm_values=[4.0, 5.0], rewards=[1, 0])
    assert "without probabilities" in repr(log)
    with pytest.raises(EvidenceError, match="log must have probabilities"):
        off_policy(log, PI)
    drug = dose.emax([1.0, 2.0], target=0.25)
    trial = DecisionLog(drug, arms=[0] * 40, rewards=[0] * 40, probabilities=[0.5] * 40)
    with pytest.raises(EvidenceError, match="value must be linear in the reward"):
        off_policy(trial, [1.0, 0.0])


def test_a_sentence_and_an_explanation(greedy):
    found = off_policy(greedy, {6.0: 1.0})
    assert str(found).startswith(f"{found.dr:.6g} per decision, between")
    assert "No curve is used" in found.explain()
    assert "<p>" in found._repr_html_()
