"""The best arm on a grid of cells of the box, and the share of the box of every arm."""

from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.vector.tabulation import UnitModel, grid_points

# Cells along each parameter.
CELLS = {1: 1024, 2: 128, 3: 32}


class BestArms(NamedTuple):
    """The best arms on a grid of equal cells of the box."""

    labels: IntArray  # (cells,) * n_parameters: the best arm in the middle of each cell
    shares: FloatArray  # (n_arms,) the share of the cells in which each arm is best
    dominated: tuple[int, ...]  # arms that are not best in any cell


def find_regions(model: UnitModel, cells: int) -> BestArms:
    """Return the best arm in the middle of each of ``cells**n_parameters`` cells."""
    points = grid_points(model.n_parameters, cells, middles=True)
    best = model.worth(model.means(points)).argmax(axis=1)
    shares = np.bincount(best, minlength=model.n_arms) / len(points)
    labels = best.reshape((cells,) * model.n_parameters)
    return BestArms(labels, shares, tuple(np.flatnonzero(shares == 0.0).tolist()))
