"""The user's functions, formulas or table of means, as one elementwise function of all arms."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_list, require
from globalbandits.errors import ModelError
from globalbandits.model.formulas import Expression
from globalbandits.model.inputs import as_numbers

# Tables of means: piecewise cubic Hermite interpolation (PCHIP).
#
# The slopes are the weighted harmonic means of F. N. Fritsch & J. Butland (1984), "A method for
# constructing local monotone piecewise cubic interpolants", SIAM J. Sci. Stat. Comput. 5(2).
# Between increasing points the curve increases, so a table of monotone means is proved monotone.

MAX_KNOTS = 2_000


class TableCurves:
    """The curves through ``(knots, means)``, with one column of means per arm.

    >>> curves = TableCurves(np.array([0.0, 0.5, 1.0]), np.array([[0.1], [0.2], [0.8]]))
    >>> curves(np.array(0), np.array([0.0, 0.25, 0.5, 1.0])).round(4).tolist()
    [0.1, 0.1286, 0.2, 0.8]
    """

    def __init__(self, knots: FloatArray, means: FloatArray) -> None:
        self.knots = knots
        self.means = means
        width = np.diff(knots)[:, None]
        secant = np.diff(means, axis=0) / width
        slope = pchip_slopes(knots, means)
        # mean = c0 + x (c1 + x (c2 + x c3)), where x is the distance from the left knot.
        self._coefficients = np.stack(
            [
                means[:-1],
                slope[:-1],
                (3.0 * secant - 2.0 * slope[:-1] - slope[1:]) / width,
                (slope[:-1] + slope[1:] - 2.0 * secant) / width**2,
            ]
        )

    def __call__(self, arms: IntArray, thetas: FloatArray) -> FloatArray:
        """Return the means of arms (indices) at parameters, elementwise.

        Outside the knots the outermost cubics are extrapolated.
        """
        piece = np.searchsorted(self.knots[1:-1], thetas, "right")
        x = thetas - self.knots[piece]
        c0, c1, c2, c3 = (part[piece, arms] for part in self._coefficients)
        return np.asarray(c0 + x * (c1 + x * (c2 + x * c3)))

    def of_arm(self, arm: int, theta: Any) -> FloatArray:
        """Return the mean of one arm."""
        return self(np.array(arm), np.asarray(theta, dtype=float))

    def unseen_width(self, arms: tuple[Any, ...], domain: tuple[float, float]) -> float:
        """Return 0 if the means of every arm are monotone, else infinity."""
        steps = np.diff(self.means, axis=0)
        monotone = (steps > 0.0).all(axis=0) | (steps < 0.0).all(axis=0)
        return 0.0 if monotone.all() else np.inf


def pchip_slopes(knots: FloatArray, means: FloatArray) -> FloatArray:
    """Return the slopes of the curves at the knots, shape (n_knots, n_arms).

    >>> pchip_slopes(np.array([0.0, 1.0, 2.0]), np.array([[0.0], [1.0], [4.0]])).ravel().tolist()
    [0.0, 1.5, 4.0]
    """
    width = np.diff(knots)[:, None]
    secant = np.diff(means, axis=0) / width
    if len(secant) == 1:
        return np.repeat(secant, 2, axis=0)
    slope = np.zeros(means.shape)
    same = secant[:-1] * secant[1:] > 0.0
    left = 2.0 * width[1:] + width[:-1]
    right = width[1:] + 2.0 * width[:-1]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        inner = (left + right) / (left / secant[:-1] + right / secant[1:])
    slope[1:-1] = np.where(same, inner, 0.0)
    slope[0] = _end_slope(width[0], width[1], secant[0], secant[1])
    slope[-1] = _end_slope(width[-1], width[-2], secant[-1], secant[-2])
    return slope


def _end_slope(
    near: FloatArray, far: FloatArray, first: FloatArray, second: FloatArray
) -> FloatArray:
    """Return the end slope of the parabola through three points, limited to keep monotonicity."""
    slope = ((2.0 * near + far) * first - near * second) / (near + far)
    too_steep = (first * second <= 0.0) & (np.abs(slope) > 3.0 * np.abs(first))
    slope = np.where(too_steep, 3.0 * first, slope)
    return np.where(slope * first <= 0.0, 0.0, slope)


def as_table(
    theta: Any, means: Any, n_arms: int | None, monotone: bool
) -> tuple[FloatArray, FloatArray]:
    """Check a table and return knots, shape (n_knots,), and means, shape (n_knots, n_arms).

    The reward range is checked later, as for every model.
    """
    knots, table = as_numbers("theta", theta), as_numbers("means", means)
    rule = f"be a list of 2 to {MAX_KNOTS:,} numbers"
    listed = knots.ndim == 1 and 2 <= knots.size <= MAX_KNOTS
    require(listed, "theta", rule, f"shape {knots.shape}", ModelError)
    bad = np.flatnonzero(~np.isfinite(knots))
    require(bad.size == 0, "theta", "be finite", knots[bad].tolist(), ModelError)
    back = np.flatnonzero(np.diff(knots) <= 0.0)
    if back.size:
        place = int(back[0])
        raise ModelError(
            f"theta[{place + 1}] must be above theta[{place}] = {knots[place]:g}, "
            f"got {knots[place + 1]:g}"
        )
    rows = f"have {knots.size} rows, one per theta"
    width = "a number for each arm" if n_arms is None else f"{n_arms} numbers, one per arm"
    shaped = table.ndim == 2 and table.shape[0] == knots.size and table.shape[1] >= 1
    shaped = shaped and n_arms in (None, table.shape[1])
    require(shaped, "means", f"{rows}, each of {width}", f"shape {table.shape}", ModelError)
    missing = np.argwhere(~np.isfinite(table))
    if missing.size:
        row, arm = missing[0]
        raise ModelError(f"means[{row}][{arm}] must be finite, got {table[row, arm]}")
    if monotone:
        _check_monotone(knots, table)
    return knots, table


def _check_monotone(knots: FloatArray, table: FloatArray) -> None:
    steps = np.diff(table, axis=0)
    direction = np.sign(table[-1] - table[0])
    wrong = np.argwhere((steps * direction <= 0.0).T)
    if wrong.size:
        arm, row = wrong[0]
        raise ModelError(
            f"means[{row + 1}][{arm}] must go on {'rising' if direction[arm] > 0 else 'falling'}"
            f" as the column does, or monotone be False, got {table[row, arm]:g} at "
            f"theta = {knots[row]:g} and {table[row + 1, arm]:g} at {knots[row + 1]:g}"
        )


# The user's functions.
#
# A mean may broadcast over parameters and arms (fast for ten thousand arms), be vectorised over
# the parameter alone, or take one number at a time. `ArmFunctions` finds out which, once, by
# comparing a few values with those of single calls.

Function = Callable[..., Any]

_N_PROBES = 7
_N_PROBED_ARMS = 16


class ArmFunctions:
    """One function of a number per arm, evaluated elementwise.

    Args:
        functions: One function of a single number for each arm.
        probes: A few arguments at which every function is defined, one row per arm.
        arms: The user-facing values of the arms, for messages.
        joint: A function of (argument, arm value) that may broadcast over arrays of both.
        what: The name of the function in messages: "mean", "value" or "inverse".
        table: The same functions as a table of means.
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
        over_cells = getattr(joint, "over_cells", None)
        if over_cells is not None:
            # Cells of contexts are pairs. Arrays of them are given by their places.
            joint, self._values = over_cells, np.arange(len(arms), dtype=float)
        elif joint is not None and all(type(arm) in (int, float) for arm in arms):
            # An arm that is too large for a float uses its own function.
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
        """Whether one call with arrays of arguments and arms agrees with single calls."""
        if self._values.size == 0 or isinstance(joint, Expression):
            # A formula always broadcasts over numbers.
            return self._values.size > 0
        table = call_with_arrays(joint, probes.shape, probes, self._values[:, np.newaxis])
        if table is None:
            return False
        n_arms = len(functions)
        sample = np.unique(np.linspace(0, n_arms - 1, min(n_arms, _N_PROBED_ARMS)).astype(int))
        single = [_call_singly(functions[arm], probes[arm], names[arm]) for arm in sample]
        return bool(np.allclose(table[sample], single, rtol=1e-12, atol=0.0, equal_nan=True))

    def __call__(self, arms: IntArray, arguments: FloatArray) -> FloatArray:
        """Return the values of the arms at the arguments, broadcast together."""
        if self._table is not None:
            return self._table(arms, arguments)
        shape = np.broadcast(arms, arguments).shape
        if isinstance(self._joint, Expression):
            return self._joint(arguments, self._values[arms])
        if self._joint is not None:
            values = call_with_arrays(self._joint, shape, arguments, self._values[arms])
            if values is not None:
                return values
        flat_arms = np.broadcast_to(arms, shape).ravel()
        flat_arguments = np.broadcast_to(arguments, shape).ravel()
        out = np.empty(flat_arms.size)
        if out.size == 0:
            # np.split of an empty array gives one piece, not none.
            return out.reshape(shape)
        order = np.argsort(flat_arms, kind="stable")
        present, starts = np.unique(flat_arms[order], return_index=True)
        for arm, places in zip(present, np.split(order, starts[1:]), strict=True):
            out[places] = self._functions[arm](flat_arguments[places])
        return out.reshape(shape)


