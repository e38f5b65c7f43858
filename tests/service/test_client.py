"""The clients, against a real server and against connections that fail."""

import asyncio
import inspect
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

import globalbandits as gb
from globalbandits.errors import ConflictError, ServiceError, StoreUnavailable, UnknownError
from globalbandits.service.client import pause_seconds
from globalbandits.service.service import ServiceOptions
from globalbandits.service.stores import SQLiteStore
from tests.service.serving import serving
from tests.service.worlds import ARMS, WAGP

SECRET = "a-secret-of-the-operator"


@pytest.fixture(scope="module")
def url():
    with serving(SQLiteStore(":memory:"), ServiceOptions(token=SECRET, compiled=False)) as (_, url):
        yield url


@pytest.fixture
def client(url):
    with gb.Client(url, SECRET, total=30) as client:
        client.create("shop", WAGP)
        yield client


class Flaky(httpx.BaseTransport):
    """A transport that loses requests or answers, or returns prepared answers first."""

    def __init__(self, faults):
        self.faults = list(faults)
        self.real = httpx.HTTPTransport()
        self.sent = []

    def handle_request(self, request):
        self.sent.append(request)
        fault = self.faults.pop(0) if self.faults else None
        if fault == "refused":
            raise httpx.ConnectError("refused")
        if isinstance(fault, httpx.Response):
            return fault
        answer = self.real.handle_request(request)
        if fault == "answer lost":
            answer.read()
            raise httpx.ReadError("the connection was reset")
        return answer

    def close(self):
        self.real.close()


@pytest.fixture
def no_waiting(monkeypatch):
    """Pauses are noted, not waited for."""
    pauses = []
    monkeypatch.setattr("globalbandits.service.client.time.sleep", pauses.append)
    return pauses


def test_a_decision_and_its_reward(client):
    decision = client.decide("shop", "order-1")
    assert decision.value == ARMS[decision.arm]
    assert client.decide("shop", "order-1").replayed
    assert client.reward("shop", decision.decision_id, 1).status == "learned"
    assert client.reward("shop", decision.decision_id, 1).status == "duplicate"
    with pytest.raises(ConflictError, match=r"has the reward 1\.0 already"):
        client.reward("shop", decision.decision_id, 0)
    assert client.past(decision.decision_id, why=True).why["agrees"]
    assert client.retract("shop", decision.decision_id).status == "learned"
    assert client.past(decision.decision_id).state == "retracted"
    assert client.bandit("shop").version == 2
    assert "shop" in client.bandits()
    assert client.explanation("shop").version == 2
    assert client.change("shop", {"held_back": 0.0}).settings_number == 1


def test_a_block_sends_its_reward_when_it_ends_well(client):
    before = client.bandit("shop").version
    with client.decision("shop") as d:
        assert d.value == ARMS[d.arm]
        d.reward(1.0)
    assert client.past(d.id).reward == 1.0
    seen = []

    def fail():
        with client.decision("shop") as d:
            seen.append(d.id)
            d.reward(1.0)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert client.past(seen[0]).state == "open"
    with client.decision("shop") as d:
        pass
    assert client.past(d.id).state == "open"
    assert client.bandit("shop").version == before + 1


def test_batches(client):
    answers = client.decide_many([("shop", "b1"), ("nobody", None), ("shop", None)])
    assert [answer.status for answer in answers] == [201, 404, 201]
    ids = [answer.decision.decision_id for answer in answers if answer.decision]
    told = client.reward_many([("shop", ids[0], 1.0), ("shop", ids[1], 5.0)])
    assert [answer.status for answer in told] == [200, 422]


def test_errors_have_their_kinds(client, url):
    with pytest.raises(UnknownError, match="got 'nobody'"):
        client.decide("nobody")
    with pytest.raises(ConflictError, match="exists with another spec"):
        client.create("shop", WAGP | {"seed": 1})
    with pytest.raises(ServiceError, match=r"reward must lie in \[0, 1\]"):
        client.reward("shop", "x", 3.0)
    with pytest.raises(ConflictError, match="must still be number 9"):
        client.change("shop", {"mode": "paused"}, expected=9)
    with gb.Client(url, "wrong") as other, pytest.raises(ServiceError, match="valid token"):
        other.bandits()
    with pytest.raises(UnknownError):
        client.bandit("../../health")  # a name stays a name


@pytest.mark.parametrize("fault", ["refused", "answer lost", httpx.Response(503), "both"])
def test_lost_requests_are_sent_again_and_count_once(url, no_waiting, fault):
    faults = ["refused", "answer lost"] if fault == "both" else [fault]
    transport = Flaky([])
    with gb.Client(url, SECRET, total=30, transport=transport) as client:
        client.create("shop", WAGP)
        before = client.bandit("shop")
        transport.faults = list(faults)
        decision = client.decide("shop")
        transport.faults = list(faults)
        told = client.reward("shop", decision.decision_id, 1.0)
        after = client.bandit("shop")
    assert told.status == ("duplicate" if "answer lost" in faults else "learned")
    assert after.version == before.version + 1
    assert sum(arm.shown for arm in after.arms) == sum(arm.shown for arm in before.arms) + 1
    assert len(no_waiting) == 2 * len(faults)
    sent = [request.content for request in transport.sent if request.url.path.endswith("decisions")]
    assert len(sent) == 1 + len(faults)
    assert len(set(sent)) == 1  # the same request id each time


def test_a_client_gives_up_in_the_end(url, no_waiting):
    with (
        gb.Client(url, SECRET, total=0.3, transport=Flaky(["refused"] * 1_000)) as client,
        pytest.raises(StoreUnavailable, match="cannot be reached: refused"),
    ):
        client.decide("shop")
    away = [httpx.Response(503, json={"detail": "the disk is full"}) for _ in range(1_000)]
    with (
        gb.Client(url, SECRET, total=0.0, transport=Flaky(away)) as client,
        pytest.raises(StoreUnavailable, match="the disk is full"),
    ):
        client.decide("shop")


