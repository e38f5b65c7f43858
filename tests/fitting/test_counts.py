"""Counts and rates: units sold in a week without a cap, and sales among a number of visitors."""

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest

import globalbandits as gb
from globalbandits.cli import main
from globalbandits.errors import FitError
from globalbandits.fitting.assessment import forecast
from globalbandits.fitting.assessment.forecast import ForecastSettings, candidate_policies
from globalbandits.fitting.panel.panel_checks import RewardFacts, range_of_unbounded, row_dispersion

STORES, WEEKS, PRICES = 24, 40, np.array([2.0, 3.0, 4.0])
COLUMNS = {"group": "store", "arm": "price", "cost": 1.0}


@pytest.fixture(scope="module", autouse=True)
def _quick():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forecast, "candidate_policies", few)
        yield


def few(*which):
    names = ("Elastic(history)", "IndependentGittins")
    return {name: policy for name, policy in candidate_policies(*which).items() if name in names}


@pytest.fixture(scope="module")
def weeks():
    """Weekly sales: Poisson units, and sales among visitors; some weeks are busier than others."""
    rng = np.random.default_rng(2)
    store = np.repeat(np.arange(STORES), WEEKS)
    price = rng.choice(PRICES, store.size)
    level = rng.normal(0.0, 0.4, STORES)[store]
    visitors = rng.poisson(300, store.size)
    chance = 1 / (1 + np.exp(3.0 - level + 0.6 * (price - 3.0)))
    busy = np.clip(1.0 + 0.25 * rng.standard_normal(store.size), 0.1, 2.0)
    return pd.DataFrame(
        {
            "store": store,
            "price": price,
            "units": rng.poisson(80.0 * np.exp(level - 0.5 * (price - 3.0))),
            "visitors": visitors,
            "sold": rng.binomial(visitors, chance),
            "sold_busy": rng.binomial(visitors, np.minimum(busy * chance, 1.0)),
            "week": np.tile(np.arange(WEEKS), STORES),
        }
    )


@pytest.fixture(scope="module")
def rates(weeks):
    return gb.fit(weeks, **COLUMNS, reward="sold", trials="visitors", horizon=10, runs=20)


def test_weekly_sales_need_no_cap(weeks):
    found = gb.fit(weeks, **COLUMNS, reward="units", verdict=False)
    largest = weeks["units"].max()
    assert found.panel.reward_range[0] == 0.0
    assert 4 * largest <= found.panel.reward_range[1] < 4.5 * largest
    assert "rewards have no highest value" in " ".join(found.notes)
    assert found.model.reward_range == found.panel.reward_range
    # The curves of the average store are the prices' means, weighted by stores.
    by_store = weeks.groupby(["store", "price"])["units"].mean().groupby("price").mean()
    assert found.arms["mean"].to_numpy() == pytest.approx(by_store.to_numpy(), rel=0.03)
    # Poisson units: the variance of a week is its mean, over and above the store's own level.
    assert found.noise == pytest.approx(np.sqrt(by_store.to_numpy()), rel=0.35)
    # Another cap gives the same answer.
    wide = gb.fit(weeks, **COLUMNS, reward="units", reward_range=(0, 10 * largest), verdict=False)
    assert wide.arms["mean"].to_numpy() == pytest.approx(found.arms["mean"].to_numpy(), rel=0.02)
    assert wide.share == pytest.approx(found.share, abs=0.05)


def test_amounts_without_a_highest_value(weeks):
    rows = weeks.assign(amount=weeks["units"] + 0.5)
    with pytest.raises(FitError, match=r"reward_range is needed .* \(0, None\) if there is no"):
        gb.fit(rows, **COLUMNS, reward="amount", verdict=False)
    found = gb.fit(rows, **COLUMNS, reward="amount", reward_range=(0, None), verdict=False)
    assert found.panel.unbounded
    with pytest.raises(FitError, match="reward must be at least 50 and sometimes above, got"):
        gb.fit(rows, **COLUMNS, reward="amount", reward_range=(50, None), verdict=False)


def test_the_end_of_an_unbounded_range():
    assert range_of_unbounded((10.0, None), RewardFacts(12.0, 35.0, True)) == (10.0, 110.0)
    assert range_of_unbounded(None, RewardFacts(0.0, 0.03, False)) == (0.0, 0.12)


