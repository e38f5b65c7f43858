"""The outcome of an event: every state of a decision, every kind, early and late."""

import itertools

import pytest

from globalbandits.service.log.append import EventRules, Outcome, classify
from globalbandits.service.stores.records import Decision, StoredEvent, decision_state

DECISION = Decision("id", 1, None, 0, 2, 5, 1, 1, at=100, deadline=200)
STATES = {
    "open": [],
    "rewarded": [StoredEvent("reward", 0.5, 6)],
    "defaulted": [StoredEvent("default", 0.0, 6)],
    "retracted": [StoredEvent("reward", 0.5, 6), StoredEvent("retraction", 0.5, 7)],
    "default retracted": [StoredEvent("default", 0.0, 6), StoredEvent("retraction", 0.0, 7)],
    "corrected": [
        StoredEvent("default", 0.0, 6),
        StoredEvent("retraction", 0.0, 7),
        StoredEvent("correction", 0.5, 9),
    ],
}
# As the document's table has it: state, what comes, when, the late rule.
EXPECTED = {
    ("open", "reward", "early", "accept"): "learned",
    ("open", "reward", "early", "refuse"): "learned",
    ("open", "reward", "late", "accept"): "learned",
    ("open", "reward", "late", "refuse"): "late",
    ("open", "default", "early", "accept"): "duplicate",
    ("open", "default", "early", "refuse"): "duplicate",
    ("open", "default", "late", "accept"): "learned",
    ("open", "default", "late", "refuse"): "learned",
}


def outcome(state, kind, when, late, value=0.5, can_forget=True):
    at = {"early": 150, "late": 250}[when]
    return classify(DECISION, STATES[state], kind, value, at, EventRules(late, can_forget))


@pytest.mark.parametrize("case", EXPECTED, ids=str)
def test_an_open_decision(case):
    assert outcome(*case) == EXPECTED[case]


@pytest.mark.parametrize(
    ("when", "late"), list(itertools.product(("early", "late"), ("accept", "refuse")))
)
def test_a_rewarded_decision_does_not_change(when, late):
    for state in ("rewarded", "corrected"):
        assert outcome(state, "reward", when, late, 0.5) is Outcome.DUPLICATE
        assert outcome(state, "reward", when, late, 0.5000000000000001) is Outcome.CONFLICT
        assert outcome(state, "default", when, late, 0.0) is Outcome.DUPLICATE
    assert outcome("defaulted", "reward", when, late, 0.0) is Outcome.DUPLICATE
    assert outcome("defaulted", "reward", when, late, 0.5) is Outcome.CONFLICT
    assert outcome("defaulted", "default", when, late, 0.0) is Outcome.DUPLICATE


@pytest.mark.parametrize(
    ("when", "late"), list(itertools.product(("early", "late"), ("accept", "refuse")))
)
def test_a_retracted_reward_is_corrected_and_a_retry_of_it_is_not(when, late):
    for state, retracted in (("retracted", 0.5), ("default retracted", 0.0)):
        assert outcome(state, "reward", when, late, retracted) is Outcome.DUPLICATE
        assert outcome(state, "reward", when, late, 0.25) is Outcome.LEARNED
        assert outcome(state, "default", when, late, 0.0) is Outcome.DUPLICATE


@pytest.mark.parametrize("when", ["early", "late"])
def test_a_reward_can_be_retracted_once(when):
    assert outcome("open", "retraction", when, "accept") is Outcome.UNKNOWN
    for state in ("rewarded", "defaulted", "corrected"):
        assert outcome(state, "retraction", when, "refuse") is Outcome.LEARNED
        assert outcome(state, "retraction", when, "accept", can_forget=False) is Outcome.CONFLICT
    for state in ("retracted", "default retracted"):
        assert outcome(state, "retraction", when, "accept") is Outcome.DUPLICATE


@pytest.mark.parametrize("kind", ["reward", "default", "retraction"])
def test_an_unknown_decision(kind):
    assert classify(None, [], kind, 0.5, 150, EventRules("accept", True)) is Outcome.UNKNOWN


def test_without_a_deadline_nothing_is_late_and_no_default_is_due():
    open_ended = DECISION._replace(deadline=None)
    terms = EventRules("refuse", True)
    assert classify(open_ended, [], "reward", 0.5, 10**18, terms) is Outcome.LEARNED
    assert classify(open_ended, [], "default", 0.0, 10**18, terms) is Outcome.DUPLICATE


def test_the_moment_of_the_deadline_is_in_time_and_due():
    terms = EventRules("refuse", True)
    assert classify(DECISION, [], "reward", 0.5, 200, terms) is Outcome.LEARNED
    assert classify(DECISION, [], "default", 0.0, 200, terms) is Outcome.LEARNED


def test_names_of_states():
    assert [decision_state(held).value for held in STATES.values()] == [
        "open",
        "rewarded",
        "defaulted",
        "retracted",
        "retracted",
        "rewarded",
    ]
