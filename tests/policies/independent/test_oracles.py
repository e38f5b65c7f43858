"""Each policy makes the choices of its naive version on the same rewards."""

import math

import numpy as np
import pytest

from globalbandits.policies.independent.epsilon_greedy import EpsilonGreedy
from globalbandits.policies.independent.explore_then_commit import ExploreThenCommit
from globalbandits.policies.independent.fixed_arm import FixedArm
from globalbandits.policies.independent.imed import IMED
from globalbandits.policies.independent.kl_ucb import KLUCB
from globalbandits.policies.independent.moss import MOSS
from globalbandits.policies.independent.thompson_sampling import ThompsonSampling
from globalbandits.policies.independent.ucb_tuned import UCBTuned
from globalbandits.policies.independent.uniform import Uniform
from globalbandits.statistics import count, no_statistics
from tests.oracles import published_policies as naive
from tests.policies.races import FAMILIES, bernoulli_reward, pricing, race, share_race

CASES = {
    "ucb_tuned": (UCBTuned(), lambda p: naive.NaiveIndex(p, naive.ucb_tuned), 2000),
    "moss": (MOSS(), lambda p: naive.NaiveIndex(p, naive.moss), 2000),
    "imed": (IMED(), lambda p: naive.NaiveIndex(p, naive.imed), 2000),
    "imed learned": (
        IMED(variance="learned"),
        lambda p: naive.NaiveIndex(p, naive.learned_imed),
        400,
    ),
    "kl_ucb": (KLUCB(), lambda p: naive.NaiveIndex(p, naive.kl_ucb()), 1500),
    "kl_ucb c=3": (KLUCB(c=3), lambda p: naive.NaiveIndex(p, naive.kl_ucb(3)), 300),
    "thompson_sampling learned": (
        ThompsonSampling(variance="learned"),
        naive.NaiveStudent,
        400,
    ),
    "epsilon_greedy": (EpsilonGreedy(), lambda p: naive.NaiveEpsilon(p, 0.1), 2000),
    "explore_then_commit": (ExploreThenCommit(plays=9), lambda p: naive.NaiveCommit(p, 9), 500),
    "uniform": (Uniform(), naive.NaiveUniform, 100),
    "fixed_arm": (FixedArm(2), lambda p: naive.NaiveFixed(p, 2), 100),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("case", CASES)
def test_same_choices(case, family):
    policy, oracle, horizon = CASES[case]
    model, problem, theta = FAMILIES[family]()
    race(policy, oracle(problem), model, problem.means(theta), horizon)


@pytest.mark.parametrize("n_rewards", [5, 40, 400])
@pytest.mark.parametrize("family", FAMILIES)
def test_thompson_sampling_chooses_every_arm_as_often(family, n_rewards):
    model, problem, theta = FAMILIES[family]()
    oracle = naive.NaiveThompson(problem)
    share_race(ThompsonSampling(), oracle, model, problem.means(theta), n_rewards)


@pytest.mark.parametrize("case", ["ucb_tuned", "moss", "imed", "imed learned", "epsilon_greedy"])
def test_same_choices_with_many_ties(case):
    policy, oracle, _ = CASES[case]
    model, problem, theta = pricing()
    *_, chosen = race(policy, oracle(problem), model, problem.means(theta), 300, bernoulli_reward)
    assert len(np.unique(chosen)) == model.n_arms


def test_kl_ucb_breaks_ties_of_equal_records_at_random():
    model, _, _ = pricing()
    policy = KLUCB()
    setup = policy.setup(model)
    stats, state = no_statistics(model.n_arms), policy.rules.init(setup)
    for arm in range(model.n_arms):
        reward = 0.25 if arm < 4 else 0.0
        count(stats, arm, reward)
        policy.rules.update(setup, stats, state, arm, reward)
    rng = np.random.default_rng(5)
    chosen = [policy.rules.select(setup, stats, state, rng) for _ in range(4000)]
    shares = np.bincount(chosen, minlength=12)[:4] / 4000
    assert max(chosen) < 4
    # Four standard errors of a share of 1/4 among 4,000 draws.
    assert np.abs(shares - 0.25).max() < 4 * math.sqrt(0.25 * 0.75 / 4000)
