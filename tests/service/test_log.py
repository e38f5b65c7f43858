"""The log at work: requests are idempotent, over settings, deadlines and faults."""

import json
import threading
from contextlib import contextmanager

import pytest

from globalbandits.errors import (
    ConflictError,
    GlobalBanditsError,
    RewardError,
    ServiceError,
    StoreUnavailable,
    UnknownError,
)
from globalbandits.service.log import Log
from globalbandits.service.log import log as log_module
from globalbandits.service.log.append import DecisionRequest
from globalbandits.service.log.archive.retention import prune_online
from globalbandits.service.log.clock import Clock, as_text
from globalbandits.service.log.replay import replay
from globalbandits.service.log.writer import Change
from globalbandits.service.stores import SQLiteStore
from tests.service.stores.test_contract import STORES
from tests.service.worlds import MODEL, SECOND, THOMPSON, WAGP, WINDOW, HandClock, UnavailableStore


@pytest.fixture(params=STORES)
def log(request):
    log = Log(STORES[request.param](request), clock=HandClock(), compiled=False)
    log.create("shop", WAGP)
    yield log
    log.close()


def play(log, n, name="shop", start=0):
    for number in range(start, start + n):
        decided = log.decide(name, f"{number}")
        log.reward(name, decided.decision.id, 0.2 + number % 7 / 100)


def all_agree(log):
    found = [replay(log.store, row, compiled=False) for row in log.store.bandits()]
    assert [report.wrong for report in found] == [[]] * len(found)
    assert all(report.agree == report.decisions for report in found)


def test_the_same_spec_again_is_the_same_bandit(log):
    play(log, 3)
    bandit, new = log.create("shop", json.loads(json.dumps(WAGP)))
    assert (bandit.version, new) == (3, False)
    with pytest.raises(ConflictError, match=r"shop exists with another spec.*never reset"):
        log.create("shop", THOMPSON)
    assert log.bandit("shop").version == 3
    assert log.names() == ["shop"]


@pytest.mark.parametrize("name", ["", "a/b", "..", "a" * 65, "é", None, "a\n", "-x"])
def test_invalid_names_are_refused(log, name):
    with pytest.raises(ServiceError, match="name must be 1 to 64 letters"):
        log.create(name, WAGP)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (None, "spec must be a dict, got None"),
        (WAGP | {"seed": -1}, "seed must be at least 0, got -1"),
        (WAGP | {"seed": 2**63}, "seed must be at most 9223372036854775807"),
        (WAGP | {"held_back": float("nan")}, "must be plain JSON with finite numbers"),
    ],
)
def test_invalid_specs_are_refused(log, spec, message):
    with pytest.raises(ServiceError, match=message):
        log.create("other", spec)
    assert log.names() == ["shop"]


def test_a_request_id_gives_the_same_decision(log):
    first = log.decide("shop", "order")
    play(log, 10)
    again = log.decide("shop", "order")
    assert again.decision == first.decision
    assert (first.replayed, again.replayed) == (False, True)
    other = log.decide("shop")
    assert other.decision.id != log.decide("shop").decision.id
    for wrong in ("", "a" * 201, 5, "a\x00"):
        with pytest.raises(ServiceError, match="request_id must be a text of 1 to 200"):
            log.decide("shop", wrong)