class PerArm(NamedTuple):
    """The user's functions: one per arm, or one function of (argument, arm value) for all arms."""

    functions: tuple[Function, ...] = ()
    joint: Function | None = None
    # The table that the functions come from, if there is one.
    table: TableCurves | None = None

    def bind(
        self,
        arms: tuple[Any, ...],
        what: str,
        low: float | FloatArray,
        high: float | FloatArray,
    ) -> ArmFunctions:
        """Return the elementwise function of the arms, probed between ``low`` and ``high``."""
        functions = self.functions
        if self.joint is not None:
            functions = tuple(partial(_swap, self.joint, arm) for arm in arms)
        probes = probe_points(*(np.broadcast_to(end, len(arms)) for end in (low, high)))
        return ArmFunctions(functions, probes, arms, self.joint, what, self.table)

    def unseen_width(self, arms: tuple[Any, ...], domain: tuple[float, float]) -> float:
        """Return the width of the widest interval of theta on which an arm is not proved monotone.

        Formulas and tables can be proved monotone. For a Python function the width is infinite.
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
    """Return a function unchanged, and a string as a formula."""
    if isinstance(function, str):
        return Expression(function, names, what)
    rule = f"be a function of ({', '.join(names)}), or a text with a formula"
    require(callable(function), what, rule, function, ModelError)
    return cast(Function, function)


def as_functions(
    what: str, functions: Any, argument: str, n_arms: int | None = None
) -> tuple[Function, ...]:
    """Return one function per arm, as a tuple; strings become formulas."""
    rule = "be a list of functions, one per arm" if n_arms is None else f"have {n_arms} functions"
    listed = tuple(as_list(what, functions, rule, ModelError))
    if n_arms is not None:
        require(len(listed) == n_arms, what, rule, len(listed), ModelError)
    return tuple(
        as_function(f"{what}[{position}]", function, (argument,))
        for position, function in enumerate(listed)
    )


def as_value(value: Function | str | None) -> PerArm | None:
    """Return the value as one function of the mean and the arm."""
    return None if value is None else PerArm(joint=as_function("value", value, ("mean", "arm")))


def as_worth(
    value: Function | str | None, values: Sequence[Function | str] | None, n_arms: int
) -> PerArm | None:
    """Return the value from one function for all arms or one function per arm, but not both."""
    if values is None:
        return as_value(value)
    require(value is None, "values", "not be given together with value", value, ModelError)
    return PerArm(as_functions("values", values, "mean", n_arms))


def _swap(function: Function, arm: Any, argument: Any) -> Any:
    """Call ``function(argument, arm)``. The arm comes first so that `partial` can bind it."""
    return function(argument, arm)


def _call_singly(function: Function, arguments: FloatArray, name: str) -> FloatArray:
    """Call a function with one number at a time."""
    out = np.empty(arguments.size)
    with np.errstate(all="ignore"):
        for index, argument in enumerate(arguments.tolist()):
            try:
                found = function(argument)
            except ArithmeticError:
                # For example 1/0. The checks report a value that is not finite, with its place.
                found = np.nan
            except Exception as error:
                raise ModelError(
                    f"{name} must return a number, but raised {error!r} at {argument:.6g}"
                ) from error
            out[index] = _as_number(found, argument, name)
    return out


def _as_number(found: Any, argument: float, name: str) -> float:
    """Return the result of a function as a float; an error unless it is one number."""
    try:
        array = np.asarray(found, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if found is None or array.size != 1:
        raise ModelError(f"{name} must return a number, got {found!r} at {argument:.6g}")
    return float(array.item())


def call_with_arrays(
    function: Function, shape: tuple[int, ...], *arguments: Any
) -> FloatArray | None:
    """Call a function with arrays; return None if it raises or returns another shape.

    After a failure the function is called with single numbers, which locates the error.
    """
    try:
        with np.errstate(all="ignore"):
            found = function(*arguments)
            # Copy the array, because the user's function may change its own later.
            values = np.array(found, dtype=float)
    except Exception:
        return None
    return None if found is None or values.shape != shape else values


def _call_at_once(function: Function, arguments: FloatArray, name: str) -> FloatArray:
    """Call a function with an array, or with single numbers if that fails."""
    values = call_with_arrays(function, arguments.shape, arguments)
    return _call_singly(function, arguments, name) if values is None else values


def _as_vectorised(function: Function, probes: FloatArray, name: str) -> Function:
    """Return the function if it maps arrays elementwise, else a loop over it."""
    one_at_a_time = partial(_call_singly, function, name=name)
    expected = one_at_a_time(probes)
    values = call_with_arrays(function, probes.shape, probes)
    if values is None or not np.allclose(values, expected, rtol=1e-12, atol=0.0, equal_nan=True):
        return one_at_a_time
    return partial(_call_at_once, function, name=name)


def probe_points(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return arguments inside (low, high) to probe functions at, shape (n_arms, n_probes)."""
    fractions = (np.arange(_N_PROBES) + 0.5) / _N_PROBES
    return np.asarray(low[:, np.newaxis] + fractions * (high - low)[:, np.newaxis])


