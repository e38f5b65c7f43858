"""Limited: small steps, no arm skipped, a floor, a ceiling, cohorts, and what says so."""

import dataclasses
import json

import numpy as np
import pytest

import globalbandits as gb
from tests.policies import contract
from tests.simulation.worlds import pricing

DOSES = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
MODEL = gb.dose.logistic(DOSES, target=0.25)


def wish_for_last(setup, stats, state, rng):
    return setup.tables.n_arms - 1


def wish_by_total(setup, stats, state, rng):
    """Up for six rewards, then down."""
    return setup.tables.n_arms - 1 if stats.total[0] < 6 else 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Eager(gb.Policy):
    rules = gb.Uniform.rules._replace(select=wish_for_last)

    def setup(self, model):
        return gb.Uniform().setup(model)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Turning(Eager):
    rules = gb.Uniform.rules._replace(select=wish_by_total)


def arms_of(policy, n, reward=0.0, model=MODEL):
    learner = gb.Learner(policy, model, seed=0)
    arms = []
    for _ in range(n):
        arms.append(learner.select())
        learner.update(arms[-1], reward)
    return arms


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, [0, 1, 2, 3, 4, 5, 5]),
        ({"cohort": 3}, [0, 0, 0, 1, 1, 1, 2]),
        ({"largest_step": 2, "no_skipping": False}, [0, 2, 4, 5, 5, 5, 5]),
        ({"largest_step": 2}, [0, 1, 2, 3, 4, 5, 5]),
        ({"largest_step": None, "no_skipping": False}, [0, 5, 5, 5, 5, 5, 5]),
        ({"largest_step": None}, [0, 1, 2, 3, 4, 5, 5]),
        ({"start": 2, "high": 4}, [2, 3, 4, 4, 4, 4, 4]),
        ({"low": 3}, [3, 4, 5, 5, 5, 5, 5]),
    ],
)
def test_a_choice_is_moved_into_the_limits(limits, expected):
    assert arms_of(gb.Limited(Eager(), **limits), 7) == expected


def test_steps_down_are_limited_too_but_arms_may_be_skipped():
    assert arms_of(gb.Limited(Turning()), 10) == [0, 1, 2, 3, 4, 5, 4, 3, 2, 1]
    down = gb.Limited(Turning(), largest_step=3)
    assert arms_of(down, 9) == [0, 1, 2, 3, 4, 5, 2, 0, 0]
    assert arms_of(gb.Limited(Turning(), low=4), 9) == [4, 5, 5, 5, 5, 5, 4, 4, 4]


def test_a_tried_arm_may_be_passed():
    learner = gb.Learner(gb.Limited(Eager(), largest_step=4), MODEL, seed=0)
    learner.update([0, 1, 2, 3, 0], [0.0] * 5)
    assert learner.select() == 4


def test_open_decisions_do_not_move_the_limits():
    learner = gb.Learner(gb.Limited(Eager(), cohort=2), MODEL, seed=0)
    assert [learner.select() for _ in range(5)] == [0] * 5
    learner.update(0, 0.0)
    assert [learner.select() for _ in range(2)] == [0] * 2
    learner.update(0, 0.0)
    assert learner.select() == 1
    learner.update(1, 0.0)
    learner.update(0, 1.0)  # a late reward of an earlier decision: its arm is where we are
    assert learner.select() == 0


def test_rewards_of_arms_outside_bring_the_next_decision_back():
    learner = gb.Learner(gb.Limited(Eager(), high=3), MODEL, seed=0)
    learner.update(5, 0.0)
    assert learner.select() == 3


@pytest.mark.parametrize(
    ("limits", "rewards", "text"),
    [
        ({}, [], "moved from arm 5 by a limit: the first decision is for arm 0 (unlimited:"),
        ({"cohort": 3}, [0], "the cohort on arm 0 has 1 of 3 rewards"),
        ({}, [0], "at most 1 step(s) from arm 0"),
        ({"largest_step": 3}, [0], "arm 1 has no reward yet and is not skipped"),
        ({"high": 1}, [0, 1], "arm 1 is the highest"),
    ],
)
def test_explain_says_which_limit_bound(limits, rewards, text):
    learner = gb.Learner(gb.Limited(Eager(), **limits), MODEL, seed=0)
    for arm in rewards:
        learner.update(arm, 0.0)
    explanation = learner.explain()
    assert text in explanation.reason
    assert explanation.choice == learner.select()


def test_explain_says_so_downwards_and_not_where_no_limit_bound():
    learner = gb.Learner(gb.Limited(Turning()), MODEL, seed=0)
    learner.update([5] * 6, [0.0] * 6)
    assert "moved from arm 0 by a limit: at most 1 step(s) from arm 5" in learner.explain().reason
    floor = gb.Learner(gb.Limited(Turning(), low=5), MODEL, seed=0)
    floor.update([5] * 6, [0.0] * 6)
    assert "arm 5 is the lowest" in floor.explain().reason
    free = gb.Learner(gb.Limited(Eager()), MODEL, seed=0)
    free.update(5, 0.0)
    assert "limit" not in free.explain().reason
    assert free.explain().details == {"lowest": 4, "highest": 5}


