"""A visitor sees one arm, a reward is the sum of many, and open decisions are evidence by age."""

import httpx
import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import RewardError, ServiceError
from globalbandits.service.log import Log
from globalbandits.service.log.append import Outcome
from globalbandits.service.log.archive.retention import prune
from globalbandits.service.log.archive.transfer import copy, export_lines, import_lines
from globalbandits.service.log.replay import replay
from globalbandits.service.stores import SQLiteStore
from tests.service.serving import serving
from tests.service.worlds import SECOND, HandClock

PRICES = [4.0, 5.0, 6.0, 7.0, 8.0]
SHOP = {"family": "demand.exponential", "arms": PRICES, "cost": 2.0, "domain": [0.2, 1.2]}
THOMPSON = {"policy": "grid_thompson", "cells": 60}
DAY = 86_400.0


@pytest.fixture
def clock():
    return HandClock()


@pytest.fixture
def log(clock):
    opened = Log(SQLiteStore(":memory:"), clock=clock, snapshot_events=9)
    yield opened
    opened.close()


def create(log, name="shop", **settings):
    policy = settings.pop("policy", THOMPSON)
    log.create(name, {"model": SHOP, "policy": policy, "seed": 3} | settings)


def replayed(log, name="shop"):
    row = next(row for row in log.store.bandits() if row.name == name)
    report = replay(log.store, row)
    assert report.good, report.wrong
    assert report.agree == report.decisions
    return report


def test_a_unit_sees_one_arm_for_the_period(log, clock):
    create(log, sticky_seconds=DAY, policy={"policy": "uniform"})
    rng = np.random.default_rng(1)
    shown, first_at = {}, {}
    for step in range(160):
        unit = f"visitor-{rng.integers(12)}"
        clock.pass_seconds(2_000)
        decision = log.decide("shop", f"request-{step}", unit=unit).decision
        assert decision.unit == unit
        if unit in shown and decision.at - first_at[unit] < DAY * SECOND:
            assert decision.shown == shown[unit]
            assert decision.follows is not None
        else:
            assert decision.follows is None
            shown[unit], first_at[unit] = decision.shown, decision.at
        if rng.random() < 0.7:
            log.reward("shop", decision.id, float(rng.random() < 0.03))
    assert len(set(shown.values())) > 1
    report = replayed(log)
    assert report.decisions == 160
    # The decision of a request is the same for every retry.
    assert log.decide("shop", "request-3", unit="visitor-99").replayed
    followed = [row for row in log.store.decisions(1) if row.follows is not None]
    explained = log.explain("shop", followed[-1].id)
    assert (explained.choice.why, explained.choice.shown) == ("unit", followed[-1].shown)


def test_every_decision_has_its_own_reward(log):
    create(log, sticky_seconds=DAY)
    one, two = (log.decide("shop", unit="ann").decision for _ in range(2))
    assert one.shown == two.shown
    assert log.reward("shop", one.id, 0.0).outcome is Outcome.LEARNED
    assert log.reward("shop", two.id, 1.0).outcome is Outcome.LEARNED
    assert log.bandit("shop").learner.n_observations == 2


def test_without_the_setting_or_within_new_limits_the_arm_is_chosen_anew(log):
    create(log)
    arms = {log.decide("shop", unit="ann").decision.shown for _ in range(40)}
    assert len(arms) > 1
    create(log, "sticky", sticky_seconds=DAY)
    first = log.decide("sticky", unit="ann").decision
    assert log.decide("sticky", unit="ann").decision.shown == first.shown
    others = [price for place, price in enumerate(PRICES) if place != first.shown]
    low, high = (others[0], others[-1])
    if low < PRICES[first.shown] < high:
        low, high = (others[0], others[0])
    log.change("sticky", {"limits": [low, high]})
    moved = log.decide("sticky", unit="ann").decision
    assert moved.follows is None
    assert low <= PRICES[moved.shown] <= high
    log.change("sticky", {"mode": "shadow", "incumbent": 8.0, "limits": None})
    assert log.decide("sticky", unit="ann").decision.shown == 4
    replayed(log, "sticky")


