"""Policies of models with several unknown numbers."""

import json
import os

import numpy as np
import pytest

import globalbandits as gb
from globalbandits._random import Stream, generator
from globalbandits.compiling.engine import Engine
from globalbandits.errors import PolicyError, ScenarioError, SimulationError
from tests.policies import contract
from tests.simulation.worlds import records_of
from tests.soak import length

PRICES = [2.0, 4.0, 6.0, 8.0]


def make_shop():
    return gb.VectorModel(
        "level * exp(-slope*arm)",
        PRICES,
        domain={"level": (0.5, 1.0), "slope": (0.02, 0.6)},
        value="(arm - 1.5) * mean",
    )


THETA = {"level": 0.8, "slope": 0.2}
SEVERAL = [gb.IDS(), gb.GridThompson(), gb.Elastic(horizon=500), gb.UCBS(), gb.UCBC()]


def play(learner, n, seed=0):
    means = learner.model.means(THETA)
    rng = np.random.default_rng(seed)
    chosen = []
    for _ in range(n):
        chosen.append(learner.select())
        learner.update(chosen[-1], float(rng.random() < means[chosen[-1]]))
    return chosen


@pytest.mark.skipif("GLOBALBANDITS_SOAK" not in os.environ, reason="minutes: make soak")
@pytest.mark.parametrize("policy", [gb.IDS(), gb.Elastic()], ids=lambda policy: policy.label)
def test_the_contract_holds(policy):
    # Plain Python takes minutes. Learners use compiled code that is in memory.
    model = make_shop()
    gb.Learner(policy, model, compiled=True)
    gb.testing.check_policy(policy, model)


@pytest.mark.parametrize("policy", SEVERAL, ids=lambda policy: policy.label)
def test_an_estimate_has_a_number_per_name(policy):
    learner = gb.Learner(policy, make_shop(), seed=1, compiled=False)
    assert learner.estimate is None
    play(learner, 8)
    assert list(learner.estimate) == ["level", "slope"]
    explained = learner.explain()
    assert explained.estimate == learner.estimate
    assert min(explained.deviations.values()) > 0.0
    assert "level" in str(explained)
    assert "slope" in repr(learner)


@pytest.mark.parametrize("policy", SEVERAL, ids=lambda policy: policy.label)
def test_rewards_are_forgotten_merged_and_restored(policy):
    model = make_shop()
    learner = gb.Learner(policy, model, seed=1, compiled=False)
    play(learner, length(5, 10))
    state = json.loads(json.dumps(learner.state()))
    again = gb.Learner.restore(policy, model, state, compiled=False)
    assert again.estimate == learner.estimate
    assert play(again, 3) == play(learner, 3)
    plain = gb.Learner(policy, model, seed=1, compiled=False)
    plain.update([0, 1, 2, 3], [1.0, 0.0, 1.0, 0.0])
    before = plain.estimate
    plain.update(3, 1.0)
    plain.forget(3, 1.0)
    assert plain.estimate == pytest.approx(before, rel=1e-9)
    one, two = (gb.Learner(policy, model, seed=1, compiled=False) for _ in range(2))
    one.update([0, 1], [1.0, 0.0])
    two.update([2, 3], [1.0, 0.0])
    assert one.merge(two).estimate == pytest.approx(before, rel=1e-9)


REFUSING = [
    gb.WAGP(),
    gb.BUW(),
    gb.NonStationaryWAGP(half_window=10),
    gb.OSSB(),
    gb.GridPlugIn(),
    gb.RandomEffectsThompson(),
    gb.Safe(gb.IDS()),
    gb.LinearGreedy(),
]


@pytest.mark.parametrize("policy", REFUSING, ids=lambda policy: policy.label)
def test_policies_of_one_number_name_their_replacement(policy):
    with pytest.raises(
        PolicyError, match=r"one unknown number .* level, slope: take Elastic or IDS"
    ):
        gb.Learner(policy, make_shop())


def make_ceiling():
    return gb.VectorModel(
        "top - level * exp(-slope*arm)",
        PRICES,
        domain={"top": (0.6, 0.9), "level": (0.1, 0.5), "slope": (0.1, 0.6)},
    )


def test_policies_of_two_numbers_refuse_three():
    model = make_ceiling()
    for policy in (gb.Elastic(), gb.UCBS()):
        with pytest.raises(PolicyError, match=r"one or two unknown .* take IDS.*top, level, slope"):
            gb.Learner(policy, model)
    with pytest.raises(PolicyError, match=r"for OSSB, .* take IDS, or IndependentGittins, .* fix"):
        gb.Learner(gb.OSSB(), model)
    assert gb.Learner(gb.ThompsonSampling(), model, seed=0).select() in range(len(PRICES))


def test_three_numbers_are_estimated():
    learner = gb.Learner(gb.GridThompson(), make_ceiling(), seed=0, compiled=False)
    assert learner.select() in range(len(PRICES))
    learner.update(1, 1.0)
    assert list(learner.estimate) == ["top", "level", "slope"]
    assert learner.estimate["top"] > 0.75 > 0.3 > learner.estimate["level"]


@pytest.mark.skipif("GLOBALBANDITS_SOAK" not in os.environ, reason="minutes: make soak")
def test_compiled_rules_of_three_numbers_choose_the_same_arms():
    theta = {"top": 0.8, "level": 0.3, "slope": 0.3}
    contract.check_same_bits(gb.IDS(), gb.Environment(make_ceiling(), theta), 4)


