"""A trial in the service: decisions are events, outcomes are corrected, the design is amended."""

import pytest

import globalbandits as gb
from globalbandits.service.log import Log
from globalbandits.service.log.append import Outcome
from globalbandits.service.log.archive.transfer import export_lines, import_lines
from globalbandits.service.log.replay import replay
from globalbandits.service.stores import SQLiteStore
from tests.service.worlds import HandClock

SKELETON = [0.05, 0.12, 0.25, 0.40, 0.55, 0.65]
MODEL = {"family": "dose.power", "arms": SKELETON, "target": 0.25, "domain": [-5.0, 2.0]}
CRM = {
    "policy": "limited",
    "cohort": 3,
    "inner": {"policy": "grid_plug_in", "cells": 200, "prior_variance": 1.34},
}


@pytest.fixture
def log():
    opened = Log(SQLiteStore(":memory:"), snapshot_events=7)
    opened.create("trial", {"model": MODEL, "policy": CRM, "seed": 1})
    yield opened
    opened.close()


def treat(log, n):
    return [log.decide("trial").decision for _ in range(n)]


def replayed(log):
    report = replay(log.store, next(iter(log.store.bandits())))
    assert report.good, report.wrong
    return report


def test_decisions_are_made_one_after_the_other_and_replayed(log):
    first = treat(log, 4)
    assert [row.shown for row in first] == [0, 0, 0, 0]
    assert [row.version for row in first] == [0, 1, 2, 3]
    for row in first[:3]:
        log.reward("trial", row.id, 0.0)
    second = treat(log, 2)
    assert [row.shown for row in second] == [1, 1]
    # A toxicity at the higher dose, and a late report of the lower one.
    log.reward("trial", second[0].id, 1.0)
    log.reward("trial", first[3].id, 0.0)
    assert treat(log, 1)[0].shown <= 1
    report = replayed(log)
    assert (report.decisions, report.agree) == (7, 7)
    assert report.snapshots > 0
    explained = log.explain("trial", second[1].id)
    assert explained.choice.shown == 1
    assert "the cohort on arm 1 has 0 of 3 rewards" in explained.explanation.reason


def test_a_repeated_request_is_one_patient(log):
    one = log.decide("trial", "patient-1")
    again = log.decide("trial", "patient-1")
    assert again.replayed
    assert again.decision == one.decision
    assert log.bandit("trial").version == 1
    assert log.bandit("trial").n_open == 1


def test_an_outcome_is_corrected(log):
    rows = treat(log, 3)
    for row in rows:
        log.reward("trial", row.id, 0.0)
    assert log.bandit("trial").learner.explain().choice == 1
    assert log.retract("trial", rows[1].id).outcome is Outcome.LEARNED
    learner = log.bandit("trial").learner
    assert learner.explain().details["cohort"] == [2, 3]
    assert learner.explain().choice == 0
    # A repeated report of the retracted value is not the correction.
    assert log.reward("trial", rows[1].id, 0.0).outcome is Outcome.DUPLICATE
    assert log.reward("trial", rows[1].id, 1.0).outcome is Outcome.LEARNED
    assert log.reward("trial", rows[1].id, 1.0).outcome is Outcome.DUPLICATE
    assert log.reward("trial", rows[1].id, 0.0).outcome is Outcome.CONFLICT
    assert learner.means[0] == pytest.approx(1 / 3)
    assert learner.explain().choice == 0
    plain = gb.Learner(learner.policy, learner.model, seed=0)
    for _ in range(3):
        plain.decide(0)
    plain.update([0, 0, 0], [0.0, 0.0, 1.0])
    assert plain.explain().arms == learner.explain().arms
    kinds = [event.kind for event in log.store.events(1)]
    assert kinds[-2:] == ["retraction", "correction"]
    replayed(log)


