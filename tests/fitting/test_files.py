"""Files: the same panel as from memory, whichever way they are read."""

import gzip
import json
import os
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from globalbandits.errors import FitError, MissingExtraError
from globalbandits.fitting import fit, histories
from globalbandits.fitting.panel import history_files
from globalbandits.fitting.panel.history_files import panels_by_duckdb, panels_from_file, read_csv
from globalbandits.fitting.panel.panel_checks import MAX_ARMS
from globalbandits.fitting.panel.rows import HistoryColumns, as_values, panels_from_rows

duckdb = pytest.importorskip("duckdb")

WANTED = HistoryColumns("store", "price", "sold", "day")


def panels_by_pandas(path, columns):
    return panels_from_rows(read_csv(path, columns), columns)


READERS = {"pandas": panels_by_pandas, "duckdb": panels_by_duckdb}


@pytest.fixture(scope="module")
def frame():
    history = histories.exponential_demand(40, 2_500, seed=1, uneven=True)  # 100,000 rows
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "store": np.array([f"store {g}" for g in range(40)])[history["group"]],
            "price": history["arm"] + 0.5,
            "sold": history["reward"].astype(int),
            "day": rng.integers(0, 90, history["group"].size),
        }
    )


@pytest.fixture(scope="module")
def files(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("history")
    paths = {end: folder / f"history.{end}" for end in ("csv", "tsv", "csv.gz", "parquet")}
    frame.to_csv(paths["csv"], index=False)
    frame.to_csv(paths["csv.gz"], index=False)
    frame.to_csv(paths["tsv"], index=False, sep="\t")
    duckdb.sql(f"COPY (SELECT * FROM read_csv('{paths['csv']}')) TO '{paths['parquet']}'")
    return paths


def assert_same_panels(found, expected):
    for first, second in zip(found, expected, strict=True):
        assert (first.groups, first.arms, first.binary) == (
            second.groups,
            second.arms,
            second.binary,
        )
        for name in ("counts", "sums", "squares"):
            np.testing.assert_allclose(getattr(first, name), getattr(second, name), atol=1e-9)


@pytest.mark.parametrize(
    ("reader", "ending"),
    [("pandas", "csv"), ("pandas", "tsv"), ("pandas", "csv.gz"), ("duckdb", "csv"),
     ("duckdb", "tsv"), ("duckdb", "csv.gz"), ("duckdb", "parquet")],
)  # fmt: skip
def test_a_file_gives_the_panel_of_its_rows(frame, files, reader, ending):
    assert_same_panels(READERS[reader](files[ending], WANTED), panels_from_rows(frame, WANTED))


def test_the_path_chooses_the_reader(files, monkeypatch):
    with_duckdb = panels_from_file(files["csv"], WANTED)
    monkeypatch.setattr(history_files, "find_spec", lambda name: None)
    assert_same_panels(panels_from_file(files["csv"], WANTED), with_duckdb)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    needed = r'duckdb must be installed: pip install "globalbandits\[files\]"'
    with pytest.raises(MissingExtraError, match=needed):
        panels_from_file(files["parquet"], WANTED)


def test_progress_is_called_with_the_rows_of_a_file(files):
    seen = []
    columns = {"group": "store", "arm": "price", "reward": "sold"}
    fit(files["parquet"], **columns, verdict=False, progress=seen.append)
    assert seen == [100_000]


def test_missing_and_unsupported_files_are_refused(tmp_path):
    with pytest.raises(FitError, match="history must be a file that exists, got"):
        panels_from_file(tmp_path / "none.csv", WANTED)
    other = tmp_path / "history.xlsx"
    other.write_text("store")
    with pytest.raises(FitError, match=r"history must be a file that ends with \.csv, "):
        panels_from_file(other, WANTED)


def written(tmp_path, lines):
    path = tmp_path / "some.csv"
    path.write_text("store,price,sold,day\n" + "\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("lines", "more", "message"),
    [
        (["a,2,1,1", "a,2,,2"], {}, "reward must be finite, row 1 has nan"),
        (["a,2,1,1", "a,2,inf,2"], {"dropna": True}, "reward must be finite, row 1 has inf"),
        (["a,2,1,1", "a,2,0.5,2"], {}, "reward_range is needed for rewards that are not 0 or 1"),
        (["a,2,1,1", "a,2,3.5,2"], {"reward_range": (0, 1)},
         "reward must lie in [0, 1], row 1 has 3.5: give reward_range=(low, high)"),
        (["a,2,1,1", "a,2,much,2"], {}, "reward must be numbers, got a column with other values"),
        (["a,2,1,1", ",2,1,2"], {}, "group must not be missing, row 1 has nan"),
        (["a,2,1,1", "a,,1,2"], {}, "arm must not be missing, row 1 has nan"),
        (["a,2,1,1", "a,2,1,"], {}, "time must not be missing, row 1 has nan"),
        (["a,2,1,1", "a,2,1,1"], {}, "time must have at least two values, has only 1"),
        (["a,2,1,02.01.2024", "a,2,1,13.12.2023"], {},
         "time must be numbers, dates, or texts that sort as 2024-03-09 does, got texts such as"),
        ([], {"time": None}, "history must have rows, has none"),
        (["a,2,1,1", "a,2,1,2"], {"group": "stroe"},
         "history must have a column 'stroe', has: store, price, sold, day"),
    ],
)  # fmt: skip
def test_wrong_files_are_refused_alike(reader, lines, more, message, tmp_path):
    path = written(tmp_path, lines)
    if not lines:
        path.write_text("store,price,sold,day\n")
    with pytest.raises(FitError) as caught:
        READERS[reader](path, WANTED._replace(**more))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("reader", READERS)
def test_texts_are_read_alike(reader, tmp_path):
    """Codes with zeros stay texts, equal prices are one arm, NA can be a store's name."""
    path = written(tmp_path, ["07,2,True,9", "07,2.0,true,10", "NA,2.50,False,11", "12,2.5,NA,12"])
    panel, late = READERS[reader](path, WANTED._replace(dropna=True))
    assert (panel.groups, panel.arms, panel.dropped) == (("07", "12", "NA"), (2.0, 2.5), 1)
    assert panel.counts.tolist() == [[2, 0], [0, 0], [0, 1]]
    assert panel.sums.tolist() == [[2, 0], [0, 0], [0, 0]]
    # Days are numbers: 9 comes before 10, and two thirds of four rows are two.
    assert late.counts.tolist() == [[0, 0], [0, 0], [0, 1]]


def test_names_of_columns_and_files_may_hold_anything(tmp_path):
    path = tmp_path / 'it\'s "odd".csv'
    frame = pd.DataFrame({'the "store"': [1, 2], "pri'ce": [1, 1], "sold; DROP": [0, 1]})
    frame.to_csv(path, index=False)
    wanted = HistoryColumns('the "store"', "pri'ce", "sold; DROP")
    for read in READERS.values():
        assert read(path, wanted)[0].sums.tolist() == [[0], [1]]


@pytest.mark.parametrize("reader", READERS)
def test_arms_that_hardly_repeat_are_refused(reader, tmp_path):
    path = written(tmp_path, [f"{n % 9},{n / 7},1,{n}" for n in range(300)])
    with pytest.raises(FitError, match="arms must be few enough to repeat, got 300, of which 300"):
        READERS[reader](path, WANTED)


@pytest.mark.parametrize("reader", READERS)
def test_too_many_arms_are_refused_while_reading(reader, tmp_path):
    path = written(tmp_path, [f"a,{n},1,{n}" for n in range(MAX_ARMS + 1)])
    with pytest.raises(FitError, match="arms must be few enough to repeat, got more than 100000"):
        READERS[reader](path, WANTED._replace(time=None))


PACKED = gzip.compress(
    b"store,price,sold\n" + b"".join(b"a,%d,%d\n" % (n * n % 7, n % 2) for n in range(99_999))
)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("noise.csv", bytes(range(255, -1, -1)) * 9),
        ("latin.csv", "store,price,sold\ncafé,2,1\n".encode("latin-1")),
        ("torn.csv.gz", PACKED[:-40]),
        ("bent.csv.gz", PACKED[:200] + bytes(200) + PACKED[400:]),
    ],
)
def test_broken_files_are_named(reader, name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FitError, match=f"^history '{name}' cannot be read: ."):
        READERS[reader](tmp_path / name, WANTED._replace(time=None))


