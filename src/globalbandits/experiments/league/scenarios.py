"""The league's scenarios: a TOML file beside this module, checked when it is read."""

import dataclasses
import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any

import numpy as np

from globalbandits._validation import as_integer, require
from globalbandits.environments import Bias, Drift, Environment, Noise
from globalbandits.errors import ScenarioError
from globalbandits.model import RewardModel, demand, dose

_HORIZON = 10_000
_RUNS = 100
_KEYS = frozenset({"title", "text", "model", "theta", "noise", "drift", "bias", "horizon", "runs"})
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


def load_scenarios(names: Iterable[str] | None = None) -> tuple[Scenario, ...]:
    """The scenarios with the given keys, in the file's order; all of them by default.

    >>> [scenario.title for scenario in load_scenarios(["short"])]
    ['200 decisions']
    """
    content = tomllib.loads(files(__package__).joinpath("scenarios.toml").read_text("utf-8"))
    wanted = tuple(content) if names is None else tuple(names)
    for name in wanted:
        require(name in content, "scenario", f"be one of {', '.join(content)}", name, ScenarioError)
    return tuple(parse_scenario(key, content[key]) for key in content if key in wanted)


def parse_scenario(key: str, content: Mapping[str, Any]) -> Scenario:
    """A scenario from one table of the file."""
    for name in content:
        rule = f"have keys among {', '.join(sorted(_KEYS))}"
        require(name in _KEYS, f"scenario {key}", rule, name, ScenarioError)
    for name in ("title", "text", "model", "theta"):
        require(name in content, f"scenario {key}", f"have {name}", list(content), ScenarioError)
    environment = Environment(
        _parse_model(key, content["model"]),
        theta=content["theta"],
        noise=Noise.from_dict(content.get("noise", "beta")),
        drift=Drift.from_dict(content["drift"]) if "drift" in content else None,
        bias=Bias.from_dict(content["bias"]) if "bias" in content else None,
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
    room, _, name = str(options.pop("family")).partition(".")
    known = room in _FAMILIES and name in _FAMILIES[room].__all__
    require(known, "family", "name a model of demand or dose", content["family"], ScenarioError)
    arms = np.linspace(options.pop("from"), options.pop("to"), options.pop("number"))
    model: RewardModel = getattr(_FAMILIES[room], name)(arms.round(12).tolist(), **options)
    return model
