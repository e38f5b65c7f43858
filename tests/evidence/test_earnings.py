"""Earnings against a baseline: exact extremes, and bounds that hold at all times."""

import math
import os

import numpy as np
import pytest
from scipy.optimize import brentq

import globalbandits as gb
from globalbandits.evidence import statements
from globalbandits.evidence.statements import extremes
from globalbandits.statistics import count_many, no_statistics

PRICES = [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]


@pytest.fixture(scope="module")
def shop():
    return gb.demand.exponential(PRICES, cost=1.5)


@pytest.fixture(scope="module")
def trial():
    return gb.dose.emax([0.5, 1.0, 2.0, 4.0, 8.0, 16.0], target=0.25)


@pytest.mark.parametrize("function", [np.sin, lambda x: np.abs(x - 1.23456), lambda x: -(x**2)])
def test_extremes_are_those_of_a_fine_grid(function):
    points = np.linspace(-2.0, 3.0, 1_000_001)
    values = function(points)
    low, high = extremes(function, (-2.0, 3.0))
    assert low <= values.min() + 1e-12
    assert high >= values.max() - 1e-12
    assert low == pytest.approx(values.min(), abs=1e-5)
    assert high == pytest.approx(values.max(), abs=1e-5)


@pytest.mark.parametrize("name", ["shop", "trial"])
def test_bounds_are_the_extremes_over_the_interval(name, request):
    model = request.getfixturevalue(name)
    rng = np.random.default_rng(5)
    theta = model.domain[0] + 0.4 * (model.domain[1] - model.domain[0])
    arms = rng.integers(model.n_arms, size=300)
    rewards = (rng.random(300) < model.means(theta)[arms]).astype(float)
    evidence = gb.evidence_from_log(model, arms, rewards)
    found = evidence.earnings(2)
    span = evidence.interval()
    worth = model.worth(np.linspace(span.low, span.high, 200_001))
    extra = (worth - worth[:, [2]]) @ np.bincount(arms, minlength=model.n_arms)
    assert found.low == pytest.approx(extra.min(), rel=1e-4, abs=1e-4)
    assert found.high == pytest.approx(extra.max(), rel=1e-4, abs=1e-4)
    assert found.low <= found.amount <= found.high
    assert found.per_decision == found.amount / 300


def test_the_truth_lies_between_the_bounds_at_all_times(shop):
    theta, missed = 0.22, 0
    extra = shop.worth(theta) - shop.worth(theta)[1]
    for seed in range(12):
        rng = np.random.default_rng(seed)
        learner = gb.Learner(gb.WAGP(), shop, seed=seed, compiled=False)
        for _ in range(6):
            for _ in range(20):
                arm = learner.select()
                learner.update(arm, float(rng.random() < math.exp(-theta * PRICES[arm])))
            found = learner.earnings(1)
            truth = float(extra @ learner.pulls)
            if not found.low <= truth <= found.high:
                missed += 1
                break
    assert missed <= 3  # .6 expected at most; more has a chance below 0.005


def test_always_the_baseline_earns_nothing(shop):
    evidence = gb.evidence_from_log(shop, [3] * 10, [1.0, 0.0] * 5)
    found = evidence.earnings(3)
    assert (found.amount, found.low, found.high) == (0.0, 0.0, 0.0)
    assert str(found).startswith("+0 against always 5.0 over 10 decisions: between +0 and +0")
    assert "over 1 decision:" in str(gb.evidence_from_log(shop, [3], [1.0]).earnings(3))


def test_a_refuted_model_gives_no_bounds(shop):
    evidence = gb.evidence_from_log(shop, [0, 6] * 400, [0.0, 1.0] * 400)
    assert evidence.against_model().refuted()
    found = evidence.earnings(0)
    assert math.isnan(found.low)
    # All 400 customers bought at 8 (6.5 each), none at 2.
    assert found.model_free.amount == pytest.approx(2_600.0)
    assert "by the rewards alone" in str(found)
    assert "nothing can be said" in str(evidence.earnings(1))
    axes = evidence.plot_worth(baseline=0).axes[0]
    assert axes.get_title("left") == "the rewards refute the curve: do not follow it"
    assert "best" not in [text.get_text() for text in axes.get_legend().get_texts()]


