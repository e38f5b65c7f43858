"""The catalogue families by name, for files, the command line and the league."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import ModuleType
from typing import Any

from globalbandits._validation import require_known
from globalbandits.errors import ModelError
from globalbandits.model.catalogue import demand, dose
from globalbandits.model.reward_model import RewardModel
from globalbandits.model.vector_model import AnyModel

CATALOGUES: dict[str, ModuleType] = {"demand": demand, "dose": dose}

Family = Callable[..., AnyModel]


@cache
def families() -> dict[str, Family]:
    """Return every family by its full name.

    >>> list(families())[:2]
    ['demand.anchored', 'demand.exponential']
    """
    return {
        f"{catalogue}.{name}": getattr(module, name)
        for catalogue, module in CATALOGUES.items()
        for name in module.__all__
    }


def short_names() -> list[str]:
    """Return the shortest name of every family, as typed on the command line.

    >>> "linear-power" in short_names(), "dose.linear" in short_names()
    (True, True)
    """
    plain = [full.partition(".")[2] for full in families()]
    return [
        (full if plain.count(name) > 1 else name).replace("_", "-")
        for full, name in zip(families(), plain, strict=True)
    ]


def full_name(name: object, what: str = "family", others: Iterable[str] = ()) -> str:
    """Return the full name of a family from any spelling. Messages also list ``others``.

    >>> full_name("linear-power"), full_name("dose.linear")
    ('demand.linear_power', 'dose.linear')
    """
    wanted = name.replace("-", "_") if isinstance(name, str) else ""
    if wanted in families():
        return wanted
    shown = dict(zip(short_names(), families(), strict=True))
    dashed = wanted.replace("_", "-")
    if dashed not in shown:
        require_known(what, name, (*others, *shown), ModelError)
    return shown[dashed]


def parameters_of(family: str) -> tuple[str, ...]:
    """Return the names of a family's parameters, without its arms.

    >>> parameters_of("demand.linear_power")
    ('power', 'level', 'slope', 'domain', 'cost', 'observe')
    """
    return tuple(inspect.signature(families()[family]).parameters)[1:]


def build_family(name: object, arms: Any, parameters: Mapping[str, Any]) -> AnyModel:
    """Build the model of a family by its name.

    >>> build_family("linear-power", [0.4, 0.6, 0.8], {"power": 2}).best_arms(0.5)
    (1,)
    """
    family = full_name(name)
    for parameter in parameters:
        require_known(f"a parameter of {family}", parameter, parameters_of(family), ModelError)
    return families()[family](arms, **parameters)


def three_arms() -> RewardModel:
    """Build the model of the paper's Figure 1: 1 - sqrt(theta), 0.8 theta, theta**2.

    >>> [region.arm for region in three_arms().regions]
    [0, 1, 2]
    """
    return RewardModel.from_functions(
        ["1 - sqrt(theta)", "0.8 * theta", "theta**2"], arms=["1 - √θ", "0.8 θ", "θ²"]
    )