def test_a_broken_parquet_file_is_named(tmp_path):
    path = tmp_path / "noise.parquet"
    path.write_bytes(bytes(99))
    with pytest.raises(FitError, match=r"^history 'noise\.parquet' cannot be read: ."):
        panels_by_duckdb(path, WANTED)


def test_sums_do_not_depend_on_which_thread_adds_first(tmp_path):
    """They are exact for rewards of 52 binary digits; a sum of floats is rounded at each step."""
    digits = np.random.default_rng(5).integers(0, 2**52, 40_000)
    frame = pd.DataFrame({"store": 1, "price": 2, "sold": digits / 2**52})
    path = tmp_path / "history.parquet"
    duckdb.sql(f"COPY (SELECT * FROM frame) TO '{path}' (ROW_GROUP_SIZE 2048)")
    panel, _ = panels_by_duckdb(path, HistoryColumns("store", "price", "sold", None, (0.0, 1.0)))
    assert panel.sums.tolist() == [[sum(digits.tolist()) / 2**52]]
    assert panel.squares.item() == pytest.approx(float((frame["sold"] ** 2).sum()), rel=1e-12)


@pytest.mark.parametrize(
    "time",
    [
        "TIMESTAMP '2024-01-01' + to_hours(i)",
        "CAST(TIMESTAMP '2024-01-01' + to_hours(i) AS TIMESTAMPTZ)",
        "DATE '2024-01-01' + i::INT",
        "i::DECIMAL(9, 1)",
        "i / 2",
        "i >= 60",
    ],
)
def test_times_of_any_kind_can_be_compared(time, tmp_path):
    path = tmp_path / "history.parquet"
    query = f"SELECT 1 AS store, 2 AS price, i % 2 AS sold, {time} AS day FROM range(90) AS t(i)"
    duckdb.sql(f"COPY ({query}) TO '{path}'")
    panel, late = panels_by_duckdb(path, WANTED)
    assert (panel.n_rewards, late.n_rewards, late.sums.item()) == (90, 30, 15)


