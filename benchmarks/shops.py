"""What policies lose at the conversion rates of shops, in rounds of the best price.

Bernoulli rewards, 11 prices, 10,000 rounds. One unit of regret is what one round of the best price
earns. ``python -m benchmarks.run shops:PART`` plays one part of `PARTS`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

import globalbandits as gb
from benchmarks import Row
from globalbandits._types import FloatArray
from globalbandits.environments import Environment
from globalbandits.policies.base import Policy

HORIZON, LONGER = 10_000, 100_000
EXPONENTIAL_COST, LOGIT_COST = 6.0, 8.0
EXPONENTIAL = gb.demand.exponential(
    [float(price) for price in range(5, 16)], cost=EXPONENTIAL_COST, domain=(0.0, 2.0)
)
LOGIT = gb.demand.logit(
    [float(price) for price in range(10, 31, 2)], sensitivity=0.25, cost=LOGIT_COST
)
N_ERRORS = 100  # draws of errors on every arm
ERROR, LONE_ERROR = 0.3, 1.0  # in log-odds
SHARE = 0.9  # of lone prices to be found

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
    f"exception={exception}": gb.Elastic(horizon=HORIZON, exception=exception)
    for exception in (0.01, 0.03, 0.12, 0.3, 0.6, 0.9)
} | {"IndependentGittins": gb.IndependentGittins()}

# A smaller prior weight of exact curves finds errors of all prices sooner. It costs more with exact
# curves. The rest of the weight is shared by the eight sizes of errors.
TRUSTS: Mapping[str, Policy] = {
    f"exact curves {weight}": gb.Elastic(
        horizon=HORIZON, prior=(weight,) + ((1.0 - weight) / 8.0,) * 8
    )
    for weight in (0.95, 0.8, 0.5, 0.2, 0.02)
} | {
    "all nine sizes equally": gb.Elastic(horizon=HORIZON, prior=(1.0,) * 9),
    # In log-odds 0.16, 0.32 and 0.64.
    "sizes around 0.3": gb.Elastic(
        horizon=HORIZON, prior=(0.0, 0.0, 0.0, 0.0, 0.0, 0.25, 0.5, 0.25, 0.0)
    ),
}

# What each protection against wrong curves costs if the curves are exact.
PROTECTIONS: dict[str, Policy] = {
    "exception=0": gb.Elastic(horizon=HORIZON, exception=0.0),
    "caution=0": gb.Elastic(horizon=HORIZON, caution=0.0),
    "exception=0, caution=0": gb.Elastic(horizon=HORIZON, exception=0.0, caution=0.0),
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
    usual = exact_world(shop).best
    worlds = [shop.world(LONE_ERROR * row) for row in np.eye(model.n_arms)]
    return [world for arm, world in enumerate(worlds) if world.best == arm != usual]


def rounds_per_nat(shop: Shop, world: World) -> float:
    """Return what one nat of evidence about the lone price costs if its curve is exact."""
    exact = exact_world(shop)
    x, y = exact.means[world.best], world.means[world.best]
    nats = x * np.log(x / y) + (1.0 - x) * np.log((1.0 - x) / (1.0 - y))
    return float((1.0 - exact.worths[world.best] / exact.worths.max()) / nats)


def least_cost(costs: FloatArray, found: float) -> float:
    """Return the least regret with exact curves of a policy that finds lone prices this often.

    If a policy never ends with price k under exact curves, and misses it with probability b if it
    is the lone one, then its tests of price k yield log(1 / b) nats at least, by the
    data-processing inequality. The cheapest way to an average share of misses has misses in
    proportion to the costs.

    Args:
        costs: rounds per nat of each price that can be the lone one.
        found: the average share of runs that find it, below 1.
    """
    low, high = 0.0, 1.0 / float(costs.min())
    for _ in range(100):
        factor = 0.5 * (low + high)
        misses = np.minimum(1.0, factor * costs)
        low, high = (low, factor) if misses.mean() > 1.0 - found else (factor, high)
    return float(np.sum(costs * np.log(1.0 / np.minimum(1.0, low * costs))))


def largest_share(costs: FloatArray, regret: float) -> float:
    """Return the largest share of lone prices that a policy with this regret can find."""
    shares = np.linspace(0.0, 0.99, 100)
    return float(max(share for share in shares if least_cost(costs, share) <= regret))


def play(
    name: str,
    worlds: list[World],
    policies: Mapping[str, Policy],
    runs: int,
    target: float | None = None,
) -> Iterator[Row]:
    """Return mean regret over all worlds, and the share of runs that end with the best price."""
    played = [
        regrets_of(world, policies, runs, seed) for seed, world in enumerate(worlds, start=2024)
    ]
    for label in policies:
        regret = np.concatenate([one[label][0] for one in played])
        share = float(np.mean(np.concatenate([one[label][1] for one in played])))
        # Runs of one world are not independent draws of errors.
        draws = regret if len(worlds) == 1 else regret.reshape(len(worlds), runs).mean(axis=1)
        note = f"± {error_of(draws):.2g}, median {np.median(regret):.3g}, "
        note += f"best price at the end {share:.0%}"
        yield Row(
            name=f"{name}: {label}",
            value=float(regret.mean()),
            unit="rounds",
            target=target if label == "Elastic" else None,
            note=note,
        )


def trade_off(shop: Shop, exact_runs: int, lone_runs: int) -> Iterator[Row]:
    """Return, for each policy, the cost with exact curves and how often a lone price is found.

    The first row is a lower bound for all policies.
    """
    exact = exact_world(shop)
    worlds = lone_worlds(shop)
    costs = np.array([rounds_per_nat(shop, world) for world in worlds])
    usual = regrets_of(exact, EXCEPTIONS, exact_runs, 2024)
    played = [regrets_of(world, EXCEPTIONS, lone_runs, 2025 + i) for i, world in enumerate(worlds)]
    bound = "rounds for a nat of evidence about each price: "
    bound += " ".join(f"{cost:.0f}" for cost in costs)
    yield Row(
        name=f"{shop.name}, exact: any policy that finds {SHARE:.0%} of the lone prices, at least",
        value=least_cost(costs, SHARE),
        unit="rounds",
        target=None,
        note=f"{bound}; {GOALS[0]:g} rounds find at most {largest_share(costs, GOALS[0]):.0%}",
    )
    for label in EXCEPTIONS:
        shares = [found.mean() for _, found in (one[label] for one in played)]
        share, regret = float(np.mean(shares)), np.concatenate([one[label][0] for one in played])
        each = " ".join(f"{x:.0%}" for x in shares)
        least = least_cost(costs, min(share, 0.99))
        note = f"± {error_of(usual[label][0]):.2g}; a lone price is found in {share:.0%} ({each}), "
        note += f"and costs {regret.mean():.0f} ± {error_of(regret):.0f}; at least {least:.0f} "
        note += "with exact curves for that share"
        value = float(usual[label][0].mean())
        name = f"{shop.name}, exact: {label}"
        yield Row(name=name, value=value, unit="rounds", target=None, note=note)


def regrets_of(
    world: World, policies: Mapping[str, Policy], runs: int, seed: int, horizon: int = HORIZON
) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return the regret of every run, and whether it ends with the best price, by label."""
    result = gb.simulate(world.environment, policies, horizon, runs, seed=seed, checkpoints=1)
    found = {}
    for label in policies:
        played = result.dataset.sel(policy=label)
        regret = played["regret"].values.ravel() / world.worths.max()
        found[label] = (regret, played["choice"].values.ravel() == world.best)
    return found


