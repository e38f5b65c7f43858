"""From tables to statistics."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from globalbandits.errors import FitError
from globalbandits.fitting import histories
from globalbandits.fitting.panel.rows import (
    HistoryColumns,
    late_rows,
    panel_from_table,
    panels_from_rows,
)
from tests.fitting.panels import COLUMNS, panel_of
from tests.oracles import fitting as oracle

SHOPS = {"store": ["b", "a", "a", "b"], "price": [3, 2, 2, 2], "sold": [1, 0, 1, 1]}
WANTED = HistoryColumns("store", "price", "sold")


def random_rows(rng, n=300):
    return {
        "group": rng.integers(0, 9, n),
        "arm": rng.choice([2.5, 4.0, 8.0], n),
        "reward": rng.uniform(-3, 5, n),
    }


def test_the_statistics_are_those_of_a_plain_loop():
    rows = random_rows(np.random.default_rng(3))
    panel = panel_of(rows, (-3.0, 5.0))
    expected = oracle.panel(zip(*rows.values(), strict=True), -3.0, 5.0)
    assert not panel.binary
    for g, group in enumerate(panel.groups):
        for k, arm in enumerate(panel.arms):
            found = panel.counts[g, k], panel.sums[g, k], panel.squares[g, k]
            assert found == pytest.approx(expected.get((group, arm), (0, 0, 0)), abs=1e-12)


@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pl.DataFrame], ids=["dict", "pd", "pl"])
def test_any_frame_with_columns_will_do(frame):
    panel, late = panels_from_rows(frame(SHOPS), WANTED)
    assert (panel.groups, panel.arms, panel.binary) == (("a", "b"), (2, 3), True)
    assert panel.counts.tolist() == [[2, 0], [1, 1]]
    assert panel.sums.tolist() == [[1, 0], [1, 1]]
    assert late is None


def test_a_table_of_means_is_the_same_panel():
    rows = pd.DataFrame(random_rows(np.random.default_rng(5)))
    table = rows.groupby(["group", "arm"])["reward"].agg(n="count", mean="mean", variance="var")
    first = panel_of(rows, (-3.0, 5.0))
    second = panel_from_table(
        table.reset_index(), group="group", arm="arm", reward_range=(-3.0, 5.0)
    )
    assert (first.groups, first.arms, first.binary) == (second.groups, second.arms, False)
    for name in ("counts", "sums", "squares", "within"):
        np.testing.assert_allclose(getattr(first, name), getattr(second, name), atol=1e-12)


def test_a_table_of_bernoulli_rewards_needs_no_variance():
    rows = pd.DataFrame(histories.exponential_demand(8, 60, seed=1))
    table = rows.groupby(["group", "arm"])["reward"].agg(n="count", mean="mean", variance="var")
    first = panel_of(rows)
    for columns in (["n", "mean"], ["n", "mean", "variance"]):
        second = panel_from_table(table[columns].reset_index(), group="group", arm="arm")
        assert second.binary
        np.testing.assert_allclose(first.sums, second.sums, atol=1e-12)
        np.testing.assert_allclose(first.squares, second.squares, atol=1e-12)


def test_rewards_at_the_ends_of_any_range_are_binary():
    rows = {"group": [1, 1, 2], "arm": [1, 2, 1], "reward": [-2.0, 7.0, 7.0]}
    panel = panel_of(rows, (-2.0, 7.0))
    assert panel.binary
    assert panel.sums.tolist() == [[0, 1], [1, 0]]


def test_missing_rewards_can_be_left_out_and_are_counted():
    rows = {"group": [1, 1, 2], "arm": [1, 2, 1], "reward": [1.0, np.nan, 0.0]}
    panel, _ = panels_from_rows(rows, HistoryColumns(**COLUMNS, dropna=True))
    assert (panel.dropped, panel.n_rewards) == (1, 2)


def test_the_last_third_of_the_time_is_a_panel_of_its_own():
    rows = SHOPS | {"day": ["2024-01-03", "2024-01-01", "2024-01-02", "2024-01-01"]}
    whole, late = panels_from_rows(rows, HistoryColumns("store", "price", "sold", "day"))
    # Half of the rows are of the first day, three quarters of the first two.
    assert late.counts.tolist() == [[1, 0], [0, 1]]
    assert whole.without(late).counts.tolist() == [[1, 0], [1, 0]]


def test_ties_in_time_stay_together():
    assert late_rows(np.array([1, 2, 2, 2, 2, 2])).tolist() == [False] + [True] * 5
    assert late_rows(np.array([1, 1, 1, 1, 1, 2])).tolist() == [False] * 5 + [True]


def test_a_million_rows_become_a_panel():
    history = histories.exponential_demand(500, 2_000, seed=1)
    rows = {**history, "group": np.array([f"store {g}" for g in range(500)])[history["group"]]}
    panel = panel_of(rows)
    assert panel.n_rewards == 1_000_000
    assert panel.counts.shape == (500, 7)


def replaced(**columns):
    return SHOPS | columns


@pytest.mark.parametrize(
    ("rows", "more", "message"),
    [
        ({"stroe": SHOPS["store"], "price": SHOPS["price"], "sold": SHOPS["sold"]}, {},
         "history must have a column 'store', has: stroe, price, sold"),
        (replaced(sold=[1, np.nan, 0, 1]), {}, "reward must be finite, row 1 has nan"),
        (replaced(sold=[1, 1, 0, np.inf]), {"dropna": True},
         "reward must be finite, row 3 has inf"),
        (replaced(sold=[1, 0.5, 3.5, 1]), {"reward_range": (0, 1)},
         "reward must lie in [0, 1], row 2 has 3.5: give reward_range=(low, high)"),
        (replaced(sold=[1, 0.5, 0, 1]), {},
         "reward_range is needed for rewards that are not 0 or 1, and are no counts: "
         "the lowest and highest a reward can ever be; (0, None) if there is no highest"),
        (SHOPS, {"reward_range": (1, 0)}, "reward_range must have low < high, got (1, 0)"),
        (replaced(sold=["1", "0", "0", "x"]), {}, "reward must be numbers, got a column of <U1"),
        (replaced(sold=np.array([1, 0, 0, "x"], object)), {},
         "reward must be numbers, got a column with other values"),
        (replaced(store=["a", None, "b", "b"]), {}, "group must not be missing, row 1 has None"),
        (replaced(price=[2, 3, np.nan, 2]), {},
         "arm must not be missing, row 2 has nan"),
        (replaced(sold=[1, 0]), {}, "column 'sold' must have 4 rows as 'store' has, got 2"),
        (replaced(sold=np.zeros((4, 2))), {},
         "column 'sold' must be one-dimensional, got the shape (4, 2)"),
        ({"store": [], "price": [], "sold": []}, {}, "history must have rows, has none"),
        (replaced(day=[1, 1, 1, 1]), {"time": "day"},
         "time must have at least two values, has only 1"),
        (replaced(day=["2/1/2024", "10/1/2024", "2/1/2024", "3/1/2024"]), {"time": "day"},
         "time must be numbers, dates, or texts that sort as 2024-03-09 does, "
         "got texts such as '10/1/2024'"),
        (replaced(day=[1, np.nan, 1, 1]), {"time": "day"},
         "time must not be missing, row 1 has nan"),
    ],
)  # fmt: skip
def test_wrong_rows_are_refused_with_the_place(rows, more, message):
    with pytest.raises(FitError) as caught:
        panels_from_rows(rows, WANTED._replace(**more))
    assert str(caught.value) == message


def test_something_without_columns_is_refused():
    with pytest.raises(FitError, match="history must have columns, as a frame or a dict"):
        panels_from_rows([1, 2, 3], WANTED)


def test_arms_that_hardly_repeat_are_refused():
    rng = np.random.default_rng(1)
    rows = {"store": rng.integers(0, 20, 500), "price": rng.random(500), "sold": np.ones(500)}
    with pytest.raises(FitError, match="arms must be few enough to repeat, got 500, of which 500"):
        panels_from_rows(rows, WANTED)


def test_many_arms_that_repeat_are_accepted():
    rng = np.random.default_rng(1)
    rows = {
        "store": rng.integers(0, 40, 9000),
        "price": rng.integers(0, 60, 9000),
        "sold": np.ones(9000),
    }
    assert panels_from_rows(rows, WANTED)[0].n_arms == 60


TABLE = {"store": ["a", "a", "b"], "price": [2, 3, 2], "n": [4, 2, 1], "mean": [0.25, 0.5, 1.0]}


@pytest.mark.parametrize(
    ("changes", "reward_range", "message"),
    [
        ({"n": [4, 2.5, 1]}, None, "n must be a whole number, row 1 has 2.5"),
        ({"n": [4, -2, 1]}, None, "n must be a whole number, row 1 has -2"),
        ({"mean": [0.25, np.nan, 1]}, None, "mean must be finite, row 1 has nan"),
        ({"mean": [0.25, 2.0, 1]}, None,
         "reward_range is needed for rewards that are not 0 or 1, and are no counts: "
         "the lowest and highest a reward can ever be; (0, None) if there is no highest"),
        ({"mean": [0.25, 2.0, 1]}, (0, 1), "mean must lie in [0, 1], row 1 has 2"),
        ({"mean": [0.3, 0.5, 1]}, None,
         "variance is needed for rewards that are not 0 or 1: a third column"),
        ({"variance": [0.1, -1.0, 0]}, (0, 1), "variance must be at least 0, row 1 has -1"),
        ({"variance": [0.1, 0.1, 0]}, None,
         "reward_range is needed for rewards that are not 0 or 1, and are no counts: "
         "the lowest and highest a reward can ever be; (0, None) if there is no highest"),
        ({"store": ["a", "a", "a"]}, None,
         "a table must have one row per group and arm, has several of group 'a' and arm 2"),
    ],
)  # fmt: skip
def test_wrong_tables_are_refused_with_the_place(changes, reward_range, message):
    with pytest.raises(FitError) as caught:
        panel_from_table(TABLE | changes, group="store", arm="price", reward_range=reward_range)
    assert str(caught.value) == message
