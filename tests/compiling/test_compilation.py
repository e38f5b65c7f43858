"""Compiled copies of plain functions: the same answers, kept on disk, never out of date."""

import importlib.util
import itertools
import os
import subprocess
import sys
import threading
import time
from typing import NamedTuple

import numpy as np
import pytest
from numba.core.bytecode import FunctionIdentity
from numba.extending import intrinsic

from globalbandits.compiling import cache, compilation
from globalbandits.compiling.compilation import CompileError, compile_kernel, compile_routine


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of its own, on disk and in memory."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    forget_memory(monkeypatch)
    return tmp_path / "cache"


def forget_memory(monkeypatch):
    monkeypatch.setattr(compilation, "_KERNELS", {})
    monkeypatch.setattr(compilation, "_HELPERS", {})


def only_cache():
    (kernel,) = compilation._KERNELS.values()
    return kernel._cache


def write_and_import(path, text):
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("edited_rules", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RULES = """
STEP = 1.0

def helper(x):
    return x + STEP

def rule(x):
    return 2.0 * helper(x)
"""


def test_helpers_are_compiled_too(folder):
    def square(x):
        return x * x

    def kernel(x):
        return square(x) + 1.0

    assert compile_kernel(kernel, 3.0)(3.0) == 10.0
    assert kernel(3.0) == 10.0


def test_a_function_may_call_itself(folder):
    def factorial(n):
        if n <= 1:
            return 1
        return n * factorial(n - 1)

    def kernel(n):
        return factorial(n) + 1

    assert compile_kernel(kernel, 5)(5) == 121


def test_compiled_once_then_read_from_disk(folder, monkeypatch):
    def kernel(x):
        return x + 0.25

    assert compile_kernel(kernel, 1.0)(1.0) == 1.25
    assert (only_cache().hits, only_cache().saved) == (0, 1)
    assert len(list(folder.glob("*.nbc"))) == 1
    forget_memory(monkeypatch)
    assert compile_kernel(kernel, 1.0)(1.0) == 1.25
    assert (only_cache().hits, only_cache().saved) == (1, 0)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [("STEP = 1.0", "STEP = 2.0", 10.0), ("x + STEP", "x - STEP", 4.0), ("2.0 *", "3.0 *", 12.0)],
)
def test_an_edited_source_is_compiled_anew(folder, monkeypatch, tmp_path, old, new, expected):
    first = write_and_import(tmp_path / "edited_rules.py", RULES)
    assert compile_kernel(first.rule, 3.0)(3.0) == 8.0
    forget_memory(monkeypatch)
    second = write_and_import(tmp_path / "edited_rules.py", RULES.replace(old, new))
    assert compile_kernel(second.rule, 3.0)(3.0) == expected
    assert (only_cache().hits, only_cache().saved) == (0, 1)


def test_an_edited_helper_is_seen_in_a_running_process(folder, tmp_path):
    module = write_and_import(tmp_path / "edited_rules.py", RULES)
    assert compile_kernel(module.rule, 3.0)(3.0) == 8.0
    module.STEP = 5.0
    assert compile_kernel(module.rule, 3.0)(3.0) == 16.0


def test_what_numba_cannot_take(folder):
    def kernel(x):
        return eval("x")

    with pytest.raises(CompileError, match="eval"):
        compile_kernel(kernel, 1.0)


def test_what_llvm_cannot_take(folder):
    @intrinsic
    def crooked(typing_context, x):
        def write(context, builder, signature, arguments):
            return builder.add(arguments[0], arguments[0])  # of integers, which these are not

        return x(x), write

    def kernel(x):
        return crooked(x)

    with pytest.raises(CompileError, match="LLVM"):
        compile_kernel(kernel, 1.0)


def test_without_a_compiler(folder, monkeypatch):
    monkeypatch.setattr(compilation.config, "DISABLE_JIT", True)
    with pytest.raises(CompileError, match="NUMBA_DISABLE_JIT is set"):
        compile_kernel(lambda x: x, 1.0)


def test_what_cannot_be_told_is_compiled_but_not_kept(folder):
    class Thing:
        pass

    def kernel(x):
        if False:
            print(Thing)
        return x + 1.0

    assert compile_kernel(kernel, 1.0)(1.0) == 2.0
    assert not folder.exists()


SCRIPT = """
import numpy as np
from globalbandits.environments import Environment
from globalbandits.policies import WAGP, Uniform
from globalbandits.model import RewardModel
from globalbandits.compiling import compilation
from globalbandits.simulation import simulate

model = RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8])
result = simulate(Environment(model, 0.4), [WAGP(), Uniform()], 100, runs=2)
caches = [kernel._cache for kernel in compilation._KERNELS.values()]
print(sum(cache.hits for cache in caches), sum(cache.saved for cache in caches))
print(result.dataset["regret"].values.tobytes().hex()[-64:])
"""


def test_a_second_process_compiles_nothing(tmp_path):
    def run():
        environment = {**os.environ, cache.VARIABLE: str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    first, second = run(), run()
    assert first[0] == "0 6"  # two policies, the noise in two parts, numbers and scores
    assert second[0] == "6 0"
    assert first[1] == second[1]


class Numbers(NamedTuple):
    a: float
    b: float


class Swapped(NamedTuple):
    b: float
    a: float


def test_names_of_fields_are_part_of_the_key(folder):
    from globalbandits.compiling.views import View

    def kernel(numbers):
        return numbers.a - numbers.b

    for pair in (Numbers(a=3.0, b=1.0), Swapped(a=3.0, b=1.0)):
        view = View(pair)
        assert compile_kernel(kernel, view)(view) == 2.0
    assert len(list(folder.glob("*.nbc"))) == 2
    assert np.ndim(view.words) == 1


def test_other_threads_go_on_while_compiled_code_runs(folder):
    def kernel(n):
        total = 0.0
        for i in range(n):
            total += 1.0 / (1.0 + total + i)
        return total

    compiled = compile_kernel(kernel, 1)
    n = 1_000_000
    while True:  # until it takes long enough to tell
        begin = time.perf_counter()
        compiled(n)
        if (seconds := time.perf_counter() - begin) > 0.4:
            break
        n *= 2
    thread = threading.Thread(target=compiled, args=(n,))
    thread.start()
    longest, last = 0.0, time.perf_counter()
    while thread.is_alive():
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    assert longest < seconds / 2


def test_functions_of_one_name_from_two_processes_are_told_apart(folder, monkeypatch):
    def adding(step):
        def add(x):
            return x + step

        return add

    compile_routine(adding(0.0), 0.5)  # what all of them need has its numbers
    for step in (1.0, 2.0):  # as two processes would: each numbers its functions from the start
        monkeypatch.setattr(FunctionIdentity, "_unique_ids", itertools.count(10**6))
        forget_memory(monkeypatch)
        compile_routine(adding(step), 0.5)
    forget_memory(monkeypatch)
    first, _ = compile_routine(adding(1.0), 0.5)
    second, _ = compile_routine(adding(2.0), 0.5)
    again, _ = compile_routine(adding(1.0), 0.5)
    assert [kernel._cache.hits for kernel in compilation._KERNELS.values()] == [1, 1]
    assert first == again != second
