"""`Hold`: one arm for many decisions, a budget of changes, markdowns, and today's price first."""

import json

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.compiling.engine import Engine
from globalbandits.errors import PolicyError
from globalbandits.testing import check_policy
from tests.policies.families import model_of
from tests.simulation.worlds import assert_same_bits, pricing, records_of

MODEL = model_of("pricing")
INNER = gb.GridThompson(cells=60)  # its choice changes with every draw


def play(policy, n, seed=3, theta=0.4):
    """The arms of some decisions with Bernoulli rewards, and the learner."""
    learner = gb.Learner(policy, MODEL, seed=seed)
    means, rng = MODEL.means(theta), np.random.default_rng(seed)
    arms = []
    for _ in range(n):
        arm = learner.select()
        learner.update(arm, float(rng.random() < means[arm]))
        arms.append(arm)
    return arms, learner


def changes_of(arms):
    return [at for at in range(1, len(arms)) if arms[at] != arms[at - 1]]


def test_an_arm_is_held_for_a_period():
    arms, _ = play(gb.Hold(INNER, every=7), 70)
    changes = changes_of(arms)
    assert all(at % 7 == 0 for at in changes)
    assert len(changes) >= 5


def test_the_choice_at_the_end_of_a_period_is_the_inner_policy_s():
    held = gb.Learner(gb.Hold(gb.WAGP(), every=5, start=2), MODEL, seed=1)
    free = gb.Learner(gb.WAGP(), MODEL, seed=1)
    rng = np.random.default_rng(1)
    for number in range(40):
        arm = held.select()
        if number == 0:
            assert arm == 2
        elif number % 5 == 0:
            assert arm == free.select()
        reward = float(rng.random() < MODEL.means(0.4)[arm])
        held.update(arm, reward)
        free.update(arm, reward)
    assert held.estimate == free.estimate


def test_a_budget_of_changes_lasts():
    arms, learner = play(gb.Hold(INNER, every=4, most_changes=3), 200)
    changes = changes_of(arms)
    assert len(changes) == 3
    # Change k comes after every * 2**(k - 1) decisions at the earliest.
    assert all(at >= 4 * 2**k and at % 4 == 0 for k, at in enumerate(changes))
    assert "all 3 change(s) are used" in str(learner.explain()) or learner.admissible() == [
        arms[-1]
    ]
    assert len(changes_of(play(gb.Hold(INNER, most_changes=0), 20)[0])) == 0


def test_markdowns_only_go_down_and_start_at_the_top():
    arms, _ = play(gb.Hold(INNER, every=3, only_down=True), 120)
    assert arms[0] == MODEL.n_arms - 1
    assert (np.diff(arms) <= 0).all()
    assert arms[-1] < arms[0]
    started, _ = play(gb.Hold(INNER, only_down=True, start=4), 40)
    assert started[0] == 4


def test_explain_states_why_an_arm_is_held():
    learner = gb.Learner(gb.Hold(gb.FixedArm(5), every=10, start=2), MODEL, seed=1)
    assert "the first decision is for arm 2" in str(learner.explain())
    learner.select()
    explained = learner.explain()
    assert "moved from arm 5: arm 2 is held until decision 11, this is 2" in str(explained)
    assert explained.details["next_change"] == 11
    down = gb.Learner(gb.Hold(gb.FixedArm(5), only_down=True, start=2), MODEL, seed=1)
    down.select()
    assert "only arms below arm 2 may follow" in str(down.explain())


def test_an_arm_that_cannot_be_played_is_replaced():
    learner = gb.Learner(gb.Hold(gb.FixedArm(5), every=10, start=2), MODEL, seed=1)
    assert learner.select(allowed=[0, 2, 5]) == 2
    assert learner.select(allowed=[0, 2, 5]) == 2
    assert learner.select(allowed=[0, 5]) == 5
    assert learner.explain().details["changes"] == 1
    assert learner.select(allowed=[0, 2, 5]) == 5
    down = gb.Learner(gb.Hold(gb.FixedArm(5), only_down=True, start=4), MODEL, seed=1)
    assert [down.select(allowed=[1, 3, 4, 5]), down.select(allowed=[1, 3, 5])] == [4, 3]
    assert [down.select(), down.select(allowed=[5, 6])] == [3, 5]


def test_saved_forgotten_and_moved_to_other_arms():
    policy = gb.Hold(gb.WAGP(), every=6)
    _, learner = play(policy, 15)
    state = json.loads(json.dumps(learner.state()))
    assert "record" not in state  # decisions do not fill the state of a busy shop
    twin = gb.Learner.restore(policy, MODEL, state)
    assert [twin.select() for _ in range(9)] == [learner.select() for _ in range(9)]
    held = learner.explain().details["held"]
    learner.update(held, 1.0)
    learner.forget(held, 1.0)
    assert learner.explain().details["held"] == held
    more = gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.1, *MODEL.arms])
    grown = learner.with_model(more)
    assert grown.explain().details["held"] == held + 1
    assert grown.explain().details["decisions"] == 24
    state["kept"]["changes"] = [99]
    with pytest.raises(gb.StateError, match="kept must be fields"):
        gb.Learner.restore(policy, MODEL, state)


