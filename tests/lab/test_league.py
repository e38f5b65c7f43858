import numpy as np
import pytest

import globalbandits as gb
from globalbandits.cli import main
from globalbandits.errors import PolicyError, ScenarioError, SimulationError
from globalbandits.lab.league import (
    Standings,
    compile_ahead,
    league_policies,
    load_scenarios,
    play_league,
)
from globalbandits.lab.league.scenarios import parse_scenario
from globalbandits.lab.league.standings import rank
from globalbandits.policies import Uniform, registered
from globalbandits.simulation import simulate

PLAIN = {
    "title": "t",
    "text": "x",
    "theta": 0.4,
    "model": {"family": "demand.linear", "from": 0.4, "to": 0.9, "number": 3},
}


@pytest.fixture(scope="module")
def standings() -> Standings:
    policies = league_policies(["UCB1", "WAGP", "Uniform"])
    return play_league(load_scenarios(["short", "bias_05"]), policies, runs=12, seed=3)


def test_every_registered_policy_of_ours_plays():
    playing = {policy.kind for policy in league_policies().values()}
    ours = {
        kind
        for kind, policy in registered().items()
        if policy.__module__.startswith("globalbandits.")
    }
    # They need arms in groups or doses, restrict what another policy plays, or play one arm.
    assert ours - playing <= {"regional_ucb", "limited", "fixed_arm", "cohort_design"}


def test_every_scenario_is_playable_by_every_policy():
    for scenario in load_scenarios():
        for policy in league_policies().values():
            assert policy.setup(scenario.environment.model).tables.n_arms > 1


def test_the_badly_wrong_arm_is_the_best_one_by_a_tenth():
    (scenario,) = load_scenarios(["one_wrong"])
    environment = scenario.environment
    means = environment.true_means(environment.shifts(np.random.default_rng(0)))
    ordered = np.sort(means)
    assert means.argmax() == 2
    assert ordered[-1] - ordered[-2] == pytest.approx(0.1, abs=1e-4)


@pytest.mark.parametrize(
    ("key", "price", "rate"),
    [("shop_01", 25.0, 0.01), ("shop_03", 12.0, 0.03), ("shop_10", 30.0, 0.1)],
)
def test_shops_have_the_stated_conversion_rate(key, price, rate):
    (scenario,) = load_scenarios([key])
    model, theta = scenario.environment.model, scenario.environment.theta
    best = int(model.worth(theta).argmax())
    assert model.arms[best] == price
    assert model.means(theta)[best] == pytest.approx(rate, rel=2e-3)
    cost = model.to_dict()["cost"]
    assert model.worth(theta)[best] == pytest.approx((price - cost) * rate, rel=2e-3)


def test_results_do_not_depend_on_the_other_policies(standings):
    alone = play_league(load_scenarios(["short"]), league_policies(["UCB1"]), runs=12, seed=3)
    assert alone.cells["short"]["UCB1"].regret == standings.cells["short"]["UCB1"].regret


def test_structure_wins_when_the_curve_is_right(standings):
    cells = standings.cells["short"]
    assert cells["WAGP"].rank == 1
    assert cells["WAGP"].is_level
    assert cells["Uniform"].behind > 2 * cells["Uniform"].behind_sem


def test_relative_regret_and_order(standings):
    table = standings.relative()
    assert table.shape == (3, 2)
    assert (table.min(axis=0) == 0.0).all()
    assert set(standings.order()) == {"UCB1", "WAGP", "Uniform"}
    content = standings.to_dict()
    assert content["scenarios"]["short"]["policies"]["WAGP"]["runs"] == 12


