"""A compiled test of the model with a constant theta, for use inside a loop of decisions.

Model and constancy are not refuted as long as one theta explains the rewards of every period.
The loop keeps such a theta, the witness, and searches for another one only after the rewards
refute it. Numba compiles every function here. `SpikeSlab` is the same process for arrays.
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

# Beyond these limits the search accepts the current cell, so the model is not refuted.
_MAX_BISECTIONS = 40
_MAX_CELLS = 1000


def log_constant(
    tables: Tables,
    counts: FloatArray,
    snapshots: Snapshots,
    every: int,
    low: float,
    high: float,
) -> float:
    """A lower bound over [low, high] of the log evidence against a constant theta.

    The evidence is the larger of two terms:

    - SS / 2 + sum_j SS_j / ((j + 1)(j + 2)), where SS is the process of all rewards and SS_j
      that of the rewards since copy j;
    - half of the largest SS of the rewards before a permanent copy.

    Without copies it is SS / 2. If ``low == high``, the result is the value at that theta.

    Args:
        tables: the model's tables.
        counts: soft counts, shape (n_arms, n_bins + 1).
        snapshots: earlier counts.
        every: observations between two copies.
        low: left end of the cell.
        high: right end of the cell.
    """
    n_slots = snapshots.times.shape[0] // 2
    without, within = log_parts(tables.n_arms)
    # Sets of rewards: since each recent copy, before each permanent copy, and all rewards.
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
    """Fill ``part`` with the soft counts of one arm in one set of rewards; return their sum.

    Args:
        part: filled, shape (n_bins + 1,).
        counts: soft counts of all rewards, shape (n_arms, n_bins + 1).
        snapshots: earlier counts.
        arm: index of the arm.
        index: the set of rewards. A slot in the first half of the snapshots: rewards since that
            copy. A slot in the second half: rewards before that copy. Larger: all rewards.
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
    """Fill ``pays`` with the log pay-offs of up-bets and down-bets at the knots.

    Args:
        pays: filled, shape (N_SLAB_BETS, n_bins + 1).
        up_mean: the mean that the up-bets, the first half, bet against.
        down_mean: the mean that the down-bets, the second half, bet against.
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
    """Logarithm of s_k, from log pay-offs and soft counts at the knots."""
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
    """Logarithm of exp(one) + exp(two); one of them may be minus infinity."""
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
    """A theta with `log_constant` below the threshold, or nan if provably none exists.

    The search tries two guesses and then divides the domain. It drops cells whose lower bound
    reaches the threshold. It bisects the others and tries their middles first.

    Args:
        tables: the model's tables.
        counts: soft counts, shape (n_arms, n_bins + 1).
        snapshots: earlier counts.
        every: observations between two copies.
        threshold: the log evidence that refutes a theta.
        first: first guess; outside the domain or nan, the middle of the domain replaces it.
        second: second guess; outside the domain or nan, the first guess replaces it.
    """
    if not tables.low <= first <= tables.high:
        first = 0.5 * (tables.low + tables.high)
    if not tables.low <= second <= tables.high:
        second = first
    lows = np.empty(2 * _MAX_BISECTIONS + 4)
    highs = np.empty(2 * _MAX_BISECTIONS + 4)
    lows[0], highs[0] = tables.low, tables.high
    lows[1] = highs[1] = second
    lows[2] = highs[2] = first
    smallest = (tables.high - tables.low) * 0.5**_MAX_BISECTIONS
    n_open = 3
    n_steps = 0
    while n_open > 0:
        n_open -= 1
        n_steps += 1
        low, high = lows[n_open], highs[n_open]
        if log_constant(tables, counts, snapshots, every, low, high) < threshold:
            middle = 0.5 * (low + high)
            if high - low <= smallest or n_steps >= _MAX_CELLS:
                return float(middle)
            lows[n_open], highs[n_open] = low, middle
            lows[n_open + 1], highs[n_open + 1] = middle, high
            lows[n_open + 2], highs[n_open + 2] = middle, middle
            n_open += 3
    return math.nan


# Change of theta or wrong model? After a refutation, `change_explains` compares Bernoulli
# likelihoods: two thetas, one before and one after a change, against one free mean per arm. This
# is a heuristic for what to do next; no statement's validity depends on it.

_N_THETAS = 33
_N_ZOOMS = 4


def change_explains(tables: Tables, counts: FloatArray, snapshots: Snapshots, time: int) -> bool:
    """Whether a change of theta explains the rewards at least as well as a wrong model.

    A change has one theta before some copy and one after it. A wrong model has a free mean for
    every arm.

    Args:
        tables: the model's tables.
        counts: soft counts, shape (n_arms, n_bins + 1).
        snapshots: earlier counts.
        time: number of observations so far.
    """
    outcomes = np.zeros((tables.n_arms, 2))  # failures and successes
    add_failures_and_successes(outcomes, counts, 1.0)
    free = free_bernoulli_fit(outcomes)
    for slot in range(snapshots.times.shape[0]):
        if 0 < snapshots.times[slot] < time:
            fit = 0.0
            for side in range(2):
                outcomes.fill(0.0)
                add_failures_and_successes(outcomes, snapshots.counts[slot], 1.0 - 2.0 * side)
                if side == 1:
                    add_failures_and_successes(outcomes, counts, 1.0)
                fit += best_bernoulli_fit(tables, outcomes)
            if fit >= free:
                return True
    return False


def add_failures_and_successes(outcomes: FloatArray, counts: FloatArray, weight: float) -> None:
    """Add ``weight`` times the soft counts to failures and successes, shape (n_arms, 2)."""
    n_bins = counts.shape[1] - 1
    for arm in range(counts.shape[0]):
        for knot in range(n_bins + 1):
            share = knot / n_bins
            outcomes[arm, 0] += weight * counts[arm, knot] * (1.0 - share)
            outcomes[arm, 1] += weight * counts[arm, knot] * share


def best_bernoulli_fit(tables: Tables, outcomes: FloatArray) -> float:
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
                fit += log_bernoulli(outcomes[arm, 0], outcomes[arm, 1], mean)
            if fit > largest:
                largest = fit
                best = theta
        low = max(tables.low, best - 2.0 * step)
        high = min(tables.high, best + 2.0 * step)
    return largest


def free_bernoulli_fit(outcomes: FloatArray) -> float:
    """Largest log likelihood of failures and successes with a free mean for every arm."""
    fit = 0.0
    for arm in range(outcomes.shape[0]):
        total = outcomes[arm, 0] + outcomes[arm, 1]
        if total > 0.0:
            mean = off_the_ends(outcomes[arm, 1] / total)
            fit += log_bernoulli(outcomes[arm, 0], outcomes[arm, 1], mean)
    return fit
