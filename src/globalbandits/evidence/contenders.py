"""Which arms can be best: p-values with the model, and model-free ones after its refutation."""

import math

import numpy as np

from globalbandits._types import BoolArray, FloatArray
from globalbandits.evidence.e_processes import (
    SMALLEST_MEAN,
    Process,
    SpikeSlab,
    UnitMeans,
    all_off_the_ends,
    arm_wealth,
    shifted,
)
from globalbandits.evidence.search import failures_and_successes, find_infima
from globalbandits.model import AnyModel, RewardModel

SMALLEST_P = 1e-6  # smaller p-values are rounded up to this
_MAX_CELLS = 48
_N_BISECTIONS = 48
_N_ERROR_CELLS = 256  # cells of theta where curves may have errors
_N_WORTH_POINTS = 9  # means between the ends of an arm's possible means
_N_MEANS = 257  # grid of means on which two arms are compared


def best_within(model: RewardModel, low: float, high: float) -> BoolArray:
    """Whether each arm is best for some theta in [low, high], shape (n_arms,).

    All are False if the ends are nan.
    """
    inside = np.zeros(model.n_arms, np.bool_)
    for region in model.regions:
        if region.high >= low and region.low <= high:
            inside[list(region.arms)] = True
    return inside


def model_p_values(
    model: RewardModel, process: Process, edges: FloatArray, bounds: FloatArray
) -> FloatArray:
    """p-values of "arm k is best", shape (n_arms,): 1 / inf H over the theta where k is best.

    An arm that is best nowhere has p-value 0.

    Args:
        model: the reward model.
        process: log H.
        edges: edges of the initial cells, which cover the domain.
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
    if edges.size >= _MAX_CELLS:
        # With many regions, several arms share a cell, and p-values are rounded up more.
        edges = np.linspace(first, last, _MAX_CELLS)[1:-1]
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


def p_values_with_errors(
    model: RewardModel, counts: FloatArray, edges: FloatArray, errors: float
) -> FloatArray:
    """p-values of "arm k is best" if means lie within ``errors`` of their curves: (n_arms,).

    It is 1 / inf SS over the theta where k may be best: where its largest possible worth reaches
    the smallest possible worth of every other arm.

    Args:
        model: the reward model.
        counts: soft counts, shape (n_arms, n_bins + 1).
        edges: edges of cells that cover the domain; curves are monotone in each.
        errors: see `shifted`.
    """
    edges = np.union1d(edges, np.linspace(*model.domain, _N_ERROR_CELLS + 1))
    _, bounds = SpikeSlab(model, counts, errors).survey(edges[:-1], edges[1:], -math.inf)
    cell_p_values = np.exp(-np.maximum(bounds, 0.0))
    low, high = model.reward_range
    means = UnitMeans(model, np.arange(model.n_arms))(edges)
    tops = low + (high - low) * shifted(np.maximum(means[:-1], means[1:]), errors)
    bottoms = low + (high - low) * shifted(np.minimum(means[:-1], means[1:]), -errors)
    # Worth need not be monotone in the mean, so it is evaluated between the two as well.
    shares = np.linspace(0.0, 1.0, _N_WORTH_POINTS)[:, np.newaxis]
    largest, smallest = np.empty_like(tops), np.empty_like(tops)
    for arm in range(model.n_arms):
        top, bottom = tops[:, arm], bottoms[:, arm]
        worth = model.worth_of(arm, bottom + shares * (top - bottom))
        largest[:, arm], smallest[:, arm] = worth.max(axis=0), worth.min(axis=0)
    possible = largest >= smallest.max(axis=1, keepdims=True)
    return np.asarray(np.where(possible, cell_p_values[:, np.newaxis], 0.0).max(axis=0))


def free_bounds(counts: FloatArray, confidence: float) -> FloatArray:
    """Simultaneous intervals for all mean rewards on the unit scale, shape (n_arms, 2).

    The interval of arm k contains the means m with s_k(m) < K / (1 - confidence). The wealth s_k
    is convex in m, so bisection finds the ends. They are rounded outward.
    """
    n_arms = counts.shape[0]
    threshold = math.log(n_arms / (1.0 - confidence))
    centres = all_off_the_ends(_observed_means(counts))
    ends = []
    for outermost in (SMALLEST_MEAN, 1.0 - SMALLEST_MEAN):
        inside, outside = centres.copy(), np.full(n_arms, outermost)
        for _ in range(_N_BISECTIONS):
            middle = 0.5 * (inside + outside)
            excluded = arm_wealth(counts, middle, middle) >= threshold
            outside, inside = (
                np.where(excluded, middle, outside),
                np.where(excluded, inside, middle),
            )
        excluded = arm_wealth(counts, outside, outside) >= threshold
        ends.append(np.where(excluded, outside, np.round(outside)))
    return np.column_stack(ends)


def free_p_values(model: AnyModel, counts: FloatArray) -> FloatArray:
    """p-values of "arm k is best" without the model's curves, shape (n_arms,).

    Arm k is not best if some mean v is too high for arm k (s_k(v) is large and v is above its
    mean reward) and too low for another arm. The union bound over arms costs a factor K. If the
    model has a value function, worths replace means.
    """
    n_arms = counts.shape[0]
    centres = _observed_means(counts)
    if model.valued:
        separation = worth_separation(model, counts, centres)
    else:
        separation = _mean_separation(counts, centres)
    return np.asarray(np.minimum(1.0, n_arms * np.exp(-np.maximum(separation, 0.0))))


def _mean_separation(counts: FloatArray, centres: FloatArray) -> FloatArray:
    """Log evidence that an arm's mean is below that of another arm, shape (n_arms,)."""
    n_arms = counts.shape[0]
    means = np.linspace(0.0, 1.0, _N_MEANS)[1:-1, np.newaxis]
    log_wealth = arm_wealth(counts, *(np.broadcast_to(means, (_N_MEANS - 2, n_arms)),) * 2)
    too_high = np.where(means >= centres, log_wealth, -math.inf)
    too_low = np.where(means <= centres, log_wealth, -math.inf)
    # An arm never beats itself: no mean is both above and below its mean reward.
    rivals = too_low.max(axis=1, keepdims=True)
    return np.asarray(np.minimum(too_high, rivals).max(axis=0))


