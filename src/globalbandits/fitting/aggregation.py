"""From rows, or from a table that was already aggregated, to a panel."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from globalbandits._types import AnyArray, BoolArray, FloatArray, IntArray
from globalbandits._validation import as_interval
from globalbandits.errors import FitError
from globalbandits.fitting.columns import as_numbers, column_names, encode, read_columns
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.rewards import NEEDED, RewardScale

BLOCK = 1 << 20  # rows at a time: what is needed beside the columns stays small
MANY_ARMS = 50
FEW_GROUPS = 5
_EXACT = 1e-9  # of a reward: sums and sums of squares of coins agree to this


def panel_from_rows(
    frame: Any,
    *,
    group: str,
    arm: str,
    reward: str,
    reward_range: tuple[float, float] | None = None,
    dropna: bool = False,
    rows: BoolArray | None = None,
) -> Panel:
    """The panel of a history with one reward per row.

    Args:
        frame: Anything with columns: a pandas or polars frame, a dict of arrays.
        group: Name of the column that says which group a row belongs to.
        arm: Name of the column of the arm that was played.
        reward: Name of the column of the reward.
        reward_range: The lowest and the highest a reward can be; needed unless they are 0 or 1.
        dropna: Whether rows without a reward are left out instead of refused.
        rows: Which rows count; None: all. Groups and arms are those of all rows.

    >>> panel = panel_from_rows(
    ...     {"shop": ["a", "a", "b"], "price": [2, 3, 2], "sold": [1, 0, 1]},
    ...     group="shop", arm="price", reward="sold")
    >>> panel.arms, panel.counts.tolist()
    ((2, 3), [[1.0, 1.0], [1.0, 0.0]])
    """
    group_column, arm_column, reward_column = read_columns(frame, [group, arm, reward])
    rewards = as_numbers("reward", reward_column)
    scale = RewardScale(_as_range(reward_range), dropna)
    group_codes, groups = encode("group", group_column)
    arm_codes, arms = encode("arm", arm_column)
    check_arms_repeat(group_codes, arm_codes, len(arms))
    cells = Cells(len(groups), len(arms))
    for start in range(0, rewards.size, BLOCK):
        block = slice(start, start + BLOCK)
        unit = scale.keep(rewards[block], start)
        if rows is not None:
            unit = np.where(rows[block], unit, np.nan)
        cells.add(group_codes[block], arm_codes[block], unit)
    return cells.panel(groups, arms, scale.reward_range, scale.binary, arm, scale.dropped)


class Cells:
    """Sums per group and arm, added up block by block."""

    def __init__(self, n_groups: int, n_arms: int) -> None:
        self.shape = n_groups, n_arms
        self.totals = np.zeros((3, n_groups * n_arms))

    def add(self, groups: IntArray, arms: IntArray, rewards: FloatArray) -> None:
        """Add rewards on the unit scale; nan does not count."""
        counted = ~np.isnan(rewards)
        if not counted.all():
            groups, arms, rewards = groups[counted], arms[counted], rewards[counted]
        cell = groups * self.shape[1] + arms
        size = self.totals.shape[1]
        self.totals[0] += np.bincount(cell, minlength=size)
        self.totals[1] += np.bincount(cell, rewards, size)
        self.totals[2] += np.bincount(cell, rewards * rewards, size)

    def panel(
        self,
        groups: Sequence[Any],
        arms: Sequence[Any],
        reward_range: tuple[float, float],
        binary: bool,
        arm_name: str,
        dropped: int = 0,
    ) -> Panel:
        """What was added up so far."""
        counts, sums, squares = self.totals.reshape(3, *self.shape)
        return Panel(
            counts, sums, squares, tuple(groups), tuple(arms), reward_range, binary, arm_name,
            dropped,
        )  # fmt: skip


def panel_from_table(
    table: Any,
    *,
    group: str,
    arm: str,
    reward_range: tuple[float, float] | None = None,
) -> Panel:
    """The panel of a table with one row per group and arm: the columns n, mean and variance.

    This is what one GROUP BY of a database gives. ``variance`` is the sample variance (n - 1
    in the denominator; it does not matter where n is 1); rewards that are 0 or 1 need none.

    >>> panel = panel_from_table(
    ...     {"shop": ["a", "a"], "price": [2, 3], "n": [4, 2], "mean": [0.25, 0.5]},
    ...     group="shop", arm="price")
    >>> panel.sums.tolist(), panel.binary
    ([[1.0, 1.0]], True)
    """
    group_column, arm_column, n_column, mean_column = read_columns(
        table, [group, arm, "n", "mean"]
    )
    n, mean = as_numbers("n", n_column), as_numbers("mean", mean_column)
    _check_each(n, (n >= 0) & (n == np.floor(n)) & np.isfinite(n), "n", "be a whole number")
    low, high = _as_range(reward_range) or (0.0, 1.0)
    used = n > 0
    _check_each(mean, np.isfinite(mean) | ~used, "mean", "be finite")
    inside = (mean >= low) & (mean <= high) | ~used
    if reward_range is None and not inside.all():
        raise FitError(NEEDED)
    _check_each(mean, inside, "mean", f"lie in [{low:g}, {high:g}]")
    unit = np.where(used, (mean - low) / (high - low), 0.0)
    within = _within(table, n, unit, high - low)
    binary = bool(np.all(np.abs(within - n * unit * (1 - unit)) <= _EXACT * np.maximum(n, 1.0)))
    if not binary and reward_range is None:
        raise FitError(NEEDED)
    group_codes, groups = encode("group", group_column)
    arm_codes, arms = encode("arm", arm_column)
    check_arms_repeat(group_codes, arm_codes, len(arms))
    cells = Cells(len(groups), len(arms))
    cell = group_codes * len(arms) + arm_codes
    repeated = np.bincount(cell) > 1
    if repeated.any():
        place = int(np.argmax(repeated))
        raise FitError(
            "a table must have one row per group and arm, has several of "
            f"group {groups[place // len(arms)]!r} and arm {arms[place % len(arms)]!r}"
        )
    cells.totals[:, cell] = n, n * unit, within + n * unit**2
    return cells.panel(groups, arms, (low, high), binary, arm)


def _within(table: Any, n: FloatArray, unit: FloatArray, width: float) -> FloatArray:
    """Sum of squares around the mean of every row of a table, on the unit scale."""
    if "variance" not in column_names(table):
        successes = n * unit
        whole = np.abs(successes - np.rint(successes)) <= 1e-6 * np.maximum(n, 1.0)
        if not whole.all():
            raise FitError("variance is needed for rewards that are not 0 or 1: a third column")
        return np.asarray(successes * (1 - unit))
    variance = as_numbers("variance", read_columns(table, ["variance"])[0])
    single = n <= 1
    _check_each(
        variance, (np.isfinite(variance) & (variance >= 0)) | single, "variance", "be at least 0"
    )
    return np.where(single, 0.0, (n - 1) * variance / width**2)


def check_arms_repeat(groups: IntArray, arms: IntArray, n_arms: int) -> None:
    """Refuse arms that are hardly ever the same: prices in cents, doses in grams."""
    if n_arms <= MANY_ARMS:
        return
    pairs = np.unique(groups * n_arms + arms)
    seldom = int((np.bincount(pairs % n_arms) < FEW_GROUPS).sum())
    if seldom > MANY_ARMS:
        raise FitError(
            f"arms must be few enough to repeat, got {n_arms}, of which {seldom} have rewards in "
            f"fewer than {FEW_GROUPS} groups: round or bin them first"
        )


def _as_range(reward_range: tuple[float, float] | None) -> tuple[float, float] | None:
    if reward_range is None:
        return None
    return as_interval("reward_range", reward_range, FitError)


def _check_each(values: AnyArray, right: BoolArray, name: str, rule: str) -> None:
    if not right.all():
        row = int(np.argmin(right))
        raise FitError(f"{name} must {rule}, row {row} has {values[row]:g}")
