"""History in a file of any size: memory for the groups and arms only.

CSV files are read in blocks by pandas, or by DuckDB if it is installed, which is several times
faster. Parquet files are read by DuckDB.
"""

import os
import zlib
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from globalbandits._types import AnyArray, BoolArray
from globalbandits.errors import FitError
from globalbandits.fitting.aggregation import Wanted, as_range, last_early
from globalbandits.fitting.columns import as_numbers, as_plain, check_columns
from globalbandits.fitting.growing import GrowingTotals
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.rewards import RewardScale
from globalbandits.fitting.texts import MISSING, as_values

CSV = (".csv", ".csv.gz", ".tsv", ".txt")
PARQUET = (".parquet", ".pq")
CHUNK = 500_000  # rows of a CSV file at a time

Progress = Callable[[int], None]


def unreadable(path: str | os.PathLike[str], error: Exception) -> FitError:
    """The error for a file that is broken, or no such file at all."""
    reason = str(error).strip().partition("\n")[0]
    return FitError(f"history {Path(path).name!r} cannot be read: {reason}")


@contextmanager
def readable(path: str | os.PathLike[str]) -> Generator[None, None, None]:
    """Whatever pandas raises about a file says which file it is."""
    try:
        yield
    except FitError:
        raise
    except (ValueError, OSError, EOFError, zlib.error, BadZipFile) as error:
        raise unreadable(path, error) from None


def panels_from_file(
    path: str | os.PathLike[str], wanted: Wanted, progress: Progress | None = None
) -> tuple[Panel, Panel | None]:
    """The panel of a file's rows, and that of the last third of the time if asked for.

    Args:
        path: A CSV or Parquet file.
        wanted: Columns and range.
        progress: Called with the number of rows read so far, where the file is read in blocks.
    """
    name = Path(path).name.lower()
    if not Path(path).is_file():
        raise FitError(f"history must be a file that exists, got {os.fspath(path)!r}")
    if not name.endswith((*CSV, *PARQUET)):
        endings = ", ".join((*CSV, *PARQUET))
        raise FitError(f"history must be a file that ends with {endings}, got {name!r}")
    if find_spec("duckdb") is not None:
        from globalbandits.fitting.duck import panels_by_duckdb

        return panels_by_duckdb(path, wanted)
    if name.endswith(PARQUET):
        raise FitError(f"reading {name!r} needs DuckDB: pip install duckdb")
    return panels_by_pandas(path, wanted, progress)


def panels_by_pandas(
    path: str | os.PathLike[str], wanted: Wanted, progress: Progress | None = None
) -> tuple[Panel, Panel | None]:
    """Read a CSV file in blocks; twice if the time is asked for."""
    last = _last_early(path, wanted)
    scale = RewardScale(as_range(wanted.reward_range), wanted.dropna)
    totals = GrowingTotals()
    n_rows = 0
    with closing(_chunks(path, wanted, wanted.columns)) as chunks:
        for chunk in chunks:
            rewards = as_numbers("reward", chunk[wanted.reward])
            unit = scale.keep(rewards, n_rows)
            late = None if last is None else last.after(chunk[wanted.time])
            totals.add(chunk[wanted.group], chunk[wanted.arm], unit, late, n_rows)
            n_rows += rewards.size
            if progress is not None:
                progress(n_rows)
    if n_rows == 0:
        raise FitError("history must have rows, has none")
    return totals.panels(scale, wanted.arm, last is not None)


def _chunks(
    path: str | os.PathLike[str], wanted: Wanted, columns: list[str]
) -> Generator[dict[str | None, AnyArray], None, None]:
    """Blocks of a file's columns; all but the rewards as texts."""
    import pandas as pd

    separator = "\t" if Path(path).name.lower().endswith(".tsv") else ","
    missing = {name: list(MISSING) if name == wanted.reward else [""] for name in columns}
    with readable(path):
        header = [str(name) for name in pd.read_csv(path, nrows=0, sep=separator).columns]
        check_columns(columns, header)
        with pd.read_csv(
            path,
            usecols=columns,
            dtype={name: str for name in columns if name != wanted.reward},
            keep_default_na=False,
            na_values=missing,
            chunksize=CHUNK,
            sep=separator,
        ) as blocks:
            for block in blocks:
                yield {name: np.asarray(block[name]) for name in columns}


class LastEarly(NamedTuple):
    """The last time of the first two thirds."""

    time: Any
    as_is: bool  # else times are texts of numbers

    def after(self, times: AnyArray) -> BoolArray:
        """Which times are later."""
        values = times if self.as_is else times.astype(np.float64)
        return np.asarray(values > self.time, np.bool_)


def _last_early(path: str | os.PathLike[str], wanted: Wanted) -> LastEarly | None:
    """Read the times alone; memory for the distinct ones."""
    if wanted.time is None:
        return None
    import pandas as pd

    counts: dict[str, int] = {}
    with closing(_chunks(path, wanted, [wanted.time])) as chunks:
        for chunk in chunks:
            codes, texts = pd.factorize(chunk[wanted.time])
            if codes.size and codes.min() < 0:
                raise FitError(f"time must not be missing, column {wanted.time!r} has empty rows")
            for text, count in zip(texts, np.bincount(codes), strict=True):
                counts[text] = counts.get(text, 0) + int(count)
    return find_last_early(list(counts), np.array(list(counts.values())))


def find_last_early(times: list[Any], counts: AnyArray) -> LastEarly:
    """The last time of the first two thirds, from distinct times and how many rows each has."""
    ordered, places = as_values(times)
    values = np.array(ordered)
    last = last_early(values, np.bincount(places, counts, len(ordered)))
    return LastEarly(as_plain(last), values.dtype.kind in "OU")
