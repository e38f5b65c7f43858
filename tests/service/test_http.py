"""The service over HTTP: every operation, its statuses and bodies, on a real server."""

import json
import logging
import threading
import time
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection

import httpx
import pytest

import globalbandits as gb
from globalbandits.errors import ServiceError, StoreUnavailable
from globalbandits.service.http import handlers
from globalbandits.service.log.archive.retention import prune
from globalbandits.service.log.load import load
from globalbandits.service.log.replay import redecide, replay
from globalbandits.service.server import check_reachable, is_loopback
from globalbandits.service.service import ServiceOptions
from globalbandits.service.stores import SQLiteStore
from tests.service.serving import serving, talking
from tests.service.worlds import ARMS, MODEL, THOMPSON, WAGP, WINDOW, HandClock, UnavailableStore

PLAIN = ServiceOptions(compiled=False, reading_seconds=0.0, sweep_seconds=0.05)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    path = tmp_path_factory.mktemp("http") / "log.db"
    with serving(SQLiteStore(path), PLAIN) as found:
        yield found
    with_store = SQLiteStore(path)  # closed in good order: the lock is free
    for row in with_store.bandits():
        report = replay(with_store, row, compiled=False)
        assert (report.wrong, report.agree + report.imported) == ([], report.decisions)
    with_store.close()


@pytest.fixture(scope="module")
def http(server):
    with talking(server[1]) as client:
        yield client


@pytest.fixture
def shop(http, request):
    """The path of a bandit of this test's own."""
    path = f"/v1/bandits/{request.node.name[:60].replace('[', '-').replace(']', '')}"
    assert http.put(path, json=WAGP).status_code == 201
    return path


def problem(response, status, words=""):
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert body["status"] == status
    assert words in body["detail"]
    return body


def test_from_nothing_to_a_rewarded_decision(http, shop):
    made = http.post(f"{shop}/decisions", json={"request_id": "order-1"})
    assert made.status_code == 201
    decision = made.json()
    assert decision["value"] == ARMS[decision["arm"]]
    assert decision["version"] == 0
    assert decision["replayed"] is False
    again = http.post(f"{shop}/decisions", json={"request_id": "order-1"})
    assert again.status_code == 200
    assert again.json() == decision | {"replayed": True}
    path = f"{shop}/decisions/{decision['decision_id']}/reward"
    told = http.put(path, json={"reward": 0.25})
    assert (told.status_code, told.json()) == (
        200,
        {"status": "learned", "reward": 0.25, "version": 1},
    )
    assert http.put(path, json={"reward": 0.25}).json()["status"] == "duplicate"
    body = problem(http.put(path, json={"reward": 0.5}), 409, "has the reward 0.25 already")
    assert (body["reward"], body["version"]) == (0.25, 1)
    body = problem(http.put(path, json={"reward": 9}), 422, "reward must lie in [0, 1], got 9.0")
    assert body["parameter"] == "reward"
    problem(http.put(f"{shop}/decisions/nobody/reward", json={"reward": 0.2}), 404, "'nobody'")
    bandit = http.get(shop).json()
    assert bandit["version"] == 1
    assert bandit["open"] == 0
    assert [arm["pulls"] for arm in bandit["arms"]].count(1) == 1
    assert bandit["arms"][decision["arm"]]["shown"] == 1
    assert shop.rpartition("/")[2] in http.get("/v1/bandits").json()["bandits"]


def test_a_decision_needs_no_body(http, shop):
    for options in ({}, {"json": {}}, {"json": {"request_id": None}}):
        assert http.post(f"{shop}/decisions", **options).status_code == 201


def test_a_bandit_is_never_reset_silently(http, shop):
    assert http.put(shop, json=WAGP).status_code == 200
    problem(http.put(shop, json=THOMPSON), 409, "exists with another spec")


@pytest.mark.parametrize("kind", ["formula", "formula and value", "table", "file"])
def test_models_are_descriptions(http, kind, tmp_path):
    """What `RewardModel` writes, what `fit` saves, what a person types: never code."""
    table = gb.RewardModel.from_table([0.0, 0.5, 1.0], [[0.9, 0.7], [0.6, 0.5], [0.1, 0.4]])
    gb.demand.logit([1.0, 2.0, 3.0]).to_table(51).save(tmp_path / "model.json")
    models = {
        "formula": {"mean": "arm * (1 - arm * theta) ** 2", "arms": ARMS},
        "formula and value": {
            "mean": "1 - arm * theta",
            "value": "(arm - 0.1) * mean",
            "arms": ARMS,
        },
        "table": table.to_dict(),
        "file": json.loads((tmp_path / "model.json").read_text()),
    }
    path = f"/v1/bandits/model-{kind.replace(' ', '-')}"
    answer = http.put(path, json={"model": models[kind], "policy": {"policy": "wagp"}})
    assert answer.status_code == 201, answer.text
    id = http.post(f"{path}/decisions").json()["decision_id"]
    assert http.put(f"{path}/decisions/{id}/reward", json={"reward": 0.5}).status_code == 200
    assert http.get(path).json()["estimate"] is not None


