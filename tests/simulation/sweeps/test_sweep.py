"""Sweeps: one dataset with their axes, resumed byte for byte, refused where they differ."""

import json
import math
import sys
from importlib import import_module

import numpy as np
import polars
import pytest

import globalbandits as gb
from globalbandits.errors import MissingExtraError, ResultError, ScenarioError, SimulationError
from globalbandits.simulation.sweeps.folder import Folder
from globalbandits.simulation.sweeps.sweep import Listener
from globalbandits.simulation.sweeps.sweep_result import compare
from tests.simulation.sweeps.worlds import GRID, SPEC, contents


class Ears(Listener):
    """Records its calls; interrupts after a number of tasks."""

    def __init__(self, most=None):
        self.most, self.heard, self.n_steps = most, [], 0

    def start(self, n_tasks, n_found, n_steps):
        self.heard.append(("start", n_tasks, n_found, n_steps))

    def steps(self, n_steps):
        self.n_steps += n_steps

    def task(self, where):
        self.heard.append(("task", where))
        if self.most is not None and len(self.heard) > self.most:
            raise KeyboardInterrupt

    def failed(self, where, reason):
        self.heard.append(("failed", where, reason))

    def end(self, *numbers):
        self.heard.append(("end", *numbers))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An uninterrupted sweep."""
    folder = tmp_path_factory.mktemp("sweep") / "whole"
    return gb.sweep(SPEC, folder, grid=GRID)


def test_every_point_equals_its_own_simulation(whole):
    points = list(whole.results())
    assert [tuple(where.values()) for where, _ in points] == [
        (0.2, 20), (0.2, 40), (0.4, 20), (0.4, 40), (0.6, 20), (0.6, 40)
    ]  # fmt: skip
    for where, result in points:
        model = gb.RewardModel.from_dict(SPEC["model"])
        env = gb.Environment(model, theta=where["theta"])
        policies = {"even": gb.Uniform(), "first": gb.ExploreThenCommit()}
        alone = gb.simulate(env, policies, where["horizon"], 5, checkpoints=4)
        assert result.dataset.identical(alone.dataset)
        assert result.spec == alone.spec


def test_one_dataset_with_the_axes_first(whole):
    data = whole.dataset
    assert dict(data["regret"].sizes) == {
        "theta": 3, "horizon": 2, "policy": 2, "run": 5, "time": 4
    }  # fmt: skip
    assert data["theta"].values.tolist() == [0.2, 0.4, 0.6]
    # Checkpoints differ between horizons: the axis is a count, and a variable has the times.
    assert "time" not in data.coords
    assert data["time_of"].sel(theta=0.2).values.tolist() == [[5, 10, 15, 20], [10, 20, 30, 40]]
    for where, result in whole.results():
        there = data.sel(where)
        for name in ("regret", "estimate", "pulls", "choice", "gap"):
            np.testing.assert_array_equal(there[name].values, result.dataset[name].values)
    some = data["regret"].isel(theta=[0, 2], horizon=1, run=slice(1, 4), time=-1, policy=0)
    assert some.shape == (2, 3)
    assert float(some[1, 0]) == float(data["regret"].values[2, 1, 0, 1, -1])
    assert float(data["regret"].mean()) == pytest.approx(np.mean(data["regret"].values))


def test_only_files_that_are_looked_at_are_read(tmp_path, monkeypatch):
    result = gb.sweep(SPEC, tmp_path, grid={"environment.theta": [0.2, 0.4, 0.6]})
    read = []
    load = Folder.load
    monkeypatch.setattr(Folder, "load", lambda self, name: read.append(name) or load(self, name))
    data = result.dataset
    n_at_first = len(read)
    assert n_at_first == 1
    _ = data["regret"].sel(theta=0.6).values
    assert read[n_at_first:] == [result.index["tasks"][2]]
    assert data["time"].values.tolist() == [10, 20, 30, 40]


def test_arms_that_differ_are_filled_up(tmp_path):
    grid = {"model.arms": [[0.4, 0.8], [0.4, 0.6, 0.8]], "runs": [2, 3]}
    data = gb.sweep(SPEC, tmp_path, grid=grid).dataset
    assert data["pulls"].shape == (2, 2, 2, 3, 3)
    assert data["arms"].values.tolist() == ["[0.4, 0.8]", "[0.4, 0.6, 0.8]"]
    few = data.isel(arms=0, runs=0)
    assert few["arm_of"].values[:2].tolist() == [0.4, 0.8]
    assert math.isnan(few["arm_of"].values[2])
    assert (few["pulls"].values[:, :2, 2] == -1).all()
    assert (few["pulls"].values[:, 2] == -1).all()
    assert np.isnan(few["regret"].values[:, 2]).all()


def test_names_that_differ_are_not_cut(tmp_path):
    grid = {"policies": [{"a": "uniform"}, {"a longer name": "uniform", "b": "uniform"}]}
    data = gb.sweep(SPEC, tmp_path, grid=grid).dataset
    assert data["policy_of"].values.tolist() == [["a", ""], ["a longer name", "b"]]
    assert np.isnan(data["regret"].values[0, 1]).all()


def test_variables_that_only_some_tasks_have(tmp_path):
    grid = {"environment.theta": [{"interval": [0.2, 0.6]}, 0.4], "evidence": [True, False]}
    result = gb.sweep(SPEC, tmp_path, grid=grid)
    data = result.dataset
    assert data["theta"].dims == ("environment.theta", "evidence", "run")  # a variable, no axis
    assert np.isnan(data["theta"].values[1]).all()
    assert data["interval_low"].dims == ("environment.theta", "evidence", "policy", "run", "time")
    assert data["gap"].dims == ("environment.theta", "evidence", "run", "arm")
    points = dict(zip([(0, 0), (0, 1), (1, 0), (1, 1)], result.results(), strict=True))
    for (theta, evidence), (_, one) in points.items():
        there = data.isel({"environment.theta": theta, "evidence": evidence})
        for name in one.dataset.data_vars:
            np.testing.assert_array_equal(
                there[name].values, one.dataset[name].broadcast_like(there[name]).values
            )
    assert np.isnan(data["interval_low"].values[:, 1]).all()


def test_axes_of_theta_and_of_drifts_together(tmp_path):
    grid = {
        "environment.theta": [0.2, 0.4],
        "environment.drift": [{"kind": "linear", "rate": 0.01}],
    }
    data = gb.sweep(SPEC, tmp_path, grid=grid).dataset
    assert data["theta"].dims == ("environment.theta", "drift", "run", "time")
    assert data["environment.theta"].values.tolist() == [0.2, 0.4]


def test_the_same_call_again_plays_nothing_and_changes_nothing(whole):
    before = contents(whole.folder.path)
    ears = Ears()
    gb.sweep(SPEC, whole.folder.path, grid=GRID, listener=ears)
    assert ears.heard == [("start", 6, 6, 0), ("end", 0, 6, 0)]
    assert contents(whole.folder.path) == before


def test_an_interrupted_sweep_resumes(whole, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        gb.sweep(SPEC, tmp_path, grid=GRID, listener=Ears(most=2))
    half = gb.SweepResult.load(tmp_path)
    missing = half.missing
    assert len(missing) == 4  # which ones depends on the threads
    told = f"SweepResult({str(tmp_path)!r}: 2 of 6 tasks; axes: theta (3), horizon (2))"
    assert repr(half) == told
    regret = half.dataset["regret"]
    assert all(np.isnan(regret.sel(task).values).all() for task in missing)
    ears = Ears()
    gb.sweep(SPEC, tmp_path, grid=GRID, listener=ears)
    n_steps = sum(5 * 2 * task["horizon"] for task in missing)
    assert ears.heard[0] == ("start", 6, 2, n_steps)
    assert ears.heard[-1] == ("end", 4, 2, 0)
    assert ears.n_steps == ears.heard[0][3]
    assert contents(tmp_path) == contents(whole.folder.path)


def test_damaged_and_missing_files_are_played_again(whole, tmp_path):
    gb.sweep(SPEC, tmp_path, grid=GRID)
    first, second, *_ = sorted((tmp_path / "tasks").iterdir())
    first.write_bytes(first.read_bytes()[:-20] + b"x" * 20)
    second.unlink()
    gb.sweep(SPEC, tmp_path, grid=GRID)
    assert contents(tmp_path) == contents(whole.folder.path)


def test_another_spec_is_refused_with_the_differences(tmp_path):
    gb.sweep(SPEC, tmp_path, grid={"environment.theta": [0.2, 0.4]})
    before = contents(tmp_path)
    for change, message in [
        ({"runs": 6}, "runs was 5, is 6"),
        ({"seed": 1}, "seed is new"),
        ({"policies": {"even": "uniform"}}, "policies.first is gone"),
        ({"sweep": {"environment.theta": [0.2, 0.6]}}, "sweep.environment.theta was"),
    ]:
        spec = {**SPEC, "sweep": {"environment.theta": [0.2, 0.4]}} | change
        with pytest.raises(
            ScenarioError, match=f"holds results of another spec: {message}.*--forc"
        ):
            gb.sweep(spec, tmp_path)
    assert contents(tmp_path) == before
    gb.sweep({**SPEC, "title": "new words"}, tmp_path, grid={"environment.theta": [0.2, 0.4]})
    ears = Ears()
    more = {"environment.theta": [0.4, 0.6]}
    gb.sweep(SPEC, tmp_path, grid=more, force=True, listener=ears)
    assert ears.heard[0][:3] == ("start", 2, 1)  # one of the two was there
    assert len(list((tmp_path / "tasks").iterdir())) == 2


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(ScenarioError, match="must be empty, or the folder of a sweep"):
        gb.sweep(SPEC, tmp_path)
    with pytest.raises(ResultError, match=r"must be the folder of a sweep, has no sweep\.json"):
        gb.SweepResult.load(tmp_path)
    (tmp_path / "sweep.json").write_text("{")
    with pytest.raises(ResultError, match="must be readable JSON"):
        gb.SweepResult.load(tmp_path)
    for text in ("[]", "{}", '{"format": "globalbandits sweep 1"}'):
        (tmp_path / "sweep.json").write_text(text)
        with pytest.raises(ResultError, match="must be of the format 'globalbandits sweep 1', got"):
            gb.SweepResult.load(tmp_path)


def test_two_processes_do_not_work_on_one_folder(tmp_path):
    folder = Folder(tmp_path)
    with folder.lock():
        assert folder.is_running()
        with pytest.raises(ScenarioError, match="is in use: another process works on this sweep"):
            gb.sweep(SPEC, tmp_path)
    assert not folder.is_running()
    assert contents(tmp_path) == {}


def test_points_that_are_the_same_are_played_once(tmp_path):
    ears = Ears()
    result = gb.sweep(SPEC, tmp_path, grid={"title": ["a", "b"]}, listener=ears)
    n_steps = SPEC["horizon"] * SPEC["runs"] * 2
    assert ears.heard[0] == ("start", 2, 0, n_steps)
    assert ears.heard[1:] == [("task", {"title": "a"}), ("task", {"title": "b"}), ("end", 2, 0, 0)]
    assert ears.n_steps == n_steps
    assert len(list((tmp_path / "tasks").iterdir())) == 1
    one, two = result.dataset["regret"].values
    assert np.array_equal(one, two)


class Moody(gb.Policy):
    """A policy of the user's that fails for some models."""

    rules = gb.Uniform.rules

    def setup(self, model):
        if Moody.angry and model.arms[0] > 0.5:
            raise RuntimeError("not this one")
        return gb.Uniform().setup(model)

    angry = False


