"""Does one number explain how groups differ? Scores of groups that a fit has not seen."""

from typing import NamedTuple

import numpy as np

from globalbandits._means import mean_and_error
from globalbandits._types import FloatArray, IntArray
from globalbandits.fitting.arms import ArmScale
from globalbandits.fitting.factor import (
    MANY_GROUPS,
    fit_independent,
    fit_same,
    fit_shared,
    sample_groups,
)
from globalbandits.fitting.given import GivenCurves, fit_given
from globalbandits.fitting.halves import RULES, halves_values
from globalbandits.fitting.likelihood import log_scores
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.worth import Worth

N_FOLDS = 10


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
    """What fits were worth on groups they had not seen, one value per group."""

    log_scores: dict[str, FloatArray]  # shared, independent, same, and given
    values: dict[str, FloatArray]  # worth of the arm chosen by half of the rewards, by rule

    def over_independent(self, name: str = "shared") -> Difference:
        """Log score per group beyond every arm for itself."""
        return difference(self.log_scores[name], self.log_scores["independent"])


def difference(first: FloatArray, second: FloatArray) -> Difference:
    """Mean of first - second over groups, nan left out."""
    found = (first - second)[np.isfinite(first - second)]
    if found.size < 2:
        return Difference(float("nan"), float("nan"), int(found.size))
    mean, error = mean_and_error(found)
    return Difference(float(mean), float(error), int(found.size))


def folds(n_groups: int, rng: np.random.Generator) -> list[IntArray]:
    """Groups in ten random parts of nearly equal size; one by one if there are fewer."""
    order = rng.permutation(n_groups)
    return [np.sort(part) for part in np.array_split(order, min(N_FOLDS, n_groups))]


def score_groups(
    panel: Panel,
    scale: ArmScale,
    worth: Worth,
    *,
    given: GivenCurves | None = None,
    seed: int = 0,
) -> Scores:
    """Fit to nine tenths of the groups, score the others, ten times.

    The score of a group is the log of the marginal likelihood of all its cells. With more
    than 5,000 groups it is done on 2,000 of them.
    """
    rng = np.random.default_rng(seed)
    if panel.n_groups > MANY_GROUPS:
        panel = sample_groups(panel, seed)
    n = panel.n_groups
    names = ["shared", "independent", "same"] + (["given"] if given is not None else [])
    logs = {name: np.empty(n) for name in names}
    values = np.empty((n, len(RULES)))
    for held_out in folds(n, rng):
        seen = panel.take(np.setdiff1d(np.arange(n), held_out))
        unseen = panel.take(held_out)
        fits = {
            "shared": fit_shared(seen, scale),
            "independent": fit_independent(seen, scale),
            "same": fit_same(seen, scale),
        }
        if given is not None:
            fits["given"] = fit_given(seen, scale, given)
        for name, fitted in fits.items():
            logs[name][held_out] = log_scores(unseen, fitted)
        values[held_out] = halves_values(
            unseen, fits["shared"], fits["independent"], seen.pooled, worth, rng
        )
    return Scores(logs, dict(zip(RULES, values.T, strict=True)))


def score_later(
    panel: Panel, late: Panel, scale: ArmScale, given: GivenCurves | None = None
) -> Scores:
    """Fit to the first two thirds of the time, score the groups' rewards in the rest.

    Args:
        panel: All rewards.
        late: Those of the last third; the same groups and arms.
        scale: Of the arms.
        given: The user's curves.
    """
    early = panel.without(late)
    seen, unseen = early.with_rewards(), late.with_rewards()
    fits = {"shared": fit_shared(seen, scale), "independent": fit_independent(seen, scale)}
    if given is not None:
        fits["given"] = fit_given(seen, scale, given)
    return Scores({name: log_scores(unseen, fitted) for name, fitted in fits.items()}, {})


def choose_curves(held_out: Scores) -> str:
    """The user's own curves unless the shared model is more than one standard error better."""
    logs = held_out.log_scores
    if "given" in logs and not difference(logs["shared"], logs["given"]).clear:
        return "given"
    return "shared"
