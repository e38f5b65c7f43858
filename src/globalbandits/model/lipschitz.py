"""The Lipschitz constant of the value as a function of the mean."""

import numpy as np

from globalbandits.model.curves import Evaluate
from globalbandits.model.polynomials import segment_arms
from globalbandits.model.tables import DEGREE, Curves

_SHADE = 1e-7  # constants are moved outward by this much, to be valid and not only accurate
_CHUNK = 4_000  # segments looked at together
_STEPS = np.array([1e-6, 1e-9, 1e-12])  # of the unit interval
_GROWTH = 1.2  # of a secant from one step to the next: it has no limit
_SMALLEST = 1e-12  # a change less than this is mostly rounding


def largest_slope(evaluate: Evaluate, curves: Curves) -> float:
    """The largest slope of any arm's curve over [0, 1]; infinite if it has none.

    Args:
        evaluate: ``evaluate(arms, arguments)``, elementwise, on the unit scales.
        curves: The same curves as polynomials.
    """
    if _is_unbounded(evaluate, curves):
        return float("inf")
    orders = np.arange(1, DEGREE + 1)
    powers = np.linspace(-1.0, 1.0, 257) ** (orders[:, None] - 1)
    largest = 0.0
    for start in range(0, len(curves.scale), _CHUNK):
        part = slice(start, start + _CHUNK)
        slopes = (curves.coefficients[part, 1:] * orders) @ powers * curves.scale[part, None]
        largest = max(largest, float(np.abs(slopes).max()))
    return largest * (1.0 + _SHADE)


def _is_unbounded(evaluate: Evaluate, curves: Curves) -> bool:
    """Whether secants grow without bound towards an end or towards the narrowest segment."""
    n_arms = len(curves.low)
    owner = segment_arms(curves)
    narrowest = np.lexsort((-curves.scale, owner))[np.searchsorted(owner, np.arange(n_arms))]
    every = np.arange(n_arms)
    for center in (np.zeros(n_arms), np.ones(n_arms), curves.left[narrowest]):
        for side in (-1.0, 1.0):
            points = np.clip(center[:, None] + side * _STEPS, 0.0, 1.0)
            change = np.abs(evaluate(every[:, None], points) - evaluate(every, center)[:, None])
            secants = change / _STEPS
            growing = (secants[:, 1:] > _GROWTH * secants[:, :-1]).all(axis=1)
            if (growing & (change[:, -1] > _SMALLEST)).any():
                return True
    return False
