"""Markets that the rewards of a log allow: draws of all arms' means from their posterior.

The posterior is that of `Elastic` without exceptions: the unknown numbers of the model, the size of
the curves' errors, and each arm's error given its own rewards. An error is Normal on the log-odds
scale. If the curves hold, small sizes explain the rewards and all arms follow the curves. If they
do not, the size grows and each arm follows its own rewards.

All sizes up to the largest are equally likely before the rewards, as is usual for the standard
deviation of a few groups (Gelman 2006, "Prior distributions for variance parameters in hierarchical
models"). `Elastic` prefers exact curves because doubt costs it decisions; here doubt only makes
intervals honest.
"""

import dataclasses
from typing import Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.environments.bias import Bias
from globalbandits.model.vector_model import VectorModel
from globalbandits.policies.elastic.curve_posterior import (
    MIN_CHANCE,
    SCALES,
    build_prior,
    fit_errors,
    guess_means,
    no_fit,
)
from globalbandits.policies.elastic.several_posterior import (
    WIDE_SCALE,
    build_several_prior,
    fit_several,
    no_several_fit,
)
from globalbandits.policies.shared.noise_variance import SIMILAR_ARMS, learn_noise, no_noise
from globalbandits.policies.shared.ridge_posterior import require_few_numbers
from globalbandits.statistics import Statistics

# A size has the weight of the sizes around it, and sizes double. Exact curves have that of the
# smallest size.
SIZE_WEIGHTS = (SCALES[1], *SCALES[1:])
# The error of an arm is drawn at points of its posterior, this many standard deviations apart.
_ERROR_POINTS = np.linspace(-6.0, 6.0, 61)
_LOG_ODDS_PER_UNIT = 4.0  # of a size: the slope of the log-odds at a mean of 1/2


@dataclasses.dataclass(frozen=True, eq=False)
class CurvePosterior:
    """The curves given one size of their errors: means of the arms at points, with weights."""

    means: FloatArray  # (n_points, n_arms) on the unit scale
    weights: FloatArray  # (n_points,) summing to 1
    deviations: FloatArray  # (n_arms,) prior standard deviations of the arms' errors in log-odds


