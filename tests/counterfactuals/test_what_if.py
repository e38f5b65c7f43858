"""What policies would earn: the markets, the numbers of a result, coverage and refusals."""

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.counterfactuals.markets import (
    CurvePosterior,
    MarketPosterior,
    market_posterior,
)
from globalbandits.counterfactuals.what_if import ranked_interval
from globalbandits.errors import EvidenceError
from globalbandits.statistics import count_many, no_statistics

SHOP = gb.demand.exponential([4.0, 5.0, 6.0, 7.0], cost=1.5)
THETA = 0.2
TWO = gb.VectorModel(
    "level * exp(-slope * arm)",
    [4.0, 5.0, 6.0, 7.0],
    domain={"level": (0.1, 1.0), "slope": (0.05, 0.6)},
    value="(arm - 1.5) * mean",
)
POLICIES = {"price 4": gb.FixedArm(arm=0), "price 7": gb.FixedArm(arm=3), "WAGP": gb.WAGP()}


def log_of(means, n, seed=0, model=SHOP, arms=None):
    """Decisions for uniformly drawn arms, with their probabilities."""
    rng = np.random.default_rng(seed)
    arms = rng.integers(model.n_arms, size=n) if arms is None else np.asarray(arms)
    rewards = (rng.random(n) < np.asarray(means)[arms]).astype(float)
    chances = np.full(n, 1 / model.n_arms)
    return gb.DecisionLog(model, arms=arms, rewards=rewards, probabilities=chances)


def stats_of(log):
    stats = no_statistics(log.model.n_arms)
    count_many(stats, np.asarray(log.arms), np.asarray(log.rewards))
    return stats


@pytest.fixture(scope="module")
def found():
    return gb.what_if(log_of(SHOP.means(THETA), 800), POLICIES, horizon=500, markets=199)


def test_a_fixed_arm_earns_the_worth_of_its_mean_in_every_market(found):
    worth = np.stack([SHOP.worth_of(0, found.means[:, 0]), SHOP.worth_of(3, found.means[:, 3])])
    assert found.earnings[:2] == pytest.approx(500 * worth)
    assert found.earnings.shape == (3, 199)


def test_markets_have_the_posterior_of_the_parameter_if_curves_hold():
    """Against the likelihood itself on a fine grid, with the curves' errors taken as 0."""
    log = log_of(SHOP.means(THETA), 2_000)
    stats = stats_of(log)
    posterior = market_posterior(SHOP, stats)
    assert posterior.sizes[0] == 0.0
    exact = posterior.curves[0]
    thetas = np.linspace(*SHOP.domain, 20_001)[1:]
    means = SHOP.means(thetas)
    logs = np.log(means) @ stats.sums + np.log1p(-means) @ (stats.counts - stats.sums)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    center = weights @ means
    deviation = np.sqrt(weights @ (means - center) ** 2)
    own = exact.weights @ exact.means
    own_deviation = np.sqrt(exact.weights @ (exact.means - own) ** 2)
    assert np.all(np.abs(own - center) < 0.1 * deviation)
    assert own_deviation == pytest.approx(deviation, rel=0.1)


def test_markets_follow_an_arms_own_rewards_if_its_curve_is_wrong():
    means = SHOP.means(THETA).copy()
    means[3] = 0.6
    stats = stats_of(log_of(means, 6_000))
    posterior = market_posterior(SHOP, stats)
    drawn = posterior.draw(400, np.random.default_rng(0))
    assert posterior.curve_error > 0.2
    error = np.sqrt(means * (1 - means) / stats.counts)
    assert np.all(np.abs(drawn.mean(axis=0) - means) < 5 * error)
    assert drawn.std(axis=0) == pytest.approx(error, rel=0.5)


def test_an_arm_without_rewards_has_the_spread_of_curves_and_errors():
    right = market_posterior(
        SHOP, stats_of(log_of(SHOP.means(THETA), 3_000, arms=[0, 1, 2] * 1_000))
    )
    means = SHOP.means(THETA).copy()
    means[1] = 0.7
    wrong = market_posterior(SHOP, stats_of(log_of(means, 3_000, arms=[0, 1, 2] * 1_000)))
    rng = np.random.default_rng(0)
    assert wrong.draw(400, rng)[:, 3].std() > 3 * right.draw(400, rng)[:, 3].std()


