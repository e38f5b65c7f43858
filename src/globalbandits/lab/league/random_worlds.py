"""The league on random worlds, on which no policy was tuned.

A policy's ratio on a world is ``(R + f) / (R_best + f)``: R is its mean regret, R_best the
smallest mean regret on that world, and f a negligible regret (`World.floor`). The term f keeps
worlds with almost no regret from deciding the league. R_best is the smallest of several means, so
it is biased slightly downwards. The bias is the same for all policies.
"""

import dataclasses
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from globalbandits._means import mean_and_error
from globalbandits._types import FloatArray
from globalbandits._validation import as_integer, as_seed
from globalbandits.environments.worlds import World, sample
from globalbandits.errors import ScenarioError
from globalbandits.lab.league.games import Games
from globalbandits.lab.league.play import Tick, play_league
from globalbandits.lab.league.players import policies_for
from globalbandits.lab.league.scenarios import Scenario
from globalbandits.lab.league.standings import Cell, Standings
from globalbandits.policies import Policy

MAX_WORLDS = 10_000  # worlds are kept in memory, and playing this number takes days
STEPS_PER_GAME = 40_000  # target number of steps of one policy in one world, over all runs
MIN_RUNS, MAX_RUNS = 8, 100


@dataclasses.dataclass(frozen=True, kw_only=True)
class Score:
    """The score of one policy over all worlds that it could play."""

    label: str
    ratio: float  # geometric mean
    factor: float  # the ratio times and divided by this is one standard error away
    worst: float
    worst_world: int  # its seed
    near: float  # share of the worlds with a ratio of at most 1.5
    by_error: Mapping[str, float]  # geometric mean by kind of error in the curves
    worlds: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Unseen:
    """The result of a league on random worlds."""

    worlds: tuple[World, ...]
    standings: Standings

    def ratios(self) -> FloatArray:
        """Return (R + f) / (R_best + f), shape (n_policies, n_worlds); nan if absent."""
        table = np.full((len(self.standings.policies), len(self.worlds)), np.nan)
        for column, world in enumerate(self.worlds):
            cells = self.standings.cells[_key(world)]
            best = min(cell.regret for cell in cells.values()) + world.floor
            for row, label in enumerate(self.standings.policies):
                if label in cells:
                    table[row, column] = (cells[label].regret + world.floor) / best
        return table

    def scores(self) -> tuple[Score, ...]:
        """Return the scores of all policies that played, the smallest geometric mean first."""
        errors = np.array([world.error for world in self.worlds])
        table = self.ratios()
        found = []
        for row, label in enumerate(self.standings.policies):
            played = ~np.isnan(table[row])
            if not played.any():
                continue
            ratios, kinds = table[row, played], errors[played]
            logs = np.log(ratios)
            mean, error = mean_and_error(logs)
            found.append(
                Score(
                    label=label,
                    ratio=math.exp(float(mean)),
                    factor=math.exp(float(error)) if logs.size > 1 else 1.0,
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
        """Return all numbers as values that JSON can hold."""
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
    "paid, R_best the smallest one there, f = sqrt(T) / 100 of the range of worth, times "
    "2 sqrt(r (1 - r)) in worlds with a conversion rate r. Shown are the geometric mean over "
    "worlds with one standard error, and the worst."
)


def draw_worlds(
    number: int,
    seed: int,
    horizon: int | None = None,
    tick: Tick | None = None,
    *,
    mixture: str = "all",
) -> tuple[World, ...]:
    """Return worlds with the seeds ``seed``, ``seed + 1``, ...

    Args:
        number: number of worlds; each takes a tenth of a second or more.
        seed: seed of the first world.
        horizon: as in `sample`.
        tick: called with ("drawing", world) before each world.
        mixture: as in `sample`.

    >>> [world.seed for world in draw_worlds(2, 10)]
    [10, 11]
    """
    number = as_integer("random", number, 1, ScenarioError, maximum=MAX_WORLDS)
    seed = as_seed(seed, ScenarioError)
    worlds = []
    for world in range(seed, seed + number):
        if tick is not None:
            tick("drawing", f"world {world}")
        worlds.append(sample(world, horizon, mixture=mixture))
    return tuple(worlds)


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
        runs: number of runs in each world; by default 8 to 100, fewer in longer games.
        threads: as in `simulate`.
        tick: called with (world, label) before each game.
        games: the stored games, which are not played again.
    """
    started = time.perf_counter()
    cells: dict[str, Mapping[str, Cell]] = {}
    absent: dict[str, Mapping[str, str]] = {}
    scenarios = []
    for world in worlds:
        scenario = _as_scenario(world, runs)
        policies = policies_for(players, world.horizon)
        # The seed of a world is also the seed of its games, so that its results do not depend on
        # the other worlds.
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
        runs=runs or max(MIN_RUNS, min(MAX_RUNS, STEPS_PER_GAME // world.horizon)),
    )