SEVERAL = {
    "a family": {
        "family": "demand.exponential",
        "arms": [2.0, 4.0, 6.0],
        "level": [0.02, 0.2],
        "slope": [0.02, 0.6],
        "cost": 1.5,
    },
    "a formula": {
        "mean": "level * exp(-slope*arm)",
        "arms": [2.0, 4.0, 6.0],
        "parameters": ["level", "slope"],
        "domain": {"slope": [0.02, 0.6], "level": [0.02, 0.2]},
        "cost": 1.5,
    },
}


@pytest.mark.parametrize("kind", SEVERAL)
def test_a_model_of_several_numbers(http, kind):
    path = f"/v1/bandits/{kind.replace(' ', '-')}"
    settings = {"model": SEVERAL[kind], "policy": {"policy": "ucb1"}, "incumbent": 4.0}
    assert http.put(path, json=settings).status_code == 201
    for number in range(6):
        decision = http.post(f"{path}/decisions").json()["decision_id"]
        reward = {"reward": float(number == 2)}
        assert http.put(f"{path}/decisions/{decision}/reward", json=reward).status_code == 200
    model = gb.VectorModel.from_dict(SEVERAL[kind])
    curves = http.get(f"{path}/curves").json()
    assert (curves["parameter"], curves["fixed"]) == ("slope", pytest.approx({"level": 0.11}))
    place = len(curves["thetas"]) // 2
    theta = {"level": 0.11, "slope": curves["thetas"][place]}
    assert [ys[place] for ys in curves["means"]] == pytest.approx(model.means(theta).tolist())
    assert [ys[place] for ys in curves["worths"]] == pytest.approx(model.worth(theta).tolist())
    while (answer := http.get(f"{path}/evidence")).status_code == 202:
        time.sleep(0.01)
    evidence = answer.json()["evidence"]
    assert evidence.keys() == {
        "region", "model", "contenders", "earnings", "observed_bounds", "worths",
    }  # fmt: skip
    assert evidence["region"]["intervals"].keys() == {"level", "slope"}
    assert evidence["region"].keys() == {
        "confidence", "intervals", "share", "n_observations", "text",
    }  # fmt: skip
    while (answer := http.get(f"{path}/history")).status_code == 202:
        time.sleep(0.01)
    assert answer.json()["points"][-1]["theta"] == evidence["model"]["theta"]
    for worth, (middle, low, high) in zip(
        model.worth(evidence["model"]["theta"]), evidence["worths"], strict=True
    ):
        assert middle == pytest.approx(worth)
        assert low <= middle <= high


def test_settings_change_with_their_number(http, shop):
    assert http.get(shop).headers["etag"] == '"1"'
    changed = http.patch(
        f"{shop}/settings", json={"limits": [0.5, 0.6]}, headers={"if-match": '"1"'}
    )
    assert changed.status_code == 200
    assert changed.json()["settings_number"] == 2
    assert changed.headers["etag"] == '"2"'
    stale = http.patch(f"{shop}/settings", json={"mode": "paused"}, headers={"if-match": '"1"'})
    problem(stale, 409, "must still be number 1, got number 2")
    problem(http.patch(f"{shop}/settings", json={"mode": "paused"}, headers={"if-match": "x"}), 409)
    problem(http.patch(f"{shop}/settings", json={"mode": "fast"}), 422, "Invalid enum value")
    problem(http.patch(f"{shop}/settings", json={"model": MODEL | {"power": 3}}), 422, "curves")
    arms = {http.post(f"{shop}/decisions").json()["value"] for _ in range(10)}
    assert arms <= {0.5, 0.6}
    assert http.patch(f"{shop}/settings", json={"mode": "paused"}).status_code == 200
    problem(http.post(f"{shop}/decisions"), 409, "is paused")


def test_a_changed_cost_is_a_new_setting(http, shop):
    for _ in range(5):
        id = http.post(f"{shop}/decisions").json()["decision_id"]
        http.put(f"{shop}/decisions/{id}/reward", json={"reward": 1})
    changed = http.patch(f"{shop}/settings", json={"model": MODEL | {"cost": 0.3}})
    assert changed.json()["settings"]["model"]["cost"] == 0.3
    assert http.get(shop).json()["version"] == 5