def test_conflicts_are_never_sent_again(url, no_waiting):
    transport = Flaky([httpx.Response(409, json={"detail": "no"})])
    with gb.Client(url, SECRET, total=30, transport=transport) as client:
        with pytest.raises(ConflictError, match="no"):
            client.reward("shop", "x", 1.0)
        transport.faults = ["answer lost"]
        with pytest.raises(StoreUnavailable):  # it would contradict itself
            client.change("shop", {"mode": "live"}, expected=1)
    assert len(transport.sent) == 2
    assert no_waiting == []


def test_an_answer_from_another_service_is_an_error(url):
    transport = Flaky([httpx.Response(200, text="<html>"), httpx.Response(418, text="tea")])
    with gb.Client(url, SECRET, total=30, transport=transport) as client:
        with pytest.raises(ServiceError, match="must be one of globalbandits"):
            client.bandits()
        with pytest.raises(ServiceError, match="was answered with 418"):
            client.bandits()


def test_pauses_grow_and_differ():
    drawn = [[pause_seconds(attempt, None) for _ in range(50)] for attempt in range(12)]
    for attempt, pauses in enumerate(drawn):
        most = min(5.0, 0.05 * 2**attempt)
        assert all(most / 2 <= pause <= most for pause in pauses)
        assert len(set(pauses)) > 40
    assert all(pause_seconds(0, "10") >= 5.0 for _ in range(20))
    assert pause_seconds(0, "soon") < 0.1


def test_the_asynchronous_client_does_the_same(url):
    async def play():
        async with gb.AsyncClient(url, SECRET, total=30) as client:
            await client.create("async", WAGP)
            ids = await asyncio.gather(*(client.decide("async", f"{n}") for n in range(20)))
            async with client.decision("async") as d:
                d.reward(1.0)
            told = await client.reward_many([("async", row.decision_id, 0.0) for row in ids])
            assert [answer.status for answer in told] == [200] * 20
            assert (await client.decide_many([("async", "0")]))[0].status == 200
            assert (await client.retract("async", d.id)).status == "learned"
            assert (await client.reward("async", ids[0].decision_id, 0)).status == "duplicate"
            assert (await client.past(d.id)).state == "retracted"
            assert (await client.change("async", {"mode": "paused"})).settings_number == 2
            assert (await client.explanation("async")).version == 22
            assert "async" in await client.bandits()
            with pytest.raises(ConflictError, match="paused"):
                await client.decide("async")
            return (await client.bandit("async")).version

    assert asyncio.run(play()) == 22


@pytest.mark.parametrize("package", ["httpx", "msgspec"])
def test_without_its_packages_the_error_names_the_extra(package):
    code = (
        f"import sys; sys.modules[{package!r}] = None; import globalbandits; globalbandits.Client"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    expected = f'{package} must be installed: pip install "globalbandits[client]"'
    error = "globalbandits.errors.MissingExtraError"
    assert done.stderr.splitlines()[-1] == f"{error}: {expected}"


def test_both_clients_have_the_same_methods():
    names = [
        {name for name in vars(kind) if not name.startswith("_")}
        for kind in (gb.Client, gb.AsyncClient)
    ]
    assert names[0] == names[1]


def test_a_service_that_does_not_answer_costs_the_total_time(url):
    """By default one second, not thirty."""
    assert inspect.signature(gb.Client).parameters["total"].default == 1.0
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with gb.Client(address, total=0.3) as client:
            with pytest.raises(StoreUnavailable, match="cannot be reached"):
                client.decide("shop")
            assert client.decide("shop", default=0.5).value == 0.5

        async def decide():
            async with gb.AsyncClient(address, total=0.3) as client:
                return await client.decide("shop", default="small")

        assert asyncio.run(decide()).value == "small"


def test_a_default_arm_is_shown_while_the_service_is_unavailable(url):
    transport = Flaky(["refused"] * 1_000)
    with gb.Client(url, SECRET, total=0.2, transport=transport) as client:
        decision = client.decide("shop", default=0.6)
        assert (decision.value, decision.decision_id, decision.arm) == (0.6, "", -1)
        with pytest.raises(ServiceError, match="decision_id must not be empty"):
            client.reward("shop", decision.decision_id, 1.0)
        with client.decision("shop", default=0.6) as d:
            d.reward(1.0)  # not sent, and no error
        assert d.id == ""
    with gb.Client(url, SECRET, total=30) as client:
        assert client.decide("shop", default=0.6).decision_id != ""
        with pytest.raises(UnknownError):  # a wrong name is no outage
            client.decide("nobody", default=0.6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"total": -1.0}, "total must be at least 0, got -1.0"),
        ({"timeout": 0.0}, "timeout must be positive, got 0.0"),
    ],
)
def test_invalid_time_limits_are_refused(url, options, message):
    with pytest.raises(ServiceError, match=message):
        gb.Client(url, **options)


def test_many_bandits_and_past_rewards(client):
    client.create("past", WAGP)
    assert client.import_rewards("past", "a", [(0.4, 1.0), (0.8, 0.0)]).version == 2
    assert client.bandits(search="pas") == ["past"]
    assert client.bandits(after="past", limit=5) == ["shop"]
    assert client.delete("past").name == "past"
    assert "past" not in client.bandits()


def test_every_method_is_in_the_document():
    text = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
    for name, found in inspect.getmembers(gb.Client):
        if not name.startswith("_") and callable(found):
            assert f"`{name}(" in text, name
