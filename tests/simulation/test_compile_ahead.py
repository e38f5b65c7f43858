"""Policies compiled ahead, by several processes too: later processes compile nothing."""

import dataclasses
import os
import subprocess
import sys

import numpy as np
import pytest

from globalbandits._random import States
from globalbandits.cli import main
from globalbandits.compiling import cache, compiler
from globalbandits.compiling.engine import Engine
from globalbandits.lab.league import league_policies
from globalbandits.policies import UCB1, WAGP, Policy, Uniform, registered
from globalbandits.simulation import compile_ahead
from globalbandits.simulation.play.arena import Arena
from globalbandits.simulation.play.job import make_job
from tests.simulation.worlds import pricing


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of its own, on disk and in memory."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(compiler, "_KERNELS", {})
    monkeypatch.setattr(compiler, "_HELPERS", {})
    return tmp_path / "cache"


@pytest.fixture
def two_processes(monkeypatch):
    monkeypatch.setattr(compile_ahead, "available_cores", lambda: 2)
    monkeypatch.setattr(compile_ahead, "_POLICIES_PER_PROCESS", 1)


def found(folder):
    """Files there are, and how many of this process's kernels came from files."""
    return len(list(folder.glob("*.nbc"))), sum(
        kernel.n_loaded for kernel in compiler._KERNELS.values()
    )


def test_many_policies_are_warmed_by_other_processes(folder, two_processes):
    compile_ahead.warm([WAGP(), UCB1(), Unsendable()])
    # Two policies come from the files of other processes, for the simulator and for learners.
    _, n_loaded = found(folder)
    assert n_loaded >= 4


@dataclasses.dataclass(frozen=True, kw_only=True)
class Unsendable(Policy):
    """WAGP, which no other process can compile."""

    rules = WAGP.rules._replace(estimate=lambda setup, stats, state: 0.25)

    def setup(self, model):
        return WAGP().setup(model)

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


def test_whoever_comes_later_compiles_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(compiler, "_KERNELS", {})
    with pytest.raises(SystemExit, match="0"):
        main(["warm", "Uniform"])
    words = capsys.readouterr().out
    assert words.startswith("1 policy is ready after ")
    assert words.endswith(f" s, in {tmp_path / 'cache'}\n")
    done = subprocess.run(
        [sys.executable, "-c", LATER], capture_output=True, text=True, env=dict(os.environ)
    )
    assert done.stdout == "0\n", done.stderr


def test_warm_without_a_place(tmp_path, monkeypatch, capsys):
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
