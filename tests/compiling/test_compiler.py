"""Compiled copies of plain functions: the same answers, kept on disk, never out of date."""

import ast
import itertools
import os
import pty
import re
import subprocess
import sys
import threading
import time
import types
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba.core.bytecode import FunctionIdentity
from numba.core.runtime import _nrt_python, rtsys
from numba.extending import intrinsic

from globalbandits.compiling import cache, compiler
from globalbandits.compiling.compiler import CompileError, compile_kernel, compile_routine


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of its own, on disk and in memory."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    forget_memory(monkeypatch)
    return tmp_path / "cache"


def forget_memory(monkeypatch):
    monkeypatch.setattr(compiler, "_KERNELS", {})
    monkeypatch.setattr(compiler, "_HELPERS", {})


def counts():
    """How many signatures of the only kernel were loaded from disk, and how many saved."""
    (kernel,) = compiler._KERNELS.values()
    return kernel.n_loaded, kernel.n_saved


def write_and_import(path, text):
    """A module without byte code on disk, which would hide an edit within the same second."""
    path.write_text(text)
    module = types.ModuleType("edited_rules")
    exec(compile(text, path, "exec"), vars(module))
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
    assert counts() == (0, 0)  # Numba links recursive functions by addresses of this process


def test_internals_of_numba_are_those_the_documents_name():
    room = Path(compiler.__file__).parent
    used = set()
    for file in room.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("numba."):
                used |= {f"{node.module}.{alias.name}" for alias in node.names}
    internal = {name for name in used if not name.startswith("numba.extending.")}
    page = (Path(__file__).parents[2] / "docs" / "compiling.md").read_text()
    assert internal == set(re.findall(r"^\| `(numba\.[\w.]+)`", page, re.MULTILINE))


def test_compiled_once_then_read_from_disk(folder, monkeypatch):
    def kernel(x):
        return x + 0.25

    assert compile_kernel(kernel, 1.0)(1.0) == 1.25
    assert counts() == (0, 1)
    assert len(list(folder.glob("*.nbc"))) == 1
    forget_memory(monkeypatch)
    assert compile_kernel(kernel, 1.0)(1.0) == 1.25
    assert counts() == (1, 0)


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
    assert counts() == (0, 1)


def test_an_edited_helper_is_seen_in_a_running_process(folder, tmp_path):
    module = write_and_import(tmp_path / "edited_rules.py", RULES)
    assert compile_kernel(module.rule, 3.0)(3.0) == 8.0
    module.STEP = 5.0
    assert compile_kernel(module.rule, 3.0)(3.0) == 16.0


def test_code_that_numba_cannot_compile_is_an_error(folder):
    def kernel(x):
        return eval("x")

    with pytest.raises(CompileError, match="eval"):
        compile_kernel(kernel, 1.0)


def test_code_that_llvm_cannot_compile_is_an_error(folder):
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
    monkeypatch.setattr(compiler.config, "DISABLE_JIT", True)
    with pytest.raises(CompileError, match="NUMBA_DISABLE_JIT is set"):
        compile_kernel(lambda x: x, 1.0)


def test_code_without_a_fingerprint_is_compiled_but_not_cached(folder):
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
from globalbandits.compiling import compiler
from globalbandits.simulation import simulate

model = RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8])
result = simulate(Environment(model, 0.4), [WAGP(), Uniform()], 100, runs=2)
kernels = compiler._KERNELS.values()
print(sum(kernel.n_loaded for kernel in kernels), sum(kernel.n_saved for kernel in kernels))
print(result.dataset["regret"].values.tobytes().hex()[-64:])
"""


def test_a_second_process_compiles_nothing_and_compiling_is_announced_once(tmp_path):
    ours, theirs = pty.openpty()
    environment = {**os.environ, cache.VARIABLE: str(tmp_path)}

    def run():
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=theirs,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()

    try:
        first, second = run(), run()
        os.write(theirs, b"end")
        said = b""
        while not said.endswith(b"end"):  # a terminal gives what it has, not all there will be
            said += os.read(ours, 1000)
    finally:
        os.close(ours)
        os.close(theirs)
    assert said == b"compiling 2 policies, once: WAGP, Uniform\r\nend"
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


def test_other_threads_run_while_compiled_code_runs(folder):
    def wait(signal, turns, limit):
        while signal[0] == 0 and turns[0] < limit:
            turns[0] += 1

    signal, turns = np.zeros(1, np.int64), np.zeros(1, np.int64)
    limit = 3 * 10**10  # tens of seconds: reached only if this thread cannot set the signal
    compiled = compile_kernel(wait, signal, turns, limit)
    thread = threading.Thread(target=compiled, args=(signal, turns, limit))
    thread.start()
    while turns[0] == 0:
        time.sleep(0.001)
    signal[0] = 1
    thread.join()
    assert turns[0] < limit


def test_functions_of_one_name_from_two_processes_are_distinguished(folder, monkeypatch):
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
    assert [kernel.n_loaded for kernel in compiler._KERNELS.values()] == [1, 1]
    assert first == again != second


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


def inlining():
    """How each helper is inlined, by name."""
    return {
        dispatcher.py_func.__name__: (
            dispatcher.targetoptions.get("inline"),
            dispatcher.targetoptions.get("forceinline"),
        )
        for dispatcher in compiler._HELPERS.values()
    }


def test_a_helper_with_one_caller_is_inlined(folder, monkeypatch):
    assert compile_kernel(kernel, 1.0)(1.0) == 6.0
    assert inlining() == {"outer": ("always", False), "helper": (None, False)}
    forget_memory(monkeypatch)
    monkeypatch.setattr(compiler, "_MAX_SHORT_BYTES", 0)
    monkeypatch.setenv(cache.VARIABLE, str(folder / "other"))
    assert compile_kernel(kernel, 1.0)(1.0) == 6.0
    # A helper would inherit `forceinline` from its caller if it were not set.
    assert inlining() == {"outer": (None, True), "helper": (None, False)}


def test_a_helper_that_cannot_be_inlined_is_called(folder):
    def rest(first, *others):
        return first + others[0]

    def numbers(n):
        yield n
        yield n + 1

    def caller(n):
        total = 0
        for number in numbers(n):
            total += number
        return total + rest(n, 2 * n)

    assert compile_kernel(caller, 5)(5) == caller(5) == 26
    assert compile_kernel(caller, 6)(6) == 31


def test_errors_of_helpers_are_raised(folder):
    with pytest.raises(ValueError, match="negative"):
        compile_kernel(kernel, 1.0)(-1.0)


def test_helpers_that_only_dead_code_calls(folder):
    def one_mode(x):  # LLVM sees that the number is 1, and drops the call of `other`
        return play(MODES[0], x)

    def no_mode(x):
        return x - 1.0 if MODES[0] == 1 else other(x)

    assert compile_kernel(one_mode, 1.0)(1.0) == one_mode(1.0) == 2.0
    assert compile_kernel(no_mode, 1.0)(1.0) == no_mode(1.0) == 0.0


def test_functions_that_call_each_other(folder):
    compiled = compile_kernel(ring, 5)
    assert [compiled(n) for n in range(4)] == [True, False, True, False]


def test_functions_that_the_user_has_compiled(folder):
    @numba.njit
    def theirs(x):
        return x * 3.0

    def with_theirs(x):
        return theirs(x) + helper(x)

    assert compile_kernel(with_theirs, 1.0)(1.0) == 5.0
    assert theirs(2.0) == 6.0
    assert theirs.py_func(2.0) == 6.0


def test_helpers_serve_several_kernels(folder):
    def one(x):
        return helper(x) * 2.0

    def two(x):
        return helper(x) - 2.0

    assert compile_kernel(one, 1.0)(1.0) == 4.0
    assert compile_kernel(two, 1.0)(1.0) == 0.0
    assert len(compiler._HELPERS) == 1


LOUD_SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from globalbandits.compiling import compiler
from rules import loud, ring
kernel, rings = compiler.compile_kernel(loud, 1.0), compiler.compile_kernel(ring, 1)
print(kernel(1.0), rings(3), rings(4))
for wrong in (-1.0, -2.0):
    try:
        kernel(wrong)
    except ValueError as error:
        print(repr(error))
print(sum(kernel.n_loaded for kernel in compiler._KERNELS.values()))
"""
LOUD_RULES = """
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
    (tmp_path / "rules.py").write_text(LOUD_RULES)
    environment = {**os.environ, cache.VARIABLE: str(tmp_path / "files")}
    lines = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", LOUD_SCRIPT, str(tmp_path)],
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


def total(values):
    result = 0.0
    for i in range(values.shape[0]):
        result += values[i]
    return result


def room(n):
    return np.zeros(n)


def first(values):
    return values[:1]


def picked(values, places):
    return values[places][0]


def filled(values, others):
    values[:] = others
    return values[0]


def doubled(values):
    return total(values + values)


def listed(values):
    return len([values, values])


def walked(values):
    result = 0.0
    for value in values:
        result += value
    return result


def refused(values):
    if values[0] < 0.0:
        raise ValueError("negative", values[0])
    return values[0]


def make(n):
    kept = first(room(n))
    places = np.arange(n)
    other = room(n)
    other[0] = 1.0
    return (
        picked(other, places)
        + total(kept)
        + filled(room(n), other)
        + doubled(other)
        + listed(other)
        + walked(other)
        + refused(other)
    )


@pytest.fixture
def counted():
    _nrt_python.memsys_enable_stats()
    yield
    _nrt_python.memsys_disable_stats()


def test_memory_is_freed_exactly_once(folder, counted):
    kernel = compile_kernel(make, 3)
    kernel(3)
    before = rtsys.get_allocation_stats()
    for n in range(3, 400):
        assert kernel(n) == 8.0
    after = rtsys.get_allocation_stats()
    assert after.alloc - before.alloc == after.free - before.free
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free


def test_messages_have_no_colours(folder, monkeypatch):
    def wrong(x):
        return x.nothing

    with pytest.raises(CompileError) as error:
        compile_kernel(wrong, 1.0)
    assert "\x1b" not in str(error.value)
    coloured = RuntimeError("Failed in nopython\n\x1b[1m\x1b[31mno such \x1b[0mthing")
    assert compiler._first_line(coloured) == "no such thing"
