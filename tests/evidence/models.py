"""Models and rewards the evidence is tested on."""

from functools import cache

import numpy as np

from globalbandits.model import RewardModel

PRICES = tuple(round(0.05 * i, 2) for i in range(8, 20))


@cache
def model_of(name):
    return _MODELS[name]()


def pricing():
    return RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, PRICES)


def logistic_dose():
    """Benefit of a dose minus its price; theta is not in [0, 1]."""
    doses = (0.2, 0.5, 1.0, 1.6, 2.4)
    return RewardModel(
        lambda theta, d: 0.8 / (1 + np.exp(2.0 - theta * d)) + 0.48 - 0.19 * d,
        doses,
        domain=(-1.0, 4.0),
    )


def emax():
    return RewardModel(
        lambda theta, d: 0.8 * d / (d + theta) + 0.25 - 0.25 * d,
        (0.3, 0.7, 1.2, 1.8),
        domain=(0.1, 2.5),
    )


def exponential():
    return RewardModel(lambda theta, p: p * np.exp(-3 * p * theta), (0.35, 0.5, 0.65, 0.8, 0.95))


def illustration():
    return RewardModel.from_functions(
        [lambda theta: 1 - theta**0.5, lambda theta: 0.8 * theta, lambda theta: theta**2]
    )


def revenue():
    """Rewards in currency, from a loss of 20 to a gain of 180; means fall with theta."""
    return RewardModel(
        lambda theta, p: 180 * p * (1 - 0.8 * p * theta) - 20,
        (0.3, 0.5, 0.7, 0.9),
        reward_range=(-20.0, 180.0),
        domain=(0.0, 1.0),
    )


_MODELS = {
    f.__name__: f for f in (pricing, logistic_dose, emax, exponential, illustration, revenue)
}
TRUTH = {
    "pricing": 0.4,
    "logistic_dose": 1.3,
    "emax": 0.8,
    "exponential": 0.6,
    "illustration": 0.55,
    "revenue": 0.35,
}


def unit_means(model, theta):
    low, high = model.reward_range
    return (model.means(theta) - low) / (high - low)


def beta_rewards(rng, means):
    """The paper's rewards on the unit scale: Beta(1, (1 - mu) / mu)."""
    return 1 - rng.random(means.shape) ** (means / (1 - means))


def bernoulli_rewards(rng, means):
    return (rng.random(means.shape) < means).astype(float)


def log_of(name, n, seed, *, theta=None, bias=0.0, rewards=beta_rewards):
    """A log of uniformly chosen arms: (model, arms, rewards in the model's units)."""
    rng = np.random.default_rng(seed)
    model = model_of(name)
    means = unit_means(model, TRUTH[name] if theta is None else theta)
    means = np.clip(means + bias * rng.uniform(-1, 1, means.shape), 1e-6, 1 - 1e-6)
    arms = rng.integers(model.n_arms, size=n)
    low, high = model.reward_range
    return model, arms, low + (high - low) * rewards(rng, means[arms])