def test_without_limits_it_is_the_inner_policy():
    env = gb.Environment(MODEL, theta=0.5, noise=gb.BernoulliNoise())
    limits = {"largest_step": None, "no_skipping": False}
    policies = {"free": gb.WAGP(), "limited": gb.Limited(gb.WAGP(), **limits)}
    data = gb.simulate(env, policies, 300, runs=5).dataset
    regret = data["regret"].values[:, :, -1]
    # Only the first decision differs, and what it taught.
    assert np.abs(np.diff(data["pulls"].values, axis=0)).sum(axis=-1).max() <= 4
    assert np.abs(np.diff(regret, axis=0)).max() <= 2 * MODEL.gaps(0.5).max()


def test_the_simulator_and_the_learner_take_the_same_decisions():
    policy = gb.Limited(gb.GridGreedy(likelihood="bernoulli", cells=50), cohort=3)
    contract.check_same_bits(policy, gb.Environment(MODEL, 0.5, gb.BernoulliNoise()), 40)


def test_the_contract():
    policy = gb.Limited(gb.WAGP(), cohort=3, high=3)
    contract.check_spec(policy)
    contract.check_restored(policy, pricing().model)
    contract.check_select_changes_nothing(policy, pricing().model)
    contract.check_refuses_to_forget(policy, MODEL)
    contract.check_reasons(gb.Limited(gb.UCB1()), pricing().model)


@pytest.mark.parametrize(
    ("arms", "last", "streak"),
    [([0, 1], 77, 1), ([0, 1], -1, 1), ([0, 1], 1, 0), ([0, 1], 1, 2), ([], 1, 0), ([], 0, 1)],
)
def test_a_saved_place_that_cannot_be_is_refused(arms, last, streak):
    policy = gb.Limited(gb.WAGP())
    learner = gb.Learner(policy, MODEL, seed=2)
    for arm in arms:
        learner.update(arm, 0.5)
    learner._state.last[0], learner._state.streak[0] = last, streak
    with pytest.raises(gb.StateError, match="kept must be fields that these statistics"):
        gb.Learner.restore(policy, MODEL, json.loads(json.dumps(learner.state())))


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"inner": 3}, "inner must be a policy, got 3"),
        ({"largest_step": 0}, "largest_step must be at least 1, got 0"),
        ({"no_skipping": 1}, "no_skipping must be True or False, got 1"),
        ({"cohort": 0}, "cohort must be at least 1, got 0"),
        ({"low": -1}, "low must be at least 0, got -1"),
        ({"low": 3, "high": 2}, "high must be at least low = 3, so that an arm is left, got 2"),
        ({"start": 1, "low": 2}, "start must lie between low and high, got 1"),
        ({"start": 4, "high": 2}, "start must lie between low and high, got 4"),
    ],
)
def test_limits_that_cannot_be_are_refused(limits, message):
    with pytest.raises(gb.PolicyError, match=message):
        gb.Limited(**limits)


@pytest.mark.parametrize("name", ["low", "high", "start"])
def test_limits_beyond_the_model_are_refused(name):
    with pytest.raises(gb.PolicyError, match=f"{name} must be at most 5, the last arm, got 6"):
        gb.Learner(gb.Limited(gb.WAGP(), **{name: 6}), MODEL)


def test_one_decision_may_be_restricted():
    learner = gb.Learner(Eager(), MODEL, seed=0)
    assert learner.select(allowed=[0, 3]) == 3
    assert learner.select(allowed={1}) == 1
    assert learner.select() == 5
    middle = gb.Learner(gb.Limited(Eager(), start=2), MODEL, seed=0)
    assert middle.select(allowed=[3, 1]) == 1


@pytest.mark.parametrize(
    ("allowed", "message"),
    [
        ([], r"allowed must leave at least one arm, got \[\]"),
        ([6], "allowed must be an index below 6, got 6"),
        ([0.5], "allowed must be an integer, got 0.5"),
        (3, "allowed must be indices of arms, got 3"),
    ],
)
def test_arms_that_cannot_be_allowed_are_refused(allowed, message):
    learner = gb.Learner(gb.Uniform(), MODEL, seed=0)
    before = learner.state()["generator"]
    with pytest.raises(gb.RewardError, match=message):
        learner.select(allowed=allowed)
    assert learner.state()["generator"] == before


def test_a_generator_may_be_handed_in():
    learner = gb.Learner(gb.Uniform(), MODEL, seed=0)
    before = learner.state()["generator"]
    drawn = [learner.select(rng=np.random.default_rng(seed)) for seed in range(20)]
    assert drawn == [learner.select(rng=np.random.default_rng(seed)) for seed in range(20)]
    assert len(set(drawn)) > 1
    assert learner.state()["generator"] == before
    with pytest.raises(gb.PolicyError, match=r"rng must be a numpy\.random\.Generator, got 3"):
        learner.select(rng=3)
