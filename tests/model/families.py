"""Mean functions with known answers, used across the model tests."""

import numpy as np

PRICES = np.arange(8, 20) * 0.05


def pricing(theta, price):
    return price * (1.0 - price * theta) ** 2


def logistic(theta):
    return 1.0 / (1.0 + np.exp(-8.0 * (theta - 0.4)))


def piecewise(theta):
    return np.interp(theta, [0.0, 0.3, 0.7, 1.0], [0.05, 0.1, 0.8, 0.9])


SINGLE = {
    "linear": lambda theta: 0.2 + 0.5 * theta,
    "falling linear": lambda theta: 0.9 - 0.7 * theta,
    "piecewise linear": piecewise,
    "exponential": lambda theta: 0.1 * np.exp(2.0 * theta),
    "falling exponential": lambda theta: np.exp(-3.0 * theta),
    "1-sqrt": lambda theta: 1.0 - np.sqrt(theta),
    "logistic": logistic,
    **{f"theta**{g}": (lambda theta, g=g: theta**g) for g in range(2, 8)},
    **{f"theta**(1/{g})": (lambda theta, g=g: theta ** (1.0 / g)) for g in range(2, 8)},
    **{f"price {p:.2f}": (lambda theta, p=p: pricing(theta, p)) for p in PRICES},
}

THREE_ARMS = [
    lambda theta: 1.0 - np.sqrt(theta),
    lambda theta: 0.8 * theta,
    lambda theta: theta**2,
]
