"""A formula as a list of steps: flat data, evaluated without recursion."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray

_BLOCK = 65_536  # numbers worked on at a time: bounds the memory of long formulas


class Function(NamedTuple):
    """A function formulas may call: its step, and whether it takes several numbers."""

    op: str
    several: bool = False


FUNCTIONS: dict[str, Function] = {
    "exp": Function("exp"),
    "expm1": Function("expm1"),
    "exprel": Function("exprel"),
    "log": Function("log"),
    "log1p": Function("log1p"),
    "sqrt": Function("sqrt"),
    "abs": Function("abs"),
    "tanh": Function("tanh"),
    "expit": Function("expit"),
    "logistic": Function("expit"),
    "min": Function("min", several=True),
    "max": Function("max", several=True),
}


def _exprel(x: Any) -> Any:
    """(exp(x) - 1) / x, and its limit 1 at 0."""
    zero = x == 0.0
    return np.where(zero, 1.0, np.expm1(x) / np.where(zero, 1.0, x))


def _exprel_slope(x: Any) -> Any:
    """The derivative of exprel: positive and rising."""
    near = np.clip(x, -1.0, 1.0)
    # The closed form cancels near 0. The series there is the sum of x**k / (k! * (k + 2)).
    series = np.zeros_like(near)
    for coefficient in _EXPREL_SLOPE_SERIES:
        series = series * near + coefficient
    far = np.where(np.abs(x) <= 1.0, 1.0, x)
    return np.where(np.abs(x) <= 1.0, series, (np.exp(far) * (far - 1.0) + 1.0) / far**2)


def _expit(x: Any) -> Any:
    """1 / (1 + exp(-x)), to the last digits on both sides."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0.0, 1.0, small) / (1.0 + small)


def _expit_slope(x: Any) -> Any:
    """The derivative of expit: positive, and falling on both sides of 0."""
    small = np.exp(-np.abs(x))
    return small / (1.0 + small) ** 2


def _tanh_slope(x: Any) -> Any:
    """The derivative of tanh: positive, and falling on both sides of 0."""
    return 4.0 * _expit_slope(2.0 * x)


def _choose(first: Any, second: Any, at_first: Any, at_second: Any) -> Any:
    """``at_first`` where first <= second, else ``at_second``."""
    return np.where(first <= second, at_first, at_second)


OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "pow": np.power,
    "neg": np.negative,
    "exp": np.exp,
    "expm1": np.expm1,
    "exprel": _exprel,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "tanh": np.tanh,
    "expit": _expit,
    "min": np.minimum,
    "max": np.maximum,
    # Of derivatives only.
    "sign": np.sign,
    "tanh_slope": _tanh_slope,
    "expit_slope": _expit_slope,
    "exprel_slope": _exprel_slope,
    "choose": _choose,
}

_EXPREL_SLOPE_SERIES = [1.0 / (math.factorial(k) * (k + 2)) for k in range(18, -1, -1)]

KINKED = frozenset({"abs", "min", "max", "sign", "choose"})  # not smooth everywhere


class Step(NamedTuple):
    """One step: a number, a name, or an operation on earlier steps."""

    op: str
    parts: tuple[int, ...] = ()
    number: float = 0.0
    name: str = ""


@dataclass(frozen=True)
class Tape:
    """Steps, the last of which is the formula's value."""

    steps: tuple[Step, ...]

    def uses(self, name: str) -> bool:
        """Whether the formula depends on a name."""
        return any(step.op == "name" and step.name == name for step in self.steps)

    @property
    def constant(self) -> bool:
        """Whether the formula depends on no name."""
        return all(step.op != "name" for step in self.steps)

    @property
    def smooth(self) -> bool:
        """Whether all operations are smooth."""
        return not any(step.op in KINKED for step in self.steps)

    @cached_property
    def _last_uses(self) -> tuple[tuple[int, ...], ...]:
        """For each step the earlier ones nobody asks for afterwards."""
        last: dict[int, int] = {}
        for place, step in enumerate(self.steps):
            last.update(dict.fromkeys(step.parts, place))
        done: list[list[int]] = [[] for _ in self.steps]
        for part, place in last.items():
            done[place].append(part)
        return tuple(tuple(parts) for parts in done)

    def run(self, numbers: Mapping[str, FloatArray]) -> FloatArray:
        """The value, elementwise over arrays that broadcast together."""
        shape = np.broadcast_shapes(*(np.shape(array) for array in numbers.values()))
        size = int(np.prod(shape))
        with np.errstate(all="ignore"):
            if size <= _BLOCK:
                found = np.asarray(self._walk(numbers), dtype=float)
                return found if found.shape == shape else np.broadcast_to(found, shape).copy()
            flat = {name: np.broadcast_to(a, shape).ravel() for name, a in numbers.items()}
            out = np.empty(size)
            for start in range(0, size, _BLOCK):
                part = slice(start, start + _BLOCK)
                out[part] = self._walk({name: array[part] for name, array in flat.items()})
        return out.reshape(shape)

    def _walk(self, numbers: Mapping[str, FloatArray]) -> Any:
        values: list[Any] = [None] * len(self.steps)
        for place, step in enumerate(self.steps):
            if step.op == "number":
                values[place] = np.float64(step.number)
            elif step.op == "name":
                values[place] = numbers[step.name]
            else:
                values[place] = OPERATIONS[step.op](*(values[part] for part in step.parts))
            for part in self._last_uses[place]:
                values[part] = None
        return values[-1]


class Builder:
    """Steps in the making; the same step is made once."""

    def __init__(self, steps: tuple[Step, ...] = ()) -> None:
        self._steps = list(steps)
        self._places = {step: place for place, step in enumerate(steps)}

    def constant(self, number: float) -> int:
        """The place of a number."""
        return self._place(Step("number", number=number))

    def name(self, name: str) -> int:
        """The place of a name's value."""
        return self._place(Step("name", name=name))

    def add(self, op: str, *parts: int) -> int:
        """The place of an operation on earlier places."""
        return self._place(Step(op, parts))

    def known(self, place: int) -> float | None:
        """The number at a place, if it depends on nothing."""
        used = self.tape(place)
        return float(used.run({})) if used.constant else None

    def tape(self, last: int | None = None) -> Tape:
        """The steps that the one at ``last`` needs, by default the newest."""
        last = len(self._steps) - 1 if last is None else last
        needed = {last}
        for place in range(last, -1, -1):
            if place in needed:
                needed.update(self._steps[place].parts)
        order = sorted(needed)
        renamed = {place: index for index, place in enumerate(order)}
        return Tape(
            tuple(
                self._steps[place]._replace(
                    parts=tuple(renamed[part] for part in self._steps[place].parts)
                )
                for place in order
            )
        )

    def _place(self, step: Step) -> int:
        if step not in self._places:
            self._places[step] = len(self._steps)
            self._steps.append(step)
        return self._places[step]
