"""Deadlines: each default is learned once, also after clock changes and store errors."""

import pytest

from globalbandits.errors import StoreUnavailable
from globalbandits.service.log import Log
from globalbandits.service.log.append import DecisionRequest
from globalbandits.service.log.replay import replay
from globalbandits.service.log.sweeper import Sweeper
from globalbandits.service.stores import SQLiteStore
from globalbandits.service.stores.sqlite import SQLiteTransaction
from tests.service.worlds import WAGP, HandClock

DUE = {"deadline_seconds": 100, "default_reward": 0.0}


@pytest.fixture
def log():
    log = Log(SQLiteStore(":memory:"), clock=HandClock(), compiled=False)
    log.create("shop", WAGP | DUE)
    yield log
    log.close()


def test_defaults_are_learned_once(log):
    ids = [log.decide("shop").decision.id for _ in range(1_200)]
    log.reward("shop", ids[3], 1.0)
    first, second = Sweeper(log), Sweeper(log)
    assert first.sweep() == 0
    log.clock.pass_seconds(100)
    assert first.sweep() == 1_199
    assert second.sweep() == first.sweep() == 0
    assert log.bandit("shop").version == 1_200
    assert log.bandit("shop").n_open == 0
    assert replay(log.store, log.store.bandits()[0], compiled=False).good


def test_decisions_without_a_default_do_not_block_others(log):
    log.create("patient", WAGP | {"deadline_seconds": 100})
    for _ in range(700):
        log.decide("patient")
    log.decide("shop")
    log.clock.pass_seconds(200)
    sweeper = Sweeper(log)
    assert sweeper.sweep() == 1
    log.decide("shop")
    log.clock.pass_seconds(200)
    assert sweeper.sweep() == 1
    assert log.bandit("patient").version == 0


def test_a_clock_that_jumps_makes_no_defaults(log):
    log.decide("shop")
    sweeper = Sweeper(log, trust_seconds=600)
    log.clock.set_by(10_000)  # the clock is set forward
    assert sweeper.sweep() == 0
    assert sweeper.paused
    log.clock.set_by(-10_000)  # and back
    assert sweeper.sweep() == 0
    assert not sweeper.paused
    assert log.bandit("shop").version == 0


def test_decisions_made_while_the_clock_is_wrong_get_no_defaults(log):
    log.change("shop", {"late": "refuse"})
    id = log.decide("shop").decision.id
    sweeper = Sweeper(log)
    log.clock.set_by(10_000)
    log.decide("shop")
    assert sweeper.sweep() == 0
    log.clock.set_by(-10_000)
    assert sweeper.sweep() == 0
    assert log.reward("shop", id, 0.3).outcome == "learned"  # and it is not late


def test_a_decision_that_was_stored_after_later_ones_is_not_forgotten(log):
    # As if another process had made it.
    slow = log.new_decision(log.bandit("shop"), DecisionRequest("slow"))
    log.clock.pass_seconds(50)
    log.decide("shop")
    log.clock.pass_seconds(101)
    sweeper = Sweeper(log)
    assert sweeper.sweep() == 1
    log.writer.submit(slow).result()
    log.clock.pass_seconds(60)
    assert sweeper.sweep() == 1
    assert log.bandit("shop").n_open == 0


def test_defaults_resume_after_a_clock_that_was_ahead_is_corrected(log):
    sweeper = Sweeper(log, trust_seconds=0)  # trusted immediately
    log.decide("shop")
    log.clock.set_by(10_000)
    assert sweeper.sweep() == 1
    log.clock.set_by(-10_000)
    log.decide("shop")
    assert sweeper.sweep() == 0
    log.clock.pass_seconds(101)
    assert sweeper.sweep() == 1


def test_a_clock_is_trusted_again_after_the_waiting_time(log):
    log.decide("shop")
    sweeper = Sweeper(log, trust_seconds=600)
    log.clock.set_by(10_000)
    assert sweeper.sweep() == 0
    log.clock.pass_seconds(599)
    assert sweeper.sweep() == 0
    log.clock.pass_seconds(2)
    assert sweeper.sweep() == 1
    assert not sweeper.paused


def test_what_could_not_be_stored_is_swept_again(log, monkeypatch):
    log.decide("shop")
    log.clock.pass_seconds(200)
    sweeper = Sweeper(log)
    with monkeypatch.context() as patched:
        patched.setattr(SQLiteTransaction, "add_events", _unavailable)
        with pytest.raises(StoreUnavailable):
            sweeper.sweep()
    assert sweeper.sweep() == 1


def _unavailable(self, rows):
    raise StoreUnavailable("no store")


def test_bandits_that_are_not_loaded_are_swept_too():
    store, clock = SQLiteStore(":memory:"), HandClock()
    log = Log(store, clock=clock, compiled=False)
    log.create("shop", WAGP | DUE)
    log.decide("shop")
    log.writer.close()
    clock.pass_seconds(200)
    again = Log(store, clock=clock, compiled=False)
    assert Sweeper(again).sweep() == 1
    assert again.bandit("shop").version == 1
    again.close()


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_clock_that_was_set_is_trusted_after_exactly_its_time(log, sign):
    log.decide("shop")
    log.clock.pass_seconds(20_000)
    sweeper = Sweeper(log, trust_seconds=600)
    log.clock.set_by(sign * 10_000)
    assert sweeper.sweep() == 0
    log.clock.pass_seconds(599.999999)
    assert sweeper.sweep() == 0
    assert sweeper.paused
    log.clock.pass_seconds(0.000001)
    assert sweeper.sweep() == 1
    assert not sweeper.paused
    assert log.clock.jump() == 0


def test_what_happens_to_the_clock_is_logged_once(log, caplog):
    sweeper = Sweeper(log)
    log.clock.set_by(7_200)
    for _ in range(3):
        sweeper.sweep()
    log.clock.set_by(-7_200)
    for _ in range(3):
        sweeper.sweep()
    log.clock.set_by(-90)
    sweeper.sweep()
    log.clock.pass_seconds(600)
    for _ in range(3):
        sweeper.sweep()
    assert [record.getMessage() for record in caplog.records] == [
        "the clock was set by 7200 s: defaults wait",
        "the clock is correct again: defaults are learned",
        "the clock was set by -90 s: defaults wait",
        "the clock was not set back: it counts as correct from now on",
    ]


def test_every_minute_the_deadlines_of_two_minutes_are_looked_at_again(log):
    """A decision may be stored after others with later deadlines."""
    bandit, works = log.bandit("shop"), []
    for name in ("late", "later"):
        works.append(log.new_decision(bandit, DecisionRequest(name)))
        log.clock.pass_seconds(0.000001)
    log.decide("shop", "in time")
    # One minute after the deadline of the second one, which is not stored yet.
    log.clock.pass_seconds(159.999999)
    sweeper = Sweeper(log)
    assert sweeper.sweep() == 1
    for work in works:
        log.writer.submit(work).result()
    log.clock.pass_seconds(59.999999)
    assert sweeper.sweep() == 0
    log.clock.pass_seconds(0.000001)
    assert sweeper.sweep() == 1
    assert log.bandit("shop").n_open == 1
    # The first one is older. A new sweeper finds it.
    log.clock.pass_seconds(600)
    assert sweeper.sweep() == 0
    assert Sweeper(log).sweep() == 1
