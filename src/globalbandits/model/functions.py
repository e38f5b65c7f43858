"""One elementwise call for the user's functions of all arms.

A mean may broadcast over parameters and arms (fast for ten thousand arms), be vectorised
over the parameter alone, or take one number at a time. Which of these holds is found out
once, by comparing a few values with one-at-a-time calls.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_list, require
from globalbandits.errors import ModelError
from globalbandits.model.curve_tables import TableCurves
from globalbandits.model.expressions import Expression

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
        what: What messages call the function: "mean", "value" or "inverse".
        table: The same functions as one of (arm indices, arguments).
    """

    def __init__(
        self,
        functions: Sequence[Function],
        probes: FloatArray,
        arms: Sequence[Any],
        joint: Function | None = None,
        what: str = "mean",
        table: TableCurves | None = None,
    ) -> None:
        self._table = table
        names = [f"{what} of arm {arm!r}" for arm in arms]
        self._values = np.empty(0)
        if joint is not None and all(type(arm) in (int, float) for arm in arms):
            # Integers beyond the range of floats are left to the functions per arm.
            with suppress(OverflowError):
                self._values = np.array(arms, dtype=float)
        self._joint: Function | None = None
        self._functions: list[Function] = []
        if joint is not None and self._broadcasts(joint, functions, probes, names):
            self._joint = joint
            self._functions = [
                partial(_call_singly, function, name=name)
                for function, name in zip(functions, names, strict=True)
            ]
        else:
            self._functions = [
                _as_vectorised(function, probes[index], names[index])
                for index, function in enumerate(functions)
            ]

    def _broadcasts(
        self, joint: Function, functions: Sequence[Function], probes: FloatArray, names: list[str]
    ) -> bool:
        """Whether one call with arrays of arguments and arms gives what single calls give."""
        if self._values.size == 0 or isinstance(joint, Expression):
            return self._values.size > 0  # a formula always broadcasts
        table = _try(joint, probes.shape, probes, self._values[:, np.newaxis])
        if table is None:
            return False
        n_arms = len(functions)
        sample = np.unique(np.linspace(0, n_arms - 1, min(n_arms, _N_PROBED_ARMS)).astype(int))
        single = [_call_singly(functions[arm], probes[arm], names[arm]) for arm in sample]
        return bool(np.allclose(table[sample], single, rtol=1e-12, atol=0.0, equal_nan=True))

    def __call__(self, arms: IntArray, arguments: FloatArray) -> FloatArray:
        """Values of the given arms at the given arguments; both are broadcast together."""
        if self._table is not None:
            return self._table(arms, arguments)
        shape = np.broadcast(arms, arguments).shape
        if isinstance(self._joint, Expression):
            return self._joint(arguments, self._values[arms])
        if self._joint is not None:
            values = _try(self._joint, shape, arguments, self._values[arms])
            if values is not None:
                return values
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


class PerArm(NamedTuple):
    """Functions as a user gives them: one per arm, or one of (argument, arm value) for all."""

    functions: tuple[Function, ...] = ()
    joint: Function | None = None
    table: TableCurves | None = None  # what the functions are, where they are a table's

    def bind(
        self,
        arms: tuple[Any, ...],
        what: str,
        low: float | FloatArray,
        high: float | FloatArray,
    ) -> ArmFunctions:
        """The functions of these arms, tried out between ``low`` and ``high``."""
        functions = self.functions
        if self.joint is not None:
            functions = tuple(partial(_swap, self.joint, arm) for arm in arms)
        probes = probe_points(*(np.broadcast_to(end, len(arms)) for end in (low, high)))
        return ArmFunctions(functions, probes, arms, self.joint, what, self.table)

    def unseen_width(self, arms: tuple[Any, ...], domain: tuple[float, float]) -> float:
        """The widest interval of theta on which an arm is not proved monotone.

        Formulas and tables can be proved monotone. A Python function cannot: infinite.
        """
        whole = self.table or self.joint
        sources = (
            [(whole, arms)]
            if whole is not None
            else [(function, (arm,)) for function, arm in zip(self.functions, arms, strict=True)]
        )
        widths = [
            source.unseen_width(those, domain)
            for source, those in sources
            if isinstance(source, (Expression, TableCurves))
        ]
        return max(widths) if len(widths) == len(sources) else np.inf


