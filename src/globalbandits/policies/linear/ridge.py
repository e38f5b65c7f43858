"""Ridge regression on features of the arms, updated one reward at a time."""

from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.policies import base
from globalbandits.policies.linear.least_squares import (
    Spread,
    Work,
    add_reward,
    compute_spread,
    is_near,
    is_rebuild_due,
    no_spread,
    no_work,
    predict,
    tolerance_of,
)
from globalbandits.policies.linear.least_squares import resume as resume_spread
from globalbandits.statistics import Statistics

# These fields are saved with a learner, because their last bits depend on the order of rewards.
KEPT = ("spread", "means")


class State(NamedTuple):
    """The regression, with M = ``ridge * 1 + sum_k N_k u_k u_k'`` for features u_k of the arms.

    The setup has `features`, the `ridge`, and an `offset`. Unit rewards plus the offset have means
    that are linear in the features.
    """

    spread: Spread
    means: FloatArray  # (n_arms,) predictions
    work: Work


def init(setup: base.Setup) -> State:
    """No reward yet."""
    n = setup.tables.n_arms
    spread, work = no_spread(setup.features), no_work(setup.features)
    compute_spread(setup.features, np.zeros(n, np.int64), setup.ridge, spread, work)
    return State(spread, np.zeros(n), work)


def update(
    setup: base.Setup, stats: Statistics, state: base.State, arm: int, reward: float
) -> None:
    """Add one reward, or rebuild everything on schedule to keep rounding errors small.

    The state has at least the fields of `State`.
    """
    if is_rebuild_due(stats, state.spread, arm):
        rebuild(setup, stats, state)
    else:
        error = reward + setup.offset - state.means[arm]
        add_reward(setup.features, state.spread, state.work, state.means, arm, error)


def rebuild(setup: base.Setup, stats: Statistics, state: base.State) -> None:
    """Compute the regression from counts and sums.

    Afterwards `work.matrix` contains the inverse of M's Cholesky factor.
    """
    compute_spread(setup.features, stats.counts, setup.ridge, state.spread, state.work)
    predict(setup.features, stats, setup.offset, state.spread, state.work, state.means)


def resume(setup: base.Setup, stats: Statistics, state: base.State) -> bool:
    """Whether saved numbers agree with the statistics, up to rounding."""
    fresh = init(setup)
    rebuild(setup, stats, fresh)
    slack = tolerance_of(setup.features, stats.counts, setup.ridge)
    return resume_spread(state.spread, fresh.spread, slack) and is_near(
        state.means, fresh.means, slack
    )
