"""Stopping rules: against sums by hand, valid at all times, the same live and simulated."""

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.compiling.engine import Engine
from tests.policies.checksums import checksum, numbers_of
from tests.simulation.worlds import assert_same_bits

DOSES = [1.0, 2.0, 3.0, 4.0]
MODEL = gb.dose.logistic(DOSES, target=0.25, domain=(0.0, 4.0))


def by_hand(counts, sums, prior=None, cells=200):
    """Posterior probabilities, and likelihoods over the prior's mean likelihood, per cell."""
    low, high = MODEL.domain
    thetas = low + (high - low) * (np.arange(cells) + 0.5) / cells
    means = MODEL.means(thetas)
    likelihood = np.prod(means**sums * (1 - means) ** (np.array(counts) - sums), axis=1)
    weights = (
        np.ones(cells) if prior is None else np.exp(-0.5 * ((thetas - prior[0]) / prior[1]) ** 2)
    )
    weights /= weights.sum()
    return (
        thetas,
        means,
        likelihood * weights / (likelihood @ weights),
        likelihood / (likelihood @ weights),
    )


def learner_with(counts, sums):
    learner = gb.Learner(gb.WAGP(), MODEL, seed=0)
    for arm, (count, total) in enumerate(zip(counts, sums, strict=True)):
        for number in range(count):
            learner.update(arm, float(number < total))
    return learner


@pytest.mark.parametrize("prior", [None, (1.5, 0.5)])
def test_too_high_by_the_posterior(prior):
    counts, sums = [6, 3, 0, 0], np.array([2, 2, 0, 0])
    _, means, posterior, _ = by_hand(counts, sums, prior)
    probability = posterior[means[:, 0] > 0.25].sum()
    assert 0.01 < probability < 0.99
    learner = learner_with(counts, sums)
    rule = {"above": 0.25, "prior": prior}
    assert learner.should_stop(gb.StopWhen(confidence=probability - 1e-9, **rule)) == "too high"
    assert learner.should_stop(gb.StopWhen(confidence=probability + 1e-9, **rule)) is None


def test_one_contender_by_the_posterior():
    counts, sums = [6, 6, 12, 0], np.array([0, 1, 3, 0])
    thetas, _, posterior, _ = by_hand(counts, sums)
    best = MODEL.gaps(thetas).argmin(axis=1)
    probability = max(posterior[best == arm].sum() for arm in range(4))
    learner = learner_with(counts, sums)
    rule = {"one_contender": True, "contender_rewards": 0}
    below = gb.StopWhen(confidence=probability - 1e-9, **rule)
    assert learner.should_stop(below) == "one contender"
    above = gb.StopWhen(confidence=probability + 1e-9, **rule)
    assert learner.should_stop(above) is None


def test_a_single_contender_needs_rewards_of_its_own():
    counts, sums = [5, 5, 5, 0], np.array([0, 1, 3, 0])
    thetas, _, posterior, _ = by_hand(counts, sums)
    best = MODEL.gaps(thetas).argmin(axis=1)
    assert np.bincount(best, posterior).argmax() == 1
    learner = learner_with(counts, sums)
    rule = {"one_contender": True, "confidence": 0.3}
    assert learner.should_stop(gb.StopWhen(**rule)) is None
    assert learner.should_stop(gb.StopWhen(contender_rewards=5, **rule)) == "one contender"
    learner.update(1, 0.0)
    assert learner.should_stop(gb.StopWhen(**rule)) == "one contender"


@pytest.mark.parametrize(
    "model",
    [
        gb.dose.linear([1.0, 2.0, 9.0], target=0.25),
        gb.dose.logistic([1.0, 2.0, 6.0], target=0.25, domain=(0.0, 1.0)),
        gb.dose.power([0.001, 0.01], target=0.25, domain=(-1.5, 1.5)),
    ],
)
def test_a_rule_that_cannot_stop_the_worst_run_is_refused(model):
    rule = gb.StopWhen(above=0.25, confidence=0.95)
    with pytest.raises(gb.PolicyError, match="above must be a limit that 36 largest rewards of"):
        rule.setup(model)
    env = gb.Environment(model, truth=[0.9] * model.n_arms, noise=gb.BernoulliNoise())
    with pytest.raises(gb.PolicyError, match="a wider domain has a larger one"):
        gb.simulate(env, [gb.Uniform()], 36, runs=1, stop=rule)


