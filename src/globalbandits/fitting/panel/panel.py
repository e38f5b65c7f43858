"""`Panel`: number, sum and sum of squares of the rewards per group and arm.

The time of every later step is independent of the number of rows.
"""

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from globalbandits._types import BoolArray, FloatArray, IntArray


@dataclasses.dataclass(frozen=True)
class Panel:
    """Statistics per group and arm, with rewards on the unit scale of their range.

    Attributes:
        counts: Number of rewards: shape (n_groups, n_arms). Whole numbers, as floats; trials are
            divided by the dispersion.
        sums: Sum of the rewards, (r - low) / (high - low) each.
        squares: Sum of their squares.
        groups: The groups' names.
        arms: The arms' values.
        reward_range: The lowest and the highest possible reward.
        binary: Whether every reward is one of these two.
        arm_name: Name of the column of the arms.
        dropped: Number of rows left out because their reward was missing.
        rounds_per_row: Rounds in a row of the history: the mean number of trials, else 1.
        dispersion: How much more rows with trials vary than single trials would; at least 1.
        unbounded: Whether rewards have no highest value; the end of the range is then a guess.
    """

    counts: FloatArray
    sums: FloatArray
    squares: FloatArray
    groups: tuple[Any, ...]
    arms: tuple[Any, ...]
    reward_range: tuple[float, float]
    binary: bool
    arm_name: str = "arm"
    dropped: int = 0
    rounds_per_row: float = 1.0
    dispersion: float = 1.0
    unbounded: bool = False

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.groups)

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return len(self.arms)

    @property
    def n_rewards(self) -> int:
        """Number of rewards, or of trials."""
        return round(float(self.counts.sum()) * self.dispersion)

    @property
    def with_trials(self) -> bool:
        """Whether a row of the history has several trials."""
        return self.rounds_per_row != 1.0

    @cached_property
    def tried(self) -> BoolArray:
        """Which cells have rewards: shape (n_groups, n_arms)."""
        return np.asarray(self.counts > 0)

    @cached_property
    def means(self) -> FloatArray:
        """Mean reward of each cell on the unit scale; 0 for a cell without rewards."""
        return np.asarray(self.sums / np.maximum(self.counts, 1.0))

    @cached_property
    def within(self) -> FloatArray:
        """Sum of squares of each cell around its own mean."""
        return np.asarray(np.maximum(self.squares - self.counts * self.means**2, 0.0))

    @cached_property
    def pooled(self) -> FloatArray:
        """Mean of each arm over all groups, on the unit scale; 0.5 for an arm without rewards."""
        counts = self.counts.sum(axis=0)
        return np.where(counts > 0, self.sums.sum(axis=0) / np.maximum(counts, 1.0), 0.5)

    def take(self, rows: Sequence[int] | IntArray) -> "Panel":
        """Return the panel of some groups; a group may be repeated."""
        index = np.asarray(rows, np.int64)
        return dataclasses.replace(
            self,
            counts=self.counts[index],
            sums=self.sums[index],
            squares=self.squares[index],
            groups=tuple(self.groups[row] for row in index),
        )

    def with_rewards(self) -> "Panel":
        """Return the panel of the groups that have rewards."""
        return self.take(np.flatnonzero(self.tried.any(axis=1)))

    def without(self, part: "Panel") -> "Panel":
        """Return this panel without the rewards of a part with the same groups and arms."""
        return dataclasses.replace(
            self,
            counts=self.counts - part.counts,
            sums=self.sums - part.sums,
            squares=self.squares - part.squares,
        )

    def with_arms(self, arms: Sequence[Any]) -> "Panel":
        """Return the panel for these arms; arms that are new to it have no rewards."""
        places = {arm: place for place, arm in enumerate(self.arms)}
        known = np.array([places.get(arm, -1) for arm in arms], np.int64)

        def columns(cells: FloatArray) -> FloatArray:
            return np.where(known >= 0, cells[:, known], 0.0)

        return dataclasses.replace(
            self,
            counts=columns(self.counts),
            sums=columns(self.sums),
            squares=columns(self.squares),
            arms=tuple(arms),
        )


def panels_from_totals(
    totals: FloatArray,
    groups: Sequence[Any],
    arms: Sequence[Any],
    *,
    reward_range: tuple[float, float],
    binary: bool,
    arm_name: str,
    dropped: int = 0,
    with_late: bool = False,
    rounds_per_row: float = 1.0,
    dispersion: float = 1.0,
    unbounded: bool = False,
) -> tuple[Panel, Panel | None]:
    """Build the panel of all rewards, and the panel of the late ones if they were separated.

    Args:
        totals: Counts, sums and squares of all rewards and of the late ones: shape
            (2, 3, n_groups, n_arms).
        groups: The groups' names.
        arms: The arms' values.
        reward_range: The lowest and the highest possible reward.
        binary: Whether every reward is one of these two.
        arm_name: Name of the column of the arms.
        dropped: Number of rows without a reward.
        with_late: Whether to return the second panel.
        rounds_per_row: Mean number of trials of a row; 1 for single rewards.
        dispersion: The variance of rows with trials, relative to that of chance. Counts are divided
            by it (quasi-likelihood).
        unbounded: Whether rewards have no highest value.
    """
    whole, late = (
        Panel(
            counts=counts,
            sums=sums,
            squares=squares,
            groups=tuple(groups),
            arms=tuple(arms),
            reward_range=reward_range,
            binary=binary,
            arm_name=arm_name,
            dropped=dropped,
            rounds_per_row=rounds_per_row,
            dispersion=dispersion,
            unbounded=unbounded,
        )
        for counts, sums, squares in totals / dispersion
    )
    return whole, late if with_late else None