def test_a_wrong_level_is_seen_in_the_rewards_of_the_baseline(shop):
    """Seven in ten customers never buy less than the curves say: 90 % of the log at price 3."""
    rng = np.random.default_rng(4)
    arms = np.where(rng.random(3_000) < 0.9, 1, rng.integers(0, 7, 3_000))
    means = 0.7 * np.exp(-0.1 * np.array(PRICES))
    rewards = (rng.random(3_000) < means[arms]).astype(float)
    found = gb.evidence_from_log(shop, arms, rewards).earnings(1)
    worth = (np.array(PRICES) - 1.5) * means
    truth = float((worth[arms] - worth[1]).sum())
    assert abs(found.model_free.amount - truth) < 4 * found.model_free.se
    assert found.model_free.low < truth < found.model_free.high
    assert found.model_free.n_baseline == int((arms == 1).sum())
    assert not found.low < truth < found.high or found.disagrees
    # Two sums of rewards have narrower bounds than the means of all arms together.
    bounds = gb.evidence_from_log(shop, arms, rewards).observed_bounds()
    n_others = (arms != 1).sum()
    apart = np.ptp(bounds[arms[arms != 1]], axis=1).sum() + n_others * np.ptp(bounds[1])
    assert found.model_free.high - found.model_free.low < 0.8 * apart


def test_no_bet_on_a_sum_of_rewards_gains_on_average():
    """The mean of the factor of one Bernoulli reward, for bets on either side."""
    m, c, b = np.meshgrid(
        np.linspace(0.0, 1.0, 101), statements._CENTERS, statements._BETS, indexing="ij"
    )
    psi = -np.log1p(-b) - b
    for mean, center in ((m, c), (1.0 - m, 1.0 - c)):
        up = np.exp(b * (1.0 - mean) - psi * (1.0 - center) ** 2)
        down = np.exp(-b * mean - psi * center**2)
        assert np.all(mean * up + (1.0 - mean) * down <= 1.0 + 1e-12)


@pytest.mark.parametrize("rate", [0.03, 0.5])
def test_bounds_of_two_sums_hold_at_all_times(rate):
    """100 logs, looked at seven times each."""
    means, slopes = rate * np.exp(-0.1 * np.arange(6)), np.arange(1.0, 7.0)
    worth, n_missed = slopes * means, 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        arms = np.where(rng.random(1_000) < 0.5, 1, rng.integers(6, size=1_000))
        rewards = (rng.random(1_000) < means[arms]).astype(float)
        inside = True
        for stop in (30, 60, 120, 250, 500, 750, 1_000):
            stats = no_statistics(6)
            count_many(stats, arms[:stop], rewards[:stop])
            low, high = statements._linear_bounds(stats, np.zeros(6), slopes, 1, 0.05)
            inside &= low <= float((worth[arms[:stop]] - worth[1]).sum()) <= high
        n_missed += not inside
    # A rate of 5 % gives 12 or more of 100 with a probability below 0.5 %.
    assert n_missed <= 11


def test_the_amount_without_the_model_is_that_of_the_means(shop):
    evidence = gb.evidence_from_log(shop, [0, 1, 1, 4], [1.0, 0.0, 1.0, 1.0])
    # Worth at the observed means: .5 at 2, .75 at 3, 4.5 at 6.
    free = evidence.earnings(1).model_free
    assert free.amount == pytest.approx((0.5 - 0.75) + (4.5 - 0.75))
    assert free.low < free.amount < free.high
    assert evidence.earnings(3).model_free is None
    np.testing.assert_allclose(
        evidence.observed_worth(), [0.5, 0.75, np.nan, np.nan, 4.5, np.nan, np.nan]
    )
    assert "No curve is used" in free.explain()


