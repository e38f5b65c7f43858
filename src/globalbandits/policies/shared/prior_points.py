"""Points of a model's unknown numbers with prior weights, for posteriors of few rewards.

The points are equidistant in a coordinate of every number in which the prior is smooth, such as the
standard score of a normal prior. Sums over them are the trapezoidal rule, whose error decreases
exponentially for smooth integrands. The probability of a condition, such as a rate above a limit,
is the integral of a density that is cut off at an edge between the points. Its weights come from a
polynomial through the densities of the five nearest points along each number.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import BoolArray, FloatArray
from globalbandits._validation import as_float, as_integer, as_positive, require, require_known
from globalbandits.errors import PolicyError
from globalbandits.model.vector_model import VectorModel

# A marginal prior: its kind and its parameters.
Marginal = tuple[Any, ...]

# The number of parameters of every kind, and the ends of its coordinate. Outside them the prior
# has a probability below 1e-6.
_PARAMETERS = {"normal": 2, "lognormal": 2, "exponential": 1, "log_exponential": 1}
_NORMAL_ENDS = (-5.0, 5.0)
_EXPONENTIAL_ENDS = (-14.0, 3.0)
# Points along each number, by the number of unknown numbers.
_DEFAULT_CELLS = {1: 160, 2: 64, 3: 16}
# Places inside a cell: a lattice, whose size and generators are these. Along each number all places
# are different, so that edges along a number are found as exactly as others.
_LATTICES = {1: (32, (1,)), 2: (89, (1, 55)), 3: (101, (1, 40, 85))}
MIN_CELLS, MAX_CELLS = 5, 10_000
_MIN_RATE = 1e-9
# The points of the interpolation, relative to the nearest one.
_NODE_OFFSETS = (-2, -1, 0, 1, 2)


class Points(NamedTuple):
    """Points of the unknown numbers. Those outside the domain have the prior 0."""

    numbers: FloatArray  # (n_points, n_numbers)
    log_prior: FloatArray  # (n_points,) up to a constant
    rates: FloatArray  # (n_points, n_arms) mean rewards on the unit scale
    shape: tuple[int, ...]  # points along each number
    # Places inside the cells around the points: their distance from the points in cells, and the
    # numbers there, (n_points, n_numbers).
    parts: tuple[tuple[tuple[float, ...], FloatArray], ...]

    @property
    def n_points(self) -> int:
        """The number of points."""
        return len(self.log_prior)


def as_marginals(prior: object) -> tuple[Marginal, ...] | None:
    """Check a prior: None, or one marginal per unknown number.

    >>> as_marginals([["normal", 0, 1.2]])
    (('normal', 0.0, 1.2),)
    """
    if prior is None:
        return None
    rule = "be None or a sequence of marginals such as ('normal', mean, sd)"
    is_list = isinstance(prior, Sequence) and not isinstance(prior, str) and len(prior) > 0
    require(is_list, "prior", rule, prior, PolicyError)
    assert isinstance(prior, Sequence)
    return tuple(_as_marginal(place, marginal) for place, marginal in enumerate(prior))


def _as_marginal(place: int, marginal: object) -> Marginal:
    name = f"prior[{place}]"
    is_list = isinstance(marginal, Sequence) and not isinstance(marginal, str) and len(marginal) > 0
    require(is_list, name, "be a kind and its parameters", marginal, PolicyError)
    assert isinstance(marginal, Sequence)
    kind, *rest = marginal
    kind = require_known(name, kind, sorted(_PARAMETERS), PolicyError)
    rule = f"have {_PARAMETERS[kind]} parameters for {kind}"
    require(len(rest) == _PARAMETERS[kind], name, rule, marginal, PolicyError)
    if len(rest) == 1:
        return kind, as_positive(f"{name} mean", rest[0], PolicyError)
    mean = as_float(f"{name} mean", rest[0], PolicyError)
    return kind, mean, as_positive(f"{name} sd", rest[1], PolicyError)


def as_correlation(correlation: object, prior: tuple[Marginal, ...] | None) -> float:
    """Check the correlation of the standard scores of two normal or lognormal numbers."""
    number = as_float("correlation", correlation, PolicyError)
    rule = "lie strictly between -1 and 1"
    require(-1.0 < number < 1.0, "correlation", rule, correlation, PolicyError)
    normal = prior is not None and [kind in ("normal", "lognormal") for kind, *_ in prior]
    rule = "be 0 unless the prior has two marginals that are normal or lognormal"
    require(number == 0.0 or normal == [True, True], "correlation", rule, correlation, PolicyError)
    return number


def as_points_per_number(cells: object) -> int | None:
    """Check the number of points along each number; None for the default."""
    if cells is None:
        return None
    return as_integer("cells", cells, MIN_CELLS, PolicyError, maximum=MAX_CELLS)


def build_points(
    model: Any,
    prior: tuple[Marginal, ...] | None,
    correlation: float = 0.0,
    cells: int | None = None,
) -> Points:
    """Return points of the unknown numbers of a `RewardModel` or a `VectorModel`.

    The prior is truncated to the domain.

    Args:
        model: the model.
        prior: one marginal per number; uniform on the domain by default.
        correlation: the correlation of the standard scores of two numbers.
        cells: points along each number.
    """
    is_vector = isinstance(model, VectorModel)
    box = np.array(list(model.domain.values()) if is_vector else [model.domain])
    n_numbers = len(box)
    if prior is not None:
        rule = f"have a marginal for each of {n_numbers} unknown numbers"
        require(len(prior) == n_numbers, "prior", rule, prior, PolicyError)
    n_along = cells or _DEFAULT_CELLS[n_numbers]
    lines, steps = [], []
    for axis in range(n_numbers):
        low, high = _ends(prior and prior[axis])
        steps.append((high - low) / n_along)
        lines.append(low + steps[-1] * (np.arange(n_along) + 0.5))
    scores = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, n_numbers)

    def to_numbers(at: FloatArray) -> FloatArray:
        """Return the unknown numbers at coordinates."""
        if correlation:
            second = correlation * at[:, 0] + math.sqrt(1.0 - correlation**2) * at[:, 1]
            at = np.stack([at[:, 0], second], axis=1)
        columns = [
            _to_number(None if prior is None else prior[axis], at[:, axis], *box[axis])
            for axis in range(n_numbers)
        ]
        return np.stack(columns, axis=1)

    numbers = to_numbers(scores)
    inside = np.all((numbers >= box[:, 0]) & (numbers <= box[:, 1]), axis=1)
    rule = f"have probability inside the domain {box.tolist()}"
    require(bool(inside.any()), "prior", rule, prior, PolicyError)
    log_prior = np.where(inside, 0.0, -np.inf)
    for axis in range(n_numbers):
        log_prior += _log_density(prior and prior[axis], scores[:, axis])
    n_parts, generators = _LATTICES[n_numbers]
    lattice = (np.outer(np.arange(n_parts), generators) % n_parts + 0.5) / n_parts - 0.5
    parts = tuple(
        (tuple(shift), _clip(to_numbers(scores + shift * np.array(steps)), box))
        for shift in lattice
    )
    numbers = _clip(numbers, box)
    shape = (n_along,) * n_numbers
    return Points(numbers, log_prior, unit_rates(model, numbers), shape, parts)


def _clip(numbers: FloatArray, box: FloatArray) -> FloatArray:
    return np.clip(numbers, box[:, 0], box[:, 1])


def _ends(marginal: Marginal | None) -> tuple[float, float]:
    if marginal is None:
        return 0.0, 1.0
    return _NORMAL_ENDS if marginal[0] in ("normal", "lognormal") else _EXPONENTIAL_ENDS


def _to_number(marginal: Marginal | None, at: FloatArray, low: float, high: float) -> FloatArray:
    if marginal is None:
        return np.asarray(low + (high - low) * at)
    kind, *rest = marginal
    if kind == "normal":
        return np.asarray(rest[0] + rest[1] * at)
    if kind == "lognormal":
        return np.asarray(np.exp(rest[0] + rest[1] * at))
    logs = math.log(rest[0]) + at
    return np.exp(logs) if kind == "exponential" else np.asarray(logs)


def _log_density(marginal: Marginal | None, at: FloatArray) -> FloatArray:
    """Return the logarithm of the prior's density in the coordinate, up to a constant."""
    if marginal is None:
        return np.zeros(len(at))
    if marginal[0] in ("normal", "lognormal"):
        return np.asarray(-0.5 * at**2)
    # The logarithm of an exponential number with mean 1.
    return np.asarray(at - np.exp(at))


