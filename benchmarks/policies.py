"""Regret of policies side by side: tables of docs/measured/policies-compared.md and evidence.md.

``python -m benchmarks.run policies:PART`` plays one part of `PARTS`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

import globalbandits as gb
from benchmarks import Row
from benchmarks.shops import error_of
from benchmarks.simulation import pricing
from globalbandits.environments import Environment
from globalbandits.policies.base import Policy

LONG, LONGER = 10_000, 100_000
DOSES = gb.dose.logistic([float(dose) for dose in range(1, 9)], penalty=0.06, domain=(0.1, 1.5))
POWER = gb.dose.power([0.05, 0.12, 0.25, 0.40, 0.55, 0.65], target=0.25)
TARGET = gb.dose.logistic([float(dose) for dose in range(1, 7)], target=0.3)
DEMAND = gb.demand.exponential([round(0.1 * step, 1) for step in range(1, 11)], domain=(0.5, 5.0))
# The paper's example with three arms.
THREE = gb.RewardModel.from_functions(
    [lambda theta: 1.0 - np.sqrt(theta), lambda theta: 0.8 * theta, lambda theta: theta**2]
)


def mean_rows(
    title: str,
    worlds: Sequence[Environment],
    policies: Mapping[str, Policy],
    horizon: int,
    runs: int,
    seed: int = 0,
) -> Iterator[Row]:
    """Return the mean regret of each policy over all runs of some worlds."""
    played = [
        gb.simulate(world, policies, horizon, runs, seed=seed, checkpoints=1) for world in worlds
    ]
    for label in policies:
        found = [result.dataset["regret"].sel(policy=label).values.ravel() for result in played]
        # The worlds are given, not drawn, so only the spread inside them counts.
        error = float(np.hypot.reduce([error_of(regrets) for regrets in found])) / len(worlds)
        yield Row(
            name=f"{title}, T = {horizon:,}: {label}",
            value=float(np.mean(found)),
            unit="rewards",
            target=None,
            note=f"± {error:.2g}, {runs * len(worlds):,} runs",
        )


def labelled(*policies: Policy) -> dict[str, Policy]:
    """Return policies by label."""
    return {policy.label: policy for policy in policies}


def experiment_rows() -> list[Row]:
    """All policies on the paper's Experiment 1."""
    policies = labelled(
        gb.IDS(),
        gb.GridGreedy(),
        gb.Safe(gb.IDS()),
        gb.WAGP(),
        gb.RegionalUCB(),
        gb.OSSB(),
        gb.Safe(gb.WAGP()),
        gb.GridThompson(),
        gb.UCBC(alpha=1.0, variance=0.063),
        gb.UCBC(),
        gb.UCBS(),
        gb.LinUCB(),
        gb.EpsilonGreedy(),
        gb.LinearGreedy(),
        gb.OFUL(),
        gb.TSC(),
        gb.ExploreThenCommit(),
        gb.IMED(),
        gb.ThompsonSampling(),
        gb.UCBTuned(),
        gb.MOSS(),
        gb.KLUCB(),
        gb.UCB1(),
        gb.SlidingWindowUCB(),
        gb.DiscountedUCB(),
        gb.GLMUCB(scale=0.001),
        gb.Uniform(),
    )
    world = Environment(pricing(), theta=0.4)
    return list(mean_rows("Experiment 1", [world], policies, LONG, 200))


def few_rows() -> list[Row]:
    """36 decisions with Bernoulli rewards, at four parameters each."""
    policies = labelled(gb.WAGP(), gb.GridGreedy(), gb.IDS())
    rows = []
    for title, model, thetas in (
        ("logistic doses with a penalty", DOSES, (0.3, 0.62, 0.9, 1.2)),
        ("the paper's prices", pricing(), (0.2, 0.4, 0.6, 0.8)),
        ("exponential demand", DEMAND, (1.0, 2.0, 3.0, 4.0)),
        ("power doses with a target", POWER, (-0.9, -0.3, 0.3, 0.9)),
    ):
        worlds = [Environment(model, theta, noise=gb.BernoulliNoise()) for theta in thetas]
        rows += list(mean_rows(title, worlds, policies, 36, 1_000))
        for label, policy in policies.items():
            right = [found_share(world, policy, 36, 1_000) for world in worlds]
            rows.append(
                Row(
                    name=f"{title}: {label}, best arm at the final estimate",
                    value=100.0 * float(np.mean(right)),
                    unit="%",
                    target=None,
                    note=f"{1_000 * len(worlds):,} runs",
                )
            )
    return rows


def found_share(world: Environment, policy: Policy, horizon: int, runs: int) -> float:
    """Return how often the best arm at the final estimate is truly the best."""
    result = gb.simulate(world, [policy], horizon, runs, checkpoints=1)
    estimates = result.dataset["estimate"].values.ravel()
    best = set(world.model.best_arms(world.theta))
    return float(np.mean([bool(best & set(world.model.best_arms(x))) for x in estimates]))