def test_trials_are_rewards_of_0_and_1(weeks):
    """A row with trials gives the same fit as one row per visitor."""
    found = gb.fit(weeks, **COLUMNS, reward="sold", trials="visitors", verdict=False)
    ones = weeks.loc[weeks.index.repeat(weeks["sold"])].assign(bought=1.0)
    zeros = weeks.loc[weeks.index.repeat(weeks["visitors"] - weeks["sold"])].assign(bought=0.0)
    single = gb.fit(pd.concat([ones, zeros]), **COLUMNS, reward="bought", verdict=False)
    assert found.panel.n_rewards == single.panel.n_rewards == weeks["visitors"].sum()
    # Rows vary as single visitors would: the dispersion is 1, up to 3 standard errors.
    assert 1.0 <= found.panel.dispersion < 1.0 + 3 * np.sqrt(2 / (STORES * (WEEKS - 3)))
    assert found.arms["mean"].to_numpy() == pytest.approx(single.arms["mean"].to_numpy(), rel=0.01)
    assert found.share == pytest.approx(single.share, abs=0.03)
    counted = found.panel.counts * found.panel.dispersion
    np.testing.assert_allclose(counted, single.panel.counts, rtol=1e-12)


def test_rows_that_vary_more_than_visitors_count_less(weeks):
    found = gb.fit(weeks, **COLUMNS, reward="sold_busy", trials="visitors", verdict=False)
    cells = weeks.groupby(["store", "price"])
    rate = (cells["sold_busy"].transform("sum") / cells["visitors"].transform("sum")).to_numpy()
    expected = weeks["visitors"] * rate
    by_hand = float(((weeks["sold_busy"] - expected) ** 2 / weeks["visitors"]).sum())
    degrees = weeks.groupby(["store", "price"])["visitors"].transform("size")
    free = float((rate * (1 - rate) * (1 - 1 / degrees)).sum())
    assert found.panel.dispersion == pytest.approx(by_hand / free)
    assert found.panel.dispersion > 1.5
    assert "times as much as single trials would" in " ".join(found.notes)
    assert found.panel.n_rewards == weeks["visitors"].sum()
    assert found.arms["rewards"].sum() == pytest.approx(weeks["visitors"].sum(), abs=3 * STORES)
    plain = gb.fit(weeks, **COLUMNS, reward="sold", trials="visitors", verdict=False)
    assert found.homogeneity.statistic < plain.homogeneity.statistic


def test_dispersion_of_chance_alone():
    n = np.full(50, 4.0)
    assert row_dispersion(n, 100 * n, 100 * n, 100 * n) == 1.0  # every visitor bought
    assert row_dispersion(np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2)) == 1.0


def test_the_horizon_is_in_rows(rates, weeks):
    per_row = weeks["visitors"].mean()
    assert rates.forecast.horizon == rates.horizon == round(10 * per_row)
    text = " ".join(str(rates).split())
    assert f"In 10 rows ({round(10 * per_row)} trials) of a new group" in text
    assert f"{weeks['visitors'].sum()} rewards (trials, {per_row:.3g} a row)" in text
    settings = ForecastSettings.checked(None, 2, 0, False)
    panel = rates.panel
    # Without a horizon a new store is simulated as long as a store of the history was.
    assert settings.in_rounds(panel).horizon == min(round(per_row * WEEKS), 10_000)
    counts = dataclasses.replace(panel, counts=np.full((5, 3), 7.0), groups=tuple(range(5)))
    counts = dataclasses.replace(counts, unbounded=True, rounds_per_row=1.0, dispersion=1.0)
    assert settings.in_rounds(counts).horizon == 21
    assert ForecastSettings.checked(52, 2, 0, False).in_rounds(counts).known_horizon == 52
    with pytest.raises(FitError, match="horizon must be at most 10000000 trials, got"):
        ForecastSettings.checked(10**6, 2, 0, False).in_rounds(panel)


def test_a_new_store_with_some_weeks(rates, weeks):
    own = weeks[weeks["store"] == 3].head(6)
    found = rates.posterior(own)
    once = rates.posterior(pd.concat([own, own]))
    assert 0.0 < found.theta < 1.0
    assert once.interval[1] - once.interval[0] < found.interval[1] - found.interval[0]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_give_the_same(weeks, tmp_path, ending):
    path = tmp_path / f"weeks.{ending}"
    weeks.to_csv(path, index=False) if ending == "csv" else weeks.to_parquet(path)
    for more in ({"reward": "sold_busy", "trials": "visitors"}, {"reward": "units"}):
        found = gb.fit(path, **COLUMNS, **more, time="week", verdict=False)
        same = gb.fit(weeks, **COLUMNS, **more, time="week", verdict=False)
        assert found.panel.reward_range == same.panel.reward_range
        assert found.panel.dispersion == pytest.approx(same.panel.dispersion, rel=1e-6)
        assert found.panel.rounds_per_row == pytest.approx(same.panel.rounds_per_row)
        assert found.share == pytest.approx(same.share, abs=1e-6)
        assert found.change.mean == pytest.approx(same.change.mean, rel=1e-4)


