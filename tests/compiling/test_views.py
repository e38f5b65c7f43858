"""Views: compiled code reads and writes a NamedTuple through one pointer."""

from typing import NamedTuple

import numpy as np
import pytest

from globalbandits.compiling.compiler import CompileError, compile_kernel
from globalbandits.compiling.views import View, ViewError


class Inner(NamedTuple):
    vector: np.ndarray
    flag: bool


class Outer(NamedTuple):
    count: int
    inner: Inner
    ratio: float
    matrix: np.ndarray
    rng: np.random.Generator
    numbers: np.ndarray


def example():
    return Outer(
        count=-7,
        inner=Inner(np.arange(3.0), True),
        ratio=0.1,
        matrix=np.arange(12.0).reshape(3, 4)[:, ::2],
        rng=np.random.default_rng(5),
        numbers=np.array([3, 4]),
    )


def read(outer):
    total = outer.ratio + outer.count + outer.numbers[1]
    if outer.inner.flag:
        total += outer.inner.vector[2]
    return total + outer.matrix[2, 1] + outer.matrix.shape[1] + outer.rng.random()


def write(outer):
    outer.inner.vector[0] = 9.0
    outer.numbers[0] += outer.count
    outer.matrix[1, 1] = -1.0


def test_every_kind_of_field_is_read():
    view = View(example())
    assert compile_kernel(read, view)(view) == read(example())


def test_a_generator_is_shared():
    value = example()
    view = View(value)
    first = compile_kernel(read, view)(view) - read(value)
    drawn = np.random.default_rng(5).random(2)
    assert first == pytest.approx(drawn[0] - drawn[1])


def test_arrays_are_shared():
    ours, theirs = example(), example()
    view = View(ours)
    compile_kernel(write, view)(view)
    write(theirs)
    assert ours.inner.vector.tolist() == theirs.inner.vector.tolist() == [9.0, 1.0, 2.0]
    assert ours.numbers.tolist() == theirs.numbers.tolist() == [-4, 4]
    assert ours.matrix.tolist() == theirs.matrix.tolist()


def test_a_field_that_does_not_exist():
    view = View(example())
    with pytest.raises(CompileError, match="attribute 'missing'"):
        compile_kernel(lambda outer: outer.missing, view)


def test_unsupported_field_types_are_refused():
    with pytest.raises(ViewError, match="field 'flag' is a str"):
        View(Inner(np.zeros(1), "yes"))