def unit_rates(model: Any, numbers: FloatArray) -> FloatArray:
    """Return mean rewards on the unit scale, away from 0 and 1, where logarithms are infinite."""
    low, high = model.reward_range
    means = model.means(numbers if isinstance(model, VectorModel) else numbers[:, 0])
    return np.asarray(np.clip((means - low) / (high - low), _MIN_RATE, 1.0 - _MIN_RATE))


def probability_weights(
    model: Any, points: Points, conditions: Sequence[Callable[[FloatArray], BoolArray]]
) -> list[FloatArray]:
    """Return weights, (n_points, n_arms), whose sum with a density is a condition's probability.

    Args:
        model: the model.
        points: its points.
        conditions: each maps rates on the unit scale, (n_points, n_arms), to whether it holds.
    """
    if not conditions:
        return []
    shape = (*points.shape, points.rates.shape[1])
    totals = [np.zeros(shape) for _ in conditions]
    for shift, numbers in points.parts:
        rates = unit_rates(model, numbers)
        for condition, total in zip(conditions, totals, strict=True):
            holds = condition(rates).reshape(shape).astype(np.float64)
            for axis, distance in enumerate(shift):
                holds = _spread(holds, axis, distance)
            total += holds
    return [total.reshape(points.rates.shape) / len(points.parts) for total in totals]


def _spread(values: FloatArray, axis: int, distance: float) -> FloatArray:
    """Move values at a distance from the points to the points, with Lagrange's weights."""
    spread = np.zeros(values.shape)
    to, given = np.moveaxis(spread, axis, 0), np.moveaxis(values, axis, 0)
    n = len(given)
    for node in _NODE_OFFSETS:
        factors = [(distance - other) / (node - other) for other in _NODE_OFFSETS if other != node]
        moved = math.prod(factors) * given
        # The first and the last point take the weights of points beyond them.
        if node >= 0:
            to[node:] += moved[: n - node]
            to[-1] += moved[n - node :].sum(axis=0)
        else:
            to[:node] += moved[-node:]
            to[0] += moved[:-node].sum(axis=0)
    return spread
