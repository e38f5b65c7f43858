"""The key of compiled code changes with everything the code was made from."""

import enum
import math
import types
from typing import NamedTuple

import numba
import numpy as np
import pytest

from globalbandits.compiling.fingerprint import (
    KEPT_KEYS,
    FingerprintError,
    fingerprint,
    referenced_names,
)

SOURCE = """
import math
import numpy as np
from typing import NamedTuple
import helpers

FACTOR = 2.0
TABLE = np.array([1.0, 2.0])

class Point(NamedTuple):
    x: float
    y: float

def helper(x, by=1.0):
    return math.sqrt(x) * FACTOR + by

def inner(x):
    return helper(x) + TABLE[0] + helpers.shift(x)

def outer(x):
    return inner(x) + (lambda y: y + 1)(x) + Point(x, x).x
"""
# Nothing in it can change in place.
SETTLED = (
    SOURCE.replace("np.array([1.0, 2.0])", "(1.0, 2.0)")
    + """
def hold(value):
    return lambda x, y: min(x, y) * value

held = hold(2.0)

def outer(x):
    return inner(x) + held(x, x)
"""
)
HELPERS = "def shift(x):\n    return x + 3\n\ndef unused(x):\n    return x\n"


def scope_of(source=SOURCE, helpers=HELPERS):
    """The names of a module made from these texts."""
    helper_module = types.ModuleType("helpers")
    exec(compile(helpers, "helpers.py", "exec"), helper_module.__dict__)
    scope = {"__name__": "edited"}
    body = compile(source.replace("import helpers\n", ""), "edited.py", "exec")
    scope["helpers"] = helper_module
    exec(body, scope)
    return scope


def key_of(source=SOURCE, helpers=HELPERS):
    """The fingerprint of `outer` of a module made from these texts."""
    return fingerprint(scope_of(source, helpers)["outer"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("y + 1", "y + 2"),
        ("FACTOR = 2.0", "FACTOR = 2.5"),
        ("[1.0, 2.0]", "[1.5, 2.0]"),
        ("math.sqrt(x)", "math.exp(x)"),
        ("by=1.0", "by=1.5"),
        ("    y: float", "    z: float"),
        ("helper(x) +", "helper(x) -"),
        ("helpers.shift", "helpers.unused"),
    ],
)
def test_an_edit_anywhere_changes_the_key(old, new):
    assert old in SOURCE
    assert key_of() != key_of(SOURCE.replace(old, new))


def test_an_edit_in_another_module_changes_the_key():
    assert key_of() != key_of(helpers=HELPERS.replace("x + 3", "x + 4"))


def test_what_is_not_used_does_not_matter():
    assert key_of() == key_of()
    assert key_of() == key_of(SOURCE + "\nother = 5\n# a comment\n")
    assert key_of() == key_of(helpers=HELPERS.replace("    return x\n", "    return 2 * x\n"))


def test_closures_matter():
    def scaled(factor, function):
        return lambda x: factor * function(x)

    assert fingerprint(scaled(2.0, math.sqrt)) == fingerprint(scaled(2.0, math.sqrt))
    assert fingerprint(scaled(2.0, math.sqrt)) != fingerprint(scaled(3.0, math.sqrt))
    assert fingerprint(scaled(2.0, math.sqrt)) != fingerprint(scaled(2.0, math.exp))
    assert fingerprint(scaled(2.0, lambda x: x)) != fingerprint(scaled(2.0, lambda x: -x))


def other(x):
    return -x


@pytest.mark.parametrize(
    "change",
    [
        lambda scope: scope.update(FACTOR=2.5),
        lambda scope: scope.update(helper=other),
        lambda scope: scope.update(min=other),  # it stood for the built-in function before
        lambda scope: setattr(scope["helper"], "__defaults__", (2.0,)),
        lambda scope: setattr(scope["helper"], "__kwdefaults__", {"by": 2.0}),
        lambda scope: setattr(scope["helper"], "__code__", other.__code__),
        lambda scope: setattr(scope["helpers"], "shift", other),
        lambda scope: setattr(scope["helpers"], "TABLE", 4.0),
        lambda scope: setattr(scope["held"].__closure__[0], "cell_contents", 3.0),
    ],
    ids=[
        "constant", "function", "built-in function", "default", "keyword", "code", "other module",
        "new in a module", "closure",
    ],
)  # fmt: skip
def test_a_kept_key_is_given_up_when_anything_changes(change):
    scope = scope_of(SETTLED)
    before = fingerprint(scope["outer"])
    assert scope["outer"] in KEPT_KEYS
    assert fingerprint(scope["outer"]) == before
    change(scope)
    assert fingerprint(scope["outer"]) != before


def test_keys_of_functions_with_arrays_are_not_kept():
    scope = scope_of()
    before = fingerprint(scope["outer"])
    assert scope["outer"] not in KEPT_KEYS
    scope["TABLE"][0] = 7.0
    assert fingerprint(scope["outer"]) != before


class Colour(enum.IntEnum):
    RED = 1


class Pair(NamedTuple):
    a: int
    b: int


@pytest.mark.parametrize(
    "value",
    [
        None, ..., True, 3, 2.5, 1j, "a", b"a", (1, "b"), [1], frozenset({1}), Pair(1, 2), Pair,
        Colour, Colour.RED, np.float64(2.0), np.zeros(2), np.zeros, np.sqrt, np.searchsorted, math,
        ValueError, numba.types.int64, numba.njit(lambda x: x),
    ],
    ids=lambda value: str(value)[:20],
)  # fmt: skip
def test_constants_have_a_fingerprint(value):
    assert fingerprint(lambda: value) == fingerprint(lambda: value)


def test_functions_that_call_themselves():
    def factorial(n):
        return 1 if n == 0 else n * factorial(n - 1)

    assert len(fingerprint(factorial)) == 64


@pytest.mark.parametrize(
    "value",
    [object(), np.array([{}], dtype=object), type("Thing", (), {})],
    ids=["object", "array of objects", "class"],
)
def test_unsupported_values_have_no_fingerprint(value):
    with pytest.raises(FingerprintError, match="cannot tell the content of"):
        fingerprint(lambda: value)


def test_names_in_inner_functions_count():
    def outer():
        return lambda: math.exp(1)

    assert referenced_names(outer.__code__) == ("exp", "math")
