"""Is the model still possible, with a theta that stays? Asked inside a loop, answered by a witness.

As long as one theta explains the rewards of every stretch of time, model and constancy are
not refuted. So a loop keeps such a theta and looks for another one only when it has gone.
Everything here is in the subset of Python that Numba compiles; `SpikeSlab` is the same process
for arrays, made of the same pieces.
"""

import math

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.evidence.drift_test import Snapshots
from globalbandits.evidence.e_processes import (
    LOG_HALF,
    N_SLAB_BETS,
    N_STAKES,
    STAKES,
    down_pay,
    log_parts,
    off_the_ends,
    up_pay,
)
from globalbandits.evidence.search import log_bernoulli
from globalbandits.model.tables import Tables, evaluate

_DEEPEST = 40  # halvings of the domain before the model is given the benefit of the doubt
_MOST_STEPS = 1000  # cells looked at, likewise


def log_constant(
    tables: Tables,
    counts: FloatArray,
    snapshots: Snapshots,
    every: int,
    low: float,
    high: float,
) -> float:
    """A lower bound over [low, high] of the evidence that no constant theta makes sense.

    The logarithm of the larger of two: half of SS of all rewards plus SS of the rewards since
    copy j, divided by (j + 1)(j + 2); and half of the largest SS of the rewards before a copy
    that is kept for good. Without copies it is log(SS / 2). Equal ends give the value itself.

    Args:
        tables: the model's.
        counts: soft counts, shape (n_arms, n_bins + 1).
        snapshots: earlier counts.
        every: observations between two copies.
        low: left end of the cell.
        high: right end of the cell.
    """
    n_slots = snapshots.times.shape[0] // 2
    without, within = log_parts(tables.n_arms)
    # One set for all rewards, one for those since each copy, one for those before others.
    spikes = np.zeros(2 * n_slots + 1)
    slabs = np.zeros(2 * n_slots + 1)
    pays = np.empty((N_SLAB_BETS, counts.shape[1]))
    part = np.empty(counts.shape[1])
    for arm in range(tables.n_arms):
        if fill_part(part, counts, snapshots, arm, 2 * n_slots) > 0.0:
            at_low = evaluate(tables.mean, arm, low)
            at_high = evaluate(tables.mean, arm, high)
            fill_pays(pays, max(at_low, at_high), min(at_low, at_high))
            for index in range(2 * n_slots + 1):
                if index == 2 * n_slots or snapshots.times[index] > 0:
                    total = fill_part(part, counts, snapshots, arm, index)
                    if total > 0.0:
                        wealth = log_arm_wealth(pays, part)
                        spikes[index] += log_add(without, wealth + within)
                        slabs[index] += log_add(LOG_HALF, wealth + LOG_HALF)
    now = log_add(spikes[-1], slabs[-1]) + 2.0 * LOG_HALF
    before = -math.inf
    for slot in range(n_slots):
        if snapshots.times[slot] > 0:
            number = snapshots.times[slot] / every
            weight = 2.0 * (number + 1.0) * (number + 2.0)
            now = log_add(now, log_add(spikes[slot], slabs[slot]) - math.log(weight))
        if snapshots.times[n_slots + slot] > 0:
            earlier = log_add(spikes[n_slots + slot], slabs[n_slots + slot])
            before = max(before, earlier + 2.0 * LOG_HALF)
    return max(now, before)


def fill_part(
    part: FloatArray, counts: FloatArray, snapshots: Snapshots, arm: int, index: int
) -> float:
    """Soft counts of one arm in one set of rewards; returns their sum.

    Args:
        part: filled, shape (n_bins + 1,).
        counts: soft counts of all rewards, shape (n_arms, n_bins + 1).
        snapshots: earlier counts.
        arm: the arm.
        index: which set: a slot in the first half of the snapshots for the rewards since
            then, in the second half for those before, and beyond for all.
    """
    n_slots = snapshots.times.shape[0] // 2
    total = 0.0
    for knot in range(part.shape[0]):
        if index < n_slots:
            part[knot] = counts[arm, knot] - snapshots.counts[index, arm, knot]
        elif index < 2 * n_slots:
            part[knot] = snapshots.counts[index, arm, knot]
        else:
            part[knot] = counts[arm, knot]
        total += part[knot]
    return total


def fill_pays(pays: FloatArray, up_mean: float, down_mean: float) -> None:
    """Log pay-offs at the knots of the up-bets against one mean, and down-bets against another.

    Args:
        pays: shape (N_BETS, n_bins + 1), filled.
        up_mean: the mean the first half bets against.
        down_mean: the mean the second half bets against.
    """
    n_bins = pays.shape[1] - 1
    up_mean = off_the_ends(up_mean)
    down_mean = off_the_ends(down_mean)
    for bet in range(N_STAKES):
        stake = STAKES[bet]
        for knot in range(n_bins + 1):
            pays[bet, knot] = math.log(up_pay(stake, knot / n_bins, up_mean))
            pays[N_STAKES + bet, knot] = math.log(down_pay(stake, knot / n_bins, down_mean))


