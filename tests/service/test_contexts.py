"""Segments and allowed arms in requests to the service."""

import json

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import GlobalBanditsError
from globalbandits.service.evidence_history import trace
from globalbandits.service.evidence_reader import read
from globalbandits.service.log import Log
from globalbandits.service.log.archive.decision_log import decision_log
from globalbandits.service.log.archive.transfer import copy, export_lines, import_lines
from globalbandits.service.log.load import load
from globalbandits.service.log.replay import comparable_state, replay
from globalbandits.service.log.settings import canonical_json
from globalbandits.service.stores import SQLiteStore
from tests.service.serving import serving
from tests.service.worlds import MODEL as PLAIN
from tests.service.worlds import HandClock

PRICES = [1.0, 2.0, 3.0]
MODEL = {
    "mean": "expit(2 + context - arm*theta)",
    "value": "arm * mean",
    "arms": PRICES,
    "domain": [0.5, 3.0],
    "contexts": {"weekday": 0.0, "weekend": 1.0},
}
SHOP = {"model": MODEL, "policy": {"policy": "ucb1"}, "seed": 4}
POLICIES = [
    {"policy": "wagp"},
    {"policy": "thompson_sampling"},
    {"policy": "grid_thompson", "cells": 100},
    {"policy": "hold", "inner": {"policy": "ucb1"}, "every": 3},
]


@pytest.fixture
def log():
    log = Log(SQLiteStore(":memory:"), clock=HandClock(), compiled=False)
    yield log
    log.close()


def play(log, n, seed=0):
    """Decide in both contexts, with allowed arms now and then, and report most rewards."""
    rng, made = np.random.default_rng(seed), []
    shown = [arm for arm in range(3) if arm not in log.bandit("shop").learner.withdrawn]
    for number in range(n):
        context = "weekend" if rng.random() < 0.4 else "weekday"
        few = [PRICES[arm] for arm in shown if rng.random() < 0.7]
        allowed = few if few and rng.random() < 0.5 else None
        row = log.decide("shop", f"{seed}-{number}", context=context, allowed=allowed).decision
        assert row.context == context
        assert allowed is None or PRICES[row.shown] in allowed
        made.append(row)
        if rng.random() < 0.8:
            log.reward("shop", row.id, float(rng.random() < 0.3))
    return made


def replayed(log):
    row = log.store.bandit(log.bandit("shop").row.id)
    report = replay(log.store, row, compiled=False)
    assert report.good, report.wrong
    assert report.agree + report.imported == report.decisions
    return report


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy["policy"])
def test_decisions_in_contexts_are_replayed_and_loaded_exactly(log, policy):
    log.create("shop", SHOP | {"policy": policy})
    made = play(log, 60)
    bandit = log.bandit("shop")
    learned = log.store.events(bandit.row.id)
    counts = np.zeros((2, 3), int)
    for event in learned:
        if event.kind == "reward":
            counts[int(event.context == "weekend"), event.arm] += 1
    np.testing.assert_array_equal(bandit.learner.pulls, counts)
    shown = np.zeros((2, 3), int)
    for row in made:
        shown[int(row.context == "weekend"), row.shown] += 1
    assert bandit.shown == shown.ravel().tolist()
    log.recount(bandit)
    assert bandit.shown == shown.ravel().tolist()
    assert replayed(log).decisions == 60
    # From a snapshot, and from the first event.
    log.save([bandit]).result()
    row = log.store.bandit(bandit.row.id)
    state = comparable_state(bandit.state())
    assert comparable_state(load(log.store, row, compiled=False).state()) == state
    with log.store.transaction() as rows:
        rows.drop_snapshots(row.id, row.version + 1, 0)
    assert comparable_state(load(log.store, row, compiled=False).state()) == state


