"""Every check's message: which parameter, the rule, and the value."""

import math
from fractions import Fraction

import numpy as np
import pytest

from globalbandits._validation import (
    as_float,
    as_floats,
    as_fraction,
    as_integer,
    as_interval,
    as_positive,
    as_seed,
    require,
)
from globalbandits.errors import ModelError, PolicyError


def message(check, *arguments):
    with pytest.raises(PolicyError) as caught:
        check("size", *arguments, PolicyError)
    return str(caught.value)


def test_require_reports_name_rule_and_value():
    require(True, "size", "be small", 3, PolicyError)
    with pytest.raises(ModelError, match=r"^size must be small, got 3$"):
        require(False, "size", "be small", 3, ModelError)


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_as_integer_accepts_any_integer(value):
    number = as_integer("size", value, 1, PolicyError)
    assert number == 3
    assert type(number) is int


@pytest.mark.parametrize("value", [2.5, 2.0, True, "2", None, math.nan])
def test_as_integer_refuses_what_is_no_integer(value):
    assert message(as_integer, value, 1) == f"size must be an integer, got {value!r}"


def test_as_integer_refuses_what_is_too_small():
    assert message(as_integer, 0, 1) == "size must be at least 1, got 0"


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int64(2)])
def test_as_float_accepts_any_real_number(value):
    number = as_float("size", value, PolicyError)
    assert number == 2.0
    assert type(number) is float


@pytest.mark.parametrize("value", ["2", None, True, np.True_, [2.0], 1j])
def test_as_float_refuses_what_is_no_number(value):
    assert message(as_float, value) == f"size must be a number, got {value!r}"


def test_as_float_refuses_an_array():
    assert message(as_float, np.array([1.0, 2.0])).startswith("size must be a number, got array")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_as_float_refuses_what_is_not_finite(value):
    assert message(as_float, value) == f"size must be finite, got {value!r}"


def test_as_positive():
    assert as_positive("size", 1e-9, PolicyError) == 1e-9
    assert message(as_positive, 0.0) == "size must be positive, got 0.0"


@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, 2])
def test_as_fraction_excludes_both_ends(value):
    assert as_fraction("size", 0.5, PolicyError) == 0.5
    assert message(as_fraction, value) == (f"size must lie strictly between 0 and 1, got {value!r}")


def test_as_interval():
    assert as_interval("size", [0, 2], PolicyError) == (0.0, 2.0)
    assert message(as_interval, 3) == "size must be a pair (low, high), got 3"
    assert message(as_interval, (1, 2, 3)) == "size must be a pair (low, high), got (1, 2, 3)"
    assert message(as_interval, (2, 1)) == "size must have low < high, got (2, 1)"
    assert message(as_interval, (1, 1)) == "size must have low < high, got (1, 1)"
    assert message(as_interval, ("a", 1)) == "size low must be a number, got 'a'"
    assert message(as_interval, (0, math.inf)) == "size high must be finite, got inf"


@pytest.mark.parametrize("size", [400, 5000])
def test_integers_beyond_all_floats(size):
    value = 10**size
    shown = "an integer of 16610 bits" if size == 5000 else f"1{'0' * 299}..."
    assert message(as_float, value) == f"size must be finite, got {shown}"
    assert message(as_float, Fraction(-value)).startswith("size must be finite, got ")
    assert message(as_positive, value) == f"size must be finite, got {shown}"
    assert message(as_interval, (0, value)) == f"size high must be finite, got {shown}"
    rule = "size must be at most 9223372036854775807, got"
    assert message(as_integer, value, 1) == f"{rule} {shown}"
    assert as_integer("size", 2**63 - 1, 1, PolicyError) == 2**63 - 1
    assert message(as_integer, 2**63, 1) == f"{rule} 9223372036854775808"


def test_seeds_have_128_bits():
    assert as_seed(2**128 - 1, PolicyError) == 2**128 - 1
    with pytest.raises(PolicyError, match=f"seed must be at most {2**128 - 1}, got {2**128}"):
        as_seed(2**128, PolicyError)
    with pytest.raises(PolicyError, match="seed must be at least 0, got -1"):
        as_seed(-1, PolicyError)


class Odd:
    """Looks like a number, and is none; cannot even be shown."""

    def __float__(self):
        raise ZeroDivisionError

    def __repr__(self):
        raise RuntimeError("no words")


NO_NUMBERS = [
    {1.0},
    {1.0: 2.0},
    b"1",
    bytearray(b"1"),
    memoryview(b"1"),
    1j,
    np.complex128(1),
    np.str_("1.0"),
    np.bytes_(b"1.0"),
    np.datetime64("2020-01-01"),
    np.array([1.0]),
    np.array(1j),
    np.array("1.0"),
]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: type(value).__name__)
def test_values_that_are_no_number_have_the_usual_message(value):
    assert message(as_float, value) == f"size must be a number, got {value!r}"
    assert message(as_integer, value, 1) == f"size must be an integer, got {value!r}"


def test_an_object_that_cannot_be_shown():
    assert message(as_float, Odd()) == "size must be a number, got a Odd"
    assert message(as_interval, (Odd(), 1)) == "size low must be a number, got a Odd"


def test_an_array_without_axes_is_a_number():
    assert as_float("size", np.array(2), PolicyError) == 2.0


@pytest.mark.parametrize(
    "value", [{0.0, 1.0}, frozenset({0, 1}), {0.0: 1, 1.0: 2}, b"ab", "01", np.array(1.0), 3]
)
def test_lists_have_an_order(value):
    assert message(as_interval, value) == f"size must be a pair (low, high), got {value!r}"
    assert message(as_floats, value) == f"size must be a list of numbers, got {value!r}"


def test_as_floats():
    for value in ([1, 2], (1.0, 2), np.array([1, 2]), (number for number in (1, 2)), range(1, 3)):
        assert as_floats("size", value, PolicyError) == (1.0, 2.0)
    assert message(as_floats, [1, "a"]) == "size must be a number, got 'a'"


def test_an_interval_has_a_length():
    wide = (-1e308, 1e308)
    assert message(as_interval, wide) == f"size must have a finite length, got {wide}"


def test_long_values_are_cut():
    assert message(as_integer, "x" * 1000, 1) == f"size must be an integer, got '{'x' * 299}..."
