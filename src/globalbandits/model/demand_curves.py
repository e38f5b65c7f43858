"""The formulas behind the demand catalogue, elementwise over arrays of theta and prices.

Each curve comes with its derivative by theta, as a product of factors that keep their sign:
demand falls with theta (`logit`: rises) everywhere inside the domain, and no grid has to tell.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from globalbandits._types import FloatArray

Curve = Callable[..., FloatArray]  # of (theta, price), or for inverses of (demand, price)


def revenue(demand: Curve, theta: Any, price: Any) -> FloatArray:
    """What a customer pays on average: price * demand."""
    return np.asarray(price * demand(theta, price))


def slope_revenue(slope: Curve, theta: Any, price: Any) -> FloatArray:
    """The sign of the demand's slope: prices are positive."""
    return np.asarray(price * slope(theta, price))


def inverse_revenue(inverse: Curve, value: Any, price: Any) -> FloatArray:
    """Theta from the revenue."""
    return inverse(value / price, price)


def linear_power(theta: Any, price: Any, power: float) -> FloatArray:
    """(1 - theta * price)**power, and 0 from the price 1 / theta on."""
    return np.asarray(np.maximum(1.0 - theta * price, 0.0) ** power)


def slope_linear_power(theta: Any, price: Any, power: float) -> FloatArray:
    """Negative where theta < 1 / price, which the domain does not go beyond."""
    return np.asarray(-power * price * np.maximum(1.0 - theta * price, 0.0) ** (power - 1.0))


def inverse_linear_power(demand: Any, price: Any, power: float) -> FloatArray:
    """Theta from the demand."""
    return np.asarray((1.0 - demand ** (1.0 / power)) / price)


def exponential(theta: Any, price: Any) -> FloatArray:
    """exp(-theta * price)."""
    return np.asarray(np.exp(-theta * price))


def slope_exponential(theta: Any, price: Any) -> FloatArray:
    """Negative."""
    return np.asarray(-price * np.exp(-theta * price))


def inverse_exponential(demand: Any, price: Any) -> FloatArray:
    """Theta from the demand."""
    return np.asarray(-np.log(demand) / price)


def logit(theta: Any, price: Any, sensitivity: float) -> FloatArray:
    """1 / (1 + exp(sensitivity * price - theta))."""
    return np.asarray(1.0 / (1.0 + np.exp(sensitivity * price - theta)))


def slope_logit(theta: Any, price: Any, sensitivity: float) -> FloatArray:
    """Demand times one less demand: positive."""
    odds = np.exp(-np.abs(sensitivity * price - theta))
    return np.asarray(odds / (1.0 + odds) ** 2)


def inverse_logit(demand: Any, price: Any, sensitivity: float) -> FloatArray:
    """Theta from the demand."""
    return np.asarray(sensitivity * price + np.log(demand) - np.log1p(-demand))


def isoelastic(theta: Any, price: Any, reference: float) -> FloatArray:
    """(price / reference)**-theta."""
    return np.asarray((price / reference) ** (-theta))


def slope_isoelastic(theta: Any, price: Any, reference: float) -> FloatArray:
    """Negative: prices are above the reference."""
    return np.asarray(-np.log(price / reference) * (price / reference) ** (-theta))


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


def slope_log_log(theta: Any, price: Any, reference: float, cutoff: float) -> FloatArray:
    """Negative: those who pay the price are willing to pay more than all are on average.

    The derivative is demand times the difference of the two means of log(willingness to pay).
    """
    whole = np.log(cutoff / reference)
    above = np.log(price / reference)
    everybody = _truncated_mean(theta, whole)
    buyers = above + _truncated_mean(theta, whole - above)
    return np.asarray(log_log(theta, price, reference, cutoff) * (everybody - buyers))


def _truncated_mean(rate: Any, length: Any) -> FloatArray:
    """The mean of an exponential distribution with this rate, cut off at ``length``."""
    x = rate * length
    small = np.abs(x) < 1e-4
    safe = np.where(small, 1.0, x)
    share = np.where(small, 0.5 - x / 12.0, 1.0 / safe - 1.0 / np.expm1(safe))
    return np.asarray(length * share)
