import collections

import numpy as np
import pytest
import scipy.special
import scipy.stats

import globalbandits as gb
from globalbandits.environments.environment import worth_of_means
from globalbandits.environments.worlds import curve_errors
from globalbandits.environments.worlds.conversion import (
    MAX_RATE,
    MIN_RATE,
    SHOP_PROBABILITY,
    draw_conversion_family,
)
from globalbandits.environments.worlds.families import draw_family
from globalbandits.errors import ScenarioError
from globalbandits.model import RewardModel

KINDS = ("exact", "dense", "lone", "slope", "family", "reach", "drift")


@pytest.fixture(scope="module")
def worlds():
    return [gb.worlds.sample(seed, mixture="general") for seed in range(40)]


def test_a_seed_determines_the_world(worlds):
    again = gb.worlds.sample(7, mixture="general")
    assert again.to_dict() == worlds[7].to_dict()
    assert again.text == worlds[7].text != worlds[8].text
    low, high = again.environment.model.worth_range
    assert again.floor == pytest.approx(0.01 * again.horizon**0.5 * (high - low))


def test_worlds_are_of_many_kinds(worlds):
    families = collections.Counter(world.family for world in worlds)
    assert len(families) >= 8
    assert {world.error for world in worlds} == set(KINDS)
    arms = [world.environment.model.n_arms for world in worlds]
    assert min(arms) < 6
    assert 40 < max(arms) <= 100
    assert len({type(world.environment.noise) for world in worlds}) == 5
    assert all(100 <= world.horizon <= 10_000 for world in worlds)
    assert any(world.environment.model.tables.valued for world in worlds)


def best_theta(model, paid):
    """How far the nearest of the believed curves is from what is paid, at most over arms."""
    grid = model.means(np.linspace(*model.domain, 401))
    return float(np.abs(grid - paid).max(axis=1).min())


def test_each_kind_of_error_has_its_definition(worlds):
    for world in worlds:
        env, model = world.environment, world.environment.model
        if world.error == "drift":
            assert env.drift is not None
            continue
        rng = np.random.default_rng(0)
        paid = env.true_means(env.shifts(rng))
        worth = worth_of_means(model, paid)
        if world.error == "exact":
            assert env.varies is False
            assert best_theta(model, paid) < 0.02
        elif world.error == "dense":
            assert 0 < np.abs(paid - model.means(env.start)).max() <= env.bias.size * 1.0001
        elif world.error == "lone":
            wrong = np.flatnonzero(np.abs(paid - model.means(env.start)) > 1e-12)
            assert wrong.tolist() == [int(worth.argmax())]
            second = np.sort(worth)[-2]
            low, high = model.worth_range
            assert worth.max() - second > 0.009 * (high - low)
        elif world.error == "reach":
            assert env.theta is None
            assert best_theta(model, paid) > 0.0
        else:
            assert np.abs(paid - model.means(env.start)).max() > 1e-3


def test_another_horizon_is_the_same_world_at_another_speed(worlds):
    seen = set()  # of drifts
    for world in worlds:
        env = world.environment
        if world.error == "drift" or world.seed % 8 == 0:
            slow = gb.worlds.sample(world.seed, horizon=200, mixture="general")
            assert slow.horizon == 200
            assert slow.family == world.family
            assert slow.environment.model.arms == env.model.arms
            assert slow.environment.theta == env.theta
            assert slow.environment.noise == env.noise
            if world.error == "drift":
                seen.add(type(env.drift))
                assert type(slow.environment.drift) is type(env.drift)
    assert seen


@pytest.mark.parametrize("kind", range(4))
def test_every_drift_can_be_played(kind):
    class Chosen:
        """A generator that draws the wanted drift."""

        def __init__(self):
            self.rng = np.random.default_rng(kind)

        def integers(self, number):
            assert number == 4
            return kind

        def __getattr__(self, name):
            return getattr(self.rng, name)

    model = gb.demand.linear_power([0.4, 0.6, 0.8])
    for horizon in (10, 100, 5000):
        drift, words = curve_errors._drift(model.domain, 0.4, horizon, Chosen())
        assert words.startswith("theta ")
        env = gb.Environment(model, theta=0.4, drift=drift)
        state = env.drift.track(model.domain, 0.4)
        theta, path = 0.4, []
        for time in range(2, horizon + 1):
            theta = drift.rules.move(state, time, theta, np.random.default_rng(time).random())
            path.append(theta)
        assert 0.0 <= min(path) <= max(path) <= 1.0
        assert max(path) - min(path) > 0.01


