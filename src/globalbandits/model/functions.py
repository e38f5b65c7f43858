"""The user's functions behind one elementwise call, however they were written.

A mean may broadcast over parameters and arms (fast for ten thousand arms), be vectorised
over the parameter alone, or take one number at a time. Which of these holds is found out
once, by comparing a few values with one-at-a-time calls.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.errors import ModelError

Function = Callable[..., Any]

_N_PROBES = 7
_N_PROBED_ARMS = 16


class ArmFunctions:
    """One function of a number per arm, evaluated elementwise.

    Args:
        functions: One callable of a single number for each arm.
        probes: A few arguments at which every function is defined, one row per arm.
        arms: The arms' user-facing values, for messages.
        joint: A function of (argument, arm value) that may broadcast over arrays of both.
        what: How messages call the function: "mean" or "inverse".
    """

    def __init__(
        self,
        functions: Sequence[Function],
        probes: FloatArray,
        arms: Sequence[Any],
        joint: Function | None = None,
        what: str = "mean",
    ) -> None:
        names = [f"{what} of arm {arm!r}" for arm in arms]
        self._values = np.asarray(arms) if joint is not None else np.empty(0)
        self._joint: Function | None = None
        self._functions: list[Function] = []
        if joint is not None and self._broadcasts(joint, functions, probes, names):
            self._joint = joint
        else:
            self._functions = [
                _as_vectorised(function, probes[index], names[index])
                for index, function in enumerate(functions)
            ]

    def _broadcasts(
        self, joint: Function, functions: Sequence[Function], probes: FloatArray, names: list[str]
    ) -> bool:
        """Whether one call with arrays of arguments and arms gives what single calls give."""
        if self._values.dtype.kind not in "iuf":
            return False
        try:
            with np.errstate(all="ignore"):
                table = np.asarray(joint(probes, self._values[:, np.newaxis]), dtype=float)
        except Exception:
            return False  # any failure only means: call it arm by arm
        if table.shape != probes.shape:
            return False
        n_arms = len(functions)
        sample = np.unique(np.linspace(0, n_arms - 1, min(n_arms, _N_PROBED_ARMS)).astype(int))
        single = [_call_singly(functions[arm], probes[arm], names[arm]) for arm in sample]
        return bool(np.allclose(table[sample], single, rtol=1e-12, atol=0.0, equal_nan=True))

    def __call__(self, arms: IntArray, arguments: FloatArray) -> FloatArray:
        """Values of the given arms at the given arguments; both are broadcast together."""
        if self._joint is not None:
            with np.errstate(all="ignore"):
                values = np.asarray(self._joint(arguments, self._values[arms]), dtype=float)
            return np.array(np.broadcast_to(values, np.broadcast_shapes(arms.shape, values.shape)))
        shape = np.broadcast_shapes(np.shape(arms), np.shape(arguments))
        flat_arms = np.broadcast_to(arms, shape).ravel()
        flat_arguments = np.broadcast_to(arguments, shape).ravel()
        out = np.empty(flat_arms.size)
        if out.size == 0:  # np.split would still give one piece
            return out.reshape(shape)
        order = np.argsort(flat_arms, kind="stable")
        present, starts = np.unique(flat_arms[order], return_index=True)
        for arm, places in zip(present, np.split(order, starts[1:]), strict=True):
            out[places] = self._functions[arm](flat_arguments[places])
        return out.reshape(shape)


def _call_singly(function: Function, arguments: FloatArray, name: str) -> FloatArray:
    """Values of a function that is called with one number at a time."""
    out = np.empty(arguments.size)
    with np.errstate(all="ignore"):
        for index, argument in enumerate(arguments.tolist()):
            try:
                out[index] = function(argument)
            except ArithmeticError:
                out[index] = np.nan  # e.g. 1/0: reported as not finite, with its place
            except Exception as error:
                raise ModelError(
                    f"{name} must return a number, but raised {error!r} at {argument:.6g}"
                ) from error
    return out


def _as_vectorised(function: Function, probes: FloatArray, name: str) -> Function:
    """The function itself if it maps arrays elementwise, else a loop over it."""

    def one_at_a_time(arguments: FloatArray) -> FloatArray:
        return _call_singly(function, arguments, name)

    def all_at_once(arguments: FloatArray) -> FloatArray:
        if arguments.size == 0:
            return np.empty(0)
        with np.errstate(all="ignore"):
            return np.asarray(function(arguments), dtype=float)

    expected = one_at_a_time(probes)
    try:
        values = all_at_once(probes)
    except Exception:
        return one_at_a_time
    if values.shape != probes.shape:
        return one_at_a_time
    if not np.allclose(values, expected, rtol=1e-12, atol=0.0, equal_nan=True):
        return one_at_a_time
    return all_at_once


def probe_points(low: FloatArray, high: FloatArray) -> FloatArray:
    """Arguments to try a function at: inside (low, high), shape (n_arms, n_probes)."""
    fractions = (np.arange(_N_PROBES) + 0.5) / _N_PROBES
    return np.asarray(low[:, np.newaxis] + fractions * (high - low)[:, np.newaxis])