@pytest.mark.parametrize(("successes", "count"), [(0, 10), (3, 40), (600, 2_000), (0, 0)])
def test_errors_have_their_posterior_on_the_log_odds_scale(successes, count):
    """Against the density itself on a fine grid."""
    curve = CurvePosterior(np.array([[0.05]]), np.ones(1), np.array([0.8]))
    own = np.array([successes / max(count, 1)])
    posterior = MarketPosterior(
        (curve,), np.ones(1), np.array([0.2]), np.array([float(count)]), own, (0.0, 1.0)
    )
    drawn = posterior.draw(20_000, np.random.default_rng(0))[:, 0]
    odds = np.linspace(-12.0, 6.0, 200_001)
    means = 1.0 / (1.0 + np.exp(-odds))
    logs = -0.5 * ((odds - np.log(0.05 / 0.95)) / 0.8) ** 2
    logs += successes * np.log(means) + (count - successes) * np.log1p(-means)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    center = weights @ means
    deviation = np.sqrt(weights @ (means - center) ** 2)
    assert drawn.mean() == pytest.approx(center, abs=4 * deviation / np.sqrt(20_000))
    assert drawn.std() == pytest.approx(deviation, rel=0.05)


def test_markets_of_two_numbers():
    truth = TWO.means({"level": 0.8, "slope": 0.2})
    stats = stats_of(log_of(truth, 4_000, model=TWO))
    drawn = market_posterior(TWO, stats).draw(500, np.random.default_rng(1))
    assert np.all(np.abs(drawn.mean(axis=0) - truth) < 4 * drawn.std(axis=0))
    own = np.sqrt(truth * (1 - truth) / stats.counts)
    # Two numbers are learned from four arms, so each mean is better known than by its own rewards.
    assert np.all(drawn.std(axis=0) < 1.1 * own)


def test_what_if_of_two_numbers():
    log = log_of(TWO.means({"level": 0.8, "slope": 0.2}), 500, model=TWO)
    found = gb.what_if(log, {"a": gb.FixedArm(arm=0), "b": gb.FixedArm(arm=3)}, markets=99)
    assert found.horizon == 500
    low, high = found.interval("a")
    assert low < 500 * TWO.worth({"level": 0.8, "slope": 0.2})[0] < high


def test_intervals_hold_a_fresh_run_and_are_narrow():
    """20 logs; the policies' runs in the true market are outside in at most about 5 %."""
    env = gb.Environment(SHOP, THETA, noise=gb.BernoulliNoise())
    runs = gb.simulate(env, POLICIES, 200, runs=20, seed=5, checkpoints=1)
    truths = runs.dataset["pulls"].values @ SHOP.worth(THETA)
    n_missed, ratios = np.zeros(3, int), []
    for seed in range(20):
        log = log_of(SHOP.means(THETA), 300, seed=seed)
        found = gb.what_if(log, POLICIES, horizon=200, markets=79, seed=seed)
        for place, name in enumerate(POLICIES):
            low, high = found.interval(name)
            n_missed[place] += not low <= truths[place, seed] <= high
            if name != "WAGP":
                ratios.append((high - low) / (200 * found.model_free[name].width))
    # A rate of 5 % gives 6 or more of 20 with a probability of 0.03 %.
    assert n_missed.max() <= 5
    assert np.median(ratios) < 0.5


def test_pairs_are_compared_in_the_same_market(found):
    gains = found.earnings[2] - found.earnings[0]
    mean, low, high = found.difference("WAGP", "price 4")
    assert mean == pytest.approx(gains.mean())
    assert low < mean < high
    assert found.probability("WAGP", "price 4") == pytest.approx(np.mean(gains > 0))
    assert found.probability("WAGP", "WAGP") == 0.5
    assert high - low < np.subtract(*found.interval("WAGP")[::-1]) + np.subtract(
        *found.interval("price 4")[::-1]
    )


