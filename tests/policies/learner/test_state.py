"""Saved states: exact through JSON; refused if damaged or of another model or policy."""

import copy
import json

import numpy as np
import pytest

import globalbandits as gb
from globalbandits._plain_data import (
    decode_tuple,
    encode_tuple,
)
from globalbandits.errors import PolicyError, StateError
from globalbandits.model import RewardModel
from globalbandits.policies import UCB1, WAGP, Elastic, Learner, UncertaintyEllipsoid
from globalbandits.policies.shared.index import init_widths
from globalbandits.testing.subject import plain_state
from tests.policies.families import model_of
from tests.policies.learner.test_learner import POLICIES, play


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.kind)
def test_restored_learners_resume_bit_for_bit(policy):
    model = model_of("pricing")
    learner = Learner(policy, model, seed=1)
    play(learner, 777)
    text = json.dumps(learner.state(), allow_nan=False)
    restored = Learner.restore(policy, model, json.loads(text))
    assert restored.state() == learner.state()
    assert play(restored, 10_000, seed=2) == play(learner, 10_000, seed=2)
    assert plain_state(restored) == plain_state(learner)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.kind)
def test_a_new_learner_can_be_saved_too(policy):
    model = model_of("pricing")
    learner = Learner(policy, model, seed=1)
    restored = Learner.restore(policy, model, json.loads(json.dumps(learner.state())))
    assert play(restored, 50) == play(learner, 50)


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_every_generator_of_numpy_survives(kind):
    rng = np.random.Generator(getattr(np.random, kind)(5))
    rng.integers(10, size=3, dtype=np.int32)  # leaves one half of a 64-bit draw in the generator
    learner = Learner(WAGP(), model_of("pricing"), seed=rng)
    restored = Learner.restore(WAGP(), model_of("pricing"), json.loads(json.dumps(learner.state())))
    assert [restored.select() for _ in range(50)] == [learner.select() for _ in range(50)]
    assert restored._rng.integers(1000, dtype=np.int32) == rng.integers(1000, dtype=np.int32)


def test_the_state_names_format_version_policy_and_model():
    model = model_of("pricing")
    state = Learner(WAGP(), model, seed=0).state()
    assert (state["format"], state["version"]) == ("globalbandits.learner", 2)
    assert state["policy"] == {"policy": "wagp"}
    assert state["model"]["arms"] == list(model.arms)
    assert model.same_observed(state["model"]["observed"])
    assert state["generator"]["bit_generator"] == "PCG64"


def test_a_state_is_a_copy():
    learner = Learner(WAGP(), model_of("pricing"), seed=0)
    state = learner.state()
    learner.update(0, 0.5)
    assert state["statistics"]["counts"] == [0] * 12
    before = copy.deepcopy(state)
    restored = Learner.restore(WAGP(), model_of("pricing"), state)
    restored.update(0, 0.5)
    assert state == before


def test_a_state_of_another_model_or_policy_is_refused():
    state = Learner(WAGP(), model_of("pricing"), seed=0).state()
    with pytest.raises(StateError, match="state must be of a model with the arms"):
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
    (put(["version"], 1), "state must have version 2, got 1: states of other versions cannot"),
    (put(["version"], 2.0), r"state must have version 2, got 2\.0"),
    (put(["kept"], DELETE), r"state must have the keys .*, got missing \['kept'\] and extra"),
    (put(["more"], 1), r"state must have the keys .* and extra \['more'\]"),
    (put(["policy"], "wagp"), "policy must be a dict, got 'wagp'"),
    (put(["policy"], {"policy": "old"}), "policy must be a known spec, got {'policy': 'old'}: "),
    (put(["policy"], {"policy": []}), r"policy must be a known spec, got {'policy': \[\]}"),
    (put(["model"], None), "model must be a dict, got None"),
    (put(["model", "arms"], 3), "model must have a list of arms and their samples, got"),
    (put(["model", "arms", 0], 0.41), "state must be of a model with the arms .*, got"),
    (
        put(["model", "observed", "means", 0, 5], 0.9),
        "state must be of a model with the same curves",
    ),
    (put(["generator"], 5), "generator must be the state of one of PCG64, .*, got 5"),
    (put(["generator", "bit_generator"], "Dice"), "generator must be the state of one of PCG64"),
    (put(["generator", "bit_generator"], []), "generator must be the state of one of PCG64"),
    (put(["generator", "state"], {}), "generator must be a state of PCG64, got"),
    (put(["generator", "state"], "x"), "generator must be a state of PCG64, got"),
    (put(["generator", "state", "state"], "x"), "generator must be a state of PCG64, got"),
    (put(["generator", "state", "state"], 10**5000), "generator must be a state of PCG64, got"),
    (put(["generator", "more"], 1), "generator must be a state of PCG64, got"),
    (put(["statistics"], []), r"statistics must be a dict, got \[\]"),
    (put(["statistics", "sums"], DELETE), "statistics must have the keys counts, sums, squares,"),
    (put(["statistics", "counts", 0], -1), "statistics must be counts and sums that rewards in"),
    (put(["statistics", "sums", 0], 99.0), "statistics must be counts and sums that rewards in"),
    (put(["statistics", "squares", 3], 0.2), "statistics must be counts and sums that rewards in"),
    (put(["statistics", "total", 0], 7), "statistics must be counts and sums that rewards in"),
    (put(["statistics", "sums", 3], float("nan")), "statistics.sums must hold finite numbers, got"),
    (put(["statistics", "sums", 3], float("inf")), "statistics.sums must hold finite numbers, got"),
    (put(["statistics", "sums", 3], "0.5"), "statistics.sums must hold finite numbers, got '0.5'"),
    (put(["statistics", "sums", 3], True), "statistics.sums must hold finite numbers, got True"),
    (put(["statistics", "sums", 3], None), "statistics.sums must hold finite numbers, got None"),
    (put(["statistics", "sums", 3], 10**400), "statistics.sums must hold finite numbers, got 100"),
    (
        put(["statistics", "sums"], [0.0]),
        "statistics.sums must be a list of 12 entries, got a list",
    ),
    (put(["statistics", "sums"], 3), "statistics.sums must be a list of 12 entries, got 3"),
    (put(["statistics", "counts", 3], 1.0), "statistics.counts must hold 64-bit integers, got 1.0"),
    (
        put(["statistics", "counts", 3], 2**63),
        "statistics.counts must hold 64-bit integers, got 92",
    ),
    (put(["kept"], {"choice": [3]}), r"kept must have the keys , got missing \[\] and extra"),
    (put(["evidence"], None), "evidence must be a dict, got None"),
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
def test_arguments_that_are_no_state_are_refused(state):
    with pytest.raises(StateError, match="state must be a dict with format"):
        Learner.restore(WAGP(), model_of("pricing"), state)


