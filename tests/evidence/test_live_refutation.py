import itertools
import math

import numpy as np
import pytest

from globalbandits.evidence.drift_test import (
    no_snapshots,
    record,
)
from globalbandits.evidence.e_processes import (
    N_SLAB_BETS,
    SpikeSlab,
    all_off_the_ends,
    arm_wealth,
    off_the_ends,
)
from globalbandits.evidence.histogram import Histogram, add_many
from globalbandits.evidence.live_refutation import (
    add_failures_and_successes,
    best_bernoulli_fit,
    change_explains,
    fill_pays,
    find_witness,
    free_bernoulli_fit,
    log_add,
    log_arm_wealth,
    log_constant,
)
from globalbandits.evidence.search import find_infimum, likely_edges
from tests.evidence.compiled import compiled
from tests.evidence.models import TRUTH, log_of, model_of, unit_means
from tests.evidence.test_e_processes import counts_of

NAMES = sorted(TRUTH)
EVERY = 100


def nothing_kept(model):
    return no_snapshots(model.n_arms, 8)


def infimum(model, counts):
    return find_infimum(SpikeSlab(model, counts), likely_edges(model, counts))


@pytest.mark.parametrize("name", NAMES)
def test_without_copies_the_loop_computes_half_of_what_the_arrays_compute(name):
    model, arms, rewards = log_of(name, 80, seed=1)
    counts = counts_of(model, arms, rewards)
    edges = np.linspace(*model.domain, 12)
    process, kept = SpikeSlab(model, counts), nothing_kept(model)
    points = [log_constant(model.tables, counts, kept, EVERY, theta, theta) for theta in edges]
    np.testing.assert_allclose(points, process.at(edges) - math.log(2), rtol=1e-7, atol=1e-9)
    cells = [
        log_constant(model.tables, counts, kept, EVERY, low, high)
        for low, high in itertools.pairwise(edges)
    ]
    _, bounds = process.survey(edges[:-1], edges[1:], -math.inf)
    np.testing.assert_allclose(cells, bounds - math.log(2), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", ["pricing", "emax"])
def test_with_copies_the_loop_mixes_stretches_of_time(name):
    model, arms, rewards = log_of(name, 1000, seed=2)
    low, high = model.reward_range
    units = (rewards - low) / (high - low)
    kept = nothing_kept(model)
    histogram = Histogram(np.zeros((model.n_arms, 9)))
    copies = {}
    for time in range(1, 11):
        part = slice(100 * (time - 1), 100 * time)
        add_many(histogram, arms[part], units[part])
        copies[100 * time] = histogram.counts.copy()
        record(kept, histogram.counts, 100 * time, EVERY)
    counts = histogram.counts

    def value(part, theta):
        return math.exp(SpikeSlab(model, part).at(np.array([theta]))[0])

    for theta in np.linspace(*model.domain, 7)[1:-1]:
        # The latest of each order of two, and what was kept at powers of two.
        since = [1000, 900, 800, 400]
        now = value(counts, theta) / 2
        for time in since:
            now += value(counts - copies[time], theta) / ((time / 100 + 1) * (time / 100 + 2))
        before = max(value(copies[time], theta) / 2 for time in (100, 200, 400, 800))
        found = log_constant(model.tables, counts, kept, EVERY, theta, theta)
        assert found == pytest.approx(math.log(max(now, before)), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("bias", [0.0, 0.15])
@pytest.mark.parametrize("name", NAMES)
def test_there_is_a_witness_exactly_below_the_infimum(name, bias):
    model, arms, rewards = log_of(name, 400, seed=2, bias=bias)
    counts, kept = counts_of(model, arms, rewards), nothing_kept(model)
    certified, value, _ = infimum(model, counts)
    guesses = model.domain  # far from any witness, so that the search has to find one
    limit = value - math.log(2) + 0.01
    above = find_witness(model.tables, counts, kept, EVERY, limit, *guesses)
    assert log_constant(model.tables, counts, kept, EVERY, above, above) < limit
    limit = certified - math.log(2) - 0.01
    assert math.isnan(find_witness(model.tables, counts, kept, EVERY, limit, *guesses))


def test_guesses_are_tried_first():
    model = model_of("pricing")
    counts, kept = np.zeros((12, 9)), nothing_kept(model)
    assert find_witness(model.tables, counts, kept, EVERY, 1.0, 0.123, 0.9) == 0.123
    assert find_witness(model.tables, counts, kept, EVERY, 1.0, 0.123, math.nan) == 0.123
    model, arms, rewards = log_of("pricing", 4000, seed=3)
    counts = counts_of(model, arms, rewards)
    assert find_witness(model.tables, counts, kept, EVERY, math.log(20), 0.9, 0.4) == 0.4


def test_a_model_at_the_limit_of_the_search_is_not_refuted():
    # Exactly at the infimum no search ends by bounds alone.
    model, arms, rewards = log_of("emax", 300, seed=4)
    counts = counts_of(model, arms, rewards)
    value = infimum(model, counts).value - math.log(2)
    kept = nothing_kept(model)
    assert not math.isnan(find_witness(model.tables, counts, kept, EVERY, value, *model.domain))


def test_the_best_fit_of_bernoulli_rewards_is_that_of_a_dense_grid():
    for name in NAMES:
        model, arms, rewards = log_of(name, 3000, seed=5)
        counts = counts_of(model, arms, rewards)
        coins = np.zeros((model.n_arms, 2))
        add_failures_and_successes(coins, counts, 1.0)
        np.testing.assert_allclose(coins.sum(axis=1), counts.sum(axis=1))
        means = np.clip(
            [unit_means(model, t) for t in np.linspace(*model.domain, 3001)], 1e-9, 1 - 1e-9
        )
        dense = (np.log(means) @ coins[:, 1] + np.log1p(-means) @ coins[:, 0]).max()
        fit = best_bernoulli_fit(model.tables, coins)
        assert dense - 1e-6 <= fit <= dense + 0.05
        assert free_bernoulli_fit(coins) >= fit


def test_a_change_of_theta_and_a_wrong_model_are_distinguished():
    for seed in range(10):
        model, old_arms, old = log_of("pricing", 1000, seed, theta=0.3)
        _, new_arms, new = log_of("pricing", 1000, seed + 50, theta=0.6)
        kept = nothing_kept(model)
        counts = counts_of(model, old_arms, old)
        record(kept, counts, 1000, 1000)
        assert change_explains(model.tables, counts + counts_of(model, new_arms, new), kept, 2000)
        _, arms, wrong = log_of("pricing", 2000, seed, bias=0.2)
        kept = nothing_kept(model)
        record(kept, counts_of(model, arms[:1000], wrong[:1000]), 1000, 1000)
        assert not change_explains(model.tables, counts_of(model, arms, wrong), kept, 2000)


def copies_of(model, n, seed, bias=0.0):
    """Counts and copies of a log."""
    model, arms, rewards = log_of(model, n, seed, bias=bias)
    kept = nothing_kept(model)
    for time in range(EVERY, n + 1, EVERY):
        record(kept, counts_of(model, arms[:time], rewards[:time]), time, EVERY)
    return model, counts_of(model, arms, rewards), kept


@pytest.mark.parametrize("name", ["pricing", "revenue"])
@pytest.mark.parametrize("bias", [0.0, 0.3])
def test_compiled_and_interpreted_searches_have_the_same_bits(name, bias):
    model, counts, kept = copies_of(name, 700, seed=6, bias=bias)
    search, value, explains = map(compiled, (find_witness, log_constant, change_explains))
    for low, high in itertools.pairwise(np.linspace(*model.domain, 9).tolist()):
        cell = (model.tables, counts, kept, EVERY, low, high)
        assert value(*cell) == log_constant(*cell)
    for threshold in (0.5, 3.0, 30.0):
        question = (model.tables, counts, kept, EVERY, threshold, *model.domain)
        np.testing.assert_equal(search(*question), find_witness(*question))
    change = (model.tables, counts, kept, 700)
    assert explains(*change) == change_explains(*change)


def test_loops_and_arrays_bet_alike():
    # The same pieces, but NumPy's logarithms and exponentials may differ in the last bit.
    rng = np.random.default_rng(7)
    counts = rng.integers(0, 50, (40, 9)) + 0.25
    low, high = np.sort(rng.random((2, 40)), axis=0)
    low[0], high[0], low[1], high[1] = 0.0, 0.0, 1.0, 1.0
    arrays = arm_wealth(counts, all_off_the_ends(high), all_off_the_ends(low))
    pays = np.empty((N_SLAB_BETS, 9))
    for arm in range(40):
        fill_pays(pays, high[arm], low[arm])
        assert log_arm_wealth(pays, counts[arm]) == pytest.approx(arrays[arm], rel=1e-12)
    assert [off_the_ends(mean) for mean in low.tolist()] == all_off_the_ends(low).tolist()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e308])
def test_damaged_counts_do_not_break_the_search(value):
    model, counts, kept = copies_of("pricing", 300, seed=8)
    wrong = counts.copy()
    wrong[3, 4] = value
    for damaged in (wrong, np.full_like(counts, value)):
        question = (model.tables, damaged, kept, EVERY, 3.0, *model.domain)
        for search in (find_witness, compiled(find_witness)):
            with np.errstate(all="ignore"):
                theta = search(*question)
            assert math.isnan(theta) or model.domain[0] <= theta <= model.domain[1]
    question = (model.tables, counts, kept, EVERY, 3.0, value, value)
    assert compiled(find_witness)(*question) == find_witness(*question) == 0.5


def test_logarithms_of_sums():
    assert log_add(1000.0, 1000.0) == pytest.approx(1000.0 + math.log(2.0))
    assert log_add(-math.inf, 3.0) == 3.0