def log_arm_wealth(pays: FloatArray, part: FloatArray) -> float:
    """Logarithm of s_k, from log pay-offs at the knots and soft counts there."""
    largest = -math.inf
    wealth = np.empty(pays.shape[0])
    for bet in range(pays.shape[0]):
        total = 0.0
        for knot in range(pays.shape[1]):
            total += part[knot] * pays[bet, knot]
        wealth[bet] = total
        largest = max(largest, total)
    summed = 0.0
    for bet in range(pays.shape[0]):
        summed += math.exp(wealth[bet] - largest)
    return largest + math.log(summed / pays.shape[0])


def log_add(one: float, two: float) -> float:
    """Logarithm of exp(one) + exp(two); minus infinity is allowed for one of them."""
    large = max(one, two)
    return large + math.log1p(math.exp(min(one, two) - large))


def find_witness(
    tables: Tables,
    counts: FloatArray,
    snapshots: Snapshots,
    every: int,
    threshold: float,
    first: float,
    second: float,
) -> float:
    """A theta with `log_constant` below the threshold, or nan if there certainly is none.

    Two guesses are tried first. Then cells of the domain: those whose lower bound reaches the
    threshold are dropped, the others are halved, their middles looked at first.

    Args:
        tables: the model's.
        counts: soft counts, shape (n_arms, n_bins + 1).
        snapshots: earlier counts.
        every: observations between two copies.
        threshold: what the evidence must stay below.
        first: a guess; what is outside the domain, or nan, is replaced by its middle.
        second: another one; replaced by the first.
    """
    if not tables.low <= first <= tables.high:
        first = 0.5 * (tables.low + tables.high)
    if not tables.low <= second <= tables.high:
        second = first
    lows = np.empty(2 * _DEEPEST + 4)
    highs = np.empty(2 * _DEEPEST + 4)
    lows[0], highs[0] = tables.low, tables.high
    lows[1] = highs[1] = second
    lows[2] = highs[2] = first
    smallest = (tables.high - tables.low) * 0.5**_DEEPEST
    n_open = 3
    n_steps = 0
    while n_open > 0:
        n_open -= 1
        n_steps += 1
        low, high = lows[n_open], highs[n_open]
        if log_constant(tables, counts, snapshots, every, low, high) < threshold:
            middle = 0.5 * (low + high)
            if high - low <= smallest or n_steps >= _MOST_STEPS:
                return float(middle)
            lows[n_open], highs[n_open] = low, middle
            lows[n_open + 1], highs[n_open + 1] = middle, high
            lows[n_open + 2], highs[n_open + 2] = middle, middle
            n_open += 3
    return math.nan


# How well coins explain rewards, inside a loop: with a theta, two thetas, or a mean per arm.
#
# Only a guide for what to do once a model is refuted; no statement depends on it. In the subset
# of Python that Numba compiles.

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
    add_failures_and_successes(coins, counts, 1.0)
    free = free_bernoulli_fit(coins)
    for slot in range(snapshots.times.shape[0]):
        if 0 < snapshots.times[slot] < time:
            fit = 0.0
            for side in range(2):
                coins.fill(0.0)
                add_failures_and_successes(coins, snapshots.counts[slot], 1.0 - 2.0 * side)
                if side == 1:
                    add_failures_and_successes(coins, counts, 1.0)
                fit += best_bernoulli_fit(tables, coins)
            if fit >= free:
                return True
    return False


def add_failures_and_successes(coins: FloatArray, counts: FloatArray, weight: float) -> None:
    """Add soft counts to failures and successes, shape (n_arms, 2)."""
    n_bins = counts.shape[1] - 1
    for arm in range(counts.shape[0]):
        for knot in range(n_bins + 1):
            share = knot / n_bins
            coins[arm, 0] += weight * counts[arm, knot] * (1.0 - share)
            coins[arm, 1] += weight * counts[arm, knot] * share


def best_bernoulli_fit(tables: Tables, coins: FloatArray) -> float:
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
                fit += log_bernoulli(coins[arm, 0], coins[arm, 1], mean)
            if fit > largest:
                largest = fit
                best = theta
        low = max(tables.low, best - 2.0 * step)
        high = min(tables.high, best + 2.0 * step)
    return largest


def free_bernoulli_fit(coins: FloatArray) -> float:
    """Log likelihood of failures and successes if every arm has a mean of its own."""
    fit = 0.0
    for arm in range(coins.shape[0]):
        total = coins[arm, 0] + coins[arm, 1]
        if total > 0.0:
            mean = off_the_ends(coins[arm, 1] / total)
            fit += log_bernoulli(coins[arm, 0], coins[arm, 1], mean)
    return fit
