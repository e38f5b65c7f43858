"""The formulas behind the dose catalogue, elementwise over arrays of theta and doses.

Each curve comes with its derivative by theta, as a product of factors that keep their sign.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from globalbandits._types import FloatArray

Curve = Callable[..., FloatArray]  # of (theta, dose), or for inverses of (response, dose)


def linear(theta: Any, dose: Any) -> FloatArray:
    """Theta * dose."""
    return np.asarray(theta * dose)


def slope_linear(theta: Any, dose: Any) -> FloatArray:
    """Positive: doses are."""
    return np.asarray(dose + 0.0 * theta)


def inverse_linear(response: Any, dose: Any) -> FloatArray:
    """Theta from the response."""
    return np.asarray(response / dose)


def logistic(theta: Any, dose: Any, intercept: float) -> FloatArray:
    """1 / (1 + exp(-intercept - theta * dose))."""
    return np.asarray(1.0 / (1.0 + np.exp(-intercept - theta * dose)))


def slope_logistic(theta: Any, dose: Any, intercept: float) -> FloatArray:
    """The dose times the response and one less the response: positive."""
    odds = np.exp(-np.abs(intercept + theta * dose))
    return np.asarray(dose * odds / (1.0 + odds) ** 2)


def inverse_logistic(response: Any, dose: Any, intercept: float) -> FloatArray:
    """Theta from the response."""
    return np.asarray((np.log(response) - np.log1p(-response) - intercept) / dose)


def emax(theta: Any, dose: Any, hill: float) -> FloatArray:
    """dose**hill / (theta**hill + dose**hill)."""
    return np.asarray(1.0 / (1.0 + (theta / dose) ** hill))


def slope_emax(theta: Any, dose: Any, hill: float) -> FloatArray:
    """Negative: theta and hill are positive."""
    odds = np.exp(-np.abs(hill * np.log(theta / dose)))
    return np.asarray(-hill / theta * odds / (1.0 + odds) ** 2)


def inverse_emax(response: Any, dose: Any, hill: float) -> FloatArray:
    """Theta from the response."""
    return np.asarray(dose * (1.0 / response - 1.0) ** (1.0 / hill))


def power(theta: Any, guess: Any) -> FloatArray:
    """guess**exp(theta)."""
    return np.asarray(guess ** np.exp(theta))


def slope_power(theta: Any, guess: Any) -> FloatArray:
    """Negative: guesses are below 1."""
    return np.asarray(np.log(guess) * np.exp(theta) * guess ** np.exp(theta))


def inverse_power(response: Any, guess: Any) -> FloatArray:
    """Theta from the response."""
    return np.asarray(np.log(np.log(response) / np.log(guess)))


def hyperbolic_tangent(theta: Any, dose: Any) -> FloatArray:
    """((tanh(dose) + 1) / 2)**theta."""
    # (tanh(x) + 1) / 2 = 1 / (1 + exp(-2 x)), which keeps its digits at negative doses.
    return np.asarray((1.0 + np.exp(-2.0 * dose)) ** (-theta))


def slope_hyperbolic_tangent(theta: Any, dose: Any) -> FloatArray:
    """Negative: the base is below 1."""
    base = np.log1p(np.exp(-2.0 * dose))
    return np.asarray(-base * np.exp(-theta * base))


def inverse_hyperbolic_tangent(response: Any, dose: Any) -> FloatArray:
    """Theta from the response."""
    return np.asarray(-np.log(response) / np.log1p(np.exp(-2.0 * dose)))