def test_amendments_are_logged(log):
    for row in treat(log, 2):
        log.reward("trial", row.id, 0.0)
    assert log.bandit("trial").learner.explain().choice == 0
    log.change("trial", {"policy": CRM | {"cohort": 2}})
    assert log.bandit("trial").learner.explain().choice == 1
    log.change("trial", {"model": MODEL | {"arms": [*SKELETON, 0.8]}})
    assert log.bandit("trial").values[-1] == 0.8
    row = treat(log, 1)[0]
    assert row.shown == 1
    with pytest.raises(gb.GlobalBanditsError, match="arms"):
        log.change("trial", {"model": MODEL | {"arms": [0.01, *SKELETON]}})
    replayed(log)


def test_limits_of_the_settings_only_restrict_further(log):
    for row in treat(log, 3):
        log.reward("trial", row.id, 0.0)
    log.change("trial", {"limits": [0.25, 0.65]})
    # The limits of the settings exclude the doses that the design allows.
    assert treat(log, 1)[0].shown == 1


def test_a_cap_on_open_patients_refuses_without_a_trace(log):
    log.change("trial", {"policy": CRM | {"max_open": 2}})
    treat(log, 2)
    with pytest.raises(gb.PolicyError, match="wait for a reward"):
        log.decide("trial")
    assert log.bandit("trial").version == 2
    replayed(log)


def test_an_exported_trial_is_the_same(log):
    for row in treat(log, 4)[:3]:
        log.reward("trial", row.id, 0.0)
    log.retract("trial", log.store.decision(next(log.store.events(1)).decision).id)
    copy = SQLiteStore(":memory:")
    import_lines(copy, list(export_lines(log.store, log.store.bandits())))
    other = Log(copy)
    mine, theirs = (each.bandit("trial").learner.explain() for each in (log, other))
    assert mine == theirs
    other.close()


def test_a_retraction_is_of_one_patient(log):
    """Equal outcomes of patients at one dose are distinguished."""
    first = treat(log, 3)
    for row in first:
        log.reward("trial", row.id, 0.0)
    second = treat(log, 1)
    assert second[0].shown == 1
    log.reward("trial", second[0].id, 1.0)
    # The outcome of the first patient is retracted, not the last equal one.
    log.retract("trial", first[0].id)
    learner = log.bandit("trial").learner
    record = learner.state()["record"]
    left = [name for name in record["names"] if name is not None]
    assert left == [row.id for row in (*first[1:], *second)]
    restored = gb.Learner.restore(learner.policy, learner.model, learner.state())
    assert restored.state() == learner.state()
    replayed(log)


def test_a_stopping_rule_ends_a_trial(log):
    """Too many DLTs at the lowest dose; a corrected outcome opens the trial again."""
    stop = {"above": 0.25, "confidence": 0.9, "prior_variance": 1.34}
    log.create("two", {"model": MODEL, "policy": CRM, "stop": stop, "seed": 1})
    rows = [log.decide("two", f"patient {number}").decision for number in range(3)]
    for row in rows:
        log.reward("two", row.id, 1.0)
    assert log.bandit("two").closed() == "stopped: too high"
    with pytest.raises(gb.GlobalBanditsError, match="two is stopped: too high; it makes no new"):
        log.decide("two")
    # A repeated request is answered.
    assert log.decide("two", "patient 0").decision == rows[0]
    for row in rows:
        log.retract("two", row.id)
        log.reward("two", row.id, 0.0)
    assert log.bandit("two").closed() == ""
    assert log.decide("two").decision.shown == log.bandit("two").learner.explain().choice
    report = replay(log.store, list(log.store.bandits())[-1])
    assert report.good, report.wrong


def test_a_bandit_without_limits_stops_too(log):
    log.create("two", {"model": MODEL, "policy": CRM["inner"], "stop": {"decisions": 1}})
    row = log.decide("two", "patient 1").decision
    log.reward("two", row.id, 0.0)
    with pytest.raises(gb.GlobalBanditsError, match="two is stopped: decisions; it makes no new"):
        log.decide("two", "patient 2")
    assert log.decide("two", "patient 1").decision == row
    log.retract("two", row.id)
    assert log.decide("two", "patient 2").decision.id != row.id


