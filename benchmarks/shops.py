"""What policies lose at the conversion rates of shops, in rounds of the best price.

Bernoulli rewards, 11 prices, 10,000 rounds. One unit of regret is what one round of the best price
earns. About three minutes.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

import globalbandits as gb
from benchmarks import Row
from globalbandits._types import FloatArray
from globalbandits.environments import Environment
from globalbandits.policies.base import Policy

HORIZON = 10_000
EXPONENTIAL_COST, LOGIT_COST = 6.0, 8.0
EXPONENTIAL = gb.demand.exponential(
    [float(price) for price in range(5, 16)], cost=EXPONENTIAL_COST, domain=(0.0, 2.0)
)
LOGIT = gb.demand.logit(
    [float(price) for price in range(10, 31, 2)], sensitivity=0.25, cost=LOGIT_COST
)
N_ERRORS = 40  # draws of errors on every arm
ERROR, LONE_ERROR = 0.3, 1.0  # in log-odds

POLICIES: dict[str, Policy] = {
    "Elastic": gb.Elastic(horizon=HORIZON),
    "IDS": gb.IDS(),
    "WAGP": gb.WAGP(),
    "Safe(WAGP)": gb.Safe(gb.WAGP()),
    "RandomEffectsThompson": gb.RandomEffectsThompson(),
    "IndependentGittins": gb.IndependentGittins(),
}
# Larger probabilities of exceptions find a lone wrong price, and cost more with exact curves.
EXCEPTIONS: dict[str, Policy] = {
    f"Elastic(exception={exception})": gb.Elastic(horizon=HORIZON, exception=exception)
    for exception in (0.01, 0.12, 0.5, 0.9)
}


class Shop(NamedTuple):
    """Demand curves at one parameter."""

    name: str
    model: gb.RewardModel
    cost: float
    theta: float

    def world(self, shifts: FloatArray) -> "World":
        """Return the world whose means differ from the curves by these log-odds."""
        means = shifted(self.model.means(self.theta), shifts)
        worths = (np.array(self.model.arms) - self.cost) * means
        noise = gb.BernoulliNoise()
        environment = Environment(self.model, truth=means.tolist(), noise=noise)
        return World(environment, worths, means)


class World(NamedTuple):
    """A shop whose curves may be wrong."""

    environment: Environment
    worths: FloatArray
    means: FloatArray

    @property
    def best(self) -> int:
        """The price with the largest worth."""
        return int(np.argmax(self.worths))


SHOPS = (
    Shop("exponential, 2.7 %", EXPONENTIAL, EXPONENTIAL_COST, 0.45),
    Shop("logit, 4.7 %", LOGIT, LOGIT_COST, 0.0),
    Shop("logit, 18 %", LOGIT, LOGIT_COST, 2.0),
    Shop("logit, 50 %", LOGIT, LOGIT_COST, 4.0),
)
GOALS = (60.0, 60.0, 40.0, 40.0)  # of Elastic with exact curves


def shifted(means: FloatArray, shifts: FloatArray) -> FloatArray:
    """Return means whose log-odds are larger by these numbers."""
    odds = means / (1.0 - means) * np.exp(shifts)
    return odds / (1.0 + odds)


def lone_worlds(shop: Shop) -> list[World]:
    """Return the worlds in which one price sells better than its curve says, and is then best."""
    model = shop.model
    usual = shop.world(np.zeros(model.n_arms)).best
    worlds = [shop.world(LONE_ERROR * row) for row in np.eye(model.n_arms)]
    return [world for arm, world in enumerate(worlds) if world.best == arm != usual]


def rounds_per_nat(shop: Shop, world: World) -> float:
    """Return what one nat of evidence about the lone price costs if its curve is exact.

    By Bretagnolle and Huber's inequality, a policy that finds the price in nine of ten runs needs
    about log(1 / (4 * 0.1)), almost one nat, and more if it seldom leaves the best price in vain.
    """
    exact = shop.world(np.zeros(shop.model.n_arms))
    x, y = exact.means[world.best], world.means[world.best]
    nats = x * np.log(x / y) + (1.0 - x) * np.log((1.0 - x) / (1.0 - y))
    return float((1.0 - exact.worths[world.best] / exact.worths.max()) / nats)


def play(
    name: str,
    worlds: list[World],
    policies: Mapping[str, Policy],
    runs: int,
    target: float | None = None,
) -> Iterator[Row]:
    """Return mean regret over all worlds, and the share of runs that end with the best price."""
    regrets: dict[str, list[FloatArray]] = {label: [] for label in policies}
    found: dict[str, list[FloatArray]] = {label: [] for label in policies}
    for seed, world in enumerate(worlds, start=2024):
        result = gb.simulate(
            world.environment, policies, HORIZON, runs, seed=seed, checkpoints=1
        ).dataset
        for label in policies:
            played = result.sel(policy=label)
            regrets[label].append(played["regret"].values.ravel() / world.worths.max())
            found[label].append(played["choice"].values == world.best)
    for label in policies:
        regret = np.concatenate(regrets[label])
        error = regret.std(ddof=1) / regret.size**0.5
        share = float(np.mean(np.concatenate(found[label])))
        note = f"± {error:.2g}, median {np.median(regret):.3g}, best price at the end {share:.0%}"
        yield Row(
            name=f"{name}: {label}",
            value=float(regret.mean()),
            unit="rounds",
            target=target if label == "Elastic" else None,
            note=note,
        )


def run() -> list[Row]:
    """Exact curves, errors on every price, and one wrong price."""
    rows: list[Row] = []
    for shop, goal in zip(SHOPS, GOALS, strict=True):
        exact = [shop.world(np.zeros(shop.model.n_arms))]
        rows += play(f"{shop.name}, exact", exact, POLICIES | EXCEPTIONS, 400, goal)
    for shop in SHOPS[:2]:
        rng = np.random.default_rng(2024)
        shifts = rng.normal(0.0, ERROR, (N_ERRORS, shop.model.n_arms))
        wrong = [shop.world(row) for row in shifts]
        rows += play(f"{shop.name}, errors of {ERROR}", wrong, POLICIES, 10, 900.0)
        for world in lone_worlds(shop):
            price, rate = shop.model.arms[world.best], world.means[world.best]
            cost = rounds_per_nat(shop, world)
            name = f"{shop.name}, price {price:g} sells {rate:.1%} ({cost:.2g} rounds per nat)"
            rows += play(name, [world], POLICIES | EXCEPTIONS, 60)
    return rows
