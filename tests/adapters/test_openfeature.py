"""Decisions as flags: the SDK of OpenFeature against a real service."""

import logging

import pytest

pytest.importorskip("openfeature", reason="the extra openfeature is not installed")

from openfeature import api
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.flag_evaluation import Reason
from openfeature.track import TrackingEventDetails

import globalbandits as gb
from globalbandits.adapters.openfeature import GlobalBanditsProvider, request_id
from globalbandits.errors import ServiceError
from globalbandits.service.service import ServiceOptions
from globalbandits.service.stores import SQLiteStore
from tests.service.serving import serving
from tests.service.worlds import ARMS, WAGP


@pytest.fixture(scope="module")
def service():
    with serving(SQLiteStore(":memory:"), ServiceOptions(compiled=False)) as found:
        found[0].log.create("shop", WAGP)
        found[0].log.create(
            "sizes",
            WAGP | {"model": WAGP["model"] | {"arms": [1, 2], "domain": [0, 0.4], "cost": 0.5}},
        )
        yield found


@pytest.fixture
def flags(service):
    with gb.Client(service[1]) as client:
        api.set_provider(GlobalBanditsProvider(client, events={"purchase": ["shop"]}))
        yield api.get_client()
        api.clear_providers()


def visitor(name):
    return EvaluationContext(targeting_key=name)


def decisions(service, name="shop"):
    log = service[0].log
    return list(log.store.decisions(log.bandit(name).row.id))


def test_a_flag_is_a_decision_of_its_unit(flags, service):
    details = flags.get_float_details("shop", 9.99, visitor("a"))
    assert details.value in ARMS
    assert details.reason == Reason.SPLIT
    (stored,) = [row for row in decisions(service) if row.request_id == request_id("a")]
    assert details.flag_metadata["decision_id"] == stored.id
    assert details.flag_metadata["probability"] == stored.probability
    assert details.variant == str(stored.shown)
    assert flags.get_float_value("shop", 9.99, visitor("a")) == details.value
    assert len([row for row in decisions(service) if row.request_id == request_id("a")]) == 1


def test_an_event_is_the_reward_of_the_units_decision(flags, service):
    log = service[0].log
    flags.get_float_value("shop", 9.99, visitor("b"))
    before = log.bandit("shop").version
    flags.track("shop", visitor("b"), TrackingEventDetails(value=0.25))
    assert log.bandit("shop").version == before + 1
    (stored,) = [row for row in decisions(service) if row.request_id == request_id("b")]
    assert log.store.stored_events(stored.id)[0].value == 0.25
    flags.track("shop", visitor("b"), TrackingEventDetails(value=0.25))
    assert log.bandit("shop").version == before + 1


def test_events_may_have_custom_names_and_need_no_memory(service):
    """Another process reports the reward: it finds the decision by the unit."""
    log = service[0].log
    with gb.Client(service[1]) as client:
        one = GlobalBanditsProvider(client)
        one.resolve_float_details("shop", 9.99, visitor("c"))
        other = GlobalBanditsProvider(client, events={"purchase": ["shop"]}, remembered=0)
        before = log.bandit("shop").version
        other.track("purchase", visitor("c"))
        assert log.bandit("shop").version == before + 1
    (stored,) = [row for row in decisions(service) if row.request_id == request_id("c")]
    assert log.store.stored_events(stored.id)[0].value == 1.0


def test_a_unit_without_a_decision_gets_no_reward(flags, service, caplog):
    before = service[0].log.bandit("shop").version
    with caplog.at_level(logging.WARNING, "globalbandits.openfeature"):
        flags.track("purchase", visitor("never seen"))
    assert service[0].log.bandit("shop").version == before
    assert "no decision for this unit" in caplog.text


def test_defaults_take_over_with_the_right_code(flags):
    missing = flags.get_float_details("nobody", 9.99, visitor("d"))
    assert (missing.value, missing.error_code) == (9.99, ErrorCode.FLAG_NOT_FOUND)
    nameless = flags.get_float_details("shop", 9.99)
    assert (nameless.value, nameless.error_code) == (9.99, ErrorCode.TARGETING_KEY_MISSING)
    for ask, default in (
        (flags.get_string_details, "none"),
        (flags.get_integer_details, 3),
        (flags.get_boolean_details, True),
        (flags.get_object_details, {}),
    ):
        found = ask("shop", default, visitor("d"))
        assert (found.value, found.error_code) == (default, ErrorCode.TYPE_MISMATCH)


def test_an_unavailable_service_gives_defaults(caplog):
    with gb.Client("http://127.0.0.1:9", total=0.0) as client:
        api.set_provider(GlobalBanditsProvider(client))
        found = api.get_client().get_float_details("shop", 9.99, visitor("e"))
        assert (found.value, found.error_code) == (9.99, ErrorCode.GENERAL)
        with caplog.at_level(logging.WARNING, "globalbandits.openfeature"):
            api.get_client().track("shop", visitor("e"))
        assert "was not learned" in caplog.text
        api.clear_providers()


def test_whole_numbers(flags):
    assert flags.get_integer_value("sizes", 9, visitor("f")) in (1, 2)


def test_targeting_keys_that_cannot_be_request_ids():
    assert request_id("visitor-17") == "unit:visitor-17"
    assert request_id("two words") != request_id("two  words")
    assert len(request_id("x" * 1_000)) < 100


def test_a_wrong_client_is_refused():
    with pytest.raises(ServiceError, match=r"client must be a globalbandits\.Client"):
        GlobalBanditsProvider("http://127.0.0.1:8000")
