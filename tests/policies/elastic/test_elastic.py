"""Elastic and its Thompson control: as described, as specified, and what they are good for.

The oracle sums over all 3,024 cells; the package over some dozens of blocks of them, each with its
prior weight and the curves at its middle cell. The first rewards leave a wide posterior, whose
blocks are wide too. So both must agree on every index within TOLERANCE, from 20 rewards on within
LATER_TOLERANCE, and on the choice unless the oracle's two best indices are closer than that.
"""

import copy
import dataclasses
import json
import math

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.compiling.engine import Engine
from globalbandits.errors import PolicyError, StateError
from globalbandits.policies.base import Policy
from globalbandits.policies.elastic import arm_index, curve_posterior, elastic
from globalbandits.policies.elastic.elastic import Elastic
from globalbandits.policies.elastic.random_effects_thompson import RandomEffectsThompson
from globalbandits.policies.shared.worth import worth_of
from globalbandits.statistics import count, no_statistics
from tests.oracles import elastic as oracle
from tests.policies.families import TRUTH, beta_reward, model_of
from tests.policies.states import assert_same_state
from tests.simulation.worlds import assert_same_bits, pricing, records_of
from tests.soak import length

TOLERANCE, LATER_TOLERANCE = 4e-4, 1e-4

SETTINGS = {
    "open end": {},
    "horizon": {"horizon": 500},
    "no exceptions": {"exception": 0.0},
    "exceptions and no trust": {"exception": 0.9, "prior": (1.0,) * 9},
    "no caution": {"caution": 0.0},
    "much caution": {"caution": 50.0, "horizon": 1000},
    "theta known before": {"theta_prior": (0, 1, 4, 2)},
    "arms unlike": {"arm_errors": (0, 1, 2, 0.5, 1, 1, 3, 1, 1, 0, 1, 2)},
}


def biased_means(model, theta, size, seed):
    shifts = np.random.default_rng(seed).uniform(-size, size, model.n_arms)
    return np.clip(model.means(theta) + shifts, 0.01, 0.99)


def curves_of(model):
    low, high = model.domain
    return model.means(low + (high - low) * (np.arange(2016) + 0.5) / 2016)


def true_means(model, theta, lone):
    """All arms a little off their curves, or one of them far."""
    if lone is None:
        return biased_means(model, theta, 0.05, seed=1)
    means = model.means(theta).copy()
    means[lone] = means.max() + 0.15
    return means


def play_both(settings, name, n_steps, lone=None):
    """Both see the same rewards; returns the largest difference of indices at each step."""
    model = model_of(name)
    setup = Elastic(**settings).setup(model)
    stats, state = no_statistics(model.n_arms), elastic.init(setup)
    naive = oracle.Elastic(curves_of(model), **settings)
    means = true_means(model, TRUTH[name], lone)
    rng = np.random.default_rng(2)
    worst = []
    for step in range(n_steps):
        arm = elastic.select_largest(setup, stats, state, rng)
        best = np.max(naive.index)
        assert naive.index[arm] >= best - TOLERANCE, f"step {step}"
        worst.append(np.max(np.abs(naive.index - state.indices)))
        reward = beta_reward(means[arm], rng.random())
        count(stats, arm, reward)
        elastic.update(setup, stats, state, arm, reward)
        naive.update(arm, reward)
    assert state.fit.scale_weights == pytest.approx(naive.p, abs=1e-3)
    assert elastic.estimate(setup, stats, state) == pytest.approx(
        float(naive.p @ (naive.given @ setup.prior.thetas)), abs=1e-4
    )
    return np.array(worst)


def assert_close(worst):
    assert worst.max() < TOLERANCE
    assert worst[20:].max() < LATER_TOLERANCE
    assert np.median(worst) < 5e-5


@pytest.mark.parametrize("kind", [Elastic, RandomEffectsThompson])
def test_rewards_in_other_units_lead_to_the_same_decisions(kind):
    arms = [0.3, 0.6, 0.9]
    plain = gb.RewardModel(lambda theta, p: p * (1 - p * theta), arms)
    scaled = gb.RewardModel(
        lambda theta, p: 2.0 + 4.0 * p * (1 - p * theta), arms, reward_range=(2.0, 6.0)
    )
    one, other = gb.Learner(kind(), plain, seed=0), gb.Learner(kind(), scaled, seed=0)
    for reward in np.random.default_rng(0).integers(0, 2, 30).tolist():
        arm = one.select()
        assert other.select() == arm
        one.update(arm, reward)
        other.update(arm, 2.0 + 4.0 * reward)
    assert other.estimate == pytest.approx(one.estimate, rel=1e-9)


