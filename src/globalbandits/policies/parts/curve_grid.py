"""The curves on a grid of the parameter, and a prior for the size of their errors."""

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
UNIFORM = (1.0,) * 9
MOST_ON_ZERO = (32.0,) + (1.0,) * 8  # four fifths
N_CELLS = 2000  # of the parameter's domain
N_COARSE, N_FINE = 32, 48  # points at which a scale's weight is computed in each pass

SKETCH = slice(25, N_CELLS, 50)  # the cells that a first guess of the means looks at
SKETCH_MOST = 100.0  # rewards of an arm that count in it
SKETCH_VARIANCE = 0.25  # of a reward, in it


class Prior(NamedTuple):
    """What is known before any reward: the curves on a grid, and the errors' possible sizes."""

    means: FloatArray  # (n_cells, n_arms) mu_k at the middle of each cell
    thetas: FloatArray  # (n_cells,) the middles
    sketch: FloatArray  # (n_sketch, n_arms) some rows of the means
    scales: FloatArray  # (n_scales,) s
    log_weights: FloatArray  # (n_scales,)
    n_coarse: int
    n_fine: int


def as_weights(value: Any) -> tuple[float, ...]:
    """Value as one weight for each scale, at least 0 and not all 0."""
    try:
        weights = tuple(as_float("prior", weight, PolicyError) for weight in value)
    except TypeError:
        raise PolicyError(f"prior must be {len(SCALES)} weights, got {value!r}") from None
    rule = f"be {len(SCALES)} weights of at least 0, not all 0"
    right = len(weights) == len(SCALES) and min(weights) >= 0.0 and sum(weights) > 0.0
    require(right, "prior", rule, value, PolicyError)
    return weights


def build_prior(model: "RewardModel", weights: tuple[float, ...]) -> Prior:
    """The grid of one model; ``weights`` of the scales need not sum to 1."""
    (low, high), (least, most) = model.domain, model.reward_range
    thetas = low + (high - low) * (np.arange(N_CELLS) + 0.5) / N_CELLS
    means = np.ascontiguousarray((model.means(thetas) - least) / (most - least))
    mass = np.array(weights)
    used = mass > 0.0
    return Prior(
        means=means,
        thetas=thetas,
        sketch=means[SKETCH].copy(),
        scales=np.array(SCALES)[used],
        log_weights=np.log(mass[used] / np.sum(mass)),
        n_coarse=N_COARSE,
        n_fine=N_FINE,
    )


def guess_means(prior: Prior, stats: Statistics, noise: Noise) -> None:
    """Guesses of the arms' means, before it is known how much rewards vary.

    The curves are averaged over a few cells, weighted as if rewards varied as much as they
    can; then each arm's own rewards are added.
    """
    n_arms = stats.counts.shape[0]
    own = np.zeros(n_arms)
    precisions = np.zeros(n_arms)
    logs = np.zeros(prior.sketch.shape[0])
    for arm in range(n_arms):
        noise.guesses[arm] = 0.0
        count = float(stats.counts[arm])
        if count > 0.0:
            own[arm] = stats.sums[arm] / count
            precisions[arm] = min(SKETCH_MOST, count) / (2.0 * SKETCH_VARIANCE)
    top = -math.inf
    for row in range(logs.shape[0]):
        log = 0.0
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
