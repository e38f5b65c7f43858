"""Arms ruled out by the worth of their rewards, without the model's curves."""

import math

import numpy as np
import pytest

from globalbandits.evidence import evidence_from_log
from globalbandits.evidence.contenders import free_p_values
from globalbandits.evidence.e_processes import arm_wealth
from globalbandits.evidence.histogram import DEFAULT_BINS
from globalbandits.model import RewardModel

ARMS = [0.3, 0.6, 1.0]
TRUE_MEANS = np.array([0.1, 0.28, 0.7])


def model_with(value):
    """The curves are of no interest here: rewards come from other means."""
    return RewardModel(lambda theta, x: 0.1 + 0.8 * theta * x, ARMS, value=value)


TARGET = model_with(lambda mean, x: -np.abs(mean - 0.3))
VALUES = {
    "target": TARGET,
    "profit": model_with(lambda mean, x: (x - 0.2) * mean),
    "waves": model_with(lambda mean, x: np.sin(8.0 * mean + x)),
}


def soft_counts(n, rng, means=TRUE_MEANS):
    """Bernoulli rewards of every arm, as the histogram holds them."""
    counts = np.zeros((means.size, DEFAULT_BINS + 1))
    counts[:, -1] = rng.binomial(n, means)
    counts[:, 0] = n - counts[:, -1]
    return counts


def naive_p_values(model, counts):
    """By all means of a fine grid and all worths of another one."""
    grid = np.linspace(0.0, 1.0, 4001)[1:-1]
    n_arms = counts.shape[0]
    wealth = arm_wealth(counts, *(np.broadcast_to(grid[:, None], (grid.size, n_arms)),) * 2)
    worths = np.array([model.worth_of(arm, grid) for arm in range(n_arms)]).T
    best = np.full(n_arms, -math.inf)
    for level in np.linspace(*model.worth_range, 401):
        too_much = np.where(worths >= level, wealth, math.inf).min(axis=0)
        too_little = np.where(worths <= level, wealth, math.inf).min(axis=0)
        best = np.maximum(best, np.minimum(too_much, too_little.max()))
    return np.minimum(1.0, n_arms * np.exp(-np.maximum(best, 0.0)))


@pytest.mark.parametrize("name", VALUES)
def test_p_values_are_those_of_a_naive_search_and_not_below_them(name):
    model, rng = VALUES[name], np.random.default_rng(0)
    n_small = 0
    for n in (3, 40, 200, 1000):
        counts = soft_counts(n, rng)
        found, naive = free_p_values(model, counts), naive_p_values(model, counts)
        mine, theirs = (np.log(np.maximum(p, 1e-6)) for p in (found, naive))
        assert np.all(mine >= theirs - 0.15)  # the naive search has more levels of worth
        assert np.all(mine <= 0.85 * theirs + 0.3)
        n_small += np.count_nonzero(found < 0.01)
    assert n_small >= 1


def test_worth_that_is_the_mean_gives_nearly_the_p_values_of_means():
    plain = RewardModel(lambda theta, x: 0.1 + 0.8 * theta * x, ARMS)
    same = model_with(lambda mean, x: 3.0 * mean - 1.0)
    rng = np.random.default_rng(1)
    for n in (10, 100, 500):
        counts = soft_counts(n, rng)
        one, other = free_p_values(same, counts), free_p_values(plain, counts)
        assert np.all(one >= other * 0.999)
        np.testing.assert_allclose(np.log(one), np.log(other), rtol=0.05, atol=0.2)


def test_the_best_arm_is_seldom_missing():
    """Confidence 0.8 at one look; the bound holds for all looks, so one is far below it."""
    rng = np.random.default_rng(2)
    n_missing = 0
    for _ in range(200):
        p_values = free_p_values(TARGET, soft_counts(int(rng.integers(5, 300)), rng))
        n_missing += p_values[1] <= 0.2
    assert n_missing / 200 <= 0.2


def test_contenders_of_a_refuted_model_are_those_of_worth():
    rng = np.random.default_rng(3)
    arms = np.repeat(np.arange(3), 2000)
    # More side effects at the lowest dose than at the next one: no curve allows that.
    means = np.array([0.6, 0.31, 0.75])
    log = evidence_from_log(TARGET, arms, (rng.random(6000) < means[arms]).astype(float))
    found = log.contenders(0.95)
    assert found.model_free
    assert found.arms == (1,)
    assert all(low < mean < high for (low, high), mean in zip(found.bounds, means, strict=True))


def test_a_worth_that_no_mean_has_excludes_an_arm_at_once():
    """The second arm is worth at least 5, the first at most 1, whatever is observed."""
    model = RewardModel.from_functions(
        [lambda t: t, lambda t: 0.5 * t], values=[lambda m: m, lambda m: 5.0 + m]
    )
    assert free_p_values(model, np.zeros((2, DEFAULT_BINS + 1))).tolist() == [0.0, 1.0]
