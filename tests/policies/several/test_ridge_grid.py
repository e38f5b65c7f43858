"""The ridge grid against nested quadrature, from a handful of rewards to a million."""

import math
import os

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.policies.base import read_numbers
from globalbandits.policies.shared import ridge_posterior
from globalbandits.policies.shared.ridge_posterior import probabilities_of_best
from globalbandits.statistics import no_statistics
from tests.oracles.several import reference, reference_of_three
from tests.policies.several.drawn_rewards import draw_statistics

PRICES = np.linspace(1.0, 4.0, 8)


def logit(level, slope, price):
    return 1.0 / (1.0 + np.exp(slope * price - level))


def exponential(level, slope, price):
    return level * np.exp(-slope * price)


def power(level, slope, price):
    return level * price**-slope


MODELS = {
    "logit": (logit, {"level": (-1.0, 4.0), "slope": (0.25, 3.0)}),
    "exponential": (exponential, {"level": (0.2, 1.0), "slope": (0.2, 1.2)}),
    "power": (power, {"level": (0.15, 0.95), "slope": (0.3, 4.0)}),
}


def make_model(name):
    mean, domain = MODELS[name]
    return gb.VectorModel(
        mean, PRICES.tolist(), domain=domain, value=lambda sold, price: (price - 0.5) * sold
    )


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("best_only", [True, False])
def test_the_posterior_is_that_of_a_dense_grid(name, best_only):
    model = make_model(name)
    setup = ridge_posterior.build(model)
    rng = np.random.default_rng(3)
    state = ridge_posterior.init(setup)
    for n_rewards in (10, 100, 1_000, 10_000, 1_000_000):
        theta = model.from_unit(rng.random(2))
        stats = draw_statistics(model, theta, n_rewards, rng, best_only=best_only)
        ridge_posterior.rebuild(setup, stats, state)
        posterior = state.posterior
        n = int(posterior.grid.n_points[0])
        weights = posterior.weights[:n] / posterior.weights[:n].sum()
        means = weights @ posterior.grid.means[:n]
        variances = weights @ (posterior.grid.means[:n] - means) ** 2
        dense = reference(
            lambda x, y: model.means(model.from_unit(np.stack([x, y], axis=-1))),
            lambda m: (PRICES - 0.5) * m,
            stats.counts.astype(float),
            stats.sums,
        )
        assert posterior.grid.n_ridges[0] == 1
        assert np.max(np.abs(means - dense.means) / np.sqrt(dense.variances)) < 0.05
        assert np.max(np.abs(np.log(variances / dense.variances))) < 0.1
        best = probabilities_of_best(posterior)
        assert 0.5 * np.abs(best - dense.best).sum() < 0.03
        estimate, _ = read_numbers(gb.IDS.several, setup, stats, state)
        assert model.to_unit(estimate) == pytest.approx(dense.point, abs=0.01)


def test_a_prior_is_that_of_the_dense_grid():
    model = make_model("logit")
    setup = ridge_posterior.build(model, ((1.0, 0.2), (1.5, 0.1)))
    state = ridge_posterior.init(setup)
    means, deviations = read_numbers(gb.IDS.several, setup, no_statistics(model.n_arms), state)
    assert means == pytest.approx([1.0, 1.5], abs=0.002)
    assert deviations == pytest.approx([0.2, 0.1], rel=0.01)


THREE_PRICES = PRICES[::2]


def make_ceiling():
    return gb.VectorModel(
        lambda level, slope, top, price: top / (1.0 + np.exp(slope * price - level)),
        THREE_PRICES.tolist(),
        domain={"level": (-1.0, 4.0), "slope": (0.25, 3.0), "top": (0.3, 1.0)},
        value=lambda sold, price: (price - 0.5) * sold,
    )


def fitted(setup, stats):
    """The posterior, without the plain and slow computation of the prior."""
    n_arms = setup.tables.n_arms
    posterior = ridge_posterior.no_posterior(setup)
    state = ridge_posterior.State(no_statistics(n_arms), np.zeros(1), posterior)
    ridge_posterior.rebuild(setup, stats, state)
    return state


