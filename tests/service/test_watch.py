"""The watch: a refuted model is reported once, and every bandit has numbers at /metrics."""

import contextlib
import http.server
import json
import logging
import threading
import time

import httpx
import pytest

from globalbandits.service.bandit_watch import Watch
from globalbandits.service.evidence_reader import EvidenceReading
from globalbandits.service.log import Log
from globalbandits.service.server import JSONLines
from globalbandits.service.service import ServiceOptions
from globalbandits.service.stores import SQLiteStore
from globalbandits.service.tokens import new_token
from tests.service.serving import serving
from tests.service.worlds import WAGP, HandClock


def reading(refuted):
    return EvidenceReading(3, 1, 0.0, {"model": {"refuted": refuted, "text": "because"}})


@pytest.fixture
def shop():
    log = Log(SQLiteStore(":memory:"), compiled=False)
    log.create("shop", WAGP)
    yield log.bandit("shop"), log
    log.close()


def test_a_refutation_is_reported_once(shop, caplog):
    bandit, log = shop
    watch = Watch(log, 0.0)
    with caplog.at_level(logging.WARNING, "globalbandits.service"):
        for refuted in (False, True, True, False, True):
            watch.notice(bandit, reading(refuted))
    assert len(caplog.records) == 2
    line = json.loads(JSONLines().format(caplog.records[0]))
    assert line["event"] == {
        "event": "refuted",
        "tenant": "main",
        "bandit": "shop",
        "version": 3,
        "text": "because",
    }


def test_a_webhook_gets_the_refutation(shop):
    got, arrived = [], threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            got.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(204)
            self.end_headers()
            arrived.set()

        def log_message(self, *words):
            pass

    receiver = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=receiver.handle_request)
    thread.start()
    Watch(shop[1], 0.0, f"http://127.0.0.1:{receiver.server_port}/").notice(shop[0], reading(True))
    assert arrived.wait(30)
    thread.join()
    receiver.server_close()
    assert got[0]["bandit"] == "shop"


def numbers(http, name):
    """The values of a metric by its labels."""
    lines = [line.rpartition(" ") for line in http.get("/metrics").text.splitlines()]
    return {head[len(name) :]: float(x) for head, _, x in lines if head.partition("{")[0] == name}


def test_numbers_of_bandits():
    clock, store, tokens = HandClock(), SQLiteStore(":memory:"), {}
    with store.transaction() as rows:
        for tenant in ("one", "two"):
            tokens[tenant], row = new_token("admin", tenant, "", 0, None)
            rows.add_token(row)
    options = ServiceOptions(
        compiled=False, bandit_metrics=True, watch_seconds=0.1, reading_seconds=0.0
    )
    with contextlib.ExitStack() as stack:
        _, url = stack.enter_context(serving(store, options, clock))
        one, two = (
            stack.enter_context(
                httpx.Client(
                    base_url=url, headers={"Authorization": f"Bearer {tokens[tenant]}"}, timeout=30
                )
            )
            for tenant in ("one", "two")
        )
        one.put("/v1/bandits/wrong", json=WAGP | {"incumbent": 0.5})
        one.put("/v1/bandits/idle", json=WAGP)
        # No curve of the model allows every customer to buy at every price.
        for _ in range(40):
            made = one.post("/v1/bandits/wrong/decisions").json()
            path = f"/v1/bandits/wrong/decisions/{made['decision_id']}/reward"
            one.put(path, json={"reward": float(made["arm"] >= 2)})
        one.post("/v1/bandits/wrong/decisions")
        clock.pass_seconds(90)
        until = time.monotonic() + 60
        name = "globalbandits_bandit"
        final = {'{bandit="idle"}': 0.0, '{bandit="wrong"}': 1.0}
        # A reading taken between two requests counts the decisions of that moment.
        while numbers(one, f"{name}_open") != final or not numbers(one, f"{name}_earnings"):
            assert time.monotonic() < until
            time.sleep(0.05)
        assert numbers(one, f"{name}_last_reward_seconds") == {'{bandit="wrong"}': 90.0}
        refuted = numbers(one, f"{name}_refuted")
        assert refuted.keys() == {'{bandit="wrong"}'}
        assert numbers(one, "globalbandits_refuted_bandits") == {"": sum(refuted.values())}
        assert numbers(one, "globalbandits_loaded_bandits") == {"": 2.0}
        assert numbers(two, f"{name}_open") == {}  # names are for their own tenant
