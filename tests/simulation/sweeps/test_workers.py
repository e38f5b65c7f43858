"""Workers that die: nothing is lost, and the files are the same byte for byte."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import globalbandits as gb
import globalbandits.simulation.workers as workers_module
from benchmarks.adapters.peer import Peer
from globalbandits.errors import SimulationError
from globalbandits.simulation.simulation_request import make_request
from globalbandits.simulation.sweeps.sweep import Listener
from globalbandits.simulation.workers import (
    NamedWorkers,
    open_workers,
    play_request,
)
from tests.simulation.sweeps.worlds import contents

SPEC = {
    "model": gb.RewardModel(
        lambda t, p: p * (1 - p * t) ** 2, [0.4, 0.6, 0.8]
    ),  # a lambda can be sent
    "environment": {"theta": 0.4},
    "policies": ["uniform"],
    "horizon": 10_000,
    "runs": 20,
    "checkpoints": 2,
}
GRID = {"environment.theta": [0.1 * k for k in range(1, 10)], "seed": [0, 1]}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What one process alone leaves in its folder."""
    folder = tmp_path_factory.mktemp("workers")
    gb.sweep(SPEC, folder, grid=GRID)
    return contents(folder)


class Killer(Listener):
    """Kills a process when the first task is finished."""

    def __init__(self, find):
        self.find, self.killed = find, None

    def task(self, where):
        if self.killed is None:
            self.killed = self.find()
            os.kill(self.killed, signal.SIGKILL)


def test_a_cluster_of_two_one_of_which_is_killed(tmp_path, undisturbed):
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        killer = Killer(lambda: next(iter(client.run(os.getpid).values())))
        name = cluster.scheduler_address.replace("tcp://", "dask://")
        gb.sweep(SPEC, tmp_path, grid=GRID, executor=name, listener=killer)
        assert killer.killed is not None
    assert contents(tmp_path) == undisturbed


def test_processes_one_of_which_is_killed(tmp_path, undisturbed, monkeypatch):
    pools = []
    make = NamedWorkers.__init__

    def remember(self, *arguments):
        make(self, *arguments)
        pools.append(self)

    monkeypatch.setattr(NamedWorkers, "__init__", remember)
    killer = Killer(lambda: next(iter(pools[0]._executor._processes)))
    gb.sweep(SPEC, tmp_path, grid=GRID, executor="processes", workers=2, listener=killer)
    assert killer.killed is not None
    assert contents(tmp_path) == undisturbed


def test_joblib_and_simulate_by_name():
    env = gb.Environment(SPEC["model"], theta=0.4)
    here = gb.simulate(env, [gb.Uniform()], 500, 9, executor="threads")
    there = gb.simulate(env, [gb.Uniform()], 500, 9, executor="joblib")
    assert there.dataset.identical(here.dataset)
    with pytest.raises(SimulationError, match=r"executor must be one of threads, .* mean 'joblib'"):
        gb.simulate(env, [gb.Uniform()], 5, 2, executor="jobli")


def test_an_interrupted_simulation_keeps_the_shards_that_are_in():
    env = gb.Environment(SPEC["model"], theta=0.4)
    request = make_request(env, [gb.Uniform()], 500, 40, 3)

    def report(n_steps):
        raise KeyboardInterrupt

    with open_workers("joblib") as workers:
        records, finished = play_request(workers, request, report)
    assert 0 < finished.sum() < 40
    some = request.result(records, finished).dataset
    whole = gb.simulate(env, [gb.Uniform()], 500, 40, 3).dataset
    assert some.identical(whole.sel(run=some["run"]))


def test_no_cluster_there(monkeypatch):
    monkeypatch.setattr(workers_module, "DASK_CONNECT_SECONDS", 0.2)
    message = "executor must be a running Dask cluster, got 'dask:"
    with pytest.raises(SimulationError, match=message), open_workers("dask://127.0.0.1:1"):
        pass


OWN_FILE = """
import dataclasses
import globalbandits as gb

@dataclasses.dataclass(frozen=True, kw_only=True)
class Mine(gb.Uniform):
    kind = None
"""


def test_objects_that_workers_cannot_import_or_unpickle(tmp_path):
    (tmp_path / "own.py").write_text(OWN_FILE)
    spec = {**SPEC, "horizon": 50, "policies": {"mine": f"{tmp_path}/own.py:Mine"}}
    grid = {"seed": [0, 1]}
    gb.sweep(spec, tmp_path / "here", grid=grid)
    message = "2 of 2 tasks failed.*workers must be able to import what they play, but one failed"
    with pytest.raises(SimulationError, match=message):
        gb.sweep(spec, tmp_path / "out", grid=grid, executor="processes", workers=1)
    peer = Peer(make=lambda seed: seed, name="theirs")
    message = "executor 'processes' must be sent what it plays, but that failed: .*lambda"
    with pytest.raises(SimulationError, match=message):
        gb.sweep({**spec, "policies": [peer]}, tmp_path / "peer", executor="processes", workers=1)


@pytest.mark.parametrize("executor", ["threads", "processes"])
@pytest.mark.parametrize("workers", [0, -1])
def test_too_few_workers(tmp_path, executor, workers):
    message = f"workers must be at least 1, got {workers}"
    with pytest.raises(SimulationError, match=message):
        gb.sweep(SPEC, tmp_path / "out", executor=executor, workers=workers)
    assert not (tmp_path / "out").exists()


SPEC_FILE = """
horizon = 30_000
runs = 10
checkpoints = 2
policies = ["uniform"]
environment = {theta = 0.4}
model = {mean = "arm * (1 - arm*theta)**2", arms = [0.4, 0.6, 0.8]}
[sweep]
seed = {from = 0, to = 39, step = 1}
"""


def test_the_same_command_resumes_after_a_kill(tmp_path):
    (tmp_path / "spec.toml").write_text(SPEC_FILE)
    code = "from globalbandits.cli import main; main()"

    def command(out):
        words = ["simulate", "spec.toml", "--out", out, "--json", "--workers", "1"]
        return [sys.executable, "-c", code, *words]

    whole = subprocess.run(
        command("whole"), cwd=tmp_path, capture_output=True, text=True, check=True
    )
    events = [json.loads(line) for line in whole.stdout.splitlines()]
    assert events[0] == {"event": "start", "tasks": 40, "finished": 0, "steps": 40 * 300_000}
    assert [event["at"]["seed"] for event in events if event["event"] == "task"] == [*range(40)]
    assert (events[-1]["event"], events[-1]["played"], events[-1]["failed"]) == ("end", 40, 0)
    process = subprocess.Popen(command("cut"), cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if json.loads(line)["event"] == "task":
            break
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    n_left = len(gb.SweepResult.load(tmp_path / "cut").missing)
    assert 0 < n_left < 40
    again = subprocess.run(command("cut"), cwd=tmp_path, capture_output=True, text=True, check=True)
    start = json.loads(again.stdout.splitlines()[0])
    assert start["finished"] == 40 - n_left
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")
    regret = gb.SweepResult.load(tmp_path / "cut").dataset["regret"].values
    assert np.isfinite(regret).all()
