"""The model a command line names: of the catalogues, the illustration, a formula, or a file."""

from collections.abc import Sequence
from typing import Any

from globalbandits._objects import load_object
from globalbandits.errors import ScenarioError
from globalbandits.model import RewardModel, load_model
from globalbandits.model.catalogue import build_family, full_name, short_names, three_arms
from globalbandits.model.reading import build_model

ILLUSTRATION = "three-arms"


def model_names() -> list[str]:
    """Every name `named_model` takes; one that two catalogues share is written in full.

    >>> "linear-power" in model_names(), "dose.linear" in model_names()
    (True, True)
    """
    return [ILLUSTRATION, *short_names()]


def named_model(
    name: str, arms: Sequence[Any] | None, parameters: dict[str, object]
) -> RewardModel:
    """The model of that name with these arms.

    >>> named_model("linear-power", [0.4, 0.6, 0.8], {"power": 2}).best_arms(0.5)
    (1,)
    """
    if name == ILLUSTRATION:
        if arms is not None or parameters:
            raise ScenarioError(f"{ILLUSTRATION} has its own three arms and no parameters")
        return three_arms()
    family = full_name(name, "model", [ILLUSTRATION])
    if arms is None:
        raise ScenarioError(f"{name} needs arms, for example --arms 0.4:0.95:0.05")
    return build_family(family, arms, parameters)


def formula_model(
    mean: str, arms: Sequence[Any] | None, parameters: dict[str, object]
) -> RewardModel:
    """The model of a formula with these arms.

    >>> formula_model("arm * theta", [0.5, 1.0], {"value": "mean - arm/4"}).best_arms(0.1)
    (0,)
    """
    if arms is None:
        raise ScenarioError("--mean needs arms, for example --arms 0.4:0.95:0.05")
    return build_model({"mean": mean, "arms": list(arms)} | parameters)


def file_model(text: str) -> RewardModel:
    """The model in a JSON or TOML file, or in ``path.py:name``; ``model`` unless named."""
    if text.lower().endswith((".json", ".toml")):
        return load_model(text)
    model = load_object("file", text, ScenarioError, default="model")
    if not isinstance(model, RewardModel):
        raise ScenarioError(f"file must name a RewardModel, got a {type(model).__name__}: {text}")
    return model
