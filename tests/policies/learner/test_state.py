"""Saved states: exact through JSON, and refused when they belong elsewhere or are damaged."""

import copy
import json

import numpy as np
import pytest

from globalbandits.errors import StateError
from globalbandits.policies import UCB1, WAGP, Learner, UncertaintyEllipsoid
from globalbandits.policies.snapshot import decode_arrays, encode_arrays
from globalbandits.policies.ucb1 import init
from tests.policies.families import model_of
from tests.policies.test_learner import POLICIES, play


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.kind)
def test_restored_learners_go_on_bit_for_bit(policy):
    model = model_of("pricing")
    learner = Learner(policy, model, seed=1)
    play(learner, 777)
    text = json.dumps(learner.state(), allow_nan=False)
    restored = Learner.restore(policy, model, json.loads(text))
    assert restored.state() == learner.state()
    assert play(restored, 10_000, seed=2) == play(learner, 10_000, seed=2)
    assert json.dumps(restored.state()) == json.dumps(learner.state())


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.kind)
def test_a_new_learner_can_be_saved_too(policy):
    model = model_of("pricing")
    learner = Learner(policy, model, seed=1)
    restored = Learner.restore(policy, model, json.loads(json.dumps(learner.state())))
    assert play(restored, 50) == play(learner, 50)


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_every_generator_of_numpy_survives(kind):
    rng = np.random.Generator(getattr(np.random, kind)(5))
    rng.integers(10, size=3, dtype=np.int32)  # leaves half a word behind
    learner = Learner(WAGP(), model_of("pricing"), seed=rng)
    restored = Learner.restore(WAGP(), model_of("pricing"), json.loads(json.dumps(learner.state())))
    assert [restored.select() for _ in range(50)] == [learner.select() for _ in range(50)]
    assert restored._rng.integers(1000, dtype=np.int32) == rng.integers(1000, dtype=np.int32)


def test_the_state_names_format_version_policy_and_model():
    model = model_of("pricing")
    state = Learner(WAGP(), model, seed=0).state()
    assert (state["format"], state["version"]) == ("globalbandits.learner", 1)
    assert state["policy"] == {"policy": "wagp"}
    assert state["model"] == model.fingerprint
    assert state["generator"]["bit_generator"] == "PCG64"


def test_a_state_is_a_copy():
    learner = Learner(WAGP(), model_of("pricing"), seed=0)
    state = learner.state()
    learner.update(0, 0.5)
    assert state["observations"]["counts"] == [0] * 12
    restored = Learner.restore(WAGP(), model_of("pricing"), state)
    restored.update(0, 0.5)
    assert state == Learner(WAGP(), model_of("pricing"), seed=0).state()


def test_a_state_of_another_model_or_policy_is_refused():
    state = Learner(WAGP(), model_of("pricing"), seed=0).state()
    with pytest.raises(StateError, match=r"state must be of the model with fingerprint .* got '"):
        Learner.restore(WAGP(), model_of("linear"), state)
    with pytest.raises(StateError, match=r"state must be of UCB1\(\), got one of WAGP\(\)"):
        Learner.restore(UCB1(), model_of("pricing"), state)
    ellipsoid = Learner(UncertaintyEllipsoid(), model_of("pricing"), seed=0).state()
    with pytest.raises(StateError, match=r"got one of UncertaintyEllipsoid\(features=None"):
        Learner.restore(UncertaintyEllipsoid(scale=0.5), model_of("pricing"), ellipsoid)


def put(path, value):
    """A change to a state: set the entry at the path, or delete it."""

    def change(state):
        *parents, last = path
        for key in parents:
            state = state[key]
        if value is DELETE:
            del state[last]
        else:
            state[last] = value

    return change


DELETE = object()
DAMAGES = [
    (put(["format"], "zip"), "state must be a dict with format 'globalbandits.learner', got 'zip'"),
    (put(["format"], DELETE), "with format 'globalbandits.learner', got None"),
    (put(["version"], 2), "state must have version 1, got 2"),
    (put(["arrays"], DELETE), r"state must have the keys .*, got missing \['arrays'\] and extra"),
    (put(["more"], 1), r"state must have the keys .* and extra \['more'\]"),
    (put(["policy"], "wagp"), "policy must be a dict, got 'wagp'"),
    (put(["policy"], {"policy": "old"}), "policy must be a known spec, got {'policy': 'old'}: pol"),
    (put(["model"], None), "state must be of the model with fingerprint .*, got None"),
    (put(["generator"], 5), "generator must be the state of one of PCG64, .*, got 5"),
    (put(["generator", "bit_generator"], "Dice"), "generator must be the state of one of PCG64"),
    (put(["generator", "state"], {}), "generator must be a state of PCG64, got"),
    (put(["generator", "state"], "x"), "generator must be a state of PCG64, got"),
    (put(["generator", "state", "state"], "x"), "generator must be a state of PCG64, got"),
    (put(["observations"], []), r"observations must be a dict, got \[\]"),
    (put(["observations", "sums"], DELETE), r"observations must have the keys counts, sums, got"),
    (put(["observations", "counts", 0], -1), "observations must have counts of at least 0 and"),
    (put(["observations", "sums", 0], 99.0), "observations must have counts of at least 0 and"),
    (put(["arrays", "thetas"], DELETE), r"arrays must have the keys counts, .*\['thetas'\]"),
    (put(["arrays", "thetas"], 3), "arrays.thetas must be a list, got 3"),
    (put(["arrays", "thetas"], [0.0]), r"arrays.thetas must have the shape \(12,\), got \(1,\)"),
    (put(["arrays", "sums", 3], float("nan")), "arrays.sums must hold finite numbers, got nan"),
    (put(["arrays", "sums", 3], float("inf")), "arrays.sums must hold finite numbers, got inf"),
    (put(["arrays", "sums", 3], "0.5"), "arrays.sums must hold finite numbers, got '0.5'"),
    (put(["arrays", "sums", 3], True), "arrays.sums must hold finite numbers, got True"),
    (put(["arrays", "sums", 3], None), "arrays.sums must hold finite numbers, got None"),
    (put(["arrays", "counts", 3], 1.0), "arrays.counts must hold 64-bit integers, got 1.0"),
    (put(["arrays", "counts", 3], 2**63), "arrays.counts must hold 64-bit integers, got 92"),
    (put(["arrays", "counts", 3], 7), "arrays.counts must be those of the observations, got"),
    (put(["arrays", "sums", 3], 0.01), "arrays.sums must be those of the observations, got"),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGES, ids=[text[:50] for _, text in DAMAGES])
def test_a_damaged_state_is_refused(damage, message):
    learner = Learner(WAGP(), model_of("pricing"), seed=0)
    play(learner, 40)
    learner.update(3, 0.5)
    state = copy.deepcopy(learner.state())
    damage(state)
    with pytest.raises(StateError, match=message):
        Learner.restore(WAGP(), model_of("pricing"), state)


@pytest.mark.parametrize("state", [None, [], "state", 7])
def test_what_is_no_state_is_refused(state):
    with pytest.raises(StateError, match="state must be a dict with format"):
        Learner.restore(WAGP(), model_of("pricing"), state)


def test_infinities_of_a_policys_own_survive_json():
    """A policy may keep an infinite index; JSON has no such number."""
    state = init(WAGP().setup(model_of("linear")))
    state.widths[:3] = [np.inf, -np.inf, np.nan]
    text = json.dumps(encode_arrays(state), allow_nan=False)
    back = decode_arrays("arrays", json.loads(text), state)
    np.testing.assert_array_equal(back.widths, state.widths)
