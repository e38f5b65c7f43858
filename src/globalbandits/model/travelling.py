"""Pickling: a function that cannot be pickled is replaced by its tabulated curve.

A function that another process can import by name is pickled as it is. A lambda, a nested
function, or a function typed at a prompt or in a notebook cannot be imported. Its curve was
tabulated when the model was built and agrees with it to about 1e-10. Decisions are looked up in
the same tables, so they do not change by a bit.
"""

import pickle
import sys
from functools import partial
from typing import Any

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.functions import PerArm
from globalbandits.model.polynomials import evaluate_many
from globalbandits.model.tables import Curves, Tables
from globalbandits.model.worth import Worth

Span = tuple[float, float]


class Tabulated:
    """Curves of the unit scales as functions in a user's units, called elementwise.

    Args:
        curves: One per arm.
        arguments: The interval that is mapped to [0, 1] for arguments; None for no mapping.
        values: The interval that [0, 1] is mapped to for values.
    """

    def __init__(self, curves: Curves, arguments: Span | None, values: Span) -> None:
        self._curves = curves
        self._arguments = arguments
        self._values = values

    def __call__(self, arms: IntArray, arguments: FloatArray) -> FloatArray:
        """Values of the given arms at the given arguments; both are broadcast together."""
        shape = np.broadcast(arms, arguments).shape
        flat_arms = np.broadcast_to(arms, shape).ravel()
        flat = np.broadcast_to(np.asarray(arguments, dtype=np.float64), shape).ravel()
        out = np.empty(flat.size)
        for arm in np.unique(flat_arms).tolist():
            places = flat_arms == arm
            out[places] = self.of_arm(arm, flat[places])
        return out.reshape(shape)

    def of_arm(self, arm: int, arguments: Any) -> FloatArray:
        """Values of one arm."""
        x = np.asarray(arguments, dtype=np.float64)
        if self._arguments is not None:
            low, high = self._arguments
            x = (x - low) / (high - low)
        low, high = self._values
        return np.asarray(low + (high - low) * evaluate_many(self._curves, arm, x))

    def sources(self, n_arms: int) -> PerArm:
        """The same, one function per arm."""
        return PerArm(functions=tuple(partial(self.of_arm, arm) for arm in range(n_arms)))


def portable(state: dict[str, Any], worth_range: Span) -> dict[str, Any]:
    """The attributes of a model, with tables for functions that cannot be pickled."""
    if _can_be_pickled(state):
        return state
    tables: Tables = state["_tables"]
    rewards: Span = state["_reward_range"]
    observed = Tabulated(tables.mean, None, rewards)
    value = Tabulated(tables.value, rewards, worth_range) if tables.valued else None
    worth = Worth(observed, value, rewards)
    every = np.arange(tables.n_arms), state["_probes"][:, np.newaxis]
    seen = {"mean": observed(*every)} | ({} if value is None else {"value": worth(*every)})
    of_value = None if value is None else value.sources(tables.n_arms)
    return state | {
        "_sources": (observed.sources(tables.n_arms), of_value, None, state["_sources"][3]),
        "_observed": observed,
        "_value": value,
        "_worth": worth,
        "_inverse": None,
        "_seen": seen,
    }


def _can_be_pickled(state: dict[str, Any]) -> bool:
    functions = [state[key] for key in ("_sources", "_observed", "_value", "_inverse")]
    try:
        raw = pickle.dumps(functions)
    except Exception:  # pickling may run the user's code, which may raise anything
        return False
    # Another process cannot import what was typed at a prompt.
    return b"__main__" not in raw or hasattr(sys.modules["__main__"], "__file__")