def test_arms_and_contexts_are_added_while_the_bandit_runs(log):
    log.create("shop", SHOP)
    play(log, 30)
    before = log.bandit("shop").learner.pulls
    log.change("shop", {"arms": [2.0, 3.0, 2.5]})
    wider = {"weekday": 0.0, "weekend": 1.0, "holiday": 1.5}
    model = MODEL | {"arms": [*PRICES, 2.5], "contexts": wider}
    log.change("shop", {"model": model})
    assert log.bandit("shop").contexts == ("holiday", "weekday", "weekend")
    pulls = log.bandit("shop").learner.pulls
    np.testing.assert_array_equal(pulls[1:, :3], before)
    assert pulls.shape == (3, 4)
    for number in range(10):
        row = log.decide("shop", f"new-{number}", context="holiday").decision
        assert row.shown != 0
        log.reward("shop", row.id, 1.0)
    play(log, 20, seed=1)
    assert replayed(log).decisions == 60
    assert sum(log.bandit("shop").shown) == 60


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({}, "context must be one of 'weekday', 'weekend', got None"),
        ({"context": "sunday"}, "context must be one of 'weekday', 'weekend', got 'sunday'"),
        ({"context": "weekday", "allowed": []}, "allowed must have at least one arm"),
        ({"context": "weekday", "allowed": [1.5]}, "allowed must have values among the arms"),
        ({"context": "weekday", "allowed": [True]}, "allowed must have values among the arms"),
        ({"context": "weekday", "allowed": [3.0]}, "got 3.0, which is withdrawn"),
        ({"context": "weekday", "allowed": [1.0]}, "allowed must have an arm within the limits"),
    ],
)
def test_bad_requests_are_refused_and_nothing_is_stored(log, request_, message):
    log.create("shop", SHOP | {"withdrawn": [3.0], "limits": [2.0, 3.0]})
    with pytest.raises(GlobalBanditsError, match=message):
        log.decide("shop", "r", **request_)
    assert list(log.store.decisions(log.bandit("shop").row.id)) == []


def test_a_plain_bandit_accepts_allowed_and_refuses_contexts(log):
    log.create("shop", {"model": PLAIN, "policy": {"policy": "wagp"}, "seed": 1})
    with pytest.raises(GlobalBanditsError, match="context must be left out"):
        log.decide("shop", context="weekday")
    values = log.bandit("shop").values
    for number in range(20):
        row = log.decide("shop", f"{number}", allowed=values[1:3]).decision
        assert row.shown in (1, 2)
        assert json.loads(row.allowed) == [1, 2]
        log.reward("shop", row.id, 0.5)
    replayed(log)


def test_a_retry_finds_its_decision_after_its_arm_was_withdrawn(log):
    log.create("shop", SHOP)
    first = log.decide("shop", "r", context="weekday", allowed=[1.0]).decision
    log.change("shop", {"arms": [2.0, 3.0]})
    again = log.decide("shop", "r", context="weekday", allowed=[1.0])
    assert again.replayed
    assert again.decision == first
    # The reward of a decision made before its arm was withdrawn is learned.
    assert log.reward("shop", first.id, 1.0).outcome.value == "learned"
    assert log.bandit("shop").learner.pulls[0, 0] == 1
    replayed(log)


def test_the_control_group_and_the_shadow_need_the_incumbent(log):
    log.create("shop", SHOP | {"incumbent": 2.0, "held_back": 0.9})
    for number in range(20):
        row = log.decide("shop", f"{number}", context="weekday", allowed=[1.0, 3.0]).decision
        assert row.shown != 1
    log.change("shop", {"mode": "shadow"})
    with pytest.raises(GlobalBanditsError, match="allowed must have the incumbent"):
        log.decide("shop", "s", context="weekday", allowed=[1.0])
    replayed(log)


def test_the_largest_step_and_the_unit_are_of_a_context(log):
    steps = {"largest_step": 1, "sticky_seconds": 3600.0, "incumbent": 1.0}
    log.create("shop", SHOP | steps)
    first = {}
    for context, allowed in (("weekday", [2.0]), ("weekend", [1.0])):
        row = log.decide("shop", f"first-{context}", context=context, allowed=allowed).decision
        first[context] = row.shown
        log.reward("shop", row.id, 0.0)
    for number in range(9):
        row = log.decide("shop", f"{number}", context="weekend", unit="ann").decision
        assert row.shown <= 1
    other = log.decide("shop", "other", context="weekday", unit="ann").decision
    assert other.follows is None
    replayed(log)


