"""Values: the worth of a decision as a function of the arm's mean reward or of the parameter."""

from typing import NamedTuple

import numpy as np

from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits._validation import require
from globalbandits.errors import ModelError
from globalbandits.model.analysis.checks import check_grid, n_cells
from globalbandits.model.analysis.curves import (
    Evaluate,
    Nodes,
    Pieces,
    arm_chunks,
    build_plain,
    cut_pieces,
    evaluate_on_grid,
    even_pieces,
    identity,
    segment_arms,
    stretched,
)
from globalbandits.model.analysis.refinement import bisect
from globalbandits.model.analysis.turning_points import Turns, find_kinks, find_turns
from globalbandits.model.inputs import MAX_LENGTH
from globalbandits.model.tables import DEGREE, Curves, Peaks

_EPS = float(np.finfo(float).eps)
_UNIT = (0.0, 1.0)

# The largest bend of a straight line, as a share of the range of worth.
_AFFINE_TOLERANCE = 1e-12

# Segments evaluated together.
_SEGMENTS_PER_CHUNK = 4_000

# The largest slope is increased by this share, so that it is a valid bound.
_SLOPE_MARGIN = 1e-7

# A slope is unbounded if the secant grows by this factor from each of these steps to the next.
_SECANT_STEPS = np.array([1e-6, 1e-9, 1e-12])
_SECANT_GROWTH = 1.2

# Smaller changes are mostly rounding errors.
_MIN_CHANGE = 1e-12


