"""The rules of `Elastic` for two unknown numbers: those of `stationary_rules` with another fit.

The posterior is fitted again whenever the number of rewards has grown by 10 %.
"""

import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.model.vector_tables import VectorTables
from globalbandits.policies.base import Rules
from globalbandits.policies.elastic.arm_index import update_index
from globalbandits.policies.elastic.several_posterior import (
    SeveralFit,
    SeveralPrior,
    fit_several,
    no_several_fit,
)
from globalbandits.policies.elastic.stationary_rules import (
    guess_from_all,
    learn_arm,
    set_horizons,
    update_index_if_old,
)
from globalbandits.policies.shared.index import select_largest, select_largest_among
from globalbandits.policies.shared.noise_variance import (
    Noise,
    Pooling,
    learn_noise,
    no_noise,
)
from globalbandits.policies.shared.open_outcomes import OpenOutcomes, pend_open_outcomes
from globalbandits.policies.shared.refits import may_be_renewals, next_fit
from globalbandits.statistics import (
    Statistics,
    assign,
    no_statistics,
    no_weighted_statistics,
)

# The number of rewards grows by this factor from one fit to the next.
FIT_GROWTH = 1.1


class Setup(NamedTuple):
    """As `stationary_rules.Setup`, for several numbers."""

    tables: VectorTables
    prior: SeveralPrior
    pooling: Pooling
    exception: float
    caution: float
    flat_share: float
    horizon: float
    eagerness: float
    proved: bool
    open: OpenOutcomes


class State(NamedTuple):
    """As `stationary_rules.Posterior`, for several numbers."""

    fitted: Statistics
    renewed: Statistics
    known: Statistics
    due: FloatArray
    horizons: FloatArray
    shares: FloatArray
    noise: Noise
    fit: SeveralFit
    means: FloatArray
    indices: FloatArray


def init(setup: Setup) -> State:
    """No reward yet: the prior."""
    n = setup.tables.n_arms
    state = State(
        fitted=no_statistics(n),
        renewed=no_statistics(n),
        known=no_weighted_statistics(n),
        due=np.zeros(1),
        horizons=np.zeros(3),
        shares=np.ones(setup.tables.n_contexts),
        noise=no_noise(n),
        fit=no_several_fit(setup.prior),
        means=np.zeros(n),
        indices=np.zeros(n),
    )
    rebuild(setup, no_statistics(n), state)
    return state


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Fit if that is due; otherwise update the played arm's index if it is out of date."""
    if stats.total[0] >= state.due[0]:
        rebuild(setup, stats, state)
    else:
        update_index_if_old(setup, stats, state, arm)


def rebuild(setup: Setup, stats: Statistics, state: State) -> None:
    """Fit noise, numbers and scale to the statistics, and compute every index."""
    assign(state.fitted, stats)
    assign(state.renewed, stats)
    refit(setup, state)
    for arm in range(stats.counts.shape[0]):
        update_index(setup, state.known, state, arm)


def refit(setup: Setup, state: State) -> None:
    """Recompute everything except the indices from the statistics of the last fit."""
    n_rewards = state.fitted.total[0]
    state.due[0] = next_fit(n_rewards, FIT_GROWTH)
    guess_from_all(setup, state)
    known = state.known
    learn_noise(known, state.noise, setup.pooling)
    fit_several(setup.prior, setup.exception, known, state.noise, state.fit)
    set_horizons(setup, state, float(n_rewards))


def resume(setup: Setup, stats: Statistics, state: State) -> bool:
    """Repeat the last fit, then compute the indices from the rewards they were computed from."""
    if not may_be_renewals(state.fitted, state.renewed, stats, FIT_GROWTH):
        return False
    refit(setup, state)
    for arm in range(stats.counts.shape[0]):
        learn_arm(setup, state, arm)
    return True


def no_single_estimate(setup: Setup, stats: Statistics, state: State) -> float:
    """Return nan: the estimate has several numbers, see `numbers`."""
    return math.nan


def numbers(
    setup: Setup, stats: Statistics, state: State, means: FloatArray, deviations: FloatArray
) -> None:
    """Write posterior means and standard deviations of the unknown numbers."""
    tables, fit = setup.tables, state.fit
    for axis in range(means.shape[0]):
        mean = 0.0
        square = 0.0
        for i in range(fit.scale_weights.shape[0]):
            mean += fit.scale_weights[i] * fit.moments[i, axis]
            square += fit.scale_weights[i] * fit.moments[i, 2 + axis]
        length = tables.high[axis] - tables.low[axis]
        means[axis] = tables.low[axis] + length * mean
        deviations[axis] = length * math.sqrt(max(square - mean * mean, 0.0))


RULES = Rules(
    init,
    select_largest,
    update,
    no_single_estimate,
    rebuild,
    ("fitted", "renewed"),
    resume,
    numbers,
    select_among=select_largest_among,
    pend=pend_open_outcomes,
)