@pytest.mark.parametrize("setting", SETTINGS)
def test_plays_as_described(setting):
    worst = play_both(SETTINGS[setting], "pricing", length(120, 250))
    assert_close(worst)


def test_plays_another_model_as_described():
    worst = play_both({"horizon": 500}, "exponential", length(120, 250))
    assert_close(worst)


def test_plays_as_described_for_long():
    # From 100 rewards on an arm's index is not computed again at every reward.
    worst = play_both({}, "pricing", length(700, 2000))
    assert_close(worst)


def test_plays_as_described_with_an_arm_that_is_an_exception():
    worst = play_both({"exception": 0.5}, "pricing", length(250, 600), lone=2)
    assert_close(worst)


@pytest.mark.parametrize(
    ("setting", "lone"), [(setting, (None, 2)[place % 2]) for place, setting in enumerate(SETTINGS)]
)
def test_on_the_whole_grid_nothing_but_rounding_is_left(setting, lone):
    model, settings = model_of("pricing"), SETTINGS[setting]
    setup = Elastic(**settings).setup(model)
    setup = setup._replace(prior=setup.prior._replace(n_coarse=3024, n_fine=3024))
    stats, state = no_statistics(model.n_arms), elastic.init(setup)
    naive = oracle.Elastic(curves_of(model), **settings)
    means = true_means(model, TRUTH["pricing"], lone)
    rng = np.random.default_rng(3)
    for arm, n_rewards in enumerate([0, 1, 250, 2, 40, 3, 60, 25, 8, 0, 1, 4]):
        for uniform in rng.random(n_rewards).tolist():
            reward = beta_reward(means[arm], uniform)
            count(stats, arm, reward)
            naive.rewards[arm].append(reward)
    elastic.rebuild(setup, stats, state)
    naive.fit()
    assert state.indices == pytest.approx(naive.index, abs=1e-10)
    assert state.fit.scale_weights == pytest.approx(naive.p, abs=1e-10)


both_policies = pytest.mark.parametrize(
    "policy", [Elastic(), RandomEffectsThompson()], ids=lambda policy: policy.kind
)


@both_policies
def test_compiled_and_interpreted_rules_give_the_same_bits(policy):
    env = pricing(bias=gb.UniformBias(0.05))
    engine = Engine()
    compiled = records_of(env, [policy], 150, engine=engine)
    assert not engine.slow
    plain = records_of(env, [policy], 150, engine=Engine(interpreted=True))
    assert_same_bits(compiled, plain)


def test_it_keeps_the_curves_gain_when_they_are_right_and_survives_when_they_are_not():
    model = model_of("pricing")
    policies = {"elastic": Elastic(), "wagp": gb.WAGP(), "ucb1": gb.UCB1()}

    def regret(bias):
        env = gb.Environment(model, theta=0.4, bias=gb.UniformBias(bias))
        result = gb.simulate(env, policies, horizon=4000, runs=40, seed=5, checkpoints=[4000])
        return {name: result.dataset["regret"].sel(policy=name).values.ravel() for name in policies}

    def clearly_less(x, y):  # paired, by four standard errors
        difference = y - x
        return difference.mean() > 4.0 * difference.std(ddof=1) / len(x) ** 0.5

    right, wrong = regret(0.0), regret(0.1)
    assert clearly_less(right["elastic"], 0.2 * right["ucb1"])
    assert clearly_less(wrong["elastic"], wrong["ucb1"])
    assert clearly_less(wrong["elastic"], wrong["wagp"])


def test_an_arm_that_is_badly_wrong_is_found():
    model = model_of("pricing")
    shifts = np.zeros(12)
    shifts[0] = model.means(0.4).max() + 0.15 - model.means(0.4)[0]
    env = gb.Environment(model, theta=0.4, bias=gb.FixedBias(tuple(shifts.tolist())))
    policies = {
        "usual": Elastic(horizon=4000, exception=0.12),  # as in a game of 10^4 rounds
        "never": Elastic(horizon=4000, exception=0.0, caution=0.0),
    }
    result = gb.simulate(env, policies, horizon=4000, runs=40, seed=6, checkpoints=[4000])
    pulls = result.dataset["pulls"].values[:, :, 0]  # (policy, run) of the raised arm
    # Without exceptions the first arm, the worst by its curve, is hardly ever tried.
    assert np.mean(pulls[1] > 2000) < 0.5 < 0.75 < np.mean(pulls[0] > 2000)