def test_retractions(http, shop):
    id = http.post(f"{shop}/decisions").json()["decision_id"]
    path = f"{shop}/decisions/{id}/reward"
    problem(http.delete(path), 404, "that was learned from")
    http.put(path, json={"reward": 1})
    assert http.delete(path).json() == {"status": "learned", "reward": 1.0, "version": 2}
    assert http.delete(path).json()["status"] == "duplicate"
    assert http.get(f"/v1/decisions/{id}").json()["state"] == "retracted"
    assert http.put(path, json={"reward": 1}).json()["status"] == "duplicate"
    corrected = {"status": "learned", "reward": 0.0, "version": 3}
    assert http.put(path, json={"reward": 0}).json() == corrected
    now = http.get(f"/v1/decisions/{id}").json()
    assert (now["state"], now["reward"]) == ("rewarded", 0.0)
    http.put("/v1/bandits/window", json=WINDOW)
    id = http.post("/v1/bandits/window/decisions").json()["decision_id"]
    path = f"/v1/bandits/window/decisions/{id}/reward"
    http.put(path, json={"reward": 1})
    problem(http.delete(path), 409, "cannot forget")


def test_past_rewards_are_imported(http):
    http.put("/v1/bandits/past", json=WAGP)
    path = "/v1/bandits/past/rewards:import"
    body = {
        "import_id": "2025",
        "items": [{"value": 0.4, "reward": 1}, {"value": 0.8, "reward": 0}],
    }
    assert http.post(path, json=body).json() == {"status": "learned", "rewards": 2, "version": 2}
    assert http.post(path, json=body).json()["status"] == "duplicate"
    wrong = body | {"import_id": "b", "items": [{"value": 7, "reward": 1}]}
    problem(http.post(path, json=wrong), 422, "arm must be one of the arms")
    http.post("/v1/bandits/past/decisions")
    problem(http.post(path, json=body | {"import_id": "c"}), 409, "past has decided already")
    problem(http.post("/v1/bandits/nobody/rewards:import", json=body), 404)


def test_batches_answer_each_item_in_order(http, shop):
    name = shop.rpartition("/")[2]
    items = [
        {"bandit": name, "request_id": "a"},
        {"bandit": "nobody"},
        {"bandit": name},
        {"bandit": name, "request_id": "a"},
    ]
    answers = http.post("/v1/decisions:batch", json={"items": items}).json()["items"]
    assert [answer["status"] for answer in answers] == [201, 404, 201, 200]
    assert answers[0]["decision"]["decision_id"] == answers[3]["decision"]["decision_id"]
    first, other = (answers[place]["decision"]["decision_id"] for place in (0, 2))
    rewards = [(name, first, 0.2), (name, first, 0.2), (name, first, 0.3), (name, "x", 0.1)]
    rewards += [(name, other, 7), ("nobody", other, 0.1), (name, other, 0.4)]
    items = [{"bandit": b, "decision_id": d, "reward": r} for b, d, r in rewards]
    answers = http.post("/v1/rewards:batch", json={"items": items}).json()["items"]
    assert [answer["status"] for answer in answers] == [200, 200, 409, 404, 422, 404, 200]
    assert [answer["reward"]["status"] for answer in answers if answer["reward"]] == [
        "learned",
        "duplicate",
        "learned",
    ]
    problem(http.post("/v1/rewards:batch", json={"items": []}), 422, "length >= 1")
    many = {"items": [{"bandit": name}] * 1_001}
    problem(http.post("/v1/decisions:batch", json=many), 422, "length <= 1000")
    http.patch(f"{shop}/settings", json={"mode": "paused"})
    items = [{"bandit": name, "request_id": "a"}, {"bandit": name}]
    answers = http.post("/v1/decisions:batch", json={"items": items}).json()["items"]
    assert [answer["status"] for answer in answers] == [200, 409]


def test_why_a_past_decision_was_made(http, shop):
    ids = []
    for n in range(5):
        ids.append(http.post(f"{shop}/decisions").json()["decision_id"])
        http.put(f"{shop}/decisions/{ids[-1]}/reward", json={"reward": n % 2})
    http.patch(f"{shop}/settings", json={"policy": {"policy": "ucb1"}})
    past = http.get(f"/v1/decisions/{ids[3]}?why=true").json()
    assert past["why"]["agrees"] is True
    assert past["why"]["explanation"]["policy"] == "WAGP"
    assert past["why"]["explanation"]["n_observations"] == 3
    assert past["reward"] == 1.0
    assert http.get(f"/v1/decisions/{ids[3]}").json()["why"] is None
    problem(http.get(f"/v1/decisions/{ids[3]}?why=yes"), 422, "why must be true or false")
    problem(http.get(f"/v1/decisions/{ids[3]}?wy=true"), 422, "must be one of why, got 'wy'")
    problem(http.get("/v1/catalogue?page=2"), 422, "query parameter must not be given, got 'page'")
    problem(http.get("/v1/decisions/nobody"), 404)
    now = http.get(f"{shop}/explanation").json()
    assert now["version"] == 5
    assert now["explanation"]["policy"] == "UCB1"
    assert "UCB1 after 5 observations" in now["explanation"]["text"]


