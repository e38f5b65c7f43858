"""Features of a curve that lie between the points its segments were made from."""

from collections.abc import Callable

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.polynomials import evaluate_many
from globalbandits.model.tables import Curves

_OFF = 1e-8  # of the unit range: a curve that is further off has missed something
_CHUNK = 500  # arms looked at together


def missed_places(
    evaluate: Callable[[IntArray, FloatArray], FloatArray], curves: Curves, grid: FloatArray
) -> FloatArray:
    """Where to cut so that features seen on the grid are met: a row per arm, nan for none.

    Each run of grid points that the curve misses is enclosed by its two neighbours, and cut in
    its middle.
    """
    n_arms = len(curves.low)
    found: list[list[float]] = [[] for _ in range(n_arms)]
    for start in range(0, n_arms, _CHUNK):
        arms = np.arange(start, min(start + _CHUNK, n_arms))
        values = evaluate(arms[:, None], np.broadcast_to(grid, (arms.size, grid.size)))
        table = np.stack([evaluate_many(curves, arm, grid) for arm in arms.tolist()])
        off = np.abs(table - values) > _OFF
        for row in np.flatnonzero(off.any(axis=1)):
            padded = np.concatenate([[False], off[row], [False]]).astype(int)
            for first, stop in np.flatnonzero(np.diff(padded)).reshape(-1, 2):
                last = min(stop, grid.size - 1)
                found[arms[row]] += [grid[max(first - 1, 0)], grid[(first + last) // 2], grid[last]]
    width = max(len(places) for places in found)
    rows = np.full((n_arms, width), np.nan)
    for arm, places in enumerate(found):
        rows[arm, : len(places)] = places
    return rows