def test_an_arm_with_a_useless_curve_is_found():
    # By its curve the last arm is far below the others; an error of .8 is none of the usual ones.
    means = [lambda t: 0.7 + 0.1 * t, lambda t: 0.1 + 0.1 * t, lambda t: 0.02 * t]
    model = gb.RewardModel.from_functions(means)
    noise = gb.TruncatedNormalNoise(sd=0.1)
    env = gb.Environment(model, theta=0.5, bias=gb.FixedBias((0.0, 0.0, 0.8)), noise=noise)
    result = gb.simulate(env, [Elastic(horizon=10_000)], 10_000, runs=10, seed=3, checkpoints=1)
    assert np.all(result.dataset["pulls"].values[0, :, 2] > 9_800)


def test_many_arms_with_little_noise_are_not_all_played():
    doses = [1.0 + 0.1 * k for k in range(75)]
    model = gb.dose.logistic(doses, target=0.3, domain=(0.1, 1.5))
    env = gb.Environment(model, theta=1.0, noise=gb.TruncatedNormalNoise(sd=0.05))
    result = gb.simulate(env, [Elastic(horizon=10_000)], 10_000, runs=10, seed=3, checkpoints=1)
    # One round of every dose would cost 42. Most doses are too far from the target to be tested.
    assert np.mean(np.sum(result.dataset["pulls"].values[0] > 0, axis=1)) < 25
    assert np.mean(result.dataset["regret"].values) < 10.0


def trial_with_a_lone_dose():
    """The second dose has .15 instead of the .29 of its curve, and meets the target."""
    model = gb.dose.power([0.104, 0.29, 0.446, 0.588], target=0.15, domain=(-1.0, 1.0))
    noise = gb.TruncatedNormalNoise(sd=0.05)
    return gb.Environment(model, theta=0.0, bias=gb.FixedBias((0.0, -0.14, 0.0, 0.0)), noise=noise)


def test_a_dose_below_its_curve_is_found_if_it_meets_a_target():
    # A quarter of the runs missed it when tests only looked for means above the curve.
    env = trial_with_a_lone_dose()
    result = gb.simulate(env, [Elastic(horizon=10_000)], 10_000, runs=24, seed=7, checkpoints=1)
    assert np.all(result.dataset["pulls"].values[0, :, 1] > 9_000)


def test_the_index_of_a_test_breaks_even_in_worth():
    # At the index, what the errors gain equals what the test costs. Errors that overshoot the
    # target gain nothing.
    env = trial_with_a_lone_dose()
    setup = Elastic(horizon=10_000).setup(env.model)
    stats, state = no_statistics(4), elastic.init(setup)
    for arm, reward in ((0, 0.08), (0, 0.11), (1, 0.2), (1, 0.26), (2, 0.4)):
        count(stats, arm, reward)
    elastic.rebuild(setup, stats, state)
    for arm in range(4):
        law = arm_index.law_of_arm(setup, stats, state, arm, state.horizons[0])
        index = arm_index.worth_of_test(setup.tables, arm, law, 100.0, True)
        m = law.model
        information = law.bernoulli / (law.noise + law.spread) if law.n_rewards else 0.0
        gain = 0.0
        for size in (0.25, 0.5, 1.0):
            for error in (size, -size):
                p = 1 / (1 + math.exp(-math.log(m / (1 - m)) - error))
                log = law.own * math.log(p / m) + (1 - law.own) * math.log((1 - p) / (1 - m))
                shown = 1 - math.exp(-law.bernoulli / law.variance * oracle.kl(m, p))
                better = max(0.0, worth_of(setup.tables, arm, p) - index)
                gain += 100.0 * 0.9 / 3 * shown * math.exp(information * log) * better
        for p in (0.1, 0.3, 0.5, 0.7, 0.9) if law.n_rewards == 0 else ():
            shown = 1 - math.exp(-law.bernoulli / law.variance * oracle.kl(m, p))
            gain += 100.0 * 0.1 / 5 * shown * max(0.0, worth_of(setup.tables, arm, p) - index)
        cost = index - worth_of(setup.tables, arm, law.mean)
        assert gain == pytest.approx(cost, rel=1e-9, abs=1e-12)


