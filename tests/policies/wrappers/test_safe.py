"""Safe: floor and ceiling as described, for any inner policy, and their explanations."""

import dataclasses
import json
import math

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.compiling.engine import Engine
from globalbandits.errors import PolicyError, StateError
from globalbandits.policies import Policy
from globalbandits.policies.wrappers.safe import secure
from tests.policies import contract
from tests.policies.families import model_of
from tests.simulation.worlds import assert_same_bits, pricing, records_of


def psi(x):
    return math.sqrt(math.log(1 + x * x / 2))


def bounds_of(rewards, total, eps, variance=0.25):
    """Floor and ceiling of one arm, straight from the description."""
    if not rewards:
        return (math.inf if eps * (total + 1) >= 1 else -math.inf), math.inf
    n, own = len(rewards), np.mean(rewards)
    root = math.sqrt(variance / n)
    return own + root * psi(eps * (total + 1) / n), own + root * psi(10 * (total + 1) / n)


# Choices of the worst inner policies; all are functions of the past, or of chance.


def choose_first(setup, stats, state, rng):
    return 0


def choose_at_random(setup, stats, state, rng):
    return int(rng.random() * setup.tables.n_arms)


def choose_most_played(setup, stats, state, rng):
    best = 0
    for arm in range(1, setup.tables.n_arms):
        if stats.counts[arm] > stats.counts[best]:
            best = arm
    return best


@dataclasses.dataclass(frozen=True, kw_only=True)
class First(gb.Policy):
    """Always the first arm; the worlds below have their worst arm there."""

    kind = "garbage"
    rules = gb.Uniform.rules._replace(select=choose_first)

    def setup(self, model):
        return gb.Uniform().setup(model)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chance(First):
    rules = gb.Uniform.rules._replace(select=choose_at_random)


@dataclasses.dataclass(frozen=True, kw_only=True)
class MostPlayed(First):
    """The arm that was played most: what was once played stays."""

    rules = gb.Uniform.rules._replace(select=choose_most_played)


@pytest.mark.parametrize("inner", [First(), MostPlayed()], ids=lambda p: type(p).__name__)
def test_plays_as_described(inner):
    model, eps = model_of("linear"), 3.0 / 6
    learner = gb.Learner(gb.Safe(inner, caution=3.0), model, seed=1)
    rewards = [[] for _ in range(6)]
    rng = np.random.default_rng(0)
    moved = 0
    for total in range(20):  # in which all bounds are renewed every round
        bounds = [bounds_of(x, total, eps) for x in rewards]
        wanted = 0
        if isinstance(inner, MostPlayed):
            wanted = int(np.argmax([len(x) for x in rewards]))
        highest = int(np.argmax([low for low, _ in bounds]))
        expected = highest if bounds[wanted][1] < bounds[highest][0] else wanted
        moved += expected != wanted
        arm = learner.select()
        assert arm == expected
        told = learner.explain().details
        assert told["floors"] == [
            pytest.approx(low) if math.isfinite(low) else None for low, _ in bounds
        ]
        assert told["ceilings"] == [
            pytest.approx(high) if math.isfinite(high) else None for _, high in bounds
        ]
        rewards[arm].append(float(rng.random() < 0.15 + 0.1 * arm))
        learner.update(arm, rewards[arm][-1])
    assert moved > 0


def test_a_learned_variance_gives_narrower_bounds():
    def heights(variance):
        learner = gb.Learner(gb.Safe(First(), variance=variance), model_of("linear"), seed=1)
        learner.update([0] * 8 + [1] * 5, [0.5, 0.52, 0.48, 0.5] * 2 + [0.3] * 5)
        details = learner.explain().details
        return np.array(details["ceilings"][:2]) - np.array([0.5, 0.3])

    assert (heights(None) < 0.7 * heights(0.25)).all()


def lone_world(n_arms, noise, means):
    model = gb.RewardModel(
        lambda theta, k: 0.9 - 0.7 * (1 - theta) * (k + 1) / n_arms, list(range(n_arms))
    )
    return gb.Environment(model, theta=0.5, noise=noise, truth=means)


WORLDS = {
    "dense": lone_world(6, gb.BetaNoise(), [0.25, 0.4, 0.3, 0.5, 0.35, 0.45]),
    "lone": lone_world(6, gb.BernoulliNoise(), [0.3, 0.4, 0.4, 0.4, 0.6, 0.4]),
    "low noise": lone_world(6, gb.TruncatedNormalNoise(sd=0.02), [0.2, 0.5, 0.4, 0.3, 0.55, 0.45]),
    "out of reach": lone_world(2, gb.BetaNoise(), [0.3, 0.45]),
}
CAUTION = 0.5


