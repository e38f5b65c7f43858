"""Requests that are nearly right: parts replaced, dropped, doubled, cut and stretched.

More than here: GLOBALBANDITS_FUZZ=100000 pytest tests/service/test_fuzz.py
"""

import json
import os
import random
from contextlib import closing
from http.client import HTTPConnection

import pytest

from globalbandits.service.http import handlers
from globalbandits.service.http.openapi import problems_of
from globalbandits.service.http.operations import OPERATIONS
from globalbandits.service.log.replay import replay
from globalbandits.service.service import ServiceOptions
from globalbandits.service.stores import SQLiteStore
from tests.service.serving import serving
from tests.service.worlds import MODEL, WAGP

N_REQUESTS = int(os.environ.get("GLOBALBANDITS_FUZZ", "400"))
VALUES = [None, True, 0, -1, 1, 0.5, 1e308, -0.0, 2**63, 10**30, "", "x", "é", "\x00", "a" * 300]
VALUES += [[], [[]], {}, {"a": {}}, [0.4, 0.6], "live", "shadow", "wagp", {"policy": "wagp"}, MODEL]
VALUES += [{"policy": "ucb1"}, {"policy": "thompson_sampling"}, MODEL | {"cost": 0.2}, "0.5", "NaN"]
BODIES = {
    "BanditIn": WAGP | {"limits": [0.4, 0.8], "incumbent": 0.5, "held_back": 0.1, "mode": "live"},
    "SettingsIn": {"largest_step": 1, "late": "refuse", "deadline_seconds": 5, "default_reward": 0},
    "WhatIfIn": {"always": [0.4], "policies": [{"policy": "wagp"}], "horizon": 10},
    "PreviewIn": {"model": WAGP["model"]},
    "DecisionIn": {"request_id": "r1"},
    "RewardIn": {"reward": 0.5},
    "DecisionsIn": {"items": [{"bandit": "shop", "request_id": "r2"}, {"bandit": "shop"}]},
    "RewardsIn": {"items": [{"bandit": "shop", "decision_id": "x", "reward": 0.5}]},
    "ImportIn": {"import_id": "i", "items": [{"value": 0.4, "reward": 1}] * 3},
    "TokenIn": {"role": "read", "label": "x", "expires_seconds": 60},
}
SECRET = "a-secret-of-the-operator"
MEDIA = ["application/json"] * 20 + ["", "text/plain", "application/json;x=1", "\x80"]
NAMES = ["shop"] * 5 + ["dice", "new", "x" * 65, "a b", "é", "..", "%00", "'", "?", "#"]


def mutated(value, luck):
    """A value with a part of it changed, or not."""
    what = luck.random()
    if what < 0.3:
        return luck.choice(VALUES)
    if isinstance(value, dict) and value:
        value = dict(value)
        key = luck.choice(list(value))
        if what < 0.4:
            del value[key]
        elif what < 0.5:
            value[luck.choice(["more", "", "é", "model"])] = luck.choice(VALUES)
        else:
            value[key] = mutated(value[key], luck)
    elif isinstance(value, list) and value:
        value = list(value)
        place = luck.randrange(len(value))
        if what < 0.4:
            value = value * luck.choice([0, 2, 30])
        else:
            value[place] = mutated(value[place], luck)
    return value


def text_of(body, luck):
    """A body's bytes, now and then broken."""
    data = json.dumps(body).encode()
    what = luck.random()
    if what < 0.05:
        return data[: luck.randrange(len(data) + 1)]
    if what < 0.1:
        place = luck.randrange(len(data) + 1)
        return data[:place] + bytes([luck.randrange(256)]) + data[place:]
    return data


@pytest.mark.parametrize("seed", [0])
def test_nearly_right_requests_have_documented_answers(seed, tmp_path):
    luck = random.Random(seed)
    path_of_store = tmp_path / "log.db"
    operations = [found for found in OPERATIONS if not found.path.endswith(("stream", "evidence"))]
    options = ServiceOptions(compiled=False, most_bandits=5, sweep_seconds=0.2, most_open=200_000)
    options = options._replace(rate=1e9, burst=1e9, token=SECRET)
    seen = {}
    with serving(SQLiteStore(path_of_store), options) as (service, url):
        connection = HTTPConnection(url.removeprefix("http://"))
        service.log.create("shop", WAGP)
        ids = [service.log.decide("shop").decision.id]
        for _ in range(N_REQUESTS):
            operation = luck.choice(operations)
            path = operation.path.replace("{id}", luck.choice([*ids[-5:], "nobody", "%ff"]))
            # Most other requests need the first bandit.
            names = NAMES[5:] if operation.handler is handlers.delete_bandit else NAMES
            path = path.replace("{name}", _quoted(luck.choice(names)))
            path += luck.choice(
                ["", "", "", "?after=1", "?why=true", "?limit=x", "?after=%00", "?&=&"]
            )
            headers = {"Host": "localhost", "Authorization": f"Bearer {SECRET}"}
            body = None
            if operation.body is not None:
                wanted = BODIES[operation.body.__name__]
                body = text_of(wanted if luck.random() < 0.4 else mutated(wanted, luck), luck)
                headers["Content-Type"] = luck.choice(MEDIA)
            if luck.random() < 0.1:
                headers["If-Match"] = luck.choice(['"1"', "*", "x", '"99999999999999999999"'])
            connection.request(operation.method, path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
            allowed = {*operation.answers, *problems_of(operation), 405}
            assert answer.status in allowed, (operation.method, path, body, content)
            assert answer.status != 503, content
            seen[answer.status] = seen.get(answer.status, 0) + 1
            if answer.status == 201 and b'"decision_id"' in content:
                ids.append(json.loads(content)["decision_id"])
        connection.close()
    assert {200, 201, 400, 404, 409, 415, 422} <= set(seen)
    # Whatever came through, the log is consistent and every decision can be recomputed.
    with closing(SQLiteStore(path_of_store, read_only=True)) as store:
        for row in store.bandits():
            report = replay(store, row, compiled=False)
            assert report.wrong == []
            assert report.agree + report.imported == report.decisions


def _quoted(name):
    return "".join(
        f"%{byte:02x}" if byte > 126 or byte <= 32 else chr(byte) for byte in name.encode()
    )
