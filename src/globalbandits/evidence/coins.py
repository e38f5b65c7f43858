"""How well coins explain rewards, inside a loop: with a theta, two thetas, or a mean per arm.

Only a guide for what to do once a model is refuted; no statement depends on it. In the subset
of Python that Numba compiles.
"""

import math

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.evidence.drift import Snapshots
from globalbandits.evidence.likelihood import log_coin
from globalbandits.evidence.processes import off_the_ends
from globalbandits.model.tables import Tables, evaluate

_N_THETAS = 33
_N_ZOOMS = 4


def change_explains(tables: Tables, counts: FloatArray, snapshots: Snapshots, time: int) -> bool:
    """Whether a change of theta explains the rewards at least as well as a wrong model does.

    That is: one theta before some copy and one after it, against a mean for every arm.

    Args:
        tables: the model's.
        counts: soft counts, shape (n_arms, n_bins + 1).
        snapshots: earlier counts.
        time: observations so far.
    """
    coins = np.zeros((tables.n_arms, 2))
    toss(coins, counts, 1.0)
    free = free_coin_fit(coins)
    for slot in range(snapshots.times.shape[0]):
        if 0 < snapshots.times[slot] < time:
            fit = 0.0
            for side in range(2):
                coins.fill(0.0)
                toss(coins, snapshots.counts[slot], 1.0 - 2.0 * side)
                if side == 1:
                    toss(coins, counts, 1.0)
                fit += best_coin_fit(tables, coins)
            if fit >= free:
                return True
    return False


def toss(coins: FloatArray, counts: FloatArray, weight: float) -> None:
    """Add soft counts to failures and successes, shape (n_arms, 2)."""
    n_bins = counts.shape[1] - 1
    for arm in range(counts.shape[0]):
        for knot in range(n_bins + 1):
            share = knot / n_bins
            coins[arm, 0] += weight * counts[arm, knot] * (1.0 - share)
            coins[arm, 1] += weight * counts[arm, knot] * share


def best_coin_fit(tables: Tables, coins: FloatArray) -> float:
    """Largest log likelihood over theta of failures and successes, shape (n_arms, 2)."""
    low = tables.low
    high = tables.high
    best = low
    largest = -math.inf
    for _ in range(_N_ZOOMS):
        step = (high - low) / (_N_THETAS - 1)
        for index in range(_N_THETAS):
            theta = low + index * step
            fit = 0.0
            for arm in range(tables.n_arms):
                mean = off_the_ends(evaluate(tables.mean, arm, theta))
                fit += log_coin(coins[arm, 0], coins[arm, 1], mean)
            if fit > largest:
                largest = fit
                best = theta
        low = max(tables.low, best - 2.0 * step)
        high = min(tables.high, best + 2.0 * step)
    return largest


def free_coin_fit(coins: FloatArray) -> float:
    """Log likelihood of failures and successes if every arm has a mean of its own."""
    fit = 0.0
    for arm in range(coins.shape[0]):
        total = coins[arm, 0] + coins[arm, 1]
        if total > 0.0:
            mean = off_the_ends(coins[arm, 1] / total)
            fit += log_coin(coins[arm, 0], coins[arm, 1], mean)
    return fit
