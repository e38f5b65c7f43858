"""A formula as a function: what models take in the place of Python code."""

from functools import cached_property
from typing import Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits._validation import require
from globalbandits.errors import ModelError
from globalbandits.model.expressions.derivative import derivative
from globalbandits.model.expressions.proof import undecided_width
from globalbandits.model.expressions.reading import read
from globalbandits.model.expressions.tape import Tape


class Expression:
    """A formula of one or two numbers, elementwise over arrays of them.

    Arithmetic with ``+ - * / **``, and exp, expm1, log, log1p, sqrt, abs, tanh, expit (logistic),
    min and max. The text is checked, and never executed as code.

    Args:
        text: The formula.
        names: What it may use, in the order of the call's arguments.
        what: What messages call it.

    >>> Expression("arm * exp(-theta)")(0.0, [1.0, 2.0])
    array([1., 2.])
    >>> Expression("arm * exp(-theta")
    Traceback (most recent call last):
        ...
    globalbandits.errors.ModelError: mean must be a formula such as arm * exp(-theta),
    got '(-theta' at character 10 of 'arm * exp(-theta'
    """

    def __init__(
        self, text: str, names: tuple[str, ...] = ("theta", "arm"), what: str = "mean"
    ) -> None:
        self.text = text
        self.names = names
        self._what = what
        self._tape = read(text, names, what)

    def __call__(self, *numbers: Any) -> FloatArray:
        """The value; arrays broadcast together."""
        arrays = {}
        for name, number in zip(self.names, numbers, strict=True):
            if self._tape.uses(name):
                arrays[name] = np.asarray(number, dtype=float)
            elif isinstance(number, np.ndarray):  # it counts for the shape alone
                arrays[name] = np.broadcast_to(0.0, number.shape)
        return self._tape.run(arrays)

    @property
    def n_steps(self) -> int:
        """How many numbers, names, signs and functions it has."""
        return len(self._tape.steps)

    @cached_property
    def slope(self) -> Tape:
        """The derivative by the first name."""
        return derivative(self._tape, self.names[0])

    def check_arms(self, arms: tuple[Any, ...]) -> None:
        """Refuse arms that are no numbers where the formula computes with them."""
        if "arm" in self.names and self._tape.uses("arm"):
            for arm in arms:
                number = isinstance(arm, (int, float)) and not isinstance(arm, bool)
                rule = f"be numbers where the formula of the {self._what} uses arm"
                require(number, "arms", rule, arm, ModelError)

    def unseen_width(self, arms: tuple[Any, ...], domain: tuple[float, float]) -> float:
        """How wide a stretch of theta may be on which the formula is not proved monotone."""
        return undecided_width(self._tape, self.slope, arms, domain)

    def __eq__(self, other: object) -> bool:
        """Same text, same names."""
        if not isinstance(other, Expression):
            return NotImplemented
        return (self.text, self.names) == (other.text, other.names)

    def __hash__(self) -> int:
        return hash((self.text, self.names))

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return Expression, (self.text, self.names, self._what)

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"