@dataclasses.dataclass(frozen=True, eq=False)
class MarketPosterior:
    """The posterior of all arms' means, given the rewards of a log.

    Attributes:
        curves: the curves for each size of their errors.
        size_weights: the posterior of the sizes, summing to 1.
        sizes: the sizes, on the unit reward scale of an arm with mean 1/2.
        counts: rewards of each arm, as the number of Bernoulli rewards with the same information.
        own: the mean reward of each arm on the unit scale; 0 without rewards.
        reward_range: the reward range of the model.
    """

    curves: tuple[CurvePosterior, ...]
    size_weights: FloatArray
    sizes: FloatArray
    counts: FloatArray
    own: FloatArray
    reward_range: tuple[float, float]

    @property
    def curve_error(self) -> float:
        """The posterior mean of the size of the curves' errors, in log-odds."""
        return float(_LOG_ODDS_PER_UNIT * self.size_weights @ self.sizes)

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw markets: the means of all arms in the model's units, shape (n, n_arms)."""
        drawn = np.empty((n, len(self.counts)))
        sizes = rng.choice(len(self.size_weights), n, p=self.size_weights)
        for size in np.unique(sizes).tolist():
            curves, rows = self.curves[size], np.flatnonzero(sizes == size)
            points = rng.choice(len(curves.weights), len(rows), p=curves.weights)
            means = curves.means[points]
            if self.sizes[size] > 0.0:
                means = self._draw_errors(means, curves.deviations, rng)
            drawn[rows] = means
        low, high = self.reward_range
        return np.asarray(low + (high - low) * np.clip(drawn, 0.0, 1.0))

    def _draw_errors(
        self, means: FloatArray, deviations: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Add an error in log-odds to each mean, drawn from its posterior given the arm's rewards.

        The density is computed at points around its Normal approximation, and a draw is uniform
        around its point.
        """
        clipped = np.clip(means, MIN_CHANCE, 1.0 - MIN_CHANCE)
        base = np.log(clipped) - np.log1p(-clipped)
        successes = self.own * self.counts
        # Half a success and half a failure keep the approximation finite.
        rough = (successes + 0.5) / (self.counts + 1.0)
        information = self.counts * rough * (1.0 - rough)
        precision = information + deviations**-2.0
        middle = (np.log(rough) - np.log1p(-rough) - base) * information / precision
        width = precision**-0.5
        errors = middle[..., None] + width[:, None] * _ERROR_POINTS
        odds = base[..., None] + errors
        log_densities = (
            -0.5 * (errors / deviations[:, None]) ** 2
            + successes[:, None] * odds
            - self.counts[:, None] * np.logaddexp(0.0, odds)
        )
        densities = np.exp(log_densities - log_densities.max(axis=-1, keepdims=True))
        shares = densities.cumsum(axis=-1)
        places = (shares < shares[..., -1:] * rng.random((*means.shape, 1))).sum(axis=-1)
        step = _ERROR_POINTS[1] - _ERROR_POINTS[0]
        moved = _ERROR_POINTS[places] + step * (rng.random(means.shape) - 0.5)
        return np.asarray(1.0 / (1.0 + np.exp(-(base + middle + width * moved))))


def market_posterior(model: Any, stats: Statistics) -> MarketPosterior:
    """Fit the posterior of the arms' means to the rewards of a log.

    Args:
        model: the curves, with one or two unknown numbers.
        stats: the rewards on the unit scale.
    """
    noise = no_noise(model.n_arms)
    if isinstance(model, VectorModel):
        require_few_numbers(model, "what_if")
        box = build_several_prior(model, SIZE_WEIGHTS, None)
        fit: Any = no_several_fit(box)
        guess_means(box, stats, noise, fit.sketch)
        learn_noise(stats, noise, SIMILAR_ARMS)
        fit_several(box, 0.0, stats, noise, fit)
        prior: Any = box
        curves = [_several_curves(box, stats, noise, fit, i) for i in range(len(box.scales))]
    else:
        prior = build_prior(model, SIZE_WEIGHTS)
        fit = no_fit(prior)
        guess_means(prior, stats, noise, fit.sketch)
        learn_noise(stats, noise, SIMILAR_ARMS)
        fit_errors(prior, 0.0, stats, noise, fit)
        curves = [_curves(prior, fit, i) for i in range(len(prior.scales))]
    counts = stats.counts.astype(np.float64)
    own = np.divide(stats.sums, counts, out=np.zeros(len(counts)), where=counts > 0)
    return MarketPosterior(
        curves=tuple(curves),
        size_weights=fit.scale_weights / fit.scale_weights.sum(),
        sizes=prior.scales,
        counts=counts * noise.bernoulli / noise.variances,
        own=own,
        reward_range=model.reward_range,
    )


def _curves(prior: Any, fit: Any, i: int) -> CurvePosterior:
    """The curves of one unknown number: the weights of the blocks, spread over their cells."""
    start, stride, end, n_blocks = fit.windows[i].tolist()
    cells = np.arange(start, end)
    blocks = (cells - start) // stride
    sizes = np.bincount(blocks, minlength=n_blocks)
    weights = (fit.weights[i][:n_blocks] / sizes)[blocks]
    return CurvePosterior(prior.means[cells], weights / weights.sum(), _deviations(prior, i))


def _several_curves(box: Any, stats: Statistics, noise: Any, whole: Any, i: int) -> CurvePosterior:
    """The curves of two unknown numbers, from a fit of this size alone."""
    prior = box._replace(scales=box.scales[i : i + 1], log_weights=np.zeros(1))
    fit = no_several_fit(prior)._replace(sketch=whole.sketch)
    fit_several(prior, 0.0, stats, noise, fit)
    if box.scales[i] >= WIDE_SCALE:
        means, logs = box.means, fit.logs[: len(box.means)]
    else:
        n_points = int(fit.grid.n_points[0])
        means, logs = fit.grid.means[:n_points], fit.logs[:n_points]
    weights = np.exp(logs - logs.max())
    return CurvePosterior(means.copy(), weights / weights.sum(), _deviations(box, i))


def _deviations(prior: Any, i: int) -> FloatArray:
    return np.asarray(_LOG_ODDS_PER_UNIT * prior.scales[i] * np.sqrt(prior.relative))


@dataclasses.dataclass(frozen=True, eq=False)
class MarketDraws(Bias):
    """Every run has a market of its own: the shifts from given means to those of a draw."""

    posterior: MarketPosterior
    center: FloatArray  # (n_arms,) the means that are shifted

    def shifts(self, n_arms: int, rng: np.random.Generator) -> FloatArray:
        """Draw a market."""
        return np.asarray(self.posterior.draw(1, rng)[0] - self.center)
