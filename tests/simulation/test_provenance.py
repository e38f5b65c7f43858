"""Results record their origin: versions, the platform, and a hash of user code."""

import dataclasses
import importlib.util
import os
import platform
import subprocess
import sys
from importlib.metadata import version

import pytest

import globalbandits as gb
from globalbandits.simulation.provenance import own_code
from tests.simulation.worlds import pricing

CODE = """
import dataclasses
from typing import ClassVar, NamedTuple
import numpy as np
import globalbandits as gb
from globalbandits.environments import Noise, NoiseRules

STEP = 1

class Setup(NamedTuple):
    n_arms: int

class State(NamedTuple):
    counts: np.ndarray

def helper(arm):
    return STEP + 0 * arm

def init(setup):
    return State(np.zeros(setup.n_arms, np.int64))

def select(setup, stats, state, rng):
    return int(np.argmin(state.counts))

def update(setup, stats, state, arm, reward):
    state.counts[arm] += helper(arm)

def estimate(setup, stats, state):
    return np.nan

@dataclasses.dataclass(frozen=True, kw_only=True)
class InTurn(gb.Policy):
    size: int = 1
    rules: ClassVar[gb.Rules] = gb.Rules(init, select, update, estimate)

    def setup(self, model):
        return Setup(model.n_arms)

def prepare(parameters, arm, mean):
    return mean

def draw(parameters, arm, shape, u):
    return shape

@dataclasses.dataclass(frozen=True)
class Still(Noise):
    kind = "still"
    rules = NoiseRules(prepare, draw)
"""


@pytest.fixture
def written(tmp_path, monkeypatch):
    # Byte code on disk would hide an edit within the same second.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(*edit):
        path = tmp_path / "own_policies.py"
        path.write_text(CODE.replace(*edit) if edit else CODE)
        spec = importlib.util.spec_from_file_location("own_policies", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return write


def hashes(policy, **parts):
    return own_code(pricing(**parts), {"own": policy})


def test_versions_platform_and_first_run():
    spec = gb.simulate(pricing(), [gb.WAGP()], 5, runs=2, first_run=7).spec
    assert spec["first_run"] == 7
    assert spec["made_with"] == [
        {
            "python": platform.python_version(),
            "numpy": version("numpy"),
            "numba": version("numba"),
            "platform": platform.platform(),
        }
    ]
    assert spec["own_code"] == {"policies": {}}


def test_user_policies_are_identified_by_their_code(written):
    first = hashes(written().InTurn())
    assert len(first["policies"]["own"]) == 64
    assert hashes(written().InTurn()) == first
    edits = [("STEP = 1", "STEP = 2"), ("argmin", "argmax"), ("return np.nan", "return 0.5")]
    edits += [("return Setup(model.n_arms)", "return Setup(model.n_arms + 0)")]
    changed = [hashes(written(*edit).InTurn()) for edit in edits]
    changed.append(hashes(written().InTurn(size=2)))
    found = {different["policies"]["own"] for different in [first, *changed]}
    assert len(found) == 6


def test_the_result_has_the_hash_watched_or_not(written):
    policy = written().InTurn()
    for evidence in (False, True):
        result = gb.simulate(pricing(), {"own": policy}, 5, runs=1, evidence=evidence)
        assert result.spec["own_code"] == hashes(policy)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Together(gb.Policy):
    """Several policies in one, in a module whose name is inside the package."""

    members: tuple[gb.Policy, ...]


def test_a_wrapped_policy_is_found(written, monkeypatch):
    monkeypatch.setattr(Together, "__module__", "globalbandits.policies.together")
    assert hashes(Together(members=(gb.WAGP(),))) == {"policies": {}}
    first = hashes(Together(members=(gb.WAGP(), written().InTurn())))
    second = hashes(Together(members=(gb.WAGP(), written("argmin", "argmax").InTurn())))
    assert first["policies"]["own"] != second["policies"]["own"]


def test_code_without_a_full_fingerprint_still_differs(written):
    # A rule that refers to an object without a content of its own.
    first, second = (
        written("STEP + 0 * arm", f"STEP + 0 * arm + {n} if gb.WAGP else 0") for n in (0, 1)
    )
    assert hashes(first.InTurn()) != hashes(second.InTurn())


def test_user_noises_are_identified_by_their_code(written):
    first = hashes(gb.WAGP(), noise=written().Still())
    second = hashes(gb.WAGP(), noise=written("return shape", "return 0.5 * shape").Still())
    assert first["policies"] == {}
    assert first["noise"] != second["noise"]


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import globalbandits as gb
from own_policies import InTurn
from globalbandits.simulation.provenance import own_code
model = gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8])
print(own_code(gb.Environment(model, 0.4), {"InTurn": InTurn()}))
"""


def test_other_processes_find_the_same_hash(written, tmp_path):
    written()
    found = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path)],
            capture_output=True,
            text=True,
            check=True,
            env={
                **os.environ,
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            },
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1
    assert "InTurn" in found.pop()
