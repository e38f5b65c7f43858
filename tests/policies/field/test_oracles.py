"""Each policy makes the choices of its naive version on the same rewards."""

import math

import numpy as np
import pytest

from globalbandits.model import RewardModel
from globalbandits.model.regional import RegionalModel
from globalbandits.policies.glm_ucb import GLMUCB
from globalbandits.policies.grid_posterior import GridGreedy, GridThompson
from globalbandits.policies.lin_ucb import LinUCB
from globalbandits.policies.linear_greedy import LinearGreedy
from globalbandits.policies.oful import OFUL
from globalbandits.policies.ossb import OSSB
from globalbandits.policies.regional_ucb import RegionalUCB
from globalbandits.policies.ts_c import TSC
from globalbandits.policies.ucb_c import UCBC
from globalbandits.policies.ucb_s import UCBS
from tests.oracles import field
from tests.policies.field.side_by_side import FAMILIES, PRICES, doses, pricing, race

CASES = {
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
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("case", CASES)
def test_same_choices(case, family):
    policy, oracle, horizon = CASES[case]
    model, problem, theta = FAMILIES[family]()
    race(policy, oracle(problem), model, problem.means(theta), horizon)


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
    *_, chosen = race(RegionalUCB(alpha=0.001), oracle, joint, means, 800)
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
