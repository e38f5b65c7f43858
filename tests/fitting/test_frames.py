"""Every kind of frame gives the panel of the same columns as plain arrays."""

from datetime import date
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from globalbandits.errors import FitError
from globalbandits.fitting import fit, histories
from globalbandits.fitting.panel.history_files import panels_from_file
from globalbandits.fitting.panel.rows import HistoryColumns, panel_from_table, panels_from_rows
from tests.fitting.panels import COLUMNS

N_ROWS = 600


def relation(table):
    """The table as a relation of a connection of its own, which the relation keeps alive."""
    connection = duckdb.connect()
    connection.register("history", table)
    return connection.sql("SELECT * FROM history")


KINDS = {
    "pandas": lambda table: table.to_pandas(),
    "pandas nullable": lambda table: table.to_pandas().convert_dtypes(),
    "pandas arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas categories": lambda table: table.to_pandas().astype({"store": "category"}),
    "polars": pl.from_arrow,
    "polars lazy": lambda table: pl.from_arrow(table).lazy(),
    "polars categories": lambda table: pl.from_arrow(table).cast({"store": pl.Categorical}),
    "pyarrow": lambda table: table,
    "duckdb": relation,
}


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(4)
    days = [date(2024, 1, 1 + int(day)) for day in rng.integers(0, 28, N_ROWS)]
    return {
        "store": [f"store {n}" for n in rng.integers(0, 5, N_ROWS)],
        "price": rng.choice([2.0, 3.5, 4.0], N_ROWS),
        "sold": rng.integers(0, 2, N_ROWS),
        "day": days,
        "unused": ["x"] * N_ROWS,
    }


def assert_same(found, expected):
    assert (found.groups, found.arms, found.binary) == (
        expected.groups,
        expected.arms,
        expected.binary,
    )
    for name in ("counts", "sums", "squares"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_gives_the_panels_of_its_columns(columns, kind):
    wanted = HistoryColumns("store", "price", "sold", "day")
    plain = columns | {"day": np.array(columns["day"], "datetime64[D]")}
    expected, expected_late = panels_from_rows(plain, wanted)
    found, late = panels_from_rows(KINDS[kind](pa.table(columns)), wanted)
    assert_same(found, expected)
    assert_same(late, expected_late)


@pytest.mark.parametrize("kind", KINDS)
def test_decimals_become_numbers(columns, kind):
    prices = [Decimal(str(price)).quantize(Decimal("0.01")) for price in columns["price"]]
    frame = KINDS[kind](pa.table(columns | {"price": prices}))
    found, _ = panels_from_rows(frame, HistoryColumns("store", "price", "sold"))
    assert found.arms == (2.0, 3.5, 4.0)


@pytest.mark.parametrize("kind", KINDS)
def test_missing_values_are_named(columns, kind):
    wanted = HistoryColumns("store", "price", "sold")
    sold = [None if row == 7 else int(value) for row, value in enumerate(columns["sold"])]
    frame = KINDS[kind](pa.table(columns | {"sold": sold}))
    with pytest.raises(FitError, match="reward must be finite, row 7 has nan"):
        panels_from_rows(frame, wanted)
    panel, _ = panels_from_rows(frame, wanted._replace(dropna=True))
    assert panel.dropped == 1
    stores = [None if row == 3 else store for row, store in enumerate(columns["store"])]
    frame = KINDS[kind](pa.table(columns | {"store": stores}))
    with pytest.raises(FitError, match="group must not be missing, row 3 has"):
        panels_from_rows(frame, wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_of_cells_is_read_too(kind):
    cells = {"store": ["a", "a"], "price": [2.0, 3.5], "n": [4, 2], "mean": [0.25, 0.5]}
    panel = panel_from_table(KINDS[kind](pa.table(cells)), group="store", arm="price")
    assert panel.sums.tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize("kind", ["pyarrow", "duckdb"])
def test_a_fit_of_a_frame_is_the_fit_of_its_columns(kind):
    history = histories.exponential_demand(groups=20, seed=1)
    expected = fit(history, **COLUMNS, verdict=False)
    found = fit(KINDS[kind](pa.table(dict(history))), **COLUMNS, verdict=False)
    assert found.share == expected.share


@pytest.mark.parametrize("history", [[1, 2], 7, None, object()])
def test_what_is_no_frame_is_refused(history):
    with pytest.raises(FitError, match="history must have columns, as a frame or a dict of arrays"):
        fit(history, **COLUMNS)


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_a_history_is_saved_by_the_ending_of_its_name(tmp_path, ending):
    history = histories.exponential_demand(groups=5, seed=1)
    path = tmp_path / f"history.{ending}"
    history.save(path)
    if ending == "arrow":
        found, _ = panels_from_rows(
            pa.ipc.open_file(path).read_all(), HistoryColumns("store", "price", "sold")
        )
    else:
        found, _ = panels_from_file(path, HistoryColumns("store", "price", "sold"))
    expected, _ = panels_from_rows(history, HistoryColumns(**COLUMNS))
    assert found.arms == expected.arms
    np.testing.assert_allclose(found.sums, expected.sums)
    assert history.to_arrow().column_names == ["group", "arm", "reward"]
