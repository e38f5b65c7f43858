"""The curves on a grid of the parameter, with priors of the parameter and of the curves' errors."""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray
from globalbandits._validation import as_float, require
from globalbandits.errors import PolicyError
from globalbandits.policies.parts.learned_noise import Noise, guess_mean
from globalbandits.statistics import Statistics

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

SCALES = (0.0, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32)
N_SCALES = len(SCALES)
EQUAL_WEIGHTS = (1.0,) * N_SCALES
# Four fifths for exact curves. A short game is over before large errors can be found.
LONG_GAME_WEIGHTS = (0.8,) + (0.025,) * (N_SCALES - 1)
SHORT_GAME_WEIGHTS = (0.8, 0.04, 0.04, 0.035, 0.03, 0.025, 0.02, 0.007, 0.003)
N_CELLS = 2000  # of the parameter's domain
# The coarse pass must see each part of a prior of the parameter.
MAX_PRIOR_PARTS = 20
# Relative to the largest weight: no part of the domain is impossible.
MIN_PART_WEIGHT = 1e-6
N_COARSE, N_FINE = 32, 48  # points at which a scale's weight is computed in each pass

# The first guess of the means uses these cells, at most this many rewards per arm, and this
# variance of a reward.
SKETCH_CELLS = slice(25, N_CELLS, 50)
SKETCH_MAX_REWARDS = 100.0
SKETCH_VARIANCE = 0.25


class Prior(NamedTuple):
    """The curves on a grid, with prior weights of the parameter and of the errors' sizes."""

    means: FloatArray  # (n_cells, n_arms) mu_k at the middle of each cell
    thetas: FloatArray  # (n_cells,) the middles
    log_thetas: FloatArray  # (n_cells,) logarithm of the prior weight
    sketch: FloatArray  # (n_sketch, n_arms) some rows of the means
    sketch_logs: FloatArray  # (n_sketch,) the same entries of log_thetas
    relative: FloatArray  # (n_arms,) r_k**2: arm k's error has the standard deviation s r_k
    scales: FloatArray  # (n_scales,) s
    log_weights: FloatArray  # (n_scales,)
    n_coarse: int
    n_fine: int


class Sketch(NamedTuple):
    """Scratch arrays of a first guess of the means."""

    own: FloatArray  # (n_arms,) mean reward
    precisions: FloatArray  # (n_arms,)
    logs: FloatArray  # (n_sketch,) of the weight of each cell


def no_sketch(prior: Prior) -> Sketch:
    """Empty scratch arrays."""
    n_rows, n_arms = prior.sketch.shape
    return Sketch(np.zeros(n_arms), np.zeros(n_arms), np.zeros(n_rows))


def default_weights(share: float) -> tuple[float, ...]:
    """Default weights of the scales for a horizon that is this share of a long one.

    >>> default_weights(1.0) == LONG_GAME_WEIGHTS, default_weights(0.0) == SHORT_GAME_WEIGHTS
    (True, True)
    """
    pairs = zip(LONG_GAME_WEIGHTS, SHORT_GAME_WEIGHTS, strict=True)
    return tuple(share * long + (1.0 - share) * short for long, short in pairs)


def as_weights(name: str, value: Any, least: int, most: int) -> tuple[float, ...]:
    """Value as ``least`` to ``most`` weights of at least 0, not all 0.

    >>> as_weights("prior", [1, 0, 1], 2, 3)
    (1.0, 0.0, 1.0)
    """
    number = f"{least}" if least == most else f"{least} to {most}"
    weights = as_numbers(name, value, f"{number} weights")
    right = least <= len(weights) <= most and min(weights) >= 0.0 and sum(weights) > 0.0
    require(right, name, f"be {number} weights of at least 0, not all 0", value, PolicyError)
    return weights


def as_numbers(name: str, value: Any, what: str) -> tuple[float, ...]:
    """Value as a tuple of finite numbers."""
    try:
        return tuple(as_float(name, number, PolicyError) for number in value)
    except TypeError:
        raise PolicyError(f"{name} must be {what}, got {value!r}") from None


def build_prior(
    model: "RewardModel",
    weights: tuple[float, ...],
    theta_weights: tuple[float, ...] = (1.0,),
    relative: tuple[float, ...] | None = None,
) -> Prior:
    """The grid of one model.

    Args:
        model: the curves.
        weights: of the scales; they need not sum to 1.
        theta_weights: of equal parts of the parameter's domain, likewise; the prior is linear
            between the middles of the parts.
        relative: r_k for each arm; None for 1.
    """
    (low, high), (least, most) = model.domain, model.reward_range
    thetas = low + (high - low) * (np.arange(N_CELLS) + 0.5) / N_CELLS
    means = np.ascontiguousarray((model.means(thetas) - least) / (most - least))
    parts = np.array(theta_weights) / max(theta_weights)
    middles = low + (high - low) * (np.arange(len(parts)) + 0.5) / len(parts)
    log_thetas = np.log(np.maximum(np.interp(thetas, middles, parts), MIN_PART_WEIGHT))
    mass = np.array(weights)
    used = mass > 0.0
    sizes = np.ones(model.n_arms) if relative is None else np.array(relative)
    return Prior(
        means=means,
        thetas=thetas,
        log_thetas=log_thetas,
        sketch=means[SKETCH_CELLS].copy(),
        sketch_logs=log_thetas[SKETCH_CELLS].copy(),
        relative=sizes * sizes,
        scales=np.array(SCALES)[used],
        log_weights=np.log(mass[used] / np.sum(mass)),
        n_coarse=N_COARSE,
        n_fine=N_FINE,
    )


def guess_means(prior: Prior, stats: Statistics, noise: Noise, memory: Sketch) -> None:
    """Guess the arms' means before the variances of rewards are known.

    The curves are averaged over a few cells, with weights for the largest possible variance of
    rewards; then each arm's own rewards are added.
    """
    n_arms = stats.counts.shape[0]
    own, precisions, logs = memory.own, memory.precisions, memory.logs
    for arm in range(n_arms):
        noise.guesses[arm] = 0.0
        own[arm] = 0.0
        precisions[arm] = 0.0
        count = float(stats.counts[arm])
        if count > 0.0:
            own[arm] = stats.sums[arm] / count
            precisions[arm] = min(SKETCH_MAX_REWARDS, count) / (2.0 * SKETCH_VARIANCE)
    top = -math.inf
    for row in range(logs.shape[0]):
        log = prior.sketch_logs[row]
        for arm in range(n_arms):
            gap = own[arm] - prior.sketch[row, arm]
            log -= gap * gap * precisions[arm]
        logs[row] = log
        top = max(top, log)
    mass = 0.0
    for row in range(logs.shape[0]):
        weight = math.exp(logs[row] - top)
        mass += weight
        for arm in range(n_arms):
            noise.guesses[arm] += weight * prior.sketch[row, arm]
    for arm in range(n_arms):
        noise.guesses[arm] = guess_mean(stats, arm, noise.guesses[arm] / mass)