def as_function(what: str, function: Any, names: tuple[str, ...]) -> Function:
    """A function as it is, and a text as the formula it is."""
    if isinstance(function, str):
        return Expression(function, names, what)
    rule = f"be a function of ({', '.join(names)}), or a text with a formula"
    require(callable(function), what, rule, function, ModelError)
    return cast(Function, function)


def as_functions(
    what: str, functions: Any, argument: str, n_arms: int | None = None
) -> tuple[Function, ...]:
    """Functions of one number as a tuple, as many as there are arms; texts are formulas."""
    rule = "be a list of functions, one per arm" if n_arms is None else f"have {n_arms} functions"
    listed = tuple(as_list(what, functions, rule, ModelError))
    if n_arms is not None:
        require(len(listed) == n_arms, what, rule, len(listed), ModelError)
    return tuple(
        as_function(f"{what}[{position}]", function, (argument,))
        for position, function in enumerate(listed)
    )


def as_value(value: Function | str | None) -> PerArm | None:
    """What decisions are worth, as one function of the mean and the arm."""
    return None if value is None else PerArm(joint=as_function("value", value, ("mean", "arm")))


def as_worth(
    value: Function | str | None, values: Sequence[Function | str] | None, n_arms: int
) -> PerArm | None:
    """What decisions are worth, as one function, or as one of the mean per arm; not both."""
    if values is None:
        return as_value(value)
    require(value is None, "values", "not be given together with value", value, ModelError)
    return PerArm(as_functions("values", values, "mean", n_arms))


def _swap(function: Function, arm: Any, argument: Any) -> Any:
    """``function(argument, arm)`` with the arm given first, so that `partial` can fix it."""
    return function(argument, arm)


def _call_singly(function: Function, arguments: FloatArray, name: str) -> FloatArray:
    """Values of a function that is called with one number at a time."""
    out = np.empty(arguments.size)
    with np.errstate(all="ignore"):
        for index, argument in enumerate(arguments.tolist()):
            try:
                found = function(argument)
            except ArithmeticError:
                found = np.nan  # e.g. 1/0: reported as not finite, with its place
            except Exception as error:
                raise ModelError(
                    f"{name} must return a number, but raised {error!r} at {argument:.6g}"
                ) from error
            out[index] = _as_number(found, argument, name)
    return out


def _as_number(found: Any, argument: float, name: str) -> float:
    """What a function returned, if it is one number."""
    try:
        array = np.asarray(found, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if found is None or array.size != 1:
        raise ModelError(f"{name} must return a number, got {found!r} at {argument:.6g}")
    return float(array.item())


def _try(function: Function, shape: tuple[int, ...], *arguments: Any) -> FloatArray | None:
    """The function called with arrays, or None if it raises or gives another shape.

    Any failure only means: call it with single numbers, which tells the place.
    """
    try:
        with np.errstate(all="ignore"):
            found = function(*arguments)
            values = np.array(found, dtype=float)  # a copy: the user may change theirs
    except Exception:
        return None
    return None if found is None or values.shape != shape else values


def _call_at_once(function: Function, arguments: FloatArray, name: str) -> FloatArray:
    """Values of a function that takes arrays, or else single numbers."""
    if arguments.size == 0:
        return np.empty(0)
    values = _try(function, arguments.shape, arguments)
    return _call_singly(function, arguments, name) if values is None else values


def _as_vectorised(function: Function, probes: FloatArray, name: str) -> Function:
    """The function itself if it maps arrays elementwise, else a loop over it."""
    one_at_a_time = partial(_call_singly, function, name=name)
    expected = one_at_a_time(probes)
    values = _try(function, probes.shape, probes)
    if values is None or not np.allclose(values, expected, rtol=1e-12, atol=0.0, equal_nan=True):
        return one_at_a_time
    return partial(_call_at_once, function, name=name)


def probe_points(low: FloatArray, high: FloatArray) -> FloatArray:
    """Arguments to try a function at: inside (low, high), shape (n_arms, n_probes)."""
    fractions = (np.arange(_N_PROBES) + 0.5) / _N_PROBES
    return np.asarray(low[:, np.newaxis] + fractions * (high - low)[:, np.newaxis])
