"""Hölder constants of the means: Assumption 1 of the paper.

For every arm k and all theta, theta' in the domain,

``D1_k |theta - theta'|**g1_k <= |mu_k(theta) - mu_k(theta')| <= D2_k |theta - theta'|**g2_k``

with g1_k >= 1 >= g2_k > 0. The lower inequality bounds how well rewards of arm k identify the
parameter, the upper one how much a wrong parameter can cost.

`estimate_holder` finds the exponents and constants, and `verify_holder` checks given ones. Both
search for the pairs of parameters with the smallest and the largest ratio (`extreme_ratios`).
The exponents come from the behaviour of the curves close to single points (`Approach`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits._validation import as_positive, require
from globalbandits.errors import ModelError

# ``evaluate(arms, thetas)`` returns means, elementwise.
Evaluate = Callable[[IntArray, FloatArray], FloatArray]

# Arms, and cells of the grid, evaluated together.
_ARMS_PER_BATCH = 1_000
_CELLS_PER_BATCH = 1_000_000

# Curves whose pairs of points are compared together; each has about 8,000 pairs.
_CURVES_PER_BATCH = 60

# Estimated constants are moved outward by this share, so that they are valid bounds.
_CONSTANT_MARGIN = 1e-7

# Relative tolerance for constants given by the user.
_VERIFY_TOLERANCE = 1e-6

# Distances to a point: 2**0 down to 2**-44 of the first one.
LEVELS = 45

# Only this number of the finest reliable levels is used for a limit.
_WINDOW_LEVELS = 18

# Exponents are rounded to fractions with denominators up to this one.
_MAX_DENOMINATOR = 10

# Grids are refined towards special points, down to 2**-22 of the domain.
_N_GRID_HALVINGS = 22

# Cells into which a bracket is cut, and rounds of cutting.
_N_BRACKET_CELLS = 16
_MAX_BRACKET_ROUNDS = 16

# The multiples of the golden section, modulo 1, fill the unit interval evenly.
_GOLDEN_SECTION = 0.6180339887498949

_EPS = float(np.finfo(np.float64).eps)
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class Holder:
    """The constants and exponents of Assumption 1 per arm, and the paper's aggregates of them.

    Args:
        lower_constant: D1_k, positive.
        lower_exponent: g1_k, at least 1.
        upper_constant: D2_k, positive.
        upper_exponent: g2_k, in (0, 1].

    Each argument is a number or a sequence with one number per arm.

    >>> holder = Holder([0.5, 1.0], [1.0, 2.0], [1.0, 2.0], [0.5, 1.0])
    >>> holder.inverse_constant, holder.inverse_exponent, holder.informativeness
    (2.0, 0.5, 0.25)
    """

    lower_constant: FloatArray
    lower_exponent: FloatArray
    upper_constant: FloatArray
    upper_exponent: FloatArray

    def __post_init__(self) -> None:
        names = [field.name for field in fields(self)]
        arrays = [_as_array(name, getattr(self, name)) for name in names]
        sizes = sorted({array.size for array in arrays} - {1})
        rule = "have one entry per arm, the same number in each"
        require(len(sizes) <= 1, "holder constants and exponents", rule, sizes, ModelError)
        for name, array in zip(names, arrays, strict=True):
            array = np.broadcast_to(array, (sizes[0] if sizes else 1,)).copy()
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        _require_all("lower_constant", self.lower_constant, "be positive", self.lower_constant > 0)
        _require_all("upper_constant", self.upper_constant, "be positive", self.upper_constant > 0)
        rule = "be at least 1"
        _require_all("lower_exponent", self.lower_exponent, rule, self.lower_exponent >= 1.0)
        allowed = (self.upper_exponent > 0.0) & (self.upper_exponent <= 1.0)
        _require_all("upper_exponent", self.upper_exponent, "lie in (0, 1]", allowed)

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return len(self.lower_constant)

    @property
    def inverse_constant(self) -> float:
        """D1bar = max_k (1 / D1_k)**(1 / g1_k), the Hölder constant of all inverses."""
        return float(np.max(self.lower_constant ** (-1.0 / self.lower_exponent)))

    @property
    def inverse_exponent(self) -> float:
        """g1bar = min_k 1 / g1_k, the Hölder exponent of all inverses."""
        return float(np.min(1.0 / self.lower_exponent))

    @property
    def constant(self) -> float:
        """D2 = max_k D2_k."""
        return float(np.max(self.upper_constant))

    @property
    def exponent(self) -> float:
        """g2 = min_k g2_k."""
        return float(np.min(self.upper_exponent))

    @property
    def informativeness(self) -> float:
        """Gamma = g1bar * g2 (Definition 2); 1 if all exponents are 1, less otherwise."""
        return self.inverse_exponent * self.exponent

    def scaled(self, factor: float) -> "Holder":
        """Return the constants of the means times ``factor``; exponents do not change.

        >>> Holder(0.5, 1.0, 2.0, 1.0).scaled(0.5).constant
        1.0
        """
        factor = as_positive("factor", factor, ModelError)
        return Holder(
            self.lower_constant * factor,
            self.lower_exponent,
            self.upper_constant * factor,
            self.upper_exponent,
        )


def _as_array(name: str, value: object) -> FloatArray:
    try:
        array = np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError):
        raise ModelError(f"{name} must be a number or one number per arm, got {value!r}") from None
    rule = "be a number or one number per arm"
    require(array.ndim == 1 and array.size > 0, name, rule, value, ModelError)
    return array


def _require_all(name: str, array: FloatArray, rule: str, allowed: BoolArray) -> None:
    allowed = allowed & np.isfinite(array)
    if not allowed.all():
        arm = int(np.argmin(allowed))
        raise ModelError(f"{name}[{arm}] must {rule}, got {float(array[arm])!r}")


def estimate_holder(
    evaluate: Evaluate,
    n_arms: int,
    domain: tuple[float, float],
    after_batch: Callable[[], None] = lambda: None,
) -> Holder:
    """Estimate the tightest exponents, and their tightest constants, of strictly monotone means.

    Args:
        evaluate: ``evaluate(arms, thetas)``, the mean of each arm index at each parameter,
            elementwise over arrays of one shape.
        n_arms: The number of arms.
        domain: The interval of theta.
        after_batch: Called when all evaluations of a batch of arms are done.

    >>> holder = estimate_holder(lambda arms, thetas: thetas**2, 1, (0.0, 1.0))
    >>> holder.lower_exponent, holder.lower_constant.round(4), holder.upper_constant.round(4)
    (array([2.]), array([1.]), array([2.]))
    """
    parts = []
    for family in _families(evaluate, n_arms, domain):
        parts.append(_estimate(family))
        after_batch()
    return Holder(*np.concatenate(parts, axis=1))


def verify_holder(
    holder: Holder, evaluate: Evaluate, n_arms: int, domain: tuple[float, float]
) -> None:
    """Raise a ModelError with arm, inequality and parameters if ``holder`` is wrong.

    The other arguments are those of `estimate_holder`.

    >>> verify_holder(Holder(1.0, 1.0, 1.0, 1.0), lambda arms, thetas: 0.5 * thetas, 1, (0.0, 1.0))
    Traceback (most recent call last):
        ...
    globalbandits.errors.ModelError: lower_constant[0] must be at most 0.5, ...
    """
    rule = f"have one entry per arm, {n_arms} in all"
    require(holder.n_arms == n_arms, "holder", rule, holder.n_arms, ModelError)
    sides = (
        ("lower_constant", 1, holder.lower_constant, holder.lower_exponent, "at most"),
        ("upper_constant", -1, holder.upper_constant, holder.upper_exponent, "at least"),
    )
    for family in _families(evaluate, n_arms, domain):
        for name, sign, constants, exponents, relation in sides:
            claimed, exponent = constants[family.arms], exponents[family.arms]
            secants, spots = extreme_secants(family, sign)
            seen = extreme_ratios(family, secants, spots, exponent, sign)
            wrong = sign * (claimed - seen.ratio) > _VERIFY_TOLERANCE * claimed
            if not wrong.any():
                continue
            row = int(np.argmax(wrong))
            given = "" if exponent[row] == 1.0 else f" with exponent {exponent[row]:.6g}"
            raise ModelError(
                f"{name}[{family.arms[row]}] must be {relation} {seen.ratio[row]:.6g}"
                f"{given}, as the means of this arm at theta = "
                f"{seen.left[row]:.10g} and {seen.right[row]:.10g} show, "
                f"got {float(claimed[row])!r}"
            )


# The behaviour of a curve close to one point: which power of the distance, and which factor.
#
# Both are limits of differences of the curve at halving distances from the point. Rounding
# errors spoil the small distances and higher terms the large ones, so each limit is taken where
# the two together are smallest, and comes with its uncertainty.


class Approach(NamedTuple):
    """Differences of curves over distances that shrink towards a point, one row per point."""

    rows: IntArray  # (n,) which curve
    distance: FloatArray  # (n, LEVELS) halving from column to column
    difference: FloatArray  # (n, LEVELS) how much the curve changes over the distance
    error: FloatArray  # (n, LEVELS) rounding error of the difference; inf where it is useless

    def constant(self, exponent: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the limit of difference / distance**exponent at 0, and its uncertainty."""
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            power = self.distance ** exponent[:, None]
            return limit_at_zero(self.difference / power, self.error / power)

    def order(self, exact: bool) -> FloatArray:
        """Return the power of the distance that the difference follows at distance 0.

        Args:
            exact: Whether the point is known exactly. For a point that was found by a search, the
                smallest distances show its error and not its order.
        """
        found = np.ones(len(self.rows))
        slope, doubt = self.constant(found)
        # A slope that is clearly neither 0 nor infinite means order 1, even if the curve looks
        # flat over all but the smallest distances.
        unclear = ~(slope > 10.0 * doubt)
        if not unclear.any():
            return found
        _, distance, difference, error = (part[unclear] for part in self)
        with np.errstate(invalid="ignore"):
            orders = np.diff(np.log(difference)) / np.diff(np.log(distance))
        errors = 2.0 * error[:, 1:] / difference[:, 1:]
        found[unclear] = snap(*(limit_at_zero if exact else plateau)(orders, errors))
        return found