def test_a_task_that_fails_does_not_end_the_others(tmp_path, monkeypatch):
    spec = SPEC | {"policies": {"mine": Moody()}}
    grid = {"model.arms": [[0.4, 0.6], [0.6, 0.8], [0.45, 0.9]]}
    module = import_module("globalbandits.simulation.sweeps.sweep")
    whole_plan = module.plan_of

    def plan_then_fail(*arguments):
        plan = whole_plan(*arguments)
        monkeypatch.setattr(Moody, "angry", True)
        return plan

    monkeypatch.setattr(module, "plan_of", plan_then_fail)
    ears = Ears()
    message = r"1 of 3 tasks failed; the first at {'arms': '\[0.6, 0.8\]'}: RuntimeError: not this"
    with pytest.raises(SimulationError, match=message):
        gb.sweep(spec, tmp_path, grid=grid, listener=ears)
    assert [heard[0] for heard in ears.heard] == ["start", "task", "failed", "task", "end"]
    assert len(gb.SweepResult.load(tmp_path).missing) == 1


def test_tables_of_a_sweep(whole, tmp_path):
    summary = whole.summary(baseline="even")
    assert list(summary.columns[:4]) == ["theta", "horizon", "policy", "regret_mean"]
    assert len(summary) == 12
    row = summary[(summary.theta == 0.4) & (summary.horizon == 40) & (summary.policy == "first")]
    _, result = list(whole.results())[3]
    assert row["regret_mean"].item() == result.summary()["regret_mean"]["first"]
    frame = whole.to_pandas()
    assert list(frame.columns) == ["theta", "horizon", "policy", "run", "regret"]
    assert len(frame) == 6 * 2 * 5
    over_time = whole.to_pandas("estimate", final=False)
    assert len(over_time) == 6 * 2 * 5 * 4
    pl = whole.to_polars()
    assert pl.shape == frame.shape
    assert pl["regret"].to_list() == frame["regret"].tolist()
    whole.to_parquet(tmp_path / "regret.parquet")
    again = polars.read_parquet(tmp_path / "regret.parquet")
    assert again.equals(pl)
    with pytest.raises(ResultError, match=r"variable must be one of .*, got 'regrets'"):
        whole.to_pandas("regrets")