def verify_inverse(
    inverse: ArmFunctions,
    observed: ArmFunctions,
    arms: tuple[Any, ...],
    domain: tuple[float, float],
    reward_range: tuple[float, float],
) -> None:
    """Raise a ModelError unless the inverse undoes the mean, up to rounding."""
    low, high = domain
    thetas = np.broadcast_to(np.linspace(low, high, 65), (len(arms), 65))
    every = np.arange(len(arms))[:, None]
    means = observed(every, thetas)
    found = inverse(every, means)
    back = observed(every, np.clip(found, low, high))
    scale = reward_range[1] - reward_range[0]
    length = high - low
    near = np.abs(found - thetas) <= 1e-9 * length
    # Where a curve is nearly flat, rounding of the mean moves the parameter, at the ends of the
    # domain also beyond them.
    inside = (found >= low - 1e-4 * length) & (found <= high + 1e-4 * length)
    wrong = ~(near | (inside & (np.abs(back - means) <= 1e-14 * scale)))
    if wrong.any():
        arm, column = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        raise ModelError(
            f"inverse of arm {arms[arm]!r} must undo its mean, "
            f"got {found[arm, column]:.6g} for the mean {means[arm, column]:.6g} "
            f"at theta = {thetas[arm, column]:.6g}"
        )