def shop(theta):
    """Few customers buy; the worth of a price is its profit."""
    model = gb.demand.logit([10.0, 12.0, 14.0, 16.0, 18.0, 20.0], sensitivity=0.25, cost=8.0)
    return gb.Environment(model, theta=theta, noise=gb.BernoulliNoise())


def test_few_rounds_are_lost_where_few_customers_buy():
    # With errors of one size on the reward scale it lost some 250 of 5,000 rounds, because a curve
    # of 5 % could then mean one customer in five.
    env = shop(0.0)
    assert env.model.means(0.0).max() < 0.08
    result = gb.simulate(env, [Elastic(horizon=5_000)], 5_000, runs=60, seed=4, checkpoints=1)
    lost = result.dataset["regret"].values.ravel() / env.model.worth(0.0).max()
    error = lost.std(ddof=1) / 60**0.5
    assert lost.mean() + 3.0 * error < 150.0


def test_no_success_is_weak_evidence_against_a_small_mean():
    # The likelihood ratio of exact curves is that of Bernoulli rewards, also without a success.
    model = shop(0.0).model
    setup = Elastic(exception=0.0, prior=(1, 0, 0, 0, 0, 0, 0, 0, 0)).setup(model)
    setup = setup._replace(prior=setup.prior._replace(n_coarse=3024, n_fine=3024))
    stats, state = no_statistics(model.n_arms), elastic.init(setup)
    for arm, successes, n_rewards in ((1, 0, 50), (0, 9, 90), (3, 2, 60)):
        for number in range(n_rewards):
            count(stats, arm, float(number < successes))
    elastic.rebuild(setup, stats, state)
    curves = setup.prior.means
    log = setup.prior.log_thetas + 50 * np.log(1 - curves[:, 1])
    for arm, successes, n_rewards in ((0, 9, 90), (3, 2, 60)):
        log += successes * np.log(curves[:, arm])
        log += (n_rewards - successes) * np.log(1 - curves[:, arm])
    weights = np.exp(log - log.max())
    exact = weights @ setup.prior.thetas / weights.sum()
    assert elastic.estimate(setup, stats, state) == pytest.approx(exact, abs=2e-2)


def test_a_parameter_outside_of_the_domain_costs_little():
    # It lost 46.5 +- 3.4 when it believed that theta lies in the domain.
    prices = [0.35 + 0.05 * number for number in range(12)]
    truth = gb.demand.linear_power(prices).means(0.15).tolist()
    env = gb.Environment(gb.demand.linear_power(prices, domain=(0.3, 0.6)), truth=truth)
    result = gb.simulate(env, [Elastic(horizon=10_000)], 10_000, runs=24, seed=5, checkpoints=1)
    regret = result.dataset["regret"].values.ravel()
    assert regret.mean() + 2.0 * regret.std(ddof=1) / 24**0.5 < 35.0
    assert np.all(result.dataset["estimate"].values >= 0.3)


