import copy
import dataclasses
import json
import math

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.compiling.engine import Engine
from globalbandits.environments import FixedBias, Jumps
from globalbandits.errors import StateError
from globalbandits.policies import Policy
from globalbandits.policies.base import Rules
from globalbandits.policies.learner import Learner
from globalbandits.policies.wrappers.guarded import (
    Guarded,
    explores,
    guard,
)
from globalbandits.statistics import count, no_statistics
from tests.evidence.models import beta_rewards, model_of, unit_means
from tests.policies.states import assert_same_state
from tests.simulation.worlds import assert_same_bits, pricing, records_of
from tests.soak import length

WRONG = [0.1, -0.1, 0.1, -0.1, 0.1, -0.1, 0.1, -0.1, 0.1, -0.1, 0.1, -0.1]


def play(learner, theta, n, rng, shifts=0.0):
    means = np.clip(unit_means(learner.model, theta) + shifts, 0.01, 0.99)
    for _ in range(n):
        arm = learner.select()
        learner.update(arm, float(beta_rewards(rng, means[arm : arm + 1])[0]))


def guarded(seed, **options):
    policy = Guarded(gb.WAGP(), **options)
    return Learner(policy, model_of("pricing"), seed=seed), np.random.default_rng(seed)


def details(learner):
    return learner.explain().details


def test_a_right_model_is_used_to_the_end():
    for seed in range(length(2, 5)):
        learner, rng = guarded(seed)
        play(learner, 0.4, 1500, rng)
        assert details(learner) == {"refuted": False, "restarts": 0}
        assert learner.estimate == pytest.approx(0.4, abs=0.06)
        assert "model not refuted, greedy" in learner.explain().reason


def test_a_wrong_model_is_left_for_good():
    learner, rng = guarded(1, exploration=2.0)
    play(learner, 0.4, 2500, rng, shifts=np.array(WRONG))
    assert details(learner)["refuted"]
    assert learner.estimate is not None  # the fallback's, of curves it does not believe
    assert "model refuted, largest index" in learner.explain().reason
    assert learner._state.since.total[0] == 2500
    before = copy.deepcopy(learner._state.inner)
    play(learner, 0.4, 50, rng)  # the model is right now: too late
    assert details(learner)["refuted"]
    assert_same_state(learner._state.inner, before)
    # The fallback has all rewards, those before the refutation included.
    assert learner._state.since.total[0] == learner.n_observations == 2550
    assert learner._state.fallback.fitted.total[0] > 2500 / 1.07


def test_the_fallback_begins_with_what_is_known():
    learner, rng = guarded(1, exploration=2.0)
    assert learner._state.fallback.fitted.total[0] == 0
    while not learner._state.refuted[0]:
        play(learner, 0.4, 1, rng, shifts=np.array(WRONG))
        assert learner._state.fallback.fitted.total[0] in (0, learner.n_observations)
    elastic = Learner(gb.Elastic(), learner.model, seed=0)
    elastic._rules.rebuild(elastic._setup, learner._state.since, elastic._state)
    assert_same_state(learner._state.fallback, elastic._state)
    # A fallback whose rewards have an order learns from each of them.
    ordered, rng = guarded(1, fallback=gb.ExploreThenCommit(plays=3))
    play(ordered, 0.4, 40, rng)
    fresh = ordered.policy.fallback.rules.init(ordered._setup.fallback)
    with pytest.raises(AssertionError):
        assert_same_state(ordered._state.fallback, fresh)


def test_a_moved_parameter_means_a_new_start():
    for seed in range(length(1, 3)):
        learner, rng = guarded(seed)
        play(learner, 0.4, 1500, rng)
        play(learner, 0.75, 2000, rng)
        assert details(learner) == {"refuted": False, "restarts": 1}
        # Nothing that was learned before the change is left, in either policy.
        since = learner._state.since
        assert since.counts.sum() == since.total[0] < 2000
        alone = gb.WAGP().rules
        fresh = alone.init(learner._setup.inner)
        alone.rebuild(learner._setup.inner, since, fresh)
        assert alone.estimate(learner._setup.inner, since, fresh) == learner.estimate
        assert learner._state.fallback.fitted.total[0] <= since.total[0]
        assert learner.estimate == pytest.approx(0.75, abs=0.05)
        told = learner.explain()
        assert sum(arm.pulls for arm in told.arms) == since.total[0]
        assert told.n_observations == 3500


def test_without_restarts_a_moved_parameter_means_the_fallback():
    learner, rng = guarded(0, restarts=0)
    play(learner, 0.4, 1500, rng)
    play(learner, 0.75, 1500, rng)
    assert details(learner) == {"refuted": True, "restarts": 0}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ordered(gb.Policy):
    """WAGP that cannot be rebuilt."""

    kind = "ordered"
    rules = Rules(*gb.WAGP.rules[:4])

    def setup(self, model):
        return gb.WAGP().setup(model)


