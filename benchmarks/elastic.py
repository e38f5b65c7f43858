"""What Elastic loses, world by world: the figures of docs/measured/elastic.md.

Regret is by the true means. ``python -m benchmarks.run elastic:PART`` plays one part of `PARTS`.
``ELASTIC_WORLDS`` sets the number of random worlds, 50 by default.
"""

import dataclasses
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import globalbandits as gb
from benchmarks import Row
from benchmarks.shops import EXPONENTIAL, EXPONENTIAL_COST, Shop, error_of
from benchmarks.simulation import pricing
from globalbandits._types import FloatArray
from globalbandits.environments import Environment
from globalbandits.policies.base import Policy
from globalbandits.policies.elastic.curve_posterior import N_OUTER_CELLS, OUTSIDE_DENSITY

MODEL = pricing()
MANY = pricing(40)
NARROW = gb.demand.linear_power(list(MODEL.arms), domain=(0.3, 0.6))
DOSES = gb.dose.logistic([float(dose) for dose in range(1, 9)], penalty=0.06, domain=(0.1, 1.5))
TWO = gb.RewardModel.from_functions([lambda t: 0.6 + 0.3 * t, lambda t: 0.3 + 0.3 * t])
LONG, LONGER, LONGEST = 10_000, 100_000, 1_000_000
LARGE = 500.0  # a regret of runs that are stuck
N_RANDOM_WORLDS = int(os.environ.get("ELASTIC_WORLDS", "50"))
FIRST_SEED = 20_000  # of the random worlds
GROWING_SEEDS = (20_005, 20_009, 20_011, 20_029, 20_045)  # of random worlds that grow most
COMPARED_SEEDS = range(14_000, 14_400)  # of the random worlds of the league in the document
STUCK_SEED = 20_003  # of the random world that some runs do not solve


class Game(NamedTuple):
    """A policy in some worlds, whose runs are counted together."""

    name: str
    worlds: tuple[Environment, ...]
    horizon: int
    runs: int  # of each world
    policy: Policy | None = None  # Elastic with the horizon, if none is given
    large: float = LARGE
    unit: float = 1.0  # of regret, in rewards

    def regrets(self, seed: int = 2024) -> FloatArray:
        """Regret of every run."""
        policy = self.policy or gb.Elastic(horizon=self.horizon)
        results = [
            gb.simulate(world, [policy], self.horizon, self.runs, seed=seed, checkpoints=1)
            for world in self.worlds
        ]
        regrets = [result.dataset["regret"].values.ravel() for result in results]
        return np.concatenate(regrets) / self.unit

    def row(self) -> Row:
        """Mean regret, with its standard error."""
        regrets = self.regrets()
        note = f"± {error_of(regrets):.2g}, median {np.median(regrets):.3g}, {regrets.size:,} runs"
        stuck = float(np.mean(regrets > self.large))
        note += f", {stuck:.2%} above {self.large:g}" if stuck > 0 else ""
        name, value = f"{self.name}, T = {self.horizon:,}", float(regrets.mean())
        unit = "rewards" if self.unit == 1.0 else "rounds"
        return Row(name=name, value=value, unit=unit, target=None, note=note)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ElasticOutside(gb.Elastic):
    """Elastic with another prior density of a parameter outside of the domain.

    Attributes:
        density: Relative to that at the end of the domain, above 0.
    """

    density: float

    def setup(self, model: Any) -> Any:
        """Return the setup of Elastic with changed weights of the outer cells."""
        setup = super().setup(model)
        log_thetas = setup.prior.log_thetas.copy()
        change = math.log(self.density / OUTSIDE_DENSITY)
        log_thetas[:N_OUTER_CELLS] += change
        log_thetas[-N_OUTER_CELLS:] += change
        masses = np.append(0.0, np.cumsum(np.exp(log_thetas)))
        return setup._replace(prior=setup.prior._replace(log_thetas=log_thetas, masses=masses))


def raised(gain: float) -> tuple[Environment, ...]:
    """Every arm but the best in turn is the best by so much; the other curves are exact."""
    means = MODEL.means(0.4)
    worlds = []
    for arm in np.flatnonzero(means < means.max()):
        shifts = np.zeros(means.size)
        shifts[arm] = means.max() + gain - means[arm]
        worlds.append(biased(gb.FixedBias(tuple(shifts.tolist()))))
    return tuple(worlds)


