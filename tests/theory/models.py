"""Models of the package, and the same problems in the oracle's plain formulas."""

from typing import NamedTuple

from globalbandits.model import RewardModel
from tests.oracles.simulation import PRICES, PRICING, Problem, bernoulli, beta, lines, power_pair


class Case(NamedTuple):
    model: RewardModel
    problem: Problem
    theta: float
    draw: object


def pricing(theta=0.4):
    model = RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, PRICES)
    return Case(model, PRICING, theta, beta)


def crossing_lines(theta=0.7):
    model = RewardModel.from_functions([lambda x: x, lambda x: 1 - x, lambda x: 0.8 * x])
    return Case(model, lines([1.0, -1.0, 0.8]), theta, bernoulli)


def power(theta=0.85, g=3):
    model = RewardModel.from_functions([lambda x: x**g, lambda x: 1 - x**g])
    return Case(model, power_pair(g), theta, bernoulli)


CASES = {"pricing": pricing, "lines": crossing_lines, "power": power}
