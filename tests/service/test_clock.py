"""The clock at exactly a minute, and the ids that begin with its time."""

import pytest

from globalbandits.errors import ServiceError, UnknownError
from globalbandits.service.log.clock import as_text
from globalbandits.service.log.identifiers import (
    DecisionIds,
    as_decision_id,
    as_request_id,
    check_name,
)
from tests.service.worlds import SECOND, HandClock

MINUTE = 60


def test_the_clock_waits_out_small_steps_back_and_follows_large_ones():
    clock = HandClock()
    start = clock.now()
    clock.pass_seconds(0.000001)
    assert clock.now() == start + 1
    clock.set_by(-MINUTE)
    assert clock.now() == start + 1
    clock.set_by(-0.000001)
    assert clock.now() == start - MINUTE * SECOND
    clock.set_by(10 * MINUTE)
    assert clock.now() == start + 9 * MINUTE * SECOND


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_jump_is_more_than_a_minute_in_either_direction(sign):
    clock = HandClock()
    clock.set_by(sign * MINUTE)
    assert clock.jump() == 0
    clock.set_by(sign * 0.000001)
    assert clock.jump() == sign * (MINUTE * SECOND + 1)
    clock.accept_jump()
    assert clock.jump() == 0
    clock.pass_seconds(10_000)
    assert clock.jump() == 0
    assert clock.monotonic() == 10_000 * 10**9


def test_times_as_texts():
    assert as_text(0) == "1970-01-01T00:00:00.000000Z"
    assert as_text(1_700_000_000_000_042) == "2023-11-14T22:13:20.000042Z"
    assert as_text(951_782_400_999_999) == "2000-02-29T00:00:00.999999Z"


@pytest.mark.parametrize("name", ["a", "9", "a" * 64, "A.b_c-9"])
def test_names_that_are_valid(name):
    check_name("name", name)
    with pytest.raises(ServiceError) as caught:
        check_name("tenant", f"{name}/{name}")
    assert str(caught.value).startswith(
        "tenant must be 1 to 64 letters, digits, '.', '_' or '-', the first a letter or digit, got "
    )


def test_ids_of_requests_and_units():
    for valid in ("x", "x" * 200, "visitor 7 \u00e9"):
        assert as_request_id(valid) == valid
    assert as_request_id(None) is None
    for wrong in ("", "x" * 201, "a\n", 7, b"x"):
        with pytest.raises(ServiceError) as caught:
            as_request_id(wrong, "unit")
        assert str(caught.value).startswith(
            "unit must be a text of 1 to 200 printable characters, got "
        )


def test_ids_of_decisions():
    for valid in ("a", "a" * 64, "A_z-9"):
        assert as_decision_id(valid) == valid
    for wrong in ("", "a" * 65, "a b", None, 3):
        with pytest.raises(UnknownError, match="decision must be the id of a decision, got "):
            as_decision_id(wrong)


def test_new_ids_are_the_time_a_mark_and_a_counter():
    ids = DecisionIds()
    first, second = ids.new(1_700_000_000_000_000), ids.new(1_700_000_000_000_001)
    assert (first[:13], second[:13]) == ("60a24181e4000", "60a24181e4001")
    assert first[13:27] == second[13:27]
    assert (first[27:], second[27:]) == ("000000", "000001")
    assert len(as_decision_id(first)) == 33
    assert DecisionIds().new(0)[13:27] != first[13:27]
    # The counter has six digits; it starts again after the largest of them.
    ids._numbers = iter(range(0xFFFFFF, 0x1000002))
    assert [ids.new(0)[27:] for _ in range(3)] == ["ffffff", "000000", "000001"]
