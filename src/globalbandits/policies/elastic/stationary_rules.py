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
from globalbandits.policies.shared.open_outcomes import (
    OpenOutcomes,
    add_zeros,
    zeros_at,
)
from globalbandits.policies.shared.refits import is_old, may_be_renewals, next_fit
from globalbandits.statistics import (
    Statistics,
    assign,
    assign_arm,
    no_statistics,
    no_weighted_statistics,
)

# The number of rewards grows by this factor from one fit to the next.
FIT_GROWTH = 1.07

# Guesses of the arms' means from which the zeros of open outcomes are computed.
N_GUESSES_WITH_OPEN = 3

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
    open: OpenOutcomes


class Posterior(NamedTuple):
    """The statistics of the last fit and of the last indices, and numbers derived from them."""

    fitted: Statistics
    renewed: Statistics  # each arm's rewards when its index was computed
    known: Statistics  # the rewards of `renewed` and the open outcomes, which are parts of a 0
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
        known=no_weighted_statistics(n),
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
        assign_arm(state.renewed, stats, arm)
        learn_arm(setup, state, arm)


def learn_arm(setup: base.Setup, state: base.State, arm: int) -> None:
    """Update variance and index of an arm from its rewards at the last renewal."""
    known = state.known
    assign_arm(known, state.renewed, arm)
    if setup.open.weight[0] > 0.0:
        zeros = zeros_at(setup.open.same_slope, arm, state.fit.sketch.means[arm])
        known.counts[arm] += zeros
        known.total[0] += zeros
    update_variance(known, state.noise, setup.pooling, arm)
    update_index(setup, known, state, arm)


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
        update_index(setup, state.known, state, arm)


def refit(setup: Setup, state: Posterior, rounds: float) -> None:
    """Recompute everything except the indices from the statistics of the last fit."""
    guess_from_all(setup, state)
    known = state.known
    learn_noise(known, state.noise, setup.pooling)
    fit_errors(setup.prior, setup.exception, known, state.noise, state.fit)
    set_horizons(setup, state, rounds)


def guess_from_all(setup: base.Setup, state: base.State) -> None:
    """Guess the arms' means from the rewards of the last fit and from open outcomes."""
    known, sketch, outcomes = state.known, state.fit.sketch, setup.open
    assign(known, state.fitted)
    if outcomes.weight[0] == 0.0:
        guess_means(setup.prior, known, state.noise, sketch)
        return
    # How many zeros an open outcome counts as depends on the mean, which depends on the zeros.
    sketch.means[:] = 0.0
    for _ in range(N_GUESSES_WITH_OPEN):
        add_zeros(outcomes, sketch.means, known)
        guess_means(setup.prior, known, state.noise, sketch)
        assign(known, state.fitted)
    add_zeros(outcomes, sketch.means, known)


def set_horizons(setup: base.Setup, state: base.State, rounds: float) -> None:
    """Set how far indices and tests look ahead after this number of rounds, in each context."""
    set_shares(state.known, state.shares)
    total = float(state.known.total[0])
    n_rewards = float(state.fitted.total[0])
    state.horizons[0] = total + 1.0
    state.horizons[2] = total + 1.0
    state.horizons[1] = max(
        total + 1.0, PIVOT_ROUNDS * math.pow((total + 1.0) / PIVOT_ROUNDS, AHEAD_EXPONENT)
    )
    if setup.horizon > 0.0:
        left = max(1.0, setup.horizon - (rounds + (total - n_rewards)))
        state.horizons[0] = min(total + 1.0, left)
        state.horizons[1] = left if n_rewards == rounds else min(state.horizons[1], left)


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
    if not may_be_renewals(state.fitted, state.renewed, stats, FIT_GROWTH):
        return False
    refit(setup, state, float(state.fitted.total[0]))
    state.due[0] = next_fit(state.fitted.total[0], FIT_GROWTH)
    for arm in range(stats.counts.shape[0]):
        learn_arm(setup, state, arm)
    return True


def estimate(setup: Setup, stats: Statistics, state: Posterior) -> float:
    """Return the posterior mean of the parameter at the last fit; nan before any reward."""
    return estimate_theta(stats, state.fit)
