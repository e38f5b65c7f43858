import dataclasses
import json
import re

import pytest
from rich.console import Console

import globalbandits as gb
from globalbandits.lab.league import league_policies, load_scenarios, play_league
from globalbandits.lab.report.league_report import (
    league_figure,
    print_league,
    scenario_section,
    write_league,
)


@pytest.fixture(scope="module")
def standings():
    policies = league_policies(["UCB1", "WAGP"])
    return play_league(load_scenarios(["short", "bias_01"]), policies, runs=5)


def test_the_page_is_self_contained_and_holds_the_numbers(standings, tmp_path):
    page = write_league(standings, {"command": "globalbandits <league>"}, tmp_path)
    text = page.read_text("utf-8")
    assert not re.search(r'(src|href)="https?:', text)
    assert "globalbandits &lt;league&gt;" in text
    said = re.search(r"</h1>\s*<p class=\"conclusion\">(.*?)</p>", text)[
        1
    ]  # names the winner, first
    assert said.startswith(f"{standings.order()[0]} won: its regret is ")
    for scenario in standings.scenarios:
        assert scenario.title in text
    numbers = json.loads((tmp_path / "league.json").read_text("utf-8"))
    cell = numbers["scenarios"]["short"]["policies"]["WAGP"]
    assert cell["regret"] == standings.cells["short"]["WAGP"].regret
    assert (tmp_path / "league.png").stat().st_size > 1000
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "league.html",
        "league.json",
        "league.png",
        "league.svg",
    ]


def test_the_terminal_table_lists_every_policy(standings):
    console = Console(record=True, width=160)
    print_league(standings, console)
    text = console.export_text()
    assert "WAGP" in text
    assert "200 decisions" in text


def test_brackets_and_dollars_in_names_are_plain_text():
    title = "from $5 to $\\frac{ [/old] [red]"
    shop = dataclasses.replace(load_scenarios(["short"])[0], key='a "shop"', title=title)
    played = gb.league({"mine [/x]": gb.Uniform()}, [shop], runs=2)
    console = Console(record=True, width=160)
    print_league(played, console)
    shown = console.export_text()
    assert "mine [/x]" in shown
    assert title in shown
    figure = league_figure(played)
    figure.draw_without_rendering()  # would fail on half a formula
    assert 'id="a &quot;shop&quot;"' in scenario_section(played, shop)
