"""The derivative of a formula by one of its names, as a formula again."""

from globalbandits.model.expressions.tape import Builder, Tape


def derivative(tape: Tape, name: str) -> Tape:
    """The derivative by ``name``, exact except at the kinks of abs, min and max.

    It shares steps with the formula, so it is at most a few times as long.

    >>> import numpy as np
    >>> from globalbandits.model.expressions.reading import read
    >>> slope = derivative(read("arm * theta**3", ("theta", "arm"), "mean"), "theta")
    >>> slope.run({"theta": np.array(2.0), "arm": np.array(0.5)}).item()
    6.0
    """
    builder = _Simplifying(tape.steps)
    slopes: list[int | None] = []  # None: 0
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
    """Products and sums that leave out zeros (None) and ones."""

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
    """The derivative of one step, from its parts (place, derivative)."""
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
    """The derivative of a function of one number, at ``x``; ``place`` is its value."""
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
