"""Kernels compiled in one piece: the same answers as Numba's own way, errors and rings too."""

import os
import subprocess
import sys

import numba
import pytest

from globalbandits.compiling import cache, compilation, pipeline
from globalbandits.compiling.compilation import compile_kernel


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A cache of its own, on disk and in memory."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(compilation, "_KERNELS", {})
    monkeypatch.setattr(compilation, "_HELPERS", {})


def helper(x):
    if x < 0.0:
        raise ValueError("negative")
    return x + 1.0


def outer(x):
    return 2.0 * helper(x)


def kernel(x):
    return outer(x) + helper(x)


def is_even(n):
    return True if n == 0 else is_odd(n - 1)


def is_odd(n):
    return False if n == 0 else is_even(n - 1)


def ring(n):
    return is_even(n)


MODES = (1, 2)


def other(x):
    return 3.0 * outer(x)


def play(mode, x):
    return other(x) if mode == 0 else outer(x) - helper(x)


def test_the_trial_holds_with_the_numba_that_is_here():
    assert pipeline.works()


def test_helpers_have_no_code_of_their_own():
    assert compile_kernel(kernel, 1.0)(1.0) == 6.0
    helpers = list(compilation._HELPERS.values())
    assert len(helpers) == 2
    for dispatcher in helpers:
        (result,) = dispatcher.overloads.values()
        assert isinstance(result.library, pipeline._Linked)
    ((result,),) = [dispatcher.overloads.values() for dispatcher in compilation._KERNELS.values()]
    defined = [f.name for f in result.library.get_defined_functions() if "helper" in f.name]
    assert defined == []  # inlined, and dropped


@pytest.mark.parametrize("works", [True, False])
def test_errors_of_helpers_are_raised(monkeypatch, works):
    monkeypatch.setitem(pipeline._state, "works", works)
    with pytest.raises(ValueError, match="negative"):
        compile_kernel(kernel, 1.0)(-1.0)


@pytest.mark.parametrize("works", [True, False])
def test_helpers_that_only_dead_code_calls(monkeypatch, works):
    def one_mode(x):  # LLVM sees that the number is 1, and drops the call of `other`
        return play(MODES[0], x)

    def no_mode(x):
        return x - 1.0 if MODES[0] == 1 else other(x)

    monkeypatch.setitem(pipeline._state, "works", works)
    assert compile_kernel(one_mode, 1.0)(1.0) == one_mode(1.0) == 2.0
    assert compile_kernel(no_mode, 1.0)(1.0) == no_mode(1.0) == 0.0


@pytest.mark.parametrize("works", [True, False])
def test_functions_that_call_each_other(monkeypatch, works):
    monkeypatch.setitem(pipeline._state, "works", works)
    compiled = compile_kernel(ring, 5)
    assert [compiled(n) for n in range(4)] == [True, False, True, False]


def test_functions_that_the_user_has_compiled():
    @numba.njit
    def theirs(x):
        return x * 3.0

    def with_theirs(x):
        return theirs(x) + helper(x)

    assert compile_kernel(with_theirs, 1.0)(1.0) == 5.0
    assert theirs(2.0) == 6.0
    assert theirs.py_func(2.0) == 6.0


def test_helpers_serve_several_kernels():
    def one(x):
        return helper(x) * 2.0

    def two(x):
        return helper(x) - 2.0

    assert compile_kernel(one, 1.0)(1.0) == 4.0
    assert compile_kernel(two, 1.0)(1.0) == 0.0
    assert len(compilation._HELPERS) == 1


def test_another_numba_is_taken_as_it_is(monkeypatch):
    def no_passes(self):
        raise AttributeError("no such passes")

    monkeypatch.setattr(pipeline, "_state", {})
    monkeypatch.setattr(pipeline._Whole, "_optimize_final_module", no_passes)
    with pytest.warns(RuntimeWarning, match=r"Numba .* is taken as it is, .*: no such passes"):
        assert compile_kernel(kernel, 1.0)(1.0) == 6.0
    assert not pipeline.works()


def test_a_wrong_answer_of_the_trial_is_noticed(monkeypatch):
    monkeypatch.setattr(pipeline, "_state", {})
    monkeypatch.setattr(pipeline, "_trial", lambda: (lambda x: 7.0, None))
    assert not pipeline.works()
    assert compile_kernel(kernel, 1.0)(1.0) == 6.0


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from globalbandits.compiling import compilation
from rules import loud, ring
kernel, rings = compilation.compile_kernel(loud, 1.0), compilation.compile_kernel(ring, 1)
print(kernel(1.0), rings(3), rings(4))
for wrong in (-1.0, -2.0):
    try:
        kernel(wrong)
    except ValueError as error:
        print(repr(error))
print(sum(kernel._cache.hits for kernel in compilation._KERNELS.values()))
"""
RULES = """
def check(x):
    if x == -1.0:
        raise ValueError("minus one", 3)
    if x < 0.0:
        raise ValueError("negative", x)
    return x

def loud(x):
    if x > 0.5:
        print("large", x)
    return 2.0 * check(x)

def is_even(n):
    return True if n == 0 else is_odd(n - 1)

def is_odd(n):
    return False if n == 0 else is_even(n - 1)

def ring(n):
    return is_even(n)
"""


def test_a_second_process_raises_the_same_errors(tmp_path):
    (tmp_path / "rules.py").write_text(RULES)
    environment = {**os.environ, cache.VARIABLE: str(tmp_path / "files")}
    lines = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path)],
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        lines.append(done.stdout.splitlines())
    expected = [
        "large 1.0",
        "2.0 False True",
        "ValueError('minus one', 3)",
        "ValueError('negative', -2.0)",
    ]
    # A ring of functions is compiled anew: its code holds addresses.
    assert lines == [[*expected, "0"], [*expected, "1"]]
