"""Hostile requests to a real server: malformed, oversized, slow and misleading ones."""

import io
import json
import logging
import time

import pytest

from globalbandits.service.server import JSONLines
from globalbandits.service.service import ServiceOptions
from globalbandits.service.stores import SQLiteStore
from tests.service.serving import exchange, serving, talking
from tests.service.worlds import MODEL, WAGP

SECRET = "a-secret-of-the-operator"
SHOP = "/v1/bandits/shop"


@pytest.fixture(scope="module")
def server():
    with (
        serving(SQLiteStore(":memory:"), ServiceOptions(compiled=False)) as (service, url),
        talking(url) as http,
    ):
        http.put(SHOP, json=WAGP)
        yield service, url, http


@pytest.fixture
def http(server):
    return server[2]


def send(http, body, path=f"{SHOP}/decisions/x/reward", media="application/json"):
    return http.put(path, content=body, headers={"content-type": media})


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"reward": NaN}', 400),
        (b'{"reward": Infinity}', 400),
        (b'{"reward": 1e999}', 422),
        (b'{"reward": true}', 422),
        (b'{"reward": "0.5"}', 422),
        (b'{"reward": null}', 422),
        (b'{"reward": [0.5]}', 422),
        (b'{"reward": 0.5, "more": 1}', 422),
        (b"{}", 422),
        (b"", 400),
        (b"[]", 422),
        (b"\xff\xfe", 400),
        (b'{"reward": ' + b"9" * 10_000 + b"}", 422),
        (b"[" * 60_000, 422),
        (b'{"reward":' * 5_000, 422),
        (b'{"reward": 0.5', 400),
        (b'{"reward": 0.5}{}', 400),
        (b'{"\\u0000": 1}', 422),
    ],
    ids=range(18),
)
def test_invalid_bodies_are_refused(http, body, status):
    answer = send(http, body)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_the_last_value_of_a_duplicate_key_counts(http):
    id = http.post(f"{SHOP}/decisions").json()["decision_id"]
    answer = send(http, b'{"reward": 1, "reward": 0}', f"{SHOP}/decisions/{id}/reward")
    assert answer.json()["reward"] == 0.0


@pytest.mark.parametrize("media", ["text/plain", "application/x-www-form-urlencoded", "", "json"])
def test_only_json_is_read(http, media):
    assert send(http, b'{"reward": 0.5}', media=media).status_code == 415
    assert (
        send(http, b'{"reward": 0.5}', media="application/json; charset=utf-8").status_code == 404
    )


@pytest.mark.parametrize(
    "spec",
    [
        {"policy": {"policy": "grid_greedy", "cells": 10**9}},
        {"policy": {"policy": "sliding_window_ucb", "window": 10**29}},
        {"policy": {"policy": []}},
        {"policy": {"policy": "wagp", "__class__": 1}},
        {"policy": {"policy": "limited", "inner": {"policy": "limited", "inner": 3}}},
        {"model": {"family": "os.system", "arms": ["ls"]}},
        {"model": {"mean": "__import__('os').system('ls')", "arms": [1.0]}},
        {"model": {"mean": "theta ** 9 ** 9 ** 9", "arms": [1.0]}},
        {"model": {"mean": "open('/etc/passwd')", "arms": [1.0]}},
        {"model": {"family": "demand.linear_power", "arms": list(range(1, 2_000))}},
        {"model": {"family": "demand.linear_power", "arms": [1e308, 1e309]}},
        {"model": {"family": "demand.linear_power", "arms": [], "path": "/etc/passwd"}},
        {"model": {}},
        {"seed": -1},
        {"seed": 2**63},
        {"limits": [1, 0]},
        {"incumbent": {"$gt": 0}},
    ],
    ids=range(17),
)
def test_invalid_specs_are_refused_before_expensive_work(http, spec):
    body = json.dumps(WAGP | spec).replace("1e309", "1e999").replace("Infinity", "1e999")
    answer = send(http, body.encode(), "/v1/bandits/hostile")
    assert answer.status_code == 422, answer.text
    assert "hostile" not in http.get("/v1/bandits").json()["bandits"]


@pytest.mark.parametrize(
    "name",
    ["..", "%2e%2e", "a%2Fb", "a%00b", "'; DROP TABLE bandits; --", "a" * 10_000, "é", "%ff", "-"],
)
def test_invalid_names_are_refused(http, name):
    answer = http.put(f"/v1/bandits/{name}", json=WAGP)
    assert answer.status_code in (404, 405, 422), answer.text
    assert http.get(f"/v1/bandits/{name}/events").status_code in (404, 405)
    assert http.get(f"/v1/decisions/{name}").status_code in (404, 405)
    assert http.get("/v1/bandits").json() == {"bandits": ["shop"], "next": None}


def test_names_that_take_long_to_match(http):
    body = json.dumps({"items": [{"bandit": "a." * 30_000 + "!"}]}).encode()
    answer = http.post(
        "/v1/decisions:batch", content=body, headers={"content-type": "application/json"}
    )
    assert answer.status_code == 422


def test_labels_are_data_never_markup(http):
    """Values of arms come back as JSON, whatever they hold, under headers that run no script."""
    model = {"means": ["theta", "1 - theta"], "arms": ["<script>alert(1)</script>", "b"]}
    spec = {"model": model, "policy": {"policy": "wagp"}}
    answer = http.put("/v1/bandits/labels", json=spec)
    assert answer.status_code == 201, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert http.get("/v1/bandits/labels").json()["arms"][0]["value"] == model["arms"][0]
    answer = http.patch("/v1/bandits/labels/settings", json={"limits": [0, 1]})
    assert "limits need arms that are numbers" in answer.json()["detail"]


