"""The model a command line names: from the catalogues, the illustration, or a file."""

import importlib.util
import inspect
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from globalbandits.errors import ScenarioError
from globalbandits.model import RewardModel, demand, dose

CATALOGUES: dict[str, ModuleType] = {"demand": demand, "dose": dose}
ILLUSTRATION = "three-arms"


def three_arms() -> RewardModel:
    """The illustration of the paper's Figure 1: 1 - sqrt(theta), 0.8 theta, theta**2.

    >>> [region.arm for region in three_arms().regions]
    [0, 1, 2]
    """
    return RewardModel.from_functions(
        [lambda theta: 1 - math.sqrt(theta), lambda theta: 0.8 * theta, lambda theta: theta**2],
        arms=["1 - √θ", "0.8 θ", "θ²"],
    )


def model_names() -> list[str]:
    """Every name `catalogue_model` takes; one that two catalogues share is written in full.

    >>> "linear-power" in model_names(), "dose.linear" in model_names()
    (True, True)
    """
    return [ILLUSTRATION, *_functions()]


def catalogue_model(
    name: str, arms: Sequence[Any] | None, parameters: dict[str, object]
) -> RewardModel:
    """The model of that name with these arms.

    >>> catalogue_model("linear-power", [0.4, 0.6, 0.8], {"power": 2}).best_arms(0.5)
    (1,)
    """
    if name == ILLUSTRATION:
        if arms is not None or parameters:
            raise ScenarioError(f"{ILLUSTRATION} has its own three arms and no parameters")
        return three_arms()
    functions = _functions()
    known = name.replace("_", "-")
    if known not in functions:
        raise ScenarioError(f"model must be one of {', '.join(model_names())}, got {name!r}")
    if arms is None:
        raise ScenarioError(f"{known} needs arms, for example --arms 0.4:0.95:0.05")
    build = functions[known]
    allowed = list(inspect.signature(build).parameters)[1:]
    for parameter in parameters:
        if parameter not in allowed:
            raise ScenarioError(
                f"parameter of {known} must be one of {', '.join(allowed)}, got {parameter!r}"
            )
    return build(arms, **parameters)


def _functions() -> dict[str, Callable[..., RewardModel]]:
    plain = [name for module in CATALOGUES.values() for name in module.__all__]
    found: dict[str, Callable[..., RewardModel]] = {}
    for catalogue, module in CATALOGUES.items():
        for name in module.__all__:
            shown = name.replace("_", "-")
            full = shown if plain.count(name) == 1 else f"{catalogue}.{shown}"
            found[full] = getattr(module, name)
    return found


def file_model(text: str) -> RewardModel:
    """The model in ``path.py:name``; the name is ``model`` unless given."""
    path, _, name = (text, "", "model") if text.endswith(".py") else text.rpartition(":")
    if not path.endswith(".py") or not Path(path).is_file():
        raise ScenarioError(f"file must be an existing Python file, path.py:name, got {text!r}")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ScenarioError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
    if not hasattr(module, name):
        raise ScenarioError(f"{path} must define {name!r}")
    model = getattr(module, name)
    if not isinstance(model, RewardModel):
        raise ScenarioError(f"{name} in {path} must be a RewardModel, got {type(model).__name__}")
    return model
