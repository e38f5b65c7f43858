"""Histories in memory: rows with one reward each, or a table with one row per group and arm."""

import math
import numbers
import re
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from globalbandits._types import AnyArray, BoolArray, FloatArray, IntArray
from globalbandits._validation import as_list, require
from globalbandits.errors import FitError
from globalbandits.fitting.panel.panel import Panel, panels_from_totals
from globalbandits.fitting.panel.panel_checks import (
    REWARD_RANGE_NEEDED,
    GivenRange,
    RewardCounts,
    RewardFacts,
    check_arms_repeat,
    check_column_names,
    check_reward_range,
    check_rewards,
    check_trials,
    is_unbounded,
    missing_value,
    no_rows,
    range_of_unbounded,
    row_dispersion,
    wrong_successes,
)

BLOCK_ROWS = 1 << 20  # rows are aggregated in blocks, so that temporary arrays stay small
# Dates with the year last do not sort as texts: 10/1/2024 would come before 2/1/2024.
YEAR_LAST = re.compile(r"\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}\b")
# Relative tolerances for recognising 0/1 rewards from the mean and variance of a table's row.
BINARY_VARIANCE_TOLERANCE = 1e-9
BINARY_COUNT_TOLERANCE = 1e-6


class HistoryColumns(NamedTuple):
    """Which columns of a history to read, and how to read the rewards."""

    group: str
    arm: str
    reward: str | None
    time: str | None = None
    reward_range: GivenRange | None = None
    dropna: bool = False
    trials: str | None = None

    @property
    def names(self) -> list[str]:
        """The names of the columns, without those that are None."""
        every = (self.group, self.arm, self.reward, self.time, self.trials)
        return [name for name in every if name is not None]


