"""On exact curves no default policy has regret in proportion to the horizon, under any noise."""

import numpy as np
import pytest

import globalbandits as gb
from tests.environments.ours import our_noises
from tests.policies.ours import our_policies

# Policies whose regret keeps growing at any practical horizon, and why. Their pages state it.
BY_DESIGN = {
    "uniform": "never learns",
    "fixed_arm": "never learns",
    "epsilon_greedy": "explores at a constant rate",
    "explore_then_commit": "may commit itself to a wrong arm",
    "discounted_ucb": "forgets",
    "sliding_window_ucb": "forgets",
    "linear_greedy": "takes curves for lines, and is wrong where they bend",
    "uncertainty_ellipsoid": "the constants of the proof explore for very long",
    "glm_ucb": "the constants of the proof explore for very long",
    "oful": "the constants of the proof explore for very long where features are short",
}
DEFAULTS = our_policies({"nonstationary_wagp": {"half_window": 500}})
NOISES = our_noises(
    {
        "truncated-normal": {"sd": 0.2},
        "sale": {"amounts": [1.0, 0.9, 1.0]},
        "scaled-coin": {"share": 0.1},
    }
)
THREE_ARMS = gb.RewardModel.from_functions(
    [lambda t: 1 - t**0.5, lambda t: 0.8 * t, lambda t: t**2], arms=[0.3, 0.6, 0.9]
)
DOSES = gb.dose.logistic([float(x) for x in range(1, 9)], penalty=0.06, domain=(0.1, 1.5))
WORLDS = {
    "three arms": (THREE_ARMS, 0.5, list(NOISES)),
    "doses": (DOSES, 0.62, [name for name in NOISES if name not in ("sale", "scaled-coin")]),
}
CASES = [(world, noise) for world, (_, _, noises) in WORLDS.items() for noise in noises]
EARLY, MIDDLE, LATE = 500, 1000, 4000
# Linear regret has a growth of 1. UCB1, the slowest that learns, has 0.4; a trapped grid
# posterior had 0.9 and more.
LARGEST = 0.6


def growths(world, noise, policies):
    """Regret per round after round 1,000, as a share of that in the first 500 rounds."""
    model, theta, _ = WORLDS[world]
    env = gb.Environment(model, theta=theta, noise=NOISES[noise])
    result = gb.simulate(
        env, policies, horizon=LATE, runs=8, seed=0, checkpoints=[EARLY, MIDDLE, LATE]
    )
    early, middle, late = result.dataset.regret.values.mean(axis=1).T
    least = 1.0  # a regret below this in all runs together is not worth a rate
    return dict(
        zip(
            policies,
            (late - middle) / (LATE - MIDDLE) / (np.maximum(early, least) / EARLY),
            strict=True,
        )
    )


@pytest.mark.parametrize(("world", "noise"), CASES)
def test_no_default_has_linear_regret_on_exact_curves(world, noise):
    # A policy that is not compiled takes longer than all others: it plays under one noise.
    policies = {
        kind: policy
        for kind, policy in DEFAULTS.items()
        if kind not in BY_DESIGN and (policy.compiled or noise == "bernoulli")
    }
    found = growths(world, noise, policies)
    assert {kind: growth for kind, growth in found.items() if growth > LARGEST} == {}


def test_the_listed_exceptions_have_growing_regret():
    """A policy that stops losing must not hide behind the list."""
    lasting = set()
    for world, noise in (("three arms", "bernoulli"), ("doses", "beta")):
        found = growths(world, noise, {kind: DEFAULTS[kind] for kind in BY_DESIGN})
        lasting |= {kind for kind, growth in found.items() if growth > LARGEST}
    assert lasting == set(BY_DESIGN)


@pytest.mark.parametrize("policy", [gb.GridGreedy, gb.GridThompson, gb.IDS])
def test_the_beta_likelihood_of_the_paper_fails_on_bernoulli_rewards(policy):
    """What the test above would see if the default were the Beta likelihood."""
    found = growths("three arms", "bernoulli", {"beta": policy(likelihood="beta")})
    assert found["beta"] > LARGEST


@pytest.mark.parametrize("policy", [gb.GridGreedy(), gb.GridThompson(), gb.IDS()], ids=repr)
def test_default_posteriors_forget_and_merge(policy):
    learner, other = (gb.Learner(policy, THREE_ARMS, seed=0) for _ in range(2))
    learner.update([0, 1, 2], [0.5, 0.25, 1.0])
    other.update(1, 0.75)
    learner.forget(1, 0.25)
    assert learner.merge(other).pulls.tolist() == [1, 1, 1]
