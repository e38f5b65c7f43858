"""The league on worlds drawn at random, which nobody has tuned on.

A policy's ratio on a world is ``(R + f) / (R_best + f)``: R its mean regret, R_best that of the
policy that did best there, and f a regret nobody minds (`World.floor`), so that a world in which
all lose next to nothing does not decide anything. The best of several means is a little too
small by chance, the same for all.
"""

import dataclasses
import math
import time
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits._validation import as_integer, as_seed, require
from globalbandits.environments.worlds import World, sample
from globalbandits.errors import ScenarioError
from globalbandits.experiments.league.games import Games
from globalbandits.experiments.league.play import Tick, play_league
from globalbandits.experiments.league.policies import league_policies
from globalbandits.experiments.league.scenarios import Scenario
from globalbandits.experiments.league.standings import Cell, Standings
from globalbandits.policies import Policy

MOST_WORLDS = 10_000  # all are in memory, and a game of each policy in each takes days
_TOLD = "told"
_STEPS, _FEWEST, _MOST = 40_000, 8, 100  # of a policy in a world; and runs


@dataclasses.dataclass(frozen=True, kw_only=True)
class Score:
    """One policy over all worlds it could play."""

    label: str
    ratio: float  # geometric mean
    factor: float  # one standard error over worlds: the ratio times or divided by this
    worst: float
    worst_world: int  # its seed
    near: float  # share of the worlds with a ratio of at most 1.5
    by_error: Mapping[str, float]  # geometric mean by what is wrong with the curves
    worlds: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Unseen:
    """The league on random worlds, played."""

    worlds: tuple[World, ...]
    standings: Standings

    def ratios(self) -> FloatArray:
        """(R + f) / (R_best + f): shape (n_policies, n_worlds), nan where a policy is absent."""
        table = np.full((len(self.standings.policies), len(self.worlds)), np.nan)
        for column, world in enumerate(self.worlds):
            cells = self.standings.cells[_key(world)]
            best = min(cell.regret for cell in cells.values()) + world.floor
            for row, label in enumerate(self.standings.policies):
                if label in cells:
                    table[row, column] = (cells[label].regret + world.floor) / best
        return table

    def scores(self) -> tuple[Score, ...]:
        """Every policy that played, the smallest geometric mean first."""
        errors = np.array([world.error for world in self.worlds])
        table = self.ratios()
        found = []
        for row, label in enumerate(self.standings.policies):
            played = ~np.isnan(table[row])
            if not played.any():
                continue
            ratios, kinds = table[row, played], errors[played]
            logs = np.log(ratios)
            spread = float(logs.std(ddof=1)) / math.sqrt(logs.size) if logs.size > 1 else 0.0
            found.append(
                Score(
                    label=label,
                    ratio=math.exp(float(logs.mean())),
                    factor=math.exp(spread),
                    worst=float(ratios.max()),
                    worst_world=self.worlds[int(np.nanargmax(table[row]))].seed,
                    near=float(np.mean(ratios <= 1.5)),
                    by_error={
                        kind: math.exp(float(logs[kinds == kind].mean()))
                        for kind in sorted(set(kinds.tolist()))
                    },
                    worlds=int(played.sum()),
                )
            )
        return tuple(sorted(found, key=lambda score: score.ratio))

    def to_dict(self) -> dict[str, Any]:
        """All numbers as plain values, for a file."""
        table = self.ratios()
        return {
            "scoring": SCORING,
            "scores": [dataclasses.asdict(score) for score in self.scores()],
            "worlds": [
                world.to_dict()
                | {
                    "floor": world.floor,
                    "ratios": {
                        label: float(table[row, column])
                        for row, label in enumerate(self.standings.policies)
                        if not np.isnan(table[row, column])
                    },
                }
                for column, world in enumerate(self.worlds)
            ],
            "standings": self.standings.to_dict(),
        }