def test_rank_pairs_the_runs():
    one = np.array([1.0, 5.0, 9.0])
    cells = rank({"late": one + 1.0, "best": one}, {"late": 1.0, "best": 2.0})
    assert cells["late"].behind == pytest.approx(1.0)
    assert cells["late"].behind_sem == pytest.approx(0.0)
    assert not cells["late"].is_level
    assert list(cells) == ["late", "best"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"speed": 3}, "scenario x must have keys among .*, got 'speed'"),
        (
            {"model": {"family": "demand.linear"}},
            r"scenario x\.model must have the key arms, got",
        ),
        (
            {"model": {"family": "demand.magic", "from": 0.1, "to": 0.2, "number": 2}},
            r"scenario x\.model\.family must be one of .*linear-power.*, got 'demand.magic'",
        ),
        (
            {"model": {"family": "demand.linear", "from": 0.1, "to": 0.2, "number": 2, "cst": 1}},
            r"scenario x\.model: a key of demand\.linear must be one of .*'cst'; did you mean 'co",
        ),
        ({"theta": 7.0}, r"scenario x\.theta must lie in the domain \[0, 1\], got 7"),
        ({"title": 3}, r"scenario x\.title must be a text, got 3"),
        ({"text": ["a"]}, r"scenario x\.text must be a text, got \['a'\]"),
        ({"horizon": 0}, r"scenario x\.horizon must be at least 1, got 0"),
        ({"horizon": 10**15}, r"scenario x\.horizon must be at most \d+, got 10{15}"),
        ({"runs": 1}, r"scenario x\.runs must be at least 2, got 1"),
        ({"runs": 10**15}, r"scenario x\.runs must be at most \d+, got 10{15}"),
        ({"noise": "loud"}, r"scenario x\.noise must be one of .*, got 'loud'"),
    ],
)
def test_wrong_scenarios_are_refused(change, message):
    with pytest.raises(ScenarioError, match=message):
        parse_scenario("x", PLAIN | change)


def test_missing_keys_and_unknown_names_are_refused():
    with pytest.raises(ScenarioError, match="scenario x must have theta"):
        parse_scenario("x", {key: PLAIN[key] for key in ("title", "text", "model")})
    with pytest.raises(ScenarioError, match=r"scenario must be one of pricing, .*, got 'nowhere'"):
        load_scenarios(["nowhere"])
    with pytest.raises(PolicyError, match=r"policy must be one of .*, got 'Nobody'"):
        league_policies(["Nobody"])
    with pytest.raises(SimulationError, match="runs must be at least 2, got 1"):
        play_league(load_scenarios(["short"]), league_policies(["UCB1"]), runs=1)


def test_a_policy_that_cannot_play_is_named(monkeypatch):
    from globalbandits.policies import UCB1

    def refuse(self, model):
        raise PolicyError("arms must be numbers, got 'a'")

    monkeypatch.setattr(UCB1, "setup", refuse)
    played = play_league(load_scenarios(["short"]), league_policies(["UCB1", "WAGP"]), runs=2)
    assert played.absent["short"] == {"UCB1": "arms must be numbers, got 'a'"}
    assert np.isnan(played.relative()[0, 0])
    assert played.order() == ("WAGP", "UCB1")
    assert str(played) == "WAGP won: its regret is 1.00 times the best one's over one scenario."
    message = "a policy must be able to play short, got none: UCB1: arms must be numbers, got 'a'"
    with pytest.raises(ScenarioError, match=message):
        play_league(load_scenarios(["short"]), league_policies(["UCB1"]), runs=2)


def test_compiling_ahead_leaves_the_code_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("GLOBALBANDITS_CACHE_DIR", str(tmp_path / "cache"))
    done = []
    compile_ahead(["Uniform"], lambda what, label: done.append((what, label)))
    assert done == [("compiled", "Uniform")]
    assert list((tmp_path / "cache").glob("*"))


OWN_POLICY = """
import dataclasses
import globalbandits as gb
from globalbandits.policies.independent.uniform import select
from globalbandits.policies.shared.index import Setup, no_estimate

@dataclasses.dataclass(frozen=True, kw_only=True)
class Mine(gb.Policy):
    rules = gb.policies.stateless(select, no_estimate)

    def setup(self, model):
        return Setup(model.tables)

ready = Mine()
number = 3
"""
OWN_WORLD = """
[corner_shop]
title = "corner shop"
text = "Three prices."
model = { family = "demand.linear", from = 0.4, to = 0.9, number = 3 }
theta = 0.4
noise = "bernoulli"
horizon = 50
runs = 4
"""


@pytest.fixture
def own(tmp_path):
    (tmp_path / "own.py").write_text(OWN_POLICY)
    (tmp_path / "worlds.toml").write_text(OWN_WORLD)
    return tmp_path


def test_user_policies_and_worlds_play(own):
    names = ["WAGP", f"{own / 'own.py'}:Mine"]
    standings = gb.league(names, [str(own / "worlds.toml"), "short"], runs=3)
    assert standings.policies == ("WAGP", "Mine")
    assert [scenario.key for scenario in standings.scenarios] == ["corner_shop", "short"]
    ready = gb.league([f"{own / 'own.py'}:ready"], [own / "worlds.toml"])
    assert ready.cells["corner_shop"]["Mine"].runs == 4
    mapped = gb.league({"mine": gb.Uniform()}, standings.scenarios[:1])
    assert mapped.policies == ("mine",)