@pytest.mark.parametrize("prior", [{}, {"prior_variance": 1.34}])
@pytest.mark.parametrize("skeleton", [[0.001, 0.01, 0.1], [0.05, 0.12, 0.25]])
def test_the_default_domain_stops_a_trial_whose_patients_all_have_events(skeleton, prior):
    learner = gb.Learner(gb.WAGP(), gb.dose.power(skeleton, target=0.25), seed=0)
    learner.update([0] * 12, [1.0] * 12)
    assert learner.should_stop(gb.StopWhen(above=0.25, **prior)) == "too high"


def test_stopping_is_correct_where_every_dose_is_too_toxic():
    """And a stopped trial is wrong where the lowest dose is acceptable."""
    toxic = gb.simulate(env_of([0.5, 0.6, 0.7, 0.8]), [gb.WAGP()], 30, runs=100, stop=SAFETY)
    table = toxic.characteristics(target=0.25)
    assert table.loc["WAGP", "correct"] == table.loc["WAGP", "none"] > 0.5
    safe = gb.simulate(env_of([0.24, 0.6, 0.7, 0.8]), [gb.WAGP()], 30, runs=100, stop=SAFETY)
    choice = safe.dataset["choice"].values
    assert safe.characteristics().loc["WAGP", "correct"] == np.mean(choice == 0)
    assert (choice < 0).any()


def test_anytime_rules_follow_the_likelihood_ratio():
    counts, sums = [9, 3, 0, 0], np.array([6, 3, 0, 0])
    thetas, means, _, ratio = by_hand(counts, sums)
    safe = means[:, 0] <= 0.25
    least = 1.0 - ratio[safe].max()  # all of them are refuted up to this confidence
    assert 0.5 < least < 1.0
    learner = learner_with(counts, sums)
    rule = {"above": 0.25, "by": "anytime"}
    assert learner.should_stop(gb.StopWhen(confidence=least - 1e-6, **rule)) == "too high"
    assert learner.should_stop(gb.StopWhen(confidence=least + 1e-6, **rule)) is None
    best = MODEL.gaps(thetas).argmin(axis=1)
    top = best[ratio.argmax()]
    decided = 1.0 - ratio[best != top].max()
    rule = {"one_contender": True, "by": "anytime", "contender_rewards": 0}
    learner = learner_with(counts, sums)
    assert 0.0 < decided < 1.0
    assert learner.should_stop(gb.StopWhen(confidence=decided - 1e-6, **rule)) == "one contender"
    assert learner.should_stop(gb.StopWhen(confidence=decided + 1e-6, **rule)) is None


def test_safety_comes_first_and_no_rule_stops_too_early():
    learner = learner_with([8, 0, 0, 0], [8, 0, 0, 0])
    both = {"above": 0.25, "decisions": 8}
    assert learner.should_stop(gb.StopWhen(**both)) == "too high"
    assert learner.should_stop(gb.StopWhen(after=9, **both)) == "decisions"
    assert learner.should_stop(gb.StopWhen(after=9, above=0.25)) is None
    assert gb.Learner(gb.WAGP(), MODEL).should_stop(gb.StopWhen(above=0.25)) is None


@pytest.mark.parametrize("noise", [gb.BernoulliNoise(), gb.BetaNoise()])
def test_an_anytime_rule_is_rarely_wrong(noise):
    """The lowest dose is just below the limit, and looked at after every one of 400 rewards."""
    theta = float(MODEL.invert(0, 0.25)) - 1e-3
    env = gb.Environment(MODEL, theta, noise)
    rule = gb.StopWhen(above=0.25, by="anytime", confidence=0.8)
    data = gb.simulate(env, [gb.Uniform()], horizon=400, runs=500, stop=rule).dataset
    wrong = float((data["stop_reason"].values == 1).mean())
    assert wrong <= 0.2 + 4 * np.sqrt(0.2 * 0.8 / 500)


