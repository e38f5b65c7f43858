"""Compiled learners: the same bits, from compiled code that is on disk."""

import dataclasses
import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.compiling import cache, compiler
from globalbandits.errors import PolicyError
from globalbandits.policies import WAGP, Learner
from tests.policies.families import model_of

POLICIES = [
    WAGP(),
    gb.ThompsonSampling(),
    gb.NonStationaryWAGP(half_window=20),
    gb.RandomEffectsThompson(),  # its estimates are fits that no decision uses
]


def feed(learners, n, seed=0):
    """Play the first learner's choices; all must choose alike, and all learn the rewards."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        arms = [learner.select() for learner in learners]
        assert len(set(arms)) == 1
        reward = float(rng.random())
        for learner in learners:
            learner.update(arms[0], reward)


def bits(learner):
    state = learner.state()
    del state["lineage"]  # a name of this very learner
    return json.dumps(state), learner.estimate


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_compiled_and_plain_learners_are_the_same(policy):
    model = model_of("pricing")
    plain, quick = (Learner(policy, model, seed=5, compiled=way) for way in (False, True))
    feed([plain, quick], 250)
    for learner in (plain, quick):
        learner.update([0, 3, 3], [0.25, 0.5, 0.75])
        if policy.rules.rebuild is not None:
            learner.forget(3, 0.5)
    assert bits(plain) == bits(quick)
    again = Learner.restore(policy, model, quick.state(), compiled=True)
    feed([plain, quick, again], 60)
    assert bits(plain) == bits(quick) == bits(again)
    (child,), (other,) = plain.fork(1), quick.fork(1)
    feed([child, other], 30)
    assert bits(child) == bits(other)
    assert plain.interval() == quick.interval()


def test_choices_among_some_arms_are_compiled_and_the_same():
    shop = gb.RewardModel(
        "expit(2 + context - arm*theta)",
        [1.0, 2.0, 3.0],
        (0.5, 3.0),
        contexts={"weekday": 0.0, "weekend": 1.0},
    )
    plays = []
    for compiled in (False, True):
        learner = gb.Learner(gb.ThompsonSampling(), shop, seed=3, compiled=compiled)
        made = []
        for number in range(30):
            context = shop.contexts[number % 2]
            allowed = None if number % 3 else [0, 2]
            arm = learner.select(context=context, allowed=allowed)
            learner.update(arm, float(number % 4 == 0), context=context)
            made.append(arm)
        chances = learner.probabilities(context="weekend", allowed=[0, 1], draws=50)
        plays.append((made, chances.values.tolist()))
        assert (learner._calls._choose_among is not None) is compiled
    assert plays[0] == plays[1]


def test_wrong_values_of_compiled_are_refused():
    with pytest.raises(PolicyError, match="compiled must be True, False or None, got 1"):
        Learner(WAGP(), model_of("pricing"), compiled=1)


def test_a_policy_that_cannot_be_compiled_is_reported():
    def in_words(setup, stats, state, rng):
        return eval("0")

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Wordless(gb.Policy):
        rules = WAGP.rules._replace(select=in_words)

        def setup(self, model):
            return WAGP().setup(model)

    with pytest.warns(RuntimeWarning, match="Wordless cannot be compiled and runs in plain Python"):
        learner = Learner(Wordless(), model_of("pricing"), compiled=True)
    learner.update(learner.select(), 0.5)
    assert learner.pulls.tolist() == [1] + [0] * 11


def test_threads_share_a_compiled_learner(monkeypatch):
    learner = Learner(WAGP(), model_of("pricing"), seed=1, compiled=True)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [
            threading.Thread(
                target=lambda: [learner.update(learner.select(), 0.5) for _ in range(500)]
            )
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert learner.n_observations == 2_000
    assert learner.pulls.sum() == 2_000
    twin = Learner(WAGP(), model_of("pricing"), compiled=False)
    for arm, n in enumerate(learner.pulls.tolist()):
        twin.update([arm] * n, [0.5] * n)
    assert learner.estimate == twin.estimate


def run(script, tmp_path, *arguments):
    """The output of a script in another process, with an empty cache."""
    done = subprocess.run(
        [sys.executable, "-c", PREAMBLE + script, *arguments],
        env={**os.environ, cache.VARIABLE: str(tmp_path / "cache")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.split()


PREAMBLE = """
import sys
import globalbandits as gb

model = gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8])

def step(*learners):
    arms = [learner.select() for learner in learners]
    assert len(set(arms)) == 1
    for learner in learners:
        learner.update(arms[0], 0.1 + 0.2 * arms[0])
"""

SHORT = """
learner = gb.Learner(gb.WAGP(), model, seed=1)
for _ in range(200):
    step(learner)
print("numba" in sys.modules, learner._calls.is_compiled)
"""

TWINS = """
learner, twin = (gb.Learner(gb.WAGP(), model, seed=1, compiled=way) for way in (None, False))
for _ in range(200):
    step(learner, twin)
assert learner.estimate == twin.estimate
assert learner.evidence.counts.tobytes() == twin.evidence.counts.tobytes()
print("numba" in sys.modules, learner._calls.is_compiled, twin._calls.is_compiled)
"""


def compile_code(policy, tmp_path, monkeypatch):
    """Leave the compiled code of a policy in an otherwise empty cache; its file."""
    with monkeypatch.context() as patch:
        patch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
        patch.setattr(compiler, "_KERNELS", {})
        before = set((tmp_path / "cache").glob("*.nbc"))
        Learner(policy, model_of("pricing"), compiled=True)
    (file,) = set((tmp_path / "cache").glob("*.nbc")) - before
    return file


def test_a_script_uses_the_compiled_code_that_is_on_disk(tmp_path, monkeypatch):
    assert run(SHORT, tmp_path) == ["False", "False"]
    compile_code(gb.UCB1(), tmp_path, monkeypatch)  # code of another policy
    assert run(SHORT, tmp_path) == ["False", "False"]
    file = compile_code(WAGP(), tmp_path, monkeypatch)
    assert run(TWINS, tmp_path) == ["True", "True", "False"]
    assert run(SHORT.replace("seed=1", "seed=1, compiled=False"), tmp_path) == ["False", "False"]
    file.write_bytes(file.read_bytes()[:-1])
    assert run(SHORT, tmp_path) == ["True", "False"]


def test_code_in_memory_is_used(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(compiler, "_KERNELS", {})
    model = model_of("pricing")
    assert not Learner(WAGP(), model)._calls.is_compiled
    Learner(WAGP(), model, compiled=True)
    (file,) = (tmp_path / "cache").glob("*.nbc")
    file.unlink()
    assert Learner(WAGP(), model)._calls.is_compiled


OWN = """
import dataclasses

class Unknown:
    pass

def select(setup, stats, state, rng):
    if False:
        print(Unknown)
    return 0

@dataclasses.dataclass(frozen=True, kw_only=True)
class Own(gb.Policy):
    rules = gb.WAGP.rules._replace(select=select)

    def setup(self, model):
        return gb.WAGP().setup(model)

first, second = (gb.Learner(Own(), model, seed=1, compiled=way) for way in (True, None))
step(first, second)
print(first._calls.is_compiled, second._calls.is_compiled)
"""


def test_code_that_cannot_be_kept_is_compiled_by_its_learner_only(tmp_path):
    assert run(OWN, tmp_path) == ["True", "False"]
    assert not list((tmp_path / "cache").glob("*.nbc"))