def test_bodies_that_are_too_long_are_refused_at_once(server):
    _, url, http = server
    long = b'{"reward": ' + b" " * 70_000 + b"0.5}"
    assert send(http, long).status_code == 413
    head = f"PUT {SHOP}/decisions/x/reward HTTP/1.1\r\nHost: localhost\r\n"
    head += "Content-Type: application/json\r\n"
    declared = exchange(url, f"{head}Content-Length: 100000000\r\n\r\n{{".encode())
    assert declared.startswith(b"HTTP/1.1 413")
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    chunked = exchange(
        url, b"", pieces=[f"{head}Transfer-Encoding: chunked\r\n\r\n".encode(), chunk, chunk]
    )
    assert chunked.startswith(b"HTTP/1.1 413")
    both = f"{head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    assert exchange(url, both.encode()).startswith(b"HTTP/1.1 400")


def test_headers_that_are_too_long_are_refused(server):
    _, url, _ = server
    for line in (b"X: " + b"a" * 2_000_000, b"\r\n".join(b"X%d: y" % n for n in range(200_000))):
        found = exchange(url, b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + line + b"\r\n\r\n")
        # The server closes while we still send, so its answer may be lost on the way.
        assert found == b"" or found.startswith((b"HTTP/1.1 431", b"HTTP/1.1 400"))
    assert exchange(
        url,
        b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: " + b"a" * 5_000 + b"\r\n\r\n",
    ).startswith(b"HTTP/1.1 200")
    long = b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n"
    assert exchange(url, long)[9:12] in (b"431", b"400", b"414", b"")


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"GET /health HT",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
        b"PUT /v1/bandits/shop/decisions/x/reward HTTP/1.1\r\nHost: localhost\r\n"
        b'Content-Type: application/json\r\nContent-Length: 15\r\n\r\n{"rew',
        b"PUT /v1/bandits/shop/decisions/x/reward HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/json\r\nContent-Length: 15\r\n\r\n",
    ],
    ids=["silent", "request", "header", "body", "no body"],
)
def test_slow_requests_time_out(server, start, monkeypatch):
    monkeypatch.setattr("globalbandits.service.server.REQUEST_SECONDS", 0.2)
    found = exchange(server[1], start)
    assert found.startswith(b"HTTP/1.1 408")
    assert b"connection: close" in found
    assert b"application/problem+json" in found


def test_a_stream_may_be_longer_than_a_request(server, monkeypatch):
    monkeypatch.setattr("globalbandits.service.server.REQUEST_SECONDS", 0.2)
    with talking(server[1]) as http, http.stream("GET", f"{SHOP}/stream") as answer:
        lines = answer.iter_lines()
        assert next(lines) == "event: bandit"
        time.sleep(0.7)
        monkeypatch.undo()  # on a busy machine the next request may take longer
        http.post(f"{SHOP}/decisions")
        assert [line for line, _ in zip(lines, range(3), strict=False)][2] == "event: bandit"


def test_a_refused_client_may_finish_its_body_and_reuse_the_connection():
    """The response is not lost because the client still sends, and the connection stays open."""
    options = ServiceOptions(compiled=False, token=SECRET)
    with serving(SQLiteStore(":memory:"), options) as (_, url), talking(url) as http:
        for _ in range(3):
            answer = http.post("/v1/decisions:batch", content=b" " * 900_000)
            assert answer.status_code == 401
            assert "connection" not in answer.headers
        answer = http.post("/v1/decisions:batch", content=b" " * 1_100_000)
        assert answer.status_code == 413


def test_two_requests_in_one_packet_are_two_answers(server):
    one = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = b"GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    found = exchange(server[1], one + one + last)
    assert found.count(b"HTTP/1.1 200") == 3


def test_nonsense_is_400(server):
    for data in (b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"):
        found = exchange(server[1], data)
        assert found.startswith(b"HTTP/1.1 400")
        assert b"connection: close" in found
        assert found.endswith(b"Invalid HTTP request received.")  # uvicorn's own message


def test_too_many_connections_are_503(monkeypatch):
    monkeypatch.setattr("globalbandits.service.server.MAX_CONNECTIONS", 1)
    with (
        serving(SQLiteStore(":memory:"), ServiceOptions(compiled=False)) as (_, url),
        talking(url) as first,
        talking(url) as second,
    ):
        assert first.get("/health").status_code == 200
        assert second.get("/health").status_code == 503


def test_a_log_entry_is_one_line_for_any_text():
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JSONLines())
    logger = logging.Logger("x")
    logger.addHandler(handler)
    logger.warning('a\n{"level": "critical"}\r\n\x1b[31m')
    try:
        raise ValueError("one\ntwo")
    except ValueError:
        logger.exception("failed")
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2
    assert json.loads(lines[0])["message"] == 'a\n{"level": "critical"}\r\n\x1b[31m'
    assert "ValueError: one" in json.loads(lines[1])["trace"]


def test_an_internal_error_is_reported_without_details(server, monkeypatch):
    service, _, http = server
    monkeypatch.setattr(service.log, "names", lambda tenant: 1 / 0)
    answer = http.get("/v1/bandits")
    assert answer.status_code == 500
    assert "ZeroDivision" not in answer.text
    assert "Traceback" not in answer.text


def test_model_of_the_wrong_size_for_the_service(http):
    answer = http.put("/v1/bandits/other", json=WAGP | {"model": MODEL | {"arms": "0.4"}})
    assert answer.status_code == 422
