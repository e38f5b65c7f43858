"""The tabulation of means on a grid of the unit box, with checks of what the user gave."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray
from globalbandits._validation import require
from globalbandits.errors import ModelError
from globalbandits.model.vector.unit_mean import BoxMeans
from globalbandits.model.vector_tables import means_at_many

# Nodes along each parameter: at first, and at most by the number of parameters.
_MIN_NODES = 33
_MAX_NODES = {1: 1025, 2: 257, 3: 65}

# Numbers in a table; 64 MB.
_MAX_NUMBERS = 8_000_000

# The table is refined until the means at the test points are this exact, on the unit scale.
_MEAN_TOLERANCE = 1e-6
_N_TEST_POINTS = 1_000

# Rounding may exceed the reward range by this share of it.
_RANGE_TOLERANCE = 1e-9

# Smaller changes of a mean, on the unit scale, are rounding errors.
_MIN_CHANGE = 1e-12

# Additive recurrence with the inverse powers of the root of x**(d + 1) = x + 1, which spreads
# points evenly over a box (Roberts, 2018).
_ROOTS = {1: 1.618033988749895, 2: 1.324717957244746, 3: 1.2207440846057596}


class Tabulation(NamedTuple):
    """Unit means at the nodes of a grid."""

    n_nodes: int
    nodes: FloatArray  # (n_nodes**n_parameters, n_arms)
    direction: FloatArray  # (n_arms, n_parameters)
    resolution: float  # the largest error at the test points, on the unit scale


class UnitModel(NamedTuple):
    """What the analysis needs of a model: means and worth at points of the unit box."""

    n_arms: int
    n_parameters: int
    means: Callable[[FloatArray], FloatArray]  # points (n, d) -> unit means (n, n_arms)
    worth: Callable[[FloatArray], FloatArray]  # unit means -> worth in the user's units
    thetas: Callable[[FloatArray], FloatArray]  # points -> parameters in the user's units


def grid_points(n_parameters: int, n: int, *, middles: bool = False) -> FloatArray:
    """Return an even grid of the unit box, shape (n**n_parameters, n_parameters).

    >>> grid_points(2, 2, middles=True).tolist()
    [[0.25, 0.25], [0.25, 0.75], [0.75, 0.25], [0.75, 0.75]]
    """
    line = (np.arange(n) + 0.5) / n if middles else np.linspace(0.0, 1.0, n)
    axes = np.meshgrid(*[line] * n_parameters, indexing="ij")
    return np.stack(axes, axis=-1).reshape(-1, n_parameters)


def spread_points(n_parameters: int, n: int) -> FloatArray:
    """Return n points that are spread evenly over the unit box, without randomness."""
    steps = _ROOTS[n_parameters] ** -np.arange(1.0, n_parameters + 1)
    points = (0.5 + np.arange(1, n + 1)[:, None] * steps) % 1.0
    return np.asarray(points)


def tabulate(
    means: BoxMeans,
    arms: tuple[Any, ...],
    names: Sequence[str],
    reward_range: tuple[float, float],
) -> Tabulation:
    """Check the means and tabulate them on the coarsest grid that is exact enough."""
    d, n_arms = len(names), len(arms)
    smallest = n_arms * _MIN_NODES**d
    most = _MAX_NUMBERS // _MIN_NODES**d
    rule = f"be at most {most:,} for {d} parameters"
    require(smallest <= _MAX_NUMBERS, "number of arms", rule, n_arms, ModelError)
    tests = spread_points(d, _N_TEST_POINTS)
    expected = unit_means(means, tests, arms, reward_range)
    n = _MIN_NODES
    while True:
        nodes = unit_means(means, grid_points(d, n), arms, reward_range)
        error = float(np.abs(means_at_many(nodes, n, tests) - expected).max())
        finer = 2 * n - 1
        if error <= _MEAN_TOLERANCE or finer > _MAX_NODES[d] or n_arms * finer**d > _MAX_NUMBERS:
            break
        n = finer
    _check_parameters(nodes, n, names)
    return Tabulation(n, nodes, _directions(nodes, n, d), error)


def unit_means(
    means: BoxMeans, points: FloatArray, arms: tuple[Any, ...], reward_range: tuple[float, float]
) -> FloatArray:
    """Return checked means on the unit scale; errors name the arm and the parameters."""
    low, high = reward_range
    found = means(points)
    slack = _RANGE_TOLERANCE * (high - low)
    wrong = ~((found >= low - slack) & (found <= high + slack))
    if wrong.any():
        bad = ~np.isfinite(found)
        row, arm = np.argwhere(bad if bad.any() else wrong)[0]
        rule = "be finite" if bad.any() else f"lie in the reward range [{low:g}, {high:g}]"
        raise ModelError(
            f"mean of arm {arms[arm]!r} must {rule}, got {found[row, arm]:.6g} "
            f"at {means.place(means.thetas(points[row]))}"
        )
    return np.clip((found - low) / (high - low), 0.0, 1.0)


def _check_parameters(nodes: FloatArray, n: int, names: Sequence[str]) -> None:
    """Raise an error if no mean changes with a parameter."""
    grid = nodes.reshape((n,) * len(names) + (-1,))
    for axis, name in enumerate(names):
        if np.ptp(grid, axis=axis).max() <= _MIN_CHANGE:
            raise ModelError(
                f"mean must depend on every parameter of the domain, got one that ignores {name!r}"
            )


def _directions(nodes: FloatArray, n: int, d: int) -> FloatArray:
    """Return 1 or -1 for means that only rise or only fall along a parameter, else 0.

    A mean that is constant along a parameter counts as rising.
    """
    grid = nodes.reshape((n,) * d + (-1,))
    direction = np.zeros((nodes.shape[1], d))
    for axis in range(d):
        steps = np.diff(grid, axis=axis).reshape(-1, nodes.shape[1])
        rising = (steps >= -_MIN_CHANGE).all(axis=0)
        falling = (steps <= _MIN_CHANGE).all(axis=0)
        direction[:, axis] = np.where(rising, 1.0, np.where(falling, -1.0, 0.0))
    return direction
