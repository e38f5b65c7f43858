"""Logistic regression on features of the arms, updated one reward at a time."""

import copy
import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.policies import base
from globalbandits.policies.parts.features import first_unobserved
from globalbandits.policies.parts.least_squares import (
    Spread,
    Work,
    add_reward,
    clear_spread,
    compute_spread,
    invert,
    is_rebuild_due,
    multiply,
    no_spread,
    no_work,
    tolerance_of,
)
from globalbandits.policies.parts.least_squares import resume as resume_spread
from globalbandits.statistics import Statistics

# Saved with a learner, because their last bits depend on the order of rewards.
KEPT = ("spread", "coefficients")

# Keeps the estimate finite while all rewards are 0, or all are 1.
_RIDGE = 1e-3
_MAX_NEWTON_STEP = 4.0
# One more fit may move a saved prediction by at most this much.
_PREDICTION_TOLERANCE = 1e-6


class State(NamedTuple):
    """The quasi-likelihood estimate, and the uncertainty of the predictions.

    The setup has `features` m_k, and a `design`: as many linearly independent arms.
    """

    spread: Spread  # of M = sum_k N_k m_k m_k', once all arms of the design are observed
    coefficients: FloatArray  # (d,) the estimate
    means: FloatArray  # (n_arms,) predictions g(m_k' coefficients)
    ready: IntArray  # (1,) 1 once all arms of the design are observed
    work: Work
    solved: FloatArray  # (d, d) scratch array of one update


def init(setup: base.Setup) -> State:
    """No reward yet."""
    n, d = setup.features.shape
    return State(
        spread=no_spread(setup.features),
        coefficients=np.zeros(d),
        means=np.full(n, 0.5),
        ready=np.zeros(1, np.int64),
        work=no_work(setup.features),
        solved=np.zeros((d, d)),
    )


def update(setup: base.Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Widths by Sherman-Morrison, the estimate by Newton's method from the last one."""
    if state.ready[0] == 0 or is_rebuild_due(stats, state.spread, arm):
        compute_widths(setup, stats, state)
    else:
        # Only the spread is updated here; `fit` computes the means.
        add_reward(setup.features, state.spread, state.work, state.means, arm, 0.0)
    fit(setup, stats, state)


def rebuild(setup: base.Setup, stats: Statistics, state: State) -> None:
    """Widths and estimate from counts and sums."""
    for i in range(setup.features.shape[1]):
        state.coefficients[i] = 0.0
    compute_widths(setup, stats, state)
    fit(setup, stats, state)


def compute_widths(setup: base.Setup, stats: Statistics, state: State) -> None:
    """M**-1 and the widths from the counts, once all arms of the design are observed."""
    state.ready[0] = 1 if first_unobserved(setup.design, stats) < 0 else 0
    if state.ready[0] == 1:
        compute_spread(setup.features, stats.counts, 0.0, state.spread, state.work)
    else:
        clear_spread(state.spread)


def fit(setup: base.Setup, stats: Statistics, state: State) -> None:
    """Newton's method on the concave quasi-likelihood, from the last estimate."""
    work = state.work
    d = setup.features.shape[1]
    for _ in range(50):
        linearise(setup, stats, state)
        invert(work.matrix, state.solved)
        multiply(state.solved, work.vector, work.solution)
        length = 0.0
        for i in range(d):
            length += work.solution[i] * work.solution[i]
        length = math.sqrt(length)
        shrink = min(1.0, _MAX_NEWTON_STEP / length) if length > 0.0 else 1.0
        for i in range(d):
            state.coefficients[i] += shrink * work.solution[i]
        if length < 1e-9:
            break
    predict(setup, state)


def linearise(setup: base.Setup, stats: Statistics, state: State) -> None:
    """Gradient into `work.vector`, negative second derivative into `work.matrix`."""
    n, d = setup.features.shape
    vector, matrix = state.work.vector, state.work.matrix
    predict(setup, state)
    for i in range(d):
        vector[i] = -_RIDGE * state.coefficients[i]
        for j in range(d):
            matrix[i, j] = _RIDGE if i == j else 0.0
    for k in range(n):
        count = stats.counts[k]
        if count == 0:
            continue
        mean = state.means[k]
        weight = count * mean * (1.0 - mean)
        surprise = stats.sums[k] - count * mean
        for i in range(d):
            vector[i] += surprise * setup.features[k, i]
            for j in range(d):
                matrix[i, j] += weight * setup.features[k, i] * setup.features[k, j]


def predict(setup: base.Setup, state: State) -> None:
    """The mean rewards at the estimate."""
    n, d = setup.features.shape
    for k in range(n):
        x = 0.0
        for i in range(d):
            x += setup.features[k, i] * state.coefficients[i]
        state.means[k] = 1.0 / (1.0 + math.exp(-x)) if x > -700.0 else 0.0


def resume(setup: base.Setup, stats: Statistics, state: State) -> bool:
    """Derive the predictions; whether saved numbers are those of the statistics, up to rounding.

    Saved coefficients are right if one more run of Newton's method hardly moves them.
    """
    predict(setup, state)
    fresh = copy.deepcopy(state)
    compute_widths(setup, stats, fresh)
    fit(setup, stats, fresh)
    settled = np.abs(fresh.means - state.means) <= _PREDICTION_TOLERANCE
    slack = tolerance_of(setup.features, stats.counts, 0.0) if state.ready[0] == 1 else 0.0
    return bool(np.all(settled)) and resume_spread(state.spread, fresh.spread, slack)
