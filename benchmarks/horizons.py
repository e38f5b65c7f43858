"""A decision of short and long runs, beside the same rules written by hand in NumPy.

Everything is counted on both sides: random numbers, rewards, regret; ours makes its result too.
By hand all runs of a shape are played side by side, a step of all at a time. One core, in turns.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import globalbandits as gb
from benchmarks import Row
from benchmarks.simulation import best_of, pricing
from globalbandits.environments import Environment
from globalbandits.simulation import simulate

SHAPES = ((40, 25_000), (200, 5_000), (2_000, 500), (100_000, 20))  # decisions of a run, and runs
TARGET_SHORT = 5.0  # a decision of the shortest runs in decisions of the longest


def numpy_ucb1(model: gb.RewardModel, theta: float, horizon: int, runs: int) -> float:
    """UCB1 by hand; returns the mean regret."""
    means = model.means(theta)
    rng = np.random.default_rng(0)
    n_arms = len(means)
    shapes = means / (1 - means)
    counts, sums = np.ones((runs, n_arms)), 1 - rng.random((runs, n_arms)) ** shapes
    averages, widths = sums.copy(), np.ones((runs, n_arms))
    index = np.empty((runs, n_arms))
    rows = np.arange(runs)
    for t in range(n_arms + 1, horizon + 1):
        np.multiply(widths, np.sqrt(2 * np.log(t - 1)), out=index)
        index += averages
        arm = index.argmax(axis=1)
        sums[rows, arm] += 1 - rng.random(runs) ** shapes[arm]
        counts[rows, arm] += 1
        played = counts[rows, arm]
        averages[rows, arm] = sums[rows, arm] / played
        widths[rows, arm] = 1 / np.sqrt(played)
    return float((counts @ (means.max() - means)).mean())


def numpy_wagp(model: gb.RewardModel, theta: float, horizon: int, runs: int) -> float:
    """WAGP by hand, with the closed-form inverse; returns the mean regret."""
    means, prices = model.means(theta), np.asarray(model.arms)
    edges = np.array([region.high for region in model.regions[:-1]])
    best = np.array([region.arm for region in model.regions])
    rng = np.random.default_rng(0)
    shapes = means / (1 - means)
    counts, sums = np.zeros((2, runs, len(means)))
    thetas = np.zeros((runs, len(means)))
    rows, arm = np.arange(runs), rng.integers(len(means), size=runs)
    total = np.zeros(runs)  # of the arms' own estimates, times their numbers of rewards
    for t in range(1, horizon + 1):
        total -= counts[rows, arm] * thetas[rows, arm]
        sums[rows, arm] += 1 - rng.random(runs) ** shapes[arm]
        counts[rows, arm] += 1
        played, price = counts[rows, arm], prices[arm]
        root = np.sqrt(sums[rows, arm] / played / price)
        thetas[rows, arm] = np.clip((1 - root) / price, 0, 1)
        total += played * thetas[rows, arm]
        arm = best[np.searchsorted(edges, total / t)]
    return float((counts @ (means.max() - means)).mean())


BY_HAND: tuple[tuple[Any, Callable[..., float]], ...] = (
    (gb.WAGP(), numpy_wagp),
    (gb.UCB1(), numpy_ucb1),
)


def run() -> list[Row]:
    """For both rules: nanoseconds of a decision, and how many of ours one by hand costs."""
    env = Environment(pricing(), theta=0.4)
    rows = []
    for policy, by_hand in BY_HAND:
        ours, others = [], []
        for horizon, runs in SHAPES:
            play = partial(simulate, env, [policy], horizon, runs, checkpoints=1, threads=1)
            play()
            times = best_of([play, partial(by_hand, env.model, 0.4, horizon, runs)], repeats=3)
            ours.append(times[0] / (horizon * runs))
            others.append(times[1] / (horizon * runs))
        for (horizon, runs), mine, other in zip(SHAPES, ours, others, strict=True):
            size = f"runs of {horizon:,}"
            rows.append(
                Row(
                    name=f"{policy.label}, {size}: by hand ÷ simulate, a decision",
                    value=other / mine,
                    unit="times",
                    target=None,
                    note=f"{other * 1e9:.0f} and {mine * 1e9:.0f} ns, {runs:,} runs",
                )
            )
        rows.append(
            Row(
                name=f"{policy.label}, runs of 40 ÷ runs of 100,000, a decision",
                value=ours[0] / ours[-1],
                unit="times",
                target=TARGET_SHORT,
                note=f"{ours[0] * 1e9:.0f} and {ours[-1] * 1e9:.0f} ns",
            )
        )
    return rows
