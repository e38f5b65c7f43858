"""Arms that are added and withdrawn while a bandit runs, and the replay across these changes."""

import dataclasses

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import GlobalBanditsError
from globalbandits.service.log import Log
from globalbandits.service.log.replay import replay
from globalbandits.service.stores import SQLiteStore
from tests.service.worlds import ARMS, MODEL, THOMPSON, WAGP, HandClock
from tests.soak import length

# `make soak` replays 100,000 decisions.
N_DECISIONS = length(1_000, 100_000)


@pytest.fixture
def log():
    log = Log(SQLiteStore(":memory:"), clock=HandClock(), compiled=False)
    yield log
    log.close()


FAMILIES_WITH_DEFAULT_RANGES = [
    {"family": "demand.exponential", "arms": [2.0, 3.0, 4.0], "cost": 1.5, "level": [0.02, 0.2]},
    {"family": "demand.anchored", "arms": [2.0, 3.0, 4.0], "today": 3.0, "rate": 0.03, "cost": 1.0},
    {"family": "dose.logistic", "arms": [1.0, 2.0, 3.0], "target": 0.25},
    {"family": "dose.emax", "arms": [1.0, 2.0, 3.0]},
]


@pytest.mark.parametrize("model", FAMILIES_WITH_DEFAULT_RANGES, ids=lambda model: model["family"])
def test_a_new_arm_keeps_default_ranges_that_depend_on_the_arms(log, model):
    log.create("shop", {"model": model, "policy": {"policy": "elastic"}, "seed": 1})
    decided = [log.decide("shop").decision for _ in range(5)]
    for decision in decided:
        log.reward("shop", decision.id, 0.0)
    before = log.bandit("shop").learner.model.domain
    log.change("shop", {"arms": [*model["arms"][1:], 5.5]})
    bandit = log.bandit("shop")
    assert bandit.learner.model.domain == before
    assert bandit.values == [*model["arms"], 5.5]
    assert bandit.learner.n_observations == 5
    for _ in range(5):
        assert log.decide("shop").decision.shown != 0
    assert replay(log.store, log.store.bandit(bandit.row.id), compiled=False).agree == 10


@gb.register("test_all_arms_only")
@dataclasses.dataclass(frozen=True, kw_only=True)
class AllArmsOnly(gb.UCB1):
    rules = gb.UCB1.rules._replace(select_among=None)


def test_only_a_withdrawn_arm_needs_a_policy_that_chooses_among_some(log):
    log.create("shop", WAGP | {"policy": {"policy": "test_all_arms_only"}})
    assert log.decide("shop").decision.shown in range(len(ARMS))
    with pytest.raises(gb.PolicyError, match="cannot choose among some of the arms"):
        log.change("shop", {"withdrawn": [ARMS[0]]})
    assert not log.bandit("shop").settings.withdrawn


def test_arms_are_added_and_withdrawn_and_rewards_stay(log):
    log.create("shop", WAGP)
    early = [log.decide("shop").decision for _ in range(4)]
    for decision in early[:3]:
        log.reward("shop", decision.id, 0.5)
    gone = early[3].shown
    left = [value for arm, value in enumerate(ARMS) if arm != gone]
    number = log.change("shop", {"arms": [*left, 0.65, 0.9]})
    bandit = log.bandit("shop")
    assert number == 2
    assert bandit.values == [*ARMS, 0.65, 0.9]
    assert bandit.settings.withdrawn == [ARMS[gone]]
    assert bandit.learner.n_observations == 3
    for _ in range(30):
        decision = log.decide("shop").decision
        assert decision.shown != gone
        assert decision.chosen != gone
        log.reward("shop", decision.id, 0.4)
    # The decision was made before its arm was withdrawn, so its reward is learned.
    before = bandit.learner.pulls[gone]
    log.reward("shop", early[3].id, 0.1)
    assert bandit.learner.pulls[gone] == before + 1
    # All arms again.
    log.change("shop", {"arms": [*ARMS, 0.65, 0.9]})
    assert not bandit.settings.withdrawn
    assert bandit.learner.withdrawn == ()
    report = replay(log.store, log.store.bandit(bandit.row.id), compiled=False)
    assert report.good
    assert report.agree == report.decisions == 34


def test_decisions_are_replayed_exactly_across_changes_of_arms(log):
    rng = np.random.default_rng(3)
    log.create("shop", THOMPSON)
    offered, extra = list(ARMS), iter(np.round(0.41 + 0.02 * np.arange(10), 3).tolist())
    change_every, waiting = N_DECISIONS // 10, []
    for n in range(N_DECISIONS):
        decision = log.decide("shop", f"{n}").decision
        waiting.append(decision.id)
        # Outcomes come up to twenty decisions late.
        if len(waiting) > 20 or rng.random() < 0.5:
            log.reward("shop", waiting.pop(0), float(rng.random() < 0.4))
        if n % change_every == change_every - 1:
            offered = [*offered[1:], next(extra)]
            log.change("shop", {"arms": offered})
    row = log.store.bandit(log.bandit("shop").row.id)
    report = replay(log.store, row, compiled=False)
    assert report.wrong == []
    assert report.differ == report.foreign == report.gone == 0
    assert report.agree == report.decisions == N_DECISIONS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arms": []}, "arms must have at least one value"),
        ({"arms": 0.4}, "arms must be a list of the arms' values"),
        ({"arms": [0.4], "model": MODEL}, "model must be left out where arms is given"),
        ({"withdrawn": ARMS}, "withdrawn must leave an arm to show"),
        ({"withdrawn": [0.45]}, "withdrawn must be one of the arms"),
        ({"arms": [0.4, -1.0]}, "arms"),
        ({"arms": [0.5], "incumbent": 0.4}, "incumbent must be an arm that is not withdrawn"),
        ({"arms": [0.8], "limits": [0.4, 0.6]}, "limits must leave an arm that is not withdrawn"),
    ],
)
def test_bad_changes_of_arms_change_nothing(log, change, message):
    log.create("shop", WAGP)
    before = log.bandit("shop").settings
    with pytest.raises(GlobalBanditsError, match=message):
        log.change("shop", change)
    assert log.bandit("shop").settings == before
    assert log.bandit("shop").number == 1


def test_a_policy_that_needs_the_order_of_rewards_refuses_new_arms(log):
    window = {"model": MODEL, "policy": {"policy": "sliding_window_ucb"}, "seed": 9}
    log.create("shop", window)
    with pytest.raises(GlobalBanditsError, match="cannot take over rewards"):
        log.change("shop", {"arms": [*ARMS, 0.9]})
