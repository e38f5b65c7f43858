"""How far a fit's forecast is to be trusted: regret that is predicted, and in fresh groups.

Histories of several worlds are fitted, and the policies of the verdict then play groups of the same
world that no fit has seen. Prints one line per world, averages over four histories with their
standard error: ``python -m benchmarks._fit_verdict``, about ten minutes on one core.
"""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import globalbandits as gb
from globalbandits.fitting.assessment.forecast import (
    ForecastSettings,
    candidate_policies,
    error_sizes,
    simulate_groups,
)
from globalbandits.fitting.assessment.standard_errors import expected_bias_scale

SHOWN = ("WAGP", "Elastic(history)", "Elastic", "RandomEffectsThompson(history)",
         "IndependentGittins")  # fmt: skip
SEEDS = (11, 12, 13, 14)
N_FRESH = 2_000
PRICES: dict[str, Any] = {"value": "arm * mean / 8"}
DOSES: dict[str, Any] = {
    "offset": {dose: -0.3 * place / 5 for place, dose in enumerate((0.5, 1.0, 2.0, 4.0, 8.0, 16.0))}
}
# World, groups, size of the groups' own errors, what a decision is worth.
CASES: tuple[tuple[str, int, float, dict[str, Any]], ...] = (
    ("exponential_demand", 20, 0.0, PRICES),
    ("exponential_demand", 20, 0.02, PRICES),
    ("exponential_demand", 50, 0.02, PRICES),
    ("exponential_demand", 200, 0.0, PRICES),
    ("emax", 20, 0.02, DOSES),
    ("traffic_only", 20, 0.0, PRICES),
    ("unstructured", 50, 0.0, PRICES),
    ("identical_groups", 20, 0.0, PRICES),
    ("paper", 20, 0.0, {}),
    ("paper", 50, 0.0, {}),
)


def fresh_world(found: gb.Fit, world: str, rho: float, seed: int) -> gb.Environment:
    """The fitted model in groups of the true world."""
    groups = getattr(gb.histories, world)(groups=N_FRESH, rewards=1, seed=seed, rho=rho)
    middle = found.model.means(0.5)
    people = gb.Population(samples=[0.5] * N_FRESH, shifts=(groups.means - middle).tolist())
    return gb.Environment(found.model, theta=people, noise=gb.BernoulliNoise())


def compare(
    world: str, n_groups: int, rho: float, options: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Predicted and real regret after 1,000 rounds, for every history."""
    for seed in SEEDS:
        history = getattr(gb.histories, world)(groups=n_groups, seed=seed, rho=rho)
        found = gb.fit(history, group="group", arm="arm", reward="reward", **options)
        env = fresh_world(found, world, rho, 1_000 + seed)
        scale = expected_bias_scale(found.fitted, found.errors)
        sizes = error_sizes(found.fitted, scale, found.offered, found.model)
        policies = candidate_policies(sizes, found.model)
        fixed = found.offered[found.value_of_information.fixed]
        everyone = policies | {"fixed": gb.FixedArm(found.model.arms.index(fixed))}
        _, runs = simulate_groups(env, everyone, ForecastSettings(seed=seed))
        forecast = found.forecast
        rows = {
            name: (float(forecast.means[name][-1]), float(runs[name][:, -1].mean()))
            for name in SHOWN
        }
        rows["fixed"] = (
            float(forecast.means[forecast.fixed][-1]),
            float(runs["fixed"][:, -1].mean()),
        )
        yield {"rows": rows, "action": found.verdict.action, "share": found.share}


def main(worlds: list[str]) -> None:
    """Print the table; only some worlds if they are named."""
    names = (*SHOWN, "fixed")
    print("| history | verdicts | share | " + " | ".join(names) + " |")
    for world, n_groups, rho, options in CASES:
        if worlds and world not in worlds:
            continue
        found = list(compare(world, n_groups, rho, options))
        cells = []
        for name in names:
            pairs = np.array([each["rows"][name] for each in found])
            means, errors = pairs.mean(axis=0), pairs.std(axis=0, ddof=1) / np.sqrt(len(pairs))
            texts = (f"{mean:.3g} ± {error:.2g}" for mean, error in zip(means, errors, strict=True))
            cells.append("; ".join(texts))
        actions = ", ".join(each["action"] for each in found)
        share = np.mean([each["share"] for each in found])
        print(f"| {world}, rho {rho:g}, {n_groups} groups | {actions} | {share:.2f} | "
              + " | ".join(cells) + " |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