def test_events_are_lines_after_a_version(http, shop):
    for _ in range(5):
        id = http.post(f"{shop}/decisions").json()["decision_id"]
        http.put(f"{shop}/decisions/{id}/reward", json={"reward": 1})
    answer = http.get(f"{shop}/events?after=2&limit=2")
    assert answer.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [line["seq"] for line in lines] == [3, 4]
    assert lines[0]["kind"] == "reward"
    assert http.get(f"{shop}/events?after=9").text == ""
    problem(http.get(f"{shop}/events?after=-1"), 422, "after must be a whole number from 0")
    problem(http.get(f"{shop}/events?limit=1e3"), 422, "limit must be a whole number")


def test_events_of_a_pruned_log_are_those_that_are_left(monkeypatch):
    monkeypatch.setattr(handlers, "EVENTS_PER_CHUNK", 3)
    store, clock = SQLiteStore(":memory:"), HandClock()
    with own(ServiceOptions(compiled=False), store, clock) as (service, _, http):
        service.log.create("shop", WAGP)
        for _ in range(20):
            service.log.reward("shop", service.log.decide("shop").decision.id, 0.3)
            clock.pass_seconds(1)
        prune(store, store.bandits()[0], clock.now() - 8_500_000)

        def seqs(query):
            lines = http.get(f"/v1/bandits/shop/events?{query}").text.splitlines()
            return [json.loads(line)["seq"] for line in lines]

        assert seqs("after=0&limit=4") == [13, 14, 15, 16]
        assert seqs("after=16") == [17, 18, 19, 20]
        assert seqs("after=0&limit=0") == []


def test_evidence_is_computed_in_another_process_and_states_its_age(server, http, shop):
    id = http.post(f"{shop}/decisions").json()["decision_id"]
    http.put(f"{shop}/decisions/{id}/reward", json={"reward": 1})
    first = http.get(f"{shop}/evidence")
    assert first.status_code == 202
    assert first.headers["retry-after"] == "1"
    while (answer := http.get(f"{shop}/evidence")).status_code == 202:
        time.sleep(0.05)
    found = answer.json()
    assert found["as_of"] == found["version"] == 1
    assert found["evidence"]["interval"]["n_observations"] == 1
    assert found["evidence"]["model"]["refuted"] is False
    assert set(found["evidence"]) == {
        "interval", "model", "contenders", "drift", "observed_bounds",
    }  # fmt: skip
    # The process that reads is killed: the next reading has a new one.
    (process,) = server[0].readings._pool._processes.values()
    process.kill()
    id = http.post(f"{shop}/decisions").json()["decision_id"]
    http.put(f"{shop}/decisions/{id}/reward", json={"reward": 1})
    while http.get(f"{shop}/evidence").json()["as_of"] == 1:
        time.sleep(0.05)
    assert http.get(f"{shop}/evidence").json()["as_of"] == 2


def test_a_stream_sends_changes(http, shop):
    with http.stream("GET", f"{shop}/stream") as answer:
        assert answer.headers["content-type"] == "text/event-stream"
        assert answer.headers["x-accel-buffering"] == "no"
        lines = answer.iter_lines()
        assert next(lines) == "event: bandit"
        assert json.loads(next(lines).removeprefix("data: "))["version"] == 0
        id = http.post(f"{shop}/decisions").json()["decision_id"]
        http.put(f"{shop}/decisions/{id}/reward", json={"reward": 1})
        seen = 0
        while seen == 0:
            line = next(lines)
            if line.startswith("data: "):
                seen = json.loads(line.removeprefix("data: "))["version"]
        assert seen == 1