def test_a_blrm_is_conducted_and_stops(log):
    design = gb.trial.blrm(
        [5.0, 10.0, 20.0], 0.25, reference=20.0, prior_mean=(-1.0, 0.0), prior_sd=(2.0, 1.0)
    )
    settings = {"model": design.model.to_dict(), "policy": design.rule.to_dict()}
    log.create("blrm", settings | {"stop": {"at_recommended": 3}, "seed": 1})
    rows = [log.decide("blrm").decision for _ in range(3)]
    for row in rows:
        log.reward("blrm", row.id, 0.0)
    assert log.decide("blrm").decision.shown == design.next_dose([(0, 0)]) == 1
    log.retract("blrm", rows[0].id)
    log.reward("blrm", rows[0].id, 1.0)
    # Overdose control admits no dose.
    assert design.next_dose([(0, 1)]) == -1
    with pytest.raises(gb.PolicyError, match="allows no dose now"):
        log.decide("blrm")


def test_an_invalid_stopping_rule_is_refused(log):
    for stop, message in (
        ({"below": 1}, "stop must have keys among"),
        ({"above": 3.0}, "above must lie in the reward range"),
    ):
        with pytest.raises(gb.GlobalBanditsError, match=message):
            log.change("trial", {"stop": stop})
    assert log.bandit("trial").settings.stop is None


def test_a_tite_trial_is_conducted_and_replayed():
    """Patients in follow-up have weights by their age; the end of a window is an outcome."""
    design = gb.trial.tite_crm([0.05, 0.12, 0.25, 0.40], 0.25, window=28, every=14, patients=10)
    clock, today = HandClock(), 0
    opened = Log(SQLiteStore(":memory:"), clock=clock, snapshot_events=4)
    opened.create("tite", design.settings() | {"seed": 1})
    days, toxic = [0, 14, 20, 31, 40, 44, 61], {2: 26, 4: 43}
    rows, seen = [], []
    for number, day in enumerate(days):
        clock.pass_seconds(86_400 * (day - today))
        today = day
        for patient, row in enumerate(rows):
            if patient in toxic and days[number - 1] < toxic[patient] <= day:
                opened.reward("tite", row.id, 1.0)
        bandit = opened.bandit("tite")
        for row in opened.store.overdue((0, ""), clock.now(), 100):
            opened.submit_default(bandit, row).result()
        rows.append(opened.decide("tite", f"patient {number}").decision)
        patients = [
            (dose, min(toxic.get(i, day), day, entered + 28) - entered, toxic.get(i, 99) <= day)
            for i, (dose, entered) in enumerate(seen)
        ]
        recent = number > 0 and any(days[number - 1] < at <= day for at in toxic.values())
        assert rows[-1].shown == design.next_patient(patients, recent=recent)
        seen.append((rows[-1].shown, day))
    assert len({row.shown for row in rows}) > 1
    report = replay(opened.store, next(iter(opened.store.bandits())))
    assert report.good, report.wrong
    assert report.agree == len(days)
    for number in range(len(days), 10):
        opened.decide("tite", f"patient {number}")
    # All patients are enrolled, although some outcomes are not known.
    with pytest.raises(gb.GlobalBanditsError, match="tite is stopped: decisions"):
        opened.decide("tite")
    opened.close()


@pytest.mark.parametrize("rule", [gb.trial.BOIN(), gb.trial.ThreePlusThree()])
def test_a_comparator_is_conducted_and_replayed(log, rule):
    design = gb.trial.Design(doses=["5 mg", "10 mg", "20 mg"], target=0.25, rule=rule)
    log.create("other", design.settings())
    path = []
    for events in (0, 1, 0):
        rows = [log.decide("other").decision for _ in range(3)]
        assert {row.shown for row in rows} == {design.next_dose(path)}
        with pytest.raises(gb.PolicyError, match="waits for 3 outcomes; wait for them"):
            log.decide("other")
        for number, row in enumerate(rows):
            log.reward("other", row.id, float(number < events))
        path.append((rows[0].shown, events))
    # The outcome of one patient was a DLT after all.
    log.retract("other", rows[0].id)
    log.reward("other", rows[0].id, 1.0)
    path[-1] = (path[-1][0], 1)
    assert log.decide("other").decision.shown == design.next_dose(path)
    report = replay(log.store, list(log.store.bandits())[-1])
    assert report.good, report.wrong
    assert report.decisions == report.agree == 10
