"""The posterior of parameter and size of the curves' errors, on a grid in two passes.

The mean of arm k is taken to be ``mu_k(theta) + b_k``, all ``b_k`` Normal with mean 0 and one
standard deviation s. Given the arms' sample means, the weight of (s, theta) is ::

    prior(s) * prod_k Normal(mean_k; mu_k(theta), s**2 + v_k / N_k)

and what an index needs of it are the weights of the scales s, and mean and variance of
``mu_k(theta)`` given each s.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_float, require
from globalbandits.errors import PolicyError
from globalbandits.model.tables import Tables, evaluate
from globalbandits.policies import base

SCALES = (0.0, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32)
UNIFORM = (1.0,) * 9
HALF_ON_ZERO = (8.0,) + (1.0,) * 8
N_CELLS = 2000  # of the parameter's domain
N_COARSE, N_FINE = 32, 48  # points at which a scale's weight is computed in each pass
NATS = 14.0  # what is left out weighs less than exp(-14) of the largest


class Prior(NamedTuple):
    """What is known before any reward: the curves on a grid, and the errors' possible sizes."""

    means: FloatArray  # (n_cells, n_arms) mu_k at the middle of each cell
    thetas: FloatArray  # (n_cells,) the middles
    scales: FloatArray  # (n_scales,) s
    log_weights: FloatArray  # (n_scales,)
    n_coarse: int
    n_fine: int


class Pulled(NamedTuple):
    """The arms with rewards, as one scale sees them."""

    arms: IntArray  # (n_arms,) the first entries are meaningful, here and below
    means: FloatArray  # (n_arms,) mean reward
    noise: FloatArray  # (n_arms,) v_k / N_k
    precisions: FloatArray  # (n_arms,) 1 / (2 (s**2 + noise))


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


def build_prior(tables: Tables, weights: tuple[float, ...] | None) -> Prior:
    """The grid of one model; ``weights`` of the scales need not sum to 1, None: half on 0."""
    step = (tables.high - tables.low) / N_CELLS
    thetas = np.asarray(tables.low + step * (np.arange(N_CELLS) + 0.5), dtype=np.float64)
    means = np.array(
        [
            [evaluate(tables.mean, arm, theta) for arm in range(tables.n_arms)]
            for theta in thetas.tolist()
        ]
    )
    mass = np.array(HALF_ON_ZERO if weights is None else weights)
    used = mass > 0.0
    logs = np.log(mass[used] / np.sum(mass))
    return Prior(means, thetas, np.array(SCALES)[used], logs, N_COARSE, N_FINE)


def fit(prior: Prior, state: base.State, windows: IntArray, weights: FloatArray) -> None:
    """Bring ``scale_weights``, ``model_means``, ``model_variances`` and ``theta`` up to date.

    Args:
        prior: the grid.
        state: counts, sums and variances per arm; takes the result.
        windows: (n_scales, 4) takes each scale's first cell, stride, end cell, and points.
        weights: (n_scales, n_fine) takes the weights of the points, relative to the largest.
    """
    n_scales = prior.scales.shape[0]
    n_arms = state.counts.shape[0]
    pulled = Pulled(
        np.empty(n_arms, np.int64), np.empty(n_arms), np.empty(n_arms), np.empty(n_arms)
    )
    n_pulled = gather(state, pulled)
    thetas = np.empty(n_scales)
    first = np.empty(n_arms)
    second = np.empty(n_arms)
    for i in range(n_scales):
        log = prior.log_weights[i] + sharpen(pulled, n_pulled, prior.scales[i])
        window = windows[i]
        top = locate(prior, pulled, n_pulled, window, weights[i])
        mass = 0.0
        theta = 0.0
        first[:] = 0.0
        second[:] = 0.0
        for j in range(window[3]):
            cell = block_middle(window, j)
            weight = math.exp(weights[i, j] - top) * block_size(window, j)
            weights[i, j] = weight
            mass += weight
            theta += weight * prior.thetas[cell]
            for arm in range(n_arms):
                term = weight * prior.means[cell, arm]
                first[arm] += term
                second[arm] += term * prior.means[cell, arm]
        thetas[i] = theta / mass
        for arm in range(n_arms):
            mean = first[arm] / mass
            state.model_means[arm, i] = mean
            state.model_variances[arm, i] = max(0.0, second[arm] / mass - mean * mean)
        state.scale_weights[i] = log + top + math.log(mass)
    normalise(state.scale_weights)
    state.theta[0] = 0.0
    for i in range(n_scales):
        state.theta[0] += state.scale_weights[i] * thetas[i]


def gather(state: base.State, pulled: Pulled) -> int:
    """List the arms with rewards; returns how many there are."""
    n_pulled = 0
    for arm in range(state.counts.shape[0]):
        count = state.counts[arm]
        if count > 0:
            pulled.arms[n_pulled] = arm
            pulled.means[n_pulled] = state.sums[arm] / count
            pulled.noise[n_pulled] = state.variances[arm] / count
            n_pulled += 1
    return n_pulled


def sharpen(pulled: Pulled, n_pulled: int, scale: float) -> float:
    """Set the precisions for one scale; returns the part of the weight that has no theta."""
    log = 0.0
    for j in range(n_pulled):
        spread = scale * scale + pulled.noise[j]
        pulled.precisions[j] = 0.5 / spread
        log -= 0.5 * math.log(spread)
    return log


def locate(
    prior: Prior, pulled: Pulled, n_pulled: int, window: IntArray, logs: FloatArray
) -> float:
    """Log weights on the few cells that matter; returns the largest.

    A coarse pass over the domain finds them; finer ones follow while a posterior narrower
    than the points' distance hides in them.
    """
    low = 0
    high = prior.thetas.shape[0]
    n_points = prior.n_coarse
    while True:
        stride = (high - low + n_points - 1) // n_points
        stride += 1 - stride % 2  # an odd block has a cell in its middle
        n_blocks = (high - low + stride - 1) // stride
        window[0] = low
        window[1] = stride
        window[2] = high
        window[3] = n_blocks
        top = -math.inf
        for j in range(n_blocks):
            cell = block_middle(window, j)
            log = 0.0
            for k in range(n_pulled):
                gap = pulled.means[k] - prior.means[cell, pulled.arms[k]]
                log -= gap * gap * pulled.precisions[k]
            logs[j] = log
            top = max(top, log)
        first = 0
        while logs[first] < top - NATS:
            first += 1
        last = n_blocks - 1
        while logs[last] < top - NATS:
            last -= 1
        done = n_points == prior.n_fine and 4 * (last - first + 1) >= n_blocks
        if done or stride == 1:
            return top
        high = min(high, low + (last + 2) * stride)
        low = max(low, low + (first - 1) * stride)
        n_points = prior.n_fine


def block_middle(window: IntArray, block: int) -> int:
    """The cell that stands for a block of cells."""
    start = window[0] + block * window[1]
    return int((start + min(start + window[1], window[2]) - 1) // 2)


def block_size(window: IntArray, block: int) -> int:
    """How many cells a block has; the last one may be short."""
    start = window[0] + block * window[1]
    return int(min(start + window[1], window[2]) - start)


def normalise(logs: FloatArray) -> None:
    """Turn log weights into weights that sum to 1, in place."""
    top = -math.inf
    for i in range(logs.shape[0]):
        top = max(top, logs[i])
    total = 0.0
    for i in range(logs.shape[0]):
        logs[i] = math.exp(logs[i] - top)
        total += logs[i]
    for i in range(logs.shape[0]):
        logs[i] /= total