def test_defaults_are_learned_at_the_deadline_without_a_request(http, shop):
    settings = {"deadline_seconds": 0.05, "default_reward": 0, "late": "refuse"}
    assert http.patch(f"{shop}/settings", json=settings).status_code == 200
    decision = http.post(f"{shop}/decisions").json()
    assert decision["deadline"] > decision["decided_at"]
    while http.get(shop).json()["version"] == 0:
        time.sleep(0.02)
    past = http.get(f"/v1/decisions/{decision['decision_id']}").json()
    assert (past["state"], past["reward"]) == ("defaulted", 0.0)
    path = f"{shop}/decisions/{decision['decision_id']}/reward"
    problem(http.put(path, json={"reward": 1}), 409)
    http.patch(f"{shop}/settings", json={"default_reward": None})
    decision = http.post(f"{shop}/decisions").json()
    time.sleep(0.06)
    path = f"{shop}/decisions/{decision['decision_id']}/reward"
    problem(http.put(path, json={"reward": 1}), 410, "came after its deadline")


def test_health_readiness_numbers_and_the_document(http, shop):
    assert http.get("/health").json()["status"] == "ok"
    assert http.get("/ready").json()["status"] == "ready"
    assert http.head("/health").status_code == http.head("/ready").status_code == 200
    assert http.head("/v1/bandits").status_code == 405
    http.post(f"{shop}/decisions")
    text = http.get("/metrics").text
    for name in (
        'http_server_request_duration_seconds_count{http_request_method="POST",'
        'http_response_status_code="201",http_route="/v1/bandits/{name}/decisions"}',
        'globalbandits_decisions_total{replayed="false"}',
        "globalbandits_commit_seconds_count",
        "globalbandits_batch_size_sum",
        "globalbandits_queue_length 0.0",
        "globalbandits_open_decisions",
    ):
        assert name in text
    document = http.get("/openapi.json").json()
    assert document["openapi"] == "3.1.0"
    assert "/v1/bandits/{name}/decisions" in document["paths"]


def test_every_answer_has_its_headers(http):
    for path in ("/health", "/nothing", "/v1/bandits/x", "/openapi.json"):
        headers = http.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "server" not in headers


def test_paths_and_methods_that_are_not_there(http):
    problem(http.get("/v2"), 404)
    problem(http.get("/v1/bandits/"), 404)
    answer = http.delete("/v1/bandits")
    problem(answer, 405, "method must be one of GET")
    assert answer.headers["allow"] == "GET"
    problem(http.post("/openapi.json"), 405)


@contextmanager
def own(options, store=None, clock=None):
    with (
        serving(store or SQLiteStore(":memory:"), options, clock) as (service, url),
        talking(url) as http,
    ):
        yield service, url, http


def test_tokens_roles_and_tenants():
    secret = "a-secret-of-the-operator"
    with own(ServiceOptions(token=secret, compiled=False)) as (service, url, anybody):
        answer = anybody.get("/v1/bandits")
        problem(answer, 401, "a valid token is needed")
        assert answer.headers["www-authenticate"] == "Bearer"
        assert anybody.get("/health").status_code == 200
        with talking(url, secret) as admin:
            assert admin.put("/v1/bandits/shop", json=WAGP).status_code == 201
            made = {}
            for role in ("read", "write", "admin"):
                body = admin.post("/v1/tokens", json={"role": role, "label": "mine"}).json()
                made[role] = body["token"]
                assert body["token"].startswith(f"gb_{body['id']}_")
            listed = admin.get("/v1/tokens").json()["tokens"]
            assert sorted(row["role"] for row in listed) == ["admin", "read", "write"]
            assert made["read"] not in json.dumps(listed)
        with talking(url, made["read"]) as http:
            assert http.get("/v1/bandits/shop").status_code == 200
            problem(http.post("/v1/bandits/shop/decisions"), 403, "must be write or more")
        with talking(url, made["write"]) as http:
            assert http.post("/v1/bandits/shop/decisions").status_code == 201
            problem(http.put("/v1/bandits/other", json=WAGP), 403, "must be admin or more")
            problem(http.get("/v1/tokens"), 403)
        for wrong in ("x", secret[:-1], made["read"][:-1], f"{made['read']}a", "gb__", "gb_0_0"):
            with talking(url, wrong) as http:
                assert http.get("/v1/bandits").status_code == 401
        basic = httpx.get(f"{url}/v1/bandits", headers={"Authorization": f"Basic {secret}"})
        assert basic.status_code == 401
        with talking(url, made["admin"]) as http:
            id = made["read"].split("_")[1]
            assert http.delete(f"/v1/tokens/{id}").status_code == 200
            problem(http.delete(f"/v1/tokens/{id}"), 404)
        with talking(url, made["read"]) as http:
            assert http.get("/v1/bandits").status_code == 401
        assert len(service.log.store.tokens()) == 2
        assert secret not in repr(service.log.store.tokens())