def env_of(means):
    return gb.Environment(MODEL, truth=means, noise=gb.BernoulliNoise())


SAFETY = gb.StopWhen(above=0.25, confidence=0.8, decisions=30)
RULE = gb.StopWhen(
    above=0.25, confidence=0.9, one_contender=True, decisions=30, contender_rewards=0
)


@pytest.mark.parametrize(("rule", "reasons"), [(SAFETY, {1, 3}), (RULE, {2, 3})])
def test_runs_are_those_without_a_rule_up_to_the_stop(rule, reasons, interpreted):
    policies = {"wagp": gb.WAGP(), "limited": gb.Limited(gb.UCB1(), cohort=3)}
    times = list(range(1, 41))
    env = env_of([0.3, 0.4, 0.5, 0.6])
    free = gb.simulate(env, policies, 40, runs=12, checkpoints=times).dataset
    data = gb.simulate(env, policies, 40, runs=12, checkpoints=times, stop=rule).dataset
    stopped = data["stopped"].values
    assert set(np.unique(data["stop_reason"].values)) == reasons
    assert (stopped <= 30).all()
    np.testing.assert_array_equal(data["pulls"].values.sum(axis=2), stopped)
    for policy in range(2):
        for run in range(12):
            end = stopped[policy, run]
            for name in ("regret", "estimate"):
                one, whole = data[name].values[policy, run], free[name].values[policy, run]
                np.testing.assert_array_equal(one[:end], whole[:end])
                np.testing.assert_array_equal(one[end:], whole[end - 1])
    too_high = data["stop_reason"].values == 1
    assert (data["choice"].values[too_high] == -1).all()
    assert (data["choice"].values[~too_high] >= 0).all()


def test_a_learner_stops_where_the_simulator_does(interpreted):
    """Rewards without noise: the same counts and sums in both."""
    env = gb.Environment(MODEL, theta=1.2, noise=gb.NoNoise())
    policy = gb.Limited(gb.WAGP(), cohort=2)
    data = gb.simulate(env, [policy], 60, runs=1, stop=RULE).dataset
    learner = gb.Learner(policy, MODEL, seed=0)
    reason = None
    while reason is None:
        arm = learner.select()
        learner.update(arm, float(MODEL.means(1.2)[arm]))
        reason = learner.should_stop(RULE)
    assert learner.n_observations == int(data["stopped"].values[0, 0])
    names = {1: "too high", 2: "one contender", 3: "decisions"}
    assert reason == names[int(data["stop_reason"].values[0, 0])]


def stopped_records(env, horizon, block=None, engine=None):
    from globalbandits._random import States
    from globalbandits.simulation.checkpoints import checkpoint_times
    from globalbandits.simulation.play.arena import Arena
    from globalbandits.simulation.play.job import empty_records, make_job

    times = checkpoint_times(horizon, 20)
    job = make_job(env, {"a": gb.WAGP(), "b": gb.Uniform()}, horizon, times, 3, stop=RULE)
    arena = Arena(job, engine or Engine(), States(3, 0, 5), block)
    records = empty_records(job, 5)
    assert arena.play(0, 5, records, 0, lambda n: True) == 5
    return records


@pytest.mark.parametrize(
    "env",
    [
        env_of([0.3, 0.4, 0.5, 0.6]),
        gb.Environment(MODEL, truth=lambda time, arm: 0.1 * arm, noise=gb.BernoulliNoise()),
        gb.Environment(MODEL, 0.6, gb.BernoulliNoise(), drift=gb.RandomWalk(drift_time=100)),
    ],
    ids=["fixed", "timed", "drifting"],
)
def test_blocks_and_compilation_make_no_difference(env):
    whole = stopped_records(env, 50)
    assert (whole.stopped > 0).all()
    assert_same_bits(whole, stopped_records(env, 50, block=7))
    assert_same_bits(whole, stopped_records(env, 50, engine=Engine(interpreted=True)))