def biased(
    bias: gb.Bias, model: gb.RewardModel = MODEL, noise: gb.Noise | None = None
) -> Environment:
    """Pricing at theta .4 with wrong curves."""
    return Environment(model, theta=0.4, bias=bias, noise=noise or gb.BetaNoise())


def still_games() -> Iterator[Game]:
    """Nothing moves."""
    exact = (Environment(MODEL, theta=0.4),)
    beyond = (Environment(TWO, truth=[0.5, 0.55]),)
    yield Game("exact", exact, LONG, 400)
    for caution in (0.0, 1.0, 3.0):
        policy = gb.Elastic(horizon=LONG, caution=caution)
        yield Game(f"exact, caution={caution:g}", exact, LONG, 400, policy)
    for theta in (0.33, 0.62, 0.9):
        yield Game(f"exact, theta {theta}", (Environment(MODEL, theta=theta),), LONG, 400)
    yield Game("exact, 40 arms", (Environment(MANY, theta=0.4),), LONG, 200)
    for theta in (0.15, 0.25, 0.31, 0.45):
        truth = MODEL.means(theta).tolist()
        world = (Environment(NARROW, truth=truth),)
        yield Game(f"exact, domain [.3, .6], theta {theta}", world, LONG, 100)
    for size in (0.01, 0.05, 0.1):
        yield Game(f"bias {size}", (biased(gb.UniformBias(size)),), LONG, 400)
    for gain in (0.05, 0.15):
        yield Game(f"one arm raised by {gain}", raised(gain), LONG, 100)
    yield Game("two arms out of reach", beyond, LONG, 1_000)
    yield Game("two arms out of reach", beyond, LONGER, 1_000)
    yield Game("two arms out of reach, no horizon", beyond, LONGER, 400, gb.Elastic())
    for size in (0.05, 0.1):
        yield Game(f"bias {size}", (biased(gb.UniformBias(size)),), LONGER, 400)
    yield Game("one arm raised by 0.05", raised(0.05), LONGER, 20)
    yield Game("exact", exact, LONGER, 400)
    bernoulli = biased(gb.UniformBias(0.05), noise=gb.BernoulliNoise())
    yield Game("bias 0.05, Bernoulli rewards", (bernoulli,), LONGER, 200)
    yield Game("bias 0.05, 40 arms", (biased(gb.UniformBias(0.05), MANY),), LONGER, 100)


def prior_games() -> Iterator[Game]:
    """Elastic with and without knowledge of the parameter, and of which arms are off."""
    near = (0.1, 0.1, 0.1, 0.1, 10.0)
    exact = (Environment(MODEL, theta=0.9),)
    for horizon in (100, 1_000):
        policy = gb.Elastic(horizon=horizon, theta_prior=near)
        yield Game("theta .9", exact, horizon, 400)
        yield Game("theta .9, theta_prior", exact, horizon, 400, policy)
    off = (1.0, 0.0, 0.0, 0.0) * 3
    world = (
        biased(gb.FixedBias((0.15, 0.0, 0.0, 0.0, -0.15, 0.0, 0.0, 0.0, 0.15, 0.0, 0.0, 0.0))),
    )
    policy = gb.Elastic(horizon=1_000, prior=(1.0,) * 9)
    informed = dataclasses.replace(policy, arm_errors=off)
    yield Game("three prices off by .15", world, 1_000, 400, policy)
    yield Game("three prices off by .15, arm_errors", world, 1_000, 400, informed)


def outside_games() -> Iterator[Game]:
    """Several prior densities of a parameter outside of the domain."""
    shop = Shop("", EXPONENTIAL, EXPONENTIAL_COST, 0.35)
    world = shop.world(np.zeros(EXPONENTIAL.n_arms))
    model = gb.demand.exponential(list(EXPONENTIAL.arms), cost=EXPONENTIAL_COST, domain=(0.5, 0.8))
    selling = Environment(model, truth=world.means.tolist(), noise=gb.BernoulliNoise())
    pricing_outside = Environment(NARROW, truth=MODEL.means(0.15).tolist())
    beyond = Environment(TWO, truth=[0.5, 0.55])
    best = float(world.worths.max())
    for density in (0.05, 0.01, 0.001, 1e-6):
        policy = ElasticOutside(horizon=LONG, density=density)
        name = f"density {density:g}"
        yield Game(f"{name}, domain [.3, .6], theta .15", (pricing_outside,), LONG, 100, policy)
        yield Game(f"{name}, two arms out of reach", (beyond,), LONG, 500, policy, large=200.0)
        yield Game(f"{name}, shop, theta .35", (selling,), LONG, 100, policy, unit=best)


