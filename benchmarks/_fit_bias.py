"""The bias that a fit finds, and what Elastic should make of it.

``python -m benchmarks._fit_bias`` prints the bias scale found in sparse histories (a minute);
``python -m benchmarks._fit_bias priors`` the regret of Elastic in fresh groups with priors from the
bias, from the bias with its standard error, and with a size per arm (about ten minutes).
"""

import dataclasses
import sys
from typing import Any

import numpy as np

import globalbandits as gb
from benchmarks._fit_verdict import DOSES, PRICES, fresh_world
from globalbandits.fitting.assessment.forecast import (
    ForecastSettings,
    error_sizes,
    history_policy,
    simulate_groups,
)
from globalbandits.fitting.assessment.standard_errors import expected_bias_scale
from globalbandits.fitting.estimation.factor_model import fit_shared
from globalbandits.fitting.estimation.offered_arms import arm_scale
from globalbandits.fitting.panel.rows import HistoryColumns, panels_from_rows

# World, groups, rewards per group, whether only some arms are tried, what a decision is worth.
CASES: tuple[tuple[str, int, int, bool, dict[str, Any]], ...] = (
    ("exponential_demand", 10, 20, True, PRICES),
    ("exponential_demand", 30, 20, True, PRICES),
    ("exponential_demand", 20, 140, False, PRICES),
    ("emax", 20, 140, False, DOSES),
)


def found_in_sparse_histories() -> None:
    """Mean and standard deviation over 16 histories of 20 rewards per group on some arms."""
    for rho in (0.02, 0.0):
        for groups in (10, 20, 50, 200):
            found = []
            for seed in range(100, 116):
                history = gb.histories.exponential_demand(
                    groups, 20, seed=seed, rho=rho, uneven=True
                )
                panel, _ = panels_from_rows(history, HistoryColumns("group", "arm", "reward"))
                found.append(fit_shared(panel, arm_scale(panel.arms)).bias_scale)
            sizes = np.array(found)
            rms = np.sqrt(np.mean(sizes**2))
            print(
                f"rho {rho:g}, {groups} groups: {sizes.mean():.3f} ({sizes.std(ddof=1):.3f}), "
                f"rms {rms:.3f}",
                flush=True,
            )


def compare_priors() -> None:
    """Regret after 1,000 rounds in fresh groups, eight histories each, differences paired."""
    for world, groups, rewards, uneven, options in CASES:
        rows = []
        for seed in range(11, 19):
            generate = getattr(gb.histories, world)
            history = generate(groups, rewards, seed=seed, rho=0.02, uneven=uneven)
            found = gb.fit(
                history, group="group", arm="arm", reward="reward", horizon=2, runs=2, **options
            )
            expected = expected_bias_scale(found.fitted, found.errors)
            plain, wider = (
                history_policy(error_sizes(found.fitted, scale, found.offered, found.model))
                for scale in (found.bias_scale, expected)
            )
            policies = {
                "bias": plain,
                "bias and error": wider,
                "one size": dataclasses.replace(plain, arm_errors=None),
            }
            env = fresh_world(found, world, 0.02, 1_000 + seed)
            _, runs = simulate_groups(env, policies, ForecastSettings(seed=seed))
            rows.append([runs[name][:, -1].mean() for name in policies])
        regret = np.array(rows)
        against = regret[:, 1:] - regret[:, :1]
        errors = against.std(axis=0, ddof=1) / np.sqrt(len(rows))
        texts = [f"{m:+.2f} ± {e:.2f}" for m, e in zip(against.mean(axis=0), errors, strict=True)]
        print(
            f"{world}, {groups} groups of {rewards}: bias {regret[:, 0].mean():.1f}; with error "
            f"{texts[0]}; one size for all arms {texts[1]}",
            flush=True,
        )


if __name__ == "__main__":
    compare_priors() if sys.argv[1:] == ["priors"] else found_in_sparse_histories()