def test_evidence_stays_as_it_was_at_the_stop(interpreted):
    env = env_of([0.6, 0.7, 0.8, 0.9])
    rule = gb.StopWhen(decisions=5)
    data = gb.simulate(env, [gb.Uniform()], 20, runs=2, stop=rule, evidence=True, checkpoints=4)
    low = data.dataset["interval_low"].values
    assert (low[:, :, 1:] == low[:, :, :1]).all()


def test_characteristics_count_stopped_runs():
    result = gb.simulate(env_of([0.4, 0.5, 0.6, 0.7]), [gb.WAGP()], 30, runs=100, stop=SAFETY)
    table = result.characteristics()
    data = result.dataset
    assert table.loc["WAGP", "none"] == np.mean(data["choice"].values == -1)
    assert table.loc["WAGP", "stopped"] == np.mean(data["stopped"].values < 30)
    assert table.loc["WAGP", "none"] > 0.5
    assert result.selection().loc["WAGP", "none"] == table.loc["WAGP", "none"]
    assert result.spec["stop"]["above"] == 0.25


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({}, "StopWhen must have above, one_contender, decisions, at_recommended, at_any or"),
        ({"above": "x"}, "above must be a number, got 'x'"),
        ({"above": 0.2, "arm": -1}, "arm must be at least 0, got -1"),
        ({"one_contender": 1}, "one_contender must be True or False, got 1"),
        ({"decisions": 0}, "decisions must be at least 1, got 0"),
        ({"decisions": 5, "confidence": 1.0}, "confidence must .* got 1.0"),
        ({"decisions": 5, "by": "luck"}, "by must be one of posterior, anytime, got 'luck'"),
        ({"decisions": 5, "prior": (0, 0)}, r"prior must be None or \(mean, standard deviation\)"),
        ({"decisions": 5, "prior_variance": -1}, "prior_variance must be .* got -1"),
        (
            {"decisions": 5, "prior": (0.0, 1.0), "prior_variance": 1.0},
            "prior_variance must be None where prior is given, got 1.0",
        ),
        ({"decisions": 5, "contender_rewards": -1}, "contender_rewards must be at least 0, got -1"),
        ({"decisions": 5, "after": -1}, "after must be at least 0, got -1"),
        ({"decisions": 5, "cells": 1}, "cells must be at least 2, got 1"),
    ],
)
def test_an_invalid_rule_is_refused(parts, message):
    with pytest.raises(gb.PolicyError, match=message):
        gb.StopWhen(**parts)


def test_a_rule_that_does_not_fit_is_refused():
    learner = gb.Learner(gb.WAGP(), MODEL)
    with pytest.raises(gb.PolicyError, match="arm must be at most 3, the last arm, got 4"):
        learner.should_stop(gb.StopWhen(above=0.2, arm=4))
    with pytest.raises(gb.PolicyError, match=r"above must lie in the reward range \[0, 1\], got 2"):
        learner.should_stop(gb.StopWhen(above=2))
    with pytest.raises(gb.PolicyError, match="rule must be a StopWhen, got 3"):
        learner.should_stop(3)
    with pytest.raises(gb.SimulationError, match="stop must be a StopWhen, got 36"):
        gb.simulate(env_of([0.1] * 4), [gb.WAGP()], 5, stop=36)
    with pytest.raises(gb.PolicyError, match="prior must have a density on the domain that is a"):
        gb.Learner(gb.GridPlugIn(prior=(0.0, 1e-300)), MODEL)


