"""What authors of policies, noises, drifts, biases, delays, model families and stores need.

Names in this module are stable; the modules behind it may move. Every function that reads
`Tables`, `VectorTables` or `Statistics` is in the subset of Python that Numba compiles, so the
rules of a policy may call it. See docs/howto/own-policy.md for a policy, and CONTRIBUTING.md for
the others.

>>> from globalbandits.extend import Policy, TablesOnly, no_estimate, register, stateless
"""

import importlib
from typing import TYPE_CHECKING, Any

from globalbandits._registry import register
from globalbandits.environments.bias import Bias
from globalbandits.environments.delay import Delay, DelayRules
from globalbandits.environments.drift import Drift, DriftRules
from globalbandits.environments.noises.noise import Noise, NoiseRules
from globalbandits.errors import ModelError, PolicyError, ScenarioError, StoreError
from globalbandits.model.reward_model import RewardModel
from globalbandits.model.tables import (
    Curves,
    Envelope,
    Tables,
    choose_in_cell,
    evaluate,
    find_cell,
    suboptimality_distance,
)
from globalbandits.model.vector_model import VectorModel
from globalbandits.model.vector_tables import VectorTables, gradients_at, means_at
from globalbandits.policies.base import Policy, Rules, stateless
from globalbandits.policies.shared.index import Setup as TablesOnly
from globalbandits.policies.shared.index import no_estimate
from globalbandits.policies.shared.worth import (
    choose_any,
    choose_best_offered,
    choose_bound_offered,
    choose_by_worth,
    choose_largest,
    choose_offered,
    is_offered,
    worth_of,
    worth_within,
)
from globalbandits.statistics import (
    Statistics,
    are_part,
    assign,
    clear,
    count,
    no_statistics,
    uncount,
)

if TYPE_CHECKING:
    from globalbandits.service.stores import Store, Transaction, records
    from globalbandits.testing import check_policy

__all__ = [
    "Bias",
    "Curves",
    "Delay",
    "DelayRules",
    "Drift",
    "DriftRules",
    "Envelope",
    "ModelError",
    "Noise",
    "NoiseRules",
    "Policy",
    "PolicyError",
    "RewardModel",
    "Rules",
    "ScenarioError",
    "Statistics",
    "Store",
    "StoreError",
    "Tables",
    "TablesOnly",
    "Transaction",
    "VectorModel",
    "VectorTables",
    "are_part",
    "assign",
    "check_policy",
    "choose_any",
    "choose_best_offered",
    "choose_bound_offered",
    "choose_by_worth",
    "choose_in_cell",
    "choose_largest",
    "choose_offered",
    "clear",
    "count",
    "evaluate",
    "find_cell",
    "gradients_at",
    "is_offered",
    "means_at",
    "no_estimate",
    "no_statistics",
    "records",
    "register",
    "stateless",
    "suboptimality_distance",
    "uncount",
    "worth_of",
    "worth_within",
]

# Loaded on first use, because an author of a policy may need neither a store nor the simulator.
_LAZY = {
    "Store": "globalbandits.service.stores",
    "Transaction": "globalbandits.service.stores",
    "check_policy": "globalbandits.testing",
    "records": "globalbandits.service.stores",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
