"""A follower learns what another log on the same store appends."""

import pytest

from globalbandits.errors import StoreUnavailable
from globalbandits.service.log import Log
from globalbandits.service.log import follower as follower_module
from globalbandits.service.log.follower import Follower
from globalbandits.service.stores import SQLiteStore
from tests.service.worlds import THOMPSON, WAGP, HandClock


class HandTime:
    """A clock that is moved by hand; processor time advances by one step at each call."""

    def __init__(self, step=0.0):
        self.now, self.computed, self.step = 1_000.0, 0.0, step

    def monotonic(self):
        return self.now

    def thread_time(self):
        self.computed += self.step
        return self.computed


class Polls:
    """The pauses between some polls, the last of which stops the follower."""

    def __init__(self, number):
        self.pauses, self.number = [], number

    def wait(self, pause):
        self.pauses.append(pause)
        return len(self.pauses) > self.number

    def set(self):
        self.number = 0


@pytest.fixture
def logs():
    """Two logs on one store: the first one writes, the second one follows."""
    store, clock = SQLiteStore(":memory:"), HandClock()
    first = Log(store, clock=clock, compiled=False)
    first.create("shop", WAGP)
    second = Log(store, clock=clock, compiled=False)
    second.bandit("shop")
    yield first, second
    second.stop()
    first.close()


def follow(log, **options):
    """A follower that polls only when the test calls it, and a list of its callbacks."""
    calls = []

    def found_others():
        calls.append("others")
        log._find_others()

    def recount(bandit):
        calls.append(bandit.row.name)
        log.recount(bandit)

    follower = Follower(
        log.store,
        log._bandits,
        log.writer,
        found_others,
        recount,
        **{"poll_seconds": 1e6} | options,
    )
    return follower, calls


def play(log, n, name="shop", start=0):
    for number in range(start, start + n):
        id = log.decide(name, f"{number}").decision.id
        log.reward(name, id, 0.3)


def test_events_settings_and_bandits_of_others_are_learned(logs):
    first, second = logs
    follower, calls = follow(second)
    play(first, 4)
    first.change("shop", {"limits": [0.5, 0.7]})
    first.create("new", THOMPSON)
    bandit = second.bandit("shop")
    assert (bandit.version, bandit.number) == (0, 1)
    follower._poll()
    assert (bandit.version, bandit.number) == (4, 2)
    assert bandit.learner.pulls.tolist() == first.bandit("shop").learner.pulls.tolist()
    assert second.names() == ["new", "shop"]
    assert calls == ["others", "shop"]
    # Nothing new: nothing is read again.
    follower._poll()
    assert calls == ["others", "shop"]
    # Settings alone, and events alone.
    first.change("shop", {"limits": None})
    follower._poll()
    assert (bandit.version, bandit.number) == (4, 3)
    play(first, 1, start=4)
    follower._poll()
    assert (bandit.version, bandit.number) == (5, 3)
    first.delete("shop")
    follower._poll()
    assert calls == ["others", "shop", "others"]
    assert second.names() == ["new"]
    assert second.loaded() == []
    follower.stop()


def test_a_bandit_that_came_and_went_between_two_polls_leaves_memory(logs):
    first, second = logs
    follower, calls = follow(second)
    follower._poll()
    first.create("brief", WAGP)
    second._read_rows()
    second.bandit("brief")
    first.delete("brief")
    follower._poll()
    assert calls == ["others", "others"]
    assert [bandit.row.name for bandit in second.loaded()] == ["shop"]
    follower.stop()


def test_decisions_of_others_are_counted_every_ten_seconds(logs, monkeypatch):
    first, second = logs
    time = HandTime()
    monkeypatch.setattr(follower_module, "time", time)
    follower, calls = follow(second)
    follower._poll()
    assert calls == ["others"]
    play(first, 3)
    follower._poll()
    assert calls[1:] == ["shop"]
    bandit = second.bandit("shop")
    assert sum(bandit.shown) == 3
    play(first, 2, start=3)
    time.now += 9.99
    follower._poll()
    assert (bandit.version, calls[1:]) == (5, ["shop"])
    time.now += 0.01
    follower._poll()
    assert calls[1:] == ["shop", "shop"]
    assert sum(bandit.shown) == 5
    # Without events of others nothing is counted.
    time.now += 100.0
    follower._poll()
    assert calls[1:] == ["shop", "shop"]
    follower.stop()


def test_counts_that_take_long_are_taken_less_often(logs, monkeypatch):
    first, second = logs
    time = HandTime()
    monkeypatch.setattr(follower_module, "time", time)
    follower, calls = follow(second)
    recount = follower._recount_one

    def slow(bandit):
        time.now += 2.0
        recount(bandit)

    follower._recount_one = slow
    play(first, 1)
    follower._poll()
    assert calls == ["others", "shop"]
    play(first, 1, start=1)
    time.now += 39.99
    follower._poll()
    assert calls == ["others", "shop"]
    time.now += 0.01
    follower._poll()
    assert calls == ["others", "shop", "shop"]
    follower.stop()


def test_a_bandit_that_left_memory_is_not_counted(logs):
    first, second = logs
    follower, calls = follow(second)
    play(first, 1)
    follower._recount_at = float("inf")
    follower._poll()
    second._drop(1)
    follower._recount_at = 0.0
    follower._poll()
    assert calls == ["others"]
    follower.stop()


@pytest.mark.parametrize(
    ("poll", "poll_seconds", "pauses"),
    [
        (None, 0.2, [0.2, 0.2, 0.2]),
        (None, 0.01, [0.01, 0.02, 0.02]),
        (StoreUnavailable("gone"), 0.2, [0.2, 1.0, 1.0]),
        (StoreUnavailable("gone"), 3.0, [3.0, 3.0, 3.0]),
        (ValueError("damaged"), 0.2, [0.2, 10.0, 10.0]),
    ],
)
def test_pauses_are_longer_after_errors_and_long_polls(
    logs, monkeypatch, caplog, poll, poll_seconds, pauses
):
    follower, _ = follow(logs[1])
    follower.stop()
    # A poll computes for a thousandth of a second, and waits for three seconds.
    time = HandTime(step=0.001)
    monkeypatch.setattr(follower_module, "time", time)
    follower._poll_seconds, follower._stopped = poll_seconds, Polls(2)

    def answer():
        time.now += 3.0
        if poll is not None:
            raise poll

    monkeypatch.setattr(follower, "_poll", answer)
    follower._run()
    assert follower._stopped.pauses == pytest.approx(pauses)
    lines = [record.getMessage() for record in caplog.records]
    damaged = "events of other processes cannot be learned: damaged"
    assert lines == ([damaged] * 2 if "damaged" in str(poll) else [])


def test_a_follower_polls_by_itself_until_it_is_stopped(logs):
    first, second = logs
    follower, calls = follow(second, poll_seconds=0.001)
    play(first, 1)
    for _ in range(3_000):
        if second.bandit("shop").version == 1 and "shop" in calls:
            break
        follower._stopped.wait(0.01)
    assert second.bandit("shop").version == 1
    follower.stop()
    assert not follower._thread.is_alive()