def test_bounds_without_the_model_hold_at_all_times(shop):
    """20 logs, looked at four times each: more than 4 misses have a chance below .005.

    `make soak` has 60 logs and eight looks, of which 8 may miss.
    """
    n_logs, between, allowed = (60, 100, 8) if "GLOBALBANDITS_SOAK" in os.environ else (20, 200, 4)
    missed, means = 0, 0.8 * np.exp(-0.15 * np.array(PRICES))
    worth = (np.array(PRICES) - 1.5) * means
    for seed in range(n_logs):
        rng = np.random.default_rng(seed)
        arms = rng.integers(0, 7, 800)
        rewards = (rng.random(800) < means[arms]).astype(float)
        for stop in range(between, 801, between):
            free = gb.evidence_from_log(shop, arms[:stop], rewards[:stop]).earnings(1).model_free
            truth = float((worth[arms[:stop]] - worth[1]).sum())
            if not free.low <= truth <= free.high:
                missed += 1
                break
    assert missed <= allowed


def test_the_baseline_must_be_an_arm(shop):
    with pytest.raises(gb.RewardError, match="baseline must be an index below 7, got 7"):
        gb.Evidence(shop).earnings(7)


def test_the_picture_shows_curve_band_and_what_was_seen(shop):
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    evidence = gb.evidence_from_log(shop, [0, 1, 1, 4], [1.0, 0.0, 1.0, 1.0])
    figure = evidence.plot_worth(baseline=1, ax=axes)
    assert figure is axes.get_figure()
    assert axes.get_title("left").endswith("against 3")
    (dots,) = [one for one in axes.collections if one.get_label().startswith("observed")]
    assert dots.get_offsets()[:, 0].tolist() == [2.0, 3.0, 6.0]
    assert dots.get_offsets()[:, 1].tolist() == pytest.approx([0.5, 0.75, 4.5])


def test_the_curve_runs_left_to_right_in_any_order_of_arms():
    model = gb.RewardModel("exp(-arm*theta)", [3.0, 1.0, 2.0], value="arm * mean")
    axes = gb.evidence_from_log(model, [0, 1], [1.0, 0.0]).plot_worth(baseline=0).axes[0]
    (curve,) = [line for line in axes.lines if line.get_label() == "by the curve"]
    assert curve.get_xdata().tolist() == [1.0, 2.0, 3.0]
    ticks = {tick.get_text(): tick.get_position()[0] for tick in axes.get_xticklabels()}
    assert ticks == {"1": 1.0, "2": 2.0, "3": 3.0}
    (band,) = [one for one in axes.collections if one.get_label() == "how sure"]
    assert [path[0, 0] for path in band.get_segments()] == [1.0, 2.0, 3.0]


def test_arms_without_numbers_have_no_curve():
    model = gb.RewardModel.from_functions([lambda t: t, lambda t: 1 - t], arms=["low", "high"])
    figure = gb.evidence_from_log(model, [0, 1], [1.0, 0.0]).plot_worth()
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["low", "high"]


def test_a_simulation_against_an_arm_and_against_a_policy(shop):
    env = gb.Environment(shop, 0.22, noise=gb.BernoulliNoise())
    policies = [gb.WAGP(), gb.FixedArm(1)]
    result = gb.simulate(env, policies, horizon=200, runs=20)
    table = result.earnings(baseline=1)
    assert table.equals(result.earnings(baseline="FixedArm(1)")) or np.allclose(
        table, result.earnings(baseline="FixedArm(1)"), rtol=1e-12, atol=1e-9
    )
    worth = shop.worth(0.22)
    pulls = result.dataset["pulls"].sel(policy="WAGP").to_numpy()
    expected = (pulls @ (worth - worth[1])).mean()
    assert table.loc["WAGP", "gain_mean"] == pytest.approx(expected)
    assert table.loc["FixedArm(1)", "gain_mean"] == pytest.approx(0.0, abs=1e-9)


def test_where_means_move_the_baseline_must_have_played(shop):
    env = gb.Environment(shop, 0.22, drift=gb.RandomWalk(drift_time=1_000))
    result = gb.simulate(env, [gb.WAGP(), gb.FixedArm(1)], horizon=50, runs=2)
    assert set(result.earnings("FixedArm(1)").columns) == {
        "gain_mean",
        "gain_sem",
        "gain_low",
        "gain_high",
    }
    with pytest.raises(gb.SimulationError, match=r"simulate FixedArm\(1\) as well"):
        result.earnings(1)
    with pytest.raises(gb.SimulationError, match="baseline must be one of WAGP"):
        result.earnings("UCB1")


