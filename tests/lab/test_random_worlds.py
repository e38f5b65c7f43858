import dataclasses
import json
import math
from html import unescape

import numpy as np
import pytest
from rich.console import Console

import globalbandits as gb
from globalbandits.cli import main
from globalbandits.errors import PolicyError, ScenarioError
from globalbandits.lab.league import Games, unseen_players
from globalbandits.lab.league.play import _play as really_play
from globalbandits.lab.league.players import policies_for
from globalbandits.lab.league.random_worlds import (
    Unseen,
    draw_worlds,
    play_unseen,
)
from globalbandits.lab.report.league_report import print_unseen, write_unseen


@pytest.fixture(scope="module")
def played() -> Unseen:
    worlds = draw_worlds(4, 20, 60)
    return play_unseen(worlds, unseen_players(["UCB1", "WAGP", "Uniform"]), runs=6)


def test_ratios_are_regrets_over_the_best_with_a_floor(played):
    table = played.ratios()
    assert table.shape == (3, 4)
    assert (table.min(axis=0) == 1.0).all()
    world = played.worlds[0]
    result = gb.simulate(
        world.environment, [gb.UCB1(), gb.WAGP(), gb.Uniform()], 60, runs=6, seed=world.seed
    )
    regrets = result.dataset["regret"].values[:, :, -1].mean(axis=1)
    low, high = world.environment.model.worth_range
    floor = 0.01 * math.sqrt(60) * (high - low)
    np.testing.assert_allclose(table[:, 0], (regrets + floor) / (regrets.min() + floor))


def test_scores_are_geometric_means_with_their_error(played):
    table, scores = played.ratios(), played.scores()
    by_label = {score.label: score for score in scores}
    assert [score.ratio for score in scores] == sorted(score.ratio for score in scores)
    row = table[played.standings.policies.index("UCB1")]
    score = by_label["UCB1"]
    assert score.ratio == pytest.approx(float(np.prod(row)) ** 0.25)
    assert score.worst == row.max()
    assert score.worst_world == 20 + int(row.argmax())
    assert math.log(score.factor) == pytest.approx(np.log(row).std(ddof=1) / 2)
    assert score.near == np.mean(row <= 1.5)
    assert set(score.by_error) == {world.error for world in played.worlds}


def test_a_world_does_not_depend_on_the_other_worlds(played):
    alone = play_unseen(draw_worlds(1, 22, 60), unseen_players(["WAGP"]), runs=6)
    cell = played.standings.cells["world_22"]["WAGP"]
    assert alone.standings.cells["world_22"]["WAGP"].regret == cell.regret


PLAY = "globalbandits.lab.league.play._play"


def test_a_stopped_league_resumes_with_the_same_numbers(played, tmp_path, monkeypatch):
    worlds, players = played.worlds[:2], unseen_players(["UCB1", "WAGP", "Uniform"])
    ticks = []

    def stop_at_the_fifth(title, label):
        ticks.append((title, label))
        if len(ticks) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play_unseen(worlds, players, runs=6, tick=stop_at_the_fifth, games=Games(tmp_path))
    assert len(list(tmp_path.iterdir())) == 4
    games_played = []

    def play(scenario, policy, *rest):
        games_played.append((scenario.title, policy.label))
        return really_play(scenario, policy, *rest)

    monkeypatch.setattr(PLAY, play)
    again = play_unseen(worlds, players, runs=6, games=Games(tmp_path))
    assert games_played == [("world 21", "WAGP"), ("world 21", "Uniform")]
    assert (again.ratios() == played.ratios()[:, :2]).all()
    for key, cells in again.standings.cells.items():
        for label, cell in cells.items():
            whole = played.standings.cells[key][label]
            assert dataclasses.replace(cell, nanoseconds=whole.nanoseconds) == whole
    # One world more: only its games; another horizon, other runs, fresh: all of them.
    for some, runs, fresh, n_games in (
        (played.worlds[:3], 6, False, 3),
        (draw_worlds(1, 20, 61), 6, False, 3),
        (worlds[:1], 5, False, 3),
        (worlds[:1], 6, True, 3),
        (worlds, 6, False, 0),
    ):
        games_played.clear()
        play_unseen(some, players, runs=runs, games=Games(tmp_path, fresh=fresh))
        assert len(games_played) == n_games


def test_a_policy_that_cannot_play_is_left_out():
    flat = gb.RewardModel.from_functions(
        [lambda t: 0.3 + 0.5 * np.minimum(t, 0.6), lambda t: 0.65 - 0.4 * t], monotone=False
    )
    world = gb.worlds.World(
        seed=1,
        family="flat",
        error="exact",
        text="flat",
        horizon=20,
        environment=gb.Environment(flat, theta=0.3),
    )
    both = play_unseen([world], unseen_players(["UCB1", "WAGP"]), runs=2)
    assert [score.label for score in both.scores()] == ["UCB1"]
    assert both.scores()[0].factor == 1.0
    assert "model must be monotone" in both.standings.absent["world_1"]["WAGP"]


