"""Expressions: formulas that users write as text, and their derivatives."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits._validation import require
from globalbandits.errors import ModelError
from globalbandits.model.formulas.evaluation import Builder, Tape
from globalbandits.model.formulas.parser import read
from globalbandits.model.formulas.proof import undecided_width


class Expression:
    """A formula of one or more variables, evaluated elementwise over arrays.

    A formula may use ``+ - * / **`` and the functions exp, expm1, exprel, log, log1p, sqrt, abs,
    tanh, expit (logistic), min and max. The text is parsed and never executed as code.

    Args:
        text: The formula.
        names: The variables that the formula may use, in the order of the call's arguments.
        what: The name of the formula in messages.
        constants: Constants that the formula may use, by name.

    >>> Expression("arm * exp(-theta)")(0.0, [1.0, 2.0])
    array([1., 2.])
    >>> Expression("arm**power", constants={"power": 2.0})(0.0, [1.0, 3.0])
    array([1., 9.])
    >>> Expression("arm * exp(-theta")
    Traceback (most recent call last):
        ...
    globalbandits.errors.ModelError: mean must be a formula such as arm * exp(-theta),
    got '(-theta' at character 10 of 'arm * exp(-theta'
    """

    def __init__(
        self,
        text: str,
        names: tuple[str, ...] = ("theta", "arm"),
        what: str = "mean",
        constants: Mapping[str, float] | None = None,
    ) -> None:
        self.text = text
        self.names = names
        self.constants = dict(constants or {})
        self._what = what
        self._tape = read(text, names, what, self.constants)
        self._used = tuple(self._tape.uses(name) for name in names)

    def __call__(self, *numbers: Any) -> FloatArray:
        """Return the value; arrays are broadcast together."""
        arrays = {}
        for name, used, number in zip(self.names, self._used, numbers, strict=True):
            if used:
                arrays[name] = np.asarray(number, dtype=float)
            elif isinstance(number, np.ndarray):
                # An unused variable only determines the shape of the result.
                arrays[name] = np.broadcast_to(0.0, number.shape)
        return self._tape.run(arrays)

    @property
    def n_steps(self) -> int:
        """The number of distinct numbers, names, signs and functions in the formula."""
        return len(self._tape.steps)

    def uses(self, name: str) -> bool:
        """Whether the formula depends on a name."""
        return self._tape.uses(name)

    @cached_property
    def slope(self) -> Tape:
        """The derivative with respect to the first variable."""
        return derivative(self._tape, self.names[0])

    def check_arms(self, arms: tuple[Any, ...]) -> None:
        """Raise an error if the formula uses the arms and they are not numbers."""
        if "arm" not in self.names or not self._tape.uses("arm"):
            return
        for arm in arms:
            if not isinstance(arm, (int, float)) or isinstance(arm, bool):
                rule = f"be numbers where the formula of the {self._what} uses arm"
                require(False, "arms", rule, arm, ModelError)

    def unseen_width(self, arms: tuple[Any, ...], domain: tuple[float, float]) -> float:
        """Return the width of the widest interval on which the formula is not proved monotone."""
        return undecided_width(self._tape, self.slope, arms, domain)

    def _key(self) -> tuple[Any, ...]:
        return self.text, self.names, tuple(sorted(self.constants.items()))

    def __eq__(self, other: object) -> bool:
        """Whether text, names and constants are equal."""
        return self._key() == other._key() if isinstance(other, Expression) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return Expression, (self.text, self.names, self._what, self.constants)

    def __repr__(self) -> str:
        constants = f", constants={self.constants!r}" if self.constants else ""
        return f"Expression({self.text!r}{constants})"


# Symbolic differentiation.


def derivative(tape: Tape, name: str) -> Tape:
    """Return the derivative with respect to ``name``, exact except at kinks of abs, min and max.

    The derivative shares steps with the formula, so it is at most a few times as long.

    >>> import numpy as np
    >>> from globalbandits.model.formulas.parser import read
    >>> slope = derivative(read("arm * theta**3", ("theta", "arm"), "mean"), "theta")
    >>> slope.run({"theta": np.array(2.0), "arm": np.array(0.5)}).item()
    6.0
    """
    builder = _Simplifying(tape.steps)
    # None is a derivative of 0.
    slopes: list[int | None] = []
    for place, step in enumerate(tape.steps):
        parts = [(part, slopes[part]) for part in step.parts]
        if step.op == "name" and step.name == name:
            slopes.append(builder.constant(1.0))
        elif all(slope is None for _, slope in parts):
            slopes.append(None)
        else:
            slopes.append(_rule(builder, step.op, place, parts))
    last = slopes[-1]
    return builder.tape(builder.constant(0.0) if last is None else last)


class _Simplifying(Builder):
    """A builder whose sums and products leave out zeros (None) and ones."""

    def times(self, first: int | None, second: int | None) -> int | None:
        if first is None or second is None:
            return None
        one = self.constant(1.0)
        if first == one:
            return second
        return first if second == one else self.add("mul", first, second)

    def plus(self, first: int | None, second: int | None) -> int | None:
        if first is None or second is None:
            return first if second is None else second
        return self.add("add", first, second)

    def minus(self, first: int | None, second: int | None) -> int | None:
        if second is None:
            return first
        return self.add("neg", second) if first is None else self.add("sub", first, second)

    def over(self, first: int | None, second: int) -> int | None:
        return None if first is None else self.add("div", first, second)


def _rule(b: _Simplifying, op: str, place: int, parts: list[tuple[int, int | None]]) -> int | None:
    """Return the derivative of one step from its parts (place, derivative)."""
    x, dx = parts[0]
    if len(parts) == 1:
        return b.times(_outer(b, op, place, x), dx)
    y, dy = parts[1]
    match op:
        case "add":
            return b.plus(dx, dy)
        case "sub":
            return b.minus(dx, dy)
        case "mul":
            return b.plus(b.times(dx, y), b.times(x, dy))
        case "div":
            return b.over(b.minus(dx, b.times(place, dy)), y)
        case "pow":
            power = b.known(y)
            less = b.add("sub", y, b.constant(1.0)) if power is None else b.constant(power - 1.0)
            below = b.add("pow", x, less)
            of_base = b.times(b.times(y, below), dx)
            return b.plus(of_base, b.times(b.add("mul", place, b.add("log", x)), dy))
        case _:  # min and max
            zero = b.constant(0.0)
            first, second = zero if dx is None else dx, zero if dy is None else dy
            order = (x, y) if op == "min" else (y, x)
            return b.add("choose", *order, first, second)


def _outer(b: _Simplifying, op: str, place: int, x: int) -> int:
    """Return the derivative of a function of one number at ``x``; ``place`` is its value."""
    one = b.constant(1.0)
    match op:
        case "neg":
            return b.constant(-1.0)
        case "exp":
            return place
        case "expm1":
            return b.add("exp", x)
        case "log":
            return b.add("div", one, x)
        case "log1p":
            return b.add("div", one, b.add("add", one, x))
        case "sqrt":
            return b.add("div", b.constant(0.5), place)
        case "abs":
            return b.add("sign", x)
        case "tanh" | "expit" | "exprel":
            return b.add(f"{op}_slope", x)
    raise AssertionError(op)