class Worth:
    """The worth of every arm as a function of the parameter, in the user's units.

    Args:
        observed: The arms' means.
        value: The arms' values as functions of the mean; None if the worth is the mean.
        reward_range: The interval of the means. Values are evaluated only inside it.
    """

    def __init__(
        self,
        observed: Evaluate,
        value: Evaluate | None,
        reward_range: tuple[float, float],
    ) -> None:
        self._observed = observed
        self._value = value
        self._range = reward_range

    def __call__(self, arms: IntArray, thetas: FloatArray) -> FloatArray:
        """Return the worth of the arms at the parameters, broadcast together."""
        return self.of_means(arms, self._observed(arms, thetas))

    def of_means(self, arms: IntArray, means: FloatArray) -> FloatArray:
        """Return the worth of the arms if their means are these."""
        return means if self._value is None else self._value(arms, np.clip(means, *self._range))

    def with_rounding(self, arms: IntArray, thetas: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the worth and the size of its rounding error."""
        means = self._observed(arms, thetas)
        worth = self.of_means(arms, means)
        return worth, self.rounding(arms, means, worth)

    def rounding(self, arms: IntArray, means: FloatArray, worth: FloatArray) -> FloatArray:
        """Return the size of the rounding error of the worth that belongs to the means.

        The rounding error of the mean counts too: near a target, the worth is a small difference
        of two larger numbers.
        """
        if self._value is None:
            return np.asarray(4.0 * _EPS * np.abs(means))
        clipped = np.clip(means, *self._range)
        return value_rounding(self._value, arms, clipped, worth, self._range)


def value_rounding(
    value: Evaluate,
    arms: IntArray,
    means: FloatArray,
    worth: FloatArray,
    reward_range: tuple[float, float],
) -> FloatArray:
    """Return how much the worth changes if the means change by a few last digits."""
    step = 4.0 * _EPS * np.abs(means)
    above = value(arms, np.clip(means + step, *reward_range))
    below = value(arms, np.clip(means - step, *reward_range))
    moved = np.maximum(np.abs(above - worth), np.abs(below - worth))
    return np.maximum(4.0 * _EPS * np.abs(worth), moved)


# Value functions: worth as a function of the mean reward.
#
# A value may be any continuous function of the mean, with kinks and several peaks. It is
# tabulated over the whole reward range, because a true mean may lie outside the range of the
# model's curves.


class Values(NamedTuple):
    """The arms' value functions, on the unit scales of rewards and of worth."""

    range: tuple[float, float]  # smallest and largest value, in the user's units
    curves: Curves  # mean -> worth
    peaks: Peaks
    marks: FloatArray  # (n_arms, n) means of an arm's extrema and kinks, filled up with nan
    slope: FloatArray  # (n_arms,) worth at mean 1 less worth at mean 0
    offset: FloatArray  # (n_arms,) worth at mean 0
    affine: BoolArray  # (n_arms,) whether the value is a straight line
    remarks: tuple[str, ...]

    @property
    def affine_increasing(self) -> bool:
        """Whether every arm's value is a straight line that rises with the mean."""
        return bool(self.affine.all() and (self.slope > 0.0).all())


class _Scan(NamedTuple):
    """Summary of the values on a grid of means, in the user's units."""

    low: FloatArray  # (n_arms,) smallest value on the grid
    high: FloatArray
    first: FloatArray  # (n_arms,) value at the low end of the reward range
    last: FloatArray
    bend: FloatArray  # (n_arms,) largest distance from the straight line between these two


def plain_values(n_arms: int, reward_range: tuple[float, float]) -> Values:
    """Return the values of a model without value functions: the worth is the mean."""
    return Values(
        range=reward_range,
        curves=identity(n_arms),
        peaks=Peaks(np.zeros(n_arms + 1, np.int64), np.empty(0)),
        marks=np.empty((n_arms, 0)),
        slope=np.ones(n_arms),
        offset=np.zeros(n_arms),
        affine=np.ones(n_arms, np.bool_),
        remarks=(),
    )


def analyse_values(
    value: Evaluate, n_arms: int, reward_range: tuple[float, float], names: list[str]
) -> Values:
    """Check and tabulate the value functions, where ``value(arms, means)`` is elementwise."""
    scan = _scan(value, n_arms, reward_range, names)
    low, high = float(scan.low.min()), float(scan.high.max())
    rule = f"have a range of at most {MAX_LENGTH:g}"
    require(high - low <= MAX_LENGTH, "value", rule, (low, high), ModelError)
    plain = plain_values(n_arms, (low, high))
    if high == low:
        flat = np.zeros(n_arms)
        remark = f"value is {low:g} for every arm and every mean: all arms are best everywhere"
        return plain._replace(
            curves=stretched(plain.curves, flat, flat), slope=flat, offset=flat, remarks=(remark,)
        )
    affine = scan.bend <= _AFFINE_TOLERANCE * (high - low)
    if affine.all():
        curves = stretched(
            plain.curves, (scan.last - scan.first) / (high - low), (scan.first - low) / (high - low)
        )
        peaks, marks = plain.peaks, plain.marks
    else:
        curves, turns, kinks = _tabulate(value, n_arms, reward_range, (low, high), names)
        heights = value(turns.arm, _means(turns.place, reward_range))
        wider = float(heights.min(initial=low)), float(heights.max(initial=high))
        length = wider[1] - wider[0]
        every = np.ones(n_arms)
        curves = stretched(
            curves, every * ((high - low) / length), every * ((low - wider[0]) / length)
        )
        low, high = wider
        maxima = turns.is_peak > 0.0
        starts = np.searchsorted(turns.arm[maxima], np.arange(n_arms + 1))
        peaks = Peaks(starts.astype(np.int64), turns.place[maxima])
        marks = np.concatenate([kinks, as_rows(turns.arm, turns.place, n_arms)], axis=1)
    slope = (scan.last - scan.first) / (high - low)
    return Values(
        # Adding 0 turns a negative zero into a positive one.
        range=(low + 0.0, high + 0.0),
        curves=curves,
        peaks=peaks,
        marks=marks,
        slope=slope,
        offset=(scan.first - low) / (high - low),
        affine=affine,
        remarks=_remarks(affine, slope),
    )


def _remarks(affine: BoolArray, slope: FloatArray) -> tuple[str, ...]:
    if affine.all() and (slope < 0.0).all():
        return ("value falls with the mean for every arm: the less is observed, the better",)
    return ()


def _means(unit: FloatArray, reward_range: tuple[float, float]) -> FloatArray:
    """Return means in the user's units, exact at the ends of the range."""
    low, high = reward_range
    return np.where(unit >= 1.0, high, low + (high - low) * unit)


def unit_value(
    value: Evaluate, reward_range: tuple[float, float], worth_range: tuple[float, float]
) -> Evaluate:
    """Return the value functions on the unit scales of rewards and of worth."""
    low, high = worth_range

    def on_unit_scales(arms: IntArray, unit: FloatArray) -> FloatArray:
        return np.asarray((value(arms, _means(unit, reward_range)) - low) / (high - low))

    return on_unit_scales


def _scan(
    value: Evaluate, n_arms: int, reward_range: tuple[float, float], names: list[str]
) -> _Scan:
    """Evaluate all values on a grid, twice; an error if they are not finite or change."""
    unit = check_grid(_UNIT, n_cells(n_arms))
    means = _means(unit, reward_range)
    found: list[FloatArray] = []
    for arms in arm_chunks(n_arms, unit.size):
        both = np.broadcast_arrays(arms[:, None], means[None, :])
        values = value(*both)
        again = value(*both)
        bad = ~np.isfinite(values)
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise ModelError(
                f"{names[arms[row]]} must be finite, got {values[row, column]} "
                f"at mean = {means[column]:.6g}"
            )
        if not np.array_equal(values, again):
            row, column = np.argwhere(values != again)[0]
            raise ModelError(
                f"{names[arms[row]]} must be the same at every call, got "
                f"{values[row, column]:.6g} and then {again[row, column]:.6g} "
                f"at mean = {means[column]:.6g}"
            )
        first, last = values[:, :1], values[:, -1:]
        bend = np.abs(values - (first + (last - first) * unit)).max(axis=1)
        found.append(
            np.stack([values.min(axis=1), values.max(axis=1), first[:, 0], last[:, 0], bend])
        )
    return _Scan(*np.concatenate(found, axis=1))


def _tabulate(
    value: Evaluate,
    n_arms: int,
    reward_range: tuple[float, float],
    worth_range: tuple[float, float],
    names: list[str],
) -> tuple[Curves, Turns, FloatArray]:
    """Return the curves, with kinks on the edges of segments, their extrema and their kinks."""
    unit = unit_value(value, reward_range, worth_range)

    def rounding(arms: IntArray, arguments: FloatArray) -> FloatArray:
        means = _means(arguments, reward_range)
        size = value_rounding(value, arms, means, value(arms, means), reward_range)
        return size / (worth_range[1] - worth_range[0])

    pieces, grid = even_pieces(n_arms, _UNIT), check_grid(_UNIT, n_cells(n_arms))
    on_grid = evaluate_on_grid(unit, n_arms, grid)

    def tabulate(pieces: Pieces) -> tuple[Curves, Nodes]:
        return build_plain(unit, pieces, _UNIT, rounding, names, "the unit mean", grid, on_grid)

    curves, nodes = tabulate(pieces)
    arm, place = find_kinks(unit, nodes)
    kinks = as_rows(arm, place, n_arms)
    if arm.size:
        curves, nodes = tabulate(cut_pieces(pieces, kinks))
    return curves, find_turns(unit, nodes, rounding), kinks


def as_rows(arm: IntArray, place: FloatArray, n_arms: int) -> FloatArray:
    """Return places as one row per arm, filled up with nan; ``arm`` must be sorted."""
    starts = np.searchsorted(arm, np.arange(n_arms))
    rank = np.arange(arm.size) - starts[arm]
    rows = np.full((n_arms, int(rank.max(initial=-1)) + 1), np.nan)
    rows[arm, rank] = place
    return rows


def thetas_at(
    unit_mean: Evaluate, marks: FloatArray, grid: FloatArray, on_grid: FloatArray
) -> FloatArray:
    """Return the parameters at which each arm's mean crosses its marks, a row per arm.

    ``on_grid`` are the unit means on the grid, one row per arm.
    """
    n_arms = len(marks)
    if np.isnan(marks).all():
        return np.empty((n_arms, 0))
    found: list[tuple[IntArray, FloatArray]] = []
    for arms in arm_chunks(n_arms, grid.size):
        for column in marks.T:
            below = on_grid[arms] < column[arms][:, None]
            row, cell = np.nonzero(below[:, 1:] != below[:, :-1])
            arm = arms[row]
            level, starts_below = column[arm], below[row, cell]

            def still_before(
                index: IntArray,
                at: FloatArray,
                arm: IntArray = arm,
                level: FloatArray = level,
                starts_below: BoolArray = starts_below,
            ) -> BoolArray:
                return np.asarray((unit_mean(arm[index], at) < level[index]) == starts_below[index])

            found.append((arm, bisect(still_before, grid[cell], grid[cell + 1])))
    arm = np.concatenate([part[0] for part in found])
    theta = np.concatenate([part[1] for part in found])
    order = np.lexsort((theta, arm))
    return as_rows(arm[order], theta[order], n_arms)


def worth_curves(
    worth: Worth,
    mean: Curves,
    values: Values,
    domain: tuple[float, float],
    pieces: Pieces,
    names: list[str],
    grid: FloatArray,
    on_grid: FloatArray,
) -> Curves:
    """Return the curves from parameter to worth, on the unit scale.

    ``on_grid`` is the worth on the grid in the user's units, one row per arm.
    """
    if values.affine.all():
        # Straight values only stretch the curves of the means.
        return stretched(mean, values.slope, values.offset)
    low, high = values.range

    def to_unit(values: FloatArray) -> FloatArray:
        return np.asarray((values - low) / (high - low))

    def unit_worth(arms: IntArray, thetas: FloatArray) -> FloatArray:
        return to_unit(worth(arms, thetas))

    def rounding(arms: IntArray, thetas: FloatArray) -> FloatArray:
        return worth.with_rounding(arms, thetas)[1] / (high - low)

    curves, _ = build_plain(
        unit_worth, pieces, domain, rounding, names, "theta", grid, to_unit(on_grid)
    )
    return curves


# The Lipschitz constant of the value functions.


def largest_slope(evaluate: Evaluate, curves: Curves) -> float:
    """Return the largest slope of any arm's curve over [0, 1], infinite if it is unbounded.

    Args:
        evaluate: ``evaluate(arms, arguments)``, elementwise, on the unit scales.
        curves: The same curves as polynomials.
    """
    if _is_unbounded(evaluate, curves):
        return float("inf")
    orders = np.arange(1, DEGREE + 1)
    powers = np.linspace(-1.0, 1.0, 257) ** (orders[:, None] - 1)
    largest = 0.0
    for start in range(0, len(curves.scale), _SEGMENTS_PER_CHUNK):
        part = slice(start, start + _SEGMENTS_PER_CHUNK)
        slopes = (curves.coefficients[part, 1:] * orders) @ powers * curves.scale[part, None]
        largest = max(largest, float(np.abs(slopes).max()))
    return largest * (1.0 + _SLOPE_MARGIN)


def _is_unbounded(evaluate: Evaluate, curves: Curves) -> bool:
    """Whether secants grow without bound at an end or at the narrowest segment."""
    n_arms = len(curves.low)
    owner = segment_arms(curves)
    narrowest = np.lexsort((-curves.scale, owner))[np.searchsorted(owner, np.arange(n_arms))]
    every = np.arange(n_arms)
    for center in (np.zeros(n_arms), np.ones(n_arms), curves.left[narrowest]):
        for side in (-1.0, 1.0):
            points = np.clip(center[:, None] + side * _SECANT_STEPS, 0.0, 1.0)
            change = np.abs(evaluate(every[:, None], points) - evaluate(every, center)[:, None])
            secants = change / _SECANT_STEPS
            growing = (secants[:, 1:] > _SECANT_GROWTH * secants[:, :-1]).all(axis=1)
            if (growing & (change[:, -1] > _MIN_CHANGE)).any():
                return True
    return False
