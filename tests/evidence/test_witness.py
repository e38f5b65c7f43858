import itertools
import math

import numpy as np
import pytest

from globalbandits.evidence.likelihood import likely_edges
from globalbandits.evidence.search import find_infima
from globalbandits.evidence.spike_slab import SpikeSlab
from globalbandits.evidence.witness import (
    best_coin_fit,
    find_witness,
    free_coin_fit,
    log_add,
    log_spike_slab,
)
from tests.evidence.models import TRUTH, log_of, model_of, unit_means
from tests.evidence.test_processes import counts_of

NAMES = sorted(TRUTH)


def infimum(model, counts):
    edges = likely_edges(model, counts)
    owners = np.zeros(edges.size - 1, int)
    return find_infima(SpikeSlab(model, counts), edges[:-1], edges[1:], owners)


@pytest.mark.parametrize("name", NAMES)
def test_the_loop_and_the_arrays_compute_the_same_process(name):
    model, arms, rewards = log_of(name, 80, seed=1)
    counts = counts_of(model, arms, rewards)
    edges = np.linspace(*model.domain, 12)
    process = SpikeSlab(model, counts)
    points = [log_spike_slab(model.tables, counts, theta, theta) for theta in edges]
    np.testing.assert_allclose(points, process.at(edges), rtol=1e-7, atol=1e-9)
    cells = [
        log_spike_slab(model.tables, counts, low, high) for low, high in itertools.pairwise(edges)
    ]
    _, bounds = process.survey(edges[:-1], edges[1:], -math.inf)
    np.testing.assert_allclose(cells, bounds, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("bias", [0.0, 0.15])
@pytest.mark.parametrize("name", NAMES)
def test_there_is_a_witness_exactly_below_the_infimum(name, bias):
    model, arms, rewards = log_of(name, 400, seed=2, bias=bias)
    counts = counts_of(model, arms, rewards)
    found = infimum(model, counts)
    certified, value = float(found.certified[0]), float(found.values[0])
    guesses = model.domain  # far from any witness, so that the search has to find one
    above = find_witness(model.tables, counts, value + 0.01, *guesses)
    assert log_spike_slab(model.tables, counts, above, above) < value + 0.01
    assert math.isnan(find_witness(model.tables, counts, certified - 0.01, *guesses))


def test_guesses_are_tried_first():
    model = model_of("pricing")
    counts = np.zeros((12, 9))
    assert find_witness(model.tables, counts, 1.0, 0.123, 0.9) == 0.123
    assert find_witness(model.tables, counts, 1.0, 0.123, math.nan) == 0.123
    model, arms, rewards = log_of("pricing", 4000, seed=3)
    counts = counts_of(model, arms, rewards)
    assert find_witness(model.tables, counts, math.log(20), 0.9, 0.4) == 0.4


def test_where_it_is_too_close_to_call_the_model_is_spared():
    # Exactly at the infimum no search ends by bounds alone.
    model, arms, rewards = log_of("emax", 300, seed=4)
    counts = counts_of(model, arms, rewards)
    value = float(infimum(model, counts).values[0])
    assert not math.isnan(find_witness(model.tables, counts, value, *model.domain))


def test_the_best_fit_of_coins_is_that_of_a_dense_grid():
    for name in NAMES:
        model, arms, rewards = log_of(name, 3000, seed=5)
        low, high = model.reward_range
        units = (rewards - low) / (high - low)
        successes = np.bincount(arms, units, model.n_arms)
        coins = np.column_stack([np.bincount(arms, minlength=model.n_arms) - successes, successes])
        means = np.clip(
            [unit_means(model, t) for t in np.linspace(*model.domain, 3001)], 1e-9, 1 - 1e-9
        )
        dense = (np.log(means) @ successes + np.log1p(-means) @ coins[:, 0]).max()
        fit = best_coin_fit(model.tables, coins)
        assert dense - 1e-6 <= fit <= dense + 0.05
        assert free_coin_fit(coins) >= fit


def test_logarithms_of_sums():
    assert log_add(1000.0, 1000.0) == pytest.approx(1000.0 + math.log(2.0))
    assert log_add(-math.inf, 3.0) == 3.0