def naive_radius(stats, scales, alpha):
    """The distance at which the mean capital of all bets reaches 1 / alpha."""
    terms = []
    for bet in [2.0**-k for k in range(1, 12)]:
        psi = -math.log(1.0 - bet) - bet
        for center in (0.0, 0.25, 0.5, 1.0):
            spread = sum(
                scale**2 * (q - 2 * center * s + n * center**2)
                for scale, n, s, q in zip(
                    scales, stats.counts, stats.sums, stats.squares, strict=True
                )
            )
            terms.append((bet, -psi * spread))

    def excess(distance):
        logs = [bet * distance + shift for bet, shift in terms]
        return np.logaddexp.reduce(logs) - math.log(len(logs)) + math.log(alpha)

    return brentq(excess, 0.0, 1e6, xtol=1e-9)


def naive_linear_bounds(stats, floors, slopes, baselines, alpha):
    """The sum over the plays of other arms, and the sums of the baselines, each with its radius."""
    arms = range(len(floors))
    others = [arm for arm in arms if baselines[arm] != arm]
    own = [arm for arm in arms if baselines[arm] == arm]
    unit = max((slopes[arm] for arm in others), default=0.0)
    low = high = sum(
        floors[arm] * stats.counts[arm] + slopes[arm] * stats.sums[arm] for arm in others
    )
    if unit > 0.0:
        scales = [slopes[arm] / unit if arm in others else 0.0 for arm in arms]
        radius = unit * naive_radius(stats, scales, alpha / 4)
        low = max(low - radius, sum(floors[arm] * stats.counts[arm] for arm in others))
        tops = sum((floors[arm] + slopes[arm]) * stats.counts[arm] for arm in others)
        high = min(high + radius, tops)
    for base in own:
        plays = sum(stats.counts[arm] for arm in others if baselines[arm] == base)
        if plays:
            n, total = stats.counts[base], stats.sums[base]
            scales = [float(arm == base) for arm in arms]
            radius = naive_radius(stats, scales, alpha / 4 / len(own))
            ends = max(total - radius, 0.0) / n, min(total + radius, n) / n
            low -= plays * (floors[base] + slopes[base] * ends[1])
            high -= plays * (floors[base] + slopes[base] * ends[0])
    return low, high


@pytest.mark.parametrize("seed", range(6))
def test_bounds_of_sums_are_those_by_hand(seed):
    rng = np.random.default_rng(seed)
    stats = no_statistics(6)
    n = int(rng.choice([4, 60, 900]))
    weights = rng.dirichlet(np.full(6, 0.5))
    arms = np.concatenate([[0, 3], rng.choice(6, n, p=weights)])
    count_many(stats, arms, rng.random(n + 2) ** rng.integers(1, 4))
    floors, slopes = rng.normal(size=6), rng.random(6) * rng.integers(0, 2, 6)
    for baselines in ([0, 0, 0, 3, 3, 3], [3] * 6, [0, 0, 0, 3, 3, 0]):
        found = statements._linear_bounds(stats, floors, slopes, np.array(baselines), 0.1)
        expected = naive_linear_bounds(stats, floors, slopes, baselines, 0.1)
        assert found == pytest.approx(expected, abs=1e-6)


