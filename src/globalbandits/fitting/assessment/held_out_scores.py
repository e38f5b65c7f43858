"""Scores of data that a fit has not seen, and the share of differences that one number explains.

Held-out groups get two scores: the log marginal likelihood, and a check without a likelihood that
chooses an arm from half of a group's rewards and reads its worth in the other half.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from globalbandits._means import mean_and_error
from globalbandits._types import FloatArray, IntArray
from globalbandits.fitting.decision_value import Worth
from globalbandits.fitting.estimation.factor_model import (
    MAX_GROUPS_IN_FULL,
    GivenCurves,
    fit_given,
    fit_identical,
    fit_independent,
    fit_shared,
    sample_groups,
)
from globalbandits.fitting.estimation.fitted_population import FittedPopulation
from globalbandits.fitting.estimation.group_posterior import (
    arm_means,
    log_scores,
    posterior_weights,
)
from globalbandits.fitting.estimation.offered_arms import ArmScale
from globalbandits.fitting.panel import Panel

N_FOLDS = 10
N_SPLITS = 4
# Rules that choose an arm from half of a group's rewards: by the shared model, every arm for
# itself, by the group's own means, and by the means over all groups.
RULES = ("shared", "independent", "raw", "pooled")


class Difference(NamedTuple):
    """A mean over groups, with its standard error."""

    mean: float
    se: float
    n_groups: int

    @property
    def clear(self) -> bool:
        """Whether the mean is more than one standard error above 0."""
        return self.mean > self.se


class Scores(NamedTuple):
    """Scores of fits on groups they had not seen, one value per group."""

    log_scores: dict[str, FloatArray]  # by fit: shared, independent, same, and given
    values: dict[str, FloatArray]  # worth of the arm chosen from half of the rewards, by rule

    def over_independent(self, name: str = "shared") -> Difference:
        """Return a fit's log score per group minus that of every arm for itself."""
        return difference(self.log_scores[name], self.log_scores["independent"])


def difference(first: FloatArray, second: FloatArray) -> Difference:
    """Return the mean of first - second over the groups where it is finite."""
    found = (first - second)[np.isfinite(first - second)]
    if found.size < 2:
        return Difference(float("nan"), float("nan"), int(found.size))
    mean, error = mean_and_error(found)
    return Difference(float(mean), float(error), int(found.size))


def score_groups(
    panel: Panel,
    scale: ArmScale,
    worth: Worth,
    *,
    given: GivenCurves | None = None,
    seed: int = 0,
    within: bool = False,
) -> Scores:
    """Cross-validate over groups: fit nine tenths of them, score the rest, ten times.

    The log score of a group is the marginal likelihood of all its cells. With more than 5,000
    groups it is computed on 2,000 of them. ``within`` is that of `fit_shared`.
    """
    rng = np.random.default_rng(seed)
    if panel.n_groups > MAX_GROUPS_IN_FULL:
        panel = sample_groups(panel, seed)
    n = panel.n_groups
    names = ["shared", "independent", "same"] + (["given"] if given is not None else [])
    logs = {name: np.empty(n) for name in names}
    values = np.empty((n, len(RULES)))
    for held_out in random_folds(n, rng):
        seen = panel.take(np.setdiff1d(np.arange(n), held_out))
        unseen = panel.take(held_out)
        fits = {
            "shared": fit_shared(seen, scale, within=within),
            "independent": fit_independent(seen, scale),
            "same": fit_identical(seen, scale),
        }
        if given is not None:
            fits["given"] = fit_given(seen, scale, given)
        for name, fitted in fits.items():
            logs[name][held_out] = log_scores(unseen, fitted)
        values[held_out] = half_split_values(
            unseen, fits["shared"], fits["independent"], seen.pooled, worth, rng
        )
    return Scores(logs, dict(zip(RULES, values.T, strict=True)))


def random_folds(n_groups: int, rng: np.random.Generator) -> list[IntArray]:
    """Divide groups into ten random folds of nearly equal size, or into single groups."""
    order = rng.permutation(n_groups)
    return [np.sort(part) for part in np.array_split(order, min(N_FOLDS, n_groups))]


def score_later(
    panel: Panel,
    late: Panel,
    scale: ArmScale,
    given: GivenCurves | None = None,
    within: bool = False,
) -> Scores:
    """Fit the first two thirds of the time and score the groups' rewards in the last third.

    Args:
        panel: All rewards.
        late: Those of the last third; the same groups and arms.
        scale: The places of the arms.
        given: The user's own curves.
        within: Whether to fit from differences inside groups.
    """
    early = panel.without(late)
    seen, unseen = early.with_rewards(), late.with_rewards()
    fits = {
        "shared": fit_shared(seen, scale, within=within),
        "independent": fit_independent(seen, scale),
    }
    if given is not None:
        fits["given"] = fit_given(seen, scale, given)
    return Scores({name: log_scores(unseen, fitted) for name, fitted in fits.items()}, {})


