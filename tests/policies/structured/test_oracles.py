"""Each structured policy makes the choices of its naive version on the same rewards."""

import pytest

from globalbandits.model.regional import RegionalModel
from globalbandits.policies import OSSB, TSC, UCBC, UCBS, GridGreedy, GridThompson, RegionalUCB
from tests.oracles import published_policies as naive
from tests.policies.races import FAMILIES, doses, pricing, race, scaled_pricing
from tests.soak import length

CASES = {
    "ucb_s": (UCBS(), lambda p: naive.NaiveUcbS(p, 0.75, 0.25), length(300, 1500)),
    "ucb_s narrow": (UCBS(alpha=0.02), lambda p: naive.NaiveUcbS(p, 0.005, 0.25), length(200, 500)),
    "ucb_s learned": (
        UCBS(variance="learned"),
        lambda p: naive.NaiveUcbS(p, 3.0, None),
        length(120, 300),
    ),
    "ucb_c": (
        UCBC(alpha=3.0, variance=0.06),
        lambda p: naive.NaiveUcbC(p, 0.36, 0.06),
        length(300, 1500),
    ),
    "ucb_c narrow": (
        UCBC(alpha=0.02, variance=0.25),
        lambda p: naive.NaiveUcbC(p, 0.01, 0.25),
        length(200, 500),
    ),
    "ucb_c learned": (UCBC(), lambda p: naive.NaiveUcbC(p, 2.0, None), length(120, 300)),
    "ts_c learned": (
        TSC(variance="learned"),
        lambda p: naive.NaiveTsC(p, 6.0, None),
        length(120, 300),
    ),
    "ts_c": (TSC(), lambda p: naive.NaiveTsC(p, 1.5, 0.25), length(300, 1500)),
    "grid_greedy": (
        GridGreedy(cells=300, likelihood="beta"),
        lambda p: naive.NaiveGridGreedy(p, "beta", 300),
        length(300, 1500),
    ),
    "grid_greedy quasi": (
        GridGreedy(cells=300, likelihood="bernoulli"),
        lambda p: naive.NaiveGridGreedy(p, "bernoulli", 300),
        length(300, 1500),
    ),
    "grid_thompson": (
        GridThompson(cells=300, likelihood="beta"),
        lambda p: naive.NaiveGridThompson(p, "beta", 300),
        length(300, 1500),
    ),
    "grid_thompson quasi": (
        GridThompson(cells=310, likelihood="bernoulli"),  # no middle where two tangents cross
        lambda p: naive.NaiveGridThompson(p, "bernoulli", 310),
        length(300, 1500),
    ),
    "ossb": (OSSB(), naive.NaiveOssb, length(200, 500)),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("case", CASES)
def test_same_choices(case, family):
    policy, oracle, horizon = CASES[case]
    model, problem, theta = FAMILIES[family]()
    race(policy, oracle(problem), model, problem.means(theta), horizon)


@pytest.mark.parametrize("case", ["ucb_s", "grid_greedy", "ossb"])
def test_rewards_in_other_units_lead_to_the_same_choices(case):
    policy, oracle, _ = CASES[case]
    model, problem, theta = scaled_pricing()
    race(policy, oracle(problem), model, problem.means(theta), 100)


def test_regional_ucb_makes_the_choices_of_its_naive_version():
    model, problem, _ = pricing()
    other, other_problem, _ = doses()
    joint = RegionalModel([model, other])
    constants = [
        (h.inverse_constant, h.inverse_exponent, h.constant, h.exponent)
        for h in (model.holder, other.holder)
    ]
    oracle = naive.NaiveRegional([problem, other_problem], constants, alpha=0.001)
    means = joint.means([0.4, 2.5])
    *_, chosen = race(RegionalUCB(alpha=0.001), oracle, joint, means, 800)
    assert {0, 1} <= set(joint.group_of[chosen].tolist())