def test_decimals_of_a_database_are_numbers(tmp_path):
    path = tmp_path / "history.parquet"
    query = (
        "SELECT 7 AS store, CAST(2.5 AS DECIMAL(6, 2)) AS price, CAST(1 AS DECIMAL(3, 1)) AS sold"
    )
    duckdb.sql(f"COPY ({query}) TO '{path}'")
    panel, _ = panels_by_duckdb(path, HistoryColumns("store", "price", "sold"))
    frame = {"store": [7], "price": [Decimal("2.50")], "sold": [Decimal(1)]}
    assert_same_panels(
        [panel], [panels_from_rows(frame, HistoryColumns("store", "price", "sold"))[0]]
    )
    assert panel.arms == (2.5,)
    assert type(panel.arms[0]) is float


def test_values_of_typed_files_stay_what_they_are():
    assert as_values([3, 1, 2])[0] == [1, 2, 3]
    assert as_values(["b", "a"])[0] == ["a", "b"]
    assert as_values(["1.5", "nan"])[0] == ["1.5", "nan"]
    assert as_values([1, "a"])[0] == [1, "a"]


SOAK = """
import json, sys, time
import duckdb, numpy, pandas
from globalbandits.fitting.panel.rows import HistoryColumns
from globalbandits.fitting.panel.history_files import panels_by_duckdb

def peak():  # of this process alone; getrusage counts that of the one that started it too
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))

path = sys.argv[1]
before, started = peak(), time.process_time()
panel, _ = panels_by_duckdb(path, HistoryColumns("store", "price", "sold"))
seconds = time.process_time() - started
print(json.dumps([panel.n_rewards, float(panel.sums.sum()), seconds, (peak() - before) / 1024]))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no /proc here")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_memory_does_not_grow_with_the_file(ending, tmp_path, record_property):
    """10^5 rows here; 10^7 with GLOBALBANDITS_SOAK=1 (a CSV file of 190 MB).

    Held in memory, 10^7 rows of a store's name and two numbers take more than 500 MB.
    """
    soak = os.environ.get("GLOBALBANDITS_SOAK") == "1"
    n_rows = 10_000_000 if soak else 100_000
    path = tmp_path / f"large.{ending}"
    query = f"""SELECT 'store ' || (i * 7919 % 500) AS store, 2 + i * 104729 % 7 AS price,
        (hash(i) % 3 = 0)::INT AS sold FROM range({n_rows}) AS rows(i)"""
    duckdb.sql(f"COPY ({query}) TO '{path}'")
    done = subprocess.run([sys.executable, "-c", SOAK, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    n_rewards, total, seconds, megabytes = json.loads(done.stdout)
    record_property("seconds", seconds)
    record_property("megabytes", megabytes)
    print(f"{ending}: {n_rows} rows in {seconds:.1f} CPU s, {megabytes:.0f} MB more")
    assert n_rewards == n_rows
    assert total == pytest.approx(n_rows / 3, rel=0.02)
    assert megabytes < 400