SEGMENTS = gb.RewardModel(
    "expit(2 + context - arm*theta)",
    [1.0, 2.0, 3.0],
    (0.5, 3.0),
    contexts={"weekday": 0.0, "weekend": 1.0},
    value="arm * mean",
)


def test_each_context_holds_an_arm_of_its_own():
    policy = gb.Hold(gb.ThompsonSampling(), every=5)
    learner, rng = gb.Learner(policy, SEGMENTS, seed=1, compiled=False), np.random.default_rng(0)
    played = {name: [] for name in SEGMENTS.contexts}
    for _ in range(100):
        name = SEGMENTS.contexts[int(rng.random() < 0.3)]
        arm = learner.select(context=name)
        learner.update(arm, float(rng.random() < 0.4), context=name)
        played[name].append(arm)
    for arms in played.values():
        periods = [set(arms[start : start + 5]) for start in range(0, len(arms), 5)]
        assert all(len(period) == 1 for period in periods)
        assert len(set.union(*periods)) > 1
    details = learner.explain(context="weekend").details
    assert details["held"] == [arms[-1] for arms in played.values()]
    assert details["decisions"] == [len(arms) for arms in played.values()]
    # An arm that cannot be played is left, in its context only.
    held = played["weekday"][-1]
    other = learner.select(context="weekday", allowed=[arm for arm in range(3) if arm != held])
    assert other != held
    assert learner.explain(context="weekend").details["held"] == [other, played["weekend"][-1]]
    # Saved, with another arm, and with an impossible state.
    state = json.loads(json.dumps(learner.state()))
    again = gb.Learner.restore(policy, SEGMENTS, state, compiled=False)
    assert again.explain(context="weekday").details == learner.explain(context="weekday").details
    description = SEGMENTS.to_dict() | {"arms": [0.5, 1.0, 2.0, 3.0]}
    grown = learner.with_model(gb.RewardModel.from_dict(description))
    found = grown.explain(context="weekday").details
    assert found["held"] == [arm + 1 for arm in learner.explain(context="weekday").details["held"]]
    state["kept"]["arm"] = state["kept"]["arm"][::-1]
    with pytest.raises(gb.StateError, match="kept must be fields"):
        gb.Learner.restore(policy, SEGMENTS, state)


def test_each_context_has_its_own_start_and_markdowns():
    policy = gb.Hold(gb.UCB1(), only_down=True)
    learner, rng = gb.Learner(policy, SEGMENTS, seed=1, compiled=False), np.random.default_rng(1)
    for name in SEGMENTS.contexts:
        arms = []
        for _ in range(20):
            arms.append(learner.select(context=name))
            learner.update(arms[-1], float(rng.random() < 0.4), context=name)
        assert arms[0] == 2
        assert (np.diff(arms) <= 0).all()


def test_compiled_and_plain_simulations_give_the_same_bits():
    policies = [gb.Hold(gb.WAGP(), every=8, most_changes=4, start=3)]
    options = {"runs": 2, "batch": 1}
    compiled = records_of(pricing(), policies, 100, **options)
    plain = records_of(pricing(), policies, 100, engine=Engine(interpreted=True), **options)
    assert_same_bits(compiled, plain)
    assert (compiled.pulls[0, :, 3] >= 8).all()


def test_the_contract_of_policies():
    check_policy(gb.Hold(gb.WAGP(), every=7, start=1))


WRONG = [
    (lambda: gb.Hold(gb.WAGP(), every=0), "every must be at least 1, got 0"),
    (lambda: gb.Hold(gb.WAGP(), most_changes=-1), "most_changes must be at least 0, got -1"),
    (lambda: gb.Hold(gb.WAGP(), only_down=1), "only_down must be True or False, got 1"),
    (lambda: gb.Hold("wagp"), "inner must be a policy, got 'wagp'"),
    (lambda: gb.Hold(gb.Limited()), "inner must be a policy without limits"),
    (lambda: gb.Hold(start=12).setup(MODEL), "start must be at most 11, the last arm, got 12"),
    (
        lambda: gb.Hold(only_down=True).setup(gb.demand.linear_power([0.8, 0.4])),
        "the model's arms must be numbers in increasing order for only_down",
    ),
]


@pytest.mark.parametrize(("make", "text"), WRONG, ids=[text for _, text in WRONG])
def test_bad_input(make, text):
    with pytest.raises(PolicyError, match=text):
        make()