SCORING = (
    "A policy's ratio on a world is (R + f) / (R_best + f): R its mean regret by what is really "
    "paid, R_best the smallest one there, f = sqrt(T) / 100 of the range of worth. Shown are the "
    "geometric mean over worlds with one standard error, and the worst."
)


def draw_worlds(
    number: int, seed: int, horizon: int | None = None, tick: Tick | None = None
) -> tuple[World, ...]:
    """Worlds with the seeds ``seed``, ``seed + 1``, ...

    Args:
        number: of worlds; each takes a tenth of a second or more.
        seed: of the first one.
        horizon: as in `sample`.
        tick: called with ("drawing", world) before each of them.

    >>> [world.seed for world in draw_worlds(2, 10)]
    [10, 11]
    """
    number = as_integer("random", number, 1, ScenarioError, maximum=MOST_WORLDS)
    seed = as_seed(seed, ScenarioError)
    worlds = []
    for world in range(seed, seed + number):
        if tick is not None:
            tick("drawing", f"world {world}")
        worlds.append(sample(world, horizon))
    return tuple(worlds)


def unseen_players(names: Sequence[str] | None = None) -> dict[str, Mapping[str, Any] | Policy]:
    """Who plays: all of the file's by default; other names are those of the league.

    >>> unseen_players(["UCB1", "Elastic, told the horizon"])["Elastic, told the horizon"]
    {'policy': 'elastic', 'horizon': 'told'}
    """
    content = tomllib.loads(files(__package__).joinpath("unseen.toml").read_text("utf-8"))
    if names is None:
        return dict(content)
    found: dict[str, Mapping[str, Any] | Policy] = {}
    for name in names:
        entries = {name: content[name]} if name in content else league_policies([name], content)
        for label, player in entries.items():
            require(label not in found, "policy", "be named once", label, ScenarioError)
            found[label] = player
    return found


def policies_for(
    players: Mapping[str, Mapping[str, Any] | Policy], horizon: int
) -> dict[str, Policy]:
    """The policies that play a game of so many rounds."""
    policies = {}
    for label, player in players.items():
        if isinstance(player, Policy):
            policies[label] = player
        else:
            told = {key: horizon if value == _TOLD else value for key, value in player.items()}
            policies[label] = Policy.from_dict(told)
    return policies


def play_unseen(
    worlds: Sequence[World],
    players: Mapping[str, Mapping[str, Any] | Policy],
    *,
    runs: int | None = None,
    threads: int | None = None,
    tick: Tick | None = None,
    games: Games | None = None,
) -> Unseen:
    """Play every policy in every world.

    Args:
        worlds: from `draw_worlds`.
        players: from `unseen_players`.
        runs: of each world; by default 100, and fewer in long games, but at least 8.
        threads: as in `simulate`.
        tick: called with (world, label) before each game.
        games: where games are kept: one that is there is not played again.
    """
    started = time.perf_counter()
    cells: dict[str, Mapping[str, Cell]] = {}
    absent: dict[str, Mapping[str, str]] = {}
    scenarios = []
    for world in worlds:
        scenario = _as_scenario(world, runs)
        policies = policies_for(players, world.horizon)
        # The world's number is also the seed of its games: a world is played the same
        # whichever worlds are played beside it.
        played = play_league(
            [scenario], policies, seed=world.seed, threads=threads, tick=tick, games=games
        )
        cells |= played.cells
        absent |= played.absent
        scenarios.append(scenario)
    return Unseen(
        worlds=tuple(worlds),
        standings=Standings(
            scenarios=tuple(scenarios),
            policies=tuple(players),
            cells=cells,
            absent=absent,
            seed=worlds[0].seed,
            seconds=time.perf_counter() - started,
        ),
    )


def _key(world: World) -> str:
    return f"world_{world.seed}"


def _as_scenario(world: World, runs: int | None) -> Scenario:
    return Scenario(
        key=_key(world),
        title=f"world {world.seed}",
        text=world.text,
        environment=world.environment,
        horizon=world.horizon,
        runs=runs or max(_FEWEST, min(_MOST, _STEPS // world.horizon)),
    )
