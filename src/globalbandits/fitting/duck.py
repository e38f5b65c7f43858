"""Files of any size by DuckDB: one GROUP BY."""

import os
from typing import Any

import numpy as np

from globalbandits.errors import FitError
from globalbandits.fitting.aggregation import Wanted, as_range
from globalbandits.fitting.columns import check_columns
from globalbandits.fitting.growing import check_number_of_arms, dense_panels
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.reading import PARQUET, LastEarly, find_last_early, unreadable
from globalbandits.fitting.rewards import NEEDED, RewardScale
from globalbandits.fitting.texts import MISSING, as_values

# Rewards on the unit scale are added up as whole numbers of this share of it: whichever thread adds
# first, the sum is the same, and as exact as a sum of floats.
_UNIT = 2.0**-52


def panels_by_duckdb(path: str | os.PathLike[str], wanted: Wanted) -> tuple[Panel, Panel | None]:
    """The panel of a CSV or Parquet file, and that of the last third of the time if asked for."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")  # it would go to standard output
        return _Reader(connection, os.fspath(path), wanted).panels()


class _Reader:
    """One file and what is wanted from it."""

    def __init__(self, connection: Any, path: str, wanted: Wanted) -> None:
        assert wanted.reward is not None
        self.connection = connection
        self.path = path
        self.wanted = wanted
        self.scale = RewardScale(as_range(wanted.reward_range), wanted.dropna)
        reward = _name(wanted.reward)
        if path.lower().endswith(PARQUET):
            self.table = f"read_parquet({_text(path)})"
            self.reward = f"CAST({reward} AS DOUBLE)"
        else:
            self.table = f"read_csv({_text(path)}, header=true, all_varchar=true)"
            missing = ", ".join(_text(text) for text in MISSING)
            self.reward = (
                f"CASE WHEN {reward} IN ({missing}) THEN NULL "
                f"WHEN lower({reward}) = 'true' THEN 1.0 "
                f"WHEN lower({reward}) = 'false' THEN 0.0 ELSE CAST({reward} AS DOUBLE) END"
            )
        kinds = {row[0]: row[1] for row in self._rows(f"DESCRIBE SELECT * FROM {self.table}")}
        check_columns(wanted.columns, list(kinds))
        self.time = None if wanted.time is None else _time(wanted.time, kinds[wanted.time])

    def _rows(self, query: str, parameters: list[Any] | None = None) -> list[Any]:
        import duckdb

        try:
            return list(self.connection.execute(query, parameters or []).fetchall())
        except duckdb.ConversionException:
            raise FitError("reward must be numbers, got a column with other values") from None
        except duckdb.Error as error:
            raise unreadable(self.path, error) from None

    def panels(self) -> tuple[Panel, Panel | None]:
        """One pass over the file; two if the time is asked for."""
        last = self._last_early()
        late, parameters = "false", []
        if last is not None:
            late = f"{self.time if last.as_is else f'CAST({self.time} AS DOUBLE)'} > ?"
            parameters = [last.time]
        low, high = (repr(end) for end in self.scale.reward_range)
        self._rows(
            f"""
            CREATE TABLE cells AS
            WITH rewards AS (
                SELECT {_name(self.wanted.group)} AS g, {_name(self.wanted.arm)} AS a,
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
        check_number_of_arms(self._rows("SELECT count(DISTINCT a) FROM cells")[0][0])
        rows = self._rows("SELECT * FROM cells ORDER BY g, a, late")
        if not rows:
            raise FitError("history must have rows, has none")
        return self._build(rows, last is not None)

    def _build(self, rows: list[Any], with_late: bool) -> tuple[Panel, Panel | None]:
        for place, what in ((0, "group"), (1, "arm")):
            if any(row[place] is None for row in rows):
                raise FitError(f"{what} must not be missing, some rows have none")
        numbers = np.array([row[3:] for row in rows], np.float64).T
        self._check(*(int(count) for count in numbers[3:].sum(axis=1)))
        groups, group_codes = as_values([row[0] for row in rows])
        arms, arm_codes = as_values([row[1] for row in rows])
        late = np.array([bool(row[2]) for row in rows])
        totals = np.concatenate([numbers[:3], numbers[:3] * late])
        places = group_codes, arm_codes
        return dense_panels(totals, places, (groups, arms), self.scale, self.wanted.arm, with_late)

    def _check(self, missing: int, infinite: int, between: int, outside: int) -> None:
        """Refuse wrong rewards; each argument is a number of rows."""
        scale = self.scale
        if infinite or (missing and not scale.dropna):
            wrong = "isinf(r)" if scale.dropna else "r IS NULL OR NOT isfinite(r)"
            row, shown = self._first(wrong)
            raise FitError(f"reward must be finite, row {row} has {shown}")
        if between and not scale.given:
            raise FitError(NEEDED)
        if outside:
            row, shown = self._first(f"r < {scale.low!r} OR r > {scale.high!r}")
            raise FitError(
                f"reward must lie in [{scale.low:g}, {scale.high:g}], row {row} has {shown}: "
                "give reward_range=(low, high)"
            )
        scale.dropped, scale.binary = missing, between == 0

    def _first(self, wrong: str) -> tuple[int, str]:
        """The first row with a wrong reward, and the reward."""
        row, value = self._rows(
            f"""
            WITH rewards AS (
                SELECT {self.reward} AS r, row_number() OVER () - 1 AS place FROM {self.table})
            SELECT place, r FROM rewards WHERE {wrong} ORDER BY place LIMIT 1
            """
        )[0]
        return int(row), "nan" if value is None else f"{value:g}"

    def _last_early(self) -> LastEarly | None:
        if self.time is None:
            return None
        rows = self._rows(f"SELECT {self.time}, count(*) FROM {self.table} GROUP BY 1")
        if any(row[0] is None for row in rows):
            raise FitError(f"time must not be missing, column {self.wanted.time!r} has empty rows")
        return find_last_early([row[0] for row in rows], np.array([row[1] for row in rows]))


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _name(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'


def _time(name: str, kind: str) -> str:
    """A column of times as something that Python has without further packages."""
    if kind == "TIMESTAMP WITH TIME ZONE":
        return f"epoch_us({_name(name)})"
    return f"CAST({_name(name)} AS INTEGER)" if kind == "BOOLEAN" else _name(name)


def _exact_sum(term: str) -> str:
    """The sum of a term from 0 to 1, in whatever order it is added; what is outside is refused."""
    whole = f"TRY_CAST(round({term} * {1 / _UNIT!r}) AS BIGINT)"
    return f"coalesce(CAST(sum({whole}) AS DOUBLE) * {_UNIT!r}, 0.0)"
