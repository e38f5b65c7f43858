"""What Elastic loses, world by world: the figures of docs/measured/elastic.md.

Regret is by the true means. About five minutes on one core.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

import globalbandits as gb
from benchmarks import Row
from benchmarks.simulation import pricing
from globalbandits._types import FloatArray
from globalbandits.environments import Environment
from globalbandits.policies.base import Policy

MODEL = pricing()
MANY = pricing(40)
NARROW = gb.demand.linear_power(list(MODEL.arms), domain=(0.3, 0.6))
DOSES = gb.dose.logistic([float(dose) for dose in range(1, 9)], penalty=0.06, domain=(0.1, 1.5))
TWO = gb.RewardModel.from_functions([lambda t: 0.6 + 0.3 * t, lambda t: 0.3 + 0.3 * t])
LONG, LONGER, LONGEST = 10_000, 100_000, 1_000_000
LARGE = 500.0  # a regret of runs that are stuck


class Game(NamedTuple):
    """A policy in some worlds, whose runs are counted together."""

    name: str
    worlds: tuple[Environment, ...]
    horizon: int
    runs: int  # of each world
    policy: Policy | None = None  # Elastic told the horizon, if none is given

    def regrets(self, seed: int = 2024) -> FloatArray:
        """Regret of every run."""
        policy = self.policy or gb.Elastic(horizon=self.horizon)
        results = [
            gb.simulate(world, [policy], self.horizon, self.runs, seed=seed, checkpoints=1)
            for world in self.worlds
        ]
        return np.concatenate([result.dataset["regret"].values.ravel() for result in results])

    def row(self) -> Row:
        """Mean regret, with its standard error."""
        regrets = self.regrets()
        error = regrets.std(ddof=1) / regrets.size**0.5
        note = f"± {error:.2g}, median {np.median(regrets):.3g}, {regrets.size:,} runs"
        stuck = float(np.mean(regrets > LARGE))
        note += f", {stuck:.2%} above {LARGE:g}" if stuck > 0 else ""
        value = float(regrets.mean())
        return Row(name=self.name, value=value, unit="rewards", target=None, note=note)


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
    for size in (0.05, 0.1):
        yield Game(f"bias {size}", (biased(gb.UniformBias(size)),), LONGER, 400)
    yield Game("one arm raised by 0.05", raised(0.05), LONGER, 20)
    yield Game("exact", exact, LONGER, 400)
    bernoulli = biased(gb.UniformBias(0.05), noise=gb.BernoulliNoise())
    yield Game("bias 0.05, Bernoulli rewards", (bernoulli,), LONGER, 200)
    yield Game("bias 0.05, 40 arms", (biased(gb.UniformBias(0.05), MANY),), LONGER, 100)


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
            "told": gb.Elastic(horizon=horizon),
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


def run() -> list[Row]:
    """All of them; the horizon stands in the name."""
    rows = []
    for game in (*still_games(), *moving_games(), *long_games()):
        named = game._replace(name=f"{game.name}, T = {game.horizon:,}")
        rows.append(named.row())
    return rows