def test_ten_thousand_retries_have_one_effect(log):
    """Decide, then reward, from eight independent threads."""
    decided, told = [], []

    def retry():
        mine = [
            log.writer.submit(log.new_decision(log.bandit("shop"), DecisionRequest("order")))
            for _ in range(1_250)
        ]
        decided.extend(future.result() for future in mine)
        id = decided[-1].decision.id
        mine = [log.submit_reward(log.bandit("shop"), id, 0.25) for _ in range(1_250)]
        told.extend(future.result() for future in mine)

    threads = [threading.Thread(target=retry) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(decided) == len(told) == 10_000
    assert len({answer.decision for answer in decided}) == 1
    assert sum(not answer.replayed for answer in decided) == 1
    assert sorted({answer.outcome for answer in told}) == ["duplicate", "learned"]
    assert sum(answer.outcome == "learned" for answer in told) == 1
    assert log.bandit("shop").version == 1
    assert log.bandit("shop").learner.n_observations == 1


def test_a_second_reward_with_another_value_is_a_conflict_and_kept(log):
    id = log.decide("shop").decision.id
    assert log.reward("shop", id, 0.25) == ("learned", 0.25, 1)
    assert log.reward("shop", id, 0.5) == ("conflict", 0.25, 1)
    assert log.reward("shop", id, 0.25) == ("duplicate", 0.25, 1)
    assert log.reward("shop", "nobody", 0.25) == ("unknown", 0.25, 0)
    (refusal,) = log.store.refusals(1)
    assert refusal[:4] == (1, id, "conflict", 0.5)
    for wrong in (9.0, float("nan"), "0.5", None, True):
        with pytest.raises(RewardError, match="reward must"):
            log.reward("shop", id, wrong)


def test_bandits_do_not_mix(log):
    log.create("shop", THOMPSON, "other")
    log.create("fair", THOMPSON)
    id = log.decide("shop", "r").decision.id
    assert log.reward("fair", id, 0.25).outcome == "unknown"
    assert log.reward("shop", id, 0.25, "other").outcome == "unknown"
    assert log.decide("fair", "r").replayed is False
    with pytest.raises(UnknownError, match="got 'fair'"):
        log.decide("fair", tenant="other")
    with pytest.raises(UnknownError, match="decision must be one of fair"):
        log.explain("fair", id)


def test_a_retraction_removes_one_reward_only(log):
    play(log, 20)
    id = log.decide("shop").decision.id
    before = log.bandit("shop").learner.means
    assert log.retract("shop", id).outcome == "unknown"  # nothing was learned yet
    log.reward("shop", id, 0.9)
    assert log.retract("shop", id) == ("learned", 0.9, 22)
    assert log.retract("shop", id) == ("duplicate", 0.9, 22)
    assert log.bandit("shop").learner.means == pytest.approx(before, nan_ok=True)
    assert log.bandit("shop").learner.n_observations == 20
    assert log.reward("shop", id, 0.9).outcome == "duplicate"
    all_agree(log)


def test_a_reward_is_corrected_as_often_as_needed(log):
    play(log, 5)
    id = log.decide("shop", "wrong").decision.id
    assert log.reward("shop", id, 1.0) == ("learned", 1.0, 6)
    assert log.retract("shop", id) == ("learned", 1.0, 7)
    assert log.reward("shop", id, 1.0) == ("duplicate", 1.0, 6)  # a retry of the first report
    assert log.reward("shop", id, 0.0) == ("learned", 0.0, 8)
    assert log.reward("shop", id, 0.0) == ("duplicate", 0.0, 8)
    assert log.reward("shop", id, 1.0) == ("conflict", 0.0, 8)
    assert log.retract("shop", id) == ("learned", 0.0, 9)
    assert log.reward("shop", id, 0.5) == ("learned", 0.5, 10)
    assert [row.kind for row in log.store.events(1, 5)] == [
        "reward",
        "retraction",
        "correction",
        "retraction",
        "correction",
    ]
    assert (log.bandit("shop").n_open, log.store.open_decisions(1, 0, 0)[0]) == (0, 0)
    assert log.bandit("shop").learner.pulls.sum() == 6
    all_agree(log)


def test_a_default_is_corrected_after_the_deadline(log):
    due = {"deadline_seconds": 5, "default_reward": 0.0, "late": "refuse"}
    log.create("due", THOMPSON | due)
    decision = log.decide("due", "a").decision
    log.clock.pass_seconds(60)
    assert log.submit_default(log.bandit("due"), decision).result().outcome == "learned"
    assert log.reward("due", decision.id, 0.7).outcome == "conflict"
    assert log.retract("due", decision.id).outcome == "learned"
    assert log.store.overdue((0, ""), log.clock.now(), 10) == []  # no second default
    assert log.reward("due", decision.id, 0.0).outcome == "duplicate"
    assert log.reward("due", decision.id, 0.7).outcome == "learned"
    assert log.bandit("due").learner.means[decision.shown] == 0.7
    all_agree(log)


def test_a_reward_and_its_retraction_in_one_batch(log):
    bandit = log.bandit("shop")
    id = log.decide("shop").decision.id
    works = [
        log.new_reward(bandit, id, 0.5),
        log.new_retraction(bandit, id),
        log.new_reward(bandit, id, 0.25),
    ]
    told = [future.result().outcome for future in log.writer.submit_all(works)]
    assert told == ["learned", "learned", "learned"]
    assert bandit.version == 3
    assert bandit.learner.means[log.store.decision(id).shown] == 0.25


def test_a_policy_that_cannot_forget_refuses_retractions(log):
    log.create("window", WINDOW)
    id = log.decide("window").decision.id
    log.reward("window", id, 0.9)
    assert log.retract("window", id).outcome == "conflict"
    assert log.bandit("window").version == 1


def test_deadlines_defaults_and_late_rewards(log):
    due = {"deadline_seconds": 10, "default_reward": 0.0}
    log.change("shop", due | {"late": "refuse"})
    bandit = log.bandit("shop")
    early, late, never = (log.decide("shop").decision for _ in range(3))
    assert early.deadline == early.at + 10 * SECOND
    assert log.reward("shop", early.id, 0.25).outcome == "learned"
    assert log.submit_default(bandit, late).result().outcome == "duplicate"  # not yet
    log.clock.pass_seconds(11)
    assert log.reward("shop", late.id, 0.25).outcome == "late"
    due = {row.id for row in log.store.overdue((0, ""), log.clock.now(), 9)}
    assert due == {late.id, never.id}
    assert log.submit_default(bandit, never).result() == ("learned", 0.0, 2)
    assert log.submit_default(bandit, never).result() == ("duplicate", 0.0, 2)
    assert log.reward("shop", never.id, 0.25) == ("conflict", 0.0, 2)
    assert log.reward("shop", never.id, 0.0).outcome == "duplicate"
    assert [row.reason for row in log.store.refusals(1)] == ["late", "conflict"]
    # Another rule holds for decisions made under it, not for those before.
    log.change("shop", {"late": "accept", "default_reward": None})
    kind = log.decide("shop").decision
    log.clock.pass_seconds(11)
    assert log.submit_default(bandit, kind) is None
    assert log.reward("shop", late.id, 0.25).outcome == "late"
    assert log.reward("shop", kind.id, 0.25).outcome == "learned"
    all_agree(log)


def test_clock_jumps_reorder_nothing(log):
    first = log.decide("shop").decision
    log.clock.set_by(-30)
    assert log.decide("shop").decision.at == first.at  # small corrections are waited out
    log.clock.set_by(-86_400)
    second = log.decide("shop").decision
    assert second.at < first.at
    log.reward("shop", second.id, 0.3)
    log.clock.set_by(2 * 86_400)
    log.reward("shop", first.id, 0.3)
    assert [event.decision for event in log.store.events(1)] == [second.id, first.id]
    all_agree(log)


def test_a_process_started_before_the_last_one_ended_by_the_clock(tmp_path):
    log = Log(SQLiteStore(tmp_path / "log.db"), clock=HandClock(), compiled=False)
    log.create("shop", WAGP)
    play(log, 5)
    log.close()
    yesterday = HandClock(1_600_000_000 * SECOND)
    log = Log(SQLiteStore(tmp_path / "log.db"), clock=yesterday, compiled=False)
    play(log, 5, start=5)
    events = list(log.store.events(1))
    assert [event.seq for event in events] == list(range(1, 11))
    assert events[5].at < events[4].at
    all_agree(log)
    log.close()


def test_a_clock_reports_when_it_was_set():
    clock = HandClock()
    clock.pass_seconds(1_000)
    assert clock.jump() == 0
    clock.set_by(30)
    assert clock.jump() == 0
    clock.set_by(60)
    assert clock.jump() == 90 * SECOND
    clock.accept_jump()
    assert clock.jump() == 0
    assert as_text(Clock(lambda: 0, lambda: 0).now()) == "1970-01-01T00:00:00.000000Z"


def test_settings_are_numbered_and_hold_from_a_version(log):
    play(log, 5)
    assert log.change("shop", {"limits": [0.5, 0.7]}) == 2
    assert log.change("shop", {"limits": (0.5, 0.7)}) == 2  # no change, no number
    play(log, 5, start=5)
    assert log.change("shop", {"policy": {"policy": "ucb1"}, "largest_step": 1}) == 3
    assert log.change("shop", {"model": MODEL | {"cost": 0.2}}) == 4
    play(log, 5, start=10)
    rows = log.store.settings(1)
    assert [row.from_version for row in rows] == [0, 5, 10, 10]
    with pytest.raises(ConflictError, match="must still be number 2, got number 4"):
        log.change("shop", {"mode": "paused"}, expected=2)
    with pytest.raises(ServiceError, match="mode must be one of"):
        log.change("shop", {"mode": "fast"}, expected=4)
    assert log.bandit("shop").number == 4
    all_agree(log)


def test_settings_changed_under_load(log):
    log.create("dice", THOMPSON)

    def decide(client):
        for n in range(60):
            id = log.decide("dice", f"{client}-{n}").decision.id
            log.reward("dice", id, 0.2 + n / 1000)

    threads = [threading.Thread(target=decide, args=(client,)) for client in range(4)]
    for thread in threads:
        thread.start()
    for number in range(12):
        log.change("dice", {"largest_step": 1 + number % 3, "held_back": 0.1, "incumbent": 0.5})
    for thread in threads:
        thread.join()
    assert log.bandit("dice").number == 13
    assert log.bandit("dice").version == 240
    all_agree(log)


def test_paused_bandits_repeat_decisions_and_learn(log):
    decided = log.decide("shop", "before")
    log.change("shop", {"mode": "paused"})
    assert log.decide("shop", "before") == (decided.decision, True)
    for request in ("after", None):
        with pytest.raises(ConflictError, match="shop is paused"):
            log.decide("shop", request)
    assert log.reward("shop", decided.decision.id, 0.3).outcome == "learned"


def test_a_past_decision_is_explained_from_its_own_state(log):
    log.create("dice", THOMPSON)
    play(log, 10, "dice")
    asked = log.decide("dice", "asked").decision
    log.change("dice", {"limits": [0.7, 0.8]})
    play(log, 30, "dice", start=10)
    past = log.explain("dice", asked.id)
    assert (past.choice.chosen, past.choice.shown) == (asked.chosen, asked.shown)
    assert past.explanation.n_observations == 10
    assert past.explanation.choice == asked.chosen
    assert past.settings.limits is None


def test_a_log_is_opened_where_it_was_closed(tmp_path):
    path = tmp_path / "log.db"
    log = Log(SQLiteStore(path), compiled=False, snapshot_events=10)
    log.create("dice", THOMPSON)
    play(log, 37, "dice")
    state = log.bandit("dice").state()
    log.close()
    log = Log(SQLiteStore(path), compiled=False, snapshot_events=10)
    assert [row.version for row in log.store.snapshots(1)] == [37, 30, 20, 10]
    assert log.bandit("dice").state()["learner"]["statistics"] == state["learner"]["statistics"]
    play(log, 5, "dice", start=37)
    all_agree(log)
    log.close()
    with pytest.raises(StoreUnavailable, match="the log is closed"):
        log.decide("dice")


@pytest.mark.parametrize("damage", ['{"learner": 1}', "", "not json", '{"learner": {}, "x'])
def test_a_torn_snapshot_is_passed_over(tmp_path, damage):
    path = tmp_path / "log.db"
    log = Log(SQLiteStore(path), compiled=False)
    log.create("shop", WAGP)
    play(log, 10)
    sums = log.bandit("shop").learner.parts[2].sums.tolist()
    log.close()
    store = SQLiteStore(path)
    store._writer.execute("UPDATE snapshots SET state = ?", (damage,))
    log = Log(store, compiled=False)
    assert log.bandit("shop").learner.parts[2].sums.tolist() == sums
    assert log.bandit("shop").version == 10
    log.close()


class Lossy(SQLiteStore):
    """A store whose answer gets lost: the commit is done, but an error is raised."""

    lossy = False

    @contextmanager
    def transaction(self):
        with super().transaction() as rows:
            yield rows
        if self.lossy:
            raise StoreUnavailable("the answer was lost")


def test_a_commit_without_acknowledgement_is_found_by_the_next_request():
    store = Lossy(":memory:")
    log = Log(store, compiled=False)
    log.create("shop", WAGP)
    ids = [log.decide("shop", f"{n}").decision.id for n in range(4)]
    log.reward("shop", ids[0], 0.2)
    store.lossy = True
    with pytest.raises(StoreUnavailable, match="the answer was lost"):
        log.reward("shop", ids[1], 0.3)
    with pytest.raises(StoreUnavailable):
        log.change("shop", {"limits": [0.5, 0.6]})
    with pytest.raises(StoreUnavailable):
        log.reward("shop", ids[2], 0.3)
    with pytest.raises(StoreUnavailable):
        log.decide("shop", "lost")
    with pytest.raises(StoreUnavailable):
        log.create("fair", THOMPSON)
    store.lossy = False
    assert log.bandit("shop").version == 2  # memory is a prefix of the log; the change has read on
    assert log.reward("shop", ids[1], 0.3) == ("duplicate", 0.3, 2)
    assert log.bandit("shop").version == 3
    assert log.reward("shop", ids[3], 0.4) == ("learned", 0.4, 4)
    assert log.decide("shop", "lost").replayed
    assert log.change("shop", {"limits": [0.5, 0.6]}) == 2
    bandit, new = log.create("fair", THOMPSON)
    assert (bandit.version, new) == (0, False)
    all_agree(log)
    log.close()


def test_work_that_cannot_be_stored_does_not_block_other_work(log):
    bandit = log.bandit("shop")
    ids = [log.decide("shop").decision.id for _ in range(3)]
    works = [log.new_reward(bandit, id, 0.5) for id in ids]
    works[1] = works[1]._replace(decision={"not": "an id"})
    futures = log.writer.submit_all([*works, log.new_decision(bandit, DecisionRequest("r"))])
    assert futures[0].result().outcome == futures[2].result().outcome == "learned"
    assert futures[1].exception() is not None
    assert not futures[3].result().replayed
    assert bandit.version == 2
    all_agree(log)


@pytest.mark.parametrize("id", [None, 5, "", "\ud800", "a\x00", "a" * 65, "é", ["x"]])
def test_malformed_ids_are_unknown(log, id):
    for call in (lambda: log.reward("shop", id, 0.5), lambda: log.retract("shop", id)):
        with pytest.raises(UnknownError, match="decision must be the id of a decision"):
            call()


def test_a_store_that_is_unavailable_comes_back():
    store = UnavailableStore()
    log = Log(store, compiled=False)
    log.create("shop", WAGP)
    store.unavailable = True
    for _ in range(3):
        with pytest.raises(StoreUnavailable, match="no store"):
            log.decide("shop", "order")
    store.unavailable = False
    assert not log.decide("shop", "order").replayed
    log.close()


def test_an_open_decision_stops_to_count_at_its_deadline(log):
    log.create("due", WAGP | {"deadline_seconds": 60})
    for name in ("due", "shop"):
        for number in range(3):
            log.decide(name, f"{number}")
            log.clock.pass_seconds(30)
    now = log.clock.now()
    due, shop = log.bandit("due"), log.bandit("shop")
    for bandit in (due, shop):
        log.recount(bandit)
    assert (due.n_open, due.oldest_open) == (0, None)
    assert (shop.n_open, shop.oldest_open) == (3, now - 90 * SECOND)
    log.change("shop", {"deadline_seconds": 70})  # older decisions have none, and stop to count
    log.recount(shop)
    assert (shop.n_open, shop.oldest_open) == (2, now - 60 * SECOND)
    log.change("shop", {"deadline_seconds": None})
    log.clock.pass_seconds(31 * 86_400)
    log.recount(shop)
    assert shop.n_open == 0
    assert log.reward("shop", log.decide("shop", "0").decision.id, 0.5).outcome == "learned"


def test_defaults_of_settings_are_not_part_of_the_spec(log):
    bandit, _ = log.create("new", WAGP, defaults={"deadline_seconds": 60})
    assert bandit.settings.deadline_seconds == 60
    assert log.create("new", WAGP, defaults={"deadline_seconds": 90}) == (bandit, False)
    off, _ = log.create("off", WAGP | {"deadline_seconds": None}, defaults={"deadline_seconds": 60})
    assert off.settings.deadline_seconds is None


def test_past_rewards_are_imported_before_the_first_decision(log):
    past = [(0.4, 0.25), (0.8, 0.5), (0.4, 0.75), (0.6, 0.0)]
    log.create("new", THOMPSON)
    assert log.import_rewards("new", "2025", past) == ("learned", 4, 4)
    assert log.import_rewards("new", "2025", past) == ("duplicate", 4, 4)  # a retry
    for wrong in (past[:3], [*past, (0.4, 0.1)], [(0.4, 0.25), (0.8, 0.25), *past[2:]]):
        with pytest.raises(ConflictError, match="import_id must be new, got '2025'"):
            log.import_rewards("new", "2025", wrong)
    assert log.import_rewards("new", "2026", past[:1]) == ("learned", 1, 5)
    bandit = log.bandit("new")
    assert bandit.learner.pulls.tolist() == [3, 0, 1, 0, 1]
    assert bandit.learner.means[0] == pytest.approx((0.25 + 0.75 + 0.25) / 3)
    assert (bandit.shown, bandit.n_open) == ([3, 0, 1, 0, 1], 0)
    play(log, 3, "new")
    with pytest.raises(ConflictError, match="new has decided already"):
        log.import_rewards("new", "2027", past)
    assert log.import_rewards("new", "2025", past).outcome == "duplicate"
    found = replay(log.store, log.store.bandits()[1], compiled=False)
    assert (found.decisions, found.imported, found.agree, found.wrong) == (8, 5, 3, [])


def test_sums_of_past_rewards_are_imported(log):
    """15 sales to 500 visitors are 500 rewards, and stay them in a replay."""
    past = [(0.4, 15.0, None, 500), (0.8, 1.0, None, 40), (0.6, 1.0)]
    log.create("new", THOMPSON)
    assert log.import_rewards("new", "2025", past) == ("learned", 3, 3)
    assert log.import_rewards("new", "2025", past).outcome == "duplicate"
    with pytest.raises(ConflictError, match="import_id must be new, got '2025'"):
        log.import_rewards("new", "2025", [(0.4, 15.0, None, 501), *past[1:]])
    learner = log.bandit("new").learner
    assert learner.pulls.tolist() == [500, 0, 1, 0, 40]
    assert learner.means[0] == pytest.approx(15 / 500)
    play(log, 3, "new")
    found = replay(log.store, log.store.bandits()[1], compiled=False)
    assert (found.decisions, found.imported, found.agree, found.wrong) == (6, 3, 3, [])


def test_a_policy_that_counts_decisions_refuses_past_rewards(log):
    limited = {"policy": "limited", "cohort": 3, "inner": {"policy": "thompson_sampling"}}
    log.create("limited", THOMPSON | {"policy": limited})
    with pytest.raises(ConflictError, match="policy of limited must not count decisions, got Lim"):
        log.import_rewards("limited", "a", [(0.4, 1.0)])


@pytest.mark.parametrize(
    ("id", "rewards", "message"),
    [
        ("", [(0.4, 1)], "import_id must be a text of 1 to 100 printable characters, got ''"),
        ("a", [], "rewards must not be empty"),
        ("a", [(0.4, 1), (0.45, 1)], r"arm must be one of the arms .*, got 0.45"),
        ("a", [(0.4, 1), (0.4, 2)], "reward must"),
        ("a", [(0.4, 3.0, None, 2)], "reward must be"),
        ("a", [(0.4, 1.0, None, 0)], "count must"),
        ("a", [(None, 1)], "arm must be an arm, got None"),
    ],
)
def test_invalid_past_rewards_are_refused(log, id, rewards, message):
    with pytest.raises(ValueError, match=message):
        log.import_rewards("shop", id, rewards)
    assert log.bandit("shop").version == 0


def test_pruning_while_the_log_is_in_use_makes_the_file_smaller(tmp_path):
    path, clock = tmp_path / "log.db", HandClock()
    log = Log(SQLiteStore(path), clock=clock, compiled=False)
    log.create("shop", WAGP)
    log.create("gone", WAGP)
    bandit, padding = log.bandit("shop"), "x" * 150
    works = [
        log.new_decision(bandit, DecisionRequest(f"{padding}{number}")) for number in range(3_000)
    ]
    rows = [future.result().decision for future in log.writer.submit_all(works)]
    works = [log.new_reward(bandit, row.id, 0.5) for row in rows]
    for future in log.writer.submit_all(works):
        future.result()
    log.delete("gone")
    log.clock.pass_seconds(100)
    play(log, 5)
    log.store._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = path.stat().st_size
    state = bandit.state()
    pruned = prune_online(log, log.clock.now() - 50 * SECOND)
    assert [(one.name, one.decisions, one.events, one.base) for one in pruned] == [
        ("shop", 3_000, 3_000, 3_000)
    ]
    assert (sum(bandit.shown), bandit.state()) == (5, state)
    log.store._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert path.stat().st_size < before / 4
    assert log.store.deleted_at("main", "gone") is None
    play(log, 5, start=10)
    all_agree(log)
    log.close()
    log = Log(SQLiteStore(path), compiled=False)
    assert log.bandit("shop").version == 3_010
    log.close()


# Bandits in memory, on a store in memory.


@pytest.fixture
def quick():
    def opened(**options):
        log = Log(SQLiteStore(":memory:"), clock=HandClock(), compiled=False, **options)
        logs.append(log)
        return log

    logs = []
    yield opened
    for log in logs:
        log.close()


def settled(log):
    """Wait until the writer has stored what was submitted."""
    log.writer.submit(Change(lambda rows: None, lambda written: written)).result()


@pytest.mark.parametrize(("limit", "n_left"), [(4, 4), (10, 9), (25, 23)])
def test_a_tenth_of_the_bandits_that_were_not_used_leaves_memory(quick, limit, n_left):
    log = quick(max_loaded=limit)
    for number in range(limit):
        log.create(f"b{number}", WAGP)
    settled(log)
    assert len(log.loaded()) == limit
    # The first ones are used again, so that the next ones are the oldest.
    for number in range(2):
        log.bandit(f"b{number}")
    log.create("last", WAGP)
    settled(log)
    names = {bandit.row.name for bandit in log.loaded()}
    gone = [f"b{2 + number}" for number in range(limit + 1 - n_left)]
    assert {f"b{number}" for number in range(limit)} - names == set(gone)
    assert "last" in names
    for name in gone:
        assert not log.is_loaded(name)
        assert log.bandit(name).row.name == name
    assert log.is_loaded("b0")
    assert log.is_loaded("nobody")


def test_snapshots_are_written_once_for_each_version(quick):
    log = quick(snapshot_events=3)
    log.create("shop", WAGP)
    log.create("fair", WAGP)
    assert log.save(log.loaded()) is None
    assert list(log.save_all()) == []
    versions = []
    for number in range(7):
        log.reward("shop", log.decide("shop", f"{number}").decision.id, 0.5)
        settled(log)
        versions.append([found.version for found in log.store.snapshots(1)])
    assert versions == [[], [], [3], [3], [3], [6, 3], [6, 3]]
    (future,) = log.save_all()
    future.result()
    assert [found.version for found in log.store.snapshots(1)] == [7, 6, 3]
    assert list(log.save_all()) == []
    assert log.store.snapshots(2) == []
    log.submit_reward(log.bandit("fair"), log.decide("fair").decision.id, 0.5).result()
    log.save_due()
    settled(log)
    assert log.store.snapshots(2) == []
    for _ in range(2):
        log.submit_reward(log.bandit("fair"), log.decide("fair").decision.id, 0.5).result()
    log.save_due()
    settled(log)
    assert [found.version for found in log.store.snapshots(2)] == [3]


def test_snapshots_of_many_bandits_are_written_in_parts(quick):
    log = quick()
    for number in range(103):
        log.create(f"b{number}", WAGP)
    works = [log.new_decision(bandit, DecisionRequest("r")) for bandit in log.loaded()]
    rows = [future.result().decision for future in log.writer.submit_all(works)]
    works = [
        log.new_reward(bandit, row.id, 0.5) for bandit, row in zip(log.loaded(), rows, strict=True)
    ]
    for future in log.writer.submit_all(works):
        future.result()
    parts = list(log.save_all())
    assert len(parts) == 3
    for part in parts:
        part.result()
    assert all(len(log.store.snapshots(id)) == 1 for id in range(1, 104))


def test_the_time_of_the_last_event_is_that_of_a_reward(tmp_path):
    path, clock = tmp_path / "log.db", HandClock()
    hold = {"policy": "hold", "inner": {"policy": "wagp"}, "every": 2}
    log = Log(SQLiteStore(path), clock=clock, compiled=False)
    log.create("shop", WAGP | {"policy": hold})
    ids = []
    for number in range(4):
        clock.pass_seconds(10)
        ids.append(log.decide("shop", f"{number}").decision.id)
    assert log.bandit("shop").last_event_at is None
    log.reward("shop", ids[0], 0.5)
    at = clock.now()
    for number in range(4, 13):
        clock.pass_seconds(10)
        log.decide("shop", f"{number}")
    assert log.bandit("shop").last_event_at == at
    log.close()
    # The state is that of a snapshot, and the reward is among the last ten events.
    log = Log(SQLiteStore(path), clock=clock, compiled=False)
    assert log.bandit("shop").last_event_at == at
    clock.pass_seconds(10)
    log.decide("shop", "13")
    log.close()
    log = Log(SQLiteStore(path), clock=clock, compiled=False)
    assert log.bandit("shop").last_event_at is None
    log.close()


def test_open_decisions_without_a_deadline_count_for_thirty_days(quick):
    log = quick()
    log.create("shop", WAGP)
    at = log.decide("shop").decision.at
    bandit = log.bandit("shop")
    log.clock.pass_seconds(30 * 86_400 - 0.000001)
    log.recount_loaded(bandit.row.id)
    assert (bandit.n_open, bandit.oldest_open) == (1, at)
    log.clock.pass_seconds(0.000001)
    log.recount_loaded(bandit.row.id)
    assert (bandit.n_open, bandit.oldest_open) == (0, None)
    log.recount_loaded(99)
    assert log.bandit_of(bandit.row.id) is bandit
    assert log.bandit_of(99) is None


def test_bandits_of_one_kind_are_compiled_once(monkeypatch, quick):
    compiled = []
    monkeypatch.setattr(log_module, "_compile", compiled.append)
    log = quick()
    log.create("a", WAGP)
    log.create("b", WAGP | {"model": MODEL | {"arms": [0.1, 0.2, 0.3], "cost": 0.3}})
    log.create("c", WAGP | {"model": {"family": "demand.linear_power", "arms": [0.5]}})
    log.create("d", THOMPSON)
    log.create("e", THOMPSON | {"seed": 3, "mode": "paused"})
    log.warm()
    assert [settings.policy["policy"] for settings in compiled] == [
        "wagp",
        "wagp",
        "thompson_sampling",
    ]
    log.warm()
    assert len(compiled) == 3
    assert log_module._without_numbers({"a": [1, 2], "b": "x", "c": 0.5, "d": (True, None)}) == {
        "a": [0],
        "b": "x",
        "c": 0,
        "d": [0],
    }


@pytest.mark.parametrize(("id", "valid"), [("x" * 100, True), ("x" * 101, False), ("a\n", False)])
def test_names_of_imports_have_a_hundred_characters_at_most(quick, id, valid):
    log = quick()
    log.create("shop", WAGP)
    if valid:
        assert log.import_rewards("shop", id, [(0.4, 1)]) == ("learned", 1, 1)
        return
    with pytest.raises(ServiceError, match="import_id must be a text of 1 to 100 printable"):
        log.import_rewards("shop", id, [(0.4, 1)])


def test_imports_in_contexts_and_of_arms_that_are_first(quick):
    log = quick()
    segments = {"mean": "expit(context - arm*theta)", "arms": [1, 2], "contexts": {"a": 0, "b": 1}}
    log.create("shop", WAGP | {"model": segments})
    past = [(1, 1.0, "a"), (2, 0.0, "b"), (1, 2.0, "b", 3), (1, 0.0, "b")]
    assert log.import_rewards("shop", "past", past) == ("learned", 4, 4)
    bandit = log.bandit("shop")
    assert bandit.learner.pulls.tolist() == [[1, 0], [4, 1]]
    assert bandit.shown == [1, 0, 2, 1]
    assert (bandit.n_open, bandit.n_counted) == (0, 4)
    events = [(row.seq, row.arm, row.value, row.n_rewards) for row in log.store.events(1)]
    assert events == [(1, 0, 1.0, 1), (2, 1, 0.0, 1), (3, 0, 2.0, 3), (4, 0, 0.0, 1)]
    for place, row in enumerate(log.store.decisions(1)):
        assert row.request_id == f"import:past:{place}"
        assert (row.version, row.settings, row.chosen, row.deadline) == (0, 1, row.shown, None)
    with pytest.raises(GlobalBanditsError, match="context"):
        log.import_rewards("shop", "more", [(1, 1.0)])
    # The next import begins where the last one ended.
    assert log.import_rewards("shop", "more", [(2, 1.0, "a")]).version == 5
    assert [row.version for row in log.store.decisions(1)] == [0, 0, 0, 0, 4]


def test_seeds_are_drawn_where_none_is_given(quick):
    log = quick()
    spec = {key: WAGP[key] for key in ("model", "policy")}
    rows = [log.create(name, spec)[0].row for name in ("a", "b")]
    assert rows[0].seed != rows[1].seed
    assert all(0 <= row.seed < 2**63 for row in rows)
    assert log.create("c", spec | {"seed": 0})[0].row.seed == 0
    assert log.create("d", spec | {"seed": 2**63 - 1})[0].row.seed == 2**63 - 1
    (writer,) = log.store.writers()
    assert log.decide("a").decision.writer == writer.id


def test_decision_events_with_retries_and_a_deleted_bandit(quick):
    log = quick()
    hold = {"policy": "hold", "inner": {"policy": "wagp"}, "every": 2}
    log.create("shop", WAGP | {"policy": hold})
    first = log.decide("shop", "a")
    assert log.decide("shop", "a") == (first.decision, True)
    bandit = log.bandit("shop")
    assert (bandit.version, bandit.n_open, sum(bandit.shown)) == (1, 1, 1)
    work = log.new_decision(bandit, DecisionRequest("late"))
    again = log.new_decision(bandit, DecisionRequest("a"))
    log.decide("shop", "b")
    log.change("shop", {"mode": "paused"})
    assert (bandit.version, bandit.closed()) == (2, "paused")
    with pytest.raises(ConflictError) as caught:
        log.writer.submit(work).result()
    assert str(caught.value) == "shop is paused; it makes no new decisions"
    assert log.writer.submit(again).result() == (first.decision, True)
    assert log.decide("shop", "a").replayed
    assert [row.n_rewards for row in log.store.events(1)] == [1, 1]