def test_a_held_price_counts_decisions_of_the_policy_only(log, clock):
    policy = {"policy": "hold", "inner": THOMPSON, "every": 10, "start": 1}
    create(log, policy=policy, sticky_seconds=DAY, held_back=0.2, incumbent=8.0)
    rng = np.random.default_rng(2)
    chosen = []
    for step in range(120):
        clock.pass_seconds(900)
        decision = log.decide("shop", f"r{step}", unit=f"u{rng.integers(40)}").decision
        chosen.append(decision)
        if rng.random() < 0.5:
            log.reward("shop", decision.id, float(rng.random() < 0.05))
    # Neither the control group nor a returning visitor changes the price or counts for it.
    own = [row.chosen for row in chosen if row.follows is None and row.shown != 4]
    assert own[:10] == [1] * 10
    details = log.bandit("shop").learner.explain().details
    assert details["decisions"] < 120
    assert details["changes"] <= details["decisions"] // 10
    replayed(log)


@pytest.mark.parametrize("unit", ["", "x" * 201, "tab\t", 7])
def test_bad_units(log, unit):
    create(log, sticky_seconds=DAY)
    with pytest.raises(ServiceError, match="unit must be a text of 1 to 200 printable"):
        log.decide("shop", unit=unit)
    assert not list(log.store.decisions(1))


def test_a_reward_that_is_a_sum(log):
    create(log)
    decision = log.decide("shop").decision
    assert log.reward("shop", decision.id, 15.0, count=500).outcome is Outcome.LEARNED
    assert log.reward("shop", decision.id, 15.0, count=500).outcome is Outcome.DUPLICATE
    assert log.reward("shop", decision.id, 15.0, count=400).outcome is Outcome.CONFLICT
    learner = log.bandit("shop").learner
    assert learner.n_observations == 500
    assert learner.means[decision.shown] == pytest.approx(0.03)
    log.decide("shop", "next")
    assert log.retract("shop", decision.id).outcome is Outcome.LEARNED
    assert learner.n_observations == 0
    assert log.reward("shop", decision.id, 14.0, count=500).outcome is Outcome.LEARNED
    log.decide("shop", "last")
    replayed(log)
    for wrong, count in ((15.5, 500), (501.0, 500), (1.0, 0)):
        with pytest.raises(RewardError):
            log.reward("shop", decision.id, wrong, count=count)


def test_exported_copied_and_pruned(log, clock):
    create(log, sticky_seconds=DAY, delay={"kind": "geometric", "mean": 7200}, deadline_seconds=DAY)
    rng = np.random.default_rng(4)
    for step in range(40):
        clock.pass_seconds(1_500)
        row = log.decide("shop", f"r{step}", unit=f"u{step % 9}").decision
        if step % 3 == 0:
            log.reward("shop", row.id, float(rng.integers(0, 4)), count=10)
    lines = list(export_lines(log.store, log.store.bandits()))
    other = SQLiteStore(":memory:")
    assert import_lines(other, lines) == ["shop"]
    assert replay(other, other.bandits()[0]).agree == 40
    assert list(export_lines(other, other.bandits()))[2:] == lines[2:]
    target = SQLiteStore(":memory:")
    assert copy(log.store, target, log.store.bandits())[0].agree == 40
    prune(target, target.bandits()[0], clock.now() - round(20_000 * SECOND))
    assert replay(target, target.bandits()[0]).good


def test_an_export_of_an_older_version_is_read():
    log = Log(SQLiteStore(":memory:"))
    create(log)
    row = log.decide("shop").decision
    log.reward("shop", row.id, 1.0)
    lines = list(export_lines(log.store, log.store.bandits()))
    old = [
        line.replace(',"unit":null,"follows":null', "").replace(',"n_rewards":1', "")
        for line in lines
    ]
    assert old != lines
    other = SQLiteStore(":memory:")
    assert import_lines(other, old) == ["shop"]
    assert replay(other, other.bandits()[0]).good
    log.close()


# Open decisions as evidence: sales that are reported hours later.

LATE = {
    "delay": {"kind": "geometric", "mean": 7200, "deadline": 86400},
    "deadline_seconds": DAY,
    "default_reward": 0.0,
    "policy": {"policy": "grid_greedy", "cells": 80},
}


