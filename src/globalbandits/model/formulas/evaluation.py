"""Tapes: a formula as a flat list of steps, and its evaluation over arrays."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray

# Numbers evaluated at a time, which bounds the memory of long formulas.
_BLOCK_SIZE = 65_536


class Function(NamedTuple):
    """A function in formulas: its operation, and whether it takes several numbers."""

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
    """Return (exp(x) - 1) / x, and its limit 1 at 0."""
    return np.where(x == 0.0, 1.0, np.expm1(x) / x)


def _exprel_slope(x: Any) -> Any:
    """Return the derivative of exprel, which is positive and increasing."""
    near = np.clip(x, -1.0, 1.0)
    # Near 0 the closed form loses digits by cancellation. The series is the sum of
    # x**k / (k! * (k + 2)).
    series = np.zeros_like(near)
    for coefficient in _EXPREL_SLOPE_SERIES:
        series = series * near + coefficient
    far = np.where(np.abs(x) <= 1.0, 1.0, x)
    return np.where(np.abs(x) <= 1.0, series, (np.exp(far) * (far - 1.0) + 1.0) / far**2)


def _expit(x: Any) -> Any:
    """Return 1 / (1 + exp(-x)), accurate for both signs of x."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0.0, 1.0, small) / (1.0 + small)


def _expit_slope(x: Any) -> Any:
    """Return the derivative of expit, which is positive and largest at 0."""
    small = np.exp(-np.abs(x))
    return small / (1.0 + small) ** 2


def _tanh_slope(x: Any) -> Any:
    """Return the derivative of tanh, which is positive and largest at 0."""
    return 4.0 * _expit_slope(2.0 * x)


def _choose(first: Any, second: Any, at_first: Any, at_second: Any) -> Any:
    """Return ``at_first`` where first <= second, else ``at_second``."""
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
    # Only in derivatives.
    "sign": np.sign,
    "tanh_slope": _tanh_slope,
    "expit_slope": _expit_slope,
    "exprel_slope": _exprel_slope,
    "choose": _choose,
}

_EXPREL_SLOPE_SERIES = [1.0 / (math.factorial(k) * (k + 2)) for k in range(18, -1, -1)]

# Operations that are not smooth everywhere.
KINKED = frozenset({"abs", "min", "max", "sign", "choose"})


class Step(NamedTuple):
    """A step of a tape: a number, a name, or an operation on earlier steps."""

    op: str
    parts: tuple[int, ...] = ()
    number: float = 0.0
    name: str = ""


