"""A history as a panel: how many rewards, their sum and their sum of squares per group and arm.

Everything after it is independent of the number of rows.
"""

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits.fitting.rewards import RewardScale


@dataclasses.dataclass(frozen=True)
class Panel:
    """Statistics per group and arm, with rewards on the unit scale of their range.

    Attributes:
        counts: Number of rewards: shape (n_groups, n_arms). Whole numbers, as floats.
        sums: Sum of the rewards, (r - low) / (high - low) each.
        squares: Sum of their squares.
        groups: The groups' names.
        arms: The arms' values.
        reward_range: The lowest and the highest a reward can be.
        binary: Whether every reward is one of these two.
        arm_name: What the column of the arms is called.
        dropped: Number of rows that were left out because their reward was missing.
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
        """Number of rewards."""
        return int(self.counts.sum())

    @cached_property
    def tried(self) -> BoolArray:
        """Which cells have rewards: shape (n_groups, n_arms)."""
        return np.asarray(self.counts > 0)

    @cached_property
    def means(self) -> FloatArray:
        """Mean reward of each cell on the unit scale, 0 where there is none."""
        return np.asarray(self.sums / np.maximum(self.counts, 1.0))

    @cached_property
    def within(self) -> FloatArray:
        """Sum of squares of each cell around its own mean."""
        return np.asarray(np.maximum(self.squares - self.counts * self.means**2, 0.0))

    @cached_property
    def pooled(self) -> FloatArray:
        """Mean reward of each arm over all groups, on the unit scale; 0.5 where never tried."""
        counts = self.counts.sum(axis=0)
        return np.where(counts > 0, self.sums.sum(axis=0) / np.maximum(counts, 1.0), 0.5)

    def take(self, rows: Sequence[int] | IntArray) -> "Panel":
        """The panel of some of the groups; a group may come more than once."""
        index = np.asarray(rows, np.int64)
        return dataclasses.replace(
            self,
            counts=self.counts[index],
            sums=self.sums[index],
            squares=self.squares[index],
            groups=tuple(self.groups[row] for row in index),
        )

    def with_rewards(self) -> "Panel":
        """The panel of the groups that have rewards."""
        return self.take(np.flatnonzero(self.tried.any(axis=1)))

    def without(self, part: "Panel") -> "Panel":
        """This panel less the rewards of another one with the same groups and arms."""
        return dataclasses.replace(
            self,
            counts=self.counts - part.counts,
            sums=self.sums - part.sums,
            squares=self.squares - part.squares,
        )

    def with_arms(self, arms: Sequence[Any]) -> "Panel":
        """The panel of other arms: those of this one by value, the others without rewards."""
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


def build_panels(
    totals: FloatArray,
    groups: Sequence[Any],
    arms: Sequence[Any],
    scale: RewardScale,
    arm_name: str,
    with_late: bool,
) -> tuple[Panel, Panel | None]:
    """The panel of all rewards and that of the late ones, if they were told apart.

    Args:
        totals: Counts, sums and squares of all rewards and of the late ones: shape
            (2, 3, n_groups, n_arms).
        groups: The groups' names.
        arms: The arms' values.
        scale: What the rewards turned out to be.
        arm_name: Name of the column of the arms.
        with_late: Whether there is a second panel.
    """
    whole, late = (
        Panel(
            counts=counts,
            sums=sums,
            squares=squares,
            groups=tuple(groups),
            arms=tuple(arms),
            reward_range=scale.reward_range,
            binary=scale.binary,
            arm_name=arm_name,
            dropped=scale.dropped,
        )
        for counts, sums, squares in totals
    )
    return whole, late if with_late else None