def test_a_policy_that_cannot_be_rebuilt_is_not_restarted():
    policy = Guarded(Ordered())
    learner, rng = Learner(policy, model_of("pricing"), seed=0), np.random.default_rng(0)
    play(learner, 0.4, 1500, rng)
    play(learner, 0.75, 2000, rng)
    assert details(learner) == {"refuted": True, "restarts": 0}


def test_false_alarms_are_rarer_than_the_level():
    # Runs of a right model at a level of one fifth, with much exploration.
    runs = length(40, 100)
    model = model_of("emax")
    means = unit_means(model, 0.8)
    alarms = 0
    for seed in range(runs):
        policy = Guarded(gb.WAGP(), alpha=0.2, exploration=5.0)
        rules, setup = policy.rules, policy.setup(model)
        state, rng = rules.init(setup), np.random.default_rng(seed)
        stats = no_statistics(model.n_arms)
        for _ in range(200):
            arm = rules.select(setup, stats, state, rng)
            reward = float(rng.random() < means[arm])
            count(stats, arm, reward)
            rules.update(setup, stats, state, arm, reward)
        alarms += int(state.refuted[0] or state.n_restarts[0])
    assert alarms <= 0.2 * runs + 3 * math.sqrt(runs * 0.2 * 0.8)


@pytest.mark.parametrize("world", ["wrong model", "jump"])
def test_compiled_and_interpreted_guards_play_the_same(world):
    # Two moving worlds, one of which stays where it is, so that one compilation serves both.
    if world == "jump":
        env = pricing(drift=Jumps(times=(600,), values=(0.8,)))
    else:
        env = pricing(drift=Jumps(times=(600,), values=(0.4,)), bias=FixedBias(WRONG))
    fallback = gb.FixedArm(0)  # compiles faster than the usual one
    policies, engine = [Guarded(gb.WAGP(), fallback=fallback, exploration=2.0)], Engine()
    n_steps = 1500 if world == "jump" else 2500
    compiled = records_of(env, policies, n_steps, engine=engine)
    assert not engine.slow
    plain = records_of(env, policies, n_steps, engine=Engine(interpreted=True))
    assert_same_bits(compiled, plain)
    last = compiled.estimate[0, 0, -1]
    if world == "jump":
        assert last == pytest.approx(0.8, abs=0.03)  # it has started anew
    else:
        assert np.isnan(last)  # the fallback, which has no estimate, plays


def _before_any_reward(learner, rng):
    pass


def _while_the_model_is_used(learner, rng):
    play(learner, 0.4, 400, rng)


def _after_a_restart(learner, rng):
    play(learner, 0.4, 1500, rng)
    play(learner, 0.75, 700, rng)
    assert details(learner) == {"refuted": False, "restarts": 1}


def _after_a_refutation(learner, rng):
    play(learner, 0.4, 2500, rng, shifts=np.array(WRONG))
    assert details(learner)["refuted"]


@pytest.mark.parametrize(
    "past",
    [_before_any_reward, _while_the_model_is_used, _after_a_restart, _after_a_refutation],
)
def test_a_saved_guard_resumes_bit_for_bit(past):
    learner, rng = guarded(1, exploration=2.0)
    past(learner, rng)
    text = json.dumps(learner.state())
    again = Learner.restore(learner.policy, learner.model, json.loads(text))
    assert again.explain() == learner.explain()
    twin = np.random.default_rng(0)
    twin.bit_generator.state = rng.bit_generator.state
    play(learner, 0.4, 200, rng, shifts=np.array(WRONG))
    play(again, 0.4, 200, twin, shifts=np.array(WRONG))
    assert again.state()["kept"] == learner.state()["kept"]
    assert again.state()["generator"] == learner.state()["generator"]


def test_fields_that_follow_from_the_rewards_are_recomputed():
    learner, rng = guarded(1)
    play(learner, 0.4, 50, rng)
    saved = learner.state()
    saved["kept"]["inner"]["choice"] = [10**6]
    saved["kept"]["inner"]["own"]["weighted"] = [0, 0]
    saved["kept"]["fallback"]["indices"] = ["nan"] * 12
    again = Learner.restore(learner.policy, learner.model, saved)
    assert again.estimate == learner.estimate
    assert again.select() == learner.select()
    assert_same_state(again._state.fallback, learner._state.fallback)


def _set(field, value):
    def spoil(kept):
        kept[field] = [value]

    spoil.__name__ = f"{field}_{value}"
    return spoil


def _other_rewards(kept):
    kept["since"]["sums"][0] += 0.5