def test_packages_that_are_not_there_are_named(whole, tmp_path, monkeypatch):
    for name in ("pyarrow", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r'pyarrow must be .*"globalbandits\[files\]"'):
        whole.to_parquet(tmp_path / "regret.parquet")
    with pytest.raises(ResultError, match="polars must be installed: pip install polars"):
        whole.to_polars()
    assert list(tmp_path.iterdir()) == []


def test_paired_differences_of_two_sweeps(whole, tmp_path):
    other = gb.sweep(
        SPEC | {"policies": {"first": gb.ExploreThenCommit(plays=2)}, "runs": 4},
        tmp_path / "other",
        grid={"environment.theta": [0.2, 0.4, 0.5], "horizon": [20, 40]},
    )
    frame = compare(whole, other)
    assert frame[["theta", "horizon"]].to_numpy().tolist() == [
        [0.2, 20], [0.2, 40], [0.4, 20], [0.4, 40]
    ]  # fmt: skip
    assert set(frame["policy"]) == {"first"}
    assert set(frame["runs"]) == {4}
    mine = {(w["theta"], w["horizon"]): r for w, r in whole.results()}[0.4, 40]
    theirs = {(w["theta"], w["horizon"]): r for w, r in other.results()}[0.4, 40]
    pairs = (
        theirs.dataset["regret"].sel(policy="first").isel(time=-1).values
        - mine.dataset["regret"].sel(policy="first").isel(time=-1, run=slice(4)).values
    )
    row = frame.iloc[3]
    assert row["difference_mean"] == pytest.approx(pairs.mean())
    assert row["difference_sem"] == pytest.approx(pairs.std(ddof=1) / 2)
    assert row["difference_low"] < row["difference_mean"] < row["difference_high"]
    crossed = compare(whole, other, policies=("even", "first"))
    assert set(crossed["policy"]) == {"first against even"}
    with pytest.raises(ResultError, match="policy must be one of even, first, got 'evn'; did you"):
        compare(whole, other, policies=("evn", "first"))
    seeded = gb.sweep(SPEC | {"seed": 1}, tmp_path / "seeded", grid=GRID)
    with pytest.raises(ResultError, match="have the first's seed 0, so that runs are pairs, got 1"):
        compare(whole, seeded)
    flat = gb.sweep(SPEC, tmp_path / "flat")
    with pytest.raises(ResultError, match=r"have the axes of the first, theta, horizon, got \[\]"):
        compare(whole, flat)


