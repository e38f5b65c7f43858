"""Global bandits: every curve is known, but for one number that all of them share.

Names are loaded when they are first used, so that ``import globalbandits`` stays cheap.

>>> import globalbandits as gb
>>> gb.WAGP()
WAGP()
"""

from importlib import import_module
from typing import TYPE_CHECKING

from globalbandits._version import __version__

if TYPE_CHECKING:
    from globalbandits.errors import (
        EvidenceError,
        GlobalBanditsError,
        ModelError,
        PolicyError,
        ResultError,
        RewardError,
        ScenarioError,
        SimulationError,
        StateError,
    )
    from globalbandits.policies.base import Policy
    from globalbandits.policies.wagp import WAGP

__all__ = [
    "WAGP",
    "EvidenceError",
    "GlobalBanditsError",
    "ModelError",
    "Policy",
    "PolicyError",
    "ResultError",
    "RewardError",
    "ScenarioError",
    "SimulationError",
    "StateError",
    "__version__",
]

# Where each public name lives. An empty tuple: the module itself is public.
_HOMES: dict[str, tuple[str, ...]] = {
    "errors": (
        "EvidenceError",
        "GlobalBanditsError",
        "ModelError",
        "PolicyError",
        "ResultError",
        "RewardError",
        "ScenarioError",
        "SimulationError",
        "StateError",
    ),
    "policies.base": ("Policy",),
    "policies.wagp": ("WAGP",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = {home.rpartition(".")[2]: home for home, names in _HOMES.items() if not names}


def __getattr__(name: str) -> object:
    if name in _HOME_OF:
        value: object = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"{__name__}.{_MODULES[name]}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value  # the next look-up does not come here
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