def _observed_means(counts: FloatArray) -> FloatArray:
    """Mean reward of each arm, where s_k <= 1; 0.5 for arms without rewards."""
    failures, successes = failures_and_successes(counts)
    totals = failures + successes
    means = np.full(totals.shape, 0.5)
    return np.asarray(np.divide(successes, totals, out=means, where=totals > 0.0))


# Model-free evidence that one arm is worth less than another.
#
# Arm k is not best if some worth w is too large for arm k and too small for another arm. The
# wealth s_k(m) of the bets against a mean m is convex in m, and at most 1 at the mean of the arm's
# rewards. So the evidence that the arm's worth is below w is the wealth at the nearest mean, on
# either side, whose worth is at least w.

_N_WORTH_LEVELS = 257
_N_MEAN_CELLS = 2048  # cells of means in which the value function is tabulated


def worth_separation(model: AnyModel, counts: FloatArray, centres: FloatArray) -> FloatArray:
    """Log evidence that an arm is worth less than another arm, shape (n_arms,).

    Args:
        model: the reward model; only its value functions are used.
        counts: soft counts, shape (n_arms, n_bins + 1).
        centres: mean rewards on the unit scale, shape (n_arms,).
    """
    levels = np.linspace(0.0, 1.0, _N_WORTH_LEVELS)
    values = _unit_values(model)
    too_much = _evidence(counts, centres, values, levels)
    too_little = _evidence(counts, centres, -values, -levels)
    # An arm never beats itself: no worth is both too large and too small for it.
    rivals = too_little.max(axis=1, keepdims=True)
    return np.asarray(np.minimum(too_much, rivals).max(axis=0))


def _unit_values(model: AnyModel) -> FloatArray:
    """Worth of each arm at the edges of the cells, scaled to [0, 1]: (n_arms, n_cells + 1)."""
    low, high = model.reward_range
    least, most = model.worth_range
    means = np.linspace(low, high, _N_MEAN_CELLS + 1)
    worth = np.array([model.worth_of(arm, means) for arm in range(model.n_arms)])
    return np.asarray((worth - least) / ((most - least) or 1.0))


def _evidence(
    counts: FloatArray, centres: FloatArray, values: FloatArray, levels: FloatArray
) -> FloatArray:
    """Log wealth against all means whose value is at least a level: (n_levels, n_arms)."""
    n_arms = counts.shape[0]
    below, above = np.zeros((2, levels.size, n_arms))
    for arm in range(n_arms):
        most = _most_in_cells(values[arm])
        below[:, arm], above[:, arm] = _nearest(most, float(centres[arm]), levels)
    found = np.full((levels.size, n_arms), math.inf)
    for means in (below, above):
        there = ~np.isnan(means)
        inside = all_off_the_ends(np.where(there, means, 0.5))
        wealth = np.where(there, arm_wealth(counts, inside, inside), math.inf)
        found = np.minimum(found, wealth)
    return found


def _most_in_cells(values: FloatArray) -> FloatArray:
    """Upper bound of the value in each cell, with an allowance for a peak between its edges."""
    steps = np.abs(np.diff(values))
    slack = np.maximum(np.append(steps, 0.0), np.append(0.0, steps))
    return np.asarray(np.maximum((values + slack)[:-1], (values + slack)[1:]))


def _nearest(most: FloatArray, centre: float, levels: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The nearest means below and above the centre that reach each level; nan if none does."""
    ends = np.linspace(0.0, 1.0, _N_MEAN_CELLS + 1)
    home = min(int(centre * _N_MEAN_CELLS), _N_MEAN_CELLS - 1)
    ahead = np.searchsorted(np.maximum.accumulate(most[home:]), levels)
    behind = np.searchsorted(np.maximum.accumulate(most[home::-1]), levels)
    above = np.append(np.maximum(ends[home:-1], centre), math.nan)[ahead]
    below = np.append(np.minimum(ends[home + 1 : 0 : -1], centre), math.nan)[behind]
    return below, above
