"""Logistic regression on features of the arms, kept current one reward at a time."""

import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.policies import base
from globalbandits.policies.uncertainty_ellipsoid import REFRESH_EVERY, invert

_RIDGE = 1e-3  # keeps the estimate finite while all rewards are 0, or all are 1
_LONGEST_STEP = 4.0


class State(NamedTuple):
    """Statistics per arm, the quasi-likelihood estimate, and the arms' widths."""

    counts: IntArray  # (n_arms,) N_k
    sums: FloatArray  # (n_arms,) sum of rewards
    total: IntArray  # (1,) number of observations
    ready: IntArray  # (1,) 1 once all arms of the design are observed
    coefficients: FloatArray  # (d,) the estimate
    inverse: FloatArray  # (d, d) M**-1, M = sum_k N_k m_k m_k'
    means: FloatArray  # (n_arms,) predictions g(m_k' coefficients)
    variances: FloatArray  # (n_arms,) m_k' M**-1 m_k
    widths: FloatArray  # (n_arms,) square roots of the variances
    matrix: FloatArray  # (d, d) room for the work of one update
    solved: FloatArray  # (d, d)
    vector: FloatArray  # (d,)


def init(setup: base.Setup) -> State:
    """No observation yet."""
    n, d = setup.features.shape
    return State(
        counts=np.zeros(n, np.int64),
        sums=np.zeros(n),
        total=np.zeros(1, np.int64),
        ready=np.zeros(1, np.int64),
        coefficients=np.zeros(d),
        inverse=np.zeros((d, d)),
        means=np.full(n, 0.5),
        variances=np.zeros(n),
        widths=np.zeros(n),
        matrix=np.zeros((d, d)),
        solved=np.zeros((d, d)),
        vector=np.zeros(d),
    )


def first_missing(setup: base.Setup, state: State) -> int:
    """The first arm of the design without an observation, or -1."""
    for i in range(setup.design.shape[0]):
        if state.counts[setup.design[i]] == 0:
            return int(setup.design[i])
    return -1


def update(setup: base.Setup, state: State, arm: int, reward: float) -> None:
    """Count one reward: widths by Sherman-Morrison, the estimate by Newton's method."""
    state.counts[arm] += 1
    state.sums[arm] += reward
    state.total[0] += 1
    if state.ready[0] == 0 or state.total[0] % REFRESH_EVERY == 0:
        measure(setup, state)
    else:
        narrow(setup, state, arm)
    fit(setup, state)


def forget(setup: base.Setup, state: State, arm: int, reward: float) -> None:
    """Take one observation back, and rebuild the rest."""
    state.counts[arm] -= 1
    state.sums[arm] -= reward
    if state.counts[arm] == 0:
        state.sums[arm] = 0.0
    refresh(setup, state)


def refresh(setup: base.Setup, state: State) -> None:
    """Rebuild what follows from counts and sums."""
    state.total[0] = 0
    for arm in range(setup.tables.n_arms):
        state.total[0] += state.counts[arm]
    for i in range(setup.features.shape[1]):
        state.coefficients[i] = 0.0
    measure(setup, state)
    fit(setup, state)


def narrow(setup: base.Setup, state: State, arm: int) -> None:
    """M**-1 and the widths after one more play of an arm."""
    n, d = setup.features.shape
    for i in range(d):
        along = 0.0
        for j in range(d):
            along += state.inverse[i, j] * setup.features[arm, j]
        state.vector[i] = along
    scale = 1.0 / (1.0 + state.variances[arm])
    for i in range(d):
        for j in range(d):
            state.inverse[i, j] -= scale * (state.vector[i] * state.vector[j])
    for k in range(n):
        along = 0.0
        for i in range(d):
            along += setup.features[k, i] * state.vector[i]
        state.variances[k] = max(0.0, state.variances[k] - scale * (along * along))
        state.widths[k] = math.sqrt(state.variances[k])


def measure(setup: base.Setup, state: State) -> None:
    """M**-1 and the widths from the counts, once the design has been played."""
    n, d = setup.features.shape
    state.ready[0] = 1 if first_missing(setup, state) < 0 else 0
    if state.ready[0] == 0:
        return
    for i in range(d):
        for j in range(d):
            state.matrix[i, j] = 0.0
            for k in range(n):
                square = setup.features[k, i] * setup.features[k, j]
                state.matrix[i, j] += state.counts[k] * square
    invert(state.matrix, state.inverse)
    for k in range(n):
        variance = 0.0
        for i in range(d):
            for j in range(d):
                variance += setup.features[k, i] * state.inverse[i, j] * setup.features[k, j]
        state.variances[k] = max(0.0, variance)
        state.widths[k] = math.sqrt(state.variances[k])


def fit(setup: base.Setup, state: State) -> None:
    """Newton's method on the concave quasi-likelihood, from the last estimate."""
    d = setup.features.shape[1]
    for _ in range(50):
        linearise(setup, state)
        invert(state.matrix, state.solved)
        length = 0.0
        for i in range(d):
            step = 0.0
            for j in range(d):
                step += state.solved[i, j] * state.vector[j]
            state.matrix[0, i] = step
            length += step * step
        length = math.sqrt(length)
        shrink = min(1.0, _LONGEST_STEP / length) if length > 0.0 else 1.0
        for i in range(d):
            state.coefficients[i] += shrink * state.matrix[0, i]
        if length < 1e-9:
            break
    predict(setup, state)


def linearise(setup: base.Setup, state: State) -> None:
    """Gradient into `vector`, negative second derivative into `matrix`."""
    n, d = setup.features.shape
    predict(setup, state)
    for i in range(d):
        state.vector[i] = -_RIDGE * state.coefficients[i]
        for j in range(d):
            state.matrix[i, j] = _RIDGE if i == j else 0.0
    for k in range(n):
        count = state.counts[k]
        if count == 0:
            continue
        mean = state.means[k]
        weight = count * mean * (1.0 - mean)
        surprise = state.sums[k] - count * mean
        for i in range(d):
            state.vector[i] += surprise * setup.features[k, i]
            for j in range(d):
                state.matrix[i, j] += weight * setup.features[k, i] * setup.features[k, j]


def predict(setup: base.Setup, state: State) -> None:
    """The mean rewards at the estimate."""
    n, d = setup.features.shape
    for k in range(n):
        x = 0.0
        for i in range(d):
            x += setup.features[k, i] * state.coefficients[i]
        state.means[k] = 1.0 / (1.0 + math.exp(-x)) if x > -700.0 else 0.0


def estimate(setup: base.Setup, state: State) -> float:
    """The policy knows a vector of coefficients, not the model's parameter."""
    return math.nan