WRONG = [
    ({"sold": 400.0}, "reward must be a whole number from 0 to the row's trials, row 2 has 400 of"),
    ({"sold": 1.5}, "reward must be a whole number from 0 to the row's trials, row 2 has 1.5 of"),
    ({"sold": np.nan}, "reward must be finite, row 2 has nan"),
    ({"visitors": 7.5}, "trials must be whole numbers of at least 0, row 2 has 7.5"),
    ({"visitors": -1.0}, "trials must be whole numbers of at least 0, row 2 has -1"),
]


@pytest.mark.parametrize("source", ["frame", "csv"])
@pytest.mark.parametrize(("values", "message"), WRONG)
def test_wrong_trials(weeks, tmp_path, source, values, message):
    rows = weeks.astype({"sold": float, "visitors": float})
    for name, value in values.items():
        rows.loc[2, name] = value
    if source == "csv":
        rows.to_csv(tmp_path / "rows.csv", index=False)
        rows = tmp_path / "rows.csv"
    with pytest.raises(FitError, match=re.escape(message)):
        gb.fit(rows, **COLUMNS, reward="sold", trials="visitors", verdict=False)


def test_trials_exclude_other_arguments(weeks):
    with pytest.raises(FitError, match="reward_range must be left out where there are trials"):
        gb.fit(weeks, **COLUMNS, reward="sold", trials="visitors", reward_range=(0, 1))
    with pytest.raises(FitError, match="trials must be left out where rows are aggregated"):
        gb.fit(weeks, **COLUMNS, trials="visitors")
    gone = weeks.astype({"sold": float})
    gone.loc[2, "sold"] = np.nan
    found = gb.fit(gone, **COLUMNS, reward="sold", trials="visitors", dropna=True, verdict=False)
    assert found.panel.dropped == 1
    assert found.panel.n_rewards == weeks["visitors"].drop(2).sum()


def test_strata_count_the_trials(weeks):
    rows = weeks.assign(coin=np.arange(len(weeks)) % 2)
    found = gb.fit(rows, **COLUMNS, reward="sold", trials="visitors", by="coin", verdict=False)
    assert sum(part.n_rewards for part in found.strata.parts) == weeks["visitors"].sum()
    units = gb.fit(rows, **COLUMNS, reward="units", by="coin", verdict=False)
    assert {part.n_groups for part in units.strata.parts} == {STORES}


def test_the_picture_has_profit_cost_and_currency(rates):
    axes = rates.plot_worth(currency="€").axes[0]
    assert axes.get_ylabel() == "profit per trial, €"
    assert axes.get_xlabel() == "price, €; a unit costs 1 €"
    best = rates.arms["mean"].to_numpy() * (PRICES - 1.0)
    assert axes.get_title("left").startswith(f"best on average: {PRICES[best.argmax()]:g}, profit")
    (line,) = [one for one in axes.lines if one.get_label() == "the average group"]
    assert line.get_ydata() == pytest.approx(best)
    dots = {one.get_label(): one for one in axes.collections}
    observed = dots["a group: observed"].get_offsets()
    pulled = dots["a group: pulled to the curve"].get_offsets()
    cells = rates.panel.tried
    assert len(observed) == len(pulled) == cells.sum()
    raw = (PRICES - 1.0) * rates.panel.means
    assert sorted(observed[:, 1]) == pytest.approx(sorted(raw[cells]))
    # Means are pulled towards the curve: they spread less than the observed ones.
    assert np.std(pulled[:, 1]) < np.std(observed[:, 1])


def test_the_command_accepts_trials_strata_and_currency(weeks, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    weeks.assign(promotion=np.arange(len(weeks)) % 2).to_csv("weeks.csv", index=False)
    words = "fit weeks.csv --group store --arm price --cost 1 --by promotion --quick --currency €"
    for more in ("--reward sold --trials visitors --page fit.html", "--reward units --range 0:"):
        with pytest.raises(SystemExit) as stopped:
            main([*words.split(), *more.split()])
        assert stopped.value.code == 0
        assert "Within strata of promotion" in " ".join(capsys.readouterr().out.split())
    page = (tmp_path / "fit.html").read_text("utf-8")
    assert "What each price is worth" in page
    assert "€" in page
