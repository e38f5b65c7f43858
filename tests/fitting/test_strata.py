"""The best arm within strata of a history."""

import numpy as np
import pytest

from globalbandits.errors import FitError
from globalbandits.fitting import fit, histories
from tests.fitting.panels import COLUMNS


@pytest.fixture(scope="module")
def advertised():
    """Low prices are advertised, and advertising sells: the low price looks best."""
    rng = np.random.default_rng(3)
    levels, prices = rng.normal(-2.0, 0.3, 30), np.array([2.0, 3.0, 4.0])
    rows = {"group": [], "arm": [], "reward": [], "feature": []}
    for store in range(30):
        for price in prices:
            chance = 0.8 if price == 2.0 else 0.05
            for feature in rng.random(100) < chance:
                logit = levels[store] - 0.4 * (price - 3.0) + 3.0 * feature
                rows["group"].append(store)
                rows["arm"].append(price)
                rows["reward"].append(float(rng.random() < 1 / (1 + np.exp(-logit))))
                rows["feature"].append(int(feature))
    return rows


def test_advertising_is_not_taken_for_the_price(advertised):
    found = fit(advertised, **COLUMNS, cost=1.0, by=["feature"], verdict=False)
    best = {part.values: part.best for part in found.strata.parts}
    assert set(best) == {(0,), (1,)}
    # Without advertising, 4 earns 0.25 a customer, and 2 earns 0.17.
    assert found.offered[found.value_of_information.fixed] == 2.0
    assert best[0,] > 2.0
    first = found.verdict.sentences[0]
    assert first.startswith("The best arm within strata of feature is not that of all rows, 2.0: ")
    assert f"{best[0,]!r} where feature = 0" in first
    # Each stratum alone has the same best arm.
    without = {
        name: [value for value, seen in zip(column, advertised["feature"], strict=True) if not seen]
        for name, column in advertised.items()
    }
    alone = fit(without, **COLUMNS, cost=1.0, verdict=False)
    assert alone.offered[alone.value_of_information.fixed] == best[0,]


def test_an_irrelevant_column_is_reported_as_such():
    history = histories.exponential_demand(30, 280, seed=2)
    coin = np.random.default_rng(1).integers(0, 2, history["reward"].size)
    found = fit({**history, "coin": coin}, **COLUMNS, by="coin", verdict=False)
    assert "Within strata of coin the best arm is the same." in found.verdict.sentences


def test_arms_that_are_as_good_in_a_stratum_are_no_contradiction():
    """Two arms of almost equal worth take turns in being best, by chance."""
    rng, differ, others = np.random.default_rng(5), 0, 0
    for _ in range(4):
        arms = np.tile(np.repeat([2.0, 3.0, 4.0], 60), 20)
        levels = np.repeat(rng.normal(0.0, 0.3, 20), 180)
        means = {2.0: 0.31, 3.0: 0.15, 4.0: 0.1}  # worth .31, .3 and .3 at a cost of 1
        chance = np.array([means[arm] for arm in arms]) * np.exp(0.3 * levels)
        rows = {
            "group": np.repeat(np.arange(20), 180),
            "arm": arms,
            "reward": (rng.random(arms.size) < chance).astype(float),
            "coin": rng.integers(0, 2, arms.size),
        }
        strata = fit(rows, **COLUMNS, cost=1.0, by="coin", verdict=False).strata
        differ += strata.differ
        others += len({part.best for part in strata.parts}) > 1
    assert others >= 1
    assert differ <= 1  # each alarm has a chance of about .05


def test_a_small_stratum_has_no_best_arm():
    history = histories.exponential_demand(20, 140, seed=2)
    rare = np.zeros(history["reward"].size, int)
    rare[0] = 1
    found = fit({**history, "rare": rare}, **COLUMNS, by=["rare"], verdict=False)
    assert [part.best is None for part in found.strata.parts] == [False, True]


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ([], "by must be names of columns"),
        (["stroe"], "history must have a column 'stroe'"),
        (["reward", "arm", "group"], "by must define at most 20 strata"),
    ],
)
def test_invalid_strata_are_refused(by, message):
    history = histories.exponential_demand(10, 140, seed=2)
    with pytest.raises(FitError, match=message):
        fit(history, **COLUMNS, by=by, verdict=False)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_strata_of_a_file(advertised, tmp_path, ending):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(advertised)
    path = tmp_path / f"rows.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    found = fit(path, **COLUMNS, cost=1.0, by="feature", verdict=False)
    same = fit(advertised, **COLUMNS, cost=1.0, by="feature", verdict=False)
    assert found.strata == same.strata
    assert found.verdict == same.verdict
    with pytest.raises(FitError, match="history must have a column 'x'"):
        fit(path, **COLUMNS, by=["x"])
