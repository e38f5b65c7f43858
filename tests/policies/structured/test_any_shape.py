"""UCB-S, UCB-C and TS-C on means that turn or are flat, against brute force over parameters."""

import os
from functools import cache

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.policies import TSC, UCBC, UCBS
from globalbandits.policies.shared.noise_variance import learn_variances
from globalbandits.statistics import count, count_many, no_statistics
from globalbandits.testing import check_policy
from tests.oracles.confidence_set import BruteForce
from tests.policies import contract
from tests.policies.races import bernoulli_reward


def flat():
    """Arms that stop at a kink, one of them flat for half of the domain."""
    return [
        lambda t: 0.3 + 0.5 * np.minimum(t, 0.6),
        lambda t: 0.62 - 0.3 * np.maximum(t - 0.5, 0.0),
        lambda t: 0.45 + 0.0 * t,
    ]


def humps():
    """Arms best around their own hump."""
    return [lambda t, c=c: 0.8 + 0.1 * c - (t - c) ** 2 for c in (0.15, 0.4, 0.62, 0.9)]


def sines():
    """Curves that take every mean several times."""
    return [
        lambda t, a=a: a * (0.55 + 0.4 * np.sin(15.0 * t + 3.0 * a)) for a in (0.5, 0.7, 0.8, 0.95)
    ]


SHAPES = {"flat": (flat, 0.7), "humps": (humps, 0.33), "sines": (sines, 0.37)}
VALUES = {
    "none": None,
    "cost": lambda arm: lambda mean: (2.0 - 0.3 * arm) * mean - 0.1,
    "target": lambda arm: lambda mean: -np.abs(mean - 0.5 + 0.02 * arm),
}
CASES = [
    ("flat", "none"),
    ("humps", "none"),
    ("humps", "cost"),
    ("humps", "target"),
    ("sines", "none"),
]
POLICIES = {
    "ucb_s": (UCBS(alpha=1.0, variance=0.25), 0.25),
    "ucb_c": (UCBC(alpha=0.5, variance=0.25), 0.25),
    "ts_c": (TSC(alpha=0.5, variance=0.25), 0.25),
    "ucb_s learned": (UCBS(alpha=1.0, variance="learned"), 1.0),
    "ucb_c learned": (UCBC(), 2.0),
}


@cache
def model_and_brute_force(shape, value):
    """The same arms as a model and by brute force."""
    functions = SHAPES[shape][0]()
    n, valued = len(functions), VALUES[value]
    values = None if valued is None else [valued(arm) for arm in range(n)]
    own = None if valued is None else lambda mean, arm: valued(arm)(mean)
    model = gb.RewardModel(
        lambda theta, arm: functions[arm](theta), list(range(n)), value=own, monotone=False
    )
    return model, BruteForce(functions, values)


def histories(policy, model, theta, n_rounds=300, every=25):
    """States of the policy from time to time while it plays Bernoulli rewards."""
    setup = policy.setup(model)
    stats, state = no_statistics(model.n_arms), policy.rules.init(setup)
    rng, draws = np.random.default_rng(0), np.random.default_rng(1).random(n_rounds)
    means = model.means(theta)
    for t in range(n_rounds):
        arm = policy.rules.select(setup, stats, state, rng)
        if t % every == 0:
            yield stats, state, arm
        reward = bernoulli_reward(means[arm], draws[t])
        count(stats, arm, reward)
        policy.rules.update(setup, stats, state, arm, reward)


@pytest.mark.parametrize(("shape", "value"), CASES)
@pytest.mark.parametrize("kind", ["ucb_s", "ucb_s learned"])
def test_ucb_s_plays_what_can_be_worth_most(kind, shape, value):
    model, brute = model_and_brute_force(shape, value)
    policy, factor = POLICIES[kind]
    decided = 0
    for stats, state, arm in histories(policy, model, SHAPES[shape][1]):
        allowed = same_set(brute, stats, state, policy, factor)
        if not allowed.any():
            continue
        worths = brute.largest_worths(allowed)
        assert worths[arm] >= worths.max() - brute.blur
        decided += np.sum(worths >= worths.max() - brute.blur) == 1
    assert decided >= 3