def test_two_tenants_do_not_see_each_other():
    from globalbandits.service.tokens import new_token

    store = SQLiteStore(":memory:")
    tokens = {}
    with store.transaction() as rows:
        for tenant in ("one", "two"):
            tokens[tenant], row = new_token("admin", tenant, "", 0, None)
            rows.add_token(row)
    with (
        own(ServiceOptions(compiled=False), store) as (_, url, _),
        talking(url, tokens["one"]) as one,
        talking(url, tokens["two"]) as two,
    ):
        assert one.put("/v1/bandits/shop", json=WAGP).status_code == 201
        problem(two.get("/v1/bandits/shop"), 404)
        problem(two.post("/v1/bandits/shop/decisions"), 404)
        assert two.get("/v1/bandits").json() == {"bandits": [], "next": None}
        mine = one.post("/v1/bandits/shop/decisions", json={"request_id": "r"}).json()
        assert two.put("/v1/bandits/shop", json=THOMPSON).status_code == 201
        theirs = two.post("/v1/bandits/shop/decisions", json={"request_id": "r"})
        assert theirs.status_code == 201  # a request id of another tenant is another one
        id = mine["decision_id"]
        problem(two.get(f"/v1/decisions/{id}?why=true"), 404)
        problem(two.put(f"/v1/bandits/shop/decisions/{id}/reward", json={"reward": 1}), 404)
        problem(two.delete(f"/v1/bandits/shop/decisions/{id}/reward"), 404)
        item = {"bandit": "shop", "decision_id": id, "reward": 1}
        answers = two.post("/v1/rewards:batch", json={"items": [item]}).json()["items"]
        assert answers[0]["status"] == 404
        own_id = tokens["one"].split("_")[1]
        problem(two.delete(f"/v1/tokens/{own_id}"), 404)
        assert one.get("/v1/bandits/shop").json()["version"] == 0


def test_the_first_token_closes_the_service_for_good():
    with own(ServiceOptions(compiled=False)) as (_, url, http):
        problem(http.post("/v1/tokens", json={"role": "write"}), 409, "must have the role admin")
        token = http.post("/v1/tokens", json={"role": "admin"}).json()
        assert http.get("/v1/bandits").status_code == 401
        with talking(url, token["token"]) as admin:
            assert admin.delete(f"/v1/tokens/{token['id']}").json() == {"tokens": []}
        assert http.get("/v1/bandits").status_code == 401  # it does not open again


def test_a_token_expires():
    clock = HandClock()
    secret = "a-secret-of-the-operator"
    with (
        own(ServiceOptions(token=secret, compiled=False), clock=clock) as (_, url, _),
        talking(url, secret) as admin,
    ):
        body = admin.post("/v1/tokens", json={"role": "read", "expires_seconds": 60}).json()
        with talking(url, body["token"]) as http:
            assert http.get("/v1/bandits").status_code == 200
            clock.pass_seconds(61)
            assert http.get("/v1/bandits").status_code == 401


def test_limits_of_open_decisions_bandits_rates_and_streams():
    options = ServiceOptions(
        compiled=False, most_open=2, most_bandits=1, rate=0.001, burst=13, most_streams=0
    )
    with own(options) as (_, _, http):
        http.put("/v1/bandits/shop", json=WAGP)
        answer = http.put("/v1/bandits/other", json=WAGP)
        problem(answer, 429, "bandits must be at most 1")
        assert http.put("/v1/bandits/shop", json=WAGP).status_code == 200
        path, ids = "/v1/bandits/shop/decisions", []
        for request in ("a", "b"):
            ids.append(http.post(path, json={"request_id": request}).json()["decision_id"])
        answer = http.post("/v1/bandits/shop/decisions")
        problem(answer, 429, "open decisions of shop must be fewer than 2, got 2")
        assert int(answer.headers["retry-after"]) > 0
        assert http.post(path, json={"request_id": "a"}).status_code == 200  # a retry is no new one
        http.put(f"/v1/bandits/shop/decisions/{ids[0]}/reward", json={"reward": 1})
        assert http.post("/v1/bandits/shop/decisions").status_code == 201
        problem(http.get("/v1/bandits/shop/stream"), 429, "streams must be at most 0")
        statuses = [http.get("/v1/bandits").status_code for _ in range(5)]
        assert statuses[-1] == 429
        assert http.get("/health").status_code == 200


