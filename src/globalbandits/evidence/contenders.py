"""Which arms can still be best: through the model, or without it once it is refuted."""

import math
from typing import TYPE_CHECKING

import numpy as np

from globalbandits._types import BoolArray, FloatArray
from globalbandits.evidence.apart import worth_separation
from globalbandits.evidence.likelihood import tosses
from globalbandits.evidence.processes import SMALLEST_MEAN, Process, all_off_the_ends
from globalbandits.evidence.search import find_infima
from globalbandits.evidence.spike_slab import arm_wealth

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

SMALLEST_P = 1e-6  # smaller p-values are rounded up to this
_MOST_CELLS = 48
_N_HALVINGS = 48
_N_MEANS = 257  # means at which two arms are told apart


def best_within(model: "RewardModel", low: float, high: float) -> BoolArray:
    """Whether each arm is best somewhere in [low, high], shape (n_arms,); nan for no theta."""
    inside = np.zeros(model.n_arms, np.bool_)
    for region in model.regions:
        if region.high >= low and region.low <= high:
            inside[list(region.arms)] = True
    return inside


def model_p_values(
    model: "RewardModel", process: Process, edges: FloatArray, bounds: FloatArray
) -> FloatArray:
    """p-values of "arm k is best", shape (n_arms,): 1 / inf H over the theta where k is best.

    An arm that is best nowhere has p-value 0.

    Args:
        model: the reward model.
        process: log H.
        edges: of cells to begin with, which cover the domain.
        bounds: lower bounds of the process over these cells.
    """
    enough = -math.log(SMALLEST_P)
    p_values = np.zeros(model.n_arms)
    for region in model.regions:
        p_values[list(region.arms)] = SMALLEST_P
    alive = np.flatnonzero(bounds < enough)
    if alive.size == 0:
        return p_values
    first, last = edges[alive[0]], edges[alive[-1] + 1]
    edges = np.array([region.high for region in model.regions[:-1]])
    edges = edges[(edges > first) & (edges < last)]
    tolerance = 0.05
    if edges.size >= _MOST_CELLS:
        # Cells that several of so many arms share: p-values are rounded up a little more.
        edges = np.linspace(first, last, _MOST_CELLS)[1:-1]
        tolerance = 0.3
    lows, highs = np.append(first, edges), np.append(edges, last)
    owners = np.arange(lows.size)
    found = find_infima(process, lows, highs, owners, tolerance=tolerance, least=0.0, enough=enough)
    cell_p_values = np.clip(np.exp(-np.maximum(found.certified, 0.0)), SMALLEST_P, 1.0)
    for region in model.regions:
        meets = (lows < region.high) & (highs > region.low)
        arms = list(region.arms)
        p_values[arms] = np.maximum(p_values[arms], cell_p_values[meets].max(initial=SMALLEST_P))
    return p_values


def free_bounds(counts: FloatArray, confidence: float) -> FloatArray:
    """Intervals for the means of all arms at once on the unit scale, shape (n_arms, 2).

    Arm k's interval holds the means m with s_k(m) < K / (1 - confidence). As a function of m, s_k
    is convex, so halving finds the ends; they are rounded outward.
    """
    n_arms = counts.shape[0]
    threshold = math.log(n_arms / (1.0 - confidence))
    centres = all_off_the_ends(_observed_means(counts))
    ends = []
    for outermost in (SMALLEST_MEAN, 1.0 - SMALLEST_MEAN):
        inside, outside = centres.copy(), np.full(n_arms, outermost)
        for _ in range(_N_HALVINGS):
            middle = 0.5 * (inside + outside)
            excluded = arm_wealth(counts, middle, middle) >= threshold
            outside, inside = (
                np.where(excluded, middle, outside),
                np.where(excluded, inside, middle),
            )
        excluded = arm_wealth(counts, outside, outside) >= threshold
        ends.append(np.where(excluded, outside, np.round(outside)))
    return np.column_stack(ends)


def free_p_values(model: "RewardModel", counts: FloatArray) -> FloatArray:
    """p-values of "arm k is best" without the model's curves, shape (n_arms,).

    If some mean v is too high for arm k (s_k(v) large, v above its rewards) and too low for
    another arm, then k is not best; the union over arms costs a factor K. Where the model has a
    value, worths take the place of means.
    """
    n_arms = counts.shape[0]
    centres = _observed_means(counts)
    if model.valued:
        separation = worth_separation(model, counts, centres)
    else:
        separation = _mean_separation(counts, centres)
    return np.asarray(np.minimum(1.0, n_arms * np.exp(-np.maximum(separation, 0.0))))


def _mean_separation(counts: FloatArray, centres: FloatArray) -> FloatArray:
    """Log evidence that an arm's mean is less than another one's, shape (n_arms,)."""
    n_arms = counts.shape[0]
    means = np.linspace(0.0, 1.0, _N_MEANS)[1:-1, np.newaxis]
    log_wealth = arm_wealth(counts, *(np.broadcast_to(means, (_N_MEANS - 2, n_arms)),) * 2)
    too_high = np.where(means >= centres, log_wealth, -math.inf)
    too_low = np.where(means <= centres, log_wealth, -math.inf)
    # An arm cannot be beaten by itself: no mean is both above and below its rewards.
    rivals = too_low.max(axis=1, keepdims=True)
    return np.asarray(np.minimum(too_high, rivals).max(axis=0))


def _observed_means(counts: FloatArray) -> FloatArray:
    """Mean reward of each arm, at which s_k <= 1; one half for arms without rewards."""
    failures, successes = tosses(counts)
    totals = failures + successes
    means = np.full(totals.shape, 0.5)
    return np.asarray(np.divide(successes, totals, out=means, where=totals > 0.0))
