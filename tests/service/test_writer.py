"""The writer's thread: what it stores together, and which request gets which error."""

import threading
from concurrent.futures import Future

import pytest

from globalbandits.errors import ConflictError, StoreUnavailable, UnknownError
from globalbandits.service.log import Log
from globalbandits.service.log.append import DecisionRequest
from globalbandits.service.log.writer import MAX_BATCH, Change, answer_all
from globalbandits.service.stores import SQLiteStore
from tests.service.worlds import WAGP, HandClock


@pytest.fixture
def commits():
    """The sizes of all commits that were observed."""
    return []


@pytest.fixture
def log(commits):
    def observe(size, seconds):
        assert seconds >= 0.0
        commits.append(size)

    log = Log(SQLiteStore(":memory:"), clock=HandClock(), compiled=False, observe=observe)
    log.create("shop", WAGP)
    commits.clear()
    yield log
    log.close()


def held(log):
    """Keep the writer busy until the event is set."""
    go, busy = threading.Event(), threading.Event()

    def wait(rows):
        busy.set()
        assert go.wait(30)

    future = log.writer.submit(Change(wait, lambda written: written))
    assert busy.wait(30)
    return go, future


def decisions(log, n, start=0):
    bandit = log.bandit("shop")
    return [log.new_decision(bandit, DecisionRequest(f"{start + k}")) for k in range(n)]


def test_work_that_waits_is_stored_together_up_to_the_largest_batch(log, commits):
    go, _ = held(log)
    futures = [log.writer.submit(work) for work in decisions(log, MAX_BATCH + 3)]
    assert log.writer.length == MAX_BATCH + 3
    go.set()
    assert not any(future.result().replayed for future in futures)
    assert commits == [1, MAX_BATCH, 3]
    assert log.writer.length == 0
    assert log.bandit("shop").n_open == MAX_BATCH + 3


def test_work_that_is_submitted_together_is_stored_together(log, commits):
    futures = log.writer.submit_all(decisions(log, MAX_BATCH + 3))
    assert len({future.result().decision.id for future in futures}) == MAX_BATCH + 3
    assert commits == [MAX_BATCH + 3]


def test_changes_have_commits_of_their_own_in_the_order_of_submission(log, commits):
    bandit, order = log.bandit("shop"), []
    rows = [log.decide("shop", f"d{k}").decision for k in range(3)]
    commits.clear()
    go, _ = held(log)
    works = [
        log.new_reward(bandit, rows[0].id, 0.25),
        Change(lambda rows: order.append(bandit.version), lambda written: "first"),
        *decisions(log, 2),
        log.new_reward(bandit, rows[1].id, 0.5),
        Change(lambda rows: order.append(bandit.version), lambda written: "second"),
    ]
    futures = [log.writer.submit(work) for work in works]
    go.set()
    assert [futures[k].result() for k in (1, 4 + 1)] == ["first", "second"]
    assert order == [1, 2]
    assert commits == [1, 1, 1, 3, 1]
    assert futures[0].result() == ("learned", 0.25, 1)
    assert futures[4].result() == ("learned", 0.5, 2)


def test_errors_of_the_package_are_passed_on_and_others_are_named(log, commits):
    def fail(error):
        def write(rows):
            raise error

        return log.writer.submit(Change(write, lambda written: written))

    with pytest.raises(ConflictError, match="known"):
        fail(ConflictError("known")).result()
    with pytest.raises(StoreUnavailable) as caught:
        fail(KeyError("x")).result()
    assert str(caught.value) == "KeyError: 'x'"
    assert commits == []
    after = log.writer.submit(Change(lambda rows: 1, lambda written: 1 / 0))
    with pytest.raises(StoreUnavailable, match="ZeroDivisionError: division by zero"):
        after.result()
    assert commits == [1]


def test_work_of_a_bandit_that_cannot_be_loaded_fails_alone(log):
    go, _ = held(log)
    good = log.writer.submit(decisions(log, 1)[0])
    bad = log.writer.submit(Change(lambda rows: 1, lambda written: written, bandit=99))
    last = log.writer.submit(Change(lambda rows: 2, lambda written: written, bandit=1))
    go.set()
    assert not good.result().replayed
    with pytest.raises(UnknownError, match="bandit must be one of this store's, got number 99"):
        bad.result()
    assert last.result() == 2


def test_a_closed_writer_stores_what_was_submitted_and_nothing_else(log):
    go, _ = held(log)
    futures = [log.writer.submit(work) for work in decisions(log, 3)]
    closing = threading.Thread(target=log.writer.close)
    closing.start()
    go.set()
    closing.join(30)
    assert not closing.is_alive()
    assert [future.done() for future in futures] == [True] * 3
    with pytest.raises(StoreUnavailable, match="the log is closed"):
        log.writer.submit(Change(lambda rows: 1, lambda written: 1))
    log.writer.close()


def test_futures_that_were_cancelled_are_skipped():
    done, cancelled, failed = Future(), Future(), Future()
    cancelled.cancel()
    answer_all([(cancelled, 1), (done, 2), (failed, ValueError("x"))])
    assert done.result() == 2
    assert isinstance(failed.exception(), ValueError)
    assert cancelled.cancelled()
