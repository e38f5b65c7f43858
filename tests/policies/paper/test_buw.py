"""BUW: the wait for C2, and the switch from UCB1 to WAGP with the paper's own constants."""

import math

import numpy as np
import pytest

from globalbandits.model import RewardModel
from globalbandits.policies import BUW, UCB1, Learner
from globalbandits.policies.paper import buw as rules
from globalbandits.policies.paper.buw import Setup, is_waiting, radius, waiting_time
from globalbandits.statistics import count, no_statistics, uncount
from tests.oracles import policies as oracles
from tests.policies.families import bernoulli_reward, beta_reward, model_of

CROSS = RewardModel.from_functions([lambda theta: theta, lambda theta: 1.0 - theta])
CROSS_MEANS = [lambda theta: theta, lambda theta: 1.0 - theta]


@pytest.mark.parametrize("exponent", [1.0, 0.5, 1.0 / 7.0])
@pytest.mark.parametrize("coefficient", [0.01, 1.0, 2.0, 133.0, 1e5])
def test_the_inequality_is_the_lambert_form(coefficient, exponent):
    """`Delta < radius(t)` if and only if t < C2(Delta), from hardly any to endless waiting."""
    setup = Setup(CROSS.tables, coefficient, exponent / 2.0)
    seen = set()
    for t in [3, 4, 5, 7, 10, 50, 137, 1000, 9_999, 10**5, 10**7, 10**10]:
        # Distances that put C2 just below, at and above t, and far from it.
        edge = radius(setup, t)
        for ratio in [1e-3, 0.5, 0.9, 0.999, 1.0 - 1e-9, 1.0 + 1e-9, 1.001, 1.1, 2.0, 1e3]:
            distance = edge * ratio
            factor = (coefficient / distance) ** (2.0 / exponent)
            waits = t < oracles.waiting_time(factor)
            assert (distance < radius(setup, t)) == waits, (t, ratio)
            seen.add(waits)
    assert seen == {True, False}


def test_the_inequality_is_the_lambert_form_at_every_time():
    """All t from 3 on, for A from below e (never a wait) to 1,000."""
    times = range(3, 12_000)
    for factor in [0.1, 1.0, 2.0, 2.7, 2.7183, 2.72, 3.0, 5.0, 40.0, 1000.0]:
        end = oracles.waiting_time(factor)
        assert [t < factor * math.log(t) for t in times] == [t < end for t in times]


@pytest.mark.parametrize("distance", [2.0, 0.5, 0.01, 1e-6])
def test_waiting_time_is_c2(distance):
    setup = Setup(CROSS.tables, 2.0, 0.5)
    assert waiting_time(setup, distance) == oracles.waiting_time((2.0 / distance) ** 2)


def test_waiting_time_without_a_distance_is_infinite():
    setup = Setup(CROSS.tables, 2.0, 0.5)
    assert waiting_time(setup, 0.0) == waiting_time(setup, -0.1) == math.inf
    assert waiting_time(setup, 1e-200) == math.inf  # beyond the largest float
    assert waiting_time(setup, 1.9) == 1.0  # A < e: the inequality always holds


def test_it_switches_with_the_papers_constants():
    """D1bar = 1 and K = 2: at theta = 0.95 UCB1 decides some hundred rounds, then WAGP."""
    learner = Learner(BUW(), CROSS, seed=np.random.default_rng(1))
    oracle = oracles.BUW(CROSS_MEANS, (0.0, 1.0), 1.0, 1.0)
    oracle_rng = np.random.default_rng(1)
    uniforms = np.random.default_rng(2).random(3_000).tolist()
    truth = [0.95, 0.05]
    arms, phases = [], []
    for step, uniform in enumerate(uniforms):
        if step >= 2:
            _, setup, stats, _ = learner.parts
            phases.append("UCB1" if is_waiting(setup, stats, learner.estimate) else "WAGP")
        arm = learner.select()
        assert arm == oracle.select(oracle_rng), step
        reward = bernoulli_reward(truth[arm], uniform)
        learner.update(arm, reward)
        oracle.update(arm, reward)
        arms.append(arm)
    assert phases == oracle.phases
    switch = phases.index("WAGP")
    assert 300 < switch < 900
    assert set(phases[:switch]) == {"UCB1"}
    assert set(phases[switch:]) == {"WAGP"}
    assert sum(arms[: switch + 2]) > 10  # UCB1 has explored the wrong arm,
    assert sum(arms[switch + 2 :]) == 0  # WAGP leaves it alone


