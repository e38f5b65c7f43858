"""`ContextFit`: the model of a new group with contexts, from the history of many groups.

A cell is an arm in a context. Cells are the arms of the fit, so a group has one theta for all
contexts, and every context has curves of its own.
"""

import dataclasses
import os
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._validation import require
from globalbandits.errors import FitError, ModelError
from globalbandits.fitting.fit_result import Fit
from globalbandits.fitting.panel.history_files import read_rows
from globalbandits.fitting.panel.rows import HistoryColumns, encode, read_columns
from globalbandits.model import ContextModel, RewardModel
from globalbandits.model.formulas import Expression
from globalbandits.policies import Policy

if TYPE_CHECKING:
    import pandas as pd


CELL = "arm in its context"  # the column of cells
MAX_CONTEXTS = 50


class CellValue:
    """What a decision for a cell is worth, from a value of the mean and the arm.

    Args:
        value: a function or a formula of mean and arm.
        arms: the arms of the cells, by the cell's name.
    """

    def __init__(self, value: Callable[..., Any] | str, arms: dict[str, Any]) -> None:
        self._value: Any = value
        if isinstance(value, str):
            self._value = Expression(value, ("mean", "arm"), "value")
            self._value.check_arms(tuple(arms.values()))
        self._arms = arms

    def __call__(self, mean: Any, cell: str) -> Any:
        """Return the worth at a mean."""
        return self._value(mean, self._arms[cell])


def read_cells(
    history: Any, columns: HistoryColumns, context: str
) -> tuple[dict[str, Any], tuple[str, ...], tuple[Any, ...]]:
    """Read a history into memory, and give every row the name of its cell.

    Returns:
        The columns by name, the contexts, and the arms, both in order.

    Raises:
        FitError: if a context or an arm has no rows in some cell, or there are too many contexts.
    """
    if isinstance(history, (str, os.PathLike)):
        history = read_rows(history, columns, [context])
    names = list(dict.fromkeys([*columns.names, context]))
    found: dict[str, Any] = dict(zip(names, read_columns(history, names), strict=True))
    codes, contexts = encode("context", found[context])
    arm_codes, arms = encode("arm", found[columns.arm])
    rule = f"have at most {MAX_CONTEXTS} values"
    require(len(contexts) <= MAX_CONTEXTS, "context", rule, len(contexts), FitError)
    texts = tuple(str(name) for name in contexts)
    cells = codes * len(arms) + arm_codes
    counts = np.bincount(cells, minlength=len(contexts) * len(arms))
    if not counts.all():
        place = int(np.argmin(counts))
        raise FitError(
            f"context must have every arm in each of its values, {texts[place // len(arms)]!r} has "
            f"no row of arm {arms[place % len(arms)]!r}"
        )
    # Numbers in front keep the order of contexts and arms.
    width = len(str(len(counts)))
    labels = np.array([cell_name(place, width) for place in range(len(counts))])
    del found[columns.arm]
    return found | {CELL: labels[cells]}, texts, tuple(arms)


def cell_name(place: int, width: int) -> str:
    """Return the name of a cell in the fit.

    >>> cell_name(7, 2)
    'cell 07'
    """
    return f"cell {place:0{width}d}"


@dataclasses.dataclass(frozen=True)
class ContextFit:
    """What is learned from a history with contexts about a new group.

    Attributes:
        cells: the fit whose arms are the cells, all arms of the first context first.
        contexts: the names of the contexts.
        offered: the arms.
        value: what a decision is worth: a function or a formula of mean and arm; None for the mean.
    """

    cells: Fit
    contexts: tuple[str, ...]
    offered: tuple[Any, ...]
    value: Callable[..., Any] | str | None = None

    @cached_property
    def model(self) -> ContextModel:
        """The model for a new group; theta in [0, 1] is the share of groups below it."""
        low, high = self.cells.worth.reward_range
        curves = self.cells.curves
        value: Any = self.value
        if callable(value):
            given = value

            def value(mean: Any, arm: Any, context: str) -> Any:
                return given(mean, arm)

        found: Any = RewardModel.from_table(
            curves.theta,
            low + (high - low) * curves.means,
            self.offered,
            reward_range=(low, high),
            value=value,
            contexts=self.contexts,
        )
        return found  # type: ignore[no-any-return]

    @property
    def policy(self) -> Policy:
        """The policy for a new group, with the errors of the curves that the history shows."""
        return self.cells.policy

    @property
    def share(self) -> float:
        """The share of the differences between groups that one number per group explains."""
        return self.cells.share

    @property
    def groups(self) -> "pd.DataFrame":
        """One row per group: theta with its interval, and how well the group fits."""
        return self.cells.groups.drop(columns="best_arm", errors="ignore")

    @cached_property
    def arms(self) -> "pd.DataFrame":
        """One row per context and arm: rewards, mean, errors, and the probability to be best.

        The best arm is that of the context, at a theta drawn from the population.
        """
        import pandas as pd

        frame = self.cells.arms.drop(columns=["best", "stalls"])
        pairs = [(context, arm) for context in self.contexts for arm in self.offered]
        frame.index = pd.MultiIndex.from_tuples(pairs, names=["context", "arm"])
        worths = np.asarray(self.model.worth(np.linspace(0.0, 1.0, 201)))
        best = worths.argmax(axis=-1)
        n_arms = len(self.offered)
        frame["best"] = np.concatenate(
            [np.bincount(column, minlength=n_arms) / len(best) for column in best.T]
        )
        return frame

    def describe(self) -> str:
        """Return what was found, as a text."""
        panel = self.cells.panel
        lines = [
            f"{panel.n_groups} groups, {len(self.offered)} arms in {len(self.contexts)} contexts, "
            f"{panel.n_rewards} rewards.",
            f"One number per group explains {100 * self.share:.0f} % of the differences between "
            "groups."
            if self.share == self.share
            else "No difference between the groups is found.",
            f"Policy: {self.policy.label}",
        ]
        for context in self.contexts:
            best = self.arms.loc[context]["best"]
            lines.append(f"{context}: best in {best.max():.0%} of the groups: {best.idxmax()}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.describe()

    def to_dict(self) -> dict[str, Any]:
        """Return the findings and the policy's specification as plain data."""
        panel = self.cells.panel
        return {
            "n_groups": panel.n_groups,
            "n_rewards": panel.n_rewards,
            "contexts": list(self.contexts),
            "share": self.share,
            "policy": self.policy.to_dict(),
            "arms": self.arms.reset_index().to_dict("records"),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model into a file for `globalbandits.load_model` and the service.

        The file holds data and no code, so a value must be a formula or a cost.
        """
        try:
            self.model.save(path)
        except ModelError:
            rule = "be a formula, or a cost, to be saved"
            raise FitError(f"value must {rule}, got {self.value!r}") from None
