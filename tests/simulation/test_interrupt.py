"""Ctrl-C: it ends within a second and keeps what is finished."""

import signal
import subprocess
import sys
import threading
from concurrent.futures import Executor, Future

import pytest

from globalbandits.policies import WAGP
from globalbandits.simulation import (
    simulate,
    workers,
)
from tests.simulation.worlds import pricing

SCRIPT = """
import sys, threading, time, warnings
from concurrent.futures import ThreadPoolExecutor
from globalbandits.environments import Environment
from globalbandits.policies import WAGP
from globalbandits.model import RewardModel
from globalbandits.simulation import simulate

horizon, n_runs = int(sys.argv[1]), int(sys.argv[2])
class Pool(ThreadPoolExecutor):
    # Says that it is ready when the third shard is done.
    n_done = 0

    def submit(self, *call):
        future = super().submit(*call)
        future.add_done_callback(self.count)
        return future

    def count(self, future):
        self.n_done += 1
        if self.n_done == 3:
            print("ready", flush=True)

executor = Pool(1) if sys.argv[3] == "executor" else None
model = RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8])
env = Environment(model, 0.4)
simulate(env, [WAGP()], 10, runs=1)
if executor is None:
    threading.Timer(1.5, print, ["ready"], {"flush": True}).start()
try:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = simulate(env, [WAGP()], horizon, n_runs, checkpoints=1, executor=executor)
    runs = result.dataset.sizes["run"]
    whole = bool((result.dataset["pulls"].sum("arm") == horizon).all())
    print("result", runs, whole, said[-1].message, flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def interrupt(horizon, runs, how="threads"):
    """Start the script, interrupt it when it is ready, and return the words it prints then."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(horizon), str(runs), how],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        return process.stdout.readline().split()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_finished_runs_are_kept():
    words = interrupt(horizon=100_000, runs=100_000)
    assert words[0] == "result"
    assert 1 <= int(words[1]) < 10**5
    assert words[2] == "True"
    assert " ".join(words[3:]) == f"interrupted: the result holds {words[1]} of 100000 runs"


def test_without_a_finished_run_the_interrupt_is_raised():
    words = interrupt(horizon=10**10, runs=10)
    assert words == ["interrupted"]


def test_shards_that_an_executor_has_finished_are_kept():
    words = interrupt(horizon=1_000, runs=50_000, how="executor")
    assert words[:1] + words[2:3] == ["result", "True"]
    assert 3 * 6_250 <= int(words[1]) < 50_000


class OneShard(Executor):
    """Plays the first shard, and leaves the others waiting."""

    def __init__(self):
        self.futures = []

    def submit(self, call, *arguments):
        future = Future()
        if not self.futures:
            future.set_result(call(*arguments))
        self.futures.append(future)
        return future


def test_a_shard_that_is_being_stored_is_kept(monkeypatch):
    store, n_runs = workers.RequestInPlay.store, []

    def interrupted_once(request, places, part):
        n_runs.append(places.stop - places.start)
        if len(n_runs) == 1:
            raise KeyboardInterrupt
        store(request, places, part)

    monkeypatch.setattr(workers.RequestInPlay, "store", interrupted_once)
    with pytest.warns(RuntimeWarning, match="interrupted: the result holds"):
        result = simulate(pricing(), [WAGP()], 20, runs=80, executor=OneShard())
    assert result.dataset.sizes["run"] == n_runs[0] == n_runs[1] < 80


def test_an_error_in_a_thread_stops_the_others(monkeypatch):
    class BrokenError(Exception):
        pass

    played = []

    def play(arena, first_run, n_runs, records, place, tick):
        played.append(first_run)
        if first_run <= 3 < first_run + n_runs:
            raise BrokenError("run 3")
        return n_runs if tick(n_runs) else 0

    monkeypatch.setattr(workers.Arena, "play", play)
    with pytest.raises(BrokenError, match="run 3"):
        simulate(pricing(), [WAGP()], 10, runs=10**6, threads=2)
    assert len(played) < 10**6
    assert not [t for t in threading.enumerate() if t.name.startswith("simulate")]


def test_an_error_in_an_executor_is_raised(monkeypatch):
    from concurrent.futures import ThreadPoolExecutor

    def fail(job, first_run, n_runs, stop_path):
        raise RuntimeError("worker lost")

    monkeypatch.setattr(workers, "play_shard", fail)
    with ThreadPoolExecutor(2) as pool, pytest.raises(RuntimeError, match="worker lost"):
        simulate(pricing(), [WAGP()], 10, runs=10, executor=pool)
