"""Trials: designs that are simulated on scenarios of true means, described in a TOML file."""

import dataclasses
import os
import tomllib
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits._validation import as_float, as_integer, require
from globalbandits.environments import BernoulliNoise, Environment
from globalbandits.errors import ScenarioError
from globalbandits.model import RewardModel
from globalbandits.model.catalogue.names import build_family
from globalbandits.policies import Policy, StopWhen
from globalbandits.simulation import SimulationResult, simulate
from globalbandits.simulation.simulate import require_all_runs
from globalbandits.simulation.sweeps.spec import within

if TYPE_CHECKING:
    import pandas as pd

_KEYS = {
    "target",
    "decisions",
    "runs",
    "more_than",
    "doses",
    "model",
    "stop",
    "designs",
    "scenarios",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trial:
    """The designs of a trial and the scenarios of true means on which they are simulated.

    Attributes:
        target: the desired mean, which decisions should not exceed.
        decisions: number of decisions (patients) of each run.
        runs: number of runs of each scenario.
        more_than: a run with more decisions above the target than this counts as exceeded.
        doses: labels of the doses.
        model: the model of the designs.
        designs: policies by name.
        worlds: environments by the name of their scenario.
        stop: the rule that ends runs early.
    """

    target: float
    decisions: int
    runs: int
    more_than: float
    doses: tuple[str, ...]
    model: RewardModel
    designs: Mapping[str, Policy]
    worlds: Mapping[str, Environment]
    stop: StopWhen | None

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about inputs that are allowed but may be mistakes."""
        turning = [
            f"scenario {name!r}: the true rate falls from one dose to the next"
            for name, world in self.worlds.items()
            if np.any(np.diff(world.true_means()) < 0.0)
        ]
        return (*self.model.remarks, *turning)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Played:
    """The results of a trial by scenario."""

    trial: Trial
    results: Mapping[str, SimulationResult]

    def table(self) -> "pd.DataFrame":
        """Return one row per scenario and design: recommended arms and characteristics."""
        import pandas as pd

        frames = {}
        for name, result in self.results.items():
            others = result.characteristics(
                target=self.trial.target, more_than=self.trial.more_than
            ).drop(columns="none", errors="ignore")
            frames[name] = pd.concat([self.selection(name), others], axis=1)
        return pd.concat(frames, names=["scenario", "design"])

    def selection(self, scenario: str) -> "pd.DataFrame":
        """Return the shares of recommended doses by design, with the labels of the doses."""
        shares = self.results[scenario].selection()
        shares.columns = [*self.trial.doses, *shares.columns[len(self.trial.doses) :]]
        return shares

    def shares(self) -> dict[str, FloatArray]:
        """Return the shares of recommended arms by "scenario: design"."""
        return {
            f"{name}: {design}": shares.to_numpy()
            for name in self.results
            for design, shares in self.selection(name).iterrows()
        }


def load_trial(path: "str | os.PathLike[str] | None" = None) -> Trial:
    """Return the trial of a TOML file; the example of the package by default.

    >>> trial = load_trial()
    >>> list(trial.designs), trial.decisions
    (['CRM', 'WAGP'], 36)
    """
    if path is None:
        return parse_trial(tomllib.loads(example_text()))
    try:
        return parse_trial(tomllib.loads(Path(path).read_text("utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ScenarioError(
            f"trial must be a readable TOML file, got {os.fspath(path)!r}: {error}"
        ) from None


def example_text() -> str:
    """Return the text of the example's file."""
    return files("globalbandits.lab").joinpath("trial.toml").read_text("utf-8")


def parse_trial(content: Mapping[str, Any]) -> Trial:
    """Return the trial of a parsed file."""
    for name in content:
        rule = f"have keys among {', '.join(sorted(_KEYS))}"
        require(name in _KEYS, "trial", rule, name, ScenarioError)
    for name in ("target", "decisions", "model", "designs", "scenarios"):
        require(name in content, "trial", f"have {name}", sorted(content), ScenarioError)
    target = as_float("target", content["target"], ScenarioError)
    model = _parse_model(content["model"], target)
    for name in ("designs", "scenarios"):
        filled = isinstance(content[name], Mapping) and len(content[name]) > 0
        require(filled, name, "be a table with at least one entry", content[name], ScenarioError)
    designs = {name: Policy.from_dict(spec) for name, spec in content["designs"].items()}
    for policy in designs.values():
        policy.setup(model)  # raises an error if the policy cannot play this model
    worlds = {
        name: Environment(model, truth=means, noise=BernoulliNoise())
        for name, means in content["scenarios"].items()
    }
    decisions = as_integer("decisions", content["decisions"], 1, ScenarioError)
    return Trial(
        target=target,
        decisions=decisions,
        runs=as_integer("runs", content.get("runs", 10_000), 1, ScenarioError),
        more_than=as_float("more_than", content.get("more_than", decisions // 3), ScenarioError),
        doses=_parse_doses(content.get("doses"), model),
        model=model,
        designs=designs,
        worlds=worlds,
        stop=_parse_stop(content.get("stop"), model),
    )


def _parse_model(content: object, target: float) -> RewardModel:
    rule = "have family and arms"
    whole = isinstance(content, Mapping) and {"family", "arms"} <= content.keys()
    require(whole, "model", rule, content, ScenarioError)
    assert isinstance(content, Mapping)
    options = {"target": target} | dict(content)
    with within("model", content):
        model = build_family(options.pop("family"), options.pop("arms"), options)
        rule = "have one unknown number"
        require(isinstance(model, RewardModel), "model", rule, model, ScenarioError)
        assert isinstance(model, RewardModel)
        return model


def _parse_doses(content: object, model: RewardModel) -> tuple[str, ...]:
    if content is None:
        return tuple(f"dose {number}" for number in range(1, model.n_arms + 1))
    right = isinstance(content, list) and len({str(label) for label in content}) == model.n_arms
    require(right, "doses", f"be {model.n_arms} different labels", content, ScenarioError)
    assert isinstance(content, list)
    return tuple(str(label) for label in content)


def _parse_stop(content: object, model: RewardModel) -> StopWhen | None:
    if content is None:
        return None
    known = {field.name for field in dataclasses.fields(StopWhen)}
    whole = isinstance(content, Mapping) and content.keys() <= known
    require(whole, "stop", f"have keys among {', '.join(sorted(known))}", content, ScenarioError)
    assert isinstance(content, Mapping)
    stop = StopWhen(**content)
    stop.setup(model)
    return stop


def play_trial(
    trial: Trial,
    *,
    runs: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    tick: Callable[[str], None] | None = None,
) -> Played:
    """Simulate all designs on all scenarios.

    Args:
        trial: from `load_trial`.
        runs: runs of each scenario, instead of the number in the trial.
        seed: seed of all randomness. All designs share the random numbers of a run.
        threads: as in `simulate`.
        tick: called with the name of each scenario before its simulation.
    """
    results = {}
    for name, world in trial.worlds.items():
        if tick is not None:
            tick(name)
        n_runs = runs or trial.runs
        played = simulate(
            world,
            trial.designs,
            trial.decisions,
            runs=n_runs,
            seed=seed,
            checkpoints=[trial.decisions],
            threads=threads,
            stop=trial.stop,
        )
        results[name] = require_all_runs(played, n_runs)
    return Played(trial=trial, results=results)
