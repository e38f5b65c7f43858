"""Families of random worlds with the conversion rates of shops and trials.

The rate of the best arm is drawn first, log-uniform between 0.5 % and 60 %. The constants of the
curves follow from it in closed form, so that one price has the largest profit, or one dose is the
closest to its target, exactly at this rate.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from globalbandits.environments.worlds.families import Domain, Family
from globalbandits.model import RewardModel
from globalbandits.model.catalogue import demand, dose

MIN_RATE, MAX_RATE = 0.005, 0.6
MAX_PRICES, MAX_DOSES = 40, 12
# Probability that a world is a shop; otherwise it is a trial.
SHOP_PROBABILITY = 2.0 / 3.0
# The length of theta's domain: a difference for log-odds, a ratio for rates and elasticities.
_LOG_ODDS_LENGTH = 4.0
_DOMAIN_RATIO = 2.0
# The power of linear_power demand, as in the paper.
_LINEAR_POWER = 2.0
# The highest price of linear_power demand, as a share of the price at which demand is 0.
_LAST_SHARE = 0.95


class ConversionFamily(NamedTuple):
    """Curves, the true parameter, and the mean of the best arm there."""

    family: Family
    theta: float
    rate: float


def draw_conversion_family(rng: np.random.Generator) -> ConversionFamily:
    """Draw a shop with a cost or a trial with a target, at a log-uniform rate."""
    rate = math.exp(rng.uniform(math.log(MIN_RATE), math.log(MAX_RATE)))
    if rng.random() < SHOP_PROBABILITY:
        return _draw_shop(rate, rng)
    return _draw_trial(rate, rng)


def log_odds(rate: float) -> float:
    """Return the log-odds of a probability.

    >>> log_odds(0.5)
    0.0
    """
    return math.log(rate) - math.log1p(-rate)


class _Shop(NamedTuple):
    """Demand of which ``best`` is the price of the largest profit, at the rate that was asked."""

    name: str
    cost: float
    lowest: float  # prices are above this
    highest: float  # and below this
    theta: float
    domain: Domain
    build: Callable[..., RewardModel]


def _draw_shop(rate: float, rng: np.random.Generator) -> ConversionFamily:
    best = round(math.exp(rng.uniform(math.log(1.0), math.log(100.0))), 2)
    # The largest rates at which these families have a cost of at least 0.
    possible = [_logit_shop, _isoelastic_shop]
    if rate < math.exp(-1.0):
        possible.append(_exponential_shop)
    if rate < (_LINEAR_POWER / (1.0 + _LINEAR_POWER)) ** _LINEAR_POWER:
        possible.append(_linear_power_shop)
    shop = possible[int(rng.integers(len(possible)))](rate, best, rng)
    margin = best - shop.cost
    low = max(shop.cost + rng.uniform(0.2, 0.7) * margin, shop.lowest)
    high = min(shop.cost + rng.uniform(1.3, 2.5) * margin, shop.highest)
    n_arms = _draw_number(MAX_PRICES, rng)
    prices = _points_through(low, best, high, n_arms, rng)
    domain = shop.domain
    if shop.name == "linear_power":
        domain = (domain[0], min(domain[1], 1.0 / max(prices)))
    words = (
        f"{shop.name} demand, {n_arms} prices from {low:.3g} to {high:.3g}, "
        f"cost {shop.cost:.3g}, {rate:.2%} buy at the best price"
    )
    family = Family(
        name=f"demand.{shop.name}",
        words=words,
        domain=domain,
        build=partial(shop.build, prices, cost=shop.cost),
        relatives=(),
        log_odds_errors=True,
    )
    return ConversionFamily(family, shop.theta, rate)


# In each family the derivative of (price - cost) * d at the best price is 0.


def _logit_shop(rate: float, best: float, rng: np.random.Generator) -> _Shop:
    """(best - cost) * sensitivity * (1 - d) = 1."""
    cost = round(rng.uniform(0.0, 0.8) * best, 4)
    sensitivity = 1.0 / ((best - cost) * (1.0 - rate))
    theta = sensitivity * best + log_odds(rate)
    low = theta - rng.uniform(0.05, 0.95) * _LOG_ODDS_LENGTH
    build = partial(demand.logit, sensitivity=sensitivity)
    return _Shop("logit", cost, 0.0, math.inf, theta, (low, low + _LOG_ODDS_LENGTH), build)


def _isoelastic_shop(rate: float, best: float, rng: np.random.Generator) -> _Shop:
    """(best - cost) * theta = best."""
    theta = rng.uniform(1.5, 6.0)
    # The elasticity is 1 at the reference price, where all customers buy.
    reference = best * rate ** (1.0 / theta)
    build = partial(demand.isoelastic, reference=reference)
    lowest = reference + 0.02 * (best - reference)
    cost = best - best / theta
    return _Shop("isoelastic", cost, lowest, math.inf, theta, _ratio_domain(theta, rng), build)


def _exponential_shop(rate: float, best: float, rng: np.random.Generator) -> _Shop:
    """(best - cost) * theta = 1."""
    theta = -math.log(rate) / best
    cost = best - 1.0 / theta
    domain = _ratio_domain(theta, rng)
    return _Shop("exponential", cost, 0.0, math.inf, theta, domain, demand.exponential)


def _linear_power_shop(rate: float, best: float, rng: np.random.Generator) -> _Shop:
    """(best - cost) * power * theta = 1 - theta * best."""
    rest = rate ** (1.0 / _LINEAR_POWER)
    theta = (1.0 - rest) / best
    cost = best - rest / (_LINEAR_POWER * theta)
    last = best + _LAST_SHARE * (1.0 / theta - best)
    build = partial(demand.linear_power, power=_LINEAR_POWER)
    return _Shop("linear_power", cost, 0.0, last, theta, _ratio_domain(theta, rng), build)


def _draw_trial(rate: float, rng: np.random.Generator) -> ConversionFamily:
    """Doses with a target that one dose almost meets."""
    n_arms = _draw_number(MAX_DOSES, rng)
    best = int(rng.integers(n_arms))
    name = ("logistic", "emax", "power")[int(rng.integers(3))]
    doses: list[float] = np.linspace(1.0, rng.uniform(6.0, 9.0), n_arms).round(9).tolist()
    build: Callable[..., RewardModel]
    if name == "logistic":
        # The rise of the log-odds from no dose to the largest one, divided by that dose.
        theta = rng.uniform(2.0, 6.0) / doses[-1]
        domain = _ratio_domain(theta, rng)
        build = partial(dose.logistic, doses, intercept=log_odds(rate) - theta * doses[best])
    elif name == "emax":
        hill = rng.uniform(0.8, 2.0)
        theta = doses[best] * (1.0 / rate - 1.0) ** (1.0 / hill)
        domain = _ratio_domain(theta, rng)
        build = partial(dose.emax, doses, hill=hill)
    else:
        # The skeleton is even in log-odds. At the best dose it is wrong by theta.
        theta = rng.uniform(-0.5, 0.5)
        guess = log_odds(rate ** math.exp(-theta))
        steps = rng.uniform(0.3, 0.8) * (np.arange(n_arms) - best)
        doses = (1.0 / (1.0 + np.exp(-guess - steps))).tolist()
        low = theta - rng.uniform(0.05, 0.95)
        domain = (low, low + 1.0)
        build = partial(dose.power, doses)
    means = build(domain=domain).means(theta)
    # Less than half of the distance to the next mean, so that the dose remains the closest.
    gap = min(float(np.abs(np.delete(means, best) - rate).min()), rate)
    target = rate + rng.uniform(-0.4, 0.4) * gap
    words = f"{name} dose, {n_arms} doses, target {target:.3g}, {rate:.2%} respond to the best dose"
    family = Family(
        name=f"dose.{name}",
        words=words,
        domain=domain,
        build=partial(build, target=target),
        relatives=(),
        log_odds_errors=True,
    )
    return ConversionFamily(family, theta, rate)


def _draw_number(most: int, rng: np.random.Generator) -> int:
    """Draw a log-uniform number of arms of at least 3."""
    return round(math.exp(rng.uniform(math.log(3.0), math.log(most))))


def _points_through(
    low: float, middle: float, high: float, number: int, rng: np.random.Generator
) -> list[float]:
    """Return points from low to high that contain the middle at a random place inside."""
    place = int(rng.integers(1, number - 1))
    below = np.linspace(low, middle, place + 1)
    above = np.linspace(middle, high, number - place)[1:]
    points: list[float] = np.concatenate([below, above]).tolist()
    return points


def _ratio_domain(theta: float, rng: np.random.Generator) -> Domain:
    """Return an interval whose ends have a fixed ratio, with theta at a random place."""
    share = rng.uniform(0.05, 0.95)
    return theta * _DOMAIN_RATIO**-share, theta * _DOMAIN_RATIO ** (1.0 - share)
