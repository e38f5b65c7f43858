"""Results: summaries, figures, and files that are whole or refused."""

import math
import os

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from globalbandits.environments import (
    Environment,
    FixedBias,
    RandomWalk,
    SaleNoise,
    UniformBias,
)
from globalbandits.errors import ResultError, SimulationError
from globalbandits.model import RewardModel
from globalbandits.policies import UCB1, WAGP
from globalbandits.simulation import (
    SimulationResult,
    simulate,
)
from globalbandits.simulation import (
    result as result_module,
)
from tests.simulation.worlds import pricing


@pytest.fixture(scope="module")
def result():
    return simulate(pricing(), [WAGP(), UCB1()], horizon=500, runs=30, seed=1)


@pytest.fixture(scope="module")
def moving():
    env = pricing(drift=RandomWalk(drift_time=100, up=0.6), bias=UniformBias(0.01))
    return simulate(env, [WAGP()], horizon=300, runs=4, seed=1)


def test_summary(result):
    table = result.summary(confidence=0.9)
    assert table.index.tolist() == ["WAGP", "UCB1"]
    assert table.columns.tolist() == ["regret_mean", "regret_sem", "regret_low", "regret_high"]
    final = result.dataset["regret"].sel(policy="UCB1").values[:, -1]
    row = table.loc["UCB1"]
    assert row["regret_mean"] == pytest.approx(final.mean())
    assert row["regret_sem"] == pytest.approx(stats.sem(final))
    low, high = stats.t.interval(0.9, 29, final.mean(), stats.sem(final))
    assert (row["regret_low"], row["regret_high"]) == pytest.approx((low, high))


def test_summary_of_paired_differences(result):
    table = result.summary(baseline="UCB1")
    final = result.dataset["regret"].values[:, :, -1]
    difference = final[0] - final[1]
    row = table.loc["WAGP"]
    assert row["difference_mean"] == pytest.approx(difference.mean())
    assert row["difference_sem"] == pytest.approx(stats.sem(difference))
    assert table.loc["UCB1", "difference_mean"] == 0.0
    assert row["difference_low"] < row["difference_mean"] < row["difference_high"] < 0


def test_summary_of_one_run():
    single = simulate(pricing(), [WAGP()], horizon=50, runs=1)
    row = single.summary().loc["WAGP"]
    assert row["regret_mean"] > 0
    assert math.isnan(row["regret_sem"])
    assert math.isnan(row["regret_low"])


def test_nominal_summary(moving):
    nominal = moving.summary(variable="nominal_regret")["regret_mean"]
    assert nominal.iloc[0] == moving.dataset["nominal_regret"].values[0, :, -1].mean()
    assert nominal.iloc[0] != moving.summary()["regret_mean"].iloc[0]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda r: r.summary(baseline="BUW"), "baseline must be one of WAGP, UCB1, got 'BUW'"),
        (lambda r: r.summary(confidence=1), "confidence must lie strictly between 0 and 1, got 1"),
        (lambda r: r.summary(variable="pulls"), "variable must be 'regret' or 'nominal_regret'"),
        (lambda r: r.plot_regret(variable="x"), "variable must be 'regret' or 'nominal_regret'"),
        (lambda r: r.plot_estimate(run=30), "run must be one of the runs 0 to 29, got 30"),
    ],
)
def test_wrong_arguments(result, ask, message):
    with pytest.raises(SimulationError, match=message):
        ask(result)


def lines_of(figure):
    return {line.get_label(): line for line in figure.axes[0].get_lines()}


def test_regret_figure(result):
    figure = result.plot_regret(log_x=True, log_y=True)
    axes = figure.axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    lines = lines_of(figure)
    assert set(lines) == {"WAGP", "UCB1"}
    mean = result.dataset["regret"].sel(policy="WAGP").mean("run")
    np.testing.assert_allclose(lines["WAGP"].get_ydata(), mean)
    # Readable in grey: the lines differ by more than their colour.
    assert lines["WAGP"].get_linestyle() != lines["UCB1"].get_linestyle()
    assert len(axes.collections) == 2  # the bands
    assert "nominal" in result.plot_regret(variable="nominal_regret").axes[0].get_ylabel()


