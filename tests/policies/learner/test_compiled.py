"""Compiled learners: the same bits, taken in the background, and nobody has to wait for them."""

import dataclasses
import json
import math
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.compiling import cache
from globalbandits.compiling.children import Child, ChildError
from globalbandits.errors import PolicyError
from globalbandits.policies import WAGP, Learner
from globalbandits.policies.learner import workshop
from tests.policies.families import model_of

POLICIES = [WAGP(), gb.ThompsonSampling(), gb.NonStationaryWAGP(half_window=20)]


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


def test_what_compiled_may_be():
    with pytest.raises(PolicyError, match="compiled must be True, False or None, got 1"):
        Learner(WAGP(), model_of("pricing"), compiled=1)


def test_a_policy_that_cannot_be_compiled_says_so():
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
    """The words of a script in a process of its own, with an empty cache."""
    done = subprocess.run(
        [sys.executable, "-c", PREAMBLE + script, *arguments],
        env={**os.environ, cache.VARIABLE: str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.split()


PREAMBLE = """
import os, sys, time
import globalbandits as gb
from globalbandits.compiling import children
from globalbandits.policies.learner import workshop

model = gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8])

def at_any_price():
    workshop.PRICE_OF_LOADING = workshop.PRICE_OF_CODE = workshop.PRICE_OF_COMPILING = 0.0

def is_swapped(learner):
    return learner._calls._call is not None

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
print("numba" in sys.modules)
"""


def test_a_short_script_does_not_load_numba(tmp_path):
    assert run(SHORT, tmp_path) == ["False"]


SWAP = """
at_any_price()
learner, twin = (gb.Learner(gb.WAGP(), model, seed=1, compiled=way) for way in (None, False))
n, begun = 0, time.perf_counter()
while not is_swapped(learner) and time.perf_counter() - begun < 60:
    step(learner, twin)
    n += 1
    time.sleep(0.001)
for _ in range(200):
    step(learner, twin)
assert learner.estimate == twin.estimate
assert learner.evidence.counts.tobytes() == twin.evidence.counts.tobytes()
late = gb.Learner(gb.WAGP(), model, seed=2)
step(late)
print(n > 10, is_swapped(learner), is_swapped(late))
"""


def test_code_is_taken_when_it_is_there(tmp_path):
    assert run(SWAP, tmp_path) == ["True", "True", "True"]
    assert len(list((tmp_path / "cache").glob("*.nbc"))) == 1


OWN = """
import dataclasses

@dataclasses.dataclass(frozen=True, kw_only=True)
class Own(gb.Policy):
    rules = gb.WAGP.rules._replace(estimate=lambda setup, stats, state: 0.5)

    def setup(self, model):
        return gb.WAGP().setup(model)

at_any_price()
learner, twin = (gb.Learner(Own(), model, seed=1, compiled=way) for way in (None, False))
begun = time.perf_counter()
while not is_swapped(learner) and time.perf_counter() - begun < 60:
    step(learner, twin)
    time.sleep(0.001)
for _ in range(50):
    step(learner, twin)
print(is_swapped(learner), learner.pulls.tolist() == twin.pulls.tolist())
"""


def test_a_policy_of_the_main_module_stays_plain(tmp_path):
    # The plain function takes the place of the compiled one, so that nothing is asked again.
    assert run(OWN, tmp_path) == ["True", "True"]
    assert not list((tmp_path / "cache").glob("*.nbc"))


LEAVE = """
at_any_price()
learner = gb.Learner(gb.Elastic(), model, seed=1)
step(learner)
begun = time.perf_counter()
while not children._running and time.perf_counter() - begun < 60:
    time.sleep(0.01)
(child,) = children._running
time.sleep(float(sys.argv[1]))
print(child._process.pid)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="processes are looked for in another way there")
@pytest.mark.parametrize("after", ["0", "1.0"])
def test_nobody_waits_for_it_at_the_end(tmp_path, after):
    # Elastic takes several seconds to compile, and would have left its code.
    (pid,) = run(LEAVE, tmp_path, after)
    assert not list((tmp_path / "cache").glob("*.nbc"))
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)


EARLY = """
at_any_price()
learner = gb.Learner(gb.WAGP(), model, seed=1)
step(learner)  # which starts to import Numba
print("end")
"""


def test_the_end_may_come_while_numba_is_imported(tmp_path):
    assert run(EARLY, tmp_path) == ["end"]


FORK = """
at_any_price()
learner = gb.Learner(gb.WAGP(), model, seed=1)
step(learner)
forks = []
for pause in (0.0, 0.05, 0.2, 0.8):
    time.sleep(pause)
    pid = os.fork()
    if pid == 0:
        begun = time.perf_counter()
        while not is_swapped(learner) and time.perf_counter() - begun < 60:
            step(learner)
            time.sleep(0.001)
        os._exit(0 if is_swapped(learner) else 1)
    forks.append(pid)
print([os.waitpid(pid, 0)[1] for pid in forks])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forks_while_it_happens(tmp_path):
    run("gb.Learner(gb.WAGP(), model, compiled=True)", tmp_path)  # so that code is on disk
    words = run("import warnings; warnings.simplefilter('ignore')" + FORK, tmp_path)
    assert "".join(words) == "[0,0,0,0]"


def test_what_a_child_cannot_do():
    with pytest.raises(ChildError, match="cannot be sent to another process"):
        Child(lambda argument: None, None)
    child = Child(math.sqrt, -1.0)
    with pytest.raises(ChildError, match="ended with the code 1"):
        child.wait()
    Child(math.sqrt, 4.0, background=True).wait()


def test_a_child_without_a_program(monkeypatch):
    import math

    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(ChildError, match="there is no Python program to start"):
        Child(math.sqrt, 4.0)
    monkeypatch.setattr(sys, "executable", "/no/such/program")
    with pytest.raises(ChildError, match="cannot start a process"):
        Child(math.sqrt, 4.0)


def test_workshops_are_shared():
    assert workshop.workshop_of(WAGP().rules) is workshop.workshop_of(WAGP().rules)