def test_probabilities_are_those_of_the_context_and_the_allowed_arms(log):
    log.create("shop", SHOP | {"policy": {"policy": "epsilon_greedy", "epsilon": 0.3}})
    play(log, 20)
    row = log.decide("shop", "p", context="weekend", allowed=[1.0, 3.0]).decision
    assert row.probability in (pytest.approx(0.85), pytest.approx(0.15))
    found, _, _ = log.bandit("shop").probabilities(100, "weekend", [0, 2])
    assert found.exact
    assert found.values[1] == 0.0
    assert found.values.sum() == pytest.approx(1.0)
    with pytest.raises(GlobalBanditsError, match="without contexts"):
        decision_log(log.store, log.store.bandit(row.bandit))


def test_thompson_sampling_logs_exact_probabilities_in_contexts_and_among_allowed_arms(log):
    log.create("shop", SHOP | {"policy": {"policy": "grid_thompson", "cells": 200}})
    play(log, 12)
    for number, (context, allowed) in enumerate([("weekday", None), ("weekend", [1.0, 3.0])]):
        row = log.decide("shop", f"p{number}", context=context, allowed=allowed).decision
        indices = None if allowed is None else [PRICES.index(price) for price in allowed]
        found, _, _ = log.bandit("shop").probabilities(100, context, indices)
        assert found.exact
        assert row.probability == pytest.approx(found[row.shown])


def test_open_decisions_are_evidence_in_their_context(log):
    grid = {"policy": "grid_greedy", "cells": 100}
    delay = {"delay": {"kind": "geometric", "mean": 3600}, "deadline_seconds": 86_400.0}
    log.create("shop", SHOP | {"policy": grid} | delay)
    row = log.decide("shop", "a", context="weekend").decision
    log.clock.pass_seconds(3600)
    log.decide("shop", "b", context="weekday")
    ((cell, weight),) = log.bandit("shop").learner.pending
    assert cell == 3 + row.shown
    assert 0.0 < weight < 1.0
    log.save([log.bandit("shop")]).result()
    replayed(log)


def test_exports_hold_contexts_and_damaged_ones_are_found(log):
    log.create("shop", SHOP)
    play(log, 20)
    rows = log.store.bandits()
    copied = SQLiteStore(":memory:")
    (result,) = copy(log.store, copied, rows)
    assert result.agree == result.decisions == 20
    lines = list(export_lines(log.store, rows))
    for old, new, message in (
        ('"context":"weekend"', '"context":"sunday"', "context must be one of"),
        ('"context":"weekend"', '"context":null', "context must be one of"),
        ('"allowed":"[', '"allowed":"x[', "allowed must be a list"),
    ):
        bad = [line.replace(old, new) for line in lines]
        with pytest.raises(GlobalBanditsError, match=message):
            import_lines(SQLiteStore(":memory:"), bad)
    # An export of an older version has neither column.
    log.create("plain", {"model": PLAIN, "policy": {"policy": "wagp"}, "seed": 1})
    log.reward("plain", log.decide("plain").decision.id, 0.5)
    plain = [row for row in log.store.bandits() if row.name == "plain"]
    old = []
    for line in export_lines(log.store, plain):
        data = json.loads(line)
        if data["type"] in ("decision", "event"):
            del data["context"]
            data.pop("allowed", None)
        old.append(json.dumps(data))
    assert import_lines(SQLiteStore(":memory:"), old) == ["plain"]


def test_imported_rewards_have_a_context(log):
    log.create("shop", SHOP)
    past = [(1.0, 1.0, "weekday"), (1.0, 0.0, "weekend"), (3.0, 0.0, "weekend")]
    assert log.import_rewards("shop", "history", past).rewards == 3
    assert log.import_rewards("shop", "history", past).outcome.value == "duplicate"
    np.testing.assert_array_equal(log.bandit("shop").learner.pulls, [[1, 0, 0], [1, 0, 1]])
    log.create("other", SHOP)
    with pytest.raises(GlobalBanditsError, match="context must be one of"):
        log.import_rewards("other", "history", [(1.0, 1.0)])
    replayed(log)


