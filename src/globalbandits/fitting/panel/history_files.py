"""Histories in files: one GROUP BY of DuckDB, with memory for the groups and arms only.

DuckDB is the optional extra ``files``. Without it a CSV file is read into memory by pandas, and
then aggregated like any other rows.
"""

import os
import zlib
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from globalbandits._extras import needs_extra
from globalbandits._types import AnyArray, FloatArray
from globalbandits.errors import FitError
from globalbandits.fitting.panel.panel import Panel, panels_from_totals
from globalbandits.fitting.panel.panel_checks import (
    RewardCounts,
    RewardFacts,
    check_arms_repeat,
    check_column_names,
    check_number_of_arms,
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
from globalbandits.fitting.panel.rows import (
    HistoryColumns,
    as_plain,
    as_values,
    last_early_time,
    panels_from_rows,
)

CSV_ENDINGS = (".csv", ".csv.gz", ".tsv", ".txt")
PARQUET_ENDINGS = (".parquet", ".pq")
MISSING_REWARDS = ("", "nan", "NaN", "NA", "N/A", "null", "NULL", "None")
# DuckDB adds rewards on the unit scale as integer multiples of this step. The sum is then the same
# in whatever order the threads add, and as exact as a sum of floats.
SUM_STEP = 2.0**-52
SQUARE_STEP = 2.0**-20  # the same for successes² / trials, which are not limited to 1


def panels_from_file(
    path: str | os.PathLike[str], columns: HistoryColumns
) -> tuple[Panel, Panel | None]:
    """Aggregate a CSV or Parquet file with one reward per row.

    Returns:
        The panel of all rows, and the panel of the last third of the time. The second one is
        None if there is no column of times.
    """
    name = Path(path).name.lower()
    if not Path(path).is_file():
        raise FitError(f"history must be a file that exists, got {os.fspath(path)!r}")
    if not name.endswith((*CSV_ENDINGS, *PARQUET_ENDINGS)):
        endings = ", ".join((*CSV_ENDINGS, *PARQUET_ENDINGS))
        raise FitError(f"history must be a file that ends with {endings}, got {name!r}")
    if name.endswith(CSV_ENDINGS) and find_spec("duckdb") is None:
        return panels_from_rows(read_csv(path, columns), columns)
    return panels_by_duckdb(path, columns)


def panels_by_duckdb(
    path: str | os.PathLike[str], columns: HistoryColumns
) -> tuple[Panel, Panel | None]:
    """Aggregate a CSV or Parquet file by DuckDB."""
    with needs_extra("files"):
        import duckdb

    with duckdb.connect() as connection:
        # The bar would go to standard output.
        connection.execute("SET enable_progress_bar = false")
        return _Query(connection, os.fspath(path), columns).panels()


def read_rows(
    path: str | os.PathLike[str], columns: HistoryColumns, others: Sequence[str]
) -> dict[str, AnyArray]:
    """Read the columns of a CSV or Parquet file into memory, and other ones."""
    if Path(path).name.lower().endswith(PARQUET_ENDINGS):
        with needs_extra("files"):
            import duckdb

        wanted = list(dict.fromkeys([*columns.names, *others]))
        with readable(path), duckdb.connect() as connection:
            table = connection.read_parquet(os.fspath(path))
            check_column_names(wanted, table.columns)
            found = table.select(*(_quoted_name(name) for name in wanted)).fetchnumpy()
        return {name: np.asarray(found[name]) for name in wanted}
    return read_csv(path, columns, others)


def read_csv(
    path: str | os.PathLike[str], columns: HistoryColumns, others: Sequence[str] = ()
) -> dict[str, AnyArray]:
    """Read the columns of a CSV file into memory by pandas, and other ones.

    Groups, arms, times and other columns are numbers where all their texts are, and texts
    otherwise.
    """
    import pandas as pd

    separator = "\t" if Path(path).name.lower().endswith(".tsv") else ","
    wanted = list(dict.fromkeys([*columns.names, *others]))
    named = [name for name in wanted if name not in (columns.reward, columns.trials)]
    with readable(path):
        header = [str(name) for name in pd.read_csv(path, nrows=0, sep=separator).columns]
        check_column_names(wanted, header)
        frame = pd.read_csv(
            path,
            usecols=wanted,
            # Categories hold every distinct text once.
            dtype=dict.fromkeys(named, "category"),
            keep_default_na=False,
            na_values={name: [""] if name in named else list(MISSING_REWARDS) for name in wanted},
            sep=separator,
        )
    rows = {str(name): np.asarray(frame[name]) for name in wanted if name not in named}
    kinds = {name: name for name in others}
    kinds |= {columns.group: "group", columns.arm: "arm", columns.time or "": "time"}
    for name in named:
        texts = frame[name].cat
        codes = texts.codes.to_numpy()
        if codes.size and codes.min() < 0:
            raise missing_value(kinds[name], int(np.argmax(codes < 0)))
        values, places = as_values([str(text) for text in texts.categories])
        if kinds[name] == "arm":
            check_number_of_arms(len(values))
        numeric = all(isinstance(value, (int, float)) for value in values)
        distinct = np.array(values, None if numeric else object)
        rows[name] = distinct[places[codes]] if codes.size else distinct
    return rows


@contextmanager
def readable(path: str | os.PathLike[str]) -> Generator[None, None, None]:
    """Add the file's name to every error of pandas about a file."""
    try:
        yield
    except FitError:
        raise
    except (ValueError, OSError, EOFError, zlib.error, BadZipFile) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: str | os.PathLike[str], error: Exception) -> FitError:
    reason = str(error).strip().partition("\n")[0]
    return FitError(f"history {Path(path).name!r} cannot be read: {reason}")