def test_a_lone_error_cannot_improve_on_a_target_that_is_met():
    model = gb.dose.power([0.1, 0.3, 0.5], target=0.3)
    found = curve_errors._lone(model, 0.0, np.random.default_rng(0))
    assert found.words == "curves exact"
    assert "bias" not in found.options


def test_every_family_is_drawn_and_accepts_a_part_of_its_domain():
    found = {}
    for seed in range(60):
        family = draw_family(np.random.default_rng(seed))
        found.setdefault(family.name, family)
    assert len(found) == 10
    for family in found.values():
        low, high = family.domain
        cut = family.build(domain=(low, low + 0.3 * (high - low)))
        assert isinstance(cut, RewardModel)
        assert cut.domain[1] < high


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1,), "seed must be at least 0, got -1"),
        ((0, 9), "horizon must be at least 10, got 9"),
        ((0, 12.5), "horizon must be an integer, got 12.5"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ScenarioError, match=message):
        gb.worlds.sample(*arguments)


def test_a_seed_is_the_same_world_in_all_mixtures(worlds):
    drawn = [gb.worlds.sample(seed, horizon=100) for seed in range(16)]
    # The number of worlds with rates is Binomial(16, 1/2); three standard deviations are 6.
    assert abs(sum(world.rate is not None for world in drawn) - 8) <= 6
    for world in drawn[:8]:
        mixture = "general" if world.rate is None else "conversion"
        own = gb.worlds.sample(world.seed, horizon=100, mixture=mixture)
        assert own.to_dict() == world.to_dict()
    general = next(world for world in drawn if world.rate is None)
    assert general.text.split(";")[0] == worlds[general.seed].text.split(";")[0]
    message = "mixture must be one of all, general, conversion, two_numbers, got 'shops'"
    with pytest.raises(ScenarioError, match=message):
        gb.worlds.sample(0, mixture="shops")


N_FAMILIES = 300


@pytest.fixture(scope="module")
def conversion():
    return [draw_conversion_family(np.random.default_rng(seed)) for seed in range(N_FAMILIES)]


def test_conversion_rates_are_log_uniform(conversion):
    logs = np.log([drawn.rate for drawn in conversion])
    low, high = np.log(MIN_RATE), np.log(MAX_RATE)
    # A right law has a smaller p in one of a thousand seeds.
    assert scipy.stats.kstest(logs, "uniform", args=(low, high - low)).pvalue > 1e-3


def test_the_best_arm_has_the_drawn_rate(conversion):
    for family, theta, rate in conversion[:60]:
        low, high = family.domain
        assert low < theta < high
        model = family.build(domain=family.domain)
        means = model.means(theta)
        best = int(worth_of_means(model, means).argmax())
        assert means[best] == pytest.approx(rate, rel=1e-9)


def test_the_best_price_is_the_best_of_all_prices_between(conversion):
    names = set()
    for family, theta, _ in conversion:
        if family.name in names or not family.name.startswith("demand"):
            continue
        names.add(family.name)
        model = family.build(domain=family.domain)
        prices, constants = np.array(model.arms), family.build.keywords
        cost = constants["cost"]
        # The same family on a dense grid of prices: brute force over the whole interval.
        dense = np.linspace(prices.min(), prices.max(), 100)
        levels = np.unique([*dense, *prices]).tolist()
        many = family.build.func(levels, domain=family.domain, **constants)
        profits = (np.array(many.arms) - cost) * many.means(theta)
        assert 0.0 <= cost < prices.min()
        assert profits.max() == pytest.approx(worth_of_means(model, model.means(theta)).max())
    assert len(names) == 4


def test_shops_and_trials_are_drawn_in_proportion(conversion):
    shops = sum(drawn.family.name.startswith("demand") for drawn in conversion)
    error = (N_FAMILIES * SHOP_PROBABILITY * (1 - SHOP_PROBABILITY)) ** 0.5
    assert abs(shops - N_FAMILIES * SHOP_PROBABILITY) < 3.5 * error


def log_odds_of(means):
    return np.log(means / (1 - means))


def shop_of_errors():
    model = gb.demand.logit([10.0, 14.0, 18.0, 22.0, 26.0, 30.0], sensitivity=0.25, cost=8.0)
    return model, 2.0, log_odds_of(model.means(2.0))