STATES_OF_THREE = [(1_000, True), (1_000_000, False)]
if "GLOBALBANDITS_SOAK" in os.environ:
    STATES_OF_THREE += [(20, False), (20, True), (1_000, False), (100_000, True), (1_000_000, True)]


@pytest.mark.parametrize("name", MODELS)
def test_a_ridge_is_followed_in_the_weak_direction_with_a_first_step_of_its_deviation(name):
    model = make_model(name)
    setup = ridge_posterior.build(model)
    theta, rng = model.from_unit([0.6, 0.4]), np.random.default_rng(3)
    stats = draw_statistics(model, theta, 10_000, rng, best_only=False)
    grid = fitted(setup, stats).posterior.grid
    x, y, strong_x, strong_y = grid.frames[0]

    def means_at(x, y):
        return model.means(model.from_unit([x, y]))

    step = 1e-5
    in_x = (means_at(x + step, y) - means_at(x - step, y)) / (2.0 * step)
    in_y = (means_at(x, y + step) - means_at(x, y - step)) / (2.0 * step)
    precisions = stats.counts / (means_at(x, y) * (1.0 - means_at(x, y)))
    slopes = np.stack([in_x, in_y])
    informations, directions = np.linalg.eigh(precisions * slopes @ slopes.T)
    assert abs(directions[:, 1] @ [strong_x, strong_y]) == pytest.approx(1.0, abs=1e-4)
    for side in (0, 1):
        first_step = grid.paths[side, 1, 0]
        assert first_step == pytest.approx(0.7 / math.sqrt(informations[0]), rel=0.01)


@pytest.mark.parametrize(("n_rewards", "best_only"), STATES_OF_THREE)
def test_the_posterior_of_three_numbers_is_that_of_a_dense_grid(n_rewards, best_only):
    model = make_ceiling()
    theta = [1.5, 1.0, 0.6]
    rng = np.random.default_rng(n_rewards)
    stats = draw_statistics(model, theta, n_rewards, rng, best_only=best_only)
    setup = ridge_posterior.build(model)
    state = fitted(setup, stats)
    dense = reference_of_three(
        lambda x, y, z: model.means(model.from_unit(np.stack([x, y, z], axis=-1))),
        lambda means: (THREE_PRICES - 0.5) * means,
        stats.counts.astype(float),
        stats.sums,
    )
    best = probabilities_of_best(state.posterior)
    assert 0.5 * np.abs(best - dense.best).sum() < 0.03
    means = np.zeros(model.n_arms)
    ridge_posterior.average(state.posterior, state.posterior.grid.means, means)
    assert np.max(np.abs(means - dense.means) / np.sqrt(dense.variances)) < 0.1
    estimate, _ = read_numbers(gb.IDS.several, setup, stats, state)
    assert model.to_unit(estimate) == pytest.approx(dense.point, abs=0.02)


def test_a_prior_of_three_numbers():
    model = make_ceiling()
    prior = gb.NormalPrior(
        mean={"level": 1.0, "slope": 1.5, "top": math.log(0.6)},
        sd={"level": 0.2, "slope": 0.1, "top": 0.05},
        correlation=0.5,
        log=["top"],
    )
    stats = no_statistics(model.n_arms)
    setup = ridge_posterior.build(model.with_prior(prior))
    means, deviations = read_numbers(gb.IDS.several, setup, stats, fitted(setup, stats))
    assert means == pytest.approx([1.0, 1.5, 0.6 * math.exp(0.05**2 / 2)], abs=0.002)
    assert deviations == pytest.approx([0.2, 0.1, 0.03], rel=0.02)


