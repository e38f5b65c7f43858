"""Random-effects Thompson sampling: one draw from the posterior of curves that may be off."""

import dataclasses
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.elastic import estimate
from globalbandits.policies.elastic_fit import (
    UNIFORM,
    Prior,
    as_weights,
    block_size,
    build_prior,
    fit,
)
from globalbandits.policies.gittins import learn_noise, record, renew_variance, schedule

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


class Setup(NamedTuple):
    """The model, and the same on a grid."""

    tables: Tables
    prior: Prior


class State(NamedTuple):
    """Statistics per arm, and the last fit with the weights to draw a parameter by."""

    counts: IntArray  # (n_arms,) N_k
    sums: FloatArray  # (n_arms,) sum of rewards
    squares: FloatArray  # (n_arms,) sum of squared rewards
    total: IntArray  # (1,) number of observations
    refit: IntArray  # (1,) the total at which the next fit is due
    means: FloatArray  # (n_arms,) posterior mean of each arm
    expected_variances: FloatArray  # (n_arms,) of a reward, by all arms
    variances: FloatArray  # (n_arms,) v_k
    scale_weights: FloatArray  # (n_scales,)
    model_means: FloatArray  # (n_arms, n_scales) of mu_k(theta)
    model_variances: FloatArray  # (n_arms, n_scales)
    theta: FloatArray  # (1,) posterior mean of the parameter
    windows: IntArray  # (n_scales, 4) the blocks of cells that matter
    weights: FloatArray  # (n_scales, n_fine) of those blocks


def init(setup: Setup) -> State:
    """No observation yet: what the prior says."""
    n, n_scales = setup.tables.n_arms, setup.prior.scales.shape[0]
    state = State(
        counts=np.zeros(n, np.int64),
        sums=np.zeros(n),
        squares=np.zeros(n),
        total=np.zeros(1, np.int64),
        refit=np.zeros(1, np.int64),
        means=np.full(n, 0.5),
        expected_variances=np.zeros(n),
        variances=np.zeros(n),
        scale_weights=np.zeros(n_scales),
        model_means=np.zeros((n, n_scales)),
        model_variances=np.zeros((n, n_scales)),
        theta=np.zeros(1),
        windows=np.zeros((n_scales, 4), np.int64),
        weights=np.zeros((n_scales, setup.prior.n_fine)),
    )
    refresh(setup, state)
    return state


def select(setup: Setup, state: State, rng: np.random.Generator) -> int:
    """Draw the errors' size, then the parameter, then every arm's error; the best arm."""
    scale = draw(state.scale_weights, state.scale_weights.shape[0], rng)
    window = state.windows[scale]
    block = draw(state.weights[scale], window[3], rng)
    cell = window[0] + block * window[1] + int(rng.random() * block_size(window, block))
    error = setup.prior.scales[scale] * setup.prior.scales[scale]
    best = 0
    largest = -math.inf
    for arm in range(state.counts.shape[0]):
        value = setup.prior.means[cell, arm]
        if error > 0.0:
            rest = error
            if state.counts[arm] > 0:
                noise = state.variances[arm] / state.counts[arm]
                trust = error / (error + noise)
                value += trust * (state.sums[arm] / state.counts[arm] - value)
                rest = trust * noise
            value += math.sqrt(rest) * rng.standard_normal()
        if value > largest:
            best = arm
            largest = value
    return best


def draw(weights: FloatArray, n_weights: int, rng: np.random.Generator) -> int:
    """A position, drawn by weights that need not sum to 1.

    >>> draw(np.array([0.0, 3.0, 0.0]), 3, np.random.default_rng(0))
    1
    """
    total = 0.0
    for i in range(n_weights):
        total += weights[i]
    left = total * rng.random()
    last = 0
    for i in range(n_weights):
        if weights[i] > 0.0:
            last = i
            left -= weights[i]
            if left < 0.0:
                break
    return last


def update(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Count one reward, and fit again when it is time."""
    record(state, arm, reward, 1)
    if state.total[0] >= state.refit[0]:
        refresh(setup, state)
    else:
        renew_variance(state, arm)


def forget(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Take one observation back."""
    record(state, arm, reward, -1)
    refresh(setup, state)


def refresh(setup: Setup, state: State) -> None:
    """Fit noise, parameter and scale to counts, sums and squares."""
    schedule(state)
    learn_noise(state)
    fit(setup.prior, state, state.windows, state.weights)
    for arm in range(state.counts.shape[0]):
        count = state.counts[arm]
        mean = 0.0
        for i in range(setup.prior.scales.shape[0]):
            value = state.model_means[arm, i]
            if count > 0:
                error = setup.prior.scales[i] * setup.prior.scales[i]
                trust = error / (error + state.variances[arm] / count)
                value += trust * (state.sums[arm] / count - value)
            mean += state.scale_weights[i] * value
        state.means[arm] = mean


@register("random_effects_thompson")
@dataclasses.dataclass(frozen=True, kw_only=True)
class RandomEffectsThompson(Policy):
    """Thompson sampling when the mean of arm k is ``mu_k(theta) + b_k``.

    The errors ``b_k`` are Normal with mean 0 and one unknown size. A round draws the size,
    then the parameter, then each arm's mean from their joint posterior, and plays the best
    arm of the draw. It is the control for `Elastic`: the same posterior without an index.

    Args:
        prior: nine weights of the errors' sizes, as in `Elastic`; None for equal ones.

    >>> RandomEffectsThompson().to_dict()
    {'policy': 'random_effects_thompson', 'prior': None}
    """

    prior: tuple[float, ...] | None = None

    rules = Rules(init, select, update, estimate, forget, ("counts", "sums", "squares"), refresh)

    def __post_init__(self) -> None:
        """Check the weights."""
        if self.prior is not None:
            object.__setattr__(self, "prior", as_weights(self.prior))

    def setup(self, model: "RewardModel") -> Setup:
        """The model on a grid."""
        return Setup(model.tables, build_prior(model.tables, self.prior or UNIFORM))

    def reason(self, setup: Setup, state: State) -> str:
        """A draw, and the parameter it is drawn around."""
        return f"best arm of one draw from the posterior around {float(state.theta[0]):.6g}"