LINES = gb.RewardModel(
    lambda theta, arm: 4.0 * theta * arm - 2.0, [0.5, 1.0, 2.0], reward_range=(-2.0, 8.0)
)
TWO_NUMBERS = gb.dose.logistic(
    DOSES, intercept=(-3.0, 3.0), slope=(0.1, 3.0), reference=2.0, target=0.25
)
NORMALS = [("normal", -0.5, 1.0), ("lognormal", -0.3, 0.4)]
STOPS = [
    ("above", gb.StopWhen(above=0.15, confidence=0.8), MODEL),
    ("above of another arm", gb.StopWhen(above=0.2, arm=1, confidence=0.7, after=9), MODEL),
    ("above at all times", gb.StopWhen(above=0.1, by="anytime", confidence=0.6), MODEL),
    ("above in units", gb.StopWhen(above=1.0, arm=2, confidence=0.9, cells=70), LINES),
    ("above with a prior", gb.StopWhen(above=0.12, prior=(2.0, 0.5), confidence=0.75), MODEL),
    ("above with a variance", gb.StopWhen(above=0.15, prior_variance=1.3, confidence=0.6), MODEL),
    (
        "above of two",
        gb.StopWhen(above=0.15, prior=NORMALS, correlation=0.3, confidence=0.7),
        TWO_NUMBERS,
    ),
    ("one contender", gb.StopWhen(one_contender=True, contender_rewards=2, confidence=0.5), MODEL),
    ("one at all times", gb.StopWhen(one_contender=True, by="anytime", confidence=0.4), LINES),
    ("one of two", gb.StopWhen(one_contender=True, confidence=0.5), TWO_NUMBERS),
    ("decisions", gb.StopWhen(decisions=7), MODEL),
    ("at any", gb.StopWhen(at_any=6), LINES),
    ("at the recommended", gb.StopWhen(at_recommended=5), MODEL),
    ("precision", gb.StopWhen(precision=4.0, confidence=0.9, after=4), LINES),
    ("precision of two", gb.StopWhen(precision=0.35, prior=NORMALS, confidence=0.8), TWO_NUMBERS),
    (
        "all",
        gb.StopWhen(above=0.6, one_contender=True, decisions=30, at_any=9, precision=0.2),
        MODEL,
    ),
]


def stop_of(rule, model):
    """A sum over all numbers of a rule; the number of rewards at the stop, and its reason."""
    policy = gb.DoseEscalation(rule="mean", cells=9)
    policy = policy if model is TWO_NUMBERS else gb.GridGreedy(cells=50)
    learner = gb.Learner(policy, model, seed=2, compiled=False)
    rng, reason, (low, high) = np.random.default_rng(14), None, model.reward_range
    while reason is None and learner.n_observations < 40:
        arm = int(rng.integers(model.n_arms))
        learner.update(arm, high if rng.random() < 0.12 + 0.12 * arm else low)
        reason = learner.should_stop(rule)
    return checksum(numbers_of(rule.setup(model))), learner.n_observations, reason


# What `stop_of` returned when these rules were written.
RECORDED_STOPS = {
    "above": (-8873.3020551, 40, None),
    "above of another arm": (-7863.0027685, 18, "too high"),
    "above at all times": (-8336.4582163, 40, None),
    "above in units": (-3974.4633595, 27, "too high"),
    "above with a prior": (-8629.3295179, 1, "too high"),
    "above with a variance": (-8914.8396059, 40, None),
    "above of two": (-111520.8765819, 1, "too high"),
    "one contender": (-8587.0959226, 4, "one contender"),
    "one at all times": (-11032.6334258, 13, "one contender"),
    "one of two": (-202816.0196958, 36, "one contender"),
    "decisions": (-8582.6850229, 7, "decisions"),
    "at any": (-11039.7330996, 13, "at any"),
    "at the recommended": (-8584.6454268, 32, "at recommended"),
    "precision": (-11044.1060524, 7, "precise"),
    "precision of two": (-105663.3888086, 7, "precise"),
    "all": (-11251.1626189, 20, "at any"),
}


@pytest.mark.parametrize(("name", "rule", "model"), STOPS, ids=[name for name, *_ in STOPS])
def test_a_rule_gives_the_recorded_numbers_and_stops(name, rule, model):
    numbers, n_rewards, reason = stop_of(rule, model)
    assert (n_rewards, reason) == RECORDED_STOPS[name][1:]
    assert numbers == pytest.approx(RECORDED_STOPS[name][0], rel=1e-9)
    assert gb.StopWhen.from_dict(rule.to_dict()) == rule
