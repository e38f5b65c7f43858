"""Is the model still possible? The question inside a loop, answered by a witness.

A model is not refuted as long as one theta is left with SS(theta) below the threshold, so a
loop keeps such a theta and looks for another one only when it has gone. Everything here is in
the subset of Python that Numba compiles; `SpikeSlab` is the same process for arrays.
"""

import math

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.evidence.processes import SMALLEST_MEAN, STAKE
from globalbandits.evidence.spike_slab import N_STAKES
from globalbandits.model.tables import Tables, evaluate

_DEEPEST = 40  # halvings of the domain before the model is given the benefit of the doubt
_MOST_STEPS = 1000  # cells looked at, likewise
_N_THETAS = 33
_N_ZOOMS = 4


def log_spike_slab(tables: Tables, counts: FloatArray, low: float, high: float) -> float:
    """A lower bound of log SS over [low, high]; the value itself if both are the same.

    Args:
        tables: the model's.
        counts: soft counts, shape (n_arms, n_bins + 1).
        low: left end of the cell.
        high: right end of the cell.
    """
    n_arms = tables.n_arms
    others = math.log1p(-1.0 / n_arms) if n_arms > 1 else -math.inf
    spike = 0.0
    slab = 0.0
    for arm in range(n_arms):
        total = 0.0
        for knot in range(counts.shape[1]):
            total += counts[arm, knot]
        if total > 0.0:
            at_low = evaluate(tables.mean, arm, low)
            at_high = evaluate(tables.mean, arm, high)
            wealth = log_arm_wealth(counts, arm, max(at_low, at_high), min(at_low, at_high))
            spike += log_add(others, wealth - math.log(n_arms))
            slab += log_add(0.0, wealth) - math.log(2.0)
    return log_add(spike, slab) - math.log(2.0)


def log_arm_wealth(counts: FloatArray, arm: int, up_mean: float, down_mean: float) -> float:
    """Logarithm of s_k with up-bets against one mean and down-bets against another."""
    n_bins = counts.shape[1] - 1
    up_mean = min(max(up_mean, SMALLEST_MEAN), 1.0 - SMALLEST_MEAN)
    down_mean = min(max(down_mean, SMALLEST_MEAN), 1.0 - SMALLEST_MEAN)
    wealth = -math.inf
    stake = STAKE
    for _ in range(N_STAKES):
        up = 0.0
        down = 0.0
        for knot in range(n_bins + 1):
            count = counts[arm, knot]
            if count > 0.0:
                x = knot / n_bins
                up += count * math.log(1.0 + stake * (x / up_mean - 1.0))
                down += count * math.log(1.0 + stake * ((1.0 - x) / (1.0 - down_mean) - 1.0))
        wealth = log_add(wealth, log_add(up, down))
        stake *= 0.5
    return wealth - math.log(2.0 * N_STAKES)


def log_add(one: float, two: float) -> float:
    """Logarithm of exp(one) + exp(two); minus infinity is allowed for one of them."""
    large = max(one, two)
    return large + math.log1p(math.exp(min(one, two) - large))


def find_witness(
    tables: Tables, counts: FloatArray, threshold: float, first: float, second: float
) -> float:
    """A theta with log SS below the threshold, or nan if there certainly is none.

    Two guesses are tried first. Then cells of the domain: those whose lower bound reaches the
    threshold are dropped, the others are halved, their middles looked at first.

    Args:
        tables: the model's.
        counts: soft counts, shape (n_arms, n_bins + 1).
        threshold: what log SS must stay below.
        first: a guess, inside the domain.
        second: another one, or nan.
    """
    lows = np.empty(2 * _DEEPEST + 4)
    highs = np.empty(2 * _DEEPEST + 4)
    lows[0], highs[0] = tables.low, tables.high
    lows[1] = highs[1] = first if math.isnan(second) else second
    lows[2] = highs[2] = first
    smallest = (tables.high - tables.low) * 0.5**_DEEPEST
    n_open = 3
    n_steps = 0
    while n_open > 0:
        n_open -= 1
        n_steps += 1
        low, high = lows[n_open], highs[n_open]
        if log_spike_slab(tables, counts, low, high) < threshold:
            middle = 0.5 * (low + high)
            if high - low <= smallest or n_steps >= _MOST_STEPS:
                return float(middle)
            lows[n_open], highs[n_open] = low, middle
            lows[n_open + 1], highs[n_open + 1] = middle, high
            lows[n_open + 2], highs[n_open + 2] = middle, middle
            n_open += 3
    return math.nan


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
                mean = evaluate(tables.mean, arm, theta)
                fit += log_coins(coins, arm, mean)
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
            fit += log_coins(coins, arm, coins[arm, 1] / total)
    return fit


def log_coins(coins: FloatArray, arm: int, mean: float) -> float:
    """Log likelihood of one arm's failures and successes at a mean."""
    mean = min(max(mean, SMALLEST_MEAN), 1.0 - SMALLEST_MEAN)
    return float(coins[arm, 1] * math.log(mean) + coins[arm, 0] * math.log(1.0 - mean))
