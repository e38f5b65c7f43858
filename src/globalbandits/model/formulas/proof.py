"""Proofs that a formula is monotone, by interval arithmetic on its derivative.

`undecided_width` encloses the derivative on cells of the domain and halves the cells until the
derivative has one sign on each of them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.errors import ModelError
from globalbandits.model.formulas.evaluation import OPERATIONS, Builder, Step, Tape

# Interval arithmetic with outward rounding.
#
# Each number is a pair (low, high) of arrays that encloses the true value. An operation that is
# undefined on a part of its interval returns (-inf, inf), and so does everything computed from it.

Pair = tuple[FloatArray, FloatArray]

# The largest error of NumPy's exp, log, ... in units in the last place.
_ULPS = 4.0


def enclose_steps(
    steps: Sequence[Step], numbers: Mapping[str, Pair], places: Sequence[int]
) -> list[Pair]:
    """Return pairs that enclose several steps where the variables lie in their pairs.

    All are unknown where any step is unknown.

    >>> from globalbandits.model.formulas.parser import read
    >>> steps = read("1 - x**2", ("x",), "mean").steps
    >>> ends = {"x": (np.array(0.5), np.array(2.0))}
    >>> low, high = enclose_steps(steps, ends, [len(steps) - 1])[0]
    >>> float(low.round(9)), float(high.round(9))
    (-3.0, 0.75)
    """
    values: list[Pair] = []
    unknown = np.array(False)
    with np.errstate(all="ignore"):
        for step in steps:
            if step.op == "number":
                number = np.array(step.number)
                values.append((number, number))
            elif step.op == "name":
                values.append(numbers[step.name])
            else:
                found = _sure(_RULES[step.op](*(values[part] for part in step.parts)))
                unknown = unknown | (np.isneginf(found[0]) & np.isposinf(found[1]))
                values.append(found)
    return [
        (np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high))
        for low, high in (values[place] for place in places)
    ]


def _sure(pair: Pair) -> Pair:
    """Return the pair, or (-inf, inf) where low <= high does not hold."""
    low, high = pair
    wrong = ~(low <= high)
    return np.where(wrong, -np.inf, low), np.where(wrong, np.inf, high)


def _wider(low: Any, high: Any, ulps: float = 1.0) -> Pair:
    down, up = low - ulps * np.spacing(np.abs(low)), high + ulps * np.spacing(np.abs(high))
    return np.where(np.isfinite(low), down, low), np.where(np.isfinite(high), up, high)


def _add(x: Pair, y: Pair) -> Pair:
    low, high = x[0] + y[0], x[1] + y[1]
    down, up = _wider(low, high)
    # A sum that rounds to 0 is exactly 0, and adding 0 is exact.
    low_exact = (low == 0.0) | (x[0] == 0.0) | (y[0] == 0.0)
    high_exact = (high == 0.0) | (x[1] == 0.0) | (y[1] == 0.0)
    return np.where(low_exact, low, down), np.where(high_exact, high, up)


def _neg(x: Pair) -> Pair:
    return -x[1], -x[0]


def _mul(x: Pair, y: Pair) -> Pair:
    low, high = np.array(np.inf), np.array(-np.inf)
    for a in _ends(x):
        for b in _ends(y):
            zero = (a == 0.0) | (b == 0.0)
            product = np.where(zero, 0.0, a * b)
            exact = zero | (np.abs(a) == 1.0) | (np.abs(b) == 1.0) | ~np.isfinite(product)
            error = np.where(exact, 0.0, np.spacing(np.abs(product)))
            low, high = np.minimum(low, product - error), np.maximum(high, product + error)
    return low, high


def _ends(x: Pair) -> Iterable[FloatArray]:
    """Return both ends, or the single end of a point."""
    return x[:1] if x[0] is x[1] else x


def _div(x: Pair, y: Pair) -> Pair:
    across = (y[0] < 0.0) & (y[1] > 0.0) | (y[0] == 0.0) & (y[1] == 0.0)
    # 1/y decreases in y. At an end that is 0 it is infinite, with the sign of the other end.
    low = np.where(y[1] == 0.0, -np.inf, 1.0 / y[1])
    high = np.where(y[0] == 0.0, np.inf, 1.0 / y[0])
    down, up = _wider(low, high)
    low = np.where(np.abs(y[1]) != 1.0, down, low)
    high = np.where(np.abs(y[0]) != 1.0, up, high)
    low = np.where(y[0] >= 0.0, np.maximum(low, 0.0), low)
    high = np.where(y[1] <= 0.0, np.minimum(high, 0.0), high)
    found = _mul(x, (low, high))
    return np.where(across, -np.inf, found[0]), np.where(across, np.inf, found[1])


def _pow(x: Pair, y: Pair) -> Pair:
    point = y[0] == y[1]
    whole = point & (y[0] == np.rint(y[0])) & (np.abs(y[0]) < 2.0**53)
    if not whole.any():
        return _real_power(x, y)
    even = whole & (np.fmod(y[0], 2.0) == 0.0)
    # Even powers depend on the absolute value, odd powers on the signed number.
    inside = (x[0] <= 0.0) & (x[1] >= 0.0)
    smallest = np.where(inside, 0.0, np.minimum(np.abs(x[0]), np.abs(x[1])))
    largest = np.maximum(np.abs(x[0]), np.abs(x[1]))
    base = np.where(even, smallest, x[0]), np.where(even, largest, x[1])
    ends = [np.power(base[0], y[0]), np.power(base[1], y[0])]
    down, up = _wider(np.minimum(*ends), np.maximum(*ends), _ULPS)
    same = y[0] == 1.0
    down, up = np.where(same, base[0], down), np.where(same, base[1], up)
    down = np.where(even | (base[0] >= 0.0), np.maximum(down, 0.0), down)
    up = np.where(~even & (base[1] <= 0.0), np.minimum(up, 0.0), up)
    pole = (y[0] < 0.0) & inside
    one = y[0] == 0.0
    down, up = np.where(pole, -np.inf, down), np.where(pole, np.inf, up)
    down, up = np.where(one, 1.0, down), np.where(one, 1.0, up)
    if whole.all():
        return down, up
    other = _real_power(x, y)
    return np.where(whole, down, other[0]), np.where(whole, up, other[1])


def _real_power(x: Pair, y: Pair) -> Pair:
    """Return exp(y log x), for x >= 0."""
    low, high = _exp(_mul(_log((np.maximum(x[0], 0.0), x[1])), y))
    return np.where(x[0] < 0.0, -np.inf, low), np.where(x[0] < 0.0, np.inf, high)


def _rising(
    op: str, floor: float = -np.inf, ceiling: float = np.inf, ulps: float = _ULPS
) -> Callable[[Pair], Pair]:
    """Return the rule of an increasing function with values between two numbers."""
    function = OPERATIONS[op]

    def rule(x: Pair) -> Pair:
        low, high = _wider(function(x[0]), function(x[1]), ulps)
        return np.maximum(low, floor), np.minimum(high, ceiling)

    return rule


def _defined_from(least: float, rule: Callable[[Pair], Pair]) -> Callable[[Pair], Pair]:
    """Return a rule for arguments >= ``least``."""

    def checked(x: Pair) -> Pair:
        low, high = rule((np.maximum(x[0], least), np.maximum(x[1], least)))
        return np.where(x[0] < least, -np.inf, low), np.where(x[0] < least, np.inf, high)

    return checked


def _abs(x: Pair) -> Pair:
    inside = (x[0] <= 0.0) & (x[1] >= 0.0)
    sizes = np.abs(x[0]), np.abs(x[1])
    return np.where(inside, 0.0, np.minimum(*sizes)), np.maximum(*sizes)


def _bell(op: str, top: float) -> Callable[[Pair], Pair]:
    """Return the rule of a positive, even function that decreases away from 0."""
    function = OPERATIONS[op]

    def rule(x: Pair) -> Pair:
        near, far = _abs(x)
        low, high = _wider(function(far), function(near), 4.0 * _ULPS)
        return np.maximum(low, 0.0), np.minimum(high, top)

    return rule


def _choose(first: Pair, second: Pair, at_first: Pair, at_second: Pair) -> Pair:
    surely_first, surely_second = first[1] <= second[0], first[0] > second[1]
    low = np.where(surely_second, at_second[0], np.minimum(at_first[0], at_second[0]))
    high = np.where(surely_second, at_second[1], np.maximum(at_first[1], at_second[1]))
    return np.where(surely_first, at_first[0], low), np.where(surely_first, at_first[1], high)


_exp = _rising("exp", floor=0.0)
_log = _defined_from(0.0, _rising("log"))

_RULES: dict[str, Callable[..., Pair]] = {
    "add": _add,
    "sub": lambda x, y: _add(x, _neg(y)),
    "mul": _mul,
    "div": _div,
    "pow": _pow,
    "neg": _neg,
    "exp": _exp,
    "expm1": _rising("expm1", floor=-1.0),
    "exprel": _rising("exprel", floor=0.0, ulps=2.0 * _ULPS),
    "log": _log,
    "log1p": _defined_from(-1.0, _rising("log1p")),
    "sqrt": _defined_from(0.0, _rising("sqrt", floor=0.0)),
    "abs": _abs,
    "tanh": _rising("tanh", -1.0, 1.0),
    "expit": _rising("expit", 0.0, 1.0),
    "min": lambda x, y: (np.minimum(x[0], y[0]), np.minimum(x[1], y[1])),
    "max": lambda x, y: (np.maximum(x[0], y[0]), np.maximum(x[1], y[1])),
    "sign": lambda x: (np.sign(x[0]), np.sign(x[1])),
    "tanh_slope": _bell("tanh_slope", 1.0),
    "expit_slope": _bell("expit_slope", 0.25),
    "exprel_slope": _rising("exprel_slope", floor=0.0, ulps=16.0 * _ULPS),
    "choose": _choose,
}


# Proofs of monotonicity.

# Cells of each arm at the start.
_N_CELLS = 16

_N_HALVINGS = 36

# Cells of all arms together in one round.
_MAX_CELLS = 100_000

# The width of the cells at the ends of the domain, in spacings of floats.
_TIP_FLOATS = 16


def undecided_width(
    mean: Tape, slope: Tape, arms: tuple[Any, ...], domain: tuple[float, float]
) -> float:
    """Return the width of the widest interval of theta on which an arm is not proved monotone.

    A cell is decided if the slope's enclosure has one sign on it and the mean's enclosure is
    finite. The mean matters because the slope can have the same sign on both sides of a pole.

    The result is 0 if all cells are decided and infinite if too many cells stay undecided. A slope
    that is proved positive at one point and negative at another is an error.
    """
    builder = Builder()
    places = [builder.append(slope), builder.append(mean)]
    values = np.array(arms if mean.uses("arm") else [0.0], dtype=float)
    tip = _TIP_FLOATS * float(np.spacing(max(abs(domain[0]), abs(domain[1]))))
    edges = np.linspace(*domain, _N_CELLS + 1)
    edges = np.concatenate(
        [edges[:1], [edges[0] + tip], edges[1:-1], [edges[-1] - tip], edges[-1:]]
    )
    n_cells = edges.size - 1
    arm = np.repeat(np.arange(values.size), n_cells)
    low, high = np.tile(edges[:-1], values.size), np.tile(edges[1:], values.size)
    rises, falls = np.full(values.size, np.nan), np.full(values.size, np.nan)
    narrow_cells: list[tuple[Any, FloatArray, FloatArray]] = []
    for halving in range(_N_HALVINGS + 1):
        point = values[arm]
        cells = {"theta": (low, high), "arm": (point, point)}
        pairs = enclose_steps(builder.steps, cells, places)
        (least, most), (lowest, highest) = (np.broadcast_arrays(*pair, arm)[:2] for pair in pairs)
        rises[arm[least > 0.0]] = 0.5 * (low + high)[least > 0.0]
        falls[arm[most < 0.0]] = 0.5 * (low + high)[most < 0.0]
        _refuse_both(rises, falls, arms)
        sure = (least > 0.0) | (most < 0.0)
        if slope.smooth:
            # A smooth function whose slope is never negative is flat only at single points.
            sure |= ((least >= 0.0) & (most > 0.0)) | ((most <= 0.0) & (least < 0.0))
        narrow = high - low <= 1.5 * tip
        # A function with kinks may be flat on the cell at an end, which is too narrow to matter.
        # An example is demand that reaches 0 exactly at the end of the domain.
        is_tip = narrow & ((low == domain[0]) | (high == domain[1]))
        sure |= is_tip & ((least >= 0.0) | (most <= 0.0))
        sure &= np.isfinite(lowest) & np.isfinite(highest)
        stuck = narrow & ~sure
        if stuck.any():
            narrow_cells.append((arm[stuck], low[stuck], high[stuck]))
        rest = ~(sure | narrow)
        arm, low, high = arm[rest], low[rest], high[rest]
        if arm.size > _MAX_CELLS:
            return np.inf
        if arm.size == 0:
            break
        if halving < _N_HALVINGS:
            middle = 0.5 * (low + high)
            arm = np.repeat(arm, 2)
            low, high = (
                np.column_stack([low, middle]).ravel(),
                np.column_stack([middle, high]).ravel(),
            )
    open_cells = zip((arm, low, high), *narrow_cells, strict=True)
    arm, low, high = (np.concatenate(part) for part in open_cells)
    return _widest_run(arm, low, high) if arm.size else 0.0


def _refuse_both(rises: FloatArray, falls: FloatArray, arms: tuple[Any, ...]) -> None:
    both = np.flatnonzero(np.isfinite(rises) & np.isfinite(falls))
    if both.size:
        arm = int(both[0])
        raise ModelError(
            f"mean of arm {arms[arm]!r} must be strictly monotone in theta, rises at "
            f"theta = {rises[arm]:.6g} and falls at {falls[arm]:.6g}"
        )


def _widest_run(arm: Any, low: FloatArray, high: FloatArray) -> float:
    """Return the width of the longest run of adjacent cells of one arm."""
    order = np.lexsort((low, arm))
    arm, low, high = arm[order], low[order], high[order]
    apart = np.append(True, (arm[1:] != arm[:-1]) | (low[1:] > high[:-1]))
    starts = np.flatnonzero(apart)
    ends = np.append(starts[1:], arm.size) - 1
    return float((high[ends] - low[starts]).max())
