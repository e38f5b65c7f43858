"""The league: every policy on every scenario, scored by what is really paid."""

from globalbandits.experiments.league.games import Game, Games
from globalbandits.experiments.league.play import compile_ahead, league, play_league
from globalbandits.experiments.league.policies import league_policies
from globalbandits.experiments.league.scenarios import Scenario, load_scenarios
from globalbandits.experiments.league.standings import Cell, Standings
from globalbandits.experiments.league.unseen import (
    Unseen,
    draw_worlds,
    play_unseen,
    unseen_players,
)

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
