"""Strata of a history, such as weeks with and without a promotion: is the same arm best?"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from globalbandits._validation import as_list, require
from globalbandits.errors import FitError
from globalbandits.fitting.assessment.endogeneity import check_endogeneity
from globalbandits.fitting.assessment.held_out_scores import difference
from globalbandits.fitting.assessment.value_of_information import value_of_information
from globalbandits.fitting.decision_value import Worth
from globalbandits.fitting.estimation.factor_model import fit_independent, fit_shared
from globalbandits.fitting.estimation.offered_arms import arm_scale
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.panel.panel_checks import check_panel
from globalbandits.fitting.panel.rows import (
    HistoryColumns,
    as_plain,
    panels_from_rows,
    read_columns,
)

MAX_STRATA = 20
MIN_COMPARED_GROUPS = 3  # that tried both arms
CLEAR_ERRORS = 2.0  # standard errors above 0


class Stratum(NamedTuple):
    """The rows of a history with the same values of some columns."""

    values: tuple[Any, ...]  # one per column
    n_groups: int
    n_rewards: int
    best: Any  # the best arm over its groups; None if it has too few groups or arms for a fit
    # Whether the best arm is clearly better here than the best arm of the whole history, or that
    # arm was hardly tried here.
    differs: bool


class Strata(NamedTuple):
    """The best arm in every stratum."""

    columns: tuple[str, ...]
    parts: tuple[Stratum, ...]

    @property
    def differ(self) -> bool:
        """Whether another arm than that of the whole history is best in some stratum."""
        return any(part.differs for part in self.parts)

    def describe(self, part: Stratum) -> str:
        """Return the stratum in words: ``feature = 1``."""
        return " and ".join(
            f"{name} = {value!r}" for name, value in zip(self.columns, part.values, strict=True)
        )


def column_list(by: object) -> list[str]:
    """Return the names of the columns that define strata."""
    names = [by] if isinstance(by, str) else as_list("by", by, "be a list of columns", FitError)
    named = bool(names) and all(isinstance(name, str) for name in names)
    require(named, "by", "be names of columns", by, FitError)
    return names


def fit_strata(
    history: Any,
    by: object,
    columns: HistoryColumns,
    worth_of: Callable[[Sequence[Any]], Worth],
    overall: Any,
    labels: bool,
    seed: int,
) -> Strata:
    """Fit every stratum of a history in memory and return its best arm.

    Args:
        history: Rows with one reward each.
        by: Names of the columns whose values define the strata.
        columns: Names of the other columns.
        worth_of: Returns the worth of some arms.
        overall: The best arm of the whole history.
        labels: Whether the arms' numbers mean nothing.
        seed: The seed of the draws.
    """
    names = column_list(by)
    require(columns.reward is not None, "by", "come with rows of single rewards", by, FitError)
    columns = columns._replace(time=None)
    wanted = columns.names
    found_columns = read_columns(history, [*wanted, *names])
    used, keys = found_columns[: len(wanted)], found_columns[len(wanted) :]
    codes = np.zeros(used[0].size, np.int64)
    for key in keys:
        _, code = np.unique(key, return_inverse=True)
        codes = codes * (int(code.max(initial=0)) + 1) + code
    found, places = np.unique(codes, return_inverse=True)
    rule = f"define at most {MAX_STRATA} strata"
    require(found.size <= MAX_STRATA, "by", rule, found.size, FitError)
    parts = []
    for place in range(found.size):
        rows = np.flatnonzero(places == place)
        part = {name: column[rows] for name, column in zip(wanted, used, strict=True)}
        values = tuple(as_plain(key[rows[0]]) for key in keys)
        parts.append(_fit_stratum(values, part, columns, worth_of, overall, labels, seed))
    return Strata(tuple(names), tuple(parts))


def _fit_stratum(
    values: tuple[Any, ...],
    rows: dict[str, Any],
    columns: HistoryColumns,
    worth_of: Callable[[Sequence[Any]], Worth],
    overall: Any,
    labels: bool,
    seed: int,
) -> Stratum:
    panel, _ = panels_from_rows(rows, columns)
    scale = arm_scale(panel.arms, labels=labels)
    try:
        check_panel(panel, scale.ordered)
    except FitError:
        return Stratum(values, panel.n_groups, panel.n_rewards, None, False)
    chosen = check_endogeneity(panel, scale, fit_independent(panel, scale)).found
    fitted = fit_shared(panel, scale, seed=seed, within=chosen)
    worth = worth_of(panel.arms)
    best = panel.arms[value_of_information(fitted, worth, seed).fixed]
    differs = best != overall and _is_better(panel, worth, best, overall)
    return Stratum(values, panel.n_groups, panel.n_rewards, best, differs)


def _is_better(panel: Panel, worth: Worth, best: Any, other: Any) -> bool:
    """Whether an arm is clearly better than another one, which may hardly have been tried.

    The groups that tried both are compared, without the curves.
    """
    if other not in panel.arms:
        return True
    observed = np.where(panel.tried, worth(panel.means), np.nan)
    gain = difference(observed[:, panel.arms.index(best)], observed[:, panel.arms.index(other)])
    return gain.n_groups < MIN_COMPARED_GROUPS or gain.mean > CLEAR_ERRORS * gain.se