def growing_games() -> Iterator[Game]:
    """The random worlds whose regret grows most from 10^5 to 10^6 rounds, to 10^7 rounds."""
    for seed in GROWING_SEEDS:
        world = gb.worlds.sample(seed, LONGER, mixture="conversion").environment
        for horizon in (LONGER, LONGEST, 10 * LONGEST):
            yield Game(f"seed {seed}", (world,), horizon, 24, large=math.inf)


def stuck_games() -> Iterator[Game]:
    """A random world with four prices, one of which sells better than its curve."""
    for horizon, large in ((LONG, 25.0), (LONGER, 200.0), (LONGEST, 1_500.0)):
        world = (gb.worlds.sample(STUCK_SEED, horizon, mixture="conversion").environment,)
        policies = {
            "horizon given": gb.Elastic(horizon=horizon),
            "exception=.36": gb.Elastic(horizon=horizon, exception=0.36),
            "no horizon": gb.Elastic(),
        }
        for name, policy in policies.items():
            yield Game(f"seed {STUCK_SEED}, {name}", world, horizon, 240, policy, large)


def growth_rows() -> list[Row]:
    """How much regret grows from 10^5 to 10^6 rounds: general and conversion worlds in turns."""
    rows = []
    for seed in range(FIRST_SEED, FIRST_SEED + N_RANDOM_WORLDS):
        mixture = ("general", "conversion")[seed % 2]
        world = gb.worlds.sample(seed, LONGER, mixture=mixture)
        if world.error == "drift":
            continue
        games = [Game("", (world.environment,), horizon, 2) for horizon in (LONGER, LONGEST)]
        shorter, longer = (float(game.regrets(seed).mean()) for game in games)
        rows.append(
            Row(
                name=f"seed {seed}, {mixture}, {world.error}: regret at 10^6 ÷ at 10^5 rounds",
                value=longer / shorter,
                unit="times",
                target=None,
                note=f"{shorter:.3g} and {longer:.3g}, 2 runs",
            )
        )
    return rows


def caution_rows() -> list[Row]:
    """Regret with other prior probabilities of errors over that of the default, by kind of error.

    Worlds that drift are left out. As in the league, a negligible regret is added to each.
    """
    settings = {0.36: 1.0, 0.06: 0.18, 0.03: 0.09}  # exception and caution; .12 and .36 by default
    policies = [gb.Elastic(horizon=LONG)] + [
        gb.Elastic(horizon=LONG, exception=exception, caution=caution)
        for exception, caution in settings.items()
    ]
    logs: dict[str, list[FloatArray]] = {"all": []}
    for seed in COMPARED_SEEDS:
        world = gb.worlds.sample(seed, LONG, mixture="general")
        if world.error == "drift":
            continue
        result = gb.simulate(world.environment, policies, LONG, 8, seed=seed, checkpoints=1)
        regrets = result.dataset["regret"].values.mean(axis=(1, 2)) + world.floor
        for name in ("all", world.error):
            logs.setdefault(name, []).append(np.log(regrets[1:] / regrets[0]))
    rows = []
    for name, found in logs.items():
        for column, exception in enumerate(settings):
            ratios = np.array(found)[:, column]
            mean = math.exp(ratios.mean())
            rows.append(
                Row(
                    name=f"general worlds, {name}: exception {exception:g} ÷ default",
                    value=mean,
                    unit="times",
                    target=None,
                    note=f"± {mean * error_of(ratios):.2g}, {ratios.size} worlds of 8 runs",
                )
            )
    return rows


