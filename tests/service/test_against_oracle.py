"""Random histories, against the naive log and from one store to the other."""

import os
import random
from collections import Counter, defaultdict

import pytest

from globalbandits.service.log import Log
from globalbandits.service.log.replay import replay
from tests.oracles.service import NaiveLog
from tests.service.stores.test_contract import STORES
from tests.service.worlds import SECOND, THOMPSON, HandClock

N_STEPS = 20_000 if "GLOBALBANDITS_SOAK" in os.environ else 250
VALUES = [0.0, 0.25, 0.5, 1 / 3]


@pytest.mark.parametrize("late", ["accept", "refuse"])
@pytest.mark.parametrize("kind", STORES)
def test_random_histories(kind, late, request):
    luck = random.Random(f"{late}")
    clock = HandClock()
    log = Log(STORES[kind](request), clock=clock, compiled=False, snapshot_events=25)
    due = {"deadline_seconds": 20, "default_reward": 0.0, "late": late}
    log.create("shop", THOMPSON | due | {"largest_step": 2})
    bandit = log.bandit("shop")
    naive = NaiveLog(20 * SECOND, 0.0, late)
    ids = []
    for step in range(N_STEPS):
        what = luck.choice(["decide", "decide", "reward", "reward", "retract", "wait", "set"])
        number = luck.randrange(len(ids) + 2)  # sometimes an unknown one
        id = ids[number] if number < len(ids) else f"nobody-{step}"
        if what == "decide":
            request = luck.choice([None, f"r{luck.randrange(40)}"])
            decided = log.decide("shop", request)
            expected, replayed = naive.decide(request, decided.decision.shown, clock.now())
            assert decided.replayed is replayed
            if not replayed:
                ids.append(decided.decision.id)
            assert decided.decision.id == ids[expected]
        elif what == "reward":
            value = luck.choice(VALUES)
            assert log.reward("shop", id, value).outcome == naive.reward(number, value, clock.now())
        elif what == "retract":
            assert log.retract("shop", id).outcome == naive.retract(number)
        elif what == "wait":
            clock.pass_seconds(luck.choice([0.5, 5.0, 30.0]))
            overdue = log.store.overdue((0, ""), clock.now(), 1_000)
            told = [log.submit_default(bandit, row).result() for row in overdue]
            assert [answer.outcome for answer in told].count("learned") == naive.sweep(clock.now())
        elif luck.random() < 0.2:
            log.change("shop", {"held_back": luck.choice([0.0, 0.2]), "incumbent": 0.5})
        assert bandit.version == naive.n_events
    pulls = Counter(arm for arm, _ in naive.learned)
    assert bandit.learner.pulls.tolist() == [pulls[arm] for arm in range(5)]
    values = defaultdict(float)
    for arm, value in naive.learned:
        values[arm] += value
    for arm in range(5):
        if pulls[arm]:
            assert bandit.learner.means[arm] == pytest.approx(values[arm] / pulls[arm], abs=1e-12)
    found = replay(log.store, log.store.bandits()[0], compiled=False)
    assert (found.agree, found.wrong) == (len(ids), [])
    log.close()
