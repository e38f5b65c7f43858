"""Ridge regression on features of the arms, kept current one reward at a time."""

import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.policies import base
from globalbandits.policies.uncertainty_ellipsoid import REFRESH_EVERY, invert


class State(NamedTuple):
    """Statistics per arm, and the regression that follows from them.

    V is ``ridge * 1 + sum_k N_k u_k u_k'`` with the features u_k of the arms.
    """

    counts: IntArray  # (n_arms,) N_k
    sums: FloatArray  # (n_arms,) sum of rewards
    total: IntArray  # (1,) number of observations
    inverse: FloatArray  # (r, r) V**-1
    means: FloatArray  # (n_arms,) predictions u_k' z
    variances: FloatArray  # (n_arms,) u_k' V**-1 u_k
    widths: FloatArray  # (n_arms,) square roots of the variances
    log_det: FloatArray  # (1,) log(det V / ridge**r)
    scratch: FloatArray  # (r + 2, r) room for the work of one update


def init(setup: base.Setup) -> State:
    """No observation yet."""
    n, r = setup.features.shape
    state = State(
        counts=np.zeros(n, np.int64),
        sums=np.zeros(n),
        total=np.zeros(1, np.int64),
        inverse=np.zeros((r, r)),
        means=np.zeros(n),
        variances=np.zeros(n),
        widths=np.zeros(n),
        log_det=np.zeros(1),
        scratch=np.zeros((r + 2, r)),
    )
    refresh(setup, state)
    return state


def update(setup: base.Setup, state: State, arm: int, reward: float) -> None:
    """Count one reward; from time to time all is rebuilt, so that rounding does not pile up."""
    state.counts[arm] += 1
    state.sums[arm] += reward
    state.total[0] += 1
    if state.total[0] % REFRESH_EVERY == 0:
        refresh(setup, state)
    else:
        absorb(setup, state, arm, reward)


def absorb(setup: base.Setup, state: State, arm: int, reward: float) -> None:
    """Sherman-Morrison: V**-1 becomes V**-1 - (V**-1 u)(V**-1 u)' / (1 + u'V**-1 u)."""
    n, r = setup.features.shape
    for i in range(r):
        along = 0.0
        for j in range(r):
            along += state.inverse[i, j] * setup.features[arm, j]
        state.scratch[0, i] = along
    state.log_det[0] += math.log(1.0 + state.variances[arm])
    scale = 1.0 / (1.0 + state.variances[arm])
    error = scale * (reward + setup.offset - state.means[arm])
    for i in range(r):
        for j in range(r):
            state.inverse[i, j] -= scale * (state.scratch[0, i] * state.scratch[0, j])
    for k in range(n):
        along = 0.0
        for i in range(r):
            along += setup.features[k, i] * state.scratch[0, i]
        state.means[k] += along * error
        state.variances[k] = max(0.0, state.variances[k] - scale * (along * along))
        state.widths[k] = math.sqrt(state.variances[k])


def forget(setup: base.Setup, state: State, arm: int, reward: float) -> None:
    """Take one observation back, and rebuild the rest."""
    state.counts[arm] -= 1
    state.sums[arm] -= reward
    if state.counts[arm] == 0:
        state.sums[arm] = 0.0
    refresh(setup, state)


def refresh(setup: base.Setup, state: State) -> None:
    """Rebuild what follows from counts and sums: the regression from scratch."""
    n, r = setup.features.shape
    gram = state.scratch[:r]
    for i in range(r):
        state.scratch[r, i] = 0.0  # sum of features times rewards
        for j in range(r):
            gram[i, j] = setup.ridge if i == j else 0.0
    state.total[0] = 0
    for k in range(n):
        count = state.counts[k]
        state.total[0] += count
        for i in range(r):
            moment = (state.sums[k] + count * setup.offset) * setup.features[k, i]
            state.scratch[r, i] += moment
            for j in range(r):
                gram[i, j] += count * (setup.features[k, i] * setup.features[k, j])
    invert(gram, state.inverse)  # leaves the inverse of V's Cholesky factor in `gram`
    state.log_det[0] = -r * math.log(setup.ridge)
    for i in range(r):
        state.log_det[0] -= 2.0 * math.log(gram[i, i])
        state.scratch[r + 1, i] = 0.0  # coefficients z
        for j in range(r):
            state.scratch[r + 1, i] += state.inverse[i, j] * state.scratch[r, j]
    for k in range(n):
        mean = 0.0
        variance = 0.0
        for i in range(r):
            mean += setup.features[k, i] * state.scratch[r + 1, i]
            for j in range(r):
                variance += setup.features[k, i] * state.inverse[i, j] * setup.features[k, j]
        state.means[k] = mean
        state.variances[k] = max(0.0, variance)
        state.widths[k] = math.sqrt(state.variances[k])


def estimate(setup: base.Setup, state: State) -> float:
    """A regression knows coefficients, not the model's parameter."""
    return math.nan
