"""Statistics of groups and arms that turn up one after the other."""

from typing import Any

import numpy as np

from globalbandits._types import AnyArray, FloatArray, IntArray
from globalbandits.errors import FitError
from globalbandits.fitting.aggregation import check_arms_repeat
from globalbandits.fitting.panel import Panel, build_panels
from globalbandits.fitting.rewards import RewardScale
from globalbandits.fitting.texts import as_values

MOST_ARMS = 100_000
_SHIFT = 32  # a cell's key is its group's code, then its arm's


class GrowingTotals:
    """Counts, sums and squares of the cells that have occurred so far, block by block."""

    def __init__(self) -> None:
        self.groups: dict[Any, int] = {}
        self.arms: dict[Any, int] = {}
        self.keys: IntArray = np.empty(0, np.int64)
        self.totals: FloatArray = np.empty((6, 0))

    def add(
        self,
        groups: AnyArray,
        arms: AnyArray,
        rewards: FloatArray,
        late: AnyArray | None,
        first_row: int,
    ) -> None:
        """Add a block of rows; rewards are on the unit scale, nan does not count."""
        group_codes = _codes("group", groups, self.groups, first_row)
        arm_codes = _codes("arm", arms, self.arms, first_row)
        check_number_of_arms(len(self.arms))
        counted = ~np.isnan(rewards)
        unit = np.where(counted, rewards, 0.0)
        later = counted & late if late is not None else np.zeros_like(counted)
        powers = np.ones_like(unit), unit, unit * unit
        columns = [np.where(part, each, 0.0) for part in (counted, later) for each in powers]
        self._merge((group_codes << _SHIFT) | arm_codes, columns)

    def _merge(self, keys: IntArray, columns: list[FloatArray]) -> None:
        found, places = np.unique(keys, return_inverse=True)
        sums = np.array([np.bincount(places, column, found.size) for column in columns])
        merged, places = np.unique(np.concatenate([self.keys, found]), return_inverse=True)
        both = np.concatenate([self.totals, sums], axis=1)
        self.keys = merged
        self.totals = np.array([np.bincount(places, row, merged.size) for row in both])

    def panels(
        self, scale: RewardScale, arm_name: str, with_late: bool
    ) -> tuple[Panel, Panel | None]:
        """Both panels, groups and arms in order, texts of equal numbers taken together."""
        groups, rows = as_values(list(self.groups))
        arms, columns = as_values(list(self.arms))
        row, column = rows[self.keys >> _SHIFT], columns[self.keys & ((1 << _SHIFT) - 1)]
        return dense_panels(self.totals, (row, column), (groups, arms), scale, arm_name, with_late)


def check_number_of_arms(n_arms: int) -> None:
    """Refuse so many arms that cells would fill the memory before they are looked at."""
    if n_arms > MOST_ARMS:
        raise FitError(
            f"arms must be few enough to repeat, got more than {MOST_ARMS}: round or bin them first"
        )


def dense_panels(
    totals: FloatArray,
    places: tuple[IntArray, IntArray],
    names: tuple[list[Any], list[Any]],
    scale: RewardScale,
    arm_name: str,
    with_late: bool,
) -> tuple[Panel, Panel | None]:
    """Panels of cells that are given one by one.

    Args:
        totals: Counts, sums, squares of all rewards and of the late ones: shape (6, n_cells).
        places: Row and column of each cell.
        names: Groups and arms.
        scale: What the rewards turned out to be.
        arm_name: Name of the column of the arms.
        with_late: Whether there is a second panel.
    """
    groups, arms = names
    check_arms_repeat(*places, len(arms))
    dense = np.zeros((6, len(groups), len(arms)))
    for number in range(6):
        np.add.at(dense[number], places, totals[number])
    shaped = dense.reshape(2, 3, len(groups), len(arms))
    return build_panels(shaped, groups, arms, scale, arm_name, with_late)


def _codes(name: str, texts: AnyArray, known: dict[Any, int], first_row: int) -> IntArray:
    """The code of every row; texts that are new get the next ones."""
    import pandas as pd

    codes, found = pd.factorize(texts)
    if codes.size and codes.min() < 0:
        row = int(np.argmax(codes < 0))
        raise FitError(f"{name} must not be missing, row {first_row + row} has nan")
    return np.array([known.setdefault(text, len(known)) for text in found], np.int64)[codes]
