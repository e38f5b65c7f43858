"""The bias that a fit finds, and what Elastic should make of it.

``python -m benchmarks._fit_bias`` prints the bias scale found in sparse histories (a minute);
``python -m benchmarks._fit_bias sizes`` that found in five kinds of histories;
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


# Rows of the table of estimated biases: history, rewards per group, and how they are drawn.
HISTORIES: tuple[tuple[str, str, int, dict[str, Any]], ...] = (
    ("exponential, 140 rewards per group", "exponential_demand", 140, {"rho": 0.02}),
    ("exponential, exact", "exponential_demand", 140, {}),
    ("emax", "emax", 140, {"rho": 0.02}),
    ("exponential, 20 on some arms", "exponential_demand", 20, {"rho": 0.02, "uneven": True}),
    ("exponential, 42 continuous", "exponential_demand", 42, {"rho": 0.02, "concentration": 5.0}),
)


def found_in_histories() -> None:
    """Mean and standard deviation over 8 histories of several kinds."""
    for title, world, rewards, how in HISTORIES:
        for groups in (10, 20, 50, 200):
            print_sizes(f"{title}, {groups} groups", world, groups, rewards, range(100, 108), how)


def found_in_sparse_histories() -> None:
    """Mean and standard deviation over 16 histories of 20 rewards per group on some arms."""
    for rho in (0.02, 0.0):
        for groups in (10, 20, 50, 200):
            how = {"rho": rho, "uneven": True}
            title = f"rho {rho:g}, {groups} groups"
            print_sizes(title, "exponential_demand", groups, 20, range(100, 116), how)


def print_sizes(
    title: str, world: str, groups: int, rewards: int, seeds: range, how: dict[str, Any]
) -> None:
    """Print the mean of the biases that are found, and their standard deviation."""
    found = []
    for seed in seeds:
        history = getattr(gb.histories, world)(groups, rewards, seed=seed, **how)
        columns = HistoryColumns("group", "arm", "reward", reward_range=(0.0, 1.0))
        panel, _ = panels_from_rows(history, columns)
        found.append(fit_shared(panel, arm_scale(panel.arms)).bias_scale)
    sizes = np.array(found)
    rms = np.sqrt(np.mean(sizes**2))
    print(f"{title}: {sizes.mean():.3f} ({sizes.std(ddof=1):.3f}), rms {rms:.3f}", flush=True)


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


MODES = {"sparse": found_in_sparse_histories, "sizes": found_in_histories, "priors": compare_priors}

if __name__ == "__main__":
    MODES[sys.argv[1] if len(sys.argv) > 1 else "sparse"]()