@pytest.mark.parametrize(("shape", "value"), CASES)
@pytest.mark.parametrize("kind", ["ucb_c", "ts_c", "ucb_c learned"])
def test_arms_that_compete_are_best_somewhere_in_the_set(kind, shape, value):
    model, brute = model_and_brute_force(shape, value)
    policy, factor = POLICIES[kind]
    excluded = 0
    for stats, state, arm in histories(policy, model, SHAPES[shape][1]):
        allowed = same_set(brute, stats, state.allowed, policy, factor)
        competing = state.indices > -np.inf
        assert competing[arm]
        if not allowed.any():
            assert competing.all()
            continue
        excluded += not competing.all()
        # The grid may miss the ends of the set, but never finds an arm that does not compete.
        assert not (brute.best_somewhere(allowed) & ~competing).any()
        wider = np.convolve(allowed, np.ones(3), mode="same") > 0
        best = brute.worths[:, wider].max(axis=0) - brute.worths[:, wider] <= brute.blur
        assert not (competing & ~best.any(axis=1)).any()
    assert excluded >= 3


def same_set(brute, stats, state, policy, factor):
    """The allowed parameters by brute force, after a comparison with the parts of the state."""
    variances = np.ones(stats.counts.size)
    if policy.variance == "learned" and stats.total[0] > 0:
        # What makes the usual radius sqrt(c v log(t) / N) that of the docs, c being the factor.
        n, log_t = stats.counts + 4.0, np.log(stats.total[0] + 1.0)
        variances = n * learn_variances(stats) * np.expm1(factor * log_t / n) / (factor * log_t)
    margins = brute.margins(stats.counts, stats.sums, variances, factor)
    inside = np.zeros(margins.shape, bool)
    for low, high in state.parts.reshape(-1, 2):
        inside |= (brute.thetas >= low) & (brute.thetas <= high)
    clear = np.abs(margins) > 1e-9
    np.testing.assert_array_equal(inside[clear], margins[clear] > 0.0)
    return inside


def test_the_set_has_several_parts():
    """Rewards of one arm alone cannot distinguish the two sides of its hump."""
    model, _ = model_and_brute_force("humps", "none")
    policy, stats = UCBS(), no_statistics(model.n_arms)
    setup = policy.setup(model)
    state = policy.rules.init(setup)
    count_many(stats, np.ones(20_000, int), np.full(20_000, model.means(0.25)[1]))
    policy.rules.rebuild(setup, stats, state)
    assert policy.reason(setup, stats, state).count("[") == 2
    assert policy.rules.estimate(setup, stats, state) == pytest.approx(0.4, abs=0.01)


@pytest.mark.parametrize("shape", SHAPES)
def test_turning_points_are_those_of_a_fine_grid(shape):
    model, brute = model_and_brute_force(shape, "none")
    points = model.turning_points
    slopes = np.sign(np.where(np.abs(np.diff(brute.means)) < 1e-13, 0.0, np.diff(brute.means)))
    turns = np.nonzero(slopes[:, 1:] * slopes[:, :-1] < 0.0)[1]
    np.testing.assert_allclose(points, np.sort(brute.thetas[turns + 1]), atol=2e-5)


def test_a_narrow_turn_between_samples_is_found():
    """A rise of 1e-8 within 1 % of the domain, on a falling cubic."""
    c = 0.4317
    model = gb.RewardModel.from_functions(
        [lambda t: 0.5 - (t - c) ** 3 + 2.5e-5 * (t - c)], monotone=False
    )
    half = (2.5e-5 / 3.0) ** 0.5
    np.testing.assert_allclose(model.turning_points, [c - half, c + half], atol=1e-6)


def test_monotone_models_have_no_turning_points():
    assert gb.demand.linear([0.4, 0.6]).turning_points.size == 0


@pytest.mark.parametrize("policy", [p for p, _ in POLICIES.values()], ids=lambda p: p.label)
def test_the_contract_on_a_model_that_turns(policy):
    model, _ = model_and_brute_force("humps", "none")
    inner = ("lows", "highs", "seen")
    ignored = inner + tuple(f"allowed.{name}" for name in inner)
    contract.check_rebuilt(policy, model, ignored=ignored, rtol=0)
    contract.check_forgotten(policy, model)
    contract.check_merged(policy, model)
    contract.check_restored(policy, model)


def test_compiled_and_interpreted_give_the_same_bits():
    """UCB-C compiles all that the three have in common."""
    model, _ = model_and_brute_force("humps", "none")
    contract.check_same_bits(UCBC(), gb.Environment(model, theta=0.33), 200)


@pytest.mark.skipif("GLOBALBANDITS_SOAK" not in os.environ, reason="minutes: make soak")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("policy", [UCBS(), UCBC(), TSC()], ids=lambda p: p.kind)
def test_the_whole_contract_on_every_shape(policy, shape):
    check_policy(policy, model_and_brute_force(shape, "none")[0])