def limit_at_zero(values: FloatArray, errors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the limit of each row, whose columns belong to halving distances, and its uncertainty.

    If three neighbouring columns approach the limit geometrically, at any rate, Aitken's formula
    gives the limit. If the uncertainty is infinite, no limit was found; the value is then the one
    at the finest level with a small rounding error.

    >>> h = 0.5 ** np.arange(LEVELS)[None, :]
    >>> limit, doubt = limit_at_zero(3.0 + h**0.5 + h**2, 1e-15 / h)
    >>> bool(abs(limit[0] - 3.0) <= doubt[0] < 1e-6)
    True
    """
    n_rows, n_levels = values.shape
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.diff(values, axis=1)
        before, step = steps[:, :-1], steps[:, 1:]
        ratio = step / before
        still = np.abs(step) <= 2.0 * errors[:, 2:]
        geometric = (ratio > 0.0) & (ratio < 0.96) & ~still
        limits = values[:, 2:] + np.where(geometric, step * ratio / (1.0 - ratio), 0.0)
        wiggle = np.where(ratio < 0.0, np.abs(before) + np.abs(step), np.inf)
        doubt = np.where(geometric | still, 0.0, wiggle)[:, 1:]
        # The slower the approach, the more the formula extrapolates and amplifies rounding.
        reach = np.where(geometric, np.maximum(8.0, 2.0 / (1.0 - ratio) ** 2), 8.0)[:, 1:]
        doubt = doubt + np.abs(np.diff(limits, axis=1)) + reach * errors[:, 3:]
        reliable = np.logical_and.accumulate(
            np.isfinite(values) & (errors <= 1e-3 * np.abs(values)), axis=1
        )
    last = np.maximum(reliable.sum(axis=1) - 1, 0)
    levels = np.arange(3, n_levels)
    usable = (levels <= last[:, None]) & (levels >= last[:, None] - _WINDOW_LEVELS)
    doubt = np.where(usable & np.isfinite(doubt), doubt, np.inf)
    best = np.argmin(doubt, axis=1)
    every = np.arange(n_rows)
    limit, uncertainty = limits[every, best + 1], doubt[every, best]
    # The finest level must lie closer to the limit than the level that gave the limit.
    finest = values[every, last]
    slack = np.abs(values[every, best + 3] - limit) + 4.0 * errors[every, last]
    with np.errstate(invalid="ignore"):
        seen = np.isfinite(uncertainty) & (np.abs(finest - limit) <= slack)
    return np.where(seen, limit, finest), np.where(seen, uncertainty, np.inf)


def plateau(values: FloatArray, errors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return each row's value where three neighbouring columns differ least, and the difference.

    >>> plateau(np.array([[1.0, 1.8, 2.0, 2.01, 2.0, 0.5]]), np.zeros((1, 6)))
    (array([2.01]), array([0.02]))
    """
    steps = np.abs(np.diff(values, axis=1))
    doubt = steps[:, 1:] + steps[:, :-1] + errors[:, 2:]
    doubt = np.where(np.isfinite(doubt), doubt, np.inf)
    every, best = np.arange(len(values)), np.argmin(doubt, axis=1)
    return values[every, best + 1], doubt[every, best]


def snap(orders: FloatArray, doubt: FloatArray) -> FloatArray:
    """Round orders to the simplest fraction within their uncertainty; most orders are fractions.

    An inequality stays valid if its exponent moves away from 1. So a move towards 1 must be short,
    and an order that is not rounded to a fraction is moved away from 1 by its uncertainty.

    >>> snap(np.array([1.9996, 2.0004, 0.6668]), np.full(3, 1e-3))
    array([2.        , 2.        , 0.66666667])
    >>> snap(np.array([1.994, 2.006]), np.full(2, 2e-3))
    array([2.   , 2.008])
    """
    away = np.where(orders < 1.0, -1.0, 1.0)
    longest = np.minimum(1e-6 + 3.0 * doubt, 1e-2) * np.minimum(orders, 1.0)
    snapped: FloatArray = orders + away * np.minimum(doubt, 1e-2) * np.minimum(orders, 1.0)
    for denominator in range(_MAX_DENOMINATOR, 0, -1):
        fraction = np.round(orders * denominator) / denominator
        move = away * (fraction - orders)
        near = (move <= longest) & (move >= -np.minimum(longest, 1e-3))
        snapped = np.where(near, fraction, snapped)
    return snapped


# The smallest and the largest secants of many curves at once, and where they are.
#
# A secant is an average of the secants within it, so cells of a grid suffice, and the search
# closes in on the best cell by repeated subdivision. Rounding counts in favour of the curve: as
# ``difference + noise`` in the search for the smallest secant (``sign`` 1), as ``difference -
# noise`` in the search for the largest (``sign`` -1).


class Family(NamedTuple):
    """Curves on one domain, their values on a graded grid, and their rounding errors."""

    evaluate: Evaluate
    arms: IntArray  # (n,)
    low: float
    high: float
    grid: FloatArray  # (m,) refined towards both ends
    values: FloatArray  # (n, m)
    noise: FloatArray  # (n,) rounding error of a difference of any two values

    def at(self, rows: IntArray, thetas: FloatArray) -> FloatArray:
        """Return the values of the curves ``rows`` (n,) at ``thetas`` (n, m)."""
        if len(rows) == 0:
            # The user's function may not accept empty arrays.
            return thetas
        return self.evaluate(np.broadcast_to(self.arms[rows][:, None], thetas.shape), thetas)

    def error(self, rows: IntArray, change: FloatArray, width: FloatArray) -> FloatArray:
        """Return the rounding error of a change (n, m) over a width, from values and theta."""
        blur = 2.0 * _EPS * max(abs(self.low), abs(self.high), self.high - self.low)
        return self.noise[rows][:, None] + change * (blur / width)

    def approach(self, spots: "Spots", side: int) -> Approach:
        """Sample differences towards the spots from the left (-1), right (1) or both sides (0)."""
        left, right = spots.center - self.low, self.high - spots.center
        reach = np.minimum(left, right) if side == 0 else (left if side < 0 else right)
        steps = reach[:, None] * 0.5 ** np.arange(LEVELS)
        below = np.maximum(spots.center[:, None] - (steps if side <= 0 else 0.0), self.low)
        above = np.minimum(spots.center[:, None] + (steps if side >= 0 else 0.0), self.high)
        below, above = np.broadcast_arrays(below, above)
        distance = above - below
        difference = np.abs(self.at(spots.rows, above) - self.at(spots.rows, below))
        useless = (distance <= 8.0 * spots.resolution[:, None]) | (difference == 0.0)
        distance, difference = np.where(useless, 1.0, (distance, difference))
        error = np.where(useless, np.inf, self.error(spots.rows, difference, distance))
        return Approach(spots.rows, distance, difference, error)


class Spots(NamedTuple):
    """Points where a curve may be flat or infinitely steep."""

    rows: IntArray  # (n,) which curve
    center: FloatArray  # (n,)
    resolution: FloatArray  # (n,) uncertainty of the center


class Extremes(NamedTuple):
    """Extreme ratios, and the pairs of points that have them."""

    rows: IntArray  # (n,) which curve
    ratio: FloatArray  # (n,)
    left: FloatArray  # (n,)
    right: FloatArray  # (n,)

    def join(self, other: "Extremes") -> "Extremes":
        """Return the concatenation of both."""
        return Extremes(
            np.concatenate((self.rows, other.rows)),
            np.concatenate((self.ratio, other.ratio)),
            np.concatenate((self.left, other.left)),
            np.concatenate((self.right, other.right)),
        )

    def take(self, places: IntArray | BoolArray) -> "Extremes":
        """Return the selected entries."""
        return Extremes(
            self.rows[places], self.ratio[places], self.left[places], self.right[places]
        )

    def best(self, sign: int) -> "Extremes":
        """Return the best ratio of each curve, ordered by curve."""
        order = np.lexsort((sign * self.ratio, self.rows))
        _, first = np.unique(self.rows[order], return_index=True)
        return self.take(order[first])


def tabulate(
    evaluate: Evaluate, arms: IntArray, domain: tuple[float, float], n_cells: int
) -> Family:
    """Evaluate the arms on a grid of ``n_cells`` equal cells, refined towards both ends."""
    low, high = domain
    fine = 0.5 ** np.arange(2, _N_GRID_HALVINGS + 1)
    fractions = np.unique(np.concatenate((np.arange(n_cells + 1) / n_cells, fine, 1.0 - fine)))
    grid = np.unique(np.clip(low + (high - low) * fractions, low, high))
    values = evaluate(*np.broadcast_arrays(arms[:, None], grid[None, :]))
    noise = 4.0 * _EPS * np.abs(values).max(axis=1) + _roughness(evaluate, arms, domain)
    return Family(evaluate, arms, low, high, grid, values, noise)


def _roughness(evaluate: Evaluate, arms: IntArray, domain: tuple[float, float]) -> FloatArray:
    """Estimate the rounding error of the curves from triples of points a few floats apart."""
    low, high = domain
    step = 64.0 * np.spacing(max(abs(low), abs(high)))
    fractions = np.arange(1, 33) * _GOLDEN_SECTION % 1.0
    middles = low + step + (high - low - 2.0 * step) * fractions
    points = middles[:, None] + step * np.array([-1.0, 0.0, 1.0])
    values = evaluate(*np.broadcast_arrays(arms[:, None, None], points[None, :, :]))
    bends = np.abs(values[..., 0] - 2.0 * values[..., 1] + values[..., 2])
    return np.asarray(2.0 * bends.max(axis=1))


def extreme_secants(family: Family, sign: int) -> tuple[Extremes, Spots]:
    """Return extreme secants, at least one per curve, and the inner spots they point to."""
    rows, grid, width = np.arange(len(family.arms)), family.grid, np.diff(family.grid)
    change = np.abs(np.diff(family.values, axis=1))
    secants = (change + sign * family.error(rows, change, width)) / width
    cells = np.argmin(sign * secants, axis=1)
    coarse = Extremes(rows, secants[rows, cells], grid[cells], grid[cells + 1])
    more_rows, more_cells = _outstanding(secants, sign)
    both = np.concatenate((rows * len(grid) + cells, more_rows * len(grid) + more_cells))
    rows, cells = np.divmod(np.unique(both), len(grid))
    # The ends of the domain are examined separately, and a straight line has no spots: a search
    # there would only find rounding errors.
    margin = (family.high - family.low) * 2.0**-16
    inner = (grid[cells + 1] > family.low + margin) & (grid[cells] < family.high - margin)
    curved = secants.max(axis=1) > (1.0 + 1e-6) * secants.min(axis=1)
    searched = inner & curved[rows]
    rows, cells = rows[searched], cells[searched]
    left, right = grid[np.maximum(cells - 1, 0)], grid[np.minimum(cells + 2, len(grid) - 1)]
    fine, spots = _close_in(family, rows, left, right, sign)
    return coarse.join(fine), spots


def _outstanding(secants: FloatArray, sign: int) -> tuple[IntArray, IntArray]:
    """Return rows and cells whose secant is clearly more extreme than its neighbours."""
    score = secants if sign > 0 else 1.0 / np.maximum(secants, _TINY)
    inner = score[:, 2:-2]
    near = np.minimum(score[:, 1:-3], score[:, 3:-1])
    far = np.minimum(score[:, :-4], score[:, 4:])
    rows, cells = np.nonzero((inner <= near) & (inner < 0.8 * far))
    return rows, cells + 2


def _close_in(
    family: Family, rows: IntArray, left: FloatArray, right: FloatArray, sign: int
) -> tuple[Extremes, Spots]:
    """Narrow the brackets: cut them into cells and keep the best cell with its neighbours."""
    best = Extremes(rows, np.full(len(rows), sign * np.inf), left.copy(), right.copy())
    # The first round sets all of them.
    center, resolution = np.empty_like(left), np.empty_like(left)
    left, right = left.copy(), right.copy()
    active = np.arange(len(rows))
    for _ in range(_MAX_BRACKET_ROUNDS):
        noise = family.noise[rows[active]]
        points = np.linspace(left[active], right[active], _N_BRACKET_CELLS + 1, axis=1)
        width = np.maximum(np.diff(points, axis=1), _TINY)
        change = np.abs(np.diff(family.at(rows[active], points), axis=1))
        secants = (change + sign * family.error(rows[active], change, width)) / width
        every, cell = np.arange(len(active)), np.argmin(sign * secants, axis=1)
        better = sign * secants[every, cell] < sign * best.ratio[active]
        found = active[better]
        best.ratio[found] = secants[every, cell][better]
        best.left[found] = points[every, cell][better]
        best.right[found] = points[every, cell + 1][better]
        center[active] = (points[every, cell] + points[every, cell + 1]) / 2
        resolution[active] = width[every, cell]
        left[active] = points[every, np.maximum(cell - 1, 0)]
        right[active] = points[every, np.minimum(cell + 2, _N_BRACKET_CELLS)]
        scale = np.maximum(np.abs(left[active]), np.abs(right[active]))
        go_on = (change[every, cell] > 1e4 * noise) & (width[every, cell] > 64.0 * _EPS * scale)
        active = active[go_on]
        if len(active) == 0:
            break
    spots = Spots(rows, center, resolution)
    if sign > 0:
        spots = _centre(family, spots)
    distance = np.minimum(spots.center - family.low, family.high - spots.center)
    apart = distance > 8.0 * spots.resolution
    return best, Spots(spots.rows[apart], spots.center[apart], spots.resolution[apart])


def _centre(family: Family, spots: Spots) -> Spots:
    """Move flat spots to the middle of the window over which the curve changes least.

    Where the curve is flat, the change over one small cell is lost in rounding. The window is
    wide enough for a visible change.
    """
    rows, center, resolution = spots
    every = np.arange(len(rows))
    reach = np.minimum(center - family.low, family.high - center)
    halves = np.minimum(resolution[:, None] * 2.0 ** np.arange(40), reach[:, None] / 3.0)
    change = _change_around(family, rows, center[:, None], halves)
    seen = change > 1e6 * family.noise[rows][:, None]
    half = halves[every, np.where(seen.any(axis=1), np.argmax(seen, axis=1), -1)]
    offsets = np.linspace(-1.5, 1.5, 31)
    middles = center[:, None] + half[:, None] * offsets
    change = _change_around(family, rows, middles, half[:, None])
    place = np.clip(np.argmin(change, axis=1), 1, len(offsets) - 2)
    before, here, after = (change[every, place + k] for k in (-1, 0, 1))
    bend = np.maximum(before - 2.0 * here + after, _TINY)
    shift = np.clip((before - after) / (2.0 * bend), -1.0, 1.0) * (offsets[1] - offsets[0])
    center = middles[every, place] + shift * half
    # If the two sides differ, the middle of the window may not be the spot.
    sides = family.at(rows, center[:, None] + half[:, None] * np.array([-1.0, 0.0, 1.0]))
    left, right = np.abs(np.diff(sides, axis=1)).T
    alike = np.minimum(left, right) > 0.8 * np.maximum(left, right)
    return Spots(rows, center, half * np.where(alike, 0.02, 1.0))


def _change_around(
    family: Family, rows: IntArray, middles: FloatArray, halves: FloatArray
) -> FloatArray:
    """Return the change of the curves from ``middles - halves`` to ``middles + halves``."""
    above = np.minimum(middles + halves, family.high)
    below = np.maximum(middles - halves, family.low)
    return np.abs(family.at(rows, above) - family.at(rows, below))


# The smallest and the largest of |mu(t) - mu(t')| / |t - t'|**exponent over all pairs.
#
# With exponent 1 these are secants. With any other exponent the ratio of a pair does not bound
# the pairs within it, so all pairs of a graded grid are compared and the best one is refined.


def extreme_ratios(
    family: Family, secants: Extremes, spots: Spots, exponent: FloatArray, sign: int
) -> Extremes:
    """Return the extreme ratio of every curve for its own exponent.

    ``secants`` and ``spots`` come from `extreme_secants`.
    """
    straight = exponent == 1.0
    bent = np.flatnonzero(~straight)
    rows = np.concatenate((bent, spots.rows[~straight[spots.rows]]))
    centers = np.concatenate((np.full(len(bent), family.low), spots.center[~straight[spots.rows]]))
    found = secants.best(sign).take(straight)
    for start in range(0, len(rows), _CURVES_PER_BATCH):
        part = slice(start, start + _CURVES_PER_BATCH)
        found = found.join(_scan(family, rows[part], centers[part], exponent[rows[part]], sign))
    return found.best(sign)


def _scan(
    family: Family, rows: IntArray, centers: FloatArray, exponent: FloatArray, sign: int
) -> Extremes:
    """Compare all pairs of a grid that is refined towards both ends and the center."""
    fine = 0.5 ** np.arange(2, _N_GRID_HALVINGS + 1)
    fractions = np.concatenate((np.arange(33) / 32, fine, 1.0 - fine))
    fixed = np.broadcast_to(fractions, (len(rows), len(fractions)))
    steps = np.concatenate((-fine, [0.0], fine)) * (family.high - family.low)
    points = np.concatenate(
        (family.low + (family.high - family.low) * fixed, centers[:, None] + steps), axis=1
    )
    points = np.sort(np.clip(points, family.low, family.high), axis=1)
    values = family.at(rows, points)
    first, second = np.triu_indices(points.shape[1], 1)
    noise = sign * family.noise[rows][:, None]
    width = points[:, second] - points[:, first]
    apart = width > 0.0
    power = np.where(apart, width, 1.0) ** exponent[:, None]
    ratio = (np.abs(values[:, second] - values[:, first]) + noise) / power
    ratio[~apart] = sign * np.inf
    pair = np.argmin(sign * ratio, axis=1)
    every = np.arange(len(rows))
    left, right = points[every, first[pair]], points[every, second[pair]]
    reach = np.maximum(np.diff(points, axis=1, prepend=family.low), 0.0)
    reach = np.maximum(reach, np.diff(points, axis=1, append=family.high))
    found = Extremes(rows, ratio[every, pair], left, right)
    return _polish(
        family, found, reach[every, first[pair]], reach[every, second[pair]], exponent, sign
    )


def _polish(
    family: Family,
    found: Extremes,
    reach_left: FloatArray,
    reach_right: FloatArray,
    exponent: FloatArray,
    sign: int,
) -> Extremes:
    """Improve the pairs by moving both points within a shrinking reach."""
    rows, ratio, left, right = found
    offsets = np.linspace(-1.0, 1.0, 7)
    every = np.arange(len(rows))
    for shrink in 0.4 ** np.arange(12):
        steps = shrink * offsets
        lefts = np.clip(left[:, None] + reach_left[:, None] * steps, family.low, family.high)
        rights = np.clip(right[:, None] + reach_right[:, None] * steps, family.low, family.high)
        change = np.abs(family.at(rows, rights)[:, :, None] - family.at(rows, lefts)[:, None, :])
        width = rights[:, :, None] - lefts[:, None, :]
        apart = width > 0.0
        power = np.where(apart, width, 1.0) ** exponent[:, None, None]
        ratios = (change + sign * family.noise[rows][:, None, None]) / power
        ratios[~apart] = sign * np.inf
        place = np.argmin(sign * ratios.reshape(len(rows), -1), axis=1)
        seen = ratios.reshape(len(rows), -1)[every, place]
        better = sign * seen < sign * ratio
        ratio = np.where(better, seen, ratio)
        left = np.where(better, lefts[every, place % 7], left)
        right = np.where(better, rights[every, place // 7], right)
    return Extremes(rows, ratio, left, right)


# Exponents and constants of all arms.


def _families(evaluate: Evaluate, n_arms: int, domain: tuple[float, float]) -> Iterator[Family]:
    """Yield the arms in batches of bounded memory. The grid is finer for few arms."""
    n_cells = int(np.clip(_CELLS_PER_BATCH // n_arms, 64, 512))
    for start in range(0, n_arms, _ARMS_PER_BATCH):
        arms = np.arange(start, min(start + _ARMS_PER_BATCH, n_arms))
        yield tabulate(evaluate, arms, domain, n_cells)


def _estimate(family: Family) -> FloatArray:
    """Return rows D1, g1, D2, g2 for the family's curves."""
    rows = np.arange(len(family.arms))
    ends = [
        family.approach(Spots(rows, np.full(len(rows), end), np.zeros(len(rows))), side)
        for end, side in ((family.low, 1), (family.high, -1))
    ]
    end_orders = [end.order(exact=True) for end in ends]
    lower = _one_side(family, ends, end_orders, 1)
    upper = _one_side(family, ends, end_orders, -1)
    return np.array([*lower, *upper])


def _one_side(
    family: Family, ends: list[Approach], end_orders: list[FloatArray], sign: int
) -> tuple[FloatArray, FloatArray]:
    """Return constants and exponents of the lower (sign 1) or upper (sign -1) inequality."""
    secants, spots = extreme_secants(family, sign)
    approaches = [*ends, family.approach(spots, 0)]
    orders = [*end_orders, _spot_order(family, spots, approaches[-1].order(exact=False), sign)]
    exponent = np.ones(len(family.arms))
    furthest = np.maximum if sign > 0 else np.minimum
    for approach, order in zip(approaches, orders, strict=True):
        furthest.at(exponent, approach.rows, order)
    constant = extreme_ratios(family, secants, spots, exponent, sign).ratio
    # Close to a point the ratio may improve as the distance shrinks. Then its limit counts.
    least = np.minimum if sign > 0 else np.maximum
    for approach, order in zip(approaches, orders, strict=True):
        limit, doubt = approach.constant(exponent[approach.rows])
        clear = (order == exponent[approach.rows]) & (doubt < 0.05 * limit)
        least.at(constant, approach.rows[clear], (limit - sign * doubt)[clear])
    return constant * (1.0 - sign * _CONSTANT_MARGIN), exponent


def _spot_order(family: Family, spots: Spots, both: FloatArray, sign: int) -> FloatArray:
    """Return the order of both sides together, or of one side if it is clearly flatter."""
    if sign < 0:
        # The steeper side dominates the sum of both.
        return both
    for side in (-1, 1):
        single = family.approach(spots, side).order(exact=False)
        both = np.where(single > 1.25 * both, single, both)
    return both