@pytest.mark.parametrize("mean", [0.02, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("size", [0.127, 0.5])
def test_the_variance_of_an_error_is_what_the_mean_gains(mean, size):
    odds = math.exp(size) * mean / (1 - mean)
    gain = odds / (1 + odds) - mean
    assert curve_posterior.error_variance(mean, math.expm1(size)) == pytest.approx(gain**2)


def test_regret_does_not_grow_when_the_curves_cannot_reach_the_truth():
    # Without the ceiling the first arm's curve, .6 or more, keeps it best: linear regret. If
    # a parameter outside of the domain is likely, it explains the first arm, and a fifth of the
    # runs never play the second one.
    model = gb.RewardModel.from_functions([lambda t: 0.6 + 0.3 * t, lambda t: 0.3 + 0.3 * t])
    env = gb.Environment(model, truth=[0.5, 0.55])
    result = gb.simulate(env, [Elastic(horizon=10_000)], 10_000, runs=80, seed=2, checkpoints=1)
    regret = result.dataset["regret"].values.ravel()
    # One run in a hundred stays with the wrong arm, so six of 80 are more than 5 standard errors.
    assert np.mean(regret > 0.2 * 0.05 * 10_000) < 0.07


@pytest.mark.parametrize("total", [9_000, 10_200, 300_000])
def test_the_proved_bounds_are_as_described(total):
    model, settings = model_of("pricing"), {"proved": True, "caution": 0.0}
    setup = Elastic(**settings).setup(model)
    setup = setup._replace(prior=setup.prior._replace(n_coarse=3024, n_fine=3024))
    naive = oracle.Elastic(curves_of(model), **settings)
    stats, state = no_statistics(12), elastic.init(setup)
    rng = np.random.default_rng(3)
    for arm, n_rewards in enumerate([0, 1, total - 90, 2, 3, 60, 0, 3, 8, 1, 12, 0]):
        naive.rewards[arm] = (rng.random(n_rewards) ** 2).tolist()
        for reward in naive.rewards[arm]:
            count(stats, arm, reward)
    elastic.rebuild(setup, stats, state)
    naive.fit()
    assert state.indices == pytest.approx(naive.index, abs=1e-9)
    assert np.isinf(state.indices).sum() == (0 if total < 10_000 else 3)


def test_the_proved_bounds_come_from_an_arms_own_rewards():
    model = model_of("pricing")
    setup = Elastic(proved=True, exception=0.0, caution=0.0).setup(model)
    stats, state = no_statistics(12), elastic.init(setup)
    # Ten thousand rewards of one arm, a few of another that are far above its curve.
    for arm, n_rewards, reward in ((11, 19_990, 0.2), (0, 10, 0.35)):
        stats.counts[arm] += n_rewards
        stats.sums[arm] += n_rewards * reward
        stats.squares[arm] += n_rewards * reward**2
        stats.total[0] += n_rewards
    elastic.rebuild(setup, stats, state)
    least = 0.35 + 0.5 / 10**0.5 * oracle.psi_log(1e-4 * 20_001 / 10)
    assert state.indices[0] >= least
    assert state.indices[11] <= 0.2 + 0.5 / 19_990**0.5 * oracle.psi_log(10 * 20_001 / 19_990)
    assert np.isinf(state.indices[1:11]).all()  # to be played once at last
    stats.counts[:] //= 10
    stats.sums[:] /= 10
    stats.squares[:] /= 10
    stats.total[0] = stats.counts.sum()
    elastic.rebuild(setup, stats, state)
    assert np.isfinite(state.indices).all()  # before round 10^4 nothing is forced


def clear_saving(env, policies, horizon, n_runs):
    """Whether the second policy has less regret than the first, by four standard errors."""
    result = gb.simulate(env, policies, horizon, runs=n_runs, seed=5, checkpoints=[horizon])
    first, second = result.dataset["regret"].values[:, :, 0]
    saved = first - second  # paired
    return saved.mean() > 4.0 * saved.std(ddof=1) / n_runs**0.5


def test_knowing_theta_before_saves_rewards():
    env = gb.Environment(model_of("pricing"), theta=0.9)
    prior = (0.1, 0.1, 0.1, 0.1, 10.0)  # near 0.9, most likely
    policies = {"nothing": Elastic(horizon=100), "much": Elastic(horizon=100, theta_prior=prior)}
    assert clear_saving(env, policies, 100, n_runs=100)


def test_knowing_which_arms_are_off_saves_rewards():
    model, off = model_of("pricing"), (1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0)
    shifts = (0.15, 0.0, 0.0, 0.0, -0.15, 0.0, 0.0, 0.0, 0.15, 0.0, 0.0, 0.0)
    env = gb.Environment(model, theta=0.4, bias=gb.FixedBias(shifts))
    nothing = Elastic(horizon=1000, prior=(1,) * 9)
    policies = {"nothing": nothing, "much": dataclasses.replace(nothing, arm_errors=off)}
    assert clear_saving(env, policies, 1000, n_runs=400)


def test_caution_has_its_price_where_the_curves_are_right():
    env = gb.Environment(model_of("pricing"), theta=0.4)
    policies = {"careful": Elastic(caution=5.0), "bold": Elastic(caution=0.0)}
    assert clear_saving(env, policies, 10_000, n_runs=40)


@both_policies
def test_select_leaves_the_state_alone(policy):
    learner = gb.Learner(policy, model_of("linear"), seed=1)
    learner.update([0, 1, 5, 5], [0.3, 0.9, 0.0, 0.4])
    before = copy.deepcopy(learner._state)
    arms = {learner.select() for _ in range(50)}
    assert_same_state(learner._state, before)
    assert (len(arms) > 1) == isinstance(policy, RandomEffectsThompson)


def old_learner():
    """Its indices are from some rewards ago."""
    learner = gb.Learner(Elastic(), model_of("linear"), seed=4)
    learner.update([2] * 301, [0.4] * 301)
    learner.update([2, 2], [0.5, 0.6])
    state = learner._state
    assert state.fitted.total[0] < state.renewed.total[0] < learner.n_observations
    return learner


def test_an_old_index_is_restored_as_it_was():
    learner = old_learner()
    saved = json.loads(json.dumps(learner.state()))
    resumed = gb.Learner.restore(learner.policy, learner.model, saved)
    assert_same_state(resumed._state, learner._state)


def _as_old_as_the_fit(kept):
    kept["renewed"] = kept["fitted"]


def _newer_than_now(kept):
    kept["renewed"]["counts"][1] += 1
    kept["renewed"]["total"][0] += 1


def _older_than_the_fit(kept):
    for name in ("counts", "sums", "squares", "total"):
        kept["renewed"][name] = [0] * len(kept["renewed"][name])


@pytest.mark.parametrize("spoil", [_as_old_as_the_fit, _newer_than_now, _older_than_the_fit])
def test_impossible_indices_are_refused(spoil):
    learner = old_learner()
    saved = learner.state()
    spoil(saved["kept"])
    with pytest.raises(StateError, match="kept must be fields that these statistics can lead to"):
        gb.Learner.restore(learner.policy, learner.model, saved)


def test_explain_gives_the_reason():
    learner = gb.Learner(Elastic(), model_of("linear"), seed=4)
    assert learner.estimate is None
    learner.update([0, 1], [0.6, 0.6])
    told = learner.explain()
    assert told.reason.startswith("largest index: ")
    assert told.details["indices"][told.choice] == max(told.details["indices"])
    assert sum(told.details["scale_weights"].values()) == pytest.approx(1.0)
    thompson = gb.Learner(RandomEffectsThompson(), model_of("linear"), seed=4).explain()
    assert thompson.reason.startswith("best arm of one draw from the posterior around ")


SPECS = [
    Elastic(),
    Elastic(exception=0, prior=[1, 0, 0, 0, 0, 0, 0, 0, 0]),
    Elastic(horizon=1000, caution=0),
    Elastic(proved=True),
    Elastic(theta_prior=[1, 2], arm_errors=range(12)),
    RandomEffectsThompson(),
    RandomEffectsThompson(prior=range(9)),
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda policy: policy.kind)
def test_a_spec_survives_a_dict_and_json(spec):
    assert Policy.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec
    assert hash(eval(repr(spec))) == hash(spec)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Elastic(exception=1.0), r"exception must lie in \[0, 1\), got 1.0"),
        (lambda: Elastic(exception=-0.1), r"exception must lie in \[0, 1\), got -0.1"),
        (lambda: Elastic(caution=-0.1), "caution must be at least 0, got -0.1"),
        (lambda: Elastic(theta_prior=[]), "theta_prior must be 1 to 20 weights of at least 0, not"),
        (lambda: Elastic(theta_prior=(0, 0)), "theta_prior must be 1 to 20 weights of at least 0"),
        (lambda: Elastic(theta_prior=(1,) * 21), "theta_prior must be 1 to 20 weights of at lea"),
        (lambda: Elastic(theta_prior=0.5), "theta_prior must be 1 to 20 weights, got 0.5"),
        (lambda: Elastic(arm_errors=2), "arm_errors must be one number per arm, got 2"),
        (lambda: Elastic(arm_errors=(1, -1)), r"arm_errors must be at least 0, got \(1, -1\)"),
        (
            lambda: Elastic(arm_errors=(1, 2)).setup(model_of("pricing")),
            r"arm_errors must have one entry for each of the 12 arms, got \(1.0, 2.0\)",
        ),
        (lambda: Elastic(proved=1), "proved must be True or False, got 1"),
        (lambda: Elastic(horizon=0), "horizon must be at least 1, got 0"),
        (lambda: Elastic(horizon=10.5), "horizon must be an integer, got 10.5"),
        (lambda: Elastic(prior=3), "prior must be 9 weights, got 3"),
        (lambda: Elastic(prior=(1, 2)), "prior must be 9 weights of at least 0, not all 0, got"),
        (lambda: Elastic(prior=(0,) * 9), "prior must be 9 weights of at least 0, not all 0, got"),
        (lambda: Elastic(prior=(-1,) * 9), "prior must be 9 weights of at least 0, not all 0"),
        (lambda: RandomEffectsThompson(prior="no"), "prior must be a number, got 'n'"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(PolicyError, match=message):
        make()
