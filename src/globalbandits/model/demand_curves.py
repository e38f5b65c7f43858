"""The formulas behind the demand catalogue, elementwise over arrays of theta and prices."""

from collections.abc import Callable
from typing import Any

import numpy as np

from globalbandits._types import FloatArray

Curve = Callable[..., FloatArray]  # of (theta, price), or for inverses of (demand, price)


def revenue(demand: Curve, theta: Any, price: Any) -> FloatArray:
    """What a customer pays on average: price * demand."""
    return np.asarray(price * demand(theta, price))


def inverse_revenue(inverse: Curve, value: Any, price: Any) -> FloatArray:
    """Theta from the revenue."""
    return inverse(value / price, price)


def linear_power(theta: Any, price: Any, power: float) -> FloatArray:
    """(1 - theta * price)**power, and 0 from the price 1 / theta on."""
    return np.asarray(np.maximum(1.0 - theta * price, 0.0) ** power)


def inverse_linear_power(demand: Any, price: Any, power: float) -> FloatArray:
    """Theta from the demand."""
    return np.asarray((1.0 - demand ** (1.0 / power)) / price)


def exponential(theta: Any, price: Any) -> FloatArray:
    """exp(-theta * price)."""
    return np.asarray(np.exp(-theta * price))


def inverse_exponential(demand: Any, price: Any) -> FloatArray:
    """Theta from the demand."""
    return np.asarray(-np.log(demand) / price)


def logit(theta: Any, price: Any, sensitivity: float) -> FloatArray:
    """1 / (1 + exp(sensitivity * price - theta))."""
    return np.asarray(1.0 / (1.0 + np.exp(sensitivity * price - theta)))


def inverse_logit(demand: Any, price: Any, sensitivity: float) -> FloatArray:
    """Theta from the demand."""
    return np.asarray(sensitivity * price + np.log(demand) - np.log1p(-demand))


def isoelastic(theta: Any, price: Any, reference: float) -> FloatArray:
    """(price / reference)**-theta."""
    return np.asarray((price / reference) ** (-theta))


def inverse_isoelastic(demand: Any, price: Any, reference: float) -> FloatArray:
    """Theta from the demand."""
    return np.asarray(-np.log(demand) / np.log(price / reference))


def log_log(theta: Any, price: Any, reference: float, cutoff: float) -> FloatArray:
    """Isoelastic demand of those who pay less than the cut-off."""
    # expm1 keeps the quotient exact down to the smallest theta, and so in the limit at 0 too.
    exponent = np.maximum(theta, np.finfo(np.float64).tiny)
    below = np.expm1(-exponent * np.log(cutoff / price))
    whole = np.expm1(-exponent * np.log(cutoff / reference))
    return np.asarray((price / reference) ** (-exponent) * below / whole)