def _fewer_rewards(kept):
    for name in ("counts", "sums", "squares", "total"):
        kept["since"][name] = [0] * len(kept["since"][name])


def _another_histogram(kept):
    kept["histogram"]["counts"][0][0] += 1.0


def _a_histogram_below_zero(kept):
    kept["histogram"]["counts"][0] = [-1.0] * 9


def _a_copy_of_the_future(kept):
    kept["snapshots"]["times"][0] = 500


def _a_copy_with_more(kept):
    kept["snapshots"]["counts"][0][0][0] = 1e6


def _another_fit_of_the_fallback(kept):
    kept["fallback"]["fitted"]["sums"][0] += 0.5


@pytest.fixture(scope="module")
def played():
    """A learner, and its saved state."""
    learner, rng = guarded(1)
    play(learner, 0.4, 410, rng)
    return learner, learner.state()


@pytest.mark.parametrize(
    "spoil",
    [
        _set("refuted", 2),
        _set("n_restarts", 4),
        _set("n_restarts", -1),
        _set("witness", "nan"),
        _set("witness", 1.5),
        _set("next_test", 400),
        _set("next_test", 10**9),
        _other_rewards,
        _fewer_rewards,
        _another_histogram,
        _a_histogram_below_zero,
        _a_copy_of_the_future,
        _a_copy_with_more,
        _another_fit_of_the_fallback,
    ],
    ids=lambda spoil: spoil.__name__,
)
def test_impossible_states_are_refused(spoil, played):
    learner, saved = played[0], copy.deepcopy(played[1])
    assert saved["kept"]["snapshots"]["times"][0] == 300
    spoil(saved["kept"])
    with pytest.raises(StateError, match="kept must be fields that these statistics can lead to"):
        Learner.restore(learner.policy, learner.model, saved)


def test_specs_are_plain_and_round_trip():
    policy = Guarded(gb.Elastic(horizon=2000), fallback=gb.WAGP(), alpha=0.01, restarts=0)
    spec = json.loads(json.dumps(policy.to_dict()))
    assert spec["inner"] == gb.Elastic(horizon=2000).to_dict()
    assert Policy.from_dict(spec) == policy
    assert hash(Policy.from_dict(spec)) == hash(policy)
    assert policy.label == "Guarded(Elastic(horizon=2000), fallback=WAGP, alpha=0.01, restarts=0)"
    assert Guarded(gb.WAGP()).label == "Guarded(WAGP)"
    assert Guarded() == Guarded(gb.WAGP(), fallback=gb.Elastic())


def test_rules_are_built_once_for_the_same_policies():
    one, two = Guarded(gb.WAGP()), Guarded(gb.WAGP(), alpha=0.01)
    assert one.rules is two.rules is guard(gb.WAGP().rules, gb.Elastic().rules)
    assert one.rules is not Guarded(gb.UCB1()).rules


def test_exploration_has_the_documented_cost():
    model = model_of("pricing")
    policy = Guarded(gb.WAGP(), exploration=0.5)
    rng = np.random.default_rng(0)
    n_explored = sum(explores(0.5, n, rng.random()) for n in range(20_000))
    expected = 1.5 * 0.5 * 20_000 ** (2 / 3)
    assert n_explored == pytest.approx(expected, abs=4 * math.sqrt(expected))
    cost = policy.exploration_cost(model, 0.4, 20_000)
    assert cost == pytest.approx(expected * model.gaps(0.4).mean(), rel=0.01)
    assert Guarded(gb.WAGP(), exploration=0).exploration_cost(model, 0.4, 100) == 0.0


def test_without_exploration_the_inner_policy_plays_alone():
    learner, _ = guarded(6, exploration=0.0)
    alone = Learner(gb.WAGP(), model_of("pricing"), seed=6)
    rng = np.random.default_rng(6)
    # Only `Guarded` draws a number to decide whether to explore; after the first, random
    # arm WAGP needs none.
    learner.update(3, 0.4)
    alone.update(3, 0.4)
    for reward in rng.random(60).tolist():
        arm = learner.select()
        assert arm == alone.select()
        learner.update(arm, reward)
        alone.update(arm, reward)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fallback": "ucb1"}, "fallback must be a policy, got 'ucb1'"),
        ({"alpha": 0}, "alpha must lie strictly between 0 and 1, got 0"),
        ({"exploration": -0.1}, "exploration must be at least 0, got -0.1"),
        ({"restarts": -1}, "restarts must be at least 0, got -1"),
    ],
)
def test_wrong_parameters_are_refused(options, message):
    with pytest.raises(gb.PolicyError) as caught:
        Guarded(gb.WAGP(), **options)
    assert str(caught.value) == message
    with pytest.raises(gb.PolicyError, match="inner must be a policy, got 3"):
        Guarded(3)