def panels_from_rows(frame: Any, columns: HistoryColumns) -> tuple[Panel, Panel | None]:
    """Aggregate a history with one reward per row, or with the successes of several trials.

    Args:
        frame: A frame of pandas, Polars, PyArrow or DuckDB, or a dict of arrays.
        columns: The columns to read.

    Returns:
        The panel of all rows, and the panel of the last third of the time. The second one is
        None if there is no column of times.

    Examples:
        >>> rows = {"shop": ["a", "a", "b"], "price": [2, 3, 2], "sold": [1, 0, 1]}
        >>> panel, _ = panels_from_rows(rows, HistoryColumns("shop", "price", "sold"))
        >>> panel.arms, panel.counts.tolist()
        ((2, 3), [[1.0, 1.0], [1.0, 0.0]])
    """
    found_columns = dict(zip(columns.names, read_columns(frame, columns.names), strict=True))
    assert columns.reward is not None
    if found_columns[columns.group].size == 0:
        raise no_rows()
    rewards = as_numbers("reward", found_columns[columns.reward])
    late = late_rows(found_columns[columns.time]) if columns.time is not None else None
    group_codes, groups = encode("group", found_columns[columns.group])
    arm_codes, arms = encode("arm", found_columns[columns.arm])
    check_arms_repeat(group_codes, arm_codes, len(arms))
    if columns.trials is not None:
        trials = as_numbers("trials", found_columns[columns.trials])
        rows = TrialRows(group_codes, arm_codes, rewards, trials, late)
        return _panels_of_trials(rows, groups, arms, columns)
    reward_range = columns.reward_range
    facts = reward_facts(rewards)
    unbounded = is_unbounded(reward_range) or (reward_range is None and facts.counts)
    if unbounded:
        reward_range = range_of_unbounded(reward_range, facts)
    low, high = check_reward_range(reward_range)
    totals = np.zeros((2, 3, len(groups), len(arms)))
    counts = np.zeros(len(RewardCounts._fields), np.int64)
    for start in range(0, rewards.size, BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        observed = rewards[block]
        counts += _count_rewards(observed, low, high)
        finite = np.isfinite(observed)
        cells = group_codes[block] * len(arms) + arm_codes[block]
        unit = (observed - low) / (high - low)
        _add_rewards(totals[0], cells, unit, finite)
        if late is not None:
            _add_rewards(totals[1], cells, unit, finite & late[block])
    found = RewardCounts(*counts.tolist())

    def first_row(wrong: str) -> tuple[int, float]:
        if wrong == "outside":
            found_wrong = (rewards < low) | (rewards > high)
        else:
            found_wrong = np.isinf(rewards) if wrong == "infinite" else ~np.isfinite(rewards)
        row = int(np.argmax(found_wrong))
        return row, float(rewards[row])

    check_rewards(found, reward_range, columns.dropna, first_row)
    return panels_from_totals(
        totals,
        groups,
        arms,
        reward_range=(low, high),
        binary=found.inside == 0,
        arm_name=columns.arm,
        dropped=found.missing,
        with_late=late is not None,
        unbounded=unbounded,
    )


class TrialRows(NamedTuple):
    """Rows with the successes of several trials each."""

    groups: IntArray  # codes
    arms: IntArray  # codes
    successes: FloatArray
    trials: FloatArray
    late: BoolArray | None


def _panels_of_trials(
    rows: TrialRows, groups: list[Any], arms: list[Any], columns: HistoryColumns
) -> tuple[Panel, Panel | None]:
    """Return the panels of rows with trials: every trial is a reward of 0 or 1."""
    successes, trials = rows.successes, rows.trials
    valid = np.isfinite(trials) & (trials >= 0.0) & (trials == np.floor(trials))
    place = int(np.argmin(valid))
    check_trials(columns.reward_range, None if valid.all() else (place, float(trials[place])))
    missing = np.isnan(successes)
    if missing.any() and not columns.dropna:
        raise FitError(f"reward must be finite, row {int(np.argmax(missing))} has nan")
    counted = ~missing
    valid = (successes >= 0.0) & (successes <= trials) & (successes == np.floor(successes))
    if not valid[counted].all():
        place = int(np.argmax(counted & ~valid))
        raise wrong_successes(place, float(successes[place]), float(trials[place]))
    size, cells = len(groups) * len(arms), rows.groups * len(arms) + rows.arms

    def per_cell(values: FloatArray, chosen: BoolArray) -> FloatArray:
        return np.bincount(cells[chosen], values[chosen], size).astype(np.float64)

    totals = np.zeros((2, 3, len(groups), len(arms)))
    parts = [counted] if rows.late is None else [counted, counted & rows.late]
    for total, part in zip(totals, parts, strict=False):
        total[0] = per_cell(trials, part).reshape(total[0].shape)
        total[1] = total[2] = per_cell(successes, part).reshape(total[0].shape)
    used = counted & (trials > 0.0)
    squares = per_cell(successes**2 / np.maximum(trials, 1.0), used)
    n_rows = per_cell(np.ones(trials.size), used)
    return panels_from_totals(
        totals,
        groups,
        arms,
        reward_range=(0.0, 1.0),
        binary=True,
        arm_name=columns.arm,
        dropped=int(missing.sum()),
        with_late=rows.late is not None,
        rounds_per_row=float(trials[used].mean()) if used.any() else 1.0,
        dispersion=row_dispersion(n_rows, totals[0, 0].ravel(), totals[0, 1].ravel(), squares),
    )


def reward_facts(rewards: FloatArray) -> RewardFacts:
    """Return what decides about the range of the finite rewards."""
    finite = rewards[np.isfinite(rewards)]
    if finite.size == 0:
        return RewardFacts(0.0, 0.0, False)
    return RewardFacts(
        float(finite.min()), float(finite.max()), bool((finite == np.floor(finite)).all())
    )


def panel_from_table(
    table: Any,
    *,
    group: str,
    arm: str,
    reward_range: GivenRange | None = None,
) -> Panel:
    """Read a table with one row per group and arm and the columns n, mean and variance.

    One GROUP BY of a database gives such a table. ``variance`` is the sample variance, with
    n - 1 in the denominator; it is ignored where n is 1. Rewards that are 0 or 1 need none.

    >>> panel = panel_from_table(
    ...     {"shop": ["a", "a"], "price": [2, 3], "n": [4, 2], "mean": [0.25, 0.5]},
    ...     group="shop", arm="price")
    >>> panel.sums.tolist(), panel.binary
    ([[1.0, 1.0]], True)
    """
    group_column, arm_column, n_column, mean_column = read_columns(table, [group, arm, "n", "mean"])
    n, mean = as_numbers("n", n_column), as_numbers("mean", mean_column)
    _check_each(n, (n >= 0) & (n == np.floor(n)) & np.isfinite(n), "n", "be a whole number")
    rule = "have a highest value where rows are aggregated"
    require(not is_unbounded(reward_range), "reward_range", rule, reward_range, FitError)
    low, high = check_reward_range(reward_range)
    used = n > 0
    _check_each(mean, np.isfinite(mean) | ~used, "mean", "be finite")
    inside = (mean >= low) & (mean <= high) | ~used
    if reward_range is None and not inside.all():
        raise FitError(REWARD_RANGE_NEEDED)
    _check_each(mean, inside, "mean", f"lie in [{low:g}, {high:g}]")
    unit = np.where(used, (mean - low) / (high - low), 0.0)
    within = _squares_within(table, n, unit, high - low)
    tolerance = BINARY_VARIANCE_TOLERANCE * np.maximum(n, 1.0)
    binary = bool(np.all(np.abs(within - n * unit * (1 - unit)) <= tolerance))
    if not binary and reward_range is None:
        raise FitError(REWARD_RANGE_NEEDED)
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
    totals = np.zeros((2, 3, len(groups), len(arms)))
    totals[0][:, group_codes, arm_codes] = n, n * unit, within + n * unit**2
    panel, _ = panels_from_totals(
        totals, groups, arms, reward_range=(low, high), binary=binary, arm_name=arm
    )
    return panel


def leave_out_groups(
    panel: Panel, late: Panel | None, exclude: Collection[Any]
) -> tuple[Panel, Panel | None]:
    """Remove the excluded groups, and the groups and arms without rewards, from both panels.

    A group may be named by its text in a file: "7" for the group 7.
    """
    known, excluded = set(panel.groups), set()
    for name in as_list("exclude", exclude, "be a list of groups", FitError):
        group = as_named(name, known)
        require(group in known, "exclude", "name groups of the history", name, FitError)
        excluded.add(group)
    kept = np.array([group not in excluded for group in panel.groups], bool)
    rows = np.flatnonzero(kept & panel.tried.any(axis=1))
    arms = [panel.arms[place] for place in np.flatnonzero(panel.tried[rows].any(axis=0))]
    left = panel.take(rows).with_arms(arms)
    return left, None if late is None else late.take(rows).with_arms(arms)


def late_rows(times: AnyArray) -> BoolArray:
    """Say which rows come after the first two thirds of all rows; equal times stay together.

    >>> late_rows(np.array([3, 1, 2])).tolist()
    [True, False, False]
    """
    import pandas as pd

    missing = pd.isna(times)
    if missing.any():
        row = int(np.argmax(missing))
        raise missing_value("time", row, as_plain(times[row]))
    try:
        values, counts = np.unique(times, return_counts=True)
    except TypeError:
        raise FitError("time must be values that can be compared, got a mixture") from None
    return np.asarray(times > last_early_time(values, counts))


def last_early_time(values: AnyArray, counts: AnyArray) -> Any:
    """Return the last time of the first two thirds of all rows.

    Args:
        values: The distinct times in order.
        counts: Number of rows of each.
    """
    if values.size < 2:
        raise FitError(f"time must have at least two values, has only {as_plain(values[0])!r}")
    first = as_plain(values[0])
    if isinstance(first, str) and YEAR_LAST.match(first):
        raise FitError(
            "time must be numbers, dates, or texts that sort as 2024-03-09 does, "
            f"got texts such as {first!r}"
        )
    early = np.cumsum(counts) * 3 <= 2 * np.sum(counts)
    return values[max(int(early.sum()) - 1, 0)]


def column_names(frame: Any) -> list[str]:
    """Return the names of the columns of a frame, or of a dict of arrays."""
    if isinstance(frame, Mapping):
        return [str(name) for name in frame]
    return [str(name) for name in _as_frame(frame).collect_schema().names()]


def read_columns(frame: Any, wanted: Sequence[str]) -> list[AnyArray]:
    """Return the named columns as one-dimensional arrays of equal length.

    Args:
        frame: A dict of arrays, or a frame that Narwhals knows: of pandas, Polars or PyArrow, or
            a relation of DuckDB. Of a lazy frame only these columns are computed.
        wanted: Names of the columns.

    >>> read_columns({"store": ["a", "b"], "sold": [0, 1]}, ["sold"])
    [array([0, 1])]
    """
    check_column_names(wanted, column_names(frame))
    if isinstance(frame, Mapping):
        columns = [np.asarray(frame[name]) for name in wanted]
    else:
        table = _as_frame(frame).select(*wanted)
        if isinstance(table, nw.LazyFrame):
            # PyArrow, which Narwhals would collect a relation of DuckDB into, may be missing.
            table = table.collect("pandas" if table.implementation.is_duckdb() else None)
        columns = [table[name].to_numpy() for name in wanted]
    for name, column in zip(wanted, columns, strict=True):
        if column.ndim != 1:
            raise FitError(f"column {name!r} must be one-dimensional, got the shape {column.shape}")
        if column.size != columns[0].size:
            raise FitError(
                f"column {name!r} must have {columns[0].size} rows as {wanted[0]!r} has, "
                f"got {column.size}"
            )
    return columns


def _as_frame(frame: Any) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:
    try:
        found: nw.DataFrame[Any] | nw.LazyFrame[Any] = nw.from_native(frame)
        return found
    except TypeError:
        raise FitError(
            f"history must have columns, as a frame or a dict of arrays has, got {type(frame)!r}"
        ) from None


def as_numbers(name: str, column: AnyArray) -> FloatArray:
    """Convert a column to floats; texts and dates are refused."""
    if column.dtype.kind not in "biufO":
        raise FitError(f"{name} must be numbers, got a column of {column.dtype}")
    try:
        return column.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise FitError(f"{name} must be numbers, got a column with other values") from None


def encode(name: str, column: AnyArray) -> tuple[IntArray, list[Any]]:
    """Return the code of every row and the distinct values, sorted if they can be compared.

    >>> codes, values = encode("arm", np.array([3.5, 2.0, 3.5]))
    >>> codes.tolist(), values
    ([1, 0, 1], [2.0, 3.5])
    """
    import pandas as pd

    codes, found = pd.factorize(column)
    if codes.size and codes.min() < 0:
        row = int(np.argmax(codes < 0))
        raise missing_value(name, row, as_plain(column[row]))
    values = [as_plain(value) for value in found]
    order = _sorted_order(values)
    ranks = np.empty(len(values), np.int64)
    ranks[order] = np.arange(len(values))
    return ranks[codes], [values[place] for place in order]


def as_plain(value: Any) -> Any:
    """Convert a NumPy scalar or a database's decimal to a plain Python value."""
    if isinstance(value, Decimal):
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


def as_values(texts: Sequence[Any]) -> tuple[list[Any], IntArray]:
    """Return the distinct values of texts in order, and the place of every text among them.

    The values are integers if all texts are written as integers, floats if all are numbers, and
    texts otherwise. Values of a typed file that are no texts stay as they are; decimals become
    floats.

    >>> as_values(["3.50", "2", "3.5"])
    ([2.0, 3.5], array([1, 0, 1]))
    >>> as_values(["07", "12"])[0]
    ['07', '12']
    """
    values = [as_plain(text) for text in texts]
    if values and all(isinstance(text, str) for text in values):
        values = _parse_numbers(values)
    distinct = list(dict.fromkeys(values))
    ordered = [distinct[place] for place in _sorted_order(distinct)]
    places = {value: place for place, value in enumerate(ordered)}
    return ordered, np.array([places[value] for value in values], np.int64)


def as_named(name: Any, known: Collection[Any]) -> Any:
    """Return the known value that a name means; an unknown text is parsed as a number.

    >>> as_named("07", {"07", "12"}), as_named("7", {7, 8}), as_named("4.5", {4.0, 5.0})
    ('07', 7, 4.5)
    """
    return as_values([name])[0][0] if isinstance(name, str) and name not in known else name


def is_number(arm: Any) -> bool:
    """Say whether an arm's value is a finite real number; booleans are labels."""
    real = isinstance(arm, numbers.Real) and not isinstance(arm, bool)
    return real and math.isfinite(float(arm))


def _count_rewards(rewards: FloatArray, low: float, high: float) -> RewardCounts:
    """Count the rewards of a block by what they are."""
    others = rewards[(rewards != low) & (rewards != high)]
    finite = np.isfinite(others)
    missing = int(np.isnan(others).sum())
    return RewardCounts(
        missing=missing,
        infinite=int(others.size - finite.sum()) - missing,
        inside=int(finite.sum()),
        outside=int((finite & ((others < low) | (others > high))).sum()),
    )


def _add_rewards(
    totals: FloatArray, cells: IntArray, rewards: FloatArray, counted: BoolArray
) -> None:
    """Add the counted rewards to the counts, sums and squares of their cells.

    Args:
        totals: Shape (3, n_groups, n_arms), changed in place.
        cells: Number of each row's cell.
        rewards: Rewards on the unit scale.
        counted: Which rows to add.
    """
    if not counted.all():
        cells, rewards = cells[counted], rewards[counted]
    shape, size = totals.shape[1:], totals[0].size
    totals[0] += np.bincount(cells, minlength=size).reshape(shape)
    totals[1] += np.bincount(cells, rewards, size).reshape(shape)
    totals[2] += np.bincount(cells, rewards * rewards, size).reshape(shape)


def _squares_within(table: Any, n: FloatArray, unit: FloatArray, width: float) -> FloatArray:
    """Return the sum of squares around the mean of every row of a table, on the unit scale."""
    if "variance" not in column_names(table):
        successes = n * unit
        rounding = np.abs(successes - np.rint(successes))
        if (rounding > BINARY_COUNT_TOLERANCE * np.maximum(n, 1.0)).any():
            raise FitError("variance is needed for rewards that are not 0 or 1: a third column")
        return np.asarray(successes * (1 - unit))
    variance = as_numbers("variance", read_columns(table, ["variance"])[0])
    single = n <= 1
    _check_each(
        variance, (np.isfinite(variance) & (variance >= 0)) | single, "variance", "be at least 0"
    )
    return np.where(single, 0.0, (n - 1) * variance / width**2)


def _check_each(values: AnyArray, right: BoolArray, name: str, rule: str) -> None:
    if not right.all():
        row = int(np.argmin(right))
        raise FitError(f"{name} must {rule}, row {row} has {values[row]:g}")


def _sorted_order(values: Sequence[Any]) -> list[int]:
    """Return the places of the values in order, or as they are if they cannot be compared."""
    try:
        return sorted(range(len(values)), key=lambda place: values[place])
    except TypeError:
        return list(range(len(values)))


def _parse_numbers(texts: list[str]) -> list[Any]:
    try:
        integers = [int(text) for text in texts]
    except ValueError:
        pass
    else:
        # The group "07" is another one than "7": codes with leading zeros stay texts.
        same = (str(each) == text.strip() for each, text in zip(integers, texts, strict=True))
        return integers if all(same) else list(texts)
    try:
        floats = [float(text) for text in texts]
    except ValueError:
        return list(texts)
    return floats if np.isfinite(floats).all() else list(texts)
