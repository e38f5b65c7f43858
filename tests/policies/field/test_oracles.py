"""Each policy makes the choices of its naive version on the same rewards."""

import math

import numpy as np
import pytest

from globalbandits.model import RewardModel
from globalbandits.model.regional import RegionalModel
from globalbandits.policies.d_ucb import DiscountedUCB
from globalbandits.policies.epsilon_greedy import EpsilonGreedy
from globalbandits.policies.explore_then_commit import ExploreThenCommit
from globalbandits.policies.glm_ucb import GLMUCB
from globalbandits.policies.grid_posterior import GridGreedy, GridThompson
from globalbandits.policies.imed import IMED
from globalbandits.policies.kl_ucb import KLUCB
from globalbandits.policies.lin_ucb import LinUCB
from globalbandits.policies.linear_greedy import LinearGreedy
from globalbandits.policies.moss import MOSS
from globalbandits.policies.oful import OFUL
from globalbandits.policies.ossb import OSSB
from globalbandits.policies.regional_ucb import RegionalUCB
from globalbandits.policies.sw_ucb import SlidingWindowUCB
from globalbandits.policies.thompson import ThompsonSampling
from globalbandits.policies.ts_c import TSC
from globalbandits.policies.ucb_c import UCBC
from globalbandits.policies.ucb_s import UCBS
from globalbandits.policies.ucb_tuned import UCBTuned
from globalbandits.policies.uniform import Uniform
from tests.oracles import field
from tests.policies.field.side_by_side import FAMILIES, PRICES, coin_reward, doses, pricing, race

