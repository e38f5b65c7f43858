import collections

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.environments.environment import worth_of_means
from globalbandits.environments.worlds import errors
from globalbandits.environments.worlds.families import draw_family
from globalbandits.errors import ScenarioError
from globalbandits.model import RewardModel

KINDS = ("exact", "dense", "lone", "slope", "family", "reach", "drift")


@pytest.fixture(scope="module")
def worlds():
    return [gb.worlds.sample(seed) for seed in range(40)]


def test_a_seed_is_a_world(worlds):
    again = gb.worlds.sample(7)
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


def test_each_kind_of_error_is_what_it_says(worlds):
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
            slow = gb.worlds.sample(world.seed, horizon=200)
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
        drift, words = errors._drift(model.domain, 0.4, horizon, Chosen())
        assert words.startswith("theta ")
        env = gb.Environment(model, theta=0.4, drift=drift)
        state = env.drift.track(model.domain, 0.4)
        theta, path = 0.4, []
        for time in range(2, horizon + 1):
            theta = drift.rules.move(state, time, theta, np.random.default_rng(time).random())
            path.append(theta)
        assert 0.0 <= min(path) <= max(path) <= 1.0
        assert max(path) - min(path) > 0.01


def test_a_target_that_is_met_cannot_be_beaten():
    model = gb.dose.power([0.1, 0.3, 0.5], target=0.3)
    found = errors._lone(model, 0.0, np.random.default_rng(0))
    assert found.words == "curves exact"
    assert "bias" not in found.options


def test_every_family_is_drawn_and_can_be_cut():
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
