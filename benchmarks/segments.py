"""Regret with segments and with arms that come and go.

``python -m benchmarks.segments offers`` plays WAGP under four kinds of offers;
``python -m benchmarks.segments segments`` compares a pooled learner of four segments with one
learner per segment and with one that ignores the segments.
"""

import argparse
from typing import Any

import numpy as np

import globalbandits as gb

PRICES = [round(0.4 + 0.05 * k, 2) for k in range(12)]
SHARES = {"north": 0.4, "east": 0.3, "south": 0.2, "west": 0.1}


def show(name: str, regret: np.ndarray) -> None:
    """Print mean and standard error of regrets, shape (runs, times)."""
    error = regret.std(axis=0, ddof=1) / np.sqrt(len(regret))
    pairs = zip(regret.mean(axis=0), error, strict=True)
    print(f"{name:34s}", "  ".join(f"{m:7.2f} ± {e:.2f}" for m, e in pairs), flush=True)


def offers(runs: int, horizon: int) -> None:
    """Print WAGP's regret under every kind of offers."""
    model = gb.demand.linear_power(PRICES)
    times = [t for t in (1_000, 10_000, 100_000) if t <= horizon]
    for theta in (0.4, 0.62):
        best = int(model.best_arms(theta)[0])
        rare = np.ones((1_000, 12), bool)
        rare[:999, best] = False
        turns = np.zeros((200, 12), bool)
        turns[:100, :3] = True
        turns[100:, 9:] = True
        kinds = {
            "all arms": None,
            "each with chance 1/2": 0.5,
            "the best one in 1 round of 1,000": rare,
            "three lowest and three highest": turns,
        }
        for name, available in kinds.items():
            env = gb.Environment(model, theta, noise=gb.BernoulliNoise(), available=available)
            result = gb.simulate(env, [gb.WAGP()], horizon, runs, seed=31, checkpoints=times)
            show(f"theta {theta}, {name}", result.dataset["regret"].values[0])


def segments(worlds: int, horizon: int, errors: float) -> None:
    """Print the regret of Elastic in four segments of logit demand, one world per row."""
    names, prices = list(SHARES), np.linspace(1.0, 4.0, 8)
    found: dict[str, list[float]] = {}
    for seed in range(worlds):
        rng = np.random.default_rng([seed, 3])
        offset = np.random.default_rng(seed).uniform(-0.7, 0.7, 4)
        slope = np.linspace(0.6, 1.6, 4)
        numbers = dict(zip(names, zip(offset, slope, strict=True), strict=True))
        theta = {"level": -1 + 5 * rng.random(), "slope": 0.25 + 2.25 * rng.random()}
        box = {"level": (-1.0, 4.0), "slope": (0.25, 2.5)}

        def mean(level, slope, price, here):  # type: ignore[no-untyped-def]
            return 1 / (1 + np.exp(-(level + here[0] - slope * here[1] * price)))

        def profit(sold, price, here):  # type: ignore[no-untyped-def]
            return (price - 0.5) / 3.5 * sold

        # With contexts the class returns a `ContextModel`, which its signature does not say.
        build: Any = gb.VectorModel
        model = build(mean, prices, box, contexts=numbers, value=profit)
        truth = np.clip(model.means(theta) + errors * rng.standard_normal((4, 8)), 0.005, 0.995)
        noise = gb.BernoulliNoise()
        pooled = gb.Elastic(horizon=horizon)
        env = gb.Environment(model, theta, noise=noise, truth=truth, contexts=SHARES)
        half = gb.Environment(
            model, theta, noise=noise, truth=truth, contexts=SHARES, available=0.5
        )
        for name, world in (("pooled Elastic", env), ("the same, half available", half)):
            result = gb.simulate(world, [pooled], horizon, 1, seed=seed, checkpoints=[horizon])
            found.setdefault(name, []).append(float(result.dataset["regret"][0, 0, -1]))
        apart = 0.0
        for place, (name, share) in enumerate(SHARES.items()):
            rounds = round(share * horizon)
            own = gb.Environment(model.in_context(name), theta, noise=noise, truth=truth[place])
            policy = gb.Elastic(horizon=rounds)
            result = gb.simulate(own, [policy], rounds, 1, seed=seed, checkpoints=[rounds])
            apart += float(result.dataset["regret"][0, 0, -1])
        found.setdefault("4 separate Elastic", []).append(apart)
        worth = truth * (prices - 0.5) / 3.5
        shares = np.array(list(SHARES.values()))
        lost = shares @ worth.max(axis=1) - (shares @ worth).max()
        found.setdefault("ignoring segments, best price", []).append(horizon * lost)
    for name, values in found.items():
        show(name, np.array(values)[:, np.newaxis])


def main() -> None:
    """Run one of the comparisons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["offers", "segments"])
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--horizon", type=int, default=10_000)
    parser.add_argument("--errors", type=float, default=0.0)
    arguments = parser.parse_args()
    if arguments.what == "offers":
        offers(arguments.runs, arguments.horizon)
    else:
        segments(arguments.runs, arguments.horizon, arguments.errors)


if __name__ == "__main__":
    main()
