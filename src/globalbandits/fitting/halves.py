"""A check without a model: choose an arm by half of a group's rewards, read the other half."""

import dataclasses

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.fitting.fitted import Fitted
from globalbandits.fitting.groups import arm_means, posterior_weights
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.worth import Worth

N_SPLITS = 4
RULES = ("shared", "independent", "raw", "pooled")


def split_halves(panel: Panel, rng: np.random.Generator) -> tuple[Panel, Panel]:
    """Two random halves of every cell, from its statistics alone.

    For coins this is exact: the number of ones in a half is hypergeometric. Else the half's
    mean is what it would be if rewards were Normal, given their mean and sum of squares; with
    two rewards in a cell that is exact too. Squares of a half are not known: they are set as
    if all its rewards were equal.
    """
    n = panel.counts
    half = np.floor(n / 2 + 0.5 * rng.integers(0, 2, n.shape))
    half = np.where(n == 1, rng.integers(0, 2, n.shape), half)
    if panel.binary:
        ones = np.rint(panel.sums).astype(np.int64)
        first = rng.hypergeometric(ones, n.astype(np.int64) - ones, half.astype(np.int64)).astype(
            np.float64
        )
    else:
        first = _normal_half(panel, half, rng)
    return _part(panel, half, first), _part(panel, n - half, panel.sums - first)


def _normal_half(panel: Panel, half: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Sum of the first half: one coordinate of a random direction in n - 1 dimensions."""
    n, mean = panel.counts, panel.means
    normal = rng.standard_normal(n.shape)
    others = rng.chisquare(np.maximum(n - 2, 1e-12))
    direction = normal / np.sqrt(normal**2 + np.where(n > 2, others, 0.0))
    shorter = np.maximum(1 / np.maximum(half, 1.0) - 1 / np.maximum(n, 1.0), 0.0)
    found = half * (mean + np.sqrt(panel.within * shorter) * direction)
    # Both halves must be possible: every reward lies in [0, 1].
    lowest, highest = np.maximum(panel.sums - (n - half), 0.0), np.minimum(panel.sums, half)
    return np.clip(found, lowest, np.maximum(lowest, highest))


def _part(panel: Panel, counts: FloatArray, sums: FloatArray) -> Panel:
    squares = sums**2 / np.maximum(counts, 1.0)
    return dataclasses.replace(panel, counts=counts, sums=sums, squares=squares)


def halves_values(
    panel: Panel,
    shared: Fitted,
    independent: Fitted,
    pooled: FloatArray,
    worth: Worth,
    rng: np.random.Generator,
) -> FloatArray:
    """Worth of the arm that each rule chooses, per group: shape (n_groups, 4), see RULES.

    The average over four random splits, both ways. Only arms with rewards in the other half
    can be chosen.

    Args:
        panel: Groups that the fits have not seen.
        shared: The shared model.
        independent: Every arm for itself.
        pooled: The arms' means over the groups the fits have seen.
        worth: Of the arms.
        rng: For the splits.
    """
    totals = np.zeros((panel.n_groups, len(RULES)))
    ways = np.zeros(panel.n_groups)
    for _ in range(N_SPLITS):
        halves = split_halves(panel, rng)
        for seen, other in (halves, halves[::-1]):
            raw = np.where(seen.tried, seen.means, pooled)
            expected = [
                *(arm_means(seen, fit, posterior_weights(seen, fit)) for fit in
                  (shared, independent)),
                raw,
                np.broadcast_to(pooled, raw.shape),
            ]  # fmt: skip
            possible = other.tried.any(axis=1)
            paid = worth(other.means)
            for rule, means in enumerate(expected):
                chosen = np.where(other.tried, worth(np.asarray(means)), -np.inf).argmax(axis=1)
                found = np.take_along_axis(paid, chosen[:, None], axis=1)[:, 0]
                totals[:, rule] += np.where(possible, found, 0.0)
            ways += possible
    with np.errstate(invalid="ignore"):
        return totals / ways[:, None]
