"""Where tabulated curves turn: between these places every one of them is monotone."""

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.model.polynomials import evaluate_many
from globalbandits.model.tables import DEGREE, Curves
from globalbandits.model.turns import LEAST, extremes

_POWERS = np.arange(1, DEGREE + 1)
_REAL = 1e-6  # imaginary part of a root: a double root that rounding has split is real


def turning_points(curves: Curves, rounding: float) -> FloatArray:
    """The inner arguments at which some curve turns, in rising order.

    A polynomial turns only where its derivative has a root, so nothing is missed between the
    samples it was made from. Turns by less than the tolerance of the tables, or by less than
    four times ``rounding``, are not turns.
    """
    found = [np.empty(0)]
    least = max(LEAST, 4.0 * rounding)
    for arm in range(curves.low.shape[0]):
        places = np.concatenate([_candidates(curves, arm), curves.high[arm : arm + 1]])
        values = evaluate_many(curves, arm, places)
        chosen = [index for index, _ in extremes(values, np.full(values.shape, least))]
        found.append(places[chosen])
    return np.unique(np.concatenate(found))


def _candidates(curves: Curves, arm: int) -> FloatArray:
    """Left ends of one arm's segments, and roots of the derivative inside, in rising order."""
    first, last = int(curves.guide[arm, 0]), int(curves.guide[arm, -1])
    slopes = curves.coefficients[first : last + 1, 1:] * _POWERS
    rest = np.abs(slopes[:, 1:]).sum(axis=1)
    roots = [curves.left[first : last + 1]]
    # Where the constant outweighs all the rest the slope keeps its sign.
    may_turn = ~(np.abs(slopes[:, 0]) > rest) & (curves.scale[first : last + 1] > 0.0)
    for segment in first + np.flatnonzero(may_turn):
        root = np.roots(slopes[segment - first, ::-1])
        inside = (np.abs(root.imag) < _REAL) & (np.abs(root.real) < 1.0)
        roots.append(curves.middle[segment] + root.real[inside] / curves.scale[segment])
    return np.sort(np.clip(np.concatenate(roots), curves.low[arm], curves.high[arm]))
