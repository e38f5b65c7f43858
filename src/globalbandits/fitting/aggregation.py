"""From rows, or from a table that was already aggregated, to a panel."""

import re
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import AnyArray, BoolArray, FloatArray, IntArray
from globalbandits._validation import as_interval
from globalbandits.errors import FitError
from globalbandits.fitting.columns import as_numbers, as_plain, column_names, encode, read_columns
from globalbandits.fitting.panel import Panel, build_panels
from globalbandits.fitting.rewards import NEEDED, RewardScale

BLOCK = 1 << 20  # rows at a time: what is needed beside the columns stays small
MANY_ARMS = 50
FEW_GROUPS = 5
# As texts, 10/1/2024 would come before 2/1/2024.
_YEAR_LAST = re.compile(r"\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}\b")
_EXACT = 1e-9  # of a reward: sums and sums of squares of coins agree to this


class Wanted(NamedTuple):
    """What is to be read from a history."""

    group: str
    arm: str
    reward: str | None
    time: str | None = None
    reward_range: tuple[float, float] | None = None
    dropna: bool = False

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        names = (self.group, self.arm, self.reward, self.time)
        return [name for name in names if name is not None]


def panels_from_rows(frame: Any, wanted: Wanted) -> tuple[Panel, Panel | None]:
    """The panel of a history with one reward per row, and that of the last third of the time.

    Args:
        frame: Anything with columns: a pandas or polars frame, a dict of arrays.
        wanted: Which columns; the second panel is None unless a column of times is among them.

    >>> rows = {"shop": ["a", "a", "b"], "price": [2, 3, 2], "sold": [1, 0, 1]}
    >>> panel, _ = panels_from_rows(rows, Wanted("shop", "price", "sold"))
    >>> panel.arms, panel.counts.tolist()
    ((2, 3), [[1.0, 1.0], [1.0, 0.0]])
    """
    columns = read_columns(frame, wanted.columns)
    if columns[0].size == 0:
        raise FitError("history must have rows, has none")
    rewards = as_numbers("reward", columns[2])
    late = late_rows(columns[3]) if wanted.time is not None else None
    scale = RewardScale(as_range(wanted.reward_range), wanted.dropna)
    group_codes, groups = encode("group", columns[0])
    arm_codes, arms = encode("arm", columns[1])
    check_arms_repeat(group_codes, arm_codes, len(arms))
    totals = np.zeros((2, 3, len(groups), len(arms)))
    for start in range(0, rewards.size, BLOCK):
        block = slice(start, start + BLOCK)
        unit = scale.keep(rewards[block], start)
        add_rewards(totals[0], group_codes[block], arm_codes[block], unit)
        if late is not None:
            unit = np.where(late[block], unit, np.nan)
            add_rewards(totals[1], group_codes[block], arm_codes[block], unit)
    return build_panels(totals, groups, arms, scale, wanted.arm, late is not None)


def add_rewards(totals: FloatArray, groups: IntArray, arms: IntArray, rewards: FloatArray) -> None:
    """Add rewards on the unit scale to counts, sums and squares; nan does not count.

    ``totals`` has the shape (3, n_groups, n_arms).
    """
    counted = ~np.isnan(rewards)
    if not counted.all():
        groups, arms, rewards = groups[counted], arms[counted], rewards[counted]
    shape = totals.shape[1:]
    cell, size = groups * shape[1] + arms, shape[0] * shape[1]
    totals[0] += np.bincount(cell, minlength=size).reshape(shape)
    totals[1] += np.bincount(cell, rewards, size).reshape(shape)
    totals[2] += np.bincount(cell, rewards * rewards, size).reshape(shape)


def late_rows(times: AnyArray) -> BoolArray:
    """Which rows come after the first two thirds of all rows, by time; ties stay together.

    >>> late_rows(np.array([3, 1, 2])).tolist()
    [True, False, False]
    """
    import pandas as pd

    missing = pd.isna(times)
    if missing.any():
        row = int(np.argmax(missing))
        raise FitError(f"time must not be missing, row {row} has {as_plain(times[row])!r}")
    try:
        values, counts = np.unique(times, return_counts=True)
    except TypeError:
        raise FitError("time must be values that can be compared, got a mixture") from None
    return np.asarray(times > last_early(values, counts))


def last_early(values: AnyArray, counts: AnyArray) -> Any:
    """The last time that belongs to the first two thirds, given how many rows each has."""
    if values.size < 2:
        raise FitError(f"time must have at least two values, has only {as_plain(values[0])!r}")
    first = as_plain(values[0])
    if isinstance(first, str) and _YEAR_LAST.match(first):
        raise FitError(
            "time must be numbers, dates, or texts that sort as 2024-03-09 does, "
            f"got texts such as {first!r}"
        )
    early = np.cumsum(counts) * 3 <= 2 * np.sum(counts)
    return values[max(int(early.sum()) - 1, 0)]


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
    group_column, arm_column, n_column, mean_column = read_columns(table, [group, arm, "n", "mean"])
    n, mean = as_numbers("n", n_column), as_numbers("mean", mean_column)
    _check_each(n, (n >= 0) & (n == np.floor(n)) & np.isfinite(n), "n", "be a whole number")
    low, high = as_range(reward_range) or (0.0, 1.0)
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
    repeated = np.bincount(group_codes * len(arms) + arm_codes) > 1
    if repeated.any():
        place = int(np.argmax(repeated))
        raise FitError(
            "a table must have one row per group and arm, has several of "
            f"group {groups[place // len(arms)]!r} and arm {arms[place % len(arms)]!r}"
        )
    totals = np.zeros((3, len(groups), len(arms)))
    totals[:, group_codes, arm_codes] = n, n * unit, within + n * unit**2
    scale = RewardScale((low, high))
    scale.binary = binary
    return build_panels(totals[None].repeat(2, axis=0), groups, arms, scale, arm, False)[0]


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


def as_range(reward_range: tuple[float, float] | None) -> tuple[float, float] | None:
    """The range of rewards, checked; None stays None."""
    if reward_range is None:
        return None
    return as_interval("reward_range", reward_range, FitError)


def _check_each(values: AnyArray, right: BoolArray, name: str, rule: str) -> None:
    if not right.all():
        row = int(np.argmin(right))
        raise FitError(f"{name} must {rule}, row {row} has {values[row]:g}")