def test_dense_errors_are_normal_in_log_odds_and_of_a_log_uniform_size():
    model, theta, odds = shop_of_errors()
    rng, logs, sizes = np.random.default_rng(0), [], []
    for _ in range(400):
        found = curve_errors._log_odds("dense", model, theta, rng)
        shifts = log_odds_of(np.array(found.options["truth"])) - odds
        sizes.append(float(found.words.split(" by ")[1].split()[0]))
        logs.append(np.log(np.mean(shifts**2)) / 2)
    bounds = curve_errors.MIN_LOG_ODDS_ERROR, curve_errors.MAX_LOG_ODDS_ERROR
    assert bounds[0] <= min(sizes) <= max(sizes) <= bounds[1]
    low, high = np.log(bounds)
    # log(rms) = log(size) + log(chi^2 / n) / 2, with the moments of both in closed form.
    n = model.n_arms
    mean = (low + high) / 2 + (scipy.special.digamma(n / 2) - np.log(n / 2)) / 2
    variance = (high - low) ** 2 / 12 + scipy.special.polygamma(1, n / 2) / 4
    assert np.mean(logs) == pytest.approx(mean, abs=3.5 * (variance / 400) ** 0.5)
    assert np.std(logs) == pytest.approx(variance**0.5, rel=0.15)


def test_slope_errors_stretch_log_odds_around_the_best_arm():
    model, theta, odds = shop_of_errors()
    best = int(worth_of_means(model, model.means(theta)).argmax())
    rng, sizes = np.random.default_rng(1), []
    for _ in range(400):
        found = curve_errors._log_odds("slope", model, theta, rng)
        stretched = log_odds_of(np.array(found.options["truth"]))
        others = np.arange(model.n_arms) != best
        factors = (stretched - odds[best])[others] / (odds - odds[best])[others]
        np.testing.assert_allclose(factors, factors[0])
        sizes.append(abs(factors[0] - 1))
    low, high = np.log([curve_errors.MIN_LOG_ODDS_ERROR, curve_errors.MAX_LOG_ODDS_ERROR])
    assert scipy.stats.kstest(np.log(sizes), "uniform", args=(low, high - low)).pvalue > 1e-3


@pytest.mark.parametrize("target", [None, 0.06])
def test_a_lone_error_in_log_odds_makes_its_arm_the_best(target):
    model, theta, odds = shop_of_errors()
    if target is not None:
        model, theta = gb.dose.logistic([1.0, 2.0, 3.0, 4.0], target=target), 0.3
        odds = log_odds_of(model.means(theta))
    rng, n_wrong = np.random.default_rng(2), 0
    for _ in range(60):
        found = curve_errors._log_odds("lone", model, theta, rng)
        if found.words == "curves exact":
            assert "truth" not in found.options
            continue
        n_wrong += 1
        truth = np.array(found.options["truth"])
        shifts = log_odds_of(truth) - odds
        wrong = np.flatnonzero(np.abs(shifts) > 1e-9)
        assert wrong.tolist() == [int(worth_of_means(model, truth).argmax())]
        assert 0.1 <= abs(shifts[wrong[0]]) <= 0.8
    assert n_wrong >= 50


def test_worlds_with_rates_can_be_played_and_count_less_regret_as_negligible():
    kinds, low_rates = set(), 0
    for seed in range(30):
        world = gb.worlds.sample(seed, horizon=50, mixture="conversion")
        kinds.add(world.error)
        low, high = world.environment.model.worth_range
        sd = (world.rate * (1 - world.rate)) ** 0.5
        assert world.floor == pytest.approx(0.02 * 50**0.5 * sd * (high - low))
        if world.error not in ("drift", "reach"):
            assert world.environment.theta is not None
        low_rates += world.rate < 0.05
    assert kinds == set(KINDS)
    assert low_rates > 5


def test_worlds_of_two_numbers():
    worlds = [gb.worlds.sample(seed, mixture="two_numbers") for seed in range(24)]
    assert gb.worlds.sample(7, mixture="two_numbers").to_dict() == worlds[7].to_dict()
    assert {world.family for world in worlds} == {"exponential", "logit", "power", "dose"}
    assert {world.error for world in worlds} == {"exact", "dense", "family"}
    for world in worlds:
        env, model = world.environment, world.environment.model
        assert model.parameters == ("level", "slope")
        assert env.noise == gb.BernoulliNoise()
        shares = model.regions().shares
        assert (shares >= 0.02).sum() >= 3  # drawn from 400 points with shares of 4 %
        points = model.from_unit(np.stack(np.meshgrid(*[np.linspace(0, 1, 41)] * 2), axis=-1))
        distance = np.abs(model.means(points) - env.true_means()).max(axis=-1).min()
        if world.error == "exact":
            assert env.true_means() == pytest.approx(model.means(env.theta), abs=1e-12)
        elif world.error == "dense":
            size = float(world.text.split("off by ")[1].split()[0])
            error = env.true_means() - model.means(env.theta)
            inside = (env.true_means() > 0.0031) & (env.true_means() < 0.9969)
            assert 0.0 < np.abs(error[inside]).max() < 4.0 * size
        else:
            # Two families can be near each other; most are not.
            assert distance > 1e-4