def test_decisions_past_their_deadline_make_room_for_new_ones():
    clock = HandClock()
    options = ServiceOptions(compiled=False, most_open=2, recount_seconds=0.0)
    with own(options, clock=clock) as (_, _, http):
        created = http.put("/v1/bandits/shop", json=WAGP).json()
        assert created["settings"]["deadline_seconds"] == 30 * 86_400
        assert created["warnings"] == []
        path = "/v1/bandits/shop/decisions"
        ids = [http.post(path).json()["decision_id"] for _ in range(2)]
        problem(http.post(path), 429, "lower deadline_seconds, after which a decision no longer")
        clock.pass_seconds(30 * 86_400 + 1)
        assert http.post(path).status_code == 201
        late = http.put(f"{path}/{ids[0]}/reward", json={"reward": 1})
        assert late.json()["status"] == "learned"
        off = http.put("/v1/bandits/off", json=WAGP | {"deadline_seconds": None}).json()
        assert off["settings"]["deadline_seconds"] is None
        assert [text.split(":")[0] for text in off["warnings"]] == ["deadline_seconds is null"]
        for _ in range(2):
            http.post("/v1/bandits/off/decisions")
        clock.pass_seconds(60)
        problem(http.post("/v1/bandits/off/decisions"), 429)
        http.patch("/v1/bandits/off/settings", json={"deadline_seconds": 30})
        assert http.post("/v1/bandits/off/decisions").status_code == 201


def test_without_a_token_only_local_host_names_are_accepted(http, server):
    port = server[1].rpartition(":")[2]
    for host in ("evil.example", f"evil.example:{port}", "localhost.evil.example", "", "127.0.0.2"):
        answer = http.get("/v1/bandits", headers={"Host": host})
        problem(answer, 403, "host must be localhost")
    for host in ("localhost", f"localhost:{port}", "127.0.0.1", f"[::1]:{port}", "LOCALHOST"):
        assert http.get("/v1/bandits", headers={"Host": host}).status_code == 200


def test_without_a_token_requests_from_other_sites_are_refused(http, server, shop):
    """A browser sends a POST without a body from anywhere, and only hides the answer."""
    own = server[1]
    for origin in ("http://evil.example", "null", "https://localhost", f"{own}.evil.example"):
        answer = http.post(f"{shop}/decisions", headers={"Origin": origin})
        problem(answer, 403, "origin must be")
    assert http.get(shop).json()["open"] == 0
    assert http.post(f"{shop}/decisions", headers={"Origin": own}).status_code == 201


def test_no_other_address_without_a_token():
    assert is_loopback("127.0.0.1")
    assert is_loopback("::1")
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("example.org")
    check_reachable("127.0.0.1", SQLiteStore(":memory:"), ServiceOptions())
    check_reachable("0.0.0.0", SQLiteStore(":memory:"), ServiceOptions(token="x" * 20))
    with pytest.raises(ServiceError, match="host must be a loopback address where there is no"):
        check_reachable("0.0.0.0", SQLiteStore(":memory:"), ServiceOptions())


def test_a_store_that_is_unavailable_is_503_and_comes_back():
    store = UnavailableStore()
    with own(ServiceOptions(compiled=False), store) as (service, _, http):
        http.put("/v1/bandits/shop", json=WAGP)
        store.unavailable = True
        answer = http.post("/v1/bandits/shop/decisions", json={"request_id": "r"})
        problem(answer, 503, "no store")
        assert answer.headers["retry-after"] == "1"
        problem(http.get("/ready"), 503, "no store")
        assert http.get("/health").status_code == 200
        assert http.get("/v1/bandits/shop").status_code == 200  # memory still answers
        store.unavailable = False
        answer = http.post("/v1/bandits/shop/decisions", json={"request_id": "r"})
        assert answer.status_code == 201
        service._commit_fault = (service._commit_fault[0] - 10, service._commit_fault[1])
        assert http.get("/ready").status_code == 200
        service.draining = True
        problem(http.get("/ready"), 503, "about to stop")


def test_an_unreadable_store_is_reported_without_requests(caplog, monkeypatch):
    """After any exception of a sweep the next one is tried."""
    fault = []

    class Silent(SQLiteStore):
        def overdue(self, after, upto, limit):
            for error in fault:
                raise error
            return super().overdue(after, upto, limit)

    monkeypatch.setattr(logging.getLogger("globalbandits.service"), "propagate", True)
    with own(ServiceOptions(compiled=False, sweep_seconds=0.02), Silent(":memory:")) as (
        _,
        _,
        http,
    ):

        def becomes(status):
            until = time.monotonic() + 30
            while (answer := http.get("/ready")).status_code != status:
                assert time.monotonic() < until
                time.sleep(0.01)
            return answer

        for error, words in (
            (StoreUnavailable("no line"), "no line"),
            (KeyError("x"), "KeyError('x')"),
        ):
            becomes(200)
            fault.append(error)
            problem(becomes(503), 503, words)
            time.sleep(0.1)  # some more sweeps
            fault.clear()
        becomes(200)
    assert [row.message for row in caplog.records].count("no line") == 1