def test_worlds_are_described_as_in_specs(own):
    model = gb.RewardModel("arm * (1 - arm*theta)**2", [0.4, 0.6])
    model.save(own / "model.json")
    (own / "worlds.toml").write_text(
        '[shop]\ntitle = "shop"\ntext = "Two prices."\ntheta = {interval = [0.2, 0.4]}\n'
        'model = {file = "model.json"}\n[other]\ntitle = "other"\ntext = "The same."\n'
        'theta = 0.3\nmodel = {mean = "arm * (1 - arm*theta)**2", arms = [0.4, 0.6]}\n'
    )
    shop, other = load_scenarios([own / "worlds.toml"])
    assert shop.environment.model.to_dict() == other.environment.model.to_dict() == model.to_dict()
    assert shop.environment.population.interval == (0.2, 0.4)
    assert other.environment.theta == 0.3


def test_the_command_line_accepts_user_policies_and_worlds(own, monkeypatch, capsys):
    monkeypatch.chdir(own)
    title = "shop [/old]"  # no closing tag, but a user's text
    (own / "worlds.toml").write_text(
        OWN_WORLD.replace('title = "corner shop"', f'title = "{title}"')
    )
    arguments = ["league", "--policy", "UCB1", "--policy", "own.py:Mine", "--runs", "2"]
    with pytest.raises(SystemExit) as stop:
        main([*arguments, "--scenario", "worlds.toml", "--out", str(own / "out")])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert "Mine" in out
    assert title in out
    assert (own / "out" / "league.html").exists()


@pytest.mark.parametrize(
    ("policies", "scenarios", "error", "message"),
    [
        (["own.py:number"], None, PolicyError, "policy must name a policy, or a policy class"),
        (["WAGP", "WAGP"], None, PolicyError, "policy must be named once, got 'WAGP'"),
        ([], None, PolicyError, "policies must be at least one"),
        ({"x": 3}, None, PolicyError, r"policy x must be a policy such as WAGP\(\), got 3"),
        (["WAGP"], [], ScenarioError, "scenarios must be at least one"),
        (["WAGP"], ["short", "short"], ScenarioError, "scenario must be named once, got 'short'"),
        (["WAGP"], ["no.toml"], ScenarioError, "scenario must be a readable TOML file, got 'no.to"),
        (["WAGP"], ["bad.toml"], ScenarioError, "scenario must be a readable TOML file"),
        (["WAGP"], ["flat.toml"], ScenarioError, "must hold one table for each scenario"),
    ],
)
def test_wrong_policies_and_worlds_are_refused(
    own, monkeypatch, policies, scenarios, error, message
):
    monkeypatch.chdir(own)
    (own / "bad.toml").write_text("= 3")
    (own / "flat.toml").write_text("title = 'x'")
    with pytest.raises(error, match=message):
        gb.league(policies, scenarios)


@pytest.mark.parametrize("key", ["wrong_demand", "wrong_dose", "wrong_slope"])
def test_scenarios_of_another_family_are_scored_by_what_really_pays(key):
    (scenario,) = load_scenarios([key])
    env = scenario.environment
    paid = env.true_means()
    distance = np.abs(paid - env.model.means(env.start)).max()
    assert distance > 0.03  # no theta is the truth, and this one is not either
    grid = env.model.means(np.linspace(*env.model.domain, 2001))
    assert np.abs(grid - paid).max(axis=1).min() > 0.01
    worth = np.array([env.model.worth_of(arm, mean) for arm, mean in enumerate(paid)])
    result = simulate(env, [Uniform()], horizon=50, runs=3)
    expected = result.dataset["pulls"].values[0] @ (worth.max() - worth)
    np.testing.assert_allclose(result.dataset["regret"].values[0, :, -1], expected, atol=1e-9)


def test_a_truth_that_is_not_whole_is_refused():
    content = {
        "title": "t",
        "text": "t",
        "model": {"family": "dose.emax", "from": 1.0, "to": 2.0, "number": 2},
    }
    with pytest.raises(ScenarioError, match=r"scenario mine\.truth must have theta, got"):
        parse_scenario("mine", content | {"truth": {"family": "dose.logistic"}})
    with pytest.raises(
        ScenarioError, match=r"scenario mine\.truth\.family must be one of .*, got 'x'"
    ):
        parse_scenario("mine", content | {"truth": {"family": "x", "theta": 1.0}})
    given = parse_scenario("mine", content | {"truth": [0.2, 0.4]}).environment
    assert given.theta is None
    assert given.true_means().tolist() == [0.2, 0.4]
