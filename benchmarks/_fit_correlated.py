"""Policies from a history whose groups have errors that are correlated between arms.

Rewards are shares with little noise. The log-odds of a group's means follow one number, plus an
error: the same line over the prices for all arms of a group ("line", or "heavy" with Student's
distribution), a smooth curve ("smooth"), or independent errors. Prints the mean regret in 40 new
groups after 1,000 rounds, with its standard error over groups, also of Thompson sampling with a
Normal prior whose covariance is that of the history's groups:
``python -m benchmarks._fit_correlated``, about five minutes on one core.
"""

import dataclasses
from typing import Any

import numpy as np

import globalbandits as gb
from globalbandits._types import FloatArray

PRICES = np.arange(2.0, 9.0)
COST, HORIZON, N_GROUPS, N_REWARDS, N_NEW = 1.0, 1_000, 80, 200, 40
NOISE_SD = 0.1  # at a mean of 1/2
COLUMNS: dict[str, Any] = {
    "group": "group", "arm": "arm", "reward": "reward", "reward_range": (0.0, 1.0)
}  # fmt: skip
CASES = (("line", 0.1), ("heavy", 0.3), ("smooth", 0.2), ("independent", 0.1))


def draw_means(kind: str, size: float, n_groups: int, rng: np.random.Generator) -> FloatArray:
    """True means of groups: shape (n_groups, n_prices)."""
    x = (PRICES - PRICES.mean()) / np.ptp(PRICES)
    z = rng.standard_normal((n_groups, 1))
    line = x / np.sqrt(np.mean(x**2))
    if kind == "line":
        error = rng.standard_normal((n_groups, 1)) * line
    elif kind == "heavy":
        error = 0.5 * rng.standard_t(2, (n_groups, 1)) * line
    else:
        distance = np.abs(x[:, None] - x) / 0.35
        covariance = np.exp(-(distance**2)) if kind == "smooth" else np.eye(x.size)
        root = np.linalg.cholesky(covariance + 1e-9 * np.eye(x.size))
        error = rng.standard_normal((n_groups, x.size)) @ root.T
    odds = -0.4 - 2.2 * x + 0.7 * z * (1.0 + 0.8 * x) + size * error
    return np.asarray(1.0 / (1.0 + np.exp(-odds)))


def draw_history(means: FloatArray, rng: np.random.Generator) -> dict[str, Any]:
    """Rewards at random prices."""
    group = np.repeat(np.arange(len(means)), N_REWARDS)
    arm = rng.integers(0, PRICES.size, group.size)
    mean = means[group, arm]
    weight = (0.25 / NOISE_SD) ** 2 / (mean * (1.0 - mean)) - 1.0
    reward = rng.beta(mean * weight, (1.0 - mean) * weight)
    return {"group": group, "arm": PRICES[arm], "reward": reward}


def play_normal_thompson(found: gb.Fit, means: FloatArray, rng: np.random.Generator) -> float:
    """Regret of Thompson sampling whose Normal prior has the covariance of the groups."""
    panel, margins = found.panel, PRICES - COST
    noise = found.fitted.noise**2
    centre = panel.sums.sum(axis=0) / panel.counts.sum(axis=0)
    gaps = np.where(panel.tried, panel.means - centre, 0.0)
    spread = gaps.T @ gaps / panel.n_groups
    spread -= np.diag((noise / np.maximum(panel.counts, 1)).mean(axis=0))
    values, vectors = np.linalg.eigh(spread)
    spread = (vectors * np.maximum(values, 1e-6)) @ vectors.T
    regret, best = 0.0, float((margins * means).max())
    for _ in range(HORIZON):
        arm = int((margins * rng.multivariate_normal(centre, spread)).argmax())
        regret += best - float(margins[arm] * means[arm])
        sold = 1.0 if rng.random() < means[arm] else 0.0
        reward = means[arm] + np.sqrt(found.fitted.phi[arm]) * (sold - means[arm])
        gain = spread[:, arm] / (spread[arm, arm] + noise[arm])
        centre = centre + gain * (reward - centre[arm])
        spread = spread - np.outer(gain, spread[arm])
    return regret


def main() -> None:
    """Print one line per case."""
    for kind, size in CASES:
        rng = np.random.default_rng(7)
        history = draw_history(draw_means(kind, size, N_GROUPS, rng), rng)
        found = gb.fit(history, **COLUMNS, cost=COST, verdict=False)
        policies = {
            "found.policy": found.policy,
            "with horizon": dataclasses.replace(found, horizon=HORIZON).policy,
            "Elastic(horizon)": gb.Elastic(horizon=HORIZON),
            "IndependentGittins": gb.IndependentGittins(),
            "WAGP": gb.WAGP(),
        }
        noise = gb.ScaledCoinNoise(tuple(found.fitted.phi.tolist()))
        rows = []
        new = draw_means(kind, size, N_NEW, np.random.default_rng(99))
        for seed, means in enumerate(new):
            env = gb.Environment(found.model, truth=means.tolist(), noise=noise)
            played = gb.simulate(env, policies, HORIZON, 4, seed=seed, checkpoints=1)
            regrets = played.dataset["regret"].values[:, :, -1].mean(axis=1)
            rows.append([*regrets, play_normal_thompson(found, means, rng)])
        table = np.array(rows)
        errors = table.std(axis=0, ddof=1) / np.sqrt(N_NEW)
        names = (*policies, "Normal Thompson")
        cells = zip(names, table.mean(axis=0), errors, strict=True)
        print(f"{kind}, {size:g}: " + "; ".join(f"{n} {m:.1f} ± {e:.1f}" for n, m, e in cells),
              flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