def test_a_spec_of_one_point_and_python_objects(tmp_path):
    spec = {
        "model": gb.RewardModel(lambda t, p: p * (1 - p * t) ** 2, [0.4, 0.6, 0.8]),
        "environment": {"theta": 0.4, "noise": gb.BernoulliNoise()},
        "policies": [gb.Uniform()],
        "horizon": 30,
        "runs": 3,
    }
    result = gb.sweep(spec, tmp_path)
    assert result.axes == {}
    assert dict(result.dataset["regret"].sizes) == {"policy": 1, "run": 3, "time": 30}
    index = json.loads((tmp_path / "sweep.json").read_text())
    assert index["spec"]["environment"]["noise"] == {"kind": "bernoulli"}
    assert index["spec"]["policies"] == [{"policy": "uniform"}]


def test_an_axis_named_as_a_variable_keeps_its_whole_key(tmp_path):
    spec = SPEC | {"environment": {"theta": 0.4, "drift": {"kind": "linear", "rate": 0.001}}}
    data = gb.sweep(spec, tmp_path, grid={"environment.theta": [0.2, 0.4]}).dataset
    assert data["theta"].dims == ("environment.theta", "run", "time")


@pytest.mark.parametrize("name", ["thread", "dask://", "dask://host", 3, None])
def test_unknown_executors_are_refused(tmp_path, name):
    message = "executor must be one of threads, processes, joblib, dask, dask://HOST:PORT, got"
    with pytest.raises(SimulationError, match=message):
        gb.sweep(SPEC, tmp_path, executor=name)