@pytest.mark.parametrize("inner", [First(), Chance(), MostPlayed()], ids=lambda p: type(p).__name__)
def test_regret_is_not_linear_with_garbage_inside(inner):
    """From 10^5 to 10^6 rounds regret at most doubles; without the sandwich it is ten-fold.

    (log 10^6 / log 10^5)^(7/2), the rate of the lemma, is 1.89.
    """
    for name, env in WORLDS.items():
        safe = gb.Safe(inner, caution=CAUTION)
        result = gb.simulate(
            env, {"safe": safe}, 1_000_000, runs=4, seed=3, checkpoints=[100_000, 1_000_000]
        )
        early, late = result.dataset["regret"].values[0].mean(axis=0)
        assert late < 1.89 * early, name
        gaps = max(env.truth) - np.array(env.truth)
        assert late < 0.01 * 1_000_000 * gaps.mean(), name


def test_it_costs_little_where_the_curves_are_right_and_saves_much_where_they_are_not():
    policies = {"bare": gb.WAGP(), "safe": gb.Safe(gb.WAGP(), caution=0.1, variance=None)}

    def regrets(bias):
        env = gb.Environment(model_of("pricing"), theta=0.4, bias=bias)
        result = gb.simulate(env, policies, 5000, runs=30, seed=1, checkpoints=[5000])
        return result.dataset["regret"].values[:, :, 0].mean(axis=1)

    lone = gb.FixedBias((0.0, 0.0, 0.15026, *[0.0] * 9))
    bare, safe = regrets(lone)
    assert safe < 0.6 * bare
    bare, safe = regrets(None)
    assert bare < safe < bare + 40.0


def test_compiled_and_interpreted_rules_give_the_same_bits():
    policies, engine = [gb.Safe(gb.WAGP(), caution=2.0, variance=None)], Engine()
    env = pricing(bias=gb.UniformBias(0.1))
    compiled = records_of(env, policies, 600, engine=engine)
    assert not engine.slow
    assert_same_bits(compiled, records_of(env, policies, 600, engine=Engine(interpreted=True)))


def test_rebuilding_forgetting_merging_and_restoring():
    policy, model = gb.Safe(gb.UCB1(), caution=2.0), model_of("linear")
    contract.check_select_changes_nothing(policy, model)
    contract.check_restored(policy, model)
    contract.check_forgotten(policy, model)
    contract.check_merged(policy, model)
    # If the inner policy depends on the order of rewards, so does this one.
    ordered = gb.Safe(gb.ExploreThenCommit(plays=3))
    contract.check_restored(ordered, model)
    with pytest.raises(PolicyError):
        gb.Learner(ordered, model, seed=0).merge(gb.Learner(ordered, model, seed=1))


def _another_fit(kept):
    kept["fitted"]["sums"][0] += 0.5


def _newer_than_now(kept):
    kept["renewed"]["counts"][1] += 1
    kept["renewed"]["total"][0] += 1


@pytest.mark.parametrize("spoil", [_another_fit, _newer_than_now])
def test_impossible_states_are_refused(spoil):
    learner = gb.Learner(gb.Safe(gb.UCB1()), model_of("linear"), seed=0)
    contract.play(learner, 50)
    saved = learner.state()
    spoil(saved["kept"])
    with pytest.raises(StateError, match="kept must be fields that these statistics can lead to"):
        gb.Learner.restore(learner.policy, learner.model, saved)


def test_explain_states_what_moved_the_choice():
    learner = gb.Learner(gb.Safe(First(), caution=0.3), model_of("linear"), seed=0)
    assert learner.explain().choice == 0
    learner.update([0] * 30, [0.5] * 30)
    told = learner.explain()
    assert told.choice == 1
    assert "moved from arm 0: arm 1 has no reward yet and must have one" in told.reason
    learner.update([1, 2, 3, 4, 5], [0.9] * 5)
    learner.update([0] * 300, [0.1] * 300)
    told = learner.explain()
    assert told.choice == 1
    assert "moved from arm 0, whose own rewards allow" in told.reason
    learner.update([1] * 300, [0.0] * 300)
    assert learner.explain().choice == 2


def test_specs_are_plain_and_round_trip():
    policy = gb.Safe(gb.IDS(cells=50), caution=0.3, variance=None)
    spec = json.loads(json.dumps(policy.to_dict()))
    assert Policy.from_dict(spec) == policy
    assert hash(Policy.from_dict(spec)) == hash(policy)
    assert policy.label == "Safe(IDS(cells=50), caution=0.3, variance=None)"
    assert gb.Safe() == gb.Safe(gb.WAGP())
    assert gb.Safe(gb.WAGP()).rules is gb.Safe(gb.WAGP(), caution=3).rules is secure(gb.WAGP.rules)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inner": 3}, "inner must be a policy, got 3"),
        ({"caution": 0}, "caution must be positive, got 0"),
        ({"variance": 0.0}, "variance must be positive, got 0.0"),
        ({"variance": 0.3}, "variance must be at most 1/4, the largest variance of rewards in"),
    ],
)
def test_wrong_parameters_are_refused(options, message):
    with pytest.raises(PolicyError, match=message):
        gb.Safe(**options)