def test_a_summary_a_figure_and_a_page(found):
    table = found.summary()
    assert list(table.index) == list(POLICIES)
    assert table.loc["price 4", "gain"] == 0.0
    assert table.loc["WAGP", "earned"] == pytest.approx(found.earnings[2].mean())
    assert found.plot().axes[0].get_xlabel().startswith("earnings of 500 decisions")
    assert "Earnings of 500 decisions in 199 markets" in found._repr_html_()
    assert "earns most" in str(found)
    assert "does not refute the curves" in found.notes[0]


def test_model_free_estimates_come_with_fixed_policies(found):
    assert set(found.model_free) == {"price 4", "price 7"}
    assert SHOP.worth(THETA)[0] in found.model_free["price 4"]
    few = log_of(SHOP.means(THETA), 200, arms=[0, 1] * 99 + [3, 3])
    told = gb.what_if(few, POLICIES, horizon=50, markets=39).model_free["price 7"]
    assert "7.0, which was shown 2 times" in told


def test_a_learner_gives_the_earnings_of_its_log(found):
    learner = gb.Learner(gb.WAGP(), SHOP, seed=0, compiled=False)
    log = log_of(SHOP.means(THETA), 800)
    learner.update(np.asarray(log.arms), np.asarray(log.rewards))
    again = gb.what_if(learner, POLICIES, horizon=500, markets=199)
    assert np.array_equal(again.earnings, found.earnings)
    assert again.model_free == {}


def test_wrong_curves_are_reported_and_arms_follow_their_own_rewards():
    means = SHOP.means(THETA).copy()
    means[0] = 0.15
    right, wrong = (
        gb.what_if(log_of(truth, 3_000), POLICIES, horizon=200, markets=199)
        for truth in (SHOP.means(THETA), means)
    )
    assert wrong.refuted
    assert "The e-value refutes the curves" in wrong.notes[0]
    assert wrong.curve_error > 3 * right.curve_error
    # About 750 rewards of price 4 alone.
    alone = 200 * 2.5 * 2 * 1.96 * np.sqrt(0.15 * 0.85 / 750)
    low, high = wrong.interval("price 4")
    assert low < 200 * SHOP.worth_of(0, 0.15) < high
    assert high - low == pytest.approx(alone, rel=0.25)


def test_a_market_that_has_moved_is_refused():
    before = log_of(SHOP.means(0.05), 1_500)
    after = log_of(SHOP.means(0.24), 1_500, seed=1)
    log = gb.DecisionLog(
        SHOP,
        arms=np.concatenate([before.arms, after.arms]),
        rewards=np.concatenate([before.rewards, after.rewards]),
    )
    with pytest.raises(
        EvidenceError, match="log must be of a market without drift, got a drift alarm"
    ):
        gb.what_if(log, POLICIES)


def test_ranks_give_exact_coverage():
    """The next of n + 1 exchangeable numbers is outside in at most 5 %: here 2 of 40 places."""
    values = np.arange(39.0)
    assert ranked_interval(values, 0.95) == (0.0, 38.0)
    assert ranked_interval(np.arange(79.0), 0.95) == (1.0, 77.0)
    rng = np.random.default_rng(0)
    outside = 0
    for _ in range(2_000):
        draws = rng.standard_normal(80)
        low, high = ranked_interval(draws[:79], 0.9)
        outside += not low <= draws[79] <= high
    assert abs(outside / 2_000 - 0.1) < 5 * np.sqrt(0.1 * 0.9 / 2_000)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"policies": []}, "policies must be at least one"),
        ({"policies": [gb.WAGP(), gb.WAGP()]}, "policies must have different labels"),
        ({"policies": "wagp"}, "policies must be a list"),
        ({"policies": {"a": 3}}, "policies must be a list"),
        ({"horizon": 0}, "horizon must be"),
        ({"markets": 38}, "markets must be at least 39 for a 0.95 interval"),
        ({"confidence": 1.0}, "confidence must"),
        ({"seed": -1}, "seed must"),
        ({"log": 3}, "log must be a Learner or a DecisionLog"),
        ({"log": gb.DecisionLog(SHOP, arms=[], rewards=[])}, "log must have at least one reward"),
    ],
)
def test_wrong_arguments_are_refused(change, words):
    whole = {"log": log_of(SHOP.means(THETA), 50), "policies": POLICIES, "horizon": 10} | change
    with pytest.raises(EvidenceError, match=words):
        gb.what_if(**whole)