def test_greedy_play_warns():
    with pytest.warns(RuntimeWarning, match="may never leave a wrong arm"):
        gb.Learner(gb.GridGreedy(), make_shop())


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        (gb.IDS(likelihood="beta"), "likelihood must be 'bernoulli'"),
        (gb.IDS(prior=(0.5, 0.1)), "prior must have a pair"),
        (gb.Elastic(drift=True), "drift must be False"),
        (gb.Elastic(theta_prior=(1.0, 2.0)), "theta_prior must be None"),
    ],
)
def test_parameters_for_one_number_are_refused(policy, text):
    with pytest.raises(PolicyError, match=text):
        gb.Learner(policy, make_shop())


def test_priors_of_several_numbers_survive_json():
    policy = gb.IDS(prior=[[0.8, 0.1], [0.2, 0.05]])
    assert gb.Policy.from_dict(json.loads(json.dumps(policy.to_dict()))) == policy
    with pytest.raises(PolicyError, match="prior must be"):
        gb.Learner(policy, gb.demand.linear([0.4, 0.8]))


def test_elastic_tests_a_price_whose_curve_is_near_0():
    model = gb.VectorModel(
        "expit(level - slope*arm)",
        [1.0, 2.0, 4.0, 5.0],
        domain={"level": (-1.0, 4.0), "slope": (0.25, 3.0)},
        value="(arm - 0.5) * mean",
    )
    learner = gb.Learner(gb.Elastic(horizon=10_000), model)
    # Price 1 sells 10 %, price 2 3 %: by the curves the others hardly sell. One try of each is
    # no reason to drop them, because price 5 is the best if it sells 1.2 %.
    learner.update(0, 30.0, count=300)
    learner.update(1, 9.0, count=300)
    learner.update(2, 0.0)
    learner.update(3, 0.0)
    assert learner.estimate["slope"] > 1.0
    assert learner.select() == 3
    learner.update(2, 0.0, count=300)
    learner.update(3, 0.0, count=300)
    assert learner.select() == 0


def test_an_environment_has_named_numbers():
    model = make_shop()
    env = gb.Environment(model, THETA, noise=gb.BernoulliNoise())
    assert env.true_means() == pytest.approx(0.8 * np.exp(-0.2 * np.array(PRICES)))
    assert env.to_dict()["theta"] == THETA
    with pytest.raises(ScenarioError, match=r"theta\['slope'\] must lie in \[0.02, 0.6\], got 3.0"):
        gb.Environment(model, {"level": 0.8, "slope": 3.0})
    with pytest.raises(ScenarioError, match="theta must have a number for each of level, slope"):
        gb.Environment(model, {"level": 0.8})


def test_simulated_policies_find_the_best_price():
    """Regret over 8 runs, with four standard errors of the paired difference to UCB1."""
    model = make_shop()
    env = gb.Environment(model, THETA, noise=gb.BernoulliNoise())
    result = gb.simulate(env, [gb.IDS(), gb.UCB1()], horizon=600, runs=8, checkpoints=2)
    regret = result.dataset["regret"].isel(time=-1)
    gain = regret.sel(policy="UCB1").values - regret.sel(policy="IDS").values
    assert gain.mean() > 4.0 * gain.std(ddof=1) / np.sqrt(len(gain))
    estimates = result.dataset["estimate"]
    assert estimates.dims == ("policy", "run", "time", "parameter")
    assert np.isnan(estimates.sel(policy="UCB1")).all()
    # The played price teaches a combination of level and slope: its sales are known to 4 errors.
    for run in estimates.sel(policy="IDS").isel(time=-1).values:
        assert model.means(run)[3] == pytest.approx(0.8 * np.exp(-1.6), abs=0.12)
    panels = result.plot_estimate().axes
    assert [panel.get_ylabel() for panel in panels] == ["level", "slope"]
    truth = [line for line in panels[1].lines if line.get_label() == "true parameter"]
    assert set(truth[0].get_ydata()) == {0.2}
    assert len(result.plot_estimate(parameter="slope", run=3).axes) == 1
    with pytest.raises(SimulationError, match="parameter must be one of level, slope, got 'theta'"):
        result.plot_estimate(parameter="theta")
    with pytest.raises(SimulationError, match="parameter must be one of level, slope if ax is giv"):
        result.plot_estimate(ax=panels[0])


@pytest.mark.parametrize(
    "policy", [*SEVERAL, gb.Hold(gb.IDS(), every=3)], ids=lambda policy: policy.label
)
def test_the_simulator_records_the_estimates_of_a_learner(policy):
    env = gb.Environment(make_shop(), THETA, noise=gb.BernoulliNoise())
    records = records_of(env, [policy], 4, times=4, engine=Engine(interpreted=True))
    learner = gb.Learner(policy, env.model, seed=generator(Stream.POLICY, 3), compiled=False)
    for step, u in enumerate(generator(Stream.REWARD, 3).random(4)):
        arm = learner.select()
        learner.update(arm, float(u < env.true_means()[arm]))
        assert records.estimate[0, 0, step].tolist() == list(learner.estimate.values())


def test_rewards_of_a_shop_are_sales():
    shop = gb.demand.exponential(PRICES, cost=1.5, level=(0.02, 0.2))
    theta = {"level": 0.05, "slope": 0.2}
    assert gb.Environment(shop, theta).noise == gb.BernoulliNoise()
    assert gb.Environment(make_shop(), THETA).noise == gb.BetaNoise()


def test_the_truth_may_be_another_vector_model():
    model = make_shop()
    other = gb.VectorModel(
        "level - slope*arm", PRICES, domain={"level": (0.5, 0.9), "slope": (0.01, 0.05)}
    )
    numbers = {"level": 0.6, "slope": 0.05}
    env = gb.Environment(model, truth=other, truth_theta=numbers, noise=gb.BernoulliNoise())
    assert env.true_means() == pytest.approx(other.means(numbers))
    assert env.to_dict()["truth"]["theta"] == numbers
