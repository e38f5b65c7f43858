"""Policies that forget: the choices of their naive versions, and what restoring refuses."""

import copy
import json

import numpy as np
import pytest

from globalbandits.errors import PolicyError, StateError
from globalbandits.policies.independent.explore_then_commit import ExploreThenCommit
from globalbandits.policies.learner import Learner
from globalbandits.policies.windows.discounted_ucb import DiscountedUCB
from globalbandits.policies.windows.sliding_window_ucb import SlidingWindowUCB
from tests.oracles import published_policies as naive
from tests.policies.races import FAMILIES, pricing, race

CASES = {
    "window": (SlidingWindowUCB(window=150), lambda p: naive.NaiveWindow(p, 150)),
    "short window": (SlidingWindowUCB(window=20), lambda p: naive.NaiveWindow(p, 20)),
    "discount": (DiscountedUCB(discount=0.98), lambda p: naive.NaiveDiscount(p, 0.98)),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("case", CASES)
def test_same_choices(case, family):
    policy, oracle = CASES[case]
    model, problem, theta = FAMILIES[family]()
    race(policy, oracle(problem), model, problem.means(theta), 2000)


@pytest.mark.parametrize("n", [0, 1, 39, 40, 41, 79, 80, 200])
def test_the_window_holds_the_last_rewards(n):
    learner = fed(SlidingWindowUCB(window=40), n)
    data = rewards_of_any_arm(n)[-40:]
    explained = learner.explain()
    for row in explained.arms:
        rewards = [reward for arm, reward in data if arm == row.arm]
        assert row.pulls == len(rewards)
        assert row.mean == (pytest.approx(np.mean(rewards)) if rewards else None)
    assert explained.n_observations == n


ORDERED = [SlidingWindowUCB(window=40), DiscountedUCB(discount=0.9), ExploreThenCommit(plays=3)]
ordered_policy = pytest.mark.parametrize("policy", ORDERED, ids=lambda policy: policy.kind)


def rewards_of_any_arm(n):
    rng = np.random.default_rng(3)
    return [(int(rng.integers(12)), float(rng.random())) for _ in range(n)]


def fed(policy, n):
    learner = Learner(policy, pricing()[0], seed=0)
    for arm, reward in rewards_of_any_arm(n):
        learner.update(arm, reward)
    return learner


@pytest.mark.parametrize("n", [0, 1, 30, 95, 6000])
@ordered_policy
def test_a_restored_learner_resumes_bit_for_bit(policy, n):
    learner = fed(policy, n)
    saved = json.loads(json.dumps(learner.state()))
    again = Learner.restore(policy, learner.model, saved)
    for u in np.random.default_rng(n).random(60).tolist():
        arm = learner.select()
        assert again.select() == arm
        learner.update(arm, u)
        again.update(arm, u)
    assert again.state()["kept"] == learner.state()["kept"]


@ordered_policy
def test_order_matters_so_they_neither_forget_nor_merge(policy):
    learner = fed(policy, 1)
    with pytest.raises(PolicyError, match="cannot forget: the order of rewards matters to it"):
        learner.forget(*rewards_of_any_arm(1)[0])
    with pytest.raises(PolicyError, match="cannot be merged: the order of rewards matters to it"):
        learner.merge(fed(policy, 2))


def nested(saved, path):
    for key in path[:-1]:
        saved = saved[key]
    return saved, path[-1]


WRONG = [
    (ORDERED[0], ("arms",), 3, 12),
    (ORDERED[0], ("arms",), 3, -1),
    (ORDERED[0], ("arms",), 3, None),
    (ORDERED[0], ("rewards",), 3, "nan"),
    (ORDERED[0], ("rewards",), 3, 1.5),
    (ORDERED[0], ("rewards",), 3, None),
    (ORDERED[0], ("recent", "counts"), 0, None),
    (ORDERED[0], ("recent", "sums"), 0, None),
    (ORDERED[0], ("recent", "squares"), 0, None),
    (ORDERED[1], ("weights",), 2, -0.1),
    (ORDERED[1], ("weights",), 2, 0.0),
    (ORDERED[1], ("weights",), 2, "nan"),
    (ORDERED[1], ("rewards",), 2, "inf"),
    (ORDERED[1], ("rewards",), 2, -1.0),
    (ORDERED[1], ("rewards",), 2, 11.0),
    (ORDERED[1], ("means",), 2, None),
    (ORDERED[1], ("widths",), 2, 0.0),
    (ORDERED[1], ("widths",), 2, "nan"),
    (ORDERED[1], ("widths",), 2, None),
    (ORDERED[1], ("weight",), 0, 9.0),
    (ORDERED[2], ("explored", "counts"), 0, 2),
    (ORDERED[2], ("explored", "sums"), 0, "nan"),
    (ORDERED[2], ("explored", "sums"), 0, 3.5),
    (ORDERED[2], ("explored", "total"), 0, 35),
]


@pytest.mark.parametrize(
    ("policy", "path", "at", "value"), WRONG, ids=lambda value: getattr(value, "kind", None)
)
def test_an_impossible_state_is_refused(policy, path, at, value):
    """One number of a good state is replaced; None means a little more than it was."""
    learner = fed(policy, 95)
    saved = json.loads(json.dumps(learner.state()))
    kept, name = nested(saved["kept"], path)
    good = copy.deepcopy(kept[name])
    if value is None:
        value = (good[at] + 1) % 12 if isinstance(good[at], int) else good[at] + 0.01
    assert value != good[at]
    kept[name][at] = value
    with pytest.raises(StateError, match="kept must be fields that these statistics can lead to"):
        Learner.restore(policy, learner.model, saved)


def test_bounds_of_the_window_are_derived_not_read():
    learner = fed(ORDERED[0], 95)
    saved = json.loads(json.dumps(learner.state()))
    saved["kept"]["bounds"] = {"means": [9.0] * 12, "widths": [0.0] * 12, "played": [7]}
    again = Learner.restore(ORDERED[0], learner.model, saved)
    assert again.select() == learner.select()
    assert again.state()["kept"] == learner.state()["kept"]


def test_an_arm_whose_weight_has_vanished_is_played_again():
    policy = DiscountedUCB(discount=0.5)
    learner = Learner(policy, pricing()[0], seed=0)
    for arm in range(12):
        learner.update(arm, 0.5)
    learner.update([11] * 700, [1.0] * 700)  # 0.5**700 is less than 1e-200
    assert learner.select() == 0
    again = Learner.restore(policy, learner.model, json.loads(json.dumps(learner.state())))
    assert again.select() == 0


def test_explore_then_commit_uses_only_the_first_rewards():
    learner = Learner(ExploreThenCommit(plays=2), pricing()[0], seed=0)
    learner.update([3, 3], [0.9, 0.9])
    learner.update([3] * 5, [0.0] * 5)  # late: not part of the exploration
    assert learner.explain().reason == "exploring: 2 of 24 plays made"
    assert learner.explain().arms[3].pulls == 2
    for arm in range(12):
        if arm != 3:
            learner.update([arm, arm], [0.5, 0.6])
    assert learner.select() == 3
    assert learner.explain().reason == "committed to the largest mean of the exploration"