def target_rows() -> list[Row]:
    """Six problems with a target."""
    policies = labelled(
        gb.Uniform(),
        gb.UCB1(),
        gb.KLUCB(),
        gb.ThompsonSampling(),
        gb.IndependentGittins(),
        gb.RandomEffectsThompson(),
        gb.Elastic(),
        gb.GridThompson(),
        gb.GridGreedy(),
    )
    noise = gb.BernoulliNoise()
    worlds = [Environment(POWER, theta, noise=noise) for theta in (-0.4, 0.0, 0.3)]
    worlds += [Environment(TARGET, theta, noise=noise) for theta in (0.35, 0.55, 0.8)]
    return [
        row
        for horizon, runs in ((200, 200), (2_000, 200), (LONG, 100))
        for row in mean_rows("targets", worlds, policies, horizon, runs)
    ]


def variance_rows() -> list[Row]:
    """Textbook policies, and the same with a variance that is learned."""
    policies = {
        "ThompsonSampling, textbook": gb.ThompsonSampling(),
        "ThompsonSampling, learned": gb.ThompsonSampling(variance="learned"),
        "IMED, textbook": gb.IMED(),
        "IMED, learned": gb.IMED(variance="learned"),
        "UCBC, textbook": gb.UCBC(alpha=3.0, variance=0.25),
        "UCBC, learned": gb.UCBC(),
        "UCBS, textbook": gb.UCBS(),
        "UCBS, learned": gb.UCBS(variance="learned"),
        "TSC, textbook": gb.TSC(),
        "TSC, learned": gb.TSC(variance="learned"),
    }
    models = {"prices": (pricing(), 0.4), "three": (THREE, 0.5), "doses": (DOSES, 0.62)}
    noises = {
        "Beta": gb.BetaNoise(),
        "normal sd 0.2": gb.TruncatedNormalNoise(sd=0.2),
        "normal sd 0.05": gb.TruncatedNormalNoise(sd=0.05),
        "Bernoulli": gb.BernoulliNoise(),
    }
    played = {
        "prices": tuple(noises),
        "three": ("Beta", "normal sd 0.05", "Bernoulli"),
        "doses": ("Beta", "Bernoulli"),
    }
    worlds = {
        f"{name}, {noise}": Environment(*models[name], noise=noises[noise])
        for name, names in played.items()
        for noise in names
    }
    # Its rewards have a standard deviation of 0.03, and say almost nothing about theta.
    worlds["one arm hardly varies"] = mixed_world(0.0038, slope=0.001)
    return [
        row
        for title, world in worlds.items()
        for row in mean_rows(title, [world], policies, LONG, 200, seed=5)
    ]


def mixed_rows() -> list[Row]:
    """One arm hardly varies; the best one has Bernoulli rewards."""
    policies = labelled(
        gb.IndependentGittins(), gb.RandomEffectsThompson(), gb.Elastic(), gb.ThompsonSampling()
    )
    world = mixed_world(0.001)
    rows = [
        row
        for horizon in (LONG, LONGER)
        for row in mean_rows("arms that vary differently", [world], policies, horizon, 60)
    ]
    steady = Environment(pricing(), 0.4, noise=gb.TruncatedNormalNoise(sd=0.05))
    policies = labelled(gb.IndependentGittins(), gb.Elastic())
    return rows + list(mean_rows("prices, normal sd 0.05", [steady], policies, LONG, 60))


def mixed_world(share: float, slope: float = 0.2) -> Environment:
    """Arms of mean 0.45, 0.40 and 0.30 at theta = 0.5.

    Args:
        share: of the Bernoulli variance that the second arm has.
        slope: of the second arm's curve.
    """
    lines = ((0.45, -0.3), (0.40, slope), (0.30, 0.25))
    model = gb.RewardModel.from_functions(
        [
            lambda theta, mean=mean, slope=slope: mean + slope * (theta - 0.5)  # type: ignore[misc]
            for mean, slope in lines
        ]
    )
    return Environment(model, theta=0.5, noise=gb.ScaledCoinNoise((1.0, share, 1.0)))


def guarded_rows() -> list[Row]:
    """Guarded and safe policies on curves that are wrong, and under a jump of the parameter."""
    wagp = gb.WAGP()
    policies = {
        "WAGP": wagp,
        "Guarded": gb.Guarded(wagp),
        "Guarded, fallback IndependentGittins": gb.Guarded(wagp, fallback=gb.IndependentGittins()),
        "Guarded, fallback UCB1": gb.Guarded(wagp, fallback=gb.UCB1()),
        "Safe": gb.Safe(wagp),
        "Safe, caution=.1, variance=None": gb.Safe(wagp, caution=0.1, variance=None),
        "UCB1": gb.UCB1(),
        "IndependentGittins": gb.IndependentGittins(),
        "Elastic": gb.Elastic(),
    }
    model = pricing()
    worlds = {
        "bias 0": Environment(model, theta=0.4),
        **{
            f"bias {size}": Environment(model, theta=0.4, bias=gb.UniformBias(size))
            for size in (0.01, 0.05, 0.1)
        },
        "theta jumps": Environment(model, theta=0.4, drift=gb.Jumps(times=(2_000,), values=(0.8,))),
    }
    return [
        row
        for title, world in worlds.items()
        for row in mean_rows(title, [world], policies, LONG, 300)
    ]


PARTS: dict[str, Callable[[], list[Row]]] = {
    "experiment": experiment_rows,
    "few": few_rows,
    "targets": target_rows,
    "variance": variance_rows,
    "mixed": mixed_rows,
    "guarded": guarded_rows,
}


def run() -> list[Row]:
    """All parts."""
    return [row for part in PARTS.values() for row in part()]