@dataclass(frozen=True)
class Tape:
    """The steps of a formula. The last step is the value of the formula."""

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
    def _plan(self) -> "_Plan":
        """The steps as calls that read and write slots; constant parts are already computed."""
        names: dict[str, int] = {}
        calls: list[_Call] = []
        slots: list[Any] = []
        # Slots whose results no later step needs.
        free: list[int] = []
        slot_of: list[int] = []
        last_use = {part: place for place, step in enumerate(self.steps) for part in step.parts}
        for place, step in enumerate(self.steps):
            inputs = tuple(slot_of[part] for part in step.parts)
            known = None
            if step.op == "number":
                known = np.float64(step.number)
            elif step.op != "name" and all(slots[slot] is not None for slot in inputs):
                known = OPERATIONS[step.op](*(slots[slot] for slot in inputs))
            done = {
                slot_of[part]
                for part in step.parts
                if last_use[part] == place and self.steps[part].op != "name"
            }
            free.extend(slot for slot in done if slots[slot] is None)
            if known is None and step.op != "name" and free:
                slot_of.append(free.pop())
            else:
                slot_of.append(len(slots))
                slots.append(known)
            if step.op == "name":
                names[step.name] = slot_of[-1]
            elif known is None:
                calls.append(_Call(OPERATIONS[step.op], inputs, slot_of[-1]))
        return _Plan(tuple(slots), tuple(names.items()), tuple(calls), slot_of[-1])

    def run(self, numbers: Mapping[str, FloatArray]) -> FloatArray:
        """Evaluate the formula elementwise over arrays that broadcast together."""
        shape = np.broadcast(*numbers.values()).shape if numbers else ()
        with np.errstate(all="ignore"):
            if math.prod(shape) <= _BLOCK_SIZE:
                found = np.asarray(self._walk(numbers), dtype=float)
                if self._plan.calls and found.shape == shape:
                    return found
                # A formula that is a single name must not return the caller's array.
                return np.broadcast_to(found, shape).copy()
            out = np.empty(shape)
            self._fill(out, numbers)
        return out

    def _fill(self, out: FloatArray, numbers: Mapping[str, FloatArray]) -> None:
        """Write the values into ``out``, block by block."""
        if out.size <= _BLOCK_SIZE:
            out[...] = self._walk(numbers)
            return
        # The arrays are not broadcast here, so that a part of the formula with one variable is
        # computed once per block.
        whole = {
            name: array.reshape((1,) * (out.ndim - array.ndim) + array.shape)
            for name, array in numbers.items()
        }
        if len(out) == 1:
            self._fill(out[0], {name: array[0] for name, array in whole.items()})
            return
        n_rows = max(1, _BLOCK_SIZE * len(out) // out.size)
        for start in range(0, len(out), n_rows):
            rows = slice(start, start + n_rows)
            self._fill(
                out[rows],
                {name: a[rows] if len(a) > 1 else a for name, a in whole.items()},
            )

    def _walk(self, numbers: Mapping[str, FloatArray]) -> Any:
        plan = self._plan
        values = list(plan.slots)
        for name, slot in plan.names:
            values[slot] = numbers[name]
        for function, inputs, slot in plan.calls:
            if len(inputs) == 2:
                values[slot] = function(values[inputs[0]], values[inputs[1]])
            elif len(inputs) == 1:
                values[slot] = function(values[inputs[0]])
            else:
                values[slot] = function(*(values[place] for place in inputs))
        return values[plan.last]


class _Call(NamedTuple):
    """An operation with the slots that it reads and the slot that it writes."""

    function: Callable[..., Any]
    inputs: tuple[int, ...]
    slot: int


class _Plan(NamedTuple):
    """A tape ready to be evaluated."""

    # Constants; None for slots of variables and results.
    slots: tuple[Any, ...]
    names: tuple[tuple[str, int], ...]
    calls: tuple[_Call, ...]
    # The slot of the formula's value.
    last: int


class Builder:
    """Collects the steps of a tape. Equal steps are stored once."""

    def __init__(self, steps: tuple[Step, ...] = ()) -> None:
        self._steps = list(steps)
        self._places = {step: place for place, step in enumerate(steps)}

    def constant(self, number: float) -> int:
        """Return the place of a number."""
        return self._place(Step("number", number=number))

    def name(self, name: str) -> int:
        """Return the place of a name's value."""
        return self._place(Step("name", name=name))

    def add(self, op: str, *parts: int) -> int:
        """Return the place of an operation on earlier places."""
        return self._place(Step(op, parts))

    def known(self, place: int) -> float | None:
        """Return the number at a place if it is constant, else None."""
        used = self.tape(place)
        return float(used.run({})) if used.constant else None

    def tape(self, last: int | None = None) -> Tape:
        """Return the tape of the step at ``last``, by default the newest step."""
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

    def append(self, tape: Tape) -> int:
        """Add a whole formula and return the place of its value."""
        places: list[int] = []
        for step in tape.steps:
            parts = tuple(places[part] for part in step.parts)
            places.append(self._place(step._replace(parts=parts)))
        return places[-1]

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps so far."""
        return tuple(self._steps)

    def _place(self, step: Step) -> int:
        if step not in self._places:
            self._places[step] = len(self._steps)
            self._steps.append(step)
        return self._places[step]