def test_a_second_mode_starts_a_second_ridge():
    """Means that rise and fall: the same rewards fit at both sides."""
    model = gb.VectorModel(
        lambda a, b, arm: 0.5 + 0.4 * np.cos(2 * np.pi * a) * arm + 0.05 * b,
        [0.2, 0.6, 1.0],
        domain={"a": (0.0, 1.0), "b": (0.0, 1.0)},
    )
    setup = ridge_posterior.build(model)
    state = ridge_posterior.init(setup)
    stats = no_statistics(3)
    stats.counts[:] = 2_000
    stats.sums[:] = 2_000 * model.means([0.25, 0.5])
    stats.total[0] = 6_000
    ridge_posterior.rebuild(setup, stats, state)
    posterior = state.posterior
    assert posterior.grid.n_ridges[0] >= 2
    n = int(posterior.grid.n_points[0])
    left = posterior.grid.points[:n, 0] < 0.5
    weights = posterior.weights[:n]
    assert weights[left].sum() / weights.sum() == pytest.approx(0.5, abs=0.02)


# Neuenschwander, Branson and Gsponer (2008): the rates of nine doses, with independent priors.
BLRM_DOSES = [1, 2.5, 5, 10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 250]
BLRM_RATES = [0.0124, 0.0316, 0.0655, 0.1348, 0.2018, 0.2641, 0.3212, 0.3729, 0.4614]


def test_a_log_normal_prior_has_the_published_posterior():
    model = gb.dose.logistic(
        BLRM_DOSES, intercept=(-2.5, 6.8), slope=(0.1, 10.0), reference=250.0, target=0.3
    )
    prior = gb.NormalPrior(
        mean={"intercept": 2.15, "slope": 0.52},
        sd={"intercept": 0.84, "slope": 0.80},
        log=["slope"],
    )
    learner = gb.Learner(gb.IDS(), model.with_prior(prior), compiled=False)
    learner.update([0] * 3 + [1] * 4 + [2] * 4 + [3] * 4 + [6] * 2, [0.0] * 15 + [1.0] * 2)
    rates = np.zeros(len(learner.pulls))
    posterior = learner._state.posterior
    ridge_posterior.average(posterior, posterior.grid.means, rates)
    assert rates[:9] == pytest.approx(BLRM_RATES, abs=1e-4)


def test_a_correlated_log_normal_prior_is_that_of_a_dense_grid():
    model = make_model("exponential")
    prior = gb.NormalPrior(
        mean={"level": 0.6, "slope": math.log(0.6)},
        sd={"level": 0.1, "slope": 0.2},
        correlation=0.6,
        log=["slope"],
    )
    setup = ridge_posterior.build(model.with_prior(prior))
    state = ridge_posterior.init(setup)
    level, slope = np.meshgrid(np.linspace(0.2, 1.0, 801), np.linspace(0.2, 1.2, 801))
    a, b = (level - 0.6) / 0.1, (np.log(slope) - math.log(0.6)) / 0.2
    weights = np.exp(-0.5 * (a * a - 1.2 * a * b + b * b) / (1.0 - 0.36)) / slope
    weights /= weights.sum()
    means, deviations = read_numbers(gb.IDS.several, setup, no_statistics(model.n_arms), state)
    expected = [(weights * level).sum(), (weights * slope).sum()]
    spread = [
        math.sqrt((weights * (axis - mean) ** 2).sum())
        for axis, mean in zip((level, slope), expected, strict=True)
    ]
    assert means == pytest.approx(expected, abs=0.002)
    assert deviations == pytest.approx(spread, rel=0.02)


@pytest.mark.parametrize("policy", [gb.IDS(), gb.Elastic(), gb.GridThompson()])
def test_policies_start_from_the_prior_of_the_model(policy):
    model = make_model("exponential")
    prior = gb.NormalPrior(mean={"level": 0.6, "slope": 0.9}, sd={"level": 0.02, "slope": 0.01})
    learner = gb.Learner(policy, model.with_prior(prior), seed=1, compiled=False)
    learner.update(2, 1.0)
    assert learner.estimate == pytest.approx({"level": 0.6, "slope": 0.9}, abs=0.02)
