"""Families of curves of random worlds, drawn with their arms and constants."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from globalbandits.model import RewardModel
from globalbandits.model.catalogue import demand, dose

Domain = tuple[float, float]
Build = Callable[..., RewardModel]  # called with domain=

# Probability that a shop has a cost. Such a shop observes sales, and profit is its worth.
COST_PROBABILITY = 1.0 / 3.0
# Smallest slope of a line, so that it can be inverted.
MIN_SLOPE = 0.02


class Family(NamedTuple):
    """Curves over their whole domain."""

    name: str
    words: str
    domain: Domain
    build: Build
    relatives: tuple[tuple[str, Domain, Build], ...]  # other families with the same arms
    log_odds_errors: bool = False  # errors are on the log-odds scale


def draw_family(rng: np.random.Generator) -> Family:
    """Draw one of ten families, with 3 to 100 arms. The number of arms is log-uniform."""
    kinds: tuple[Callable[..., Family], ...] = (
        *(partial(_shop, name=name) for name in _SHOPS),
        *(partial(_trial, name=name) for name in _TRIALS),
        _three_arms,
        _tangents,
        _powers,
    )
    draw = kinds[int(rng.integers(len(kinds)))]
    n_arms = round(float(np.exp(rng.uniform(np.log(3.0), np.log(100.0)))))
    return draw(n_arms, rng)


def _points(low: float, high: float, number: int) -> list[float]:
    points: list[float] = np.linspace(low, high, number).round(9).tolist()
    return points


_SHOPS: dict[str, tuple[Domain, Callable[..., RewardModel]]] = {
    "linear_power": ((0.0, 1.0), demand.linear_power),
    "exponential": ((0.2, 4.0), demand.exponential),
    "logit": ((1.0, 6.0), partial(demand.logit, sensitivity=6.0)),
    "log_log": ((0.2, 3.0), demand.log_log),
}


def _shop(n_arms: int, rng: np.random.Generator, name: str) -> Family:
    """Prices between 0.2 and 1. Revenue is observed, or sales if there is a cost."""
    low, high = rng.uniform(0.2, 0.45), rng.uniform(0.75, 1.0)
    prices = _points(low, high, n_arms)
    cost = round(0.8 * rng.random() * low, 3) if rng.random() < COST_PROBABILITY else None
    built = {
        other: (f"{other} demand", domain, partial(build, prices, cost=cost))
        for other, (domain, build) in _SHOPS.items()
    }
    words, domain, build = built.pop(name)
    words += f", {n_arms} prices from {low:.2g} to {high:.2g}"
    if cost is not None:
        words += f", cost {cost:g}"
    return Family(f"demand.{name}", words, domain, build, tuple(built.values()))


_TRIALS: dict[str, tuple[Domain, Callable[..., RewardModel]]] = {
    "logistic": ((0.1, 1.5), dose.logistic),
    "emax": ((0.5, 12.0), dose.emax),
    "power": ((-1.5, 1.5), dose.power),
}


def _trial(n_arms: int, rng: np.random.Generator, name: str) -> Family:
    """Doses with a target, or with a penalty for each unit of dose."""
    target, penalty = round(rng.uniform(0.15, 0.5), 3), round(rng.uniform(0.02, 0.08), 3)
    aimed = rng.random() < 0.5 or name == "power"
    options: dict[str, Any] = {"target": target} if aimed else {"penalty": penalty}
    end = rng.uniform(6.0, 9.0)
    guesses = rng.uniform(0.03, 0.15), rng.uniform(0.5, 0.85)
    doses = _points(*guesses, n_arms) if name == "power" else _points(1.0, end, n_arms)
    domain, make = _TRIALS[name]
    words = f"{name} dose, {n_arms} doses, "
    words += f"target {target:g}" if aimed else f"{penalty:g} lost a unit of dose"
    relatives = tuple(
        (f"{other} dose", span, partial(build, doses, **options))
        for other, (span, build) in _TRIALS.items()
        if name != "power" and other not in ("power", name)
    )
    return Family(f"dose.{name}", words, domain, partial(make, doses, **options), relatives)


def _three_arms(n_arms: int, rng: np.random.Generator) -> Family:
    """The three arms of the paper's illustration."""
    build = partial(
        RewardModel.from_functions, [lambda t: 1 - t**0.5, lambda t: 0.8 * t, lambda t: t**2]
    )
    return Family("three arms", "the three arms of the paper", (0.0, 1.0), build, ())


def _tangents(n_arms: int, rng: np.random.Generator) -> Family:
    """Tangents of a parabola: every arm is best somewhere."""
    turn, depth = rng.uniform(0.25, 0.75), rng.uniform(0.6, 1.0)
    places = (np.arange(n_arms) + 0.5) / n_arms
    slopes = 2.0 * depth * (places - turn)
    slopes = np.where(slopes < 0.0, -1.0, 1.0) * np.maximum(np.abs(slopes), MIN_SLOPE)
    levels = 0.3 + depth * (places - turn) ** 2 - slopes * places

    def line(theta: Any, arm: int) -> Any:
        return levels[arm] + slopes[arm] * theta

    build = partial(RewardModel, line, list(range(n_arms)), reward_range=(-0.8, 1.2))
    return Family("tangents", f"{n_arms} lines around a parabola", (0.0, 1.0), build, ())


def _powers(n_arms: int, rng: np.random.Generator) -> Family:
    """Powers of the parameter with different exponents, half of them decreasing."""
    exponents = np.exp(rng.uniform(np.log(0.4), np.log(2.5), n_arms))
    levels = rng.uniform(0.05, 0.35, n_arms)
    heights = rng.uniform(0.2, 0.6, n_arms)
    falling = rng.permutation(n_arms) < n_arms // 2

    def power(theta: Any, arm: int) -> Any:
        x = 1.0 - theta if falling[arm] else theta
        return levels[arm] + heights[arm] * np.asarray(x, np.float64) ** exponents[arm]

    build = partial(RewardModel, power, list(range(n_arms)))
    return Family("powers", f"{n_arms} powers, half of them falling", (0.0, 1.0), build, ())
