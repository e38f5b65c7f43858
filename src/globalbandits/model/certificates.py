"""Curves whose derivative has a known sign: no grid is needed to know that they are monotone."""

from collections.abc import Callable
from typing import Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.errors import ModelError
from globalbandits.model.checks import check_grid

Curve = Callable[..., FloatArray]  # of (theta, arm)


class CertifiedMean:
    """A mean with its derivative in closed form, a product of factors that keep their sign.

    Args:
        mean: ``mean(theta, arm)``.
        slope: Its derivative by theta. That it has one sign inside the domain is for whoever
            writes it to show; that it is the sign of the mean's changes is checked.
    """

    def __init__(self, mean: Curve, slope: Curve) -> None:
        self._mean = mean
        self.slope = slope

    def __call__(self, theta: Any, arm: Any) -> FloatArray:
        """The mean itself."""
        return self._mean(theta, arm)


def is_certified(mean: object, arms: tuple[Any, ...], domain: tuple[float, float]) -> bool:
    """Whether a certificate comes with the mean; one that does not fit it is refused."""
    if not isinstance(mean, CertifiedMean):
        return False
    grid = check_grid(domain, 64)
    low, high = grid[:-1], grid[1:]
    column = np.asarray(arms, dtype=float)[:, None]
    with np.errstate(all="ignore"):
        slopes = mean.slope(0.5 * (low + high), column)
        change = mean(high, column) - mean(low, column)
    sign = np.sign(np.nansum(change, axis=1, keepdims=True))
    # Underflow may make a slope 0 far out, where the mean does not move in floats either.
    wrong = (sign * slopes < 0.0) | ~np.isfinite(slopes)
    if wrong.any():
        arm, cell = np.argwhere(wrong)[0]
        raise ModelError(
            f"slope of arm {arms[arm]!r} must have the sign of its mean's change, "
            f"got {slopes[arm, cell]:.6g} at theta = {0.5 * (low + high)[cell]:.6g}"
        )
    return True
