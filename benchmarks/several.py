"""Two unknown numbers: regret on random worlds and in a shop, accuracy of the belief, and time.

The worlds are those of docs/measured/several.md. The seeds of the worlds start at 5,000.
"""

import dataclasses
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import globalbandits as gb
from benchmarks import Row

WORLDS = int(os.environ.get("SEVERAL_WORLDS", "200"))
FIRST_SEED = 5_000
HORIZONS = (100, 1_000, 10_000)
MIN_MEAN = 0.003

# Regret of the prototype of Elastic that knows the horizon, at the three horizons.
PROTOTYPE = {"exact": (1.15, 4.1, 15.1), ".02": (1.6, 7.2, 27.0), "family": (3.1, 13.0, 27.0)}


def expit(x: Any) -> Any:
    """The logistic function."""
    return 1.0 / (1.0 + np.exp(-x))


FAMILIES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "exponential": lambda level, slope, price: level * np.exp(-slope * price),
    "logit": lambda level, slope, price: expit(level - slope * price),
    "power": lambda level, slope, price: level * price ** (-slope),
    "linear": lambda level, slope, price: level - slope * price,
    "dose": lambda level, slope, dose: expit(level + np.exp(slope) * np.log(dose)),
    "emax": lambda level, slope, dose: level * dose**1.5 / (slope**1.5 + dose**1.5),
    "cloglog": lambda level, slope, dose: (
        1.0 - np.exp(-np.exp(level + np.exp(slope) * np.log(dose)))
    ),
}


def closeness(target: float, mean: Any, arm: Any) -> Any:
    """Minus the distance of a response from the target."""
    return -abs(mean - target)


def margin(cost: float, top: float, mean: Any, arm: Any) -> Any:
    """Profit, relative to the margin of the highest price."""
    return (arm - cost) / (top - cost) * mean


@dataclasses.dataclass(frozen=True)
class World:
    """A model of two numbers, and the family of its curves."""

    family: str
    arms: Any
    model: gb.VectorModel


def random_world(rng: np.random.Generator) -> World:
    """Draw prices or doses until three arms are best on 4 % of the box each."""
    while True:
        family = str(rng.choice(["exponential", "logit", "power", "dose"]))
        if family == "dose":
            n = int(rng.integers(5, 9))
            top = rng.uniform(1.5, 4.0)
            arms = np.exp(np.linspace(-np.log(rng.uniform(4, 20)), 0, n)) * top
            target = rng.uniform(0.2, 0.35)
            box = {"level": (-4.0, 0.5), "slope": (float(np.log(0.4)), float(np.log(3.0)))}
            value: Any = partial(closeness, target)
        else:
            n = int(rng.integers(5, 13))
            top = rng.uniform(2.0, 5.0)
            even = rng.random() < 0.5
            arms = np.linspace(1.0, top, n) if even else np.geomspace(1.0, top, n)
            cost = rng.uniform(0.3, 0.8) if family == "power" else rng.uniform(0.0, 0.7)
            box = {
                "power": {"level": (0.15, 0.95), "slope": (0.3, 4.0)},
                "exponential": {"level": (0.2, 1.0), "slope": (0.8 / top, 1.2)},
                "logit": {"level": (-1.0, 4.0), "slope": (1.0 / top, 3.0)},
            }[family]

            def value(mean: Any, arm: Any, cost: float = cost, top: float = top) -> Any:
                return (arm - cost) / (top - cost) * mean

        model = gb.VectorModel(FAMILIES[family], arms.tolist(), domain=box, value=value)
        worths = model.worth(model.from_unit(rng.random((400, 2))))
        shares = np.bincount(np.argmax(worths, axis=1), minlength=n) / 400
        if (shares >= 0.04).sum() >= 3 and shares.max() < 0.8:
            return World(family, arms, model)


def other_family(rng: np.random.Generator, world: World) -> Any:
    """Draw means of another family on the same arms, with an arm clearly above the median."""
    top = world.arms[-1]
    while True:
        if world.family == "dose":
            kind = str(rng.choice(["emax", "cloglog"]))
            low = np.log(world.arms[0])
            theta = (rng.uniform(0.35, 0.95), np.exp(rng.uniform(low, np.log(2 * top))))
            if kind == "cloglog":
                theta = (rng.uniform(-4.0, 0.0), rng.uniform(np.log(0.4), np.log(2.0)))
        else:
            kinds = ["exponential", "logit", "power", "linear"]
            kind = str(rng.choice([other for other in kinds if other != world.family]))
            level = rng.uniform(0.2, 0.98)
            theta = {
                "exponential": (rng.uniform(0.2, 1.0), rng.uniform(0.8 / top, 1.2)),
                "logit": (rng.uniform(-1, 4), rng.uniform(1 / top, 3)),
                "power": (rng.uniform(0.15, 0.95), rng.uniform(0.3, 4.0)),
                "linear": (level, level / (top * rng.uniform(0.9, 2.0))),
            }[kind]
        means = np.clip(FAMILIES[kind](*theta, world.arms), MIN_MEAN, 1.0 - MIN_MEAN)
        model = world.model
        worth = np.array([model.worth_of(k, mean) for k, mean in enumerate(means)])
        if worth.max() - np.median(worth) > 0.01:
            return means


def true_means(rng: np.random.Generator, world: World, kind: str) -> Any:
    """Draw the means of a world: exact curves, with an error per arm, or of another family."""
    if kind == "family":
        return other_family(rng, world)
    means = world.model.means(world.model.from_unit(rng.random(2)))
    if kind != "exact":
        means = means + float(kind) * rng.standard_normal(len(means))
    return np.clip(means, MIN_MEAN, 1.0 - MIN_MEAN)


