"""Logs for off-policy estimates, read from the service."""

import numpy as np
import pytest

from globalbandits.errors import EvidenceError, UnknownError
from globalbandits.service.log import Log
from globalbandits.service.log.archive.decision_log import decision_log, read_log, the_bandit
from globalbandits.service.stores import SQLiteStore
from tests.service.worlds import ARMS, MODEL, THOMPSON, WAGP, HandClock


@pytest.fixture
def log():
    log = Log(SQLiteStore(":memory:"), clock=HandClock(), compiled=False)
    yield log
    log.close()


def decided(log, n, name="shop", start=0):
    return [log.decide(name, f"{start + number}").decision for number in range(n)]


def test_decisions_have_the_reward_that_counts_in_their_order(log):
    log.create("shop", WAGP | {"deadline_seconds": 10, "default_reward": 0.25})
    rows = decided(log, 8)
    for place in (5, 1, 2, 3, 6):
        log.reward("shop", rows[place].id, place / 10)
    log.retract("shop", rows[2].id)
    log.retract("shop", rows[3].id)
    log.reward("shop", rows[3].id, 0.9)
    log.clock.pass_seconds(20)
    assert log.submit_default(log.bandit("shop"), rows[7]).result().outcome == "learned"
    found = decision_log(log.store, log.store.bandits()[0])
    assert found.rewards.tolist() == [0.1, 0.9, 0.5, 0.6, 0.25]
    assert found.arms.tolist() == [rows[place].shown for place in (1, 3, 5, 6, 7)]
    # WAGP's probabilities are exact, so those of all arms are known.
    assert found.probabilities.shape == (5, 5)
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1.0)
    assert (found.probabilities[np.arange(5), found.arms] > 0.0).all()


def test_arms_that_were_added_later_had_no_chance(log):
    log.create("shop", WAGP | {"policy": {"policy": "uniform"}})
    rows = decided(log, 3)
    log.change("shop", {"arms": [*ARMS, 0.45]})
    rows += decided(log, 3, start=3)
    for row in rows:
        log.reward("shop", row.id, 0.5)
    found = decision_log(log.store, log.store.bandits()[0]).probabilities
    np.testing.assert_allclose(found[:3], np.tile([0.2] * 5 + [0.0], (3, 1)))
    np.testing.assert_allclose(found[3:], np.full((3, 6), 1 / 6))


def test_drawn_probabilities_are_those_of_the_shown_arm(log):
    log.create("shop", THOMPSON)
    past = [(arm, 0.3) for arm in ARMS]
    log.import_rewards("shop", "past", past)
    rows = decided(log, 6)
    for place, row in enumerate(rows):
        log.reward("shop", row.id, place / 10)
    found = decision_log(log.store, log.store.bandits()[0], draws=40)
    # Imported rewards have no probability.
    assert np.isnan(found.probabilities).tolist() == [True] * 5 + [False] * 6
    assert found.arms.tolist() == [0, 1, 2, 3, 4] + [row.shown for row in rows]
    chances = found.probabilities[5:]
    assert ((chances > 0.0) & (chances < 1.0)).all()
    bandit = log.bandit("shop")
    last, _, _ = bandit.probabilities(40)
    decision = log.decide("shop", "last").decision
    log.reward("shop", decision.id, 0.5)
    again = decision_log(log.store, log.store.bandits()[0], draws=40)
    assert again.probabilities[-1] == last.of_chosen(decision.shown)


def test_imported_rewards_have_nan_for_every_arm_of_an_exact_policy(log):
    log.create("shop", WAGP)
    log.import_rewards("shop", "past", [(0.5, 0.3), (0.8, 0.1)])
    only = decision_log(log.store, log.store.bandits()[0])
    assert only.probabilities is None
    (row,) = decided(log, 1)
    log.reward("shop", row.id, 0.2)
    found = decision_log(log.store, log.store.bandits()[0])
    assert found.arms.tolist() == [1, 4, row.shown]
    assert np.isnan(found.probabilities[:2]).all()
    assert found.probabilities[2].sum() == pytest.approx(1.0)


def test_sums_of_rewards_and_contexts_are_refused(log):
    log.create("shop", WAGP)
    (row,) = decided(log, 1)
    log.reward("shop", row.id, 2.0, count=3)
    with pytest.raises(EvidenceError) as caught:
        decision_log(log.store, log.store.bandits()[0])
    assert str(caught.value) == ("log must have one reward per decision, got a sum of 3 rewards")
    segments = {"mean": "expit(context - arm*theta)", "arms": [1, 2], "contexts": {"a": 0, "b": 1}}
    log.create("segments", WAGP | {"model": segments})
    with pytest.raises(EvidenceError, match="log must be of a model without contexts, got "):
        decision_log(log.store, log.store.bandits()[1])


def test_decision_events_are_not_rewards(log):
    hold = {"policy": "hold", "inner": {"policy": "wagp"}, "every": 2}
    log.create("shop", {"model": MODEL, "policy": hold, "seed": 3})
    rows = decided(log, 4)
    log.reward("shop", rows[2].id, 0.5)
    found = decision_log(log.store, log.store.bandits()[0])
    assert (found.arms.tolist(), found.rewards.tolist()) == ([rows[2].shown], [0.5])


def test_a_bandit_is_named_unless_it_is_the_only_one(log):
    with pytest.raises(UnknownError) as caught:
        the_bandit(log.store, None)
    assert str(caught.value) == "bandit must be one of none, got None"
    log.create("shop", WAGP)
    assert the_bandit(log.store, None).name == the_bandit(log.store, "shop").name == "shop"
    log.create("a", WAGP)
    assert the_bandit(log.store, "a").name == "a"
    for name in (None, "b"):
        with pytest.raises(UnknownError) as caught:
            the_bandit(log.store, name)
        assert str(caught.value) == f"bandit must be one of a, shop, got {name!r}"


def test_a_file_is_read(tmp_path):
    path = tmp_path / "log.db"
    log = Log(SQLiteStore(path), clock=HandClock(), compiled=False)
    log.create("shop", WAGP)
    (row,) = decided(log, 1)
    log.reward("shop", row.id, 0.5)
    log.close()
    assert len(read_log(str(path))) == len(read_log(str(path), "shop")) == 1
