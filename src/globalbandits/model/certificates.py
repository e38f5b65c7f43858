"""Curves whose derivative has a known sign: no grid is needed to know that they are monotone."""

from collections.abc import Callable
from typing import Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.errors import ModelError
from globalbandits.model.checks import check_grid
from globalbandits.model.functions import PerArm

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

    def unseen_width(self, arms: tuple[Any, ...], domain: tuple[float, float]) -> float:
        """Always 0; a slope that does not fit the mean is refused."""
        grid = check_grid(domain, 64)
        low, high = grid[:-1], grid[1:]
        column = np.asarray(arms, dtype=float)[:, None]
        with np.errstate(all="ignore"):
            slopes = self.slope(0.5 * (low + high), column)
            change = self(high, column) - self(low, column)
        sign = np.sign(np.nansum(change, axis=1, keepdims=True))
        # Underflow may make a slope 0 far out, where the mean does not move in floats either.
        wrong = (sign * slopes < 0.0) | ~np.isfinite(slopes)
        if wrong.any():
            arm, cell = np.argwhere(wrong)[0]
            raise ModelError(
                f"slope of arm {arms[arm]!r} must have the sign of its mean's change, "
                f"got {slopes[arm, cell]:.6g} at theta = {0.5 * (low + high)[cell]:.6g}"
            )
        return 0.0


def unseen_width(mean: PerArm, arms: tuple[Any, ...], domain: tuple[float, float]) -> float:
    """How wide a stretch of theta the means can tell nothing about; infinite if they cannot tell.

    Means that are only functions are known where they were looked at.
    """
    sources: list[tuple[Any, tuple[Any, ...]]] = [(mean.table or mean.joint, arms)]
    if mean.table is None and mean.joint is None:
        sources = [(each, (arm,)) for each, arm in zip(mean.functions, arms, strict=True)]
    if not all(hasattr(source, "unseen_width") for source, _ in sources):
        return np.inf
    return max(float(source.unseen_width(those, domain)) for source, those in sources)