def choose_curves(held_out: Scores) -> str:
    """Choose the user's own curves unless the fitted ones are a standard error better."""
    logs = held_out.log_scores
    if "given" in logs and not difference(logs["shared"], logs["given"]).clear:
        return "given"
    return "shared"


def explained_share(shared: FittedPopulation, independent: FittedPopulation, worth: Worth) -> float:
    """Return 1 - Σ (v_k lambda_k)² / Σ (v_k lambda0_k)², at least 0.

    lambda_k is the spread between groups around the curves, lambda0_k that around the arm's mean,
    both without the noise of rewards; v_k is the change of worth per unit of the mean.
    """
    slopes = worth.slopes(shared.curves, shared.weights)
    left = float(np.sum((slopes * shared.bias) ** 2))
    whole = float(np.sum((slopes * independent.bias) ** 2))
    return max(0.0, 1.0 - left / whole)


def half_split_values(
    panel: Panel,
    shared: FittedPopulation,
    independent: FittedPopulation,
    pooled: FloatArray,
    worth: Worth,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the worth of the arm that each rule chooses: shape (n_groups, 4), see `RULES`.

    It is the average over four random splits, in both directions. Only arms with rewards in the
    other half can be chosen.

    Args:
        panel: Groups that the fits have not seen.
        shared: The shared model.
        independent: Every arm for itself.
        pooled: The arms' means over the groups that the fits have seen.
        worth: The worth of the arms.
        rng: For the splits.
    """
    totals = np.zeros((panel.n_groups, len(RULES)))
    n_directions = np.zeros(panel.n_groups)
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
            earned = worth(other.means)
            for rule, means in enumerate(expected):
                chosen = np.where(other.tried, worth(np.asarray(means)), -np.inf).argmax(axis=1)
                found = np.take_along_axis(earned, chosen[:, None], axis=1)[:, 0]
                totals[:, rule] += np.where(possible, found, 0.0)
            n_directions += possible
    with np.errstate(invalid="ignore"):
        return totals / n_directions[:, None]


def split_halves(panel: Panel, rng: np.random.Generator) -> tuple[Panel, Panel]:
    """Split every cell into two random halves, from its statistics alone.

    For 0/1 rewards the split is exact: the number of ones in a half is hypergeometric. For other
    rewards a half's mean is drawn as if rewards were Normal, given their mean and sum of squares;
    this is exact for two rewards. The squares of a half are unknown, and set as if its rewards
    were equal.
    """
    n = panel.counts
    half = np.floor(n / 2 + 0.5 * rng.integers(0, 2, n.shape))
    half = np.where(n == 1, rng.integers(0, 2, n.shape), half)
    if panel.binary:
        # Trials that are divided by their dispersion are no whole numbers.
        whole = n.astype(np.int64)
        ones = np.minimum(np.rint(panel.sums).astype(np.int64), whole)
        drawn = rng.hypergeometric(ones, whole - ones, np.minimum(half.astype(np.int64), whole))
        first = np.minimum(drawn.astype(np.float64), panel.sums)
    else:
        first = _normal_half(panel, half, rng)

    def part(counts: FloatArray, sums: FloatArray) -> Panel:
        squares = sums**2 / np.maximum(counts, 1.0)
        return dataclasses.replace(panel, counts=counts, sums=sums, squares=squares)

    return part(half, first), part(n - half, panel.sums - first)


def _normal_half(panel: Panel, half: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw the sum of the first half: a coordinate of a random direction in n - 1 dimensions."""
    n, mean = panel.counts, panel.means
    normal = rng.standard_normal(n.shape)
    others = rng.chisquare(np.maximum(n - 2, 1e-12))
    direction = normal / np.sqrt(normal**2 + np.where(n > 2, others, 0.0))
    shorter = np.maximum(1 / np.maximum(half, 1.0) - 1 / np.maximum(n, 1.0), 0.0)
    found = half * (mean + np.sqrt(panel.within * shorter) * direction)
    # Both halves must be possible: every reward lies in [0, 1].
    lowest, highest = np.maximum(panel.sums - (n - half), 0.0), np.minimum(panel.sums, half)
    return np.clip(found, lowest, np.maximum(lowest, highest))