def error_of(regrets: FloatArray) -> float:
    """Return the standard error of a mean."""
    return float(regrets.std(ddof=1) / regrets.size**0.5)


def exact_rows() -> list[Row]:
    """Exact curves in all shops, and what the protections of Elastic cost at 18 %."""
    rows: list[Row] = []
    for shop, goal in zip(SHOPS, GOALS, strict=True):
        rows += play(f"{shop.name}, exact", [exact_world(shop)], POLICIES, 200, goal)
    shop = SHOPS[2]
    rows += play(f"{shop.name}, exact", [exact_world(shop)], PROTECTIONS, 200)
    return rows


def error_rows() -> list[Row]:
    """Errors on every price, and priors that trust the curves more or less."""
    rows: list[Row] = []
    for shop in SHOPS[:2]:
        rng = np.random.default_rng(2024)
        shifts = rng.normal(0.0, ERROR, (N_ERRORS, shop.model.n_arms))
        wrong = [shop.world(row) for row in shifts]
        rows += play(f"{shop.name}, errors of {ERROR}", wrong, POLICIES, 2, 900.0)
        rows += play(f"{shop.name}, errors of {ERROR}", wrong, TRUSTS, 2)
        rows += play(f"{shop.name}, exact", [exact_world(shop)], TRUSTS, 200)
    return rows


def lone_rows() -> list[Row]:
    """One wrong price, with several probabilities of an exception."""
    return [row for shop in SHOPS[:2] for row in trade_off(shop, 200, 40)]


def long_rows() -> list[Row]:
    """What a larger probability of an exception costs with exact curves in longer games."""
    policies = {
        f"exception={exception}": gb.Elastic(horizon=LONGER, exception=exception)
        for exception in (0.12, 0.36)
    }
    rows: list[Row] = []
    for shop in SHOPS:
        played = regrets_of(exact_world(shop), policies, 60, 2024, LONGER)
        usual, larger = (regret for regret, _ in played.values())
        rows.append(
            Row(
                name=f"{shop.name}, exact, T = {LONGER:,}: exception=0.36 minus 0.12",
                value=float(np.mean(larger - usual)),
                unit="rounds",
                target=None,
                note=f"± {error_of(larger - usual):.2g}, {usual.size} runs, 0.12 loses "
                f"{usual.mean():.0f} ± {error_of(usual):.0f}",
            )
        )
    return rows


def exact_world(shop: Shop) -> World:
    """Return the shop with exact curves."""
    return shop.world(np.zeros(shop.model.n_arms))


PARTS: dict[str, Callable[[], list[Row]]] = {
    "exact": exact_rows,
    "errors": error_rows,
    "lone": lone_rows,
    "long": long_rows,
}


def run() -> list[Row]:
    """All parts."""
    return [row for part in PARTS.values() for row in part()]
