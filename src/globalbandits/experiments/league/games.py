"""Games that were played: one policy on one scenario, kept so that a league can go on."""

import json
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from globalbandits._files import replacing
from globalbandits._types import FloatArray
from globalbandits._validation import as_folder
from globalbandits.errors import ScenarioError
from globalbandits.experiments.league.scenarios import Scenario
from globalbandits.policies import Policy
from globalbandits.simulation.sweeps.plan import task_name
from globalbandits.simulation.sweeps.specs import Experiment


class Game(NamedTuple):
    """What a game gave."""

    regrets: FloatArray  # (n_runs,) at the horizon
    nanoseconds: float  # a step and core


class Games:
    """A folder with a file for each game; its name says all that the regrets depend on.

    That includes the code and constants of the policy and of what the world does, ours too: a
    league that is played while somebody works on a policy plays that policy again.

    Args:
        folder: where the files are, made at once if it is missing; None to keep nothing.
        fresh: play games again that are there.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, *, fresh: bool = False) -> None:
        # Made now: else it fails after the first game.
        self._folder = None if folder is None else as_folder("folder", folder, ScenarioError)
        self._fresh = fresh

    def find(self, scenario: Scenario, policy: Policy, runs: int, seed: int) -> Game | None:
        """The game, if it was played; a damaged file counts as none."""
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
        """Write the game: the whole file or none."""
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
