"""Executors whose workers die or are stopped: finished runs are kept, and the call ends soon."""

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor

import pytest

from globalbandits.errors import SimulationError
from globalbandits.policies import WAGP
from globalbandits.simulation import result, simulate
from globalbandits.simulation.simulation_request import make_request
from globalbandits.simulation.workers import (
    StopFile,
    is_stopped,
    open_workers,
    play_request,
)
from tests.simulation.worlds import pricing


class Fragile(ProcessPoolExecutor):
    """Two processes, one of which is killed after a number of shards."""

    def __init__(self, n_shards):
        super().__init__(2, mp_context=multiprocessing.get_context("spawn"))
        self.left = n_shards

    def submit(self, *call):
        future = super().submit(*call)
        # Not before both are there: a pool that breaks while it starts one may hang.
        if self.left == 0 and len(self._processes) == 2:
            self.kill()
        future.add_done_callback(self.count)
        return future

    def count(self, future):
        self.left -= 1
        if self.left == 0:
            self.kill()

    def kill(self):
        self.left = -1
        os.kill(next(iter(self._processes)), signal.SIGKILL)


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """The folder for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_dead_worker_leaves_the_finished_runs(scratch):
    horizon, runs = 2_000_000, 48
    with Fragile(2) as pool, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        data = simulate(pricing(), [WAGP()], horizon, runs, checkpoints=1, executor=pool).dataset
    n_finished = data.sizes["run"]
    assert 6 <= n_finished < runs
    assert (data["pulls"].sum("arm") == horizon).all()
    texts = [str(warning.message) for warning in said]
    assert texts[0].startswith("a worker of the executor died, and the runs not finished are lost")
    assert texts[1] == f"interrupted: the result holds {n_finished} of {runs} runs"
    run = int(data["run"].values[-1])
    alone = simulate(pricing(), [WAGP()], horizon, 1, first_run=run, checkpoints=1).dataset
    assert alone.identical(data.sel(run=[run]))
    assert list(scratch.iterdir()) == []


def test_a_worker_that_dies_before_any_run_is_finished(scratch):
    message = "executor must keep its workers until a run is finished, but one died: A"
    with Fragile(0) as pool, pytest.raises(SimulationError, match=message):
        simulate(pricing(), [WAGP()], 2_000_000, 16, executor=pool)
    assert list(scratch.iterdir()) == []


def test_a_broken_pool(scratch):
    with Fragile(1) as pool:
        pool.submit(int).result()
        with pytest.raises(Exception, match="terminated abruptly"):
            pool.submit(time.sleep, 60).result()
        with pytest.raises(SimulationError, match="executor must keep its workers until"):
            simulate(pricing(), [WAGP()], 10, 16, executor=pool)
    assert list(scratch.iterdir()) == []


SCRIPT = """
import multiprocessing, signal, warnings
from concurrent.futures import ProcessPoolExecutor
from globalbandits.environments import Environment
from globalbandits.model import RewardModel
from globalbandits.policies import WAGP
from globalbandits.simulation import simulate

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a parent may have taken away
    model = RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8])
    env = Environment(model, 0.4)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        simulate(env, [WAGP()], 1_000, 1, executor=pool)  # its worker is there now
        print("ready", flush=True)
        try:
            simulate(env, [WAGP()], 10**10, 9, executor=pool)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    print("left", flush=True)
"""


@pytest.mark.parametrize("everybody", [False, True], ids=["parent", "terminal"])
def test_an_interrupt_ends_the_workers_too(tmp_path, everybody):
    (tmp_path / "script.py").write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "script.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(1.0)  # now the worker is at a run of hours
        if everybody:  # as a terminal does
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert process.stdout.readline() == "left\n"
        process.wait()
        assert [path.name for path in tmp_path.iterdir()] == ["script.py"]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # the worker too
        process.wait()
        process.stdout.close()


def test_shards_that_end_at_the_moment_of_an_interrupt_are_kept(scratch):
    def report(steps):
        pool.submit(int).result()  # the only thread comes to this after the other shards
        raise KeyboardInterrupt

    request = make_request(pricing(), [WAGP()], 10, 16, 0)
    with ThreadPoolExecutor(1) as pool, open_workers(pool) as workers:
        _, finished = play_request(workers, request, report)
    assert finished.all()
    assert list(scratch.iterdir()) == []


class Interrupting:
    """Calls a function, but raises an interrupt instead in one of the calls."""

    def __init__(self, function, at):
        self.function, self.left = function, at

    def __call__(self, *arguments):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return self.function(*arguments)


def test_an_interrupt_when_all_runs_are_finished_loses_none(monkeypatch):
    whole = simulate(pricing(), [WAGP()], 20, 5)
    monkeypatch.setattr(result, "made_with", Interrupting(result.made_with, 1))
    again = simulate(pricing(), [WAGP()], 20, 5)
    assert again.dataset.identical(whole.dataset)
    assert again.spec == whole.spec


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_while_evidence_is_weighed_keeps_the_runs_before(monkeypatch, threads):
    options = {"evidence": True, "checkpoints": 2, "threads": threads}
    whole = simulate(pricing(), [WAGP()], 20, 5, **options).dataset
    monkeypatch.setattr(result, "infer_many", Interrupting(result.infer_many, 4))
    with pytest.warns(RuntimeWarning, match="interrupted: the result holds 3 of 5 runs"):
        kept = simulate(pricing(), [WAGP()], 20, 5, **options).dataset
    assert kept.identical(whole.isel(run=slice(0, 3)))
    monkeypatch.setattr(result, "infer_many", Interrupting(result.infer_many, 1))
    with pytest.raises(KeyboardInterrupt):
        simulate(pricing(), [WAGP()], 20, 5, **options)


LATE = """
import signal
from concurrent.futures import ThreadPoolExecutor
import globalbandits as gb

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a parent may have taken away

class Pool(ThreadPoolExecutor):
    n_left = 16

    def submit(self, *call):
        future = super().submit(*call)
        future.add_done_callback(self.count)
        return future

    def count(self, future):
        self.n_left -= 1
        if self.n_left == 0:
            print("ready", flush=True)

model = gb.demand.linear([0.4, 0.6, 0.8])
result = gb.simulate(gb.Environment(model, 0.4), [gb.WAGP()], 100, runs=16, executor=Pool(2))
try:
    print("result", result.dataset.sizes["run"], flush=True)
except KeyboardInterrupt:
    print("result", result.dataset.sizes["run"], flush=True)
"""


def after_a_late_interrupt():
    process = subprocess.Popen(
        [sys.executable, "-c", LATE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        return process.stdout.readline()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_ctrl_c_just_after_the_last_run():
    # Between any two lines Python may be interrupted: that one of three gets through is enough.
    assert any(after_a_late_interrupt() == "result 16\n" for _ in range(3))


def test_the_stop_file(scratch):
    stop_file = StopFile()
    assert not is_stopped(stop_file.path)
    done, pending = Future(), Future()
    done.set_result(None)
    stop_file.create([done, pending])
    assert is_stopped(stop_file.path)
    pending.set_result(None)
    assert not is_stopped(stop_file.path)
    assert list(scratch.iterdir()) == []
    StopFile().create([])
    assert list(scratch.iterdir()) == []


def test_without_a_folder_for_temporary_files_there_is_no_stop_file(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    stop_file = StopFile()
    assert stop_file.path is None
    assert not is_stopped(stop_file.path)
    stop_file.create([Future()])
    stop_file.remove()
