"""Policies compiled ahead, by several processes too: later processes compile nothing."""

import dataclasses
import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

import globalbandits as gb
from globalbandits._random import States
from globalbandits.cli import main
from globalbandits.compiling import cache, compiler
from globalbandits.compiling.engine import Engine
from globalbandits.lab.league import league_policies
from globalbandits.policies import FixedArm, Policy, Uniform, registered
from globalbandits.simulation import compile_ahead
from globalbandits.simulation.play.arena import Arena
from globalbandits.simulation.play.job import make_job
from tests.environments.ours import our_noises
from tests.simulation.worlds import pricing


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of its own, on disk and in memory."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(compiler, "_KERNELS", {})
    monkeypatch.setattr(compiler, "_HELPERS", {})
    return tmp_path / "cache"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Unsendable(Policy):
    """Uniform play, which no other process can compile."""

    rules = Uniform.rules._replace(select=lambda setup, stats, state, rng: 0)

    def setup(self, model):
        return Uniform().setup(model)

    def __reduce__(self):
        raise TypeError("stays here")


def test_nothing_is_announced_that_is_known(folder):
    job = make_job(pricing(), {"a": Uniform(), "b": Uniform()}, 5, np.array([5]), 0)
    said = []
    for _ in range(2):
        engine = Engine(announce=said.append)
        Arena(job, engine, States(0, 0, 1))
    assert said == [["Uniform"]]


LATER = """
import globalbandits as gb
from globalbandits.compiling import compiler
model = gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8])
for drift in (None, gb.RandomWalk(drift_time=50)):
    env = gb.Environment(model, 0.4, noise=gb.BernoulliNoise(), drift=drift)
    gb.simulate(env, [gb.Uniform()], 100, runs=2)
gb.Learner(gb.Uniform(), model, compiled=True).select()
print(sum(kernel.n_saved for kernel in compiler._KERNELS.values()))
"""


def test_later_processes_compile_nothing(folder, monkeypatch, capsys):
    one = {"bernoulli": gb.BernoulliNoise}
    monkeypatch.setattr(compile_ahead, "registered", lambda category: one)
    with pytest.raises(SystemExit, match="0"):
        main(["warm", "Uniform"])
    words = capsys.readouterr().out
    assert words.startswith("1 policy is ready after ")
    assert words.endswith(f" s, in {folder}\n")
    done = subprocess.run(
        [sys.executable, "-c", LATER], capture_output=True, text=True, env=dict(os.environ)
    )
    assert done.stdout == "0\n", done.stderr
    # Many policies are compiled by other processes.
    monkeypatch.setattr(compile_ahead, "available_cores", lambda: 2)
    monkeypatch.setattr(compile_ahead, "_POLICIES_PER_PROCESS", 1)
    monkeypatch.setattr(compiler, "_KERNELS", {})
    compile_ahead.warm([FixedArm(0), Unsendable()])
    n_loaded, n_saved = Counter(), Counter()
    for kernel in compiler._KERNELS.values():
        loop = kernel._function.__qualname__.partition(".")[0]
        n_loaded[loop] += kernel.n_loaded
        n_saved[loop] += kernel.n_saved
    for loop in ("play_loop", "live_loop"):
        # Uniform was there; one policy comes from the files of other processes, one from here.
        assert n_loaded[loop] == (2 if loop == "play_loop" else 1)
        assert n_saved[loop] == 1


def test_all_noises_are_warmed_with_and_without_drift(monkeypatch):
    jobs = []
    monkeypatch.setattr(compile_ahead, "compiled_arena", jobs.append)
    compile_ahead.warm_noises()
    found = Counter((job.noise.kind, job.drift is None) for job in jobs)
    assert found == Counter((kind, still) for kind in our_noises() for still in (True, False))


def test_warm_without_a_usable_cache_folder(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setenv(cache.VARIABLE, str(folder))
    monkeypatch.setattr(cache, "_WARNED", {folder})
    with pytest.raises(SystemExit):
        main(["warm", "Uniform"])
    assert "GLOBALBANDITS_CACHE_DIR must be a folder that only you" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GLOBALBANDITS_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.raises(SystemExit) as stopped:
        main(["warm", "UCB1"])
    assert stopped.value.code == 2
    message = "error: GLOBALBANDITS_CACHE_DIR must be a folder that can be made, got "
    assert capsys.readouterr().err.startswith(message)


def test_all_policies_are_warmed():
    kinds = {policy.kind for policy in league_policies().values()}
    ours = {k for k, policy in registered().items() if policy.__module__.startswith("globalb")}
    # Two need a model of their own, one wraps policies that are there, one has no rule to compile.
    assert ours - kinds <= {"regional_ucb", "limited", "fixed_arm", "cohort_design"}
