"""Stored games, so that an interrupted league continues. A game is one policy on one scenario."""

import json
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from globalbandits._files import replacing
from globalbandits._types import FloatArray
from globalbandits._validation import as_folder
from globalbandits.errors import ScenarioError
from globalbandits.lab.league.scenarios import Scenario
from globalbandits.policies import Policy
from globalbandits.simulation.sweeps.plan import task_name
from globalbandits.simulation.sweeps.spec import Experiment


class Game(NamedTuple):
    """The result of one game."""

    regrets: FloatArray  # (n_runs,) at the horizon
    nanoseconds: float  # per step and core


class Games:
    """A folder with one file per game, named by a hash of everything that the regrets depend on.

    The hash covers the code and the constants of the policy and of the environment. After a change
    to a policy, its games are played again.

    Args:
        folder: the folder of the files, created if it is missing; None to store nothing.
        fresh: ignore stored games.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, *, fresh: bool = False) -> None:
        # The folder is created now, because an error after the first game would lose that game.
        self._folder = None if folder is None else as_folder("folder", folder, ScenarioError)
        self._fresh = fresh

    def find(self, scenario: Scenario, policy: Policy, runs: int, seed: int) -> Game | None:
        """Return the stored game, or None if the file is missing or damaged."""
        path = self._path(scenario, policy, runs, seed)
        if path is None or self._fresh:
            return None
        try:
            content = json.loads(path.read_text("utf-8"))
            game = Game(np.array(content["regrets"], float), float(content["nanoseconds"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return game if game.regrets.shape == (runs,) else None

    def keep(self, scenario: Scenario, policy: Policy, runs: int, seed: int, game: Game) -> None:
        """Store the game. An interrupted write leaves no partial file."""
        path = self._path(scenario, policy, runs, seed)
        if path is not None:
            content = {"regrets": game.regrets.tolist(), "nanoseconds": game.nanoseconds}
            with replacing(path, durable=False) as temporary:
                temporary.write_text(json.dumps(content), encoding="utf-8")

    def _path(self, scenario: Scenario, policy: Policy, runs: int, seed: int) -> Path | None:
        if self._folder is None:
            return None
        numbers = {"horizon": scenario.horizon, "runs": runs, "seed": seed, "checkpoints": 1}
        options = {**numbers, "evidence": False}
        name = task_name(Experiment(scenario.environment, {"": policy}, options))
        return self._folder / f"{name}.json"