CASES = {
    "ucb_tuned": (UCBTuned(), lambda p: field.NaiveIndex(p, field.ucb_tuned), 2000),
    "moss": (MOSS(), lambda p: field.NaiveIndex(p, field.moss), 2000),
    "imed": (IMED(), lambda p: field.NaiveIndex(p, field.imed), 2000),
    "kl_ucb": (KLUCB(), lambda p: field.NaiveIndex(p, field.kl_ucb()), 1500),
    "kl_ucb c=3": (KLUCB(c=3), lambda p: field.NaiveIndex(p, field.kl_ucb(3)), 300),
    "thompson": (ThompsonSampling(), field.NaiveThompson, 2000),
    "window": (SlidingWindowUCB(window=150), lambda p: field.NaiveWindow(p, 150), 2000),
    "discount": (DiscountedUCB(discount=0.98), lambda p: field.NaiveDiscount(p, 0.98), 2000),
    "ucb_s": (UCBS(), lambda p: field.NaiveUcbS(p, 0.75, 0.25), 1500),
    "ucb_s narrow": (UCBS(alpha=0.02), lambda p: field.NaiveUcbS(p, 0.005, 0.25), 500),
    "ucb_c": (UCBC(variance=0.06), lambda p: field.NaiveUcbC(p, 0.36, 0.06), 1500),
    "ucb_c narrow": (UCBC(alpha=0.02), lambda p: field.NaiveUcbC(p, 0.01, 0.25), 500),
    "ts_c": (TSC(), lambda p: field.NaiveTsC(p, 1.5, 0.25), 1500),
    "linear_greedy": (LinearGreedy(), field.NaiveLinearGreedy, 1500),
    "grid_greedy": (GridGreedy(cells=300), lambda p: field.NaiveGridGreedy(p, "beta", 300), 1500),
    "grid_greedy quasi": (
        GridGreedy(cells=300, likelihood="bernoulli"),
        lambda p: field.NaiveGridGreedy(p, "bernoulli", 300),
        1500,
    ),
    "grid_thompson": (
        GridThompson(cells=300),
        lambda p: field.NaiveGridThompson(p, "beta", 300),
        1500,
    ),
    "ossb": (OSSB(), field.NaiveOssb, 500),
    "epsilon_greedy": (EpsilonGreedy(), lambda p: field.NaiveEpsilon(p, 0.1), 2000),
    "explore_then_commit": (ExploreThenCommit(plays=9), lambda p: field.NaiveCommit(p, 9), 500),
    "uniform": (Uniform(), field.NaiveUniform, 100),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("case", CASES)
def test_same_choices(case, family):
    policy, oracle, horizon = CASES[case]
    model, problem, theta = FAMILIES[family]()
    race(policy, oracle(problem), model, problem.means(theta), horizon)


@pytest.mark.parametrize("case", ["ucb_tuned", "moss", "imed", "epsilon_greedy"])
def test_same_choices_with_many_ties(case):
    policy, oracle, _ = CASES[case]
    model, problem, theta = pricing()
    _, _, chosen = race(
        policy, oracle(problem), model, problem.means(theta), 300, reward=coin_reward
    )
    assert len(np.unique(chosen)) == model.n_arms


def test_kl_ucb_breaks_ties_of_equal_records_at_random():
    model, _, _ = pricing()
    policy = KLUCB()
    setup = policy.setup(model)
    state = policy.rules.init(setup)
    for arm in range(model.n_arms):
        policy.rules.update(setup, state, arm, 0.25 if arm < 4 else 0.0)
    rng = np.random.default_rng(5)
    chosen = [policy.rules.select(setup, state, rng) for _ in range(4000)]
    shares = np.bincount(chosen, minlength=12)[:4] / 4000
    assert max(chosen) < 4
    # Four standard errors of a share of 1/4 among 4,000 draws.
    assert np.abs(shares - 0.25).max() < 4 * math.sqrt(0.25 * 0.75 / 4000)


@pytest.mark.parametrize("features", [None, "own"])
def test_ridge_policies_make_the_choices_of_a_solved_regression(features):
    model, problem, theta = pricing()
    u = np.stack([PRICES, PRICES**2, PRICES**3], axis=1)
    if features == "own":
        u = np.stack([np.ones(12), PRICES], axis=1)
    grid = np.linspace(0, 1, 257)
    fits = np.linalg.lstsq(u, problem.means(grid).T, rcond=None)[0]
    norm = np.linalg.norm(fits, axis=0).max()

    def radius(v):
        spread = 2 * math.log(1 / 0.05) + np.linalg.slogdet(v / 2.0)[1]
        return 0.5 * math.sqrt(spread) + math.sqrt(2.0) * norm

    given = None if features is None else u.tolist()
    policy = OFUL(features=given, ridge=2.0)
    race(policy, field.NaiveRidge(problem, u, 2.0, radius), model, problem.means(theta), 2200)
    width = 1 + math.sqrt(math.log(2 / 0.05) / 2)
    oracle = field.NaiveRidge(problem, u, 1.0, lambda v: width)
    race(LinUCB(features=given), oracle, model, problem.means(theta), 1000)


@pytest.mark.parametrize(("family", "scale"), [(pricing, 1e-4), (doses, 1e-3)])
def test_glm_ucb_makes_the_choices_of_a_general_optimiser(family, scale):
    model, problem, theta = family()
    policy = GLMUCB(scale=scale, delta=0.1)
    setup = policy.setup(model)
    d = setup.features.shape[1]
    chosen = setup.features[setup.design]
    smallest = np.linalg.eigvalsh(chosen.T @ chosen)[0]
    longest = np.linalg.norm(setup.features, axis=1).max()
    kappa = math.sqrt(3 + 2 * math.log(1 + 2 * longest**2 / smallest))
    means = problem.means(np.linspace(problem.low, problem.high, 257))
    slope = (means * (1 - means)).min()

    def rho(t):
        inside = 2 * d * math.log(t) * math.log(2 * d * t / 0.1)
        return scale * 2 * 0.25 * kappa / slope * math.sqrt(inside)

    oracle = field.NaiveGlm(problem, setup.features, setup.design, rho)
    race(policy, oracle, model, problem.means(theta), 250)


def test_regional_ucb_makes_the_choices_of_its_naive_version():
    model, problem, _ = pricing()
    other, other_problem, _ = doses()
    joint = RegionalModel([model, other])
    constants = [
        (h.inverse_constant, h.inverse_exponent, h.constant, h.exponent)
        for h in (model.holder, other.holder)
    ]
    oracle = field.NaiveRegional([problem, other_problem], constants, alpha=0.001)
    means = joint.means([0.4, 2.5])
    _, _, chosen = race(RegionalUCB(alpha=0.001), oracle, joint, means, 800)
    assert {0, 1} <= set(joint.group_of[chosen].tolist())


def test_rewards_in_other_units_lead_to_the_same_choices():
    scaled = RewardModel(
        lambda theta, p: 50 * p * (1 - p * theta) ** 2 - 20,
        tuple(PRICES.tolist()),
        reward_range=(-20.0, 30.0),
    )
    _, problem, theta = pricing()
    for case in ("ucb_s", "grid_greedy", "linear_greedy", "ossb"):
        policy, oracle, _ = CASES[case]
        race(policy, oracle(problem), scaled, problem.means(theta), 200)
