"""The league's scenarios: a TOML file beside this module, checked when it is read."""

import dataclasses
import os
import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from globalbandits._validation import as_integer, require
from globalbandits.environments import Bias, Drift, Environment, Noise
from globalbandits.errors import ScenarioError
from globalbandits.model import RewardModel, demand, dose

_HORIZON = 10_000
_RUNS = 100
_KEYS = frozenset(
    {"title", "text", "model", "theta", "noise", "drift", "bias", "truth", "horizon", "runs"}
)
_FAMILIES = {"demand": demand, "dose": dose}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scenario:
    """One problem all policies play."""

    key: str
    title: str
    text: str
    environment: Environment
    horizon: int
    runs: int


def load_scenarios(
    scenarios: "Iterable[str | os.PathLike[str] | Scenario] | None" = None,
) -> tuple[Scenario, ...]:
    """Scenarios: all of the file's by default.

    Args:
        scenarios: keys of the file; paths of TOML files with tables like the file's; scenarios.

    >>> [scenario.title for scenario in load_scenarios(["short"])]
    ['200 decisions']
    """
    content = tomllib.loads(files(__package__).joinpath("scenarios.toml").read_text("utf-8"))
    found: dict[str, Scenario] = {}
    for wanted in content if scenarios is None else scenarios:
        for scenario in _find(wanted, content):
            rule = "be named once"
            require(scenario.key not in found, "scenario", rule, scenario.key, ScenarioError)
            found[scenario.key] = scenario
    require(len(found) > 0, "scenarios", "be at least one", scenarios, ScenarioError)
    return tuple(found.values())


def _find(
    wanted: "str | os.PathLike[str] | Scenario", content: Mapping[str, Any]
) -> list[Scenario]:
    if isinstance(wanted, Scenario):
        return [wanted]
    if isinstance(wanted, str) and not wanted.endswith(".toml"):
        rule = f"be one of {', '.join(content)}, or the path of a TOML file"
        require(wanted in content, "scenario", rule, wanted, ScenarioError)
        return [parse_scenario(wanted, content[wanted])]
    try:
        own = tomllib.loads(Path(wanted).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ScenarioError(
            f"scenario must be a readable TOML file, got {os.fspath(wanted)!r}: {error}"
        ) from None
    rule = "hold one table for each scenario"
    tables = bool(own) and all(isinstance(table, dict) for table in own.values())
    require(tables, f"scenario file {os.fspath(wanted)}", rule, sorted(own), ScenarioError)
    return [parse_scenario(key, table) for key, table in own.items()]


def parse_scenario(key: str, content: Mapping[str, Any]) -> Scenario:
    """A scenario from one table of the file."""
    for name in content:
        rule = f"have keys among {', '.join(sorted(_KEYS))}"
        require(name in _KEYS, f"scenario {key}", rule, name, ScenarioError)
    needed = ("title", "text", "model", *(() if "truth" in content else ("theta",)))
    for name in needed:
        require(name in content, f"scenario {key}", f"have {name}", list(content), ScenarioError)
    model = _parse_model(key, content["model"])
    truth, truth_theta = _parse_truth(key, content.get("truth"), model)
    environment = Environment(
        model,
        theta=content.get("theta"),
        noise=Noise.from_dict(content.get("noise", "beta")),
        drift=Drift.from_dict(content["drift"]) if "drift" in content else None,
        bias=Bias.from_dict(content["bias"]) if "bias" in content else None,
        truth=truth,
        truth_theta=truth_theta,
    )
    return Scenario(
        key=key,
        title=content["title"],
        text=content["text"],
        environment=environment,
        horizon=as_integer("horizon", content.get("horizon", _HORIZON), 1, ScenarioError),
        runs=as_integer("runs", content.get("runs", _RUNS), 2, ScenarioError),
    )


def _parse_model(key: str, content: Mapping[str, Any]) -> RewardModel:
    options = dict(content)
    missing = {"family", "from", "to", "number"} - options.keys()
    rule = "have family, from, to and number"
    require(not missing, f"model of {key}", rule, dict(content), ScenarioError)
    arms = np.linspace(options.pop("from"), options.pop("to"), options.pop("number"))
    return _build(options.pop("family"), arms.round(12).tolist(), options)


def _parse_truth(key: str, content: Any, model: RewardModel) -> tuple[Any, float | None]:
    """What really pays, and its parameter: a family with the model's arms, or means."""
    if not isinstance(content, Mapping):
        return content, None
    options = dict(content)
    rule = "have family and theta"
    whole = {"family", "theta"} <= options.keys()
    require(whole, f"truth of {key}", rule, dict(content), ScenarioError)
    theta = options.pop("theta")
    return _build(options.pop("family"), list(model.arms), options), theta


def _build(family: object, arms: list[Any], options: dict[str, Any]) -> RewardModel:
    room, _, name = str(family).partition(".")
    known = room in _FAMILIES and name in _FAMILIES[room].__all__
    require(known, "family", "name a model of demand or dose", family, ScenarioError)
    model: RewardModel = getattr(_FAMILIES[room], name)(arms, **options)
    return model
