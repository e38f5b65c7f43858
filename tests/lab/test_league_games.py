"""A league that resumes where it stopped."""

import json

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import ScenarioError
from globalbandits.lab.league import (
    Game,
    Games,
    league_policies,
    load_scenarios,
    play_league,
)


def test_games_that_were_played_are_not_played_again(tmp_path, monkeypatch):
    policies = [gb.Uniform(), gb.ExploreThenCommit()]
    whole = gb.league(policies, ["short"], runs=5)

    class StopError(Exception):
        pass

    def stop_at_the_second(title, label):
        if label != "Uniform":
            raise StopError

    named = league_policies(policies)
    with pytest.raises(StopError):
        play_league(
            load_scenarios(["short"]), named, runs=5, tick=stop_at_the_second,
            games=Games(tmp_path),
        )  # fmt: skip
    (first,) = tmp_path.iterdir()
    again = gb.league(policies, ["short"], runs=5, folder=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    for label in whole.policies:
        mine, other = again.cells["short"][label], whole.cells["short"][label]
        assert (mine.regret, mine.sem, mine.rank, mine.behind) == (
            other.regret, other.sem, other.rank, other.behind
        )  # fmt: skip
    # All games are found now: a game is identified by what it depends on.
    play = "globalbandits.lab.league.play._play"
    monkeypatch.setattr(play, lambda *arguments: pytest.fail("played again"))
    assert str(gb.league(policies, ["short"], runs=5, folder=tmp_path)) == str(again)
    for change in ({"runs": 6}, {"seed": 1}):
        options = {"runs": 5} | change
        with pytest.raises(pytest.fail.Exception, match="played again"):
            gb.league(policies, ["short"], folder=tmp_path, **options)
    content = json.loads(first.read_text())
    for damage in ("{", "[]", json.dumps(content | {"regrets": content["regrets"][:3]})):
        first.write_text(damage)
        with pytest.raises(pytest.fail.Exception, match="played again"):
            gb.league(policies, ["short"], runs=5, folder=tmp_path)


def test_an_unusable_folder_is_refused_before_a_game_is_played(tmp_path, monkeypatch):
    play = "globalbandits.lab.league.play._play"
    monkeypatch.setattr(play, lambda *arguments: pytest.fail("played"))
    (tmp_path / "file").write_text("")
    for wrong in ("file", "file/inside"):
        rule = f"folder must be a folder that can be made, got .*{wrong}'"
        with pytest.raises(ScenarioError, match=rule):
            gb.league([gb.Uniform()], ["short"], folder=tmp_path / wrong)
    with pytest.raises(ScenarioError, match="folder must be a path, got 3"):
        gb.league([gb.Uniform()], ["short"], folder=3)


def test_a_game_of_other_constants_is_another_game(tmp_path, monkeypatch):
    (short,) = load_scenarios(["short"])
    (biased,) = load_scenarios(["bias_05"])
    games = Games(tmp_path)
    players = (gb.WAGP(), gb.Guarded(gb.WAGP()), gb.UCB1())

    def known(scenario=short):
        return [games.find(scenario, player, 2, 0) is not None for player in players]

    for player in players:
        games.keep(short, player, 2, 0, Game(np.array([1.0, 2.0]), 10.0))
    assert known() == [True, True, True]
    assert known(biased) == [False, False, False]
    with monkeypatch.context() as changed:  # a constant of WAGP's, which UCB1 does not have
        changed.setattr("globalbandits.policies.shared.weighted_mean._EDGE_MARGIN_GRAINS", 512.0)
        assert known() == [False, False, True]
    with monkeypatch.context() as changed:  # what rewards are drawn by
        changed.setattr(type(short.environment.noise), "rules", gb.BernoulliNoise.rules)
        assert known() == [False, False, False]
    assert known() == [True, True, True]
    again = Games(tmp_path, fresh=True)
    assert again.find(short, gb.WAGP(), 2, 0) is None