def moving_games() -> Iterator[Game]:
    """The parameter moves, or might."""
    walk = gb.RandomWalk(drift_time=2_000, up=0.6)
    worlds = {
        "nothing moves, exact": Environment(MODEL, theta=0.4),
        "nothing moves, bias 0.05": biased(gb.UniformBias(0.05)),
        "logistic dose, nothing moves": Environment(DOSES, theta=0.62),
        "walk": Environment(MODEL, theta=0.5, drift=walk),
        "one jump": _moves(MODEL, 0.3, gb.Jumps(times=(5_000,), values=(0.8,))),
        "walk, bias 0.05": Environment(MODEL, theta=0.5, drift=walk, bias=gb.UniformBias(0.05)),
        "wave": _moves(MODEL, 0.5, gb.SinusoidalDrift(amplitude=0.35, period=4_000)),
        "line": _moves(MODEL, 0.15, gb.LinearDrift(rate=0.8 / LONG)),
        "three jumps": _moves(
            MODEL, 0.3, gb.Jumps(times=(2_500, 5_000, 7_500), values=(0.8, 0.45, 0.9))
        ),
        "logistic dose, wave": _moves(DOSES, 0.8, gb.SinusoidalDrift(amplitude=0.5, period=4_000)),
    }
    policies = {
        "Elastic": gb.Elastic(),
        "drift=True": gb.Elastic(drift=True),
        "non-stationary WAGP": gb.NonStationaryWAGP(drift_time=2_000),
    }
    yield from _each(worlds, policies, LONG, 48)


def long_games() -> Iterator[Game]:
    """To 10^6 rounds, where regret must not be linear."""
    worlds = {
        "all arms off": _believed(6, gb.BetaNoise(), [0.25, 0.4, 0.3, 0.5, 0.35, 0.45]),
        "a lone arm, Bernoulli rewards": _believed(
            6, gb.BernoulliNoise(), [0.3, 0.4, 0.4, 0.4, 0.6, 0.4]
        ),
        "little noise": _believed(
            6, gb.TruncatedNormalNoise(sd=0.02), [0.2, 0.5, 0.4, 0.3, 0.55, 0.45]
        ),
        "a far arm": _far(),
        "two arms, .3 and .45": _believed(2, gb.BetaNoise(), [0.3, 0.45]),
        "two arms, .5 and .55": Environment(TWO, truth=[0.5, 0.55]),
    }
    for horizon in (LONGER, LONGEST):
        policies = {
            "Elastic": gb.Elastic(),
            "proved": gb.Elastic(proved=True),
            "horizon given": gb.Elastic(horizon=horizon),
        }
        yield from _each(worlds, policies, horizon, 24)


def _each(
    worlds: Mapping[str, Environment], policies: Mapping[str, Policy], horizon: int, runs: int
) -> Iterator[Game]:
    for name, world in worlds.items():
        for label, policy in policies.items():
            yield Game(f"{name}: {label}", (world,), horizon, runs, policy=policy)


def _moves(model: gb.RewardModel, theta: float, drift: gb.Drift) -> Environment:
    return Environment(model, theta=theta, drift=drift)


def _believed(n_arms: int, noise: gb.Noise, means: list[float]) -> Environment:
    """Means that have little to do with the curves, which fall from arm to arm."""
    model = gb.RewardModel(
        lambda theta, arm: 0.9 - 0.7 * (1 - theta) * (arm + 1) / n_arms, list(range(n_arms))
    )
    return Environment(model, noise=noise, truth=means)


def _far() -> Environment:
    """The best arm is the worst one by its curve."""
    curves = [lambda t: 0.7 + 0.1 * t, lambda t: 0.1 + 0.1 * t, lambda t: 0.02 * t]
    model = gb.RewardModel.from_functions(curves)
    return Environment(model, theta=0.5, bias=gb.FixedBias((0.0, 0.0, 0.8)))


def rows_of(games: Callable[[], Iterable[Game]]) -> list[Row]:
    """Play games."""
    return [game.row() for game in games()]


PARTS: dict[str, Callable[[], list[Row]]] = {
    "still": partial(rows_of, still_games),
    "priors": partial(rows_of, prior_games),
    "outside": partial(rows_of, outside_games),
    "moving": partial(rows_of, moving_games),
    "long": partial(rows_of, long_games),
    "stuck": partial(rows_of, stuck_games),
    "growth": growth_rows,
    "longest": partial(rows_of, growing_games),
    "caution": caution_rows,
}


def run() -> list[Row]:
    """All parts."""
    return [row for part in PARTS.values() for row in part()]
