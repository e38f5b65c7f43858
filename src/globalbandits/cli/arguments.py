"""Parse the arguments of a command line into values and models."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from globalbandits.errors import ScenarioError

if TYPE_CHECKING:
    from globalbandits.model import AnyModel, ContextModel

Number = int | float
MAX_ARMS_OF_GRID = 1_000_000
ILLUSTRATION = "three-arms"  # the model that illustrates the paper


def parse_arms(text: str) -> list[Number | str]:
    """Return arms from ``first:last:step``, or from a list of numbers and labels with commas.

    Steps are exact decimals: 0.4:0.95:0.05 contains 0.45, not 0.45000000000000007.

    >>> parse_arms("0.4:0.6:0.05")
    [0.4, 0.45, 0.5, 0.55, 0.6]
    >>> parse_arms("1,2.5,high")
    [1, 2.5, 'high']
    """
    if ":" not in text:
        return [parse_value(part.strip()) for part in text.split(",")]
    from globalbandits.model.inputs import decimal_steps

    parts = text.split(":")
    if len(parts) != 3:
        raise ScenarioError(f"arms must be first:last:step or a list with commas, got {text!r}")
    return list(
        decimal_steps("arms", (parts[0], parts[1], parts[2]), MAX_ARMS_OF_GRID, ScenarioError, text)
    )


def parse_domain(text: str, name: str = "domain") -> tuple[float, float]:
    """Return the interval in ``low:high``.

    >>> parse_domain("0.5:2")
    (0.5, 2.0)
    """
    try:
        low, high = (float(part) for part in text.split(":"))
    except ValueError:
        raise ScenarioError(f"{name} must be low:high, got {text!r}") from None
    return low, high


def parse_parameters(texts: Sequence[str]) -> dict[str, object]:
    """Return parameters in ``key=value``; a value with a colon is an interval.

    >>> parse_parameters(["power=3", "reward_range=0:20", "kind=sales"])
    {'power': 3, 'reward_range': (0.0, 20.0), 'kind': 'sales'}
    """
    parameters: dict[str, object] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        key = key.strip().replace("-", "_")
        if not (key.isidentifier() and equals and value):
            raise ScenarioError(f"parameter must be key=value, got {text!r}")
        if key in parameters:
            raise ScenarioError(f"parameter must be given once, got {key!r} again")
        ranged = ":" in value
        parameters[key] = parse_domain(value, key) if ranged else parse_value(value.strip())
    return parameters


def parse_theta(text: str) -> Any:
    """Return a parameter: a number, or several by name.

    >>> parse_theta("0.4"), parse_theta("level=0.1,slope=0.3")
    (0.4, {'level': 0.1, 'slope': 0.3})
    """
    if "=" in text:
        return parse_parameters(text.split(","))
    try:
        return float(text)
    except ValueError:
        raise ScenarioError(
            f"theta must be a number, or several such as level=0.1,slope=0.3, got {text!r}"
        ) from None


def parse_value(text: str) -> Number | str:
    """Return an integer, a float, or the text itself.

    >>> parse_value("3"), parse_value("3.0"), parse_value("1e-3"), parse_value("low")
    (3, 3.0, 0.001, 'low')
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def named_model(name: str, arms: Sequence[Any] | None, parameters: dict[str, object]) -> "AnyModel":
    """Return the model of this name in the catalogues, with these arms.

    >>> named_model("linear-power", [0.4, 0.6, 0.8], {"power": 2}).best_arms(0.5)
    (1,)
    """
    from globalbandits.model.catalogue.names import build_family, full_name, three_arms

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
) -> "AnyModel":
    """Return the model of a formula, with these arms.

    >>> formula_model("arm * theta", [0.5, 1.0], {"value": "mean - arm/4"}).best_arms(0.1)
    (0,)
    """
    from globalbandits.model.files import build_model

    if arms is None:
        raise ScenarioError("--mean needs arms, for example --arms 0.4:0.95:0.05")
    return build_model({"mean": mean, "arms": list(arms)} | parameters)


def file_model(text: str) -> "AnyModel | ContextModel":
    """Return the model in a JSON or TOML file, or in ``path.py:name`` (``model`` by default)."""
    from globalbandits._objects import load_object
    from globalbandits.model import ContextModel, RewardModel, VectorModel, load_model

    if text.lower().endswith((".json", ".toml")):
        return load_model(text)
    model = load_object("file", text, ScenarioError, default="model")
    if not isinstance(model, (RewardModel, VectorModel, ContextModel)):
        raise ScenarioError(f"file must name a model, got a {type(model).__name__}: {text}")
    return model


def without_contexts(model: "AnyModel | ContextModel") -> "AnyModel":
    """Return the model; raise an error if it has contexts."""
    from globalbandits.model import ContextModel

    if isinstance(model, ContextModel):
        raise ScenarioError(
            "model must have no contexts here, because a log file has no column of them: use "
            f"gb.Learner or the service, got {model!r}"
        )
    return model


def as_seconds(name: str, age: str) -> int:
    """Return a time span such as ``90d``, ``36h``, ``30m`` or ``20s`` in seconds.

    >>> as_seconds("older-than", "36h")
    129600
    """
    from globalbandits.errors import ServiceError

    units = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
    number, unit = age[:-1], age[-1:]
    if not (number.isascii() and number.isdigit() and len(number) <= 9 and unit in units):
        raise ServiceError(f"{name} must be a number with d, h, m or s, got {age!r}")
    return int(number) * units[unit]
