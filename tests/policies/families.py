"""Families of arms the policies are tested on, for arrays (NumPy) and for numbers (math)."""

import math
from functools import cache

import numpy as np

from globalbandits.model import RewardModel

PRICES = tuple(round(0.05 * i, 2) for i in range(8, 20))


def pricing(exp):
    return [lambda theta, p=p: p * (1.0 - p * theta) ** 2 for p in PRICES]


def illustration(exp):
    return [
        lambda theta: 1.0 - theta**0.5,
        lambda theta: 0.8 * theta,
        lambda theta: theta**2,
    ]


def linear(exp):
    # Crossings at odd numbers: with Bernoulli rewards estimates are fractions, and at an edge
    # such as 4/7 rounding would decide.
    lines = [
        (0.9137, -0.8291),
        (0.7713, -0.5117),
        (0.6131, -0.1737),
        (0.4417, 0.2311),
        (0.2113, 0.6151),
        (0.0419, 0.9337),
    ]
    return [lambda theta, a=a, b=b: a + b * theta for a, b in lines]


def logistic(exp):
    prices = [0.3, 0.45, 0.6, 0.75, 0.9]
    return [lambda theta, p=p: p / (1.0 + exp(8.0 * p - 6.0 * theta - 2.0)) for p in prices]


def exponential(exp):
    prices = [0.35, 0.5, 0.65, 0.8, 0.95]
    return [lambda theta, p=p: p * exp(-3.0 * p * theta) for p in prices]


FAMILIES = {f.__name__: f for f in (pricing, illustration, linear, logistic, exponential)}
TRUTH = {
    "pricing": 0.4,
    "illustration": 0.55,
    "linear": 0.3,
    "logistic": 0.45,
    "exponential": 0.6,
}


@cache
def model_of(name):
    arms = {"pricing": PRICES}.get(name)
    return RewardModel.from_functions(FAMILIES[name](np.exp), arms=arms)


def means_of(name):
    """The same means as functions of a single number."""
    return FAMILIES[name](math.exp)


def beta_reward(mean, uniform):
    """Beta(1, (1 - mean) / mean) by its inverse distribution function."""
    return 1.0 - uniform ** (mean / (1.0 - mean))


def bernoulli_reward(mean, uniform):
    return float(uniform < mean)
