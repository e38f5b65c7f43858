"""The tables of a model with several unknown numbers, and the functions that read them.

The means are tabulated on an even grid of the box of the parameters. Between the nodes they are
interpolated with cubic polynomials (four-point Lagrange weights) along each parameter. Points are
in unit coordinates: the box of the parameters is mapped to [0, 1]^d. Means are on the unit reward
scale. The functions use the subset of Python that Numba compiles.
"""

from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.model.tables import Curves, Peaks

# Means that are looked up lie in [MEAN_MARGIN, 1 - MEAN_MARGIN], so that their logarithms are
# finite. Interpolation can leave [0, 1] by about as much.
MEAN_MARGIN = 1e-6


class VectorTables(NamedTuple):
    """The data of a model that policies read, on the unit scales of rewards and of worth.

    The fields from ``valued`` on are those of `Tables`, so policies that use no curves read
    either.
    """

    n_arms: int
    n_parameters: int
    low: FloatArray  # (n_parameters,) the box, in the user's units
    high: FloatArray  # (n_parameters,)
    n_nodes: int  # nodes along each parameter
    nodes: FloatArray  # (n_nodes**n_parameters, n_arms) means; the last parameter varies fastest
    direction: FloatArray  # (n_arms, n_parameters) 1 or -1 where the mean rises or falls, else 0
    monotone: bool  # whether every mean rises, falls or is constant in every parameter
    invertible: bool  # False: one mean does not determine several numbers
    valued: bool
    value: Curves
    peaks: Peaks
    value_slope: FloatArray
    value_offset: FloatArray
    affine_increasing: bool
    n_contexts: int = 1  # as in `Tables`


def first_node(x: float, n_nodes: int) -> int:
    """Return the first of the four nodes around x, which is in [0, 1]."""
    node = int(x * (n_nodes - 1)) - 1
    return min(max(node, 0), n_nodes - 4)


def node_weights(x: float, n_nodes: int) -> tuple[float, float, float, float]:
    """Return the weights of the four nodes around x.

    >>> [round(weight, 4) for weight in node_weights(0.625, 5)]
    [-0.0625, 0.5625, 0.5625, -0.0625]
    """
    t = x * (n_nodes - 1) - (first_node(x, n_nodes) + 1)
    a, b, c = t + 1.0, t - 1.0, t - 2.0
    return -t * b * c / 6.0, a * b * c / 2.0, -a * t * c / 2.0, a * t * b / 6.0


def node_slopes(x: float, n_nodes: int) -> tuple[float, float, float, float]:
    """Return the derivatives of the four weights by x."""
    t = x * (n_nodes - 1) - (first_node(x, n_nodes) + 1)
    a, b, c = t + 1.0, t - 1.0, t - 2.0
    s = n_nodes - 1.0
    return (
        -(b * c + t * c + t * b) / 6.0 * s,
        (b * c + a * c + a * b) / 2.0 * s,
        -(t * c + a * c + a * t) / 2.0 * s,
        (t * b + a * b + a * t) / 6.0 * s,
    )


def means_at(tables: VectorTables, point: FloatArray, means: FloatArray) -> None:
    """Write the means of all arms at a point of the unit box into ``means``."""
    n = tables.n_nodes
    means[:] = 0.0
    x = point[0]
    first = first_node(x, n)
    wx = node_weights(x, n)
    if tables.n_parameters == 1:
        for i in range(4):
            add_row(tables.nodes, first + i, wx[i], means)
    else:
        y = point[1]
        first = first * n + first_node(y, n)
        wy = node_weights(y, n)
        if tables.n_parameters == 2:
            for i in range(4):
                for j in range(4):
                    add_row(tables.nodes, first + i * n + j, wx[i] * wy[j], means)
        else:
            z = point[2]
            first = first * n + first_node(z, n)
            wz = node_weights(z, n)
            for i in range(4):
                for j in range(4):
                    for k in range(4):
                        row = first + (i * n + j) * n + k
                        add_row(tables.nodes, row, wx[i] * wy[j] * wz[k], means)
    for arm in range(tables.n_arms):
        means[arm] = min(max(means[arm], MEAN_MARGIN), 1.0 - MEAN_MARGIN)


def gradients_at(tables: VectorTables, point: FloatArray, gradients: FloatArray) -> None:
    """Write the derivatives of all means by the unit coordinates, shape (n_parameters, n_arms)."""
    n = tables.n_nodes
    gradients[:] = 0.0
    x = point[0]
    first = first_node(x, n)
    wx, sx = node_weights(x, n), node_slopes(x, n)
    if tables.n_parameters == 1:
        for i in range(4):
            add_row(tables.nodes, first + i, sx[i], gradients[0])
        return
    y = point[1]
    first = first * n + first_node(y, n)
    wy, sy = node_weights(y, n), node_slopes(y, n)
    if tables.n_parameters == 2:
        for i in range(4):
            for j in range(4):
                row = first + i * n + j
                add_row(tables.nodes, row, sx[i] * wy[j], gradients[0])
                add_row(tables.nodes, row, wx[i] * sy[j], gradients[1])
        return
    z = point[2]
    first = first * n + first_node(z, n)
    wz, sz = node_weights(z, n), node_slopes(z, n)
    for i in range(4):
        for j in range(4):
            for k in range(4):
                row = first + (i * n + j) * n + k
                add_row(tables.nodes, row, sx[i] * wy[j] * wz[k], gradients[0])
                add_row(tables.nodes, row, wx[i] * sy[j] * wz[k], gradients[1])
                add_row(tables.nodes, row, wx[i] * wy[j] * sz[k], gradients[2])


def add_row(nodes: FloatArray, row: int, weight: float, total: FloatArray) -> None:
    """Add a multiple of the means at one node to a total."""
    for arm in range(total.shape[0]):
        total[arm] += weight * nodes[row, arm]


# The same look-up for many points at once, with NumPy. It serves the analysis, not the loops.


def means_at_many(nodes: FloatArray, n_nodes: int, points: FloatArray) -> FloatArray:
    """Return the means at points of the unit box: (n, n_parameters) to (n, n_arms).

    The means are not cut to [MEAN_MARGIN, 1 - MEAN_MARGIN].
    """
    first = np.clip((points * (n_nodes - 1)).astype(np.int64) - 1, 0, n_nodes - 4)
    t = points * (n_nodes - 1) - (first + 1)
    a, b, c = t + 1.0, t - 1.0, t - 2.0
    weights = np.stack([-t * b * c / 6.0, a * b * c / 2.0, -a * t * c / 2.0, a * t * b / 6.0])
    rows = np.zeros((1, len(points)), np.int64)
    joint = np.ones((1, len(points)))
    for axis in range(points.shape[1]):
        rows = (rows * n_nodes + first[:, axis])[:, None] + np.arange(4)[None, :, None]
        rows = rows.reshape(-1, len(points))
        joint = (joint[:, None] * weights[None, :, :, axis]).reshape(-1, len(points))
    total = np.zeros((len(points), nodes.shape[1]))
    for row, weight in zip(rows, joint, strict=True):
        total += weight[:, None] * nodes[row]
    return total