def test_worth_that_bends_has_the_extremes_of_its_intervals():
    model = gb.RewardModel(
        "theta * arm - 1",
        [0.5, 1.0, 1.5],
        domain=(0.0, 1.0),
        reward_range=(-1.0, 1.0),
        value="-(mean - 0.25)**2 * arm",
    )
    stats = no_statistics(3)
    arms = np.array([0] * 9 + [1] * 4 + [2])
    count_many(stats, arms, np.array([0.25, 0.5, 1.0] * 3 + [0.5, 0.75, 0.0, 1.0] + [0.5]))
    bounds = np.array([[-0.5, 0.75], [-0.25, 0.125], [-1.0, 1.0]])
    found = statements.earned_without_model(model, stats, bounds, np.zeros(3, int), "half", 0.9)
    worth = [
        np.array([model.worth_of(k, m) for m in np.linspace(*bounds[k], 257)]) for k in (0, 1, 2)
    ]
    means = 2.0 * stats.sums / stats.counts - 1.0
    at_means = [float(model.worth_of(arm, means[arm])) for arm in (0, 1, 2)]
    assert found.amount == pytest.approx(
        4 * (at_means[1] - at_means[0]) + (at_means[2] - at_means[0])
    )
    lows, highs = [each.min() for each in worth], [each.max() for each in worth]
    assert found.low == pytest.approx(4 * lows[1] + lows[2] - 5 * highs[0])
    assert found.high == pytest.approx(4 * highs[1] + highs[2] - 5 * lows[0])
    variances = [np.var([0.25, 0.5, 1.0] * 3, ddof=1), np.var([0.5, 0.75, 0.0, 1.0], ddof=1), 0.25]
    errors = [
        (np.ptp(worth[arm]) / np.ptp(bounds[arm]) * 2.0) ** 2 * variances[arm] / stats.counts[arm]
        for arm in (0, 1, 2)
    ]
    assert found.se == pytest.approx(math.sqrt(16 * errors[1] + errors[2] + 25 * errors[0]))
    assert (found.n_observations, found.n_baseline) == (14, 9)
    assert (found.baseline, found.confidence) == ("half", 0.9)


def test_earnings_in_contexts_need_the_baseline_of_each_context_that_was_played():
    model = gb.RewardModel(
        "exp(-theta * arm * (1 + context))",
        [1.0, 2.0, 3.0],
        contexts={"weekday": 0.0, "holiday": 1.0},
        value="arm * mean",
    )
    learner = gb.Learner(gb.Uniform(), model, seed=0, compiled=False)
    assert learner.earnings(1).model_free is None
    learner.update([0, 1, 1, 2], [1.0, 0.0, 1.0, 1.0], context="weekday")
    found = learner.earnings(1)
    # One of two sales at the price 2; a sale at 1, and one at 3.
    assert found.model_free.amount == pytest.approx((1.0 - 1.0) + (3.0 - 1.0))
    assert found.model_free.baseline == found.baseline == 2.0
    assert found.model_free.n_baseline == 2
    assert found.n_observations == found.model_free.n_observations == 4
    learner.update(0, 1.0, context="holiday")
    assert learner.earnings(1).model_free is None
    learner.update(1, 1.0, context="holiday")
    found = learner.earnings(1)
    assert found.model_free.amount == pytest.approx((1.0 - 1.0) + (3.0 - 1.0) + (1.0 - 2.0))
    assert found.model_free.n_baseline == 3
    # By the curves every play is compared with the baseline in its own context.
    theta = learner.evidence_against_model().theta
    worth = np.exp(-theta * np.array([[1, 2, 3], [2, 4, 6]])) * [1, 2, 3]
    plays = np.array([[1, 2, 1], [1, 1, 0]])
    assert found.amount == pytest.approx((plays * (worth - worth[:, [1]])).sum())


@pytest.mark.parametrize(
    ("function", "span", "expected"),
    [
        (lambda x: x, (0.0, 1.0), (0.0, 1.0)),
        (lambda x: -3.0 * x, (-2.0, 5.0), (-15.0, 6.0)),
        (lambda x: np.cos(x), (-1.0, 9.0), (-1.0, 1.0)),
        (lambda x: 0.0 * x + 4.0, (7.0, 7.0), (4.0, 4.0)),
        (lambda x: np.abs(x - 1.23456789), (1.0, 2.0), (0.0, 2.0 - 1.23456789)),
    ],
)
def test_extremes_are_exact(function, span, expected):
    assert extremes(function, span) == pytest.approx(expected, abs=1e-12)
    assert np.isnan(extremes(function, (math.nan, math.nan))).all()


def test_bounds_of_worth_over_a_span_are_those_of_every_arm(shop):
    found = statements.worth_bounds(shop, (0.1, 0.3))
    ends = np.stack([shop.worth(0.1), shop.worth(0.3)])
    np.testing.assert_allclose(found, np.stack([ends.min(axis=0), ends.max(axis=0)], axis=1))
