"""Models whose decisions are worth something else than what is observed."""

import numpy as np

import globalbandits as gb


def power(theta, exponent):
    return theta**exponent


EXPONENTS = [0.5, 1.0, 2.0, 3.0]

VALUED = {
    "target": lambda: gb.dose.power([0.05, 0.1, 0.2, 0.3, 0.5, 0.7], target=0.25),
    "target, a third": lambda: gb.dose.logistic([1, 2, 3, 4, 5, 6], target=1 / 3),
    "target and penalty": lambda: gb.dose.emax([1, 2, 4, 8], target=0.4, penalty=0.02),
    "penalty": lambda: gb.dose.emax([1, 2, 4, 8], penalty=0.05),
    "profit": lambda: gb.demand.exponential([2, 3, 4, 5, 6, 7, 8], cost=1.2),
    "cost among the prices": lambda: gb.demand.exponential([2, 3, 4, 5, 6, 7, 8], cost=4.3),
    "cost at a price": lambda: gb.demand.linear_power([0.4, 0.5, 0.8, 0.9], cost=0.5),
    "cost above all": lambda: gb.demand.logit([1, 2, 3], cost=9.0),
    "waves": lambda: gb.RewardModel(power, EXPONENTS, value=lambda m, a: np.sin(9.0 * m * a)),
    "narrow humps": lambda: gb.RewardModel(
        power, EXPONENTS, value=lambda m, a: 0.1 * m + np.exp(-(((m - 0.3 * a / 3) / 1e-3) ** 2))
    ),
    "capped": lambda: gb.RewardModel(
        lambda t, a: 1.0 - (1.0 - a * t) ** 2,
        [0.2, 0.5, 0.9],
        value=lambda m, a: np.minimum(m, 0.3) - 0.2 * a * m,
    ),
    "two kinks and currency": lambda: gb.RewardModel(
        lambda t, a: 20.0 + 60.0 * t**a,
        EXPONENTS,
        reward_range=(0.0, 100.0),
        value=lambda m, a: np.clip(m, 30.0, 50.0 + 5.0 * a) * (4.0 - a),
    ),
    "steep at an end": lambda: gb.RewardModel(
        power, EXPONENTS, value=lambda m, a: np.sqrt(m) - 0.3 * a * m
    ),
    "falling": lambda: gb.RewardModel.from_functions(
        [lambda t: t, lambda t: 1.0 - t, lambda t: 0.4 + 0.2 * t],
        values=[lambda m: -m, lambda m: -2.0 * m, lambda m: 0.3 - m],
    ),
}


def unit_worth(model, arm, unit_mean):
    """The value function itself, on the unit scales."""
    low, high = model.reward_range
    worth_low, worth_high = model.worth_range
    means = low + (high - low) * np.asarray(unit_mean)
    return (model.worth_of(arm, means) - worth_low) / (worth_high - worth_low)
