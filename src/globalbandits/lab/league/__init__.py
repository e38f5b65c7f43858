"""The league: every policy on every scenario, scored by the true means."""

from globalbandits.lab.league.games import Game, Games
from globalbandits.lab.league.play import compile_ahead, league, play_league
from globalbandits.lab.league.players import league_policies, unseen_players
from globalbandits.lab.league.random_worlds import Unseen, draw_worlds, play_unseen
from globalbandits.lab.league.scenarios import Scenario, load_scenarios
from globalbandits.lab.league.standings import Cell, Standings

__all__ = [
    "Cell",
    "Game",
    "Games",
    "Scenario",
    "Standings",
    "Unseen",
    "compile_ahead",
    "draw_worlds",
    "league",
    "league_policies",
    "load_scenarios",
    "play_league",
    "play_unseen",
    "unseen_players",
]