def test_pulls_figure(result):
    figure = result.plot_pulls()
    heights = [bar.get_height() for bar in figure.axes[0].patches]
    shares = result.dataset["pulls"].sel(policy="WAGP").sum("run") / (30 * 500)
    np.testing.assert_allclose(heights, 100 * shares)
    colours = [bar.get_facecolor() for bar in figure.axes[0].patches]
    assert [place for place, colour in enumerate(colours) if colour != colours[0]] == [9]


def test_estimate_figure(result, moving):
    lines = lines_of(result.plot_estimate(log_x=True))
    assert set(lines) == {"true parameter", "WAGP"}  # UCB1 has no estimate
    assert set(lines["true parameter"].get_ydata()) == {0.4}
    one = lines_of(moving.plot_estimate(run=2))
    path = moving.dataset["theta"].sel(run=2)
    np.testing.assert_array_equal(one["true parameter"].get_ydata(), path)
    np.testing.assert_array_equal(one["WAGP"].get_ydata(), moving.dataset["estimate"][0, 2])
    assert len(lines_of(moving.plot_estimate())) == 2


def test_an_estimate_that_comes_late(result):
    data = result.dataset.copy(deep=True)
    data["estimate"][0, :, :50] = np.nan
    late = SimulationResult(data, result.spec)
    assert len(lines_of(late.plot_estimate())["WAGP"].get_ydata()) == 150


def test_no_estimate_at_all():
    only = simulate(pricing(), [UCB1()], horizon=20, runs=2)
    with pytest.raises(SimulationError, match=r"policies must have an estimate, got \['UCB1'\]"):
        only.plot_estimate()


def widest(table):
    return max(map(len, str(table).splitlines()))


def test_the_summary_is_printed_whole_in_80_columns():
    policies = {
        "NonStationaryWAGP(half_window=100, drift_time=1000.0)": WAGP(),
        "UCB1": UCB1(),
        "x" * 200: UCB1(),
    }
    named = simulate(pricing(), policies, horizon=50, runs=3)
    table = named.summary()
    assert widest(table) <= 80
    text = str(table)
    assert all(column in text.splitlines()[0] for column in table.columns)
    assert "NonStationaryW" in text
    assert f"{table.loc['UCB1', 'regret_mean']:.4g}" in text
    assert table.loc["x" * 200, "regret_mean"] == table.loc["UCB1", "regret_mean"]
    assert widest(table.round(1)) <= 80
    both = named.summary(baseline="UCB1")
    assert widest(both) <= 80
    assert all(column in str(both) for column in both.columns)
    large = table * 1e9
    assert widest(large) <= 80
    assert str(large.iloc[:0])  # nothing to show is no error
    assert str(large[[]])


@pytest.mark.parametrize(
    ("arms", "labels"),
    [
        (["1", "2"], ["1", "2"]),
        (["1", 2], ["1", "2"]),
        ([1, 2.5], [1.0, 2.5]),
        ([True, False], ["True", "False"]),
        ([2**60 + 1, 2.5], [str(2**60 + 1), "2.5"]),
        ([10**400, 1], [str(10**400), "1"]),
    ],
    ids=["texts", "mixed", "numbers", "booleans", "long", "huge"],
)
def test_labels_of_arms_stay_what_they_are(tmp_path, arms, labels):
    model = RewardModel.from_functions([lambda t: t, lambda t: 1 - t], arms=arms)
    named = simulate(Environment(model, 0.3), [UCB1()], horizon=5, runs=1)
    assert named.dataset["arm"].values.tolist() == labels
    named.save(tmp_path / "named.nc")
    loaded = SimulationResult.load(tmp_path / "named.nc")
    assert loaded.dataset.identical(named.dataset)
    assert loaded.dataset["arm"].dtype == named.dataset["arm"].dtype
    named.plot_pulls()


