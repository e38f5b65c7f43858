"""`RandomEffectsThompson`: Thompson sampling for curves with errors of unknown size."""

import dataclasses
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, Rules, register, require_one_number
from globalbandits.policies.elastic.curve_posterior import (
    EQUAL_WEIGHTS,
    N_SCALES,
    Fit,
    Prior,
    as_weights,
    block_size,
    build_prior,
    estimate_theta,
    fit_errors,
    guess_means,
    no_fit,
)
from globalbandits.policies.shared.gittins import largest_of
from globalbandits.policies.shared.noise_variance import (
    SIMILAR_ARMS,
    Noise,
    Pooling,
    learn_noise,
    no_noise,
    update_variance,
)
from globalbandits.policies.shared.refits import may_be_last_fit, next_fit
from globalbandits.policies.shared.worth import worth_of
from globalbandits.statistics import Statistics, assign, no_statistics

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


FIT_GROWTH = 1.05  # of the number of rewards, from one fit to the next


class Setup(NamedTuple):
    """The model's tables, its curves on a grid, and how noise is pooled."""

    tables: Tables
    prior: Prior
    pooling: Pooling
    arms: IntArray  # (n_arms,) all arms


class State(NamedTuple):
    """The statistics of the last fit, and numbers derived from them."""

    fitted: Statistics
    due: FloatArray  # (1,) the number of rewards at which the next fit is due
    noise: Noise
    fit: Fit


def init(setup: Setup) -> State:
    """No reward yet: the prior."""
    n = setup.tables.n_arms
    state = State(no_statistics(n), np.zeros(1), no_noise(n), no_fit(setup.prior))
    refit(setup, state)
    return state


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Draw the errors' size, the parameter and every arm's error; return the best arm."""
    return largest_of(draw_worths(setup, stats, state, setup.arms, rng))


def select_among(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Draw as `select` does; return the best offered arm."""
    values = draw_worths(setup, stats, state, offered, rng)
    return int(offered[largest_of(values)])


def draw_worths(
    setup: Setup, stats: Statistics, state: State, arms: IntArray, rng: np.random.Generator
) -> FloatArray:
    """Draw the errors' size, the parameter and the errors of some arms; return their worths."""
    scale = draw(state.fit.scale_weights, state.fit.scale_weights.shape[0], rng)
    window = state.fit.windows[scale]
    block = draw(state.fit.weights[scale], window[3], rng)
    cell = window[0] + block * window[1] + int(rng.random() * block_size(window, block))
    common = setup.prior.scales[scale] * setup.prior.scales[scale]
    worths = np.empty(arms.shape[0])
    for i in range(arms.shape[0]):
        arm = int(arms[i])
        value = setup.prior.means[cell, arm]
        if common > 0.0:
            error = common * state.fit.sketch.factors[arm]
            rest = error
            if stats.counts[arm] > 0:
                noise = state.noise.variances[arm] / stats.counts[arm]
                trust = error / (error + noise)
                value += trust * (stats.sums[arm] / stats.counts[arm] - value)
                rest = trust * noise
            value += math.sqrt(rest) * rng.standard_normal()
        worths[i] = worth_of(setup.tables, arm, value)
    return worths


def draw(weights: FloatArray, n_weights: int, rng: np.random.Generator) -> int:
    """Draw a position by weights, which need not sum to 1.

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


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Fit if that is due; otherwise update the played arm's variance."""
    if stats.total[0] >= state.due[0]:
        rebuild(setup, stats, state)
    else:
        update_variance(stats, state.noise, setup.pooling, arm)


def rebuild(setup: Setup, stats: Statistics, state: State) -> None:
    """Fit noise, parameter and scale to the statistics."""
    assign(state.fitted, stats)
    refit(setup, state)


def refit(setup: Setup, state: State) -> None:
    """Recompute everything from the statistics of the last fit."""
    fitted = state.fitted
    state.due[0] = next_fit(fitted.total[0], FIT_GROWTH)
    guess_means(setup.prior, fitted, state.noise, state.fit.sketch)
    learn_noise(fitted, state.noise, setup.pooling)
    fit_errors(setup.prior, 0.0, fitted, state.noise, state.fit)


def resume(setup: Setup, stats: Statistics, state: State) -> bool:
    """Repeat the last fit, then update the variances with the rewards since."""
    if not may_be_last_fit(state.fitted, stats, FIT_GROWTH):
        return False
    refit(setup, state)
    for arm in range(stats.counts.shape[0]):
        update_variance(stats, state.noise, setup.pooling, arm)
    return True


def estimate(setup: Setup, stats: Statistics, state: State) -> float:
    """Return the posterior mean of the parameter at the last fit; nan before any reward."""
    return estimate_theta(stats, state.fit)


@register("random_effects_thompson")
@dataclasses.dataclass(frozen=True, kw_only=True)
class RandomEffectsThompson(Policy):
    """Thompson sampling when the mean of arm k is ``mu_k(theta) + b_k``.

    The errors ``b_k`` are Normal with mean 0 and a common unknown size on the log-odds scale. A
    round draws the size, then the parameter, then each arm's mean from their joint posterior, and
    plays the best arm of the draw. Compare it with `Elastic`, which has the same posterior and
    plays by an index.
    Value: any; the drawn means are valued.

    Args:
        prior: nine weights of the errors' sizes, as in `Elastic`; None for equal ones.

    >>> RandomEffectsThompson().to_dict()
    {'policy': 'random_effects_thompson', 'prior': None}
    """

    prior: tuple[float, ...] | None = None

    curve_errors = 0.05
    rules = Rules(
        init,
        select,
        update,
        estimate,
        rebuild,
        kept=("fitted",),
        resume=resume,
        select_among=select_among,
    )

    def __post_init__(self) -> None:
        """Check the weights."""
        if self.prior is not None:
            object.__setattr__(self, "prior", as_weights("prior", self.prior, N_SCALES, N_SCALES))

    def setup(self, model: "RewardModel") -> Setup:
        """Return the model on a grid."""
        require_one_number(model, "RandomEffectsThompson")
        prior = build_prior(model, self.prior or EQUAL_WEIGHTS)
        return Setup(model.tables, prior, SIMILAR_ARMS, np.arange(model.n_arms))

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Give the posterior mean of the parameter."""
        return f"best arm of one draw from the posterior around {float(state.fit.theta[0]):.6g}"
