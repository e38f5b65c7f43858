"""The posterior of the parameter and of the size of the curves' errors, in two passes of a grid.

The mean of arm k is ``mu_k(theta) + b_k``. The ``b_k`` are Normal with mean 0 and standard
deviation s r_k, where r_k is known (1 by default). One arm may be an exception, whose error has a
variance larger by z. Given the arms' sample means, the weight of (s, theta) is ::

    prior(s) * prior(theta) * prod_k Normal(mean_k; mu_k(theta), s**2 r_k**2 + v_k / N_k)

times the odds of the arm that is most likely the exception, if they are above 1. An index needs
the weights of the scales s, and the mean and variance of ``mu_k(theta)`` given each s.
"""

import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.policies.parts.curve_grid import Prior, Sketch, no_sketch
from globalbandits.policies.parts.curve_scan import (
    Scan,
    block_middle,
    block_size,
    find_window,
    list_pulled_arms,
    no_scan,
    set_precisions,
)
from globalbandits.statistics import Statistics


class Fit(NamedTuple):
    """The posterior of the scales, and of the curves given each scale."""

    scale_weights: FloatArray  # (n_scales,)
    means: FloatArray  # (n_arms, n_scales) of mu_k(theta)
    variances: FloatArray  # (n_arms, n_scales)
    theta: FloatArray  # (1,) posterior mean of the parameter
    thetas: FloatArray  # (n_scales,) the same given each scale
    windows: IntArray  # (n_scales, 4) first cell, stride, end cell and points of the last pass
    weights: FloatArray  # (n_scales, n_fine) of those points, relative to the largest
    scan: Scan  # scratch arrays of the passes
    first: FloatArray  # (n_arms,) scratch array: sums of the curves
    second: FloatArray  # (n_arms,) scratch array: sums of their squares
    sketch: Sketch  # scratch arrays of a first guess


def no_fit(prior: Prior) -> Fit:
    """An empty fit."""
    n_arms, n_scales = prior.means.shape[1], prior.scales.shape[0]
    return Fit(
        scale_weights=np.zeros(n_scales),
        means=np.zeros((n_arms, n_scales)),
        variances=np.zeros((n_arms, n_scales)),
        theta=np.zeros(1),
        thetas=np.zeros(n_scales),
        windows=np.zeros((n_scales, 4), np.int64),
        weights=np.zeros((n_scales, prior.n_fine)),
        scan=no_scan(prior),
        first=np.zeros(n_arms),
        second=np.zeros(n_arms),
        sketch=no_sketch(prior),
    )


def fit_errors(
    prior: Prior, exception: float, stats: Statistics, variances: FloatArray, fit: Fit
) -> None:
    """Fit to the statistics.

    Args:
        prior: the grid.
        exception: the prior probability that an arm is the exception; 0 for none.
        stats: the rewards.
        variances: (n_arms,) of the arms' rewards.
        fit: takes the result.
    """
    n_scales = prior.scales.shape[0]
    n_arms = stats.counts.shape[0]
    n_pulled = list_pulled_arms(prior, stats, variances, fit.scan)
    # Local names save look-ups in compiled code.
    means, thetas, first, second = prior.means, fit.thetas, fit.first, fit.second
    for i in range(n_scales):
        log = prior.log_weights[i] + set_precisions(fit.scan, n_pulled, prior.scales[i], exception)
        window = fit.windows[i]
        weights = fit.weights[i]
        top = find_window(prior, fit.scan, n_pulled, window, weights)
        mass = 0.0
        theta = 0.0
        for arm in range(n_arms):
            first[arm] = 0.0
            second[arm] = 0.0
        for j in range(window[3]):
            cell = block_middle(window, j)
            weight = math.exp(weights[j] - top) * block_size(window, j)
            weights[j] = weight
            mass += weight
            theta += weight * prior.thetas[cell]
            for arm in range(n_arms):
                term = weight * means[cell, arm]
                first[arm] += term
                second[arm] += term * means[cell, arm]
        for j in range(window[3], weights.shape[0]):
            # An earlier pass may have left numbers here.
            weights[j] = 0.0
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
