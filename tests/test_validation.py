"""Every check's message: which parameter, the rule, and the value."""

import math

import numpy as np
import pytest

from globalbandits._validation import (
    as_float,
    as_fraction,
    as_integer,
    as_interval,
    as_positive,
    require,
)
from globalbandits.errors import ModelError, PolicyError


def message(check, *arguments):
    with pytest.raises(PolicyError) as caught:
        check("size", *arguments, PolicyError)
    return str(caught.value)


def test_require_says_name_rule_and_value():
    require(True, "size", "be small", 3, PolicyError)
    with pytest.raises(ModelError, match=r"^size must be small, got 3$"):
        require(False, "size", "be small", 3, ModelError)


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_as_integer_takes_any_integer(value):
    number = as_integer("size", value, 1, PolicyError)
    assert number == 3
    assert type(number) is int


@pytest.mark.parametrize("value", [2.5, 2.0, True, "2", None, math.nan])
def test_as_integer_refuses_what_is_no_integer(value):
    assert message(as_integer, value, 1) == f"size must be an integer, got {value!r}"


def test_as_integer_refuses_what_is_too_small():
    assert message(as_integer, 0, 1) == "size must be at least 1, got 0"


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int64(2)])
def test_as_float_takes_any_real_number(value):
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