def test_evidence_is_pooled_and_contenders_are_of_each_context(log):
    log.create("shop", SHOP)
    play(log, 40)
    bandit = log.bandit("shop")
    model = canonical_json(bandit.settings.model)
    found = read(model, bandit.learner.state(), 0)
    assert list(found["contenders"]) == ["weekday", "weekend"]
    assert found["interval"]["low"] == pytest.approx(bandit.learner.interval().low)
    own = bandit.learner.contenders(context="weekend")
    assert found["contenders"]["weekend"]["arms"] == list(own.arms)
    assert found["earnings"]["amount"] == pytest.approx(bandit.learner.earnings(0).amount)
    events = [
        (row.kind, bandit.cell(row.arm, row.context), row.value, row.n_rewards)
        for row in log.store.events(bandit.row.id)
    ]
    points = trace(model, events, [])
    assert points[len(events)]["low"] == pytest.approx(found["interval"]["low"])


def test_evidence_of_two_numbers_with_contexts(log):
    model = {
        "mean": "level * exp(-slope*arm) * (1 + context)",
        "arms": [1, 2, 3],
        "domain": {"level": [0.02, 0.2], "slope": [0.02, 0.6]},
        "contexts": {"weekday": 0, "weekend": 0.3},
    }
    log.create("shop", {"model": model, "policy": {"policy": "ids"}})
    play(log, 5)
    bandit = log.bandit("shop")
    found = read(canonical_json(bandit.settings.model), bandit.learner.state(), 0)
    assert list(found["contenders"]) == ["weekday", "weekend"]
    assert set(found["region"]["intervals"]) == {"level", "slope"}
    assert found["earnings"]["n_observations"] == bandit.learner.n_observations


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"stop": {"one_contender": True}}, "StopWhen must have decisions alone"),
        ({"policy": {"policy": "limited"}}, "model must have no contexts for Limited"),
        ({"model": MODEL | {"contexts": {"a\n": 0.0}}}, "contexts must be at most 200 printable"),
    ],
)
def test_settings_that_contexts_cannot_have(log, setting, message):
    with pytest.raises(GlobalBanditsError, match=message):
        log.create("shop", SHOP | setting)


def test_a_number_of_decisions_stops_a_bandit_with_contexts(log):
    log.create("shop", SHOP | {"stop": {"decisions": 2}})
    for number in range(2):
        row = log.decide("shop", f"{number}", context="weekday").decision
        log.reward("shop", row.id, 1.0)
    with pytest.raises(gb.ConflictError, match="stopped"):
        log.decide("shop", "3", context="weekday")


def test_contexts_over_http():
    with serving(SQLiteStore(":memory:")) as (_, url), gb.Client(url) as client:
        created = client.create("shop", SHOP)
        assert created.contexts == ["weekday", "weekend"]
        with client.decision("shop", context="weekend", allowed=[1.0, 2.0]) as opened:
            assert opened.value in (1.0, 2.0)
            opened.reward(1.0)
        assert opened.decision.context == "weekend"
        good, bad = client.decide_many(
            [("shop", "a", {"context": "weekday"}), ("shop", "b", {"context": "sunday"})]
        )
        assert (good.status, good.decision.context) == (201, "weekday")
        assert (bad.status, bad.problem.parameter) == (422, "context")
        assert "'weekday', 'weekend'" in bad.problem.detail
        with pytest.raises(gb.ServiceError, match="context must be one of 'weekday', 'weekend'"):
            client.decide("shop")
        arms = client.bandit("shop").arms
        assert [arm.context for arm in arms] == ["weekday"] * 3 + ["weekend"] * 3
        assert sum(arm.pulls for arm in arms[3:]) == 1
        weights = client.weights("shop", context="weekday").weights
        assert sum(weight.probability for weight in weights) == pytest.approx(1.0)
        explained = client.explanation("shop", context="weekend").explanation
        assert len(explained["arms"]) == 3
        assert client.past(opened.id, why=True).why["agrees"]
        http = client._http
        curves = [http.get(f"/v1/bandits/shop/curves{query}").json()
                  for query in ("", "?context=weekend")]  # fmt: skip
        assert [curve["context"] for curve in curves] == ["weekday", "weekend"]
        assert curves[0]["means"] != curves[1]["means"]
        (line,) = http.get("/v1/bandits/shop/events").text.splitlines()
        assert json.loads(line)["context"] == "weekend"
        assert http.get("/v1/bandits/shop/weights").status_code == 422
        assert http.post("/v1/models:preview", json={"model": MODEL}).json()["context"] == "weekday"
