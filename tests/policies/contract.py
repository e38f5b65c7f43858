"""What holds for every policy, as checks that the rooms' tests run on their own policies."""

import copy
import json
from functools import cache

import numpy as np
import pytest

from globalbandits.compiling.engine import Engine
from globalbandits.errors import PolicyError, StateError
from globalbandits.model import RewardModel
from globalbandits.policies import Learner, Policy
from globalbandits.statistics import no_statistics
from tests.policies.families import beta_reward
from tests.simulation.worlds import assert_same_bits, records_of

EDGES = {
    "one arm": RewardModel(lambda theta, x: 0.2 + 0.5 * theta * x, [1.0]),
    "vanishing slopes": RewardModel.from_functions(
        [lambda t: 1 - t**0.5, lambda t: 0.8 * t, lambda t: t**2], arms=[0.3, 0.6, 0.9]
    ),
}


def play(learner, n, seed=0, theta=0.4):
    """Rewards of the arms the learner selects."""
    means = learner.model.means(theta)
    arms = []
    for u in np.random.default_rng(seed).random(n):
        arms.append(learner.select())
        learner.update(arms[-1], float(beta_reward(means[arms[-1]], u)))
    return arms


def observe(learner, n, seed=0):
    """Rewards of arms drawn at random."""
    rng = np.random.default_rng(seed)
    data = [(int(rng.integers(learner.model.n_arms)), float(rng.random())) for _ in range(n)]
    for arm, reward in data:
        learner.update(arm, reward)
    return data


def leaves(state, prefix=""):
    """All arrays of a nested state by name."""
    for name, field in zip(state._fields, state, strict=True):
        if hasattr(field, "_fields"):
            yield from leaves(field, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", field


def assert_same_state(one, other, ignored=(), **tolerance):
    """Equal arrays, except those that are caches."""
    for (name, mine), (_, theirs) in zip(leaves(one), leaves(other), strict=True):
        if not name.startswith(tuple(ignored)):
            np.testing.assert_allclose(mine, theirs, err_msg=name, **tolerance)


def choices(learner, n=10):
    """What the learner would select with other generators."""
    return [
        learner._rules.select(
            learner._setup, learner._stats, learner._state, np.random.default_rng(seed)
        )
        for seed in range(n)
    ]


def assert_same_knowledge(one, other):
    """Same statistics up to rounding, same estimate, same next choices."""
    assert one.pulls.tolist() == other.pulls.tolist()
    np.testing.assert_allclose(one.means, other.means, atol=1e-9)
    if other.estimate is None:
        assert one.estimate is None
    else:
        assert one.estimate == pytest.approx(other.estimate, abs=1e-6)
    assert choices(one) == choices(other)


def check_spec(policy):
    """Equal after a dict and JSON."""
    assert Policy.from_dict(json.loads(json.dumps(policy.to_dict()))) == policy


def check_select_changes_nothing(policy, model):
    learner = Learner(policy, model, seed=1)
    for n in (0, 1, 15, 40):
        play(learner, n, seed=n)
        before = copy.deepcopy((learner._state, learner._stats))
        for _ in range(3):
            assert 0 <= learner.select() < model.n_arms
        assert_same_state(learner._state, before[0], rtol=0)
        assert_same_state(learner._stats, before[1], rtol=0)


def check_restored(policy, model, n=60, n_more=40):
    """A restored learner resumes bit for bit, and so does one that is restored again."""
    learner = Learner(policy, model, seed=2)
    play(learner, n)
    restored = Learner.restore(policy, model, json.loads(json.dumps(learner.state())))
    assert play(learner, n_more, seed=5) == play(restored, n_more, seed=5)
    assert learner.estimate == restored.estimate
    mine, theirs = learner.state(), restored.state()
    for key in ("statistics", "kept", "generator"):
        assert mine[key] == theirs[key]


@cache
def _saved_state(policy, model):
    learner = Learner(policy, model, seed=2)
    play(learner, 60)
    return json.dumps(learner.state())


def check_edited(policy, model, edit, message="kept must be fields that these statistics"):
    """A state with a changed field is refused."""
    state = json.loads(_saved_state(policy, model))
    edit(state["kept"])
    with pytest.raises(StateError, match=message):
        Learner.restore(policy, model, state)


def check_rebuilt(policy, model, ignored=(), **tolerance):
    """`rebuild` gives the state that rewards have led to, whatever it starts from."""
    rules, learner = policy.rules, Learner(policy, model, seed=3)
    setup, fresh = learner._setup, policy.rules.init(learner._setup)
    spoiled = policy.rules.init(setup)
    for n in (0, 1, 5, 30, 200):
        observe(learner, n, seed=n)
        rules.rebuild(setup, learner._stats, fresh)
        assert_same_state(learner._state, fresh, ignored, **tolerance)
        for _, array in leaves(spoiled):
            array[...] = np.nan if array.dtype.kind == "f" else 987_654_321
        rules.rebuild(setup, learner._stats, spoiled)
        assert_same_state(spoiled, fresh, ignored, rtol=0)
    rules.rebuild(setup, no_statistics(model.n_arms), spoiled)
    assert_same_state(spoiled, rules.init(setup), ignored, rtol=0)


def check_forgotten(policy, model):
    """What is forgotten leaves no trace."""
    kept, changed = Learner(policy, model, seed=5), Learner(policy, model, seed=5)
    observe(kept, 70)
    data = observe(changed, 70)
    for arm, reward in observe(changed, 9, seed=8):
        changed.forget(arm, reward)
    assert_same_knowledge(changed, kept)
    for arm, reward in data:
        changed.forget(arm, reward)
    assert_same_knowledge(changed, Learner(policy, model, seed=5))


def check_merged(policy, model):
    """Merged learners equal one learner of all rewards."""
    parts = [Learner(policy, model, seed=4) for _ in range(2)]
    whole = Learner(policy, model, seed=4)
    for seed, part in enumerate(parts):
        for arm, reward in observe(part, 70, seed=seed):
            whole.update(arm, reward)
    assert_same_knowledge(parts[0].merge(parts[1]), whole)


def check_refuses_to_forget(policy, model):
    learner = Learner(policy, model, seed=0)
    learner.update(0, 0.5)
    with pytest.raises(PolicyError, match="cannot forget: the order of rewards matters to it, or"):
        learner.forget(0, 0.5)
    with pytest.raises(PolicyError, match="cannot be merged: the order of rewards matters to it"):
        learner.merge(Learner(policy, model, seed=1))


def check_extremes(policy, edge, reward):
    """Rewards at the ends of their range break nothing."""
    learner = Learner(policy, EDGES[edge], seed=6)
    for _ in range(40):
        learner.update(learner.select(), reward)
    for name, values in leaves(learner._state):
        assert not np.isnan(values).any(), name


def check_reasons(policy, model):
    """A reason is given at every stage."""
    learner = Learner(policy, model, seed=3)
    reasons = {learner.explain().reason}
    for _ in range(4):
        play(learner, 12)
        reasons.add(learner.explain().reason)
    assert all(len(reason) >= 10 for reason in reasons)


def check_same_bits(policy, env, horizon):
    """Compiled and interpreted loops record the same bits."""
    engine = Engine()
    compiled = records_of(env, [policy], horizon, engine=engine)
    assert not engine.slow
    plain = records_of(env, [policy], horizon, engine=Engine(interpreted=True))
    assert_same_bits(compiled, plain)
