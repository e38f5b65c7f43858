import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from globalbandits.evidence.e_processes import Pooled, SpikeSlab
from globalbandits.evidence.histogram import add_many, empty
from tests.evidence.models import TRUTH, bernoulli_rewards, beta_rewards, log_of, model_of
from tests.oracles import evidence as oracle

NAMES = sorted(TRUTH)
PROCESSES = {Pooled: oracle.log_pooled, SpikeSlab: oracle.log_spike_slab}


def counts_of(model, arms, rewards, n_bins=8):
    low, high = model.reward_range
    histogram = empty(model.n_arms, n_bins)
    add_many(histogram, arms, (rewards - low) / (high - low))
    return histogram.counts


def thetas_of(model, n=9):
    return np.linspace(*model.domain, n)


def units_of(model, rewards):
    low, high = model.reward_range
    return ((rewards - low) / (high - low)).tolist()


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_the_formulas(name, process):
    model, arms, rewards = log_of(name, 60, seed=1)
    values = process(model, counts_of(model, arms, rewards)).at(thetas_of(model))
    units = units_of(model, rewards)
    naive = [PROCESSES[process](model, t, arms, units, 8) for t in thetas_of(model)]
    # Shares of a reward are rounded to 2**-27: that, and not more, may be seen.
    np.testing.assert_allclose(values, naive, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("name", NAMES)
def test_the_histogram_never_claims_more_than_the_real_bets(name, process):
    model, arms, rewards = log_of(name, 60, seed=2)
    values = process(model, counts_of(model, arms, rewards)).at(thetas_of(model))
    units = units_of(model, rewards)
    real = np.array([PROCESSES[process](model, t, arms, units) for t in thetas_of(model)])
    assert np.all(values <= real + 1e-6)
    assert np.any(values < real - 1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_one_bin_is_exact_for_bernoulli_rewards(name):
    model, arms, rewards = log_of(name, 200, seed=3, rewards=bernoulli_rewards)
    units = units_of(model, rewards)
    for process, naive in PROCESSES.items():
        coarse = process(model, counts_of(model, arms, rewards, 1)).at(thetas_of(model))
        fine = process(model, counts_of(model, arms, rewards, 8)).at(thetas_of(model))
        np.testing.assert_allclose(coarse, fine, rtol=1e-12, atol=1e-12)
        real = [naive(model, t, arms, units) for t in thetas_of(model)]
        np.testing.assert_allclose(coarse, real, rtol=1e-9, atol=1e-9)


def test_for_bernoulli_rewards_the_bets_are_likelihood_ratios():
    # Where no step is cut or clipped, a bet against theta is the likelihood of theta + step.
    model, arms, rewards = log_of("pricing", 300, seed=4, rewards=bernoulli_rewards)
    successes = np.bincount(arms, rewards, 12)
    failures = np.bincount(arms, 1 - rewards, 12)
    theta = 0.45
    steps = [sign * 4 * 2.0**-scale for scale in range(12) for sign in (-1, 1)]
    inner = [step for step in steps if 0 <= theta + step <= 1]
    assert len(inner) == 17
    ratios = [
        oracle.log_bernoulli(model, theta, theta + step, successes, failures) for step in inner
    ]
    (value,) = Pooled(model, counts_of(model, arms, rewards, 1)).at(np.array([theta]))
    # The seven cut steps bet on parameters beyond the domain and are ruined here.
    assert value == pytest.approx(np.log(np.exp(ratios).sum() / 24), abs=1e-9)


@pytest.mark.parametrize("process", PROCESSES)
def test_without_rewards_nothing_is_known(process):
    model = model_of("pricing")
    nothing, edges = process(model, empty(12).counts), thetas_of(model)
    assert nothing.at(edges).tolist() == [0.0] * 9
    values, bounds = nothing.survey(edges[:-1], edges[1:], -np.inf)
    assert values.tolist() == [0.0] * 8
    np.testing.assert_allclose(bounds, 0.0, atol=0.006)


@pytest.mark.parametrize("process", PROCESSES)
def test_an_impossible_reward_refutes_at_once_and_without_overflow(process):
    # At theta = 1 the first arm's mean is 0: it cannot pay anything.
    model = model_of("illustration")
    value, low = process(model, counts_of(model, np.zeros(40, int), np.ones(40))).at(
        np.array([1.0, 0.0])
    )
    assert np.isfinite(value)
    assert value > 100.0
    assert low < 1.0


@st.composite
def surveys(draw):
    name = draw(st.sampled_from(NAMES))
    n = draw(st.sampled_from([1, 3, 30, 1000, 30_000]))
    rewards = draw(st.sampled_from([beta_rewards, bernoulli_rewards]))
    log = log_of(name, n, draw(st.integers(0, 99)), rewards=rewards)
    n_cells = draw(st.sampled_from([1, 5, 40]))
    return log, n_cells


@pytest.mark.parametrize("process", PROCESSES)
@given(surveys())
def test_bounds_hold_over_whole_cells(process, survey):
    (model, arms, rewards), n_cells = survey
    found = process(model, counts_of(model, arms, rewards))
    edges = np.linspace(*model.domain, n_cells + 1)
    values, bounds = found.survey(edges[:-1], edges[1:], -np.inf)
    inside = np.linspace(edges[:-1], edges[1:], 41)
    smallest = found.at(inside.ravel()).reshape(inside.shape).min(axis=0)
    np.testing.assert_allclose(values, found.at(0.5 * (edges[:-1] + edges[1:])), atol=1e-9)
    assert np.all(bounds <= smallest + 1e-9 * (1 + np.abs(smallest)))


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("name", NAMES)
def test_bounds_of_small_cells_are_tight(name, process):
    model, arms, rewards = log_of(name, 2000, seed=6)
    found = process(model, counts_of(model, arms, rewards))
    edges = np.linspace(*model.domain, 101)[1:-2]
    width = 1e-7 * (model.domain[1] - model.domain[0])
    values, bounds = found.survey(edges, edges + width, -np.inf)
    # At most half a percent of H is left out, and what a cell's width costs.
    assert np.all(values - bounds <= 0.006 + 1e-4 * (1 + np.abs(values)))


def test_shares_show_which_arms_contradict_the_model():
    model, arms, rewards = log_of("pricing", 5000, seed=7)
    rewards = np.where(arms == 3, rewards**3, rewards)
    process = SpikeSlab(model, counts_of(model, arms, rewards))
    shares = process.shares(0.4)
    assert shares.argmax() == 3
    assert shares[3] > 0.8
    assert shares.sum() == pytest.approx(1.0)
    assert not SpikeSlab(model, empty(12).counts).shares(0.4).any()
