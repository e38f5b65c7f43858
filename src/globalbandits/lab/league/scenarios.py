"""The scenarios of the league, read from TOML files."""

import dataclasses
import os
import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from globalbandits._validation import as_integer, require
from globalbandits.environments import Environment
from globalbandits.errors import ScenarioError
from globalbandits.simulation.checkpoints import MAX_HORIZON, MAX_RUNS
from globalbandits.simulation.sweeps.spec import ENVIRONMENT, Reader

DEFAULT_HORIZON = 10_000
DEFAULT_RUNS = 100
_KEYS = frozenset({"title", "text", "model", "horizon", "runs", *ENVIRONMENT})
_GRID = frozenset({"from", "to", "step", "number"})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scenario:
    """One problem that all policies play."""

    key: str
    title: str
    text: str
    environment: Environment
    horizon: int
    runs: int


def load_scenarios(
    scenarios: "Iterable[str | os.PathLike[str] | Scenario] | None" = None,
) -> tuple[Scenario, ...]:
    """Return scenarios; all of ``scenarios.toml`` by default.

    Args:
        scenarios: keys of that file, paths of TOML files with such tables, or scenarios.

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
    return [parse_scenario(key, table, Path(wanted).parent) for key, table in own.items()]


def parse_scenario(key: str, content: Mapping[str, Any], folder: Path | None = None) -> Scenario:
    """Return the scenario of one table; paths in it are relative to ``folder``.

    Model and environment are described as in the spec of a simulation.
    """
    for name in content:
        rule = f"have keys among {', '.join(sorted(_KEYS))}"
        require(name in _KEYS, f"scenario {key}", rule, name, ScenarioError)
    needed = ("title", "text", "model", *(() if "truth" in content else ("theta",)))
    for name in needed:
        require(name in content, f"scenario {key}", f"have {name}", list(content), ScenarioError)
    reader, path = Reader(folder), f"scenario {key}"
    for name in ("title", "text"):
        words = content[name]
        require(isinstance(words, str), f"{path}.{name}", "be a text", words, ScenarioError)
    numbers = {}
    for name, usual, least, most in (
        ("horizon", DEFAULT_HORIZON, 1, MAX_HORIZON),
        ("runs", DEFAULT_RUNS, 2, MAX_RUNS),
    ):
        given = content.get(name, usual)
        numbers[name] = as_integer(f"{path}.{name}", given, least, ScenarioError, maximum=most)
    model = reader.model(f"{path}.model", _with_arms(content["model"]))
    world = {name: content[name] for name in ENVIRONMENT if name in content}
    environment = reader.environment(path, model, world)
    return Scenario(
        key=key,
        title=content["title"],
        text=content["text"],
        environment=environment,
        **numbers,
    )


def _with_arms(model: Any) -> Any:
    """Move the keys of a grid of arms, which a model's table may hold directly, under ``arms``."""
    if not isinstance(model, Mapping) or "arms" in model or not model.keys() & _GRID:
        return model
    rest = {name: value for name, value in model.items() if name not in _GRID}
    return rest | {"arms": {name: model[name] for name in model if name in _GRID}}