def test_what_waits_is_stored_when_the_service_stops(tmp_path):
    """Requests that wait when the service stops are answered, and answered ones are stored."""
    path = tmp_path / "log.db"
    acknowledged = []
    with (
        serving(SQLiteStore(path), ServiceOptions(compiled=False)) as (_, url),
        talking(url) as first,
    ):
        first.put("/v1/bandits/shop", json=WAGP)

        def ask(client):
            with talking(url) as http:
                for n in range(1_000):
                    try:
                        answer = http.post(
                            "/v1/bandits/shop/decisions", json={"request_id": f"{client}-{n}"}
                        )
                    except httpx.TransportError:
                        return
                    if answer.status_code == 201:
                        acknowledged.append(answer.json()["decision_id"])

        threads = [threading.Thread(target=ask, args=(client,)) for client in range(4)]
        for thread in threads:
            thread.start()
        while len(acknowledged) < 40:
            time.sleep(0.01)
    for thread in threads:
        thread.join()
    store = SQLiteStore(path)
    assert set(acknowledged) <= {row.id for row in store.decisions(1)}
    store.close()


def test_a_stream_ends_when_the_service_stops():
    lines = []
    with serving(SQLiteStore(":memory:"), ServiceOptions(compiled=False)) as (service, url):
        service.log.create("shop", WAGP)

        def listen():
            with httpx.stream("GET", f"{url}/v1/bandits/shop/stream", timeout=30) as answer:
                lines.extend(answer.iter_lines())

        thread = threading.Thread(target=listen)
        thread.start()
        while service.n_streams == 0:
            time.sleep(0.01)
    thread.join()
    assert lines[0] == "event: bandit"  # and the answer was whole: no error was raised
    assert service.n_streams == 0


def test_requests_waiting_for_one_bandit_do_not_block_others(monkeypatch, tmp_path):
    with serving(SQLiteStore(tmp_path / "log.db"), ServiceOptions(compiled=False)) as (service, _):
        service.log.create("large", WAGP)
        service.log.create("small", WAGP)
    go = threading.Event()

    def slowly(store, row, **options):
        if row.name == "large":
            go.wait()
        return load(store, row, **options)

    monkeypatch.setattr("globalbandits.service.log.log.load", slowly)
    store = SQLiteStore(tmp_path / "log.db")
    with serving(store, ServiceOptions(compiled=False)) as (_, url), talking(url) as http:
        statuses = []
        ask = partial(_send, url, "POST", "/v1/bandits/large/decisions", statuses)
        threads = [threading.Thread(target=ask) for _ in range(40)]  # more than a pool has
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        # Its models are drawn by a thread, too.
        assert http.post("/v1/models:preview", json={"model": MODEL}).status_code == 200
        go.set()
        for thread in threads:
            thread.join()
        assert statuses == [201] * 40
        assert http.post("/v1/bandits/small/decisions").status_code == 201


def test_explanation_requests_do_not_block_others(monkeypatch):
    go = threading.Event()

    def slowly(*arguments):
        go.wait()
        return redecide(*arguments)

    monkeypatch.setattr("globalbandits.service.log.log.redecide", slowly)
    with own(ServiceOptions(compiled=False)) as (service, url, http):
        service.log.create("shop", WAGP)
        id = service.log.decide("shop").decision.id
        statuses = []
        ask = partial(_send, url, "GET", f"/v1/decisions/{id}?why=true", statuses)
        threads = [threading.Thread(target=ask) for _ in range(40)]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        assert http.get(f"/v1/decisions/{id}").status_code == 200
        go.set()
        for thread in threads:
            thread.join()
        assert statuses == [200] * 40


def _send(url, method, path, statuses):
    connection = HTTPConnection(url.removeprefix("http://"))
    connection.request(method, path, headers={"Host": "localhost"})
    statuses.append(connection.getresponse().status)
    connection.close()


def test_a_stream_ends_when_its_listener_goes():
    with (
        serving(SQLiteStore(":memory:"), ServiceOptions(compiled=False, most_streams=1)) as (
            service,
            url,
        ),
        talking(url) as http,
    ):
        service.log.create("shop", WAGP)
        for _ in range(3):
            with http.stream("GET", "/v1/bandits/shop/stream") as answer:
                lines = answer.iter_lines()
                assert next(lines) == "event: bandit"
                problem(httpx.get(f"{url}/v1/bandits/shop/stream"), 429, "streams must be at most")
            until = time.monotonic() + 10
            while service.n_streams and time.monotonic() < until:
                time.sleep(0.01)
            assert service.n_streams == 0