def test_on_the_pricing_model_it_is_ucb1_for_a_long_time():
    model = model_of("pricing")
    both = [Learner(policy, model, seed=4) for policy in (BUW(), UCB1())]
    truth = model.means(0.4)
    for uniform in np.random.default_rng(0).random(2_000).tolist():
        arms = [learner.select() for learner in both]
        assert arms[0] == arms[1]
        for learner in both:
            learner.update(arms[0], beta_reward(float(truth[arms[0]]), uniform))
    assert both[0].explain().details["phase"] == "UCB1"
    assert both[0].explain().details["waiting_time"] == math.inf


def test_constants_come_from_the_unit_scale():
    """Rewards in another currency change nothing: D1bar is that of means in [0, 1]."""
    cents = RewardModel.from_functions(
        [lambda theta: 100.0 * theta, lambda theta: 100.0 - 100.0 * theta],
        reward_range=(0.0, 100.0),
    )
    here, there = BUW(scale=0.5).setup(CROSS), BUW(scale=0.5).setup(cents)
    assert here.coefficient == pytest.approx(1.0, rel=1e-5)  # 0.5 * 1 * 2
    assert there.coefficient == pytest.approx(here.coefficient, rel=1e-9)
    assert here.exponent == there.exponent == 0.5


def test_explanation_of_every_phase():
    learner = Learner(BUW(), CROSS, seed=0)
    first = learner.explain()
    assert (first.choice, first.details) == (0, {"phase": "first plays"})
    assert "not played yet" in first.reason

    learner.update([0, 1], [1.0, 0.0])
    early = learner.explain()
    assert early.details["phase"] == "UCB1"
    assert early.details["time"] == 3
    assert early.details["distance"] == pytest.approx(0.5)
    assert early.details["safe_distance"] < 0.0
    assert "C2 is infinite while the confidence radius exceeds" in early.reason

    learner.update([0] * 150 + [1] * 150, [1.0] * 150 + [0.0] * 150)
    later = learner.explain()
    assert later.details["phase"] == "UCB1"
    safe = 0.5 - 2.0 * math.sqrt(math.log(302) / 302)
    assert later.details["safe_distance"] == pytest.approx(safe, rel=1e-5)
    c2 = later.details["waiting_time"]
    assert 302 < c2 < math.inf
    assert f"UCB1 phase: largest upper confidence bound; WAGP takes over at C2 = {c2:.6g}" in str(
        later
    )

    learner.update([0] * 400, [1.0] * 400)
    last = learner.explain()
    assert last.details["phase"] == "WAGP"
    assert last.details["waiting_time"] <= last.details["time"]
    assert "WAGP phase: the best arm at the estimate" in last.reason


def test_rules_keep_both_statistics_in_step():
    setup = BUW().setup(CROSS)
    stats, state = no_statistics(2), rules.init(setup)
    for arm, reward in [(0, 0.25), (1, 0.5), (0, 0.75)]:
        count(stats, arm, reward)
        rules.update(setup, stats, state, arm, reward)
    assert state.bounds.means.tolist() == [0.5, 0.5]
    assert state.bounds.widths.tolist() == [1.0 / math.sqrt(2.0), 1.0]
    assert state.own.thetas.tolist() == pytest.approx([0.5, 0.5])
    uncount(stats, 1, 0.5)
    rules.rebuild(setup, stats, state)
    bounds = state.bounds
    assert (bounds.played[0], bounds.means[1], bounds.widths[1]) == (1, 0.0, 0.0)
    assert rules.estimate(setup, stats, state) == pytest.approx(0.5)