def test_open_decisions_are_evidence_and_replay_is_exact(log, clock):
    create(log, **LATE)
    create(log, "blind", **(LATE | {"delay": None}))
    model = gb.demand.exponential(PRICES, cost=2.0, domain=(0.2, 1.2))
    rates, rng, waiting = model.means(0.58), np.random.default_rng(6), []
    for step in range(150):
        clock.pass_seconds(300)
        now = clock.now()
        for due, name, id in [entry for entry in waiting if entry[0] <= now]:
            log.reward(name, id, 1.0)
            waiting.remove((due, name, id))
        for name in ("shop", "blind"):
            row = log.decide(name, f"r{step}").decision
            if rng.random() < rates[row.shown]:
                delay = rng.exponential(7200)
                waiting.append((now + round(delay * SECOND), name, row.id))
    # Only sales were reported. Only the bandit with a delay distribution accounts for the
    # missing ones.
    seen = log.bandit("shop")
    seen.explain("d:now", clock.now())
    assert len(seen.learner.pending) > 50
    assert abs(seen.learner.estimate - 0.58) < 0.25
    blind = log.bandit("blind").learner
    assert blind.estimate < 0.3
    assert replayed(log).snapshots > 0
    # The same state comes back from the store, and the next decision is the same.
    key, at = "r:fresh", clock.now()
    expected = seen.choose(key, at)
    again = Log(log.store, clock=clock).bandit("shop")
    assert again.choose(key, at) == expected
    assert again.state()["awaited"] == seen.state()["awaited"]


def test_elastic_learns_from_open_decisions_about_level_and_slope(log, clock):
    shop = SHOP | {"level": [0.05, 1.0]}
    del shop["domain"]
    create(log, **(LATE | {"policy": {"policy": "elastic"}, "model": shop}))
    rng, sales = np.random.default_rng(8), []
    for step in range(60):
        clock.pass_seconds(300)
        for due, id in [entry for entry in sales if entry[0] <= clock.now()]:
            log.reward("shop", id, 1.0)
            sales.remove((due, id))
        row = log.decide("shop", f"r{step}").decision
        if rng.random() < 0.1:
            sales.append((clock.now() + round(rng.exponential(7200) * SECOND), row.id))
    assert replayed(log).decisions == 60
    seen = log.bandit("shop")
    seen.explain("d:now", clock.now())
    aware = seen.learner
    blind = gb.Learner(aware.policy, aware.model, seed=0)
    blind.update(np.repeat(np.arange(5), aware.pulls), np.ones(aware.pulls.sum()))
    assert aware.n_observations == aware.pulls.sum() > 0  # sales only
    # 60 visitors and a few sales: demand at the lowest price is far from certain.
    assert aware.estimate["level"] < blind.estimate["level"]


def test_a_delay_distribution_needs_a_suitable_policy_and_a_deadline(log):
    wagp = {"policy": "wagp"}
    with pytest.raises(ServiceError, match=r"delay must come with .* a grid policy .* got 'WAGP'"):
        create(log, **(LATE | {"policy": wagp}))
    with pytest.raises(ServiceError, match="deadline_seconds must be given where there is a delay"):
        create(log, delay={"kind": "fixed", "rounds": 60})
    with pytest.raises(gb.ScenarioError, match=r"delay must be one of .* got 'slow'"):
        create(log, **(LATE | {"delay": {"kind": "slow"}}))
    with pytest.raises(ServiceError, match="sticky_seconds must be positive, got 0"):
        create(log, sticky_seconds=0)
    assert log.names() == []


def test_over_http():
    spec = {"model": SHOP, "policy": {"policy": "uniform"}, "seed": 3, "sticky_seconds": DAY}
    with serving(SQLiteStore(":memory:")) as (_, url), gb.Client(url, total=60.0) as client:
        client.create("shop", spec)
        first = client.decide("shop", unit="visitor-1")
        again = [client.decide("shop", unit="visitor-1").arm for _ in range(8)]
        assert again == [first.arm] * 8
        assert len({client.decide("shop", unit=f"other-{n}").arm for n in range(20)}) > 1
        assert client.reward("shop", first.decision_id, 15, count=500).status == "learned"
        assert client.reward("shop", first.decision_id, 15, count=500).status == "duplicate"
        assert sum(arm.pulls for arm in client.bandit("shop").arms) == 500
        with client.decision("shop", unit="visitor-1") as opened:
            assert opened.arm == first.arm
        for body, text in (
            ({"reward": 2.5, "count": 10}, "sum of 10 rewards"),
            ({"reward": 1, "count": 0}, "count"),
        ):
            path = f"{url}/v1/bandits/shop/decisions/{first.decision_id}/reward"
            answer = httpx.put(path, json=body)
            assert answer.status_code == 422
            assert text in answer.json()["detail"]
        answer = httpx.post(f"{url}/v1/bandits/shop/decisions", json={"unit": ""})
        assert answer.status_code == 422
