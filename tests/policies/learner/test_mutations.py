"""Saved states under mutation: a StateError, or a learner that decides as before."""

import copy
import json
import os
import random

import numpy as np
import pytest

import globalbandits as gb
from tests.policies.families import model_of

N_MUTATIONS = int(os.environ.get("GLOBALBANDITS_FUZZ", "0")) or 250  # for each policy
POLICIES = [
    gb.WAGP(),
    gb.UCB1(),
    gb.NonStationaryWAGP(half_window=10),
    gb.SlidingWindowUCB(window=20),
    gb.OFUL(),
    gb.GridThompson(cells=40),
    gb.Elastic(),
]
VALUES = [
    None, True, False, 0, 1, -1, 2, 7, 10**12, 2**63, 10**400, 0.0, -0.0, 0.5, 1.5, -3.25, 1e308,
    float("nan"), float("inf"), float("-inf"), "", "nan", "inf", "x", [], [1], [[]], {}, {"a": 1},
]  # fmt: skip


def deep():
    value = []
    for _ in range(3_000):
        value = [value]
    return value


def places(value, path=()):
    """Every place of a nested value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if isinstance(item, (dict, list)):
            yield from places(item, (*path, key))
        else:
            yield (*path, key)


def mutated(state, chosen, rng):
    changed = copy.deepcopy(state)
    for path in chosen:
        *parents, last = path
        place = changed
        try:
            for key in parents:
                place = place[key]
            kind = rng.randrange(5)
            if kind == 0 and isinstance(place, dict):
                del place[last]
            elif kind == 1 and isinstance(place, list):
                place.append(copy.deepcopy(rng.choice(VALUES)))
            elif kind == 2 and isinstance(place[last], (int, float)):
                place[last] += rng.choice([1, -1, 1e-3, 1e-12])
            else:
                place[last] = deep() if rng.random() < 0.01 else rng.choice(VALUES)
        except (KeyError, IndexError, TypeError, OverflowError):
            continue  # an earlier change has removed the place
    return changed


def decisions(learner):
    """What a learner would do, with its own generator and with others."""
    rules, setup, stats, state = learner.parts
    with np.errstate(all="ignore"):
        others = [
            int(rules.select(setup, stats, state, np.random.default_rng(seed))) for seed in range(5)
        ]
    return others


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.kind)
def test_no_mutation_is_a_raw_exception_or_changes_a_decision(policy):
    model = model_of("linear")
    learner = gb.Learner(policy, model, seed=1)
    data = np.random.default_rng(2)
    for _ in range(45):
        learner.update(learner.select(), float(data.random()))
    state = json.loads(json.dumps(learner.state()))
    expected, counts = decisions(learner), learner.pulls.tolist()
    every = [path for path in places(state) if path]
    rng = random.Random(3)
    accepted = 0
    slow = isinstance(policy, gb.Elastic)  # it fits anew each time
    for _ in range(N_MUTATIONS // 10 if slow else N_MUTATIONS):
        changed = mutated(state, rng.sample(every, rng.choice([1, 1, 2])), rng)
        try:
            restored = gb.Learner.restore(policy, model, changed)
        except gb.StateError:
            continue
        accepted += 1
        if restored.pulls.tolist() == counts and changed["kept"] == state["kept"]:
            assert decisions(restored) == expected
        assert all(0 <= arm < model.n_arms for arm in decisions(restored))
    assert accepted < N_MUTATIONS // 2