class _Query:
    """The queries that aggregate one file."""

    def __init__(self, connection: Any, path: str, columns: HistoryColumns) -> None:
        assert columns.reward is not None
        self.connection = connection
        self.path = path
        self.columns = columns
        self.reward_range: object = columns.reward_range
        self.unbounded = is_unbounded(columns.reward_range)
        self.low, self.high = 0.0, 1.0
        if path.lower().endswith(PARQUET_ENDINGS):
            self.table = f"read_parquet({_quoted_text(path)})"
            self.reward = f"CAST({_quoted_name(columns.reward)} AS DOUBLE)"
        else:
            self.table = f"read_csv({_quoted_text(path)}, header=true, all_varchar=true)"
            self.reward = _number_in_text(columns.reward)
        types = {row[0]: row[1] for row in self._rows(f"DESCRIBE SELECT * FROM {self.table}")}
        check_column_names(columns.names, list(types))
        self.time = None
        if columns.time is not None:
            self.time = _time_expression(columns.time, types[columns.time])

    def panels(self) -> tuple[Panel, Panel | None]:
        """Read the file once, and once more for times, and for rewards without a highest value."""
        if self.columns.trials is not None:
            return self._panels_of_trials(self.columns.trials)
        if self.unbounded:
            self._set_range(self._facts())
        elif self.reward_range is not None:
            self.low, self.high = check_reward_range(self.reward_range)
        found = self._panels()
        if found is None:
            self._set_range(self._facts())
            found = self._panels()
        assert found is not None
        return found

    def _set_range(self, facts: RewardFacts) -> None:
        """Set the range of rewards that have no highest value."""
        self.unbounded = True
        given = self.columns.reward_range
        self.low, self.high = self.reward_range = range_of_unbounded(given, facts)

    def _facts(self) -> RewardFacts:
        lowest, highest, broken = self._rows(
            f"""
            WITH rewards AS (SELECT {self.reward} AS r FROM {self.table})
            SELECT min(r), max(r), count(*) FILTER (r <> floor(r)) FROM rewards WHERE isfinite(r)
            """
        )[0]
        if lowest is None:
            return RewardFacts(0.0, 0.0, False)
        return RewardFacts(float(lowest), float(highest), broken == 0)

    def _panels(self) -> tuple[Panel, Panel | None] | None:
        """Aggregate the rewards; None if they are counts and no range was given."""
        late, parameters = self._late_condition()
        low, high = repr(self.low), repr(self.high)
        self._rows(
            f"""
            CREATE OR REPLACE TABLE cells AS
            WITH rewards AS (
                SELECT {_quoted_name(self.columns.group)} AS g,
                       {_quoted_name(self.columns.arm)} AS a,
                       {late} AS late, {self.reward} AS r
                FROM {self.table}),
            scaled AS (SELECT *, (r - {low}) / ({high} - {low}) AS y FROM rewards)
            SELECT g, a, late,
                   count(*) FILTER (isfinite(r)) AS n,
                   {_exact_sum("y")} AS total,
                   {_exact_sum("y * y")} AS square,
                   count(*) FILTER (r IS NULL OR isnan(r)) AS missing,
                   count(*) FILTER (isinf(r)) AS infinite,
                   count(*) FILTER (isfinite(r) AND r <> {low} AND r <> {high}) AS inside,
                   count(*) FILTER (isfinite(r) AND (r < {low} OR r > {high})) AS outside
            FROM scaled GROUP BY g, a, late
            """,
            parameters,
        )
        cells = self._cells()
        numbers = np.array([cell[3:] for cell in cells], np.float64).T
        counts = RewardCounts(*(int(count) for count in numbers[3:].sum(axis=1)))
        if counts.inside and self.reward_range is None and self._facts().counts:
            return None
        check_rewards(counts, self.reward_range, self.columns.dropna, self._first_wrong)
        totals, groups, arms = _totals(cells, numbers[:3])
        return panels_from_totals(
            totals,
            groups,
            arms,
            reward_range=(self.low, self.high),
            binary=counts.inside == 0,
            arm_name=self.columns.arm,
            dropped=counts.missing,
            with_late=self.time is not None,
            unbounded=self.unbounded,
        )

    def _panels_of_trials(self, name: str) -> tuple[Panel, Panel | None]:
        """Aggregate successes and trials."""
        late, parameters = self._late_condition()
        typed = self.path.lower().endswith(PARQUET_ENDINGS)
        trials = f"CAST({_quoted_name(name)} AS DOUBLE)" if typed else _number_in_text(name)
        missing = "false" if self.columns.dropna else "r IS NULL OR isnan(r)"
        found = self._rows(
            f"""
            WITH numbered AS (SELECT {trials} AS t, {self.reward} AS r,
                                     row_number() OVER () - 1 AS place FROM {self.table}),
            checked AS (SELECT *, t IS NULL OR NOT isfinite(t) OR t < 0 OR t <> floor(t) AS wrong
                        FROM numbered)
            SELECT place, t, r, wrong FROM checked
            WHERE wrong OR {missing} OR isinf(r)
                  OR (NOT isnan(r) AND (r < 0 OR r > t OR r <> floor(r)))
            ORDER BY place LIMIT 1
            """
        )
        broken = found[0] if found else (0, 0.0, 0.0, False)
        number = float("nan") if broken[1] is None else float(broken[1])
        check_trials(self.reward_range, (int(broken[0]), number) if broken[3] else None)
        if found and (broken[2] is None or np.isnan(broken[2])):
            raise FitError(f"reward must be finite, row {broken[0]} has nan")
        if found:
            raise wrong_successes(int(broken[0]), float(broken[2]), number)
        self._rows(
            f"""
            CREATE OR REPLACE TABLE cells AS
            WITH rewards AS (
                SELECT {_quoted_name(self.columns.group)} AS g,
                       {_quoted_name(self.columns.arm)} AS a,
                       {late} AS late, {self.reward} AS r, {trials} AS t
                FROM {self.table}),
            scaled AS (SELECT *, r IS NOT NULL AND NOT isnan(r) AS is_known FROM rewards)
            SELECT g, a, late,
                   coalesce(sum(CAST(t AS BIGINT)) FILTER (is_known), 0) AS n,
                   coalesce(sum(CAST(r AS BIGINT)) FILTER (is_known), 0) AS total,
                   coalesce(sum(CAST(r AS BIGINT)) FILTER (is_known), 0) AS square,
                   coalesce(sum(CAST(round(r * r / t * {1 / SQUARE_STEP!r}) AS BIGINT))
                            FILTER (is_known AND t > 0), 0) AS steps,
                   count(*) FILTER (is_known AND t > 0) AS n_rows,
                   count(*) FILTER (NOT is_known) AS missing
            FROM scaled GROUP BY g, a, late
            """,
            parameters,
        )
        cells = self._cells()
        numbers = np.array([cell[3:] for cell in cells], np.float64).T
        totals, groups, arms = _totals(cells, numbers[:3])
        others, _, _ = _totals(cells, numbers[3:6])
        squares, n_rows = SQUARE_STEP * others[0, 0], others[0, 1]
        n_used = float(n_rows.sum())
        return panels_from_totals(
            totals,
            groups,
            arms,
            reward_range=(0.0, 1.0),
            binary=True,
            arm_name=self.columns.arm,
            dropped=int(others[0, 2].sum()),
            with_late=self.time is not None,
            rounds_per_row=float(totals[0, 0].sum()) / n_used if n_used else 1.0,
            dispersion=row_dispersion(n_rows, totals[0, 0], totals[0, 1], squares),
        )

    def _cells(self) -> list[Any]:
        """Return the aggregated cells in order; an error if a group or an arm is missing."""
        check_number_of_arms(self._rows("SELECT count(DISTINCT a) FROM cells")[0][0])
        cells = self._rows("SELECT * FROM cells ORDER BY g, a, late")
        if not cells:
            raise no_rows()
        for place, (what, name) in enumerate(
            [("group", self.columns.group), ("arm", self.columns.arm)]
        ):
            if any(cell[place] is None for cell in cells):
                raise missing_value(what, self._first_row(_quoted_name(name), "value IS NULL")[0])
        return cells

    def _late_condition(self) -> tuple[str, list[Any]]:
        """Return the SQL condition of the last third of the time, and its parameters."""
        if self.time is None:
            return "false", []
        rows = self._rows(f"SELECT {self.time}, count(*) FROM {self.table} GROUP BY 1")
        if any(row[0] is None for row in rows):
            raise missing_value("time", self._first_row(self.time, "value IS NULL")[0])
        times, places = as_values([row[0] for row in rows])
        values = np.array(times)
        last = last_early_time(values, np.bincount(places, [row[1] for row in rows], len(times)))
        # A CSV file has its times as texts; they are compared as numbers if all of them are.
        as_is = values.dtype.kind in "OU"
        time = self.time if as_is else f"CAST({self.time} AS DOUBLE)"
        return f"{time} > ?", [as_plain(last)]

    def _first_wrong(self, wrong: str) -> tuple[int, float]:
        condition = {
            "infinite": "isinf(value)",
            "missing or infinite": "value IS NULL OR NOT isfinite(value)",
            "outside": f"value < {self.low!r} OR value > {self.high!r}",
        }[wrong]
        row, reward = self._first_row(self.reward, condition)
        return row, float("nan") if reward is None else float(reward)

    def _first_row(self, expression: str, condition: str) -> tuple[int, Any]:
        """Return the number of the first row whose value satisfies a condition, and the value."""
        row, value = self._rows(
            f"""
            WITH numbered AS (
                SELECT {expression} AS value, row_number() OVER () - 1 AS place
                FROM {self.table})
            SELECT place, value FROM numbered WHERE {condition} ORDER BY place LIMIT 1
            """
        )[0]
        return int(row), value

    def _rows(self, query: str, parameters: list[Any] | None = None) -> list[Any]:
        import duckdb

        try:
            return list(self.connection.execute(query, parameters or []).fetchall())
        except duckdb.ConversionException:
            raise FitError("reward must be numbers, got a column with other values") from None
        except duckdb.Error as error:
            raise _unreadable(self.path, error) from None


