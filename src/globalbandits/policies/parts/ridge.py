"""Ridge regression on features of the arms, brought up to date one reward at a time."""

import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.policies import base
from globalbandits.policies.parts.least_squares import (
    REBUILD_EVERY,
    Spread,
    Work,
    correct,
    is_near,
    measure,
    narrow,
    no_spread,
    predict,
    room,
    slack_of,
)
from globalbandits.policies.parts.least_squares import resume as resume_spread
from globalbandits.statistics import Statistics

KEPT = ("spread", "means", "log_det")  # the order of rewards shows in their last bits


class State(NamedTuple):
    """The regression; M is ``ridge * 1 + sum_k N_k u_k u_k'`` with the features u_k of the arms.

    The setup has `features`, the `ridge`, and an `offset` that is added to a unit reward to
    give the reward whose mean is linear in the features.
    """

    spread: Spread
    means: FloatArray  # (n_arms,) predictions
    log_det: FloatArray  # (1,) log(det M / ridge**r)
    work: Work


def init(setup: base.Setup) -> State:
    """No reward yet."""
    n = setup.tables.n_arms
    spread, work = no_spread(setup.features), room(setup.features)
    measure(setup.features, np.zeros(n, np.int64), setup.ridge, spread, work)
    return State(spread, np.zeros(n), np.zeros(1), work)


def update(setup: base.Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Absorb one reward; from time to time all is rebuilt, so that rounding does not pile up."""
    if stats.total[0] % REBUILD_EVERY == 0:
        rebuild(setup, stats, state)
    else:
        error = reward + setup.offset - state.means[arm]
        growth = narrow(setup.features, state.spread, state.work, arm)
        correct(state.means, state.work, error, growth)
        state.log_det[0] += math.log(growth)


def rebuild(setup: base.Setup, stats: Statistics, state: State) -> None:
    """The regression from counts and sums."""
    measure(setup.features, stats.counts, setup.ridge, state.spread, state.work)
    log_det = 0.0
    if stats.total[0] > 0:
        for i in range(setup.features.shape[1]):
            log_det -= 2.0 * math.log(state.work.matrix[i, i]) + math.log(setup.ridge)
    state.log_det[0] = max(0.0, log_det)  # rounding aside, it is never below
    predict(setup.features, stats, setup.offset, state.spread, state.work, state.means)


def resume(setup: base.Setup, stats: Statistics, state: State) -> bool:
    """Whether saved numbers are those of the statistics, up to rounding."""
    fresh = init(setup)
    rebuild(setup, stats, fresh)
    slack = slack_of(setup.features, stats.counts, setup.ridge)
    return (
        resume_spread(state.spread, fresh.spread, slack)
        and is_near(state.means, fresh.means, slack)
        and is_near(state.log_det, fresh.log_det, slack)
    )
