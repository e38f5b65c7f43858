"""A formula as a function: what models take in place of Python code."""

from collections.abc import Mapping
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
    """A formula of one or two numbers, evaluated elementwise over arrays.

    Arithmetic with ``+ - * / **``, and exp, expm1, exprel, log, log1p, sqrt, abs, tanh, expit
    (logistic), min and max. The text is checked and never executed as code.

    Args:
        text: The formula.
        names: The variables it may use, in the order of the call's arguments.
        what: What messages call it.
        constants: Further names that the text may use, with their values.

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
        """The value; arrays broadcast together."""
        arrays = {}
        for name, used, number in zip(self.names, self._used, numbers, strict=True):
            if used:
                arrays[name] = np.asarray(number, dtype=float)
            elif isinstance(number, np.ndarray):  # only its shape matters
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
        """Refuse arms that are not numbers if the formula computes with them."""
        if "arm" not in self.names or not self._tape.uses("arm"):
            return
        for arm in arms:
            if not isinstance(arm, (int, float)) or isinstance(arm, bool):
                rule = f"be numbers where the formula of the {self._what} uses arm"
                require(False, "arms", rule, arm, ModelError)

    def unseen_width(self, arms: tuple[Any, ...], domain: tuple[float, float]) -> float:
        """The widest interval of theta on which the formula is not proved monotone."""
        return undecided_width(self._tape, self.slope, arms, domain)

    def _key(self) -> tuple[Any, ...]:
        return self.text, self.names, tuple(sorted(self.constants.items()))

    def __eq__(self, other: object) -> bool:
        """Same text, names and constants."""
        return self._key() == other._key() if isinstance(other, Expression) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return Expression, (self.text, self.names, self._what, self.constants)

    def __repr__(self) -> str:
        constants = f", constants={self.constants!r}" if self.constants else ""
        return f"Expression({self.text!r}{constants})"
