"""Two servers on one database: each has the events that the other one stored."""

import time

import pytest

pytest.importorskip("psycopg", reason="the extra postgres is not installed")

from globalbandits.service.service import ServiceOptions
from globalbandits.service.stores.postgresql import PostgreSQLStore
from tests.service.serving import serving, talking
from tests.service.worlds import THOMPSON

SECRET = "a-secret-of-the-operator"
OPTIONS = ServiceOptions(compiled=False, token=SECRET, sweep_seconds=0.1)


def soon(ask, wanted):
    """Wait until a query returns the wanted result."""
    until = time.monotonic() + 60
    while (found := ask()) != wanted:
        assert time.monotonic() < until, found
        time.sleep(0.02)


@pytest.fixture
def two(empty):
    with (
        serving(PostgreSQLStore(empty.address), OPTIONS) as (_, first),
        serving(PostgreSQLStore(empty.address), OPTIONS) as (_, second),
        talking(first, SECRET) as one,
        talking(second, SECRET) as other,
    ):
        yield one, other, second


def test_a_decision_of_one_is_rewarded_at_the_other(two):
    one, other, _ = two
    assert one.put("/v1/bandits/shop", json=THOMPSON).status_code == 201
    assert other.put("/v1/bandits/shop", json=THOMPSON).status_code == 200
    for n in range(5):
        made = other.post("/v1/bandits/shop/decisions", json={"request_id": f"{n}"})
        assert made.status_code == 201
        again = one.post("/v1/bandits/shop/decisions", json={"request_id": f"{n}"})
        assert again.status_code == 200
        id = made.json()["decision_id"]
        assert again.json()["decision_id"] == id
        told = one.put(f"/v1/bandits/shop/decisions/{id}/reward", json={"reward": 0.5})
        assert told.json()["version"] == n + 1
        told = other.put(f"/v1/bandits/shop/decisions/{id}/reward", json={"reward": 0.5})
        assert (told.json()["status"], told.json()["version"]) == ("duplicate", n + 1)
        told = other.put(f"/v1/bandits/shop/decisions/{id}/reward", json={"reward": 0.25})
        assert told.status_code == 409
    assert one.patch("/v1/bandits/shop/settings", json={"mode": "paused"}).status_code == 200
    soon(lambda: other.post("/v1/bandits/shop/decisions").status_code, 409)
    assert one.get("/v1/bandits/nobody").status_code == 404


def test_two_sweepers_learn_a_default_once(two):
    one, other, _ = two
    due = {"deadline_seconds": 0.05, "default_reward": 0.0}
    one.put("/v1/bandits/shop", json=THOMPSON | due)
    for n in range(20):
        (one, other)[n % 2].post("/v1/bandits/shop/decisions")
    for http in (one, other):
        soon(lambda http=http: http.get("/v1/bandits/shop").json()["version"], 20)
    time.sleep(0.3)  # both sweep on
    lines = one.get("/v1/bandits/shop/events").text.splitlines()
    assert len(lines) == 20


def test_a_token_is_valid_at_every_replica_until_it_is_revoked(two):
    one, _, second = two
    made = one.post("/v1/tokens", json={"role": "read"}).json()
    with talking(second, made["token"]) as http:
        soon(lambda: http.get("/v1/bandits").status_code, 200)
        assert one.delete(f"/v1/tokens/{made['id']}").status_code == 200
        soon(lambda: http.get("/v1/bandits").status_code, 401)
