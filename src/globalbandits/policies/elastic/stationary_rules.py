"""The rules of `Elastic` for a constant parameter: a posterior and an index per arm.

The posterior is fitted again whenever the number of rewards has grown by 7 %.
"""

import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.model.tables import Tables
from globalbandits.policies import base
from globalbandits.policies.elastic.arm_index import update_index
from globalbandits.policies.elastic.curve_posterior import (
    Fit,
    Prior,
    estimate_theta,
    fit_errors,
    guess_means,
    no_fit,
)
from globalbandits.policies.shared.noise_variance import (
    Noise,
    Pooling,
    learn_noise,
    no_noise,
    update_variance,
)
from globalbandits.policies.shared.refits import is_old, may_be_renewals, next_fit, note_renewal
from globalbandits.statistics import Statistics, assign, no_statistics

# The number of rewards grows by this factor from one fit to the next.
FIT_GROWTH = 1.07

# Without a horizon, tests of single arms look ahead PIVOT * (t / PIVOT)**AHEAD rounds up to
# t = PIVOT, and t rounds from then on. Looking further than t at first finds a wrong arm sooner.
PIVOT_ROUNDS, AHEAD_EXPONENT = 1e4, 0.75


class Setup(NamedTuple):
    """The model's tables, its curves on a grid, and the policy's constants."""

    tables: Tables
    prior: Prior
    pooling: Pooling
    exception: float  # prior probability that an arm is the exception
    caution: float  # per arm
    flat_share: float  # of the caution, for errors of one size for all means
    horizon: float  # 0 if it is not known
    eagerness: float  # factor of an index's bonus, below 1 in short games
    proved: bool


class Posterior(NamedTuple):
    """The statistics of the last fit and of the last indices, and numbers derived from them."""

    fitted: Statistics
    renewed: Statistics  # each arm's rewards when its index was computed
    due: FloatArray  # (1,) the number of rewards at which the next fit is due
    horizons: FloatArray  # (3,) rounds the indices and the tests look ahead, and rounds so far
    shares: FloatArray  # (n_contexts,) of the rounds in which each context came
    noise: Noise
    fit: Fit
    means: FloatArray  # (n_arms,) posterior mean of each arm
    indices: FloatArray  # (n_arms,)


def no_posterior(setup: Setup, fitted: Statistics, renewed: Statistics) -> Posterior:
    """Return an empty posterior with these empty statistics."""
    n = setup.tables.n_arms
    return Posterior(
        fitted=fitted,
        renewed=renewed,
        due=np.zeros(1),
        horizons=np.zeros(3),
        shares=np.ones(setup.tables.n_contexts),
        noise=no_noise(n),
        fit=no_fit(setup.prior),
        means=np.zeros(n),
        indices=np.zeros(n),
    )


def init(setup: Setup) -> Posterior:
    """No reward yet: the prior."""
    n = setup.tables.n_arms
    state = no_posterior(setup, no_statistics(n), no_statistics(n))
    rebuild(setup, no_statistics(n), state)
    return state


def update(setup: Setup, stats: Statistics, state: Posterior, arm: int, reward: float) -> None:
    """Fit if that is due; otherwise update the played arm's index if it is out of date."""
    if stats.total[0] >= state.due[0]:
        rebuild(setup, stats, state)
    else:
        update_index_if_old(setup, stats, state, arm)


def update_index_if_old(setup: base.Setup, stats: Statistics, state: base.State, arm: int) -> None:
    """Update the index of a played arm if it has 1 % more rewards than at the last update."""
    if is_old(state.renewed.counts[arm], stats.counts[arm]):
        note_renewal(state.renewed, stats, arm)
        update_variance(state.renewed, state.noise, setup.pooling, arm)
        update_index(setup, state.renewed, state, arm)


def rebuild(setup: Setup, stats: Statistics, state: Posterior) -> None:
    """Fit noise, parameter and scale to the statistics, and compute every index."""
    fit_all(setup, stats, state, float(stats.total[0]))
    state.due[0] = next_fit(stats.total[0], FIT_GROWTH)


def fit_all(setup: Setup, stats: Statistics, state: Posterior, rounds: float) -> None:
    """Fit, and compute every index. The statistics may hold fewer rewards than ``rounds``."""
    assign(state.fitted, stats)
    assign(state.renewed, stats)
    refit(setup, state, rounds)
    for arm in range(stats.counts.shape[0]):
        update_index(setup, stats, state, arm)


def refit(setup: Setup, state: Posterior, rounds: float) -> None:
    """Recompute everything except the indices from the statistics of the last fit."""
    fitted = state.fitted
    guess_means(setup.prior, fitted, state.noise, state.fit.sketch)
    learn_noise(fitted, state.noise, setup.pooling)
    fit_errors(setup.prior, setup.exception, fitted, state.noise, state.fit)
    set_horizons(setup, state, rounds)


def set_horizons(setup: base.Setup, state: base.State, rounds: float) -> None:
    """Set how far indices and tests look ahead after this number of rounds, in each context."""
    set_shares(state.fitted, state.shares)
    total = float(state.fitted.total[0])
    state.horizons[0] = total + 1.0
    state.horizons[2] = total + 1.0
    state.horizons[1] = max(
        total + 1.0, PIVOT_ROUNDS * math.pow((total + 1.0) / PIVOT_ROUNDS, AHEAD_EXPONENT)
    )
    if setup.horizon > 0.0:
        left = max(1.0, setup.horizon - rounds)
        state.horizons[0] = min(total + 1.0, left)
        state.horizons[1] = left if total == rounds else min(state.horizons[1], left)


def set_shares(stats: Statistics, shares: FloatArray) -> None:
    """Set the share of the rounds in which each context came; 1 without contexts.

    One more round of every context is counted, so that no share is 0.
    """
    n_contexts = shares.shape[0]
    if n_contexts == 1:
        shares[0] = 1.0
        return
    n_arms = stats.counts.shape[0] // n_contexts
    for context in range(n_contexts):
        n_rewards = 1.0
        for arm in range(context * n_arms, (context + 1) * n_arms):
            n_rewards += stats.counts[arm]
        shares[context] = n_rewards / (stats.total[0] + n_contexts)


def resume(setup: Setup, stats: Statistics, state: Posterior) -> bool:
    """Repeat the last fit, then compute the indices from the rewards they were computed from."""
    renewed = state.renewed
    if not may_be_renewals(state.fitted, renewed, stats, FIT_GROWTH):
        return False
    refit(setup, state, float(state.fitted.total[0]))
    state.due[0] = next_fit(state.fitted.total[0], FIT_GROWTH)
    for arm in range(stats.counts.shape[0]):
        update_variance(renewed, state.noise, setup.pooling, arm)
        update_index(setup, renewed, state, arm)
    return True


def estimate(setup: Setup, stats: Statistics, state: Posterior) -> float:
    """Return the posterior mean of the parameter at the last fit; nan before any reward."""
    return estimate_theta(stats, state.fit)