def _totals(cells: list[Any], numbers: FloatArray) -> tuple[FloatArray, list[Any], list[Any]]:
    """Return numbers of all and of late rows, shape (2, 3, n_groups, n_arms), groups and arms."""
    groups, group_codes = as_values([cell[0] for cell in cells])
    arms, arm_codes = as_values([cell[1] for cell in cells])
    check_arms_repeat(group_codes, arm_codes, len(arms))
    is_late = np.array([bool(cell[2]) for cell in cells])
    totals = np.zeros((2, 3, len(groups), len(arms)))
    for part, values in enumerate((numbers, numbers * is_late)):
        for number in range(3):
            np.add.at(totals[part, number], (group_codes, arm_codes), values[number])
    return totals, groups, arms


def _number_in_text(name: str) -> str:
    """Return the SQL for the number in a column of a CSV file; NULL if it is missing."""
    column = _quoted_name(name)
    missing = ", ".join(_quoted_text(text) for text in MISSING_REWARDS)
    return (
        f"CASE WHEN {column} IN ({missing}) THEN NULL "
        f"WHEN lower({column}) = 'true' THEN 1.0 "
        f"WHEN lower({column}) = 'false' THEN 0.0 ELSE CAST({column} AS DOUBLE) END"
    )


def _quoted_text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _quoted_name(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'


def _time_expression(name: str, sql_type: str) -> str:
    """Return the SQL for a column of times whose values need no other Python package."""
    quoted = _quoted_name(name)
    if sql_type == "TIMESTAMP WITH TIME ZONE":
        return f"epoch_us({quoted})"
    return f"CAST({quoted} AS INTEGER)" if sql_type == "BOOLEAN" else quoted


def _exact_sum(term: str) -> str:
    """Return the SQL for a sum that does not depend on the order of its terms in [0, 1]."""
    steps = f"TRY_CAST(round({term} * {1 / SUM_STEP!r}) AS BIGINT)"
    return f"coalesce(CAST(sum({steps}) AS DOUBLE) * {SUM_STEP!r}, 0.0)"
