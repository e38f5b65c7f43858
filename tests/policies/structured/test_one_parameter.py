"""What the structure of one monotone parameter makes of the field's policies."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize

from globalbandits.errors import ModelError, PolicyError
from globalbandits.model import RegionalModel, RewardModel
from globalbandits.policies import IDS, OSSB, UCBS, WAGP, Learner, RegionalUCB
from globalbandits.policies.structured import ossb
from globalbandits.policies.structured.ids import mix
from globalbandits.statistics import count, no_statistics
from tests.oracles.published_policies import NaiveIds, best_ratio, kl
from tests.policies.races import FAMILIES, beta_reward, doses, pricing, tangents
from tests.policies.valued import EVERY


def observe(policy, setup, stats, state, arm, reward):
    """Count a reward and let the policy learn it."""
    count(stats, arm, reward)
    policy.rules.update(setup, stats, state, arm, reward)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_parameter_is_confusing_so_the_program_of_graves_and_lai_is_zero(family):
    model, problem, _ = FAMILIES[family]()
    grid = np.linspace(problem.low, problem.high, 2001)
    curves = problem.means(grid)
    for theta in np.linspace(problem.low, problem.high, 23):
        means, best = problem.means(theta), list(model.best_arms(theta))
        same = np.all(np.abs(curves[:, best] - means[best]) < 1e-9, axis=1)
        elsewhere = ~np.isin(curves.argmax(axis=1), best)
        confusing = grid[same & elsewhere]
        assert confusing.size == 0
        rows = [-kl(means, problem.means(other)) for other in confusing]
        solved = optimize.linprog(
            means.max() - means,
            A_ub=np.array(rows).reshape(-1, model.n_arms),
            b_ub=-np.ones(len(rows)),
        )
        assert solved.fun == 0.0


def test_an_arm_that_is_flat_would_be_confusing():
    # The control of the test above: with a flat best arm, rates of the others are needed.
    means = lambda x: np.array([0.5 + 0 * x, 0.2 + 0.6 * x])  # noqa: E731
    grid = np.linspace(0, 1, 1001)
    theta = 0.3
    confusing = grid[(means(grid)[0] == 0.5) & (means(grid)[1] > 0.5)]
    rows = [-kl(means(theta), means(other)) for other in confusing]
    solved = optimize.linprog(
        [0.0, 0.5 - means(theta)[1]], A_ub=np.array(rows), b_ub=-np.ones(len(rows))
    )
    assert solved.fun == pytest.approx((0.5 - 0.38) / kl(0.38, 0.5), rel=0.02)


@pytest.mark.parametrize("start", [0.01, 0.4, 0.99])
def test_the_projection_of_ossb_takes_a_few_evaluations(start, monkeypatch):
    model, _, theta = pricing()
    setup, stats = OSSB().setup(model), no_statistics(model.n_arms)
    rng = np.random.default_rng(0)
    for arm in rng.integers(model.n_arms, size=200).tolist():
        count(stats, arm, float(rng.random() < model.means(theta)[arm]))
    distance, thetas = ossb.distance, []

    def noted(setup, stats, theta):
        thetas.append(theta)
        return distance(setup, stats, theta)

    best = optimize.minimize_scalar(
        lambda theta: distance(setup, stats, theta), bounds=model.domain, method="bounded"
    )
    monkeypatch.setattr(ossb, "distance", noted)
    assert ossb.minimise(setup, stats, start, *model.domain) == pytest.approx(best.x, abs=1e-4)
    # Parabolas take about 12 evaluations, and a wrong formula for them about 100.
    assert len(thetas) <= 20


def test_ossb_is_greedy_at_its_estimate():
    model, _, theta = pricing()
    learner = Learner(OSSB(), model, seed=0)
    means = model.means(theta)
    for u in np.random.default_rng(0).random(300):
        arm = learner.select()
        if learner.estimate is not None:
            assert arm in model.best_arms(learner.estimate)
        learner.update(arm, float(beta_reward(means[arm], u)))
    assert learner.estimate == pytest.approx(theta, abs=0.1)


def test_ossb_is_rebuilt_at_the_lowest_of_several_minima():
    """Arms that contradict each other; from any one start a sixth of these end elsewhere."""
    model = RewardModel.from_functions(
        [
            lambda t: 0.5 + 0.3 * np.tanh(12 * (t - 0.3)) + 0.1 * t,
            lambda t: 0.5 - 0.3 * np.tanh(12 * (t - 0.7)) - 0.1 * t,
            lambda t: 0.2 + 0.1 * t,
        ]
    )
    curves = model.means(np.linspace(0, 1, 1001))
    policy, rng = OSSB(), np.random.default_rng(0)
    setup = policy.setup(model)
    for _ in range(40):
        stats, state = no_statistics(3), policy.rules.init(setup)
        stats.counts[:] = rng.integers(1, 60, 3)
        stats.sums[:] = stats.counts * rng.random(3)
        stats.total[0] = stats.counts.sum()
        policy.rules.rebuild(setup, stats, state)
        means = stats.sums / stats.counts
        least = (stats.counts * kl(means, curves)).sum(axis=1).min()
        found = (stats.counts * kl(means, model.means(state.theta[0]))).sum()
        assert found <= least + 1e-3


def test_the_mixture_of_ids_is_the_best_of_all_pairs():
    rng = np.random.default_rng(4)
    policy = IDS(cells=50)
    model = tangents()[0]
    setup = policy.setup(model)
    kinds = set()
    for trial in range(60):
        state = policy.rules.init(setup)
        state.regrets[:] = rng.random(6) ** 2 + (0.01 if trial % 3 else 0.0)
        state.gains[:] = rng.random(6) ** 4 * (rng.random(6) < 0.8)
        mix(state.regrets, state.gains, state.pair, state.chance)
        one, other, chance = state.pair[0], state.pair[1], state.chance[0]
        regret = chance * state.regrets[one] + (1 - chance) * state.regrets[other]
        gain = chance * state.gains[one] + (1 - chance) * state.gains[other]
        found = regret**2 / gain if gain > 0 else math.inf if regret > 0 else 0.0
        best = best_ratio(state.regrets, state.gains)
        assert found <= best * (1 + 1e-12) or found == best
        kinds.add(bool(chance < 1))
    assert kinds == {True, False}


@pytest.mark.parametrize("likelihood", ["beta", "bernoulli"])
def test_regrets_and_gains_of_ids_are_those_of_the_whole_posterior(likelihood):
    model, problem, theta = tangents()
    policy = IDS(cells=200, likelihood=likelihood)
    setup = policy.setup(model)
    stats, state = no_statistics(model.n_arms), policy.rules.init(setup)
    oracle = NaiveIds(problem, likelihood, 200)
    rng, means = np.random.default_rng(0), problem.means(theta)
    for t, u in enumerate(rng.random(400)):
        if t % 20 == 0:
            np.testing.assert_allclose(state.regrets, oracle.regrets(), atol=1e-9)
            np.testing.assert_allclose(state.gains, oracle.gains(), atol=1e-9)
        arm = policy.rules.select(setup, stats, state, rng)
        reward = beta_reward(means[arm], u)
        observe(policy, setup, stats, state, arm, reward)
        oracle.update(arm, reward)


def test_ids_plays_the_mixture_it_has_planned():
    policy = IDS(cells=200)
    setup = policy.setup(doses()[0])
    state = policy.rules.init(setup)
    state.pair[:], state.chance[:] = (1, 3), 0.3
    stats, rng = no_statistics(5), np.random.default_rng(0)
    chosen = np.array([policy.rules.select(setup, stats, state, rng) for _ in range(4000)])
    assert set(chosen.tolist()) == {1, 3}
    # Four standard errors of a share of 0.3 among 4,000 draws.
    assert abs(np.mean(chosen == 1) - 0.3) < 4 * math.sqrt(0.3 * 0.7 / 4000)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_confidence_set_kept_current_is_the_one_computed_afresh(family):
    model, _, theta = FAMILIES[family]()
    policy = UCBS(alpha=0.5)
    setup = policy.setup(model)
    state, fresh = policy.rules.init(setup), policy.rules.init(setup)
    stats = no_statistics(model.n_arms)
    rng, means = np.random.default_rng(7), model.means(theta)
    n_empty = 0
    for t in range(600):
        # Long spells of one arm let the others' intervals grow old.
        arm = int(rng.integers(model.n_arms)) if t % 9 == 0 else t // 60 % model.n_arms
        observe(policy, setup, stats, state, arm, beta_reward(means[arm], rng.random()))
        policy.rules.rebuild(setup, stats, fresh)
        np.testing.assert_array_equal(state.parts, fresh.parts)
        n_empty += int(state.parts[0] > state.parts[1])
    assert n_empty < 600


class Counted(np.ndarray):
    """An array that counts how often one of its entries is read."""

    reads = 0

    def __getitem__(self, key):
        Counted.reads += 1
        return super().__getitem__(key)


@pytest.mark.parametrize("variance", [0.25, "learned"])
def test_work_grows_with_the_number_of_arms_not_with_its_square(variance):
    prices = np.linspace(0.4, 0.95, 150)
    model = RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, prices.tolist())
    policy, stats = UCBS(variance=variance), no_statistics(150)
    setup = policy.setup(model)
    state = policy.rules.init(setup)
    state = state._replace(lows=state.lows.view(Counted))
    for arm in range(0, 150, 10):
        count(stats, arm, 0.3)
    Counted.reads = 0
    policy.rules.rebuild(setup, stats, state)
    assert 150 <= Counted.reads <= 20 * 150
    Counted.reads = 0
    observe(policy, setup, stats, state, 3, 0.3)
    assert 150 <= Counted.reads <= 20 * 150


def test_contradicting_rewards_leave_ucb_s_any_arm():
    model, _, _ = tangents()
    learner = Learner(UCBS(alpha=0.01), model, seed=0)
    for _ in range(200):
        learner.update([0, 5], [0.9, 0.9])  # one implies a low theta, the other a high one
    assert learner.estimate is None
    assert "contradict the model" in learner.explain().reason
    chosen = [learner.select() for _ in range(300)]
    assert set(chosen) == set(range(6))


def test_one_group_is_wagp():
    for family in FAMILIES.values():
        model, _, theta = family()
        wagp, regional = Learner(WAGP(), model, seed=3), Learner(RegionalUCB(), model, seed=3)
        means = model.means(theta)
        for u in np.random.default_rng(1).random(500):
            arm = wagp.select()
            assert regional.select() == arm
            reward = float(beta_reward(means[arm], u))
            wagp.update(arm, reward)
            regional.update(arm, reward)
            assert regional.estimate == wagp.estimate


def test_one_arm_per_group_is_ucb1_but_for_the_clock():
    # Means theta have all constants 1, so the bonus with alpha = 2 is sqrt(2 log(t) / N).
    single = [RewardModel(lambda theta, name: theta, [name]) for name in "abcd"]
    model = RegionalModel(single)
    truth = np.array([0.3, 0.5, 0.6, 0.45])
    policy = RegionalUCB(alpha=2)
    setup = policy.setup(model)
    stats, state = no_statistics(4), policy.rules.init(setup)
    rng = np.random.default_rng(0)
    for arm in range(4):
        observe(policy, setup, stats, state, arm, 0.5)
    for u in rng.random(800):
        index = stats.sums / stats.counts + np.sqrt(2 * np.log(stats.total[0] + 1) / stats.counts)
        arm = policy.rules.select(setup, stats, state, rng)
        assert index[arm] >= index.max() - 1e-6  # estimated constants are shaded by 1e-7
        observe(policy, setup, stats, state, arm, float(u < truth[arm]))
    assert stats.counts.min() > 20


def test_a_regional_model_counts_arms_through_its_groups():
    first, second = pricing()[0], doses()[0]
    model = RegionalModel([first, second])
    assert (model.n_groups, model.n_arms) == (2, 17)
    assert model.arms[12] == (1, 0.5)
    assert model.group_of.tolist() == [0] * 12 + [1] * 5
    means = model.means([[0.4, 2.5], [0.9, 1.0]])
    assert means.shape == (2, 17)
    np.testing.assert_array_equal(means[1, :12], first.means(0.9))
    np.testing.assert_array_equal(means[1, 12:], second.means(1.0))
    best = model.best_arms([0.4, 2.5])
    assert best == (int(means[0].argmax()),)
    assert model.gaps([0.4, 2.5])[best[0]] == 0.0
    assert model.fingerprint != RegionalModel([second, first]).fingerprint
    assert repr(model) == "RegionalModel(2 groups, 17 arms)"


def test_joint_curves_are_the_groups_curves():
    from globalbandits.model.tables import evaluate

    groups = [pricing()[0], doses()[0]]
    for name in ("mean", "inverse", "worth"):
        joint = RegionalModel(groups).joint_curves(name)
        arms = itertools.chain(*[[(g, k) for k in range(g.n_arms)] for g in groups])
        for position, (group, arm) in enumerate(arms):
            curves = getattr(group.tables, name)
            for x in np.linspace(curves.low[arm], curves.high[arm], 57):
                assert evaluate(joint, position, x) == evaluate(curves, arm, x)


def test_what_a_regional_model_refuses():
    group = pricing()[0]
    other = RewardModel(lambda theta, x: x * theta, [1, 2], reward_range=(0, 2))
    with pytest.raises(ModelError, match=r"groups must hold at least one model, got \[\]"):
        RegionalModel([])
    with pytest.raises(ModelError, match="groups must have one reward range, got"):
        RegionalModel([group, other])
    with pytest.raises(ModelError, match=r"thetas must hold 2 parameters, got \[0\.4\]"):
        RegionalModel([group, group]).means([0.4])


@pytest.mark.parametrize(
    "policy", [p for p in EVERY if p.kind != "regional_ucb"], ids=lambda p: p.kind
)
def test_only_regional_ucb_plays_groups(policy):
    rule = (
        "model must have one parameter, got a regional model|arms must be numbers unless features"
    )
    with pytest.raises((ModelError, PolicyError), match=rule):
        policy.setup(RegionalModel([pricing()[0], doses()[0]]))
