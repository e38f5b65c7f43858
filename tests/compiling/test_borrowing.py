"""References are not counted where arrays are only borrowed, and are counted everywhere else."""

from typing import NamedTuple

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

from globalbandits.compiling import borrowing, cache, compilation
from globalbandits.compiling.compilation import compile_kernel
from globalbandits.compiling.views import View


class Pair(NamedTuple):
    a: np.ndarray
    b: np.ndarray


@pytest.fixture(autouse=True)
def borrowers(tmp_path, monkeypatch):
    """Which of the functions compiled in a test only borrow, by name."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    monkeypatch.setattr(compilation, "_KERNELS", {})
    monkeypatch.setattr(compilation, "_HELPERS", {})
    found = {}

    def noted(state):
        name, _, _ = state.func_id.func_name.rpartition("_")  # without what tells its content
        found[name] = only_borrows(state)
        return found[name]

    only_borrows = borrowing.only_borrows
    monkeypatch.setattr(borrowing, "only_borrows", noted)
    return found


def total(values):
    result = 0.0
    for i in range(values.shape[0]):
        result += values[i]
    return result


def spread(pair):
    row = pair.b[1]
    for array in (pair.a, row, row[1:]):
        array[0] += 1.0
    column = pair.b[:, 0]
    column[1] += 1.0
    return total(pair.a) + 10.0 * total(row)


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


def test_who_only_borrows(borrowers):
    pair = Pair(np.zeros(3), np.zeros((2, 3)))
    assert compile_kernel(spread, View(pair))(View(pair)) == 1.0 + 10.0 * 3.0
    plain = Pair(np.zeros(3), np.zeros((2, 3)))
    assert spread(plain) == 31.0
    assert pair.a.tolist() == plain.a.tolist()
    assert pair.b.tolist() == plain.b.tolist()
    assert borrowers["total"]
    assert borrowers["spread"]
    for dispatcher in compilation._HELPERS.values():
        (result,) = dispatcher.overloads.values()
        assert "NRT_" not in str(result.library._final_module)


def test_who_makes_or_hands_out_arrays_counts(borrowers):
    kernel = compile_kernel(make, 3)
    assert kernel(3) == make(3) == 8.0
    owners = ("make", "room", "first", "picked", "filled", "doubled", "listed", "walked", "refused")
    assert borrowers["total"]
    assert [borrowers[name] for name in owners] == [False] * len(owners)


@pytest.fixture
def counted():
    _nrt_python.memsys_enable_stats()
    yield
    _nrt_python.memsys_disable_stats()


def test_nothing_is_left_and_nothing_freed_twice(counted):
    kernel = compile_kernel(make, 3)
    kernel(3)
    before = rtsys.get_allocation_stats()
    for n in range(3, 400):
        assert kernel(n) == 8.0
    after = rtsys.get_allocation_stats()
    assert after.alloc - before.alloc == after.free - before.free
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free
