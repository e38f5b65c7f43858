"""The value functions of the catalogues: profit of a sale, and benefit of a dose."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from globalbandits._types import FloatArray


@dataclass(frozen=True)
class Profit:
    """Profit ``(price - cost) * sold``, where ``sold`` is the share of customers who buy.

    >>> Profit(cost=0.3)(0.5, 0.8).item()
    0.25
    """

    cost: float

    def __call__(self, sold: Any, price: Any) -> FloatArray:
        """Return the profit at this share of sales."""
        return np.asarray((price - self.cost) * sold)

    def remarks(self, prices: tuple[Any, ...]) -> tuple[str, ...]:
        """Return warnings about a cost that may be a mistake."""
        if self.cost <= max(prices):
            return ()
        return (f"cost {self.cost:g} is above every price: each sale loses money",)


@dataclass(frozen=True)
class Benefit:
    """Benefit ``response - penalty * dose``, or ``-|response - target| - penalty * dose``.

    >>> Benefit(target=0.25)(np.array([0.2, 0.4]), 1.0).round(2).tolist()
    [-0.05, -0.15]
    """

    target: float | None = None
    penalty: float = 0.0

    def __call__(self, response: Any, dose: Any) -> FloatArray:
        """Return the worth of a dose with this mean response."""
        gain = response if self.target is None else 0.0 - np.abs(response - self.target)
        # Without a penalty a dose may be a label.
        return np.asarray(gain if self.penalty == 0.0 else gain - self.penalty * dose)

    def remarks(self, doses: tuple[Any, ...]) -> tuple[str, ...]:
        """Return no warnings."""
        return ()
