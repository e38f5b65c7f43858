"""What late rewards, batches and held prices cost, in rounds of the best arm.

``python -m benchmarks.late_rewards delays`` compares regret with and without a delay,
``python -m benchmarks.late_rewards holding`` batches and `Hold`;
``python -m benchmarks.late_rewards information`` says what learning later must cost;
``python -m benchmarks.late_rewards open`` plays learners that use open decisions. Numbers are means
of 100 runs with their standard errors; ``python -m benchmarks.late_rewards delays 20`` plays 20.
"""

import sys
from collections.abc import Mapping

import numpy as np

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


def information(runs: int) -> None:
    """Print what a policy loses if it learns as late as a geometric delay allows, and no more.

    With a mean delay m, N(t) = t - m (1 - exp(-t / m)) outcomes are known at step t. The loss of a
    step with n known outcomes is that of the game without a delay. The sum over t is the regret of
    a policy that uses known outcomes as well as it does without a delay.
    """
    mean, steps = HORIZON / 10, np.arange(HORIZON)
    known = steps - mean * -np.expm1(-steps / mean)
    times = np.unique(np.geomspace(1, HORIZON, 300).astype(int))
    policies = {policy.label: policy for policy in POLICIES if not isinstance(policy, gb.Elastic)}
    for world, env in worlds().items():
        best = float(env.model.worth(env.theta).max())
        options = {"runs": runs, "seed": 1, "checkpoints": times.tolist()}
        found = gb.simulate(env, policies, HORIZON, **options).dataset["regret"].values / best
        for name, regret in zip(policies, found, strict=True):
            games = []
            for row in regret:
                loss = np.diff(np.interp(np.arange(HORIZON + 1), [0, *times], [0.0, *row]))
                games.append(float(np.interp(known, steps, loss).sum()))
            error = np.std(games, ddof=1) / np.sqrt(runs)
            ratio = np.mean(games) / regret[:, -1].mean()
            print(f"{world} | {name} | {np.mean(games):.1f} ± {error:.1f} | {ratio:.2f}")


def open_decisions(runs: int, horizon: int = 1_000) -> None:
    """Print regret where only sales are reported, with and without open decisions as evidence.

    Sales come after a geometric delay of mean T/10, zeros at a deadline of 3 T/10.
    """
    law = gb.GeometricDelay(horizon / 10, deadline=3 * horizon // 10)
    env = worlds()["3 % shop"]
    theta = float(env.theta)  # type: ignore[arg-type]
    means, worth = env.model.means(theta), env.model.worth(theta)
    policies = (gb.GridThompson(cells=200), gb.IDS(cells=200), gb.Elastic(horizon=horizon))
    for policy in policies:
        base: dict[str, float] = {}
        for kind in (
            "no delay",
            "sales first, zeros at the deadline",
            "open decisions are evidence",
        ):
            lost = []
            for run in range(runs):
                rng = np.random.default_rng(run)
                learner = gb.Learner(policy, env.model, seed=run, compiled=True)
                waiting = gb.Pending(law)
                due: dict[int, list[tuple[int, int, float]]] = {}
                regret = 0.0
                for step in range(horizon):
                    for key, arm, reward in due.pop(step, []):
                        learner.update(arm, reward)
                        waiting.close(key, at=step, happened=reward > 0.0)
                    if kind == "open decisions are evidence" and step % 5 == 0:
                        learner.set_pending(*waiting.weights(step))
                    arm = learner.select()
                    regret += float(worth.max() - worth[arm])
                    sold, delay = rng.random() < means[arm], int(rng.geometric(10 / horizon))
                    if kind == "no delay":
                        learner.update(arm, float(sold))
                        continue
                    in_time = sold and delay <= 3 * horizon // 10
                    waiting.add(step, arm, at=step)
                    known = step + (delay if in_time else 3 * horizon // 10)
                    due.setdefault(known, []).append((step, arm, float(in_time)))
                lost.append(regret / float(worth.max()))
            error = float(np.std(lost, ddof=1) / np.sqrt(runs))
            show(
                f"3 % shop, T = {horizon} | {kind}",
                {policy.label: (float(np.mean(lost)), error)},
                base,
            )


if __name__ == "__main__":
    kinds = {
        "delays": delays,
        "holding": holding,
        "information": information,
        "open": open_decisions,
    }
    kinds[sys.argv[1]](int((sys.argv[2:] or ["100"])[0]))
