"""Strata of a history, such as weeks with and without a promotion: is the same arm best?"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from globalbandits._validation import as_list, require
from globalbandits.errors import FitError
from globalbandits.fitting.assessment.endogeneity import check_endogeneity
from globalbandits.fitting.assessment.value_of_information import value_of_information
from globalbandits.fitting.decision_value import Worth
from globalbandits.fitting.estimation.factor_model import fit_independent, fit_shared
from globalbandits.fitting.estimation.offered_arms import arm_scale
from globalbandits.fitting.panel.checks import check_panel
from globalbandits.fitting.panel.rows import (
    HistoryColumns,
    as_plain,
    panels_from_rows,
    read_columns,
)

MAX_STRATA = 20


class Stratum(NamedTuple):
    """The rows of a history with the same values of some columns."""

    values: tuple[Any, ...]  # one per column
    n_groups: int
    n_rewards: int
    best: Any  # the best arm over its groups; None if it has too few groups or arms for a fit


class Strata(NamedTuple):
    """The best arm in every stratum."""

    columns: tuple[str, ...]
    parts: tuple[Stratum, ...]

    def disagree_with(self, best: Any) -> bool:
        """Whether the best arm of some stratum is another one."""
        return any(part.best not in (None, best) for part in self.parts)

    def describe(self, part: Stratum) -> str:
        """Return the stratum in words: ``feature = 1``."""
        return " and ".join(
            f"{name} = {value!r}" for name, value in zip(self.columns, part.values, strict=True)
        )


def fit_strata(
    history: Any,
    by: object,
    columns: HistoryColumns,
    worth_of: Callable[[Sequence[Any]], Worth],
    labels: bool,
    seed: int,
) -> Strata:
    """Fit every stratum of a history in memory and return its best arm.

    Args:
        history: Rows with one reward each.
        by: Names of the columns whose values define the strata.
        columns: Names of the other columns.
        worth_of: Returns the worth of some arms.
        labels: Whether the arms' numbers mean nothing.
        seed: Of the draws.
    """
    names = [by] if isinstance(by, str) else as_list("by", by, "be a list of columns", FitError)
    named = bool(names) and all(isinstance(name, str) for name in names)
    require(named, "by", "be names of columns", by, FitError)
    require(columns.reward is not None, "by", "come with rows of single rewards", by, FitError)
    wanted = [columns.group, columns.arm, columns.reward or ""]
    group, arm, reward, *keys = read_columns(history, [*wanted, *names])
    codes = np.zeros(group.size, np.int64)
    for key in keys:
        _, code = np.unique(key, return_inverse=True)
        codes = codes * (int(code.max(initial=0)) + 1) + code
    found, places = np.unique(codes, return_inverse=True)
    rule = f"define at most {MAX_STRATA} strata"
    require(found.size <= MAX_STRATA, "by", rule, found.size, FitError)
    parts = []
    for place in range(found.size):
        rows = np.flatnonzero(places == place)
        part = dict(zip(wanted, (group[rows], arm[rows], reward[rows]), strict=True))
        values = tuple(as_plain(key[rows[0]]) for key in keys)
        parts.append(_fit_stratum(values, part, columns, worth_of, labels, seed))
    return Strata(tuple(names), tuple(parts))


def _fit_stratum(
    values: tuple[Any, ...],
    rows: dict[str, Any],
    columns: HistoryColumns,
    worth_of: Callable[[Sequence[Any]], Worth],
    labels: bool,
    seed: int,
) -> Stratum:
    panel, _ = panels_from_rows(rows, columns._replace(time=None))
    scale = arm_scale(panel.arms, labels=labels)
    try:
        check_panel(panel, scale.ordered)
    except FitError:
        return Stratum(values, panel.n_groups, panel.n_rewards, None)
    chosen = check_endogeneity(panel, scale, fit_independent(panel, scale)).found
    fitted = fit_shared(panel, scale, seed=seed, within=chosen)
    best = value_of_information(fitted, worth_of(panel.arms), seed).fixed
    return Stratum(values, panel.n_groups, panel.n_rewards, panel.arms[best])