def test_only_policies_labelled_so_get_the_horizon():
    players = unseen_players()
    short, long = policies_for(players, 100), policies_for(players, 1000)
    assert short["Elastic, told the horizon"] == gb.Elastic(horizon=100)
    assert long["Elastic, told the horizon"] == gb.Elastic(horizon=1000)
    assert short["Elastic"] == long["Elastic"] == gb.Elastic()


def test_wrong_requests_are_refused():
    with pytest.raises(ScenarioError, match="random must be at least 1, got 0"):
        draw_worlds(0, 1)
    with pytest.raises(ScenarioError, match="random must be at most 10000, got 1000000000"):
        draw_worlds(10**9, 1)
    with pytest.raises(ScenarioError, match="policy must be named once, got 'WAGP'"):
        unseen_players(["WAGP", "WAGP"])
    with pytest.raises(PolicyError, match=r"policy must be one of .*, got 'Nobody'"):
        unseen_players(["Nobody"])


def test_page_numbers_and_table(played, tmp_path):
    page = write_unseen(played, {"command": "globalbandits <league>"}, tmp_path).read_text("utf-8")
    assert "globalbandits &lt;league&gt;" in page
    assert 'id="world_20"' in page
    first, second = played.scores()[:2]
    assert f"{first.label} won: its regret is {first.ratio:.2f} times the best one's" in unescape(
        page
    )
    assert f"next is {second.label} with {second.ratio:.2f} times." in page
    numbers = json.loads((tmp_path / "unseen.json").read_text("utf-8"))
    assert "sqrt(T) / 100" in numbers["scoring"]
    assert len(numbers["worlds"]) == 4
    best = numbers["scores"][0]
    assert best["ratio"] == played.scores()[0].ratio
    console = Console(record=True, width=160)
    print_unseen(played, console)
    text = console.export_text()
    assert "UCB1" in text
    assert "sqrt(T) / 100" in text


def run(arguments):
    with pytest.raises(SystemExit) as stop:
        main(["league", *arguments])
    return stop.value.code


def test_the_command_line(tmp_path, capsys):
    arguments = ["--random", "2", "--seed", "30", "--horizon", "20", "--runs", "2"]
    assert run([*arguments, "--policy", "UCB1", "--out", str(tmp_path)]) == 0
    assert "2 random worlds" in capsys.readouterr().out
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["games", "unseen.html", "unseen.json"]
    assert len(list((tmp_path / "games").iterdir())) == 2


def test_the_same_command_resumes_and_fresh_plays_again(tmp_path, monkeypatch, capsys):
    arguments = ["--random", "2", "--seed", "30", "--horizon", "20", "--runs", "2"]
    arguments += ["--policy", "UCB1", "--out", str(tmp_path)]
    assert run(arguments) == 0
    first = json.loads((tmp_path / "unseen.json").read_text("utf-8"))
    games_played = []
    monkeypatch.setattr(PLAY, lambda *given: games_played.append(given) or really_play(*given))
    assert run(arguments) == 0
    assert games_played == []
    second = json.loads((tmp_path / "unseen.json").read_text("utf-8"))
    assert second["scores"] == first["scores"]
    assert second["standings"]["scenarios"] == first["standings"]["scenarios"]
    assert run([*arguments, "--fresh"]) == 0
    assert len(games_played) == 2
    capsys.readouterr()


def test_an_interrupt_ends_it_and_keeps_only_whole_games(tmp_path, monkeypatch, capsys):
    arguments = ["--random", "1", "--seed", "30", "--horizon", "20", "--runs", "4"]
    arguments += ["--policy", "UCB1", "--policy", "Uniform", "--out", str(tmp_path)]
    simulated = []

    def interrupted(env, policies, *, runs, **options):
        simulated.append((policies[0].label, runs))
        return gb.simulate(env, policies, runs=max(1, runs - 1), **options)

    monkeypatch.setattr("globalbandits.lab.league.play.simulate", interrupted)
    assert run(arguments) == 130
    assert "the same command continues from there" in capsys.readouterr().err
    assert simulated == [("UCB1", 1), ("UCB1", 4)]
    assert [path.name for path in tmp_path.rglob("*")] == ["games"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--horizon", "100"], "horizon must come with --random, got 100"),
        (["--mixture", "all"], "mixture must come with --random, got 'all'"),
        (["--random", "2", "--mixture", "x"], "mixture must be one of all, general, conversion"),
        (["--random", "2", "--scenario", "short"], "scenario must not be given with --random"),
        (["--random", "0"], "random must be at least 1, got 0"),
    ],
)
def test_wrong_options_are_refused(arguments, message, tmp_path, capsys):
    assert run([*arguments, "--out", str(tmp_path / "none")]) != 0
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "none").exists()


def test_an_unusable_folder_is_named(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    for command in (["league", "--random", "1", "--policy", "UCB1"], ["league"], ["reproduce"]):
        with pytest.raises(SystemExit) as stop:
            main([*command, "--out", str(tmp_path / "file")])
        assert stop.value.code == 2
        assert "error: out must be a folder that can be made, got " in capsys.readouterr().err


def test_an_unknown_label_is_refused_with_a_suggestion():
    with pytest.raises(PolicyError, match=r"'Elastic, told the horizon'.*did you mean 'Elastic'"):
        unseen_players(["Elastik"])