def test_infinities_of_a_policys_own_survive_json():
    """A policy may keep an infinite index; JSON has no such number."""
    state = init_widths(WAGP().setup(model_of("linear")))
    state.widths[:3] = [np.inf, -np.inf, np.nan]
    text = json.dumps(encode_tuple(state), allow_nan=False)
    back = decode_tuple("state", json.loads(text), state)
    np.testing.assert_array_equal(back.widths, state.widths)


def test_the_same_formula_in_another_form_is_the_same_model():
    one = RewardModel(lambda t, q: q * (1 - q * t), [0.4, 0.6, 0.8])
    other = RewardModel(lambda t, q: q - q * q * t, [0.4, 0.6, 0.8])
    learner = Learner(WAGP(), one, seed=0)
    learner.update([0, 1, 2], [0.3, 0.4, 0.2])
    assert Learner.restore(WAGP(), other, learner.state()).n_observations == 3


def shop(prices, cost):
    return gb.demand.exponential(prices, cost=cost, domain=(0.0, 1.0))


def sold(learner, n=60):
    rng = np.random.default_rng(3)
    for _ in range(n):
        learner.update(int(rng.integers(learner.model.n_arms)), float(rng.random() < 0.4))
    return learner


def test_another_cost_keeps_the_data_and_changes_the_choice():
    prices = [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    learner = sold(Learner(WAGP(), shop(prices, 0.5), seed=1))
    dearer = learner.with_model(shop(prices, 4.0))
    assert dearer.pulls.tolist() == learner.pulls.tolist()
    assert dearer.estimate == pytest.approx(learner.estimate)
    assert dearer.interval() == learner.interval()
    assert dearer.select() > learner.select()
    restored = Learner.restore(WAGP(), shop(prices, 4.0), learner.state())
    assert restored.select() == dearer.select()


def test_another_policy_keeps_the_data():
    learner = sold(Learner(WAGP(), shop([2.0, 4.0, 6.0], 1.0), seed=1))
    other = learner.with_policy(Elastic())
    assert other.policy == Elastic()
    plain = sold(Learner(Elastic(), learner.model, seed=1))
    assert other.estimate == pytest.approx(plain.estimate, abs=0.02)
    assert other.evidence.state() == learner.evidence.state()
    back = other.with_policy(WAGP())
    assert back.estimate == learner.estimate
    # The rewards are the same ones: a merge does not count them twice.
    assert learner.merge(back).n_observations == 60


def test_a_new_price_keeps_the_data_of_the_others():
    learner = sold(Learner(WAGP(), shop([2.0, 4.0, 6.0], 1.0), seed=1))
    wider = learner.with_model(shop([1.0, 2.0, 4.0, 5.0, 6.0], 1.0))
    pulls = learner.pulls.tolist()
    assert wider.pulls.tolist() == [0, pulls[0], pulls[1], 0, pulls[2]]
    assert wider.estimate == pytest.approx(learner.estimate)
    assert wider.interval().low == pytest.approx(learner.interval().low)
    assert (
        Learner.restore(WAGP(), wider.model, wider.state()).pulls.tolist() == wider.pulls.tolist()
    )


def test_data_that_would_be_lost_or_mean_something_else_is_refused():
    learner = sold(Learner(WAGP(), shop([2.0, 4.0, 6.0], 1.0), seed=1))
    with pytest.raises(
        StateError, match=r"must keep the arms that have rewards, got one without \[4"
    ):
        learner.with_model(shop([2.0, 6.0], 1.0))
    other = gb.demand.exponential([2.0, 4.0, 6.0], cost=1.0, domain=(0.0, 2.0))
    with pytest.raises(StateError, match="must have the same domain and reward range and the same"):
        learner.with_model(other)
    with pytest.raises(PolicyError, match="cannot take over rewards: their order matters to it"):
        learner.with_policy(gb.SlidingWindowUCB(window=10))
