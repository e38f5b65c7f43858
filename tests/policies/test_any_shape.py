"""Models with non-monotone means: which policies play them, and which refuse."""

import dataclasses

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import PolicyError
from globalbandits.policies.base import registered

# The first mean is flat beyond 0.6, the second turns at 0.5, the third is a line.
MODEL = gb.RewardModel.from_functions(
    [
        lambda t: 0.3 + 0.5 * np.minimum(t, 0.6),
        lambda t: 0.7 - 1.6 * (t - 0.5) ** 2,
        lambda t: 0.65 - 0.4 * t,
    ],
    arms=[0.3, 0.6, 0.9],
    monotone=False,
)
REFUSING = {
    "wagp": gb.WAGP(),
    "buw": gb.BUW(),
    "nonstationary_wagp": gb.NonStationaryWAGP(half_window=50),
    "ossb": gb.OSSB(),
    "regional_ucb": gb.RegionalUCB(),
    "guarded": gb.Guarded(gb.WAGP()),
    "safe": gb.Safe(gb.WAGP()),
}
CURVES = [
    gb.GridThompson(),
    gb.IDS(),
    gb.Elastic(),
    gb.RandomEffectsThompson(),
    gb.UCBS(alpha=1.0),
    gb.UCBC(alpha=1.0),
    gb.TSC(alpha=1.0),
]


@pytest.mark.parametrize("policy", REFUSING.values(), ids=REFUSING)
def test_policies_that_invert_means_refuse_the_model(policy):
    with pytest.raises(
        PolicyError, match=r"model must be monotone for \w+, which inverts the arms"
    ):
        gb.Learner(policy, MODEL, seed=0)


@pytest.mark.parametrize("policy", CURVES, ids=repr)
@pytest.mark.parametrize("theta", [0.1, 0.5, 0.8])
def test_policies_that_do_not_invert_learn(policy, theta):
    world = gb.Environment(MODEL, theta=theta, noise=gb.BernoulliNoise())
    result = gb.simulate(world, [policy], horizon=3_000, runs=8, seed=0, checkpoints=[500, 3_000])
    early, late = result.dataset.regret.values[0].mean(axis=0)
    uniform = 3_000 * MODEL.gaps(theta).mean()
    assert late < 0.25 * uniform
    assert late - early < 0.1 * uniform


def test_a_greedy_posterior_may_stay_with_an_uninformative_arm():
    """At 0.8 the second arm looks as it does at 0.2, where it is best: its docstring warns."""
    world = gb.Environment(MODEL, theta=0.8, noise=gb.BernoulliNoise())
    result = gb.simulate(world, [gb.GridGreedy(), gb.IDS()], horizon=3_000, runs=20, seed=0)
    stuck = result.dataset.regret.values[:, :, -1] > 0.99 * 3_000 * MODEL.gaps(0.8)[1]
    greedy, directed = stuck.mean(axis=1)
    assert greedy > 0.2
    assert directed == 0.0


def test_the_posterior_mean_of_a_curve_that_turns_is_that_of_both_sides():
    """Rewards of the second arm alone cannot distinguish 0.3 from 0.7."""
    learner = gb.Learner(gb.GridGreedy(), MODEL, seed=0)
    learner.update([1] * 400, [float(MODEL.means(0.3)[1])] * 400)
    assert learner.estimate == pytest.approx(0.5, abs=0.01)
    assert learner.explain().arms[1].estimate is None


def test_all_other_policies_play():
    for kind, policy in registered().items():
        ours = policy.__module__.startswith("globalbandits.") and kind != "cohort_design"
        if ours and kind not in REFUSING:
            spec = policy()
            if hasattr(spec, "inner"):  # wrappers refuse what their inner policy refuses
                spec = dataclasses.replace(spec, inner=gb.GridGreedy())
            learner = gb.Learner(spec, MODEL, seed=0)
            for _ in range(5):
                learner.update(learner.select(), 0.5)
            assert learner.n_observations == 5
