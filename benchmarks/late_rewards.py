"""What late rewards, batches and held prices cost, in rounds of the best arm.

``python -m benchmarks.late_rewards delays`` compares regret with and without a delay,
``python -m benchmarks.late_rewards holding`` batches and `Hold`. Numbers are means of 100 runs with
their standard errors; ``python -m benchmarks.late_rewards delays 20`` plays 20.
"""

import sys
from collections.abc import Mapping

import globalbandits as gb

HORIZON = 10_000
POLICIES = [gb.WAGP(), gb.Elastic(), gb.IDS(cells=500), gb.GridThompson(cells=500)]


def worlds() -> dict[str, gb.Environment]:
    """The paper's pricing world, and a shop that sells to 3 % of its visitors at a price of 5."""
    pricing = gb.demand.linear_power([round(0.40 + 0.05 * step, 2) for step in range(12)])
    shop = gb.RewardModel(
        "0.1 * exp(-theta * arm)",
        [4.0, 5.0, 6.0, 7.0, 8.0],
        domain=(0.05, 0.8),
        value="(arm - 2) * mean",
    )
    return {
        "pricing": gb.Environment(pricing, theta=0.4),
        "3 % shop": gb.Environment(shop, theta=0.24, noise=gb.BernoulliNoise()),
    }


def rounds(
    env: gb.Environment, policies: Mapping[str, gb.Policy], runs: int, batch: int = 1
) -> dict[str, tuple[float, float]]:
    """Regret in rounds of the best arm, and its standard error, by policy."""
    best = float(env.model.worth(env.theta).max())
    found = gb.simulate(env, policies, HORIZON, runs=runs, seed=1, batch=batch, checkpoints=1)
    table = found.summary()
    return {
        str(name): (row["regret_mean"] / best, row["regret_sem"] / best)
        for name, row in table.iterrows()
    }


def show(title: str, found: dict[str, tuple[float, float]], base: dict[str, float]) -> None:
    """Print one row for each policy: regret, standard error, and the ratio to the first."""
    for name, (mean, error) in found.items():
        ratio = mean / base.setdefault(name, mean)
        print(f"{title} | {name} | {mean:.1f} ± {error:.1f} | {ratio:.2f}", flush=True)


def delays(runs: int) -> None:
    """Print regret without a delay, with short and with long ones."""
    policies = {policy.label: policy for policy in POLICIES}
    kinds = {
        "none": None,
        "geometric, mean T/100": gb.GeometricDelay(HORIZON / 100),
        "geometric, mean T/10": gb.GeometricDelay(HORIZON / 10),
        "fixed, T/10": gb.FixedDelay(HORIZON // 10),
        "geometric, mean T/10, 30 % lost": gb.GeometricDelay(HORIZON / 10, lost=0.3),
    }
    for world, env in worlds().items():
        base: dict[str, float] = {}
        for name, delay in kinds.items():
            late = gb.Environment(env.model, theta=env.theta, noise=env.noise, delay=delay)
            show(f"{world} | {name}", rounds(late, policies, runs), base)


def holding(runs: int) -> None:
    """Print regret of batches, of held arms, of budgets of changes, and of markdowns."""
    for world, env in worlds().items():
        for inner in (gb.WAGP(), gb.GridThompson(cells=500)):
            base: dict[str, float] = {}
            name = inner.label
            show(f"{world} | every round", rounds(env, {name: inner}, runs), base)
            for size in (100, 500):
                title = f"{world} | batch={size}"
                show(title, rounds(env, {name: inner}, runs, batch=size), base)
            for held in (
                gb.Hold(inner, every=100),
                gb.Hold(inner, every=500),
                gb.Hold(inner, most_changes=5),
                gb.Hold(inner, most_changes=3),
                gb.Hold(inner, every=500, only_down=True),
            ):
                show(f"{world} | {held.label}", rounds(env, {name: held}, runs), base)
            both = {name: gb.Hold(inner, every=500)}
            show(f"{world} | Hold(every=500), batch=500", rounds(env, both, runs, batch=500), base)


if __name__ == "__main__":
    {"delays": delays, "holding": holding}[sys.argv[1]](int((sys.argv[2:] or ["100"])[0]))
