"""Each linear policy makes the choices of its naive version on the same rewards."""

import math

import numpy as np
import pytest

from globalbandits.policies import GLMUCB, OFUL, LinearGreedy, LinUCB
from tests.oracles import published_policies as naive
from tests.policies.races import FAMILIES, PRICES, doses, pricing, race, scaled_pricing


@pytest.mark.parametrize("family", FAMILIES)
def test_linear_greedy(family):
    model, problem, theta = FAMILIES[family]()
    race(LinearGreedy(), naive.NaiveLinearGreedy(problem), model, problem.means(theta), 1500)


def test_linear_greedy_in_other_units():
    model, problem, theta = scaled_pricing()
    race(LinearGreedy(), naive.NaiveLinearGreedy(problem), model, problem.means(theta), 200)


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
    race(policy, naive.NaiveRidge(problem, u, 2.0, radius), model, problem.means(theta), 2200)
    width = 1 + math.sqrt(math.log(2 / 0.05) / 2)
    oracle = naive.NaiveRidge(problem, u, 1.0, lambda v: width)
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

    oracle = naive.NaiveGlm(problem, setup.features, setup.design, rho)
    race(policy, oracle, model, problem.means(theta), 250)
