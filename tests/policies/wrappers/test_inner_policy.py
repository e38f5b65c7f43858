"""Policies inside policies: explanations of their choices, and user policies inside."""

import dataclasses

import numpy as np
import pytest

import globalbandits as gb
from benchmarks.adapters.peer import Peer
from globalbandits.policies.wrappers.guarded import explores
from tests.policies.families import model_of


@dataclasses.dataclass(frozen=True, kw_only=True)
class Own(gb.Policy):
    """Always the first arm; a policy that is not registered."""

    rules = gb.FixedArm.rules

    def setup(self, model):
        return gb.FixedArm(0).setup(model)


def taught(policy, *rewards):
    learner = gb.Learner(policy, model_of("linear"), seed=0, compiled=False)
    for arm, reward, n in rewards:
        learner.update([arm] * n, [reward] * n)
    return learner.explain()


CLEAR = [(arm, 0.1 * arm, 4) for arm in range(6)] + [(0, 0.0, 300)]
FREE = {"largest_step": None, "no_skipping": False}


def test_the_reason_of_the_inner_policy_is_reported():
    bound = "moved from arm 0, whose own rewards allow"
    told = taught(gb.Limited(gb.Safe(gb.FixedArm(0), caution=3), **FREE), *CLEAR)
    assert told.choice == 5
    assert told.reason.startswith(bound)
    refuted = gb.Guarded(fallback=gb.Safe(gb.FixedArm(0), caution=3), exploration=0)
    told = taught(refuted, *CLEAR)
    assert told.choice == 5
    assert told.reason.startswith(bound)
    assert "model refuted" in told.reason


def test_a_choice_may_be_moved_twice():
    told = taught(gb.Limited(gb.Safe(gb.FixedArm(0), caution=3)), *CLEAR)
    assert told.choice == 1
    first, second = told.reason.split("; then ")
    assert first.startswith("moved from arm 0, whose own rewards allow")
    assert second.startswith("moved from arm 5 by a limit: at most 1 step(s) up from arm 0 (unl")


def test_a_guard_reports_which_plays_are_random():
    learner = gb.Learner(gb.Guarded(gb.FixedArm(0)), model_of("linear"), seed=0, compiled=False)
    said = []
    for seed in range(40):
        random = explores(0.5, 0, np.random.default_rng(seed).random())
        told = learner.explain(rng=np.random.default_rng(seed))
        assert told.reason.startswith("any arm, to test the model") == random
        assert random or told.choice == 0
        said.append(random)
    assert 0 < sum(said) < 40


@pytest.mark.parametrize("around", [gb.Safe, gb.Limited, gb.Guarded])
def test_a_user_policy_inside(around, interpreted):
    policy = around(Own())
    env = gb.Environment(model_of("linear"), theta=0.5)
    result = gb.simulate(env, [policy], horizon=20, runs=2)
    assert result.dataset["pulls"].values.sum() == 40
    learner = gb.Learner(policy, model_of("linear"), seed=0, compiled=False)
    with pytest.raises(gb.PolicyError, match=r"policy must be registered .* got Own\(\)"):
        learner.state()


class Stubborn:
    """As policies of other libraries are: it chooses and learns."""

    def pull(self, arms):
        return arms[0]

    def update(self, arm, reward):
        pass


@pytest.mark.parametrize("around", [gb.Safe, gb.Limited, gb.Guarded])
def test_a_policy_of_another_library_inside(around):
    """It is played in plain Python, without a warning that it cannot be compiled."""
    peer = Peer(make=lambda seed: Stubborn(), name="stubborn")
    env = gb.Environment(model_of("linear"), theta=0.5)
    result = gb.simulate(env, [around(peer)], horizon=30, runs=2)
    pulls = result.dataset["pulls"].values[0]
    assert (pulls.sum(axis=1) == 30).all()
    assert (pulls[:, 0] == 30).all() or around is gb.Guarded