def test_labels_are_no_formulas_in_figures(tmp_path):
    model = RewardModel.from_functions([lambda t: t, lambda t: 1 - t], arms=["$\\frac{$", "a"])
    named = simulate(Environment(model, 0.3), {"$^$": WAGP()}, horizon=5, runs=2)
    for figure in (named.plot_pulls(), named.plot_regret(), named.plot_estimate()):
        figure.savefig(tmp_path / "figure.svg")


def test_parameters_that_are_lists_are_the_same_after_loading(tmp_path):
    env = pricing(noise=SaleNoise(amounts=pricing().model.arms), bias=FixedBias(np.zeros(12)))
    made = simulate(env, [UCB1()], horizon=5, runs=1)
    made.save(tmp_path / "made.nc")
    assert SimulationResult.load(tmp_path / "made.nc").spec == made.spec


@pytest.mark.parametrize("name", ["result", "moving"])
def test_a_file_keeps_everything(request, tmp_path, name):
    result = request.getfixturevalue(name)
    result.save(tmp_path / "deep" / "result.nc")
    loaded = SimulationResult.load(tmp_path / "deep" / "result.nc")
    assert loaded.dataset.identical(result.dataset)
    for variable in result.dataset.variables:
        assert loaded.dataset[variable].dtype == result.dataset[variable].dtype
    assert loaded.spec == result.spec
    assert loaded.spec["seed"] == 1
    assert loaded.spec["policies"]["WAGP"] == {"policy": "wagp"}
    assert loaded.summary().equals(result.summary())


def test_other_programs_can_read_the_file(result, tmp_path):
    result.save(tmp_path / "result.nc")
    with xr.open_dataset(tmp_path / "result.nc", engine="scipy") as data:
        assert data.attrs["version"] == result.spec["version"]
        np.testing.assert_array_equal(data["regret"], result.dataset["regret"])


def test_a_save_that_fails_leaves_the_old_file(result, tmp_path, monkeypatch):
    path = tmp_path / "result.nc"
    path.write_text("old")

    def fail(dataset, file, **options):
        file.write_text("half")
        raise OSError("disk full")

    monkeypatch.setattr(xr.Dataset, "to_netcdf", fail)
    with pytest.raises(OSError, match="disk full"):
        result.save(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["result.nc"]


def test_a_truncated_file_is_refused(result, tmp_path):
    path = tmp_path / "result.nc"
    result.save(path)
    whole = path.read_bytes()
    for length in [0, 3, 50, 700, 2_000, len(whole) // 2, len(whole) - 10_000, len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(ResultError, match=r"result file must be .*, got .*result\.nc"):
            SimulationResult.load(path)


def test_a_changed_number_is_noticed(result, tmp_path):
    path = tmp_path / "result.nc"
    result.save(path)
    whole = bytearray(path.read_bytes())
    refused = 0
    for place in range(3_000, len(whole), len(whole) // 40):
        changed = bytearray(whole)
        changed[place] ^= 1
        path.write_bytes(changed)
        try:
            loaded = SimulationResult.load(path)
        except ResultError:
            refused += 1
        else:  # a bit that means nothing, such as one of a nan's
            assert loaded.dataset.identical(result.dataset)
            assert loaded.spec == result.spec
    assert refused >= 30


def test_foreign_files_are_refused(result, tmp_path):
    path = tmp_path / "other.nc"
    with pytest.raises(ResultError, match=r"result file must exist, got .*other\.nc"):
        SimulationResult.load(path)
    path.write_text("regret,policy\n1.0,WAGP\n")
    with pytest.raises(ResultError, match="result file must be netCDF"):
        SimulationResult.load(path)
    xr.Dataset({"x": ("t", [1.0])}).to_netcdf(path, engine="scipy")
    with pytest.raises(ResultError, match="result file must be a saved simulation"):
        SimulationResult.load(path)
    stolen = xr.Dataset({"x": ("t", [1.0])}, attrs={"format": result_module.FORMAT})
    stolen.to_netcdf(path, engine="scipy")
    with pytest.raises(ResultError, match="result file must be whole, got a damaged"):
        SimulationResult.load(path)