def policies_for(horizon: int) -> dict[str, gb.Policy]:
    """The policies that are compared."""
    return {"Elastic": gb.Elastic(horizon=horizon), "IDS": gb.IDS()}


def play_worlds(kind: str, horizon: int, n_worlds: int) -> dict[str, Any]:
    """Return the regrets of each policy, one game per world."""
    regrets: dict[str, list[float]] = {}
    for seed in range(FIRST_SEED, FIRST_SEED + n_worlds):
        rng = np.random.default_rng(seed)
        world = random_world(rng)
        means = true_means(rng, world, kind)
        env = gb.Environment(world.model, truth=means, noise=gb.BernoulliNoise())
        played = gb.simulate(
            env, policies_for(horizon), horizon, runs=1, seed=seed, checkpoints=1, threads=1
        )
        for name in played.policies:
            regret = float(played.dataset["regret"].sel(policy=name).values[0, -1])
            regrets.setdefault(name, []).append(regret)
    return {name: np.array(found) for name, found in regrets.items()}


def regret_rows(n_worlds: int) -> list[Row]:
    """Regret on random worlds; the targets of Elastic are 1.1 times the prototype's."""
    rows: list[Row] = []
    for kind, prototype in PROTOTYPE.items():
        for horizon, goal in zip(HORIZONS, prototype, strict=True):
            for name, found in play_worlds(kind, horizon, n_worlds).items():
                error = found.std(ddof=1) / np.sqrt(len(found))
                rows.append(
                    Row(
                        name=f"{name}, {kind}, T = {horizon:,}",
                        value=float(found.mean()),
                        unit="regret",
                        target=1.1 * goal if name == "Elastic" else None,
                        note=f"± {error:.2g}, {n_worlds} worlds, prototype of Elastic {goal:g}",
                    )
                )
    return rows


PRICES = [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]


def shop(level: tuple[float, float]) -> gb.VectorModel:
    """Seven prices, cost 1.5, exponential demand with unknown level and slope."""
    return gb.VectorModel(
        "level * exp(-slope*arm)",
        PRICES,
        domain={"level": level, "slope": (0.02, 0.6)},
        value="(arm - 1.5) * mean",
    )


def shop_rows(n_shops: int) -> list[Row]:
    """Regret in shops whose level and slope are drawn from the box."""
    rows: list[Row] = []
    horizon = HORIZONS[-1]
    for level, goal in (((0.5, 1.0), 45.0), ((0.02, 0.08), 15.0)):
        model = shop(level)
        regrets: dict[str, list[float]] = {}
        off: dict[str, int] = {}
        for seed in range(FIRST_SEED, FIRST_SEED + n_shops):
            theta = model.from_unit(np.random.default_rng(seed).random(2))
            env = gb.Environment(model, model.named(theta), noise=gb.BernoulliNoise())
            played = gb.simulate(
                env, policies_for(horizon), horizon, runs=1, seed=seed, checkpoints=1, threads=1
            )
            worth = model.worth(theta)
            for name in played.policies:
                data = played.dataset.sel(policy=name)
                regrets.setdefault(name, []).append(float(data["regret"].values[0, -1]))
                favourite = int(np.argmax(data["pulls"].values[0]))
                off[name] = off.get(name, 0) + int(worth[favourite] < 0.99 * worth.max())
        for name, found in regrets.items():
            error = np.std(found, ddof=1) / np.sqrt(n_shops)
            label = f"shop, level {level[0]:g} to {level[1]:g}, {name}"
            note = f"± {error:.2g}, {n_shops} shops, T = {horizon:,}"
            rows.append(
                Row(name=label, value=float(np.mean(found)), unit="regret", target=goal, note=note)
            )
            rows.append(
                Row(
                    name=f"{label}: most played price more than 1 % off",
                    value=100.0 * off[name] / n_shops,
                    unit="%",
                    target=10.0,
                    note=note,
                )
            )
    return rows


def time_rows() -> list[Row]:
    """Processor time of a decision with its update, averaged over a game."""
    model = gb.VectorModel(
        FAMILIES["logit"],
        np.linspace(1.0, 4.0, 12).tolist(),
        domain={"level": (-1.0, 4.0), "slope": (0.25, 3.0)},
        value="(arm - 0.5) / 3.5 * mean",
    )
    rows: list[Row] = []
    env = gb.Environment(model, {"level": 1.5, "slope": 1.0}, noise=gb.BernoulliNoise())
    policies = {"Elastic": gb.Elastic(), "IDS": gb.IDS(), "GridThompson": gb.GridThompson()}
    for name, policy in policies.items():
        gb.simulate(env, {name: policy}, 10, runs=1, threads=1)
        for horizon in (1_000, 10_000):
            start = time.process_time()
            gb.simulate(env, {name: policy}, horizon, runs=5, checkpoints=1, threads=1)
            step = (time.process_time() - start) / (5 * horizon)
            rows.append(
                Row(
                    name=f"{name}, a step at 12 arms, T = {horizon:,}",
                    value=1e6 * step,
                    unit="µs",
                    target=20.0 if horizon == 10_000 else None,
                    note="two unknown numbers, 5 runs",
                )
            )
    return rows


def run() -> list[Row]:
    """Measure everything; SEVERAL_WORLDS sets the number of worlds."""
    return time_rows() + shop_rows(WORLDS) + regret_rows(WORLDS)
