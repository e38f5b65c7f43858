"""Markets that the rewards of a log allow: draws of all arms' means from their posterior.

The posterior is that of `Elastic` without exceptions: the unknown numbers of the model, the size of
the curves' errors, and each arm's error given its own rewards. If the curves hold, the size is most
small and all arms follow the curves. If they do not, the size grows and each arm follows its own
rewards. All sizes have the same prior weight. `Elastic` prefers exact curves because doubt costs it
decisions; here doubt only makes intervals honest.
"""

import dataclasses
from typing import Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.environments.bias import Bias
from globalbandits.model.vector_model import VectorModel
from globalbandits.policies.elastic.curve_posterior import (
    EQUAL_WEIGHTS,
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


@dataclasses.dataclass(frozen=True, eq=False)
class CurvePosterior:
    """The curves given one size of their errors: means of the arms at points, with weights."""

    means: FloatArray  # (n_points, n_arms) on the unit scale
    weights: FloatArray  # (n_points,) summing to 1
    errors: FloatArray  # (n_arms,) prior variances of the arms' errors


@dataclasses.dataclass(frozen=True, eq=False)
class MarketPosterior:
    """The posterior of all arms' means, given the rewards of a log.

    Attributes:
        curves: the curves for each size of their errors.
        size_weights: the posterior of the sizes, summing to 1.
        sizes: the sizes, on the unit reward scale of an arm with mean 1/2.
        stats: the rewards.
        variances: of a single reward of each arm, on the unit scale.
        reward_range: of the model.
    """

    curves: tuple[CurvePosterior, ...]
    size_weights: FloatArray
    sizes: FloatArray
    stats: Statistics
    variances: FloatArray
    reward_range: tuple[float, float]

    @property
    def chance_of_exact_curves(self) -> float:
        """The posterior probability that the curves have no errors."""
        return float(self.size_weights[self.sizes == 0.0].sum())

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw markets: the means of all arms in the model's units, shape (n, n_arms)."""
        counts = self.stats.counts
        drawn = np.empty((n, len(counts)))
        sizes = rng.choice(len(self.size_weights), n, p=self.size_weights)
        own = np.divide(self.stats.sums, counts, out=np.zeros(len(counts)), where=counts > 0)
        for size in np.unique(sizes).tolist():
            curves, rows = self.curves[size], np.flatnonzero(sizes == size)
            points = rng.choice(len(curves.weights), len(rows), p=curves.weights)
            means = curves.means[points]
            # The error of an arm with rewards is pulled towards its own mean reward.
            noise = np.divide(
                self.variances, counts, out=np.full(len(counts), np.inf), where=counts > 0
            )
            trust = curves.errors / (curves.errors + noise)
            rest = np.where(counts > 0, trust * np.where(counts > 0, noise, 0.0), curves.errors)
            means = means + trust * (own - means)
            drawn[rows] = means + np.sqrt(rest) * rng.standard_normal(means.shape)
        low, high = self.reward_range
        return np.asarray(low + (high - low) * np.clip(drawn, 0.0, 1.0))


def market_posterior(model: Any, stats: Statistics) -> MarketPosterior:
    """Fit the posterior of the arms' means to the rewards of a log.

    Args:
        model: the curves, with one or two unknown numbers.
        stats: the rewards on the unit scale.
    """
    noise = no_noise(model.n_arms)
    if isinstance(model, VectorModel):
        require_few_numbers(model, "what_if")
        box = build_several_prior(model, EQUAL_WEIGHTS, None)
        fit: Any = no_several_fit(box)
        guess_means(box, stats, noise, fit.sketch)
        learn_noise(stats, noise, SIMILAR_ARMS)
        fit_several(box, 0.0, stats, noise, fit)
        prior: Any = box
        curves = [_several_curves(box, stats, noise, fit, i) for i in range(len(box.scales))]
    else:
        prior = build_prior(model, EQUAL_WEIGHTS)
        fit = no_fit(prior)
        guess_means(prior, stats, noise, fit.sketch)
        learn_noise(stats, noise, SIMILAR_ARMS)
        fit_errors(prior, 0.0, stats, noise, fit)
        curves = [_curves(prior, fit, i) for i in range(len(prior.scales))]
    return MarketPosterior(
        curves=tuple(curves),
        size_weights=fit.scale_weights / fit.scale_weights.sum(),
        sizes=prior.scales,
        stats=stats,
        variances=noise.variances.copy(),
        reward_range=model.reward_range,
    )


def _curves(prior: Any, fit: Any, i: int) -> CurvePosterior:
    """The curves of one unknown number: the weights of the blocks, spread over their cells."""
    start, stride, end, n_blocks = fit.windows[i].tolist()
    cells = np.arange(start, end)
    blocks = (cells - start) // stride
    sizes = np.bincount(blocks, minlength=n_blocks)
    weights = (fit.weights[i][:n_blocks] / sizes)[blocks]
    errors = prior.scales[i] ** 2 * prior.relative * fit.sketch.factors
    return CurvePosterior(prior.means[cells], weights / weights.sum(), errors)


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
    errors = box.scales[i] ** 2 * box.relative * whole.sketch.factors
    return CurvePosterior(means.copy(), weights / weights.sum(), errors)


@dataclasses.dataclass(frozen=True, eq=False)
class MarketDraws(Bias):
    """Every run has a market of its own: the shifts from given means to those of a draw."""

    posterior: MarketPosterior
    center: FloatArray  # (n_arms,) the means that are shifted

    def shifts(self, n_arms: int, rng: np.random.Generator) -> FloatArray:
        """Draw a market."""
        return np.asarray(self.posterior.draw(1, rng)[0] - self.center)
