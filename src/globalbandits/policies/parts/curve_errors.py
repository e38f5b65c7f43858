"""The posterior of the parameter and of the size of the curves' errors, in two passes of a grid.

The mean of arm k is taken to be ``mu_k(theta) + b_k``, all ``b_k`` Normal with mean 0 and one
standard deviation s; but one arm may be an exception, with an error of variance s**2 + z. Given
the arms' sample means, the weight of (s, theta) is ::

    prior(s) * prod_k Normal(mean_k; mu_k(theta), s**2 + v_k / N_k)

times the odds of the arm that is most likely an exception, if they are above 1. What an index
needs of it are the weights of the scales s, and mean and variance of ``mu_k(theta)`` given each s.
"""

import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.policies.parts.curve_grid import Prior
from globalbandits.statistics import Statistics

EXCEPTION = 0.015  # z, variance of the error of an arm whose curve is badly wrong
NATS = 14.0  # what is left out weighs less than exp(-14) of the largest


class Fit(NamedTuple):
    """What the rewards say of the scales, and of the curves given each scale."""

    scale_weights: FloatArray  # (n_scales,)
    means: FloatArray  # (n_arms, n_scales) of mu_k(theta)
    variances: FloatArray  # (n_arms, n_scales)
    theta: FloatArray  # (1,) posterior mean of the parameter
    windows: IntArray  # (n_scales, 4) first cell, stride, end cell and points of the last pass
    weights: FloatArray  # (n_scales, n_fine) of those points, relative to the largest


class Pulled(NamedTuple):
    """The arms with rewards, as one scale sees them."""

    arms: IntArray  # (n_arms,) the first entries are meaningful, here and below
    means: FloatArray  # (n_arms,) mean reward
    noise: FloatArray  # (n_arms,) v_k / N_k
    precisions: FloatArray  # (n_arms,) 1 / (2 (s**2 + noise))
    gains: FloatArray  # (n_arms,) what an exception's precision is less
    odds: FloatArray  # (n_arms,) logarithm of the odds of an exception without a gap


def no_fit(prior: Prior) -> Fit:
    """Room for a fit."""
    n_arms, n_scales = prior.means.shape[1], prior.scales.shape[0]
    return Fit(
        scale_weights=np.zeros(n_scales),
        means=np.zeros((n_arms, n_scales)),
        variances=np.zeros((n_arms, n_scales)),
        theta=np.zeros(1),
        windows=np.zeros((n_scales, 4), np.int64),
        weights=np.zeros((n_scales, prior.n_fine)),
    )


def fit_errors(
    prior: Prior, exception: float, stats: Statistics, variances: FloatArray, fit: Fit
) -> None:
    """Bring a fit in line with the statistics.

    Args:
        prior: the grid.
        exception: the prior probability that an arm is the exception; 0 for none.
        stats: the rewards.
        variances: (n_arms,) of the arms' rewards.
        fit: takes the result.
    """
    n_scales = prior.scales.shape[0]
    n_arms = stats.counts.shape[0]
    pulled = Pulled(
        np.empty(n_arms, np.int64),
        np.empty(n_arms),
        np.empty(n_arms),
        np.empty(n_arms),
        np.empty(n_arms),
        np.empty(n_arms),
    )
    n_pulled = gather(stats, variances, pulled)
    thetas = np.empty(n_scales)
    first = np.empty(n_arms)
    second = np.empty(n_arms)
    for i in range(n_scales):
        log = prior.log_weights[i] + sharpen(pulled, n_pulled, prior.scales[i], exception)
        window = fit.windows[i]
        weights = fit.weights[i]
        top = locate(prior, pulled, n_pulled, exception, window, weights)
        mass = 0.0
        theta = 0.0
        first[:] = 0.0
        second[:] = 0.0
        for j in range(window[3]):
            cell = block_middle(window, j)
            weight = math.exp(weights[j] - top) * block_size(window, j)
            weights[j] = weight
            mass += weight
            theta += weight * prior.thetas[cell]
            for arm in range(n_arms):
                term = weight * prior.means[cell, arm]
                first[arm] += term
                second[arm] += term * prior.means[cell, arm]
        weights[window[3] :] = 0.0  # what an earlier pass has left
        thetas[i] = theta / mass
        for arm in range(n_arms):
            mean = first[arm] / mass
            fit.means[arm, i] = mean
            fit.variances[arm, i] = max(0.0, second[arm] / mass - mean * mean)
        fit.scale_weights[i] = log + top + math.log(mass)
    normalise(fit.scale_weights)
    fit.theta[0] = 0.0
    for i in range(n_scales):
        fit.theta[0] += fit.scale_weights[i] * thetas[i]


def estimate_theta(stats: Statistics, fit: Fit) -> float:
    """The posterior mean of the parameter as of the last fit; nan before any reward."""
    if stats.total[0] == 0:
        return math.nan
    return float(fit.theta[0])


def gather(stats: Statistics, variances: FloatArray, pulled: Pulled) -> int:
    """List the arms with rewards; returns how many there are."""
    n_pulled = 0
    for arm in range(stats.counts.shape[0]):
        count = stats.counts[arm]
        if count > 0:
            pulled.arms[n_pulled] = arm
            pulled.means[n_pulled] = stats.sums[arm] / count
            pulled.noise[n_pulled] = variances[arm] / count
            n_pulled += 1
    return n_pulled


def sharpen(pulled: Pulled, n_pulled: int, scale: float, exception: float) -> float:
    """Set the precisions for one scale; returns the part of the weight that has no theta."""
    log = 0.0
    for j in range(n_pulled):
        spread = scale * scale + pulled.noise[j]
        pulled.precisions[j] = 0.5 / spread
        log_spread = math.log(spread)
        log -= 0.5 * log_spread
        if exception > 0.0:
            wide = spread + EXCEPTION
            pulled.gains[j] = 0.5 / spread - 0.5 / wide
            pulled.odds[j] = math.log(exception / (1.0 - exception)) - 0.5 * (
                math.log(wide) - log_spread
            )
    return log


def locate(
    prior: Prior,
    pulled: Pulled,
    n_pulled: int,
    exception: float,
    window: IntArray,
    logs: FloatArray,
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
            odds = 0.0
            if exception > 0.0:
                for k in range(n_pulled):
                    gap = pulled.means[k] - prior.means[cell, pulled.arms[k]]
                    log -= gap * gap * pulled.precisions[k]
                    odds = max(odds, gap * gap * pulled.gains[k] + pulled.odds[k])
            else:
                for k in range(n_pulled):
                    gap = pulled.means[k] - prior.means[cell, pulled.arms[k]]
                    log -= gap * gap * pulled.precisions[k]
            log += odds
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
